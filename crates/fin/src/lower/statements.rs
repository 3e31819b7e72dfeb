//! Statements: control flow and tasks.

use super::expressions::Evaluated;
use super::{Exclusive, FunctionLowering, Loop};
use crate::assigned::assigned;
use crate::hir::{self, Argument, LocalId, Range, Statement};
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Construct, Function, Op, PrintPart, Role, Terminator,
    Type, Value,
};
use finishline_model::{AccessId, FinishKind, SiteId, TaskKind};

impl FunctionLowering<'_> {
    pub(super) fn block(&mut self, block: &[Statement]) {
        for statement in block {
            // Statements after a return, break or continue never run.
            if !self.builder.reachable() {
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Block(block) => self.block(block),
            Statement::SetLocal { local, value } => {
                let value = self.expression(value);
                self.builder.set(*local, value);
            }
            Statement::Store {
                place,
                access,
                value,
                site,
            } => {
                let evaluated = self.evaluate(place);
                let value = self.expression(value);
                let (base, offset) = self.checked(evaluated, place.site);
                self.store(base, offset, value, *access, *site);
            }
            Statement::Update {
                place,
                read,
                write,
                op,
                value,
                site,
            } => {
                let evaluated = self.evaluate(place);
                let (base, offset) = self.checked(evaluated, place.site);
                let ty = place.ty.ir();
                let before = self.load(base, offset, ty, *read, *site);
                let operand = self.expression(value);
                let after = self.value(Op::Binary(*op, before, operand), ty, *site);
                self.store(base, offset, after, *write, *site);
            }
            Statement::Call(call) => self.call_statement(call),
            Statement::Set {
                promise,
                value,
                access,
                site,
            } => self.set(promise, value, *access, *site),
            Statement::If { arms, otherwise } => self.if_statement(arms, otherwise),
            Statement::While { condition, body } => self.while_loop(condition, body),
            Statement::For {
                counter,
                range,
                body,
            } => {
                let carried = assigned(body);
                self.for_loop(*counter, range, carried, |lowering| lowering.block(body));
            }
            Statement::Break => self.leave_loop(|target| target.exit),
            Statement::Continue => self.leave_loop(|target| target.next),
            Statement::Return { value, site } => {
                let value = value.as_ref().map(|value| self.expression(value));
                self.leave_exclusive(0, *site);
                self.leave_sync_scope(*site);
                self.builder.end(Terminator::Return(value));
            }
            Statement::Print(arguments) => {
                let parts = self.print_parts(arguments);
                self.emit(Op::Print(parts), SiteId(0));
            }
            Statement::Assert {
                condition,
                message,
                site,
            } => self.assert_statement(condition, message, *site),
            Statement::Async(task) => self.create(task, Construct::Async),
            Statement::Forall {
                counter,
                range,
                task,
                end,
            } => {
                self.emit(Op::FinishBegin(FinishKind::Lexical), task.site);
                self.for_loop(*counter, range, Vec::new(), |lowering| {
                    lowering.create(task, Construct::Forall)
                });
                self.emit(Op::FinishEnd(FinishKind::Lexical), *end);
            }
            Statement::Finish { block, site, end } => {
                self.emit(Op::FinishBegin(FinishKind::Lexical), *site);
                self.block(block);
                self.emit(Op::FinishEnd(FinishKind::Lexical), *end);
            }
            Statement::Isolated { block, site, end } => {
                self.emit(Op::IsolatedBegin, *site);
                self.exclusive_block(Exclusive::Isolated, block, *end);
            }
            Statement::Locked {
                lock,
                block,
                site,
                end,
            } => {
                let lock = self.acquire(lock, *site);
                self.exclusive_block(Exclusive::Locked(lock), block, *end);
            }
            Statement::Acquire { lock, site } => {
                self.acquire(lock, *site);
            }
            Statement::Release { lock, site } => {
                let lock = self.expression(lock);
                self.emit(Op::Release(lock), *site);
            }
            Statement::BeginFinish(site) => self.emit(Op::FinishBegin(FinishKind::Dynamic), *site),
            Statement::EndFinish(site) => self.emit(Op::FinishEnd(FinishKind::Dynamic), *site),
            Statement::Sync(site) => self.emit(Op::Sync, *site),
            Statement::Spawn {
                function,
                arguments,
                target,
                site,
            } => {
                self.spawn(*function, arguments, target.as_ref(), *site);
            }
        }
    }

    fn print_parts(&mut self, arguments: &[Argument]) -> Vec<PrintPart> {
        arguments
            .iter()
            .map(|argument| match argument {
                Argument::Text(text) => PrintPart::Text(text.clone()),
                Argument::Value(value) => PrintPart::Value(self.expression(value)),
            })
            .collect()
    }

    /// Lowers an assertion. The message is evaluated only if needed: reading shared data is an
    /// access.
    fn assert_statement(
        &mut self,
        condition: &hir::Expression,
        message: &[Argument],
        site: SiteId,
    ) {
        let condition = self.expression(condition);
        if message.iter().all(|part| matches!(part, Argument::Text(_))) {
            let message = self.print_parts(message);
            self.emit(Op::Assert { condition, message }, site);
            return;
        }
        let (failed, join) = (self.builder.new_block(), self.builder.new_block());
        self.builder.branch(condition, join, failed);
        self.builder.start(failed);
        let message = self.print_parts(message);
        self.emit(Op::Assert { condition, message }, site);
        self.builder.jump(join, Vec::new());
        self.builder.start(join);
    }

    fn if_statement(&mut self, arms: &[(hir::Expression, hir::Block)], otherwise: &hir::Block) {
        // The ends of the arms that reach the join, with the assignments of each.
        let mut ends = Vec::new();
        for (condition, block) in arms {
            let condition = self.expression(condition);
            let (then, next) = (self.builder.new_block(), self.builder.new_block());
            self.builder.branch(condition, then, next);
            ends.extend(self.arm(then, block));
            self.builder.start(next);
        }
        if let Some(last) = self.builder.pause() {
            ends.extend(self.arm(last, otherwise));
        }
        self.join(ends);
    }

    /// Lowers one arm. Returns its last block and its assignments if control reaches its end.
    fn arm(&mut self, start: BlockId, block: &hir::Block) -> Option<ArmEnd> {
        let mark = self.builder.mark();
        self.builder.start(start);
        self.block(block);
        let end = self.builder.pause();
        let changed = self.builder.undo(mark);
        end.map(|end| (end, changed))
    }

    /// Joins the arms, with a block parameter for each variable that one of them changed.
    fn join(&mut self, ends: Vec<ArmEnd>) {
        if ends.is_empty() {
            return;
        }
        let mut locals: Vec<LocalId> = ends
            .iter()
            .flat_map(|(_, changed)| changed.iter().map(|(id, _)| *id))
            .collect();
        locals.sort_unstable();
        locals.dedup();
        let join = self.builder.new_block();
        for (end, changed) in ends {
            let value_of = |local: &LocalId| match changed
                .binary_search_by_key(local, |(changed, _)| *changed)
            {
                Ok(at) => changed[at].1,
                Err(_) => self.builder.get(*local),
            };
            let arguments = locals.iter().map(value_of).collect();
            self.builder.start(end);
            self.builder.jump(join, arguments);
        }
        self.builder.start(join);
        self.bind_parameters(join, &locals);
    }

    /// Gives a block a parameter for each of the locals and binds them.
    fn bind_parameters(&mut self, block: BlockId, locals: &[LocalId]) {
        for local in locals {
            let ty = self.local_type(*local);
            let value = self.builder.parameter(block, ty);
            self.builder.set(*local, value);
        }
    }

    pub(super) fn current(&self, locals: &[LocalId]) -> Vec<Value> {
        locals
            .iter()
            .map(|local| self.builder.get(*local))
            .collect()
    }

    /// Keeps the assigned locals that were declared before the body.
    fn carried(&self, mut assigned: Vec<LocalId>) -> Vec<LocalId> {
        assigned.retain(|local| self.builder.is_set(*local));
        assigned
    }

    fn while_loop(&mut self, condition: &hir::Expression, body: &hir::Block) {
        let carried = self.carried(assigned(body));
        let (header, inside, exit) = (
            self.builder.new_block(),
            self.builder.new_block(),
            self.builder.new_block(),
        );
        self.builder.jump(header, self.current(&carried));
        self.builder.start(header);
        self.bind_parameters(header, &carried);
        if hir::is_forever(condition) {
            self.builder.jump(inside, Vec::new());
        } else {
            let condition = self.expression(condition);
            self.branch_or_exit(condition, inside, exit, &carried);
        }
        self.builder.start(inside);
        self.loops.push(Loop {
            exit,
            next: header,
            carried,
            exclusive: self.exclusive.len(),
        });
        self.block(body);
        self.end_loop();
    }

    /// Counts down the number of iterations. The number is known before the first one, so no
    /// counter can overflow.
    fn for_loop(
        &mut self,
        counter: LocalId,
        range: &Range,
        assigned: Vec<LocalId>,
        body: impl FnOnce(&mut Self),
    ) {
        let start = self.expression(&range.start);
        let end = self.expression(&range.end);
        let step = match &range.step {
            Some(step) => self.expression(step),
            None => self.int(1),
        };
        let count = Op::RangeCount {
            start,
            end,
            step,
            inclusive: range.inclusive,
        };
        let count = self.value(count, Type::Int, range.site);
        let carried = self.carried(assigned);
        let blocks = [(); 4].map(|()| self.builder.new_block());
        let [header, inside, next, exit] = blocks;
        let mut arguments = vec![start, count];
        arguments.extend(self.current(&carried));
        self.builder.jump(header, arguments);

        self.builder.start(header);
        let now = self.builder.parameter(header, Type::Int);
        let left = self.builder.parameter(header, Type::Int);
        self.bind_parameters(header, &carried);
        let zero = self.int(0);
        let more = self.value(
            Op::Compare(CompareOp::NotEqual, left, zero),
            Type::Bool,
            range.site,
        );
        self.branch_or_exit(more, inside, exit, &carried);

        self.builder.start(inside);
        self.builder.set(counter, now);
        self.loops.push(Loop {
            exit,
            next,
            carried: carried.clone(),
            exclusive: self.exclusive.len(),
        });
        body(self);
        if self.builder.reachable() {
            self.builder.jump(next, self.current(&carried));
        }
        if self.builder.is_targeted(next) {
            self.builder.start(next);
            self.bind_parameters(next, &carried);
            let following = self.value(Op::Binary(BinaryOp::Add, now, step), Type::Int, range.site);
            let one = self.int(1);
            let left = self.value(
                Op::Binary(BinaryOp::Subtract, left, one),
                Type::Int,
                range.site,
            );
            let mut arguments = vec![following, left];
            arguments.extend(self.current(&carried));
            self.builder.jump(header, arguments);
        }
        self.end_loop();
    }

    fn int(&mut self, value: i64) -> Value {
        self.value(Op::Const(Const::Int(value)), Type::Int, SiteId(0))
    }

    /// Branches into the loop or out of it.
    fn branch_or_exit(
        &mut self,
        condition: Value,
        inside: BlockId,
        exit: BlockId,
        carried: &[LocalId],
    ) {
        let done = self.builder.new_block();
        self.builder.branch(condition, inside, done);
        self.builder.start(done);
        self.builder.jump(exit, self.current(carried));
    }

    /// Ends the body of a loop with a jump back. Control goes on after the loop if something leads
    /// there.
    fn end_loop(&mut self) {
        let Some(Loop {
            exit,
            next,
            carried,
            ..
        }) = self.loops.pop()
        else {
            return;
        };
        if self.builder.reachable() {
            self.builder.jump(next, self.current(&carried));
        }
        if self.builder.is_targeted(exit) {
            self.builder.start(exit);
            self.bind_parameters(exit, &carried);
        }
    }

    /// `break` or `continue`.
    fn leave_loop(&mut self, target: impl FnOnce(&Loop) -> BlockId) {
        let Some(innermost) = self.loops.last() else {
            return;
        };
        let (block, carried) = (target(innermost), innermost.carried.clone());
        let around = innermost.exclusive;
        self.leave_exclusive(around, SiteId(0));
        self.builder.jump(block, self.current(&carried));
    }

    /// Outlines the body of a task and creates it.
    fn create(&mut self, task: &hir::Task, construct: Construct) {
        let arguments = self.current(&task.captures);
        let names = task
            .captures
            .iter()
            .map(|local| self.function.locals[local.index()].name.clone())
            .collect();
        let mut lowering = self.task_lowering(task.body.sync_scope);
        for capture in &task.captures {
            lowering.parameter(*capture);
        }
        let function = lowering.body(&task.body, Role::AsyncBody, names, task.site);
        let function = self.add_function(function);
        self.emit(
            Op::Spawn {
                kind: TaskKind::Async,
                construct,
                function,
                arguments,
            },
            task.site,
        );
    }

    /// Outlines the call of a spawn and the store of its result. The parts of the place come first,
    /// as parameters without a name. The arguments have the names of the function's parameters.
    fn spawn(
        &mut self,
        function: hir::FunctionId,
        arguments: &[hir::Expression],
        target: Option<&(hir::SharedPlace, AccessId)>,
        site: SiteId,
    ) {
        let callee = &self.program.functions[function.index()];
        let evaluated = target.map(|(place, _)| self.evaluate(place));
        let mut captures: Vec<Value> = match &evaluated {
            None | Some(Evaluated::Global(_)) => Vec::new(),
            Some(Evaluated::Field { object, .. }) => vec![*object],
            Some(Evaluated::Element { array, indices }) => {
                std::iter::once(array).chain(indices).copied().collect()
            }
        };
        let parts = captures.len();
        captures.extend(self.expressions(arguments));
        let types: Vec<Type> = captures
            .iter()
            .map(|value| self.builder.ty(*value))
            .collect();
        let parameter_names = callee
            .parameters
            .iter()
            .map(|local| callee.locals[local.index()].name.clone());
        let names = std::iter::repeat_n(String::new(), parts)
            .chain(parameter_names)
            .collect();

        let mut lowering = self.task_lowering(false);
        let values: Vec<Value> = types
            .into_iter()
            .map(|ty| lowering.builder.parameter(Function::ENTRY, ty))
            .collect();
        let (place_parts, call_arguments) = values.split_at(parts);
        let call = Op::Call {
            function,
            arguments: call_arguments.to_vec(),
        };
        match &callee.result {
            None => lowering.emit(call, site),
            Some(ty) => {
                let result = lowering.value(call, ty.ir(), site);
                if let (Some((place, access)), Some(evaluated)) = (target, evaluated) {
                    let inside = match (evaluated, place_parts) {
                        (Evaluated::Field { field, .. }, [object]) => Evaluated::Field {
                            object: *object,
                            field,
                        },
                        (Evaluated::Element { .. }, [array, indices @ ..]) => Evaluated::Element {
                            array: *array,
                            indices: indices.to_vec(),
                        },
                        (global, _) => global,
                    };
                    let (base, offset) = lowering.checked(inside, place.site);
                    lowering.store(base, offset, result, *access, site);
                }
            }
        }
        lowering.builder.end(Terminator::Return(None));
        let name = lowering.function.name.clone();
        let body = lowering
            .builder
            .finish(name, Role::SpawnBody, names, None, (site, site));
        let outlined = self.add_function(body);
        let op = Op::Spawn {
            kind: TaskKind::Spawn,
            construct: Construct::Spawn,
            function: outlined,
            arguments: captures,
        };
        self.emit(op, site);
    }
}

/// The last block of an arm, left open, and what the arm assigned.
type ArmEnd = (BlockId, Vec<(LocalId, Value)>);
