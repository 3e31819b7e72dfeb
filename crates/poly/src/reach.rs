//! What a call that is not unfolded may do: which functions it reaches, and which tasks it makes.

use finishline_fin::hir::{
    Argument, Block, Body, Expression, ExpressionKind, FunctionId, PlaceKind, Program, Range,
    SharedPlace, Statement,
};
use std::collections::BTreeSet;

/// What is reached by a call.
pub(crate) struct Reach {
    /// The functions, the called one included.
    pub(crate) functions: BTreeSet<FunctionId>,
    /// Some of them create tasks, which may race with each other.
    pub(crate) creates_tasks: bool,
    /// Some of these may still be running when the call is over.
    pub(crate) leaves_tasks: bool,
}

/// Everything that a call of a function may reach.
pub(crate) fn reach(program: &Program, callee: FunctionId) -> Reach {
    let mut reach = Reach {
        functions: BTreeSet::new(),
        creates_tasks: false,
        leaves_tasks: false,
    };
    let mut open = vec![callee];
    while let Some(id) = open.pop() {
        if reach.functions.insert(id) {
            let function = &program.functions[id.index()];
            let mut visitor = Visitor {
                called: &mut open,
                reach: &mut reach,
            };
            visitor.body(&function.body, false);
        }
    }
    reach
}

struct Visitor<'v> {
    called: &'v mut Vec<FunctionId>,
    reach: &'v mut Reach,
}

impl Visitor<'_> {
    /// A body; `joined`: somebody in the same function waits for the tasks created there.
    fn body(&mut self, body: &Body, joined: bool) {
        self.block(&body.block, joined || body.sync_scope);
    }

    fn creates(&mut self, joined: bool) {
        self.reach.creates_tasks = true;
        self.reach.leaves_tasks |= !joined;
    }

    fn block(&mut self, block: &Block, joined: bool) {
        for statement in block {
            self.statement(statement, joined);
        }
    }

    fn statement(&mut self, statement: &Statement, joined: bool) {
        match statement {
            Statement::Block(block) | Statement::Isolated { block, .. } => {
                self.block(block, joined)
            }
            Statement::Locked { lock, block, .. } => {
                self.expression(lock);
                self.block(block, joined);
            }
            Statement::Acquire { lock, .. } | Statement::Release { lock, .. } => {
                self.expression(lock);
            }
            Statement::Finish { block, .. } => self.block(block, true),
            Statement::SetLocal { value, .. } => self.expression(value),
            Statement::Store { place, value, .. } | Statement::Update { place, value, .. } => {
                self.place(place);
                self.expression(value);
            }
            Statement::Call(call) => self.expression(call),
            Statement::Set { promise, value, .. } => {
                self.expression(promise);
                self.expression(value);
            }
            Statement::If { arms, otherwise } => {
                for (condition, block) in arms {
                    self.expression(condition);
                    self.block(block, joined);
                }
                self.block(otherwise, joined);
            }
            Statement::While { condition, body } => {
                self.expression(condition);
                self.block(body, joined);
            }
            Statement::For { range, body, .. } => {
                self.range(range);
                self.block(body, joined);
            }
            Statement::Return { value, .. } => {
                if let Some(value) = value {
                    self.expression(value);
                }
            }
            Statement::Print(arguments) => self.arguments(arguments),
            Statement::Assert {
                condition, message, ..
            } => {
                self.expression(condition);
                self.arguments(message);
            }
            Statement::Async(task) => {
                self.creates(joined);
                self.body(&task.body, joined);
            }
            Statement::Forall { range, task, .. } => {
                self.range(range);
                self.creates(true);
                self.body(&task.body, true);
            }
            Statement::Spawn {
                function,
                arguments,
                target,
                ..
            } => {
                self.creates(joined);
                if let Some((place, _)) = target {
                    self.place(place);
                }
                arguments
                    .iter()
                    .for_each(|argument| self.expression(argument));
                self.called.push(*function);
            }
            // It may close a finish of the caller, and then tasks are waited for that were taken to
            // go on.
            Statement::BeginFinish(_) | Statement::EndFinish(_) => self.creates(false),
            Statement::Break | Statement::Continue | Statement::Sync(_) => {}
        }
    }

    fn range(&mut self, range: &Range) {
        self.expression(&range.start);
        self.expression(&range.end);
        if let Some(step) = &range.step {
            self.expression(step);
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        for argument in arguments {
            if let Argument::Value(value) = argument {
                self.expression(value);
            }
        }
    }

    fn place(&mut self, place: &SharedPlace) {
        match &place.kind {
            PlaceKind::Global(_) => {}
            PlaceKind::Field { object, .. } => self.expression(object),
            PlaceKind::Element { array, indices } => {
                self.expression(array);
                indices.iter().for_each(|index| self.expression(index));
            }
        }
    }

    fn expression(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Const(_)
            | ExpressionKind::Local(_)
            | ExpressionKind::NewStruct { .. }
            | ExpressionKind::NewLock { .. }
            | ExpressionKind::NewPromise { .. } => {}
            // It may be a task of a finish of the caller.
            ExpressionKind::Future(future) => {
                self.creates(false);
                self.expression(&future.value);
            }
            ExpressionKind::Load { place, .. } => self.place(place),
            ExpressionKind::Unary(_, operand)
            | ExpressionKind::Convert(operand)
            | ExpressionKind::Get(operand) => {
                self.expression(operand);
            }
            ExpressionKind::Binary(_, left, right)
            | ExpressionKind::Compare(_, left, right)
            | ExpressionKind::And(left, right)
            | ExpressionKind::Or(left, right) => {
                self.expression(left);
                self.expression(right);
            }
            ExpressionKind::Conditional(condition, yes, no) => {
                self.expression(condition);
                self.expression(yes);
                self.expression(no);
            }
            ExpressionKind::Math(_, operands) => {
                operands.iter().for_each(|operand| self.expression(operand));
            }
            ExpressionKind::Length { array, .. } => self.expression(array),
            ExpressionKind::Call {
                function,
                arguments,
            } => {
                arguments
                    .iter()
                    .for_each(|argument| self.expression(argument));
                self.called.push(*function);
            }
            ExpressionKind::NewArray { sizes, .. } | ExpressionKind::NewLocks { sizes, .. } => {
                sizes.iter().for_each(|size| self.expression(size));
            }
        }
    }
}
