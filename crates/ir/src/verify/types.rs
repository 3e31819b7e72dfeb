//! Types and definitions: SSA form, and what each operation takes and gives.

use super::{CodePosition, Violations};
use crate::dominators::Dominators;
use crate::module::*;
use finishline_model::TaskKind;

pub(super) fn check(module: &Module, violations: &mut Violations) {
    check_main(module, violations);
    for (index, function) in module.functions.iter().enumerate() {
        let mut body = Body {
            module,
            function,
            violations,
            place: CodePosition::function(index),
        };
        body.check();
        check_definitions(function, CodePosition::function(index), violations);
    }
}

fn check_main(module: &Module, violations: &mut Violations) {
    let main = module.function(module.main);
    let place = CodePosition::function(module.main.index());
    violations.require(
        main.role == Role::Function && main.result.is_none(),
        place,
        || "main is no function without a result".into(),
    );
    let parameters = &main.block(Function::ENTRY).parameters;
    violations.require(
        parameters.iter().all(|p| main.ty(*p) != Type::Ref),
        place,
        || "main takes a reference".into(),
    );
}

struct Body<'a> {
    module: &'a Module,
    function: &'a Function,
    violations: &'a mut Violations,
    place: CodePosition,
}

/// What an operation gives.
enum Gives {
    Nothing,
    /// Always this type.
    One(Type),
    /// A result of this type, or it is dropped.
    Droppable(Type),
    /// A location's type is not known here.
    Any,
}

impl Body<'_> {
    fn check(&mut self) {
        let whole = self.place;
        let function = self.function;
        let entry = function.block(Function::ENTRY);
        self.require(entry.parameters.len() == function.parameters.len(), || {
            "names and parameters of the entry block differ in number".into()
        });
        self.require(
            function.role == Role::Function || function.result.is_none(),
            || "the body of a task has a result".into(),
        );
        for (index, block) in function.blocks.iter().enumerate() {
            for (position, instruction) in block.instructions.iter().enumerate() {
                self.place = whole.block(index).instruction(position);
                let gives = self.operation(&instruction.op);
                self.result(gives, instruction.result);
            }
            self.place = whole.block(index).instruction(block.instructions.len());
            self.terminator(&block.terminator);
        }
    }

    fn require(&mut self, holds: bool, message: impl FnOnce() -> String) {
        self.violations.require(holds, self.place, message);
    }

    fn expect(&mut self, value: Value, expected: Type) {
        self.expect_one_of(value, &[expected]);
    }

    fn expect_one_of(&mut self, value: Value, expected: &[Type]) {
        let found = self.function.ty(value);
        self.require(expected.contains(&found), || {
            let words: Vec<_> = expected.iter().map(|ty| ty.word()).collect();
            format!("{value} is {}, not {}", found.word(), words.join(" or "))
        });
    }

    fn expect_offset(&mut self, operand: Operand) {
        match operand {
            Operand::Value(value) => self.expect(value, Type::Int),
            Operand::Constant(constant) => {
                self.require(constant >= 0, || format!("{constant} is negative"));
            }
        }
    }

    fn result(&mut self, gives: Gives, result: Option<Value>) {
        match (gives, result) {
            (Gives::One(ty) | Gives::Droppable(ty), Some(value)) => self.expect(value, ty),
            (Gives::Nothing, Some(value)) => {
                self.require(false, || format!("{value} gets no value"));
            }
            (Gives::One(_) | Gives::Any, None) => self.require(false, || "has no result".into()),
            (Gives::Any, Some(_)) | (Gives::Nothing | Gives::Droppable(_), None) => {}
        }
    }

    fn operation(&mut self, op: &Op) -> Gives {
        const NUMBERS: [Type; 3] = [Type::Int, Type::Float, Type::Byte];
        match op {
            Op::Const(constant) => Gives::One(constant.ty()),
            Op::Unary(op, a) => {
                let allowed = match op {
                    UnaryOp::Negate => NUMBERS,
                    UnaryOp::Not => [Type::Bool, Type::Int, Type::Byte],
                };
                self.expect_one_of(*a, &allowed);
                Gives::One(self.function.ty(*a))
            }
            Op::Binary(op, a, b) => {
                self.expect_one_of(*a, operands_of(*op));
                self.expect(*b, self.function.ty(*a));
                Gives::One(self.function.ty(*a))
            }
            Op::Compare(op, a, b) => {
                if !matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
                    self.expect_one_of(*a, &NUMBERS);
                }
                self.expect(*b, self.function.ty(*a));
                Gives::One(Type::Bool)
            }
            Op::Convert(a, to) => {
                self.require(NUMBERS.contains(to), || {
                    format!("converts to {}", to.word())
                });
                match to {
                    Type::Int => {
                        self.expect_one_of(*a, &[Type::Int, Type::Float, Type::Byte, Type::Bool]);
                    }
                    _ => self.expect_one_of(*a, &NUMBERS),
                }
                Gives::One(*to)
            }
            Op::Math(function, operands) => self.math(*function, operands),
            Op::RangeCount {
                start, end, step, ..
            } => {
                self.expect_all(&[*start, *end, *step], Type::Int);
                Gives::One(Type::Int)
            }
            Op::NewStruct { .. } | Op::NewLock { .. } | Op::NewPromise { .. } | Op::Globals => {
                Gives::One(Type::Ref)
            }
            Op::NewArray { sizes, .. } => {
                self.require(!sizes.is_empty(), || "an array without dimensions".into());
                self.expect_all(sizes, Type::Int);
                Gives::One(Type::Ref)
            }
            Op::NonNull(a) | Op::Acquire(a) | Op::Release(a) => {
                self.expect(*a, Type::Ref);
                Gives::Nothing
            }
            Op::Index { array, indices } => {
                self.expect(*array, Type::Ref);
                self.expect_all(indices, Type::Int);
                Gives::One(Type::Int)
            }
            Op::Length { array, .. } | Op::SizeOrZero { array, .. } => {
                self.expect(*array, Type::Ref);
                Gives::One(Type::Int)
            }
            Op::Check {
                base,
                first,
                count,
                stride,
                ..
            } => {
                self.expect(*base, Type::Ref);
                for operand in [first, count] {
                    self.expect_offset(*operand);
                }
                // A range may be listed from its end.
                if let Operand::Value(stride) = stride {
                    self.expect(*stride, Type::Int);
                }
                Gives::Nothing
            }
            Op::Load { base, offset, .. } => {
                self.expect(*base, Type::Ref);
                self.expect_offset(*offset);
                Gives::Any
            }
            Op::Store { base, offset, .. } => {
                self.expect(*base, Type::Ref);
                self.expect_offset(*offset);
                Gives::Nothing
            }
            Op::Call {
                function,
                arguments,
            } => {
                let callee = self.module.function(*function);
                self.require(callee.role == Role::Function, || {
                    "calls the body of a task".into()
                });
                self.arguments(callee, Function::ENTRY, arguments);
                callee.result.map_or(Gives::Nothing, Gives::Droppable)
            }
            Op::CallRoom(_) => Gives::Nothing,
            Op::Assert { condition, .. } => {
                self.expect(*condition, Type::Bool);
                Gives::Nothing
            }
            Op::Spawn {
                kind,
                construct,
                function,
                arguments,
            } => {
                let body = self.module.function(*function);
                let agree = matches!(
                    (kind, construct, body.role),
                    (
                        TaskKind::Async,
                        Construct::Async | Construct::Forall | Construct::Future,
                        Role::AsyncBody
                    ) | (TaskKind::Spawn, Construct::Spawn, Role::SpawnBody)
                );
                self.require(agree, || {
                    let construct = construct.word();
                    format!(
                        "{construct} creates a task of kind {kind:?} from a {:?}",
                        body.role
                    )
                });
                self.arguments(body, Function::ENTRY, arguments);
                Gives::Nothing
            }
            Op::PromiseSet { promise, .. } => {
                self.expect(*promise, Type::Ref);
                Gives::Nothing
            }
            Op::PromiseGet(promise) => {
                self.expect(*promise, Type::Ref);
                Gives::Any
            }
            Op::Print(_)
            | Op::FinishBegin(_)
            | Op::FinishEnd(_)
            | Op::Sync
            | Op::IsolatedBegin
            | Op::IsolatedEnd => Gives::Nothing,
        }
    }

    fn math(&mut self, function: MathFunction, operands: &[Value]) -> Gives {
        self.require(operands.len() == function.arity(), || {
            format!("{} takes {} operands", function.word(), function.arity())
        });
        let ty = match operands.first() {
            Some(first) if function.takes_int() && self.function.ty(*first) == Type::Int => {
                Type::Int
            }
            _ => Type::Float,
        };
        self.expect_all(operands, ty);
        Gives::One(ty)
    }

    fn expect_all(&mut self, values: &[Value], expected: Type) {
        for value in values {
            self.expect(*value, expected);
        }
    }

    /// Arguments against the parameters of a block of a function.
    fn arguments(&mut self, callee: &Function, block: BlockId, arguments: &[Value]) {
        let parameters = &callee.block(block).parameters;
        self.require(parameters.len() == arguments.len(), || {
            format!(
                "{} arguments for {} parameters",
                arguments.len(),
                parameters.len()
            )
        });
        for (parameter, argument) in parameters.iter().zip(arguments) {
            self.expect(*argument, callee.ty(*parameter));
        }
    }

    fn terminator(&mut self, terminator: &Terminator) {
        match terminator {
            Terminator::Branch { condition, .. } => self.expect(*condition, Type::Bool),
            Terminator::Return(value) => match (value, self.function.result) {
                (Some(value), Some(result)) => self.expect(*value, result),
                (None, None) => {}
                (Some(_), None) => self.require(false, || "returns a value".into()),
                (None, Some(_)) => self.require(false, || "returns no value".into()),
            },
            Terminator::Jump(_) => {}
        }
        for target in terminator.targets() {
            self.require(target.block != Function::ENTRY, || {
                "jumps to the entry block".into()
            });
            self.arguments(self.function, target.block, &target.arguments);
        }
    }
}

fn operands_of(op: BinaryOp) -> &'static [Type] {
    match op {
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Remainder => &[Type::Int, Type::Float, Type::Byte],
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => &[Type::Int, Type::Byte, Type::Bool],
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight | BinaryOp::ShiftRightLogical => &[Type::Int],
    }
}

/// Every value used is defined, once, by something that comes before on every path.
fn check_definitions(function: &Function, place: CodePosition, violations: &mut Violations) {
    // Parameters come before the instructions: position 0, then from 1.
    let mut defined: Vec<Option<(BlockId, usize)>> = vec![None; function.values.len()];
    for (index, block) in function.blocks.iter().enumerate() {
        let parameters = block.parameters.iter().map(|parameter| (*parameter, 0));
        let results = block.instructions.iter().enumerate();
        let results = results.filter_map(|(i, instruction)| Some((instruction.result?, i + 1)));
        for (value, position) in parameters.chain(results) {
            let definition = &mut defined[value.index()];
            violations.require(definition.is_none(), place.block(index), || {
                format!("{value} is defined twice")
            });
            *definition = Some((BlockId::from_index(index), position));
        }
    }
    let dominators = Dominators::of(function);
    for (index, block) in function.blocks.iter().enumerate() {
        let here = BlockId::from_index(index);
        let mut used = |value: Value, position: usize| {
            let comes_before = match defined[value.index()] {
                None => false,
                Some((block, defined)) if block == here => defined <= position,
                Some((block, _)) => dominators.dominates(block, here),
            };
            violations.require(
                comes_before,
                place.block(index).instruction(position),
                || format!("{value} is used where it need not be defined"),
            );
        };
        for (position, instruction) in block.instructions.iter().enumerate() {
            instruction.op.for_each_use(|value| used(value, position));
        }
        block
            .terminator
            .for_each_use(|value| used(value, block.instructions.len()));
    }
}
