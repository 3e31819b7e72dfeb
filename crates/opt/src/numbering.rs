//! Value numbering: what was computed before from the same operands is not computed again.
//!
//! Blocks are visited in an order in which those that dominate a block come before it. An operation whose result is decided by its operands
//! alone is replaced by an equal one that dominates it. That holds for operations that can fail as well: the sizes of an array never
//! change, so behind an [`Op::Index`] that did not fail an equal one does not fail either, and a null check behind another one is
//! void. Operations on constants are computed, and those with a neutral operand are that operand; float arithmetic is left alone, so that
//! no bit of a result changes. Constants are moved to the front of the entry block, one of each: they are at hand
//! everywhere, and a code generator makes them anew where they are used.
//!
//! Linear in the function, times the number of places that compute one thing without dominating each other.

use crate::edit::{NO_SITE, Renaming};
use crate::not_null::{NotNull, entered_by_one_edge};
use finishline_ir::dominators::Dominators;
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Function, Instruction, Op, Type, UnaryOp, Value,
};
use rustc_hash::FxHashMap;

/// Numbers the values of a function.
pub(crate) fn number(function: &mut Function) {
    let dominators = Dominators::of(function);
    let entered = entered_by_one_edge(function, &dominators);
    let mut numbering = Numbering {
        renaming: Renaming::new(function),
        constants: FxHashMap::default(),
        computed: FxHashMap::default(),
        places: Vec::new(),
        operations: FxHashMap::default(),
        not_null: NotNull::default(),
        dominators: &dominators,
    };
    for &id in dominators.order() {
        if let Some(from) = entered[id.index()] {
            let operations = &numbering.operations;
            let from = &function.block(from).terminator;
            numbering
                .not_null
                .enter(id, from, |value| operations.get(&value));
        }
        let instructions = std::mem::take(&mut function.blocks[id.index()].instructions);
        let mut kept = Vec::with_capacity(instructions.len());
        for mut instruction in instructions {
            let renaming = &mut numbering.renaming;
            instruction
                .op
                .for_each_use_mut(|value| *value = renaming.get(*value));
            if numbering.must_stay(function, id, &instruction) {
                kept.push(instruction);
            }
        }
        let block = &mut function.blocks[id.index()];
        block.instructions = kept;
        let renaming = &mut numbering.renaming;
        block
            .terminator
            .for_each_use_mut(|value| *value = renaming.get(*value));
    }
    // The arguments of back edges were met before what they name.
    numbering.renaming.apply(function);
    let constants = numbering.constants.into_values().collect();
    put_in_front(function, constants);
}

fn put_in_front(function: &mut Function, mut constants: Vec<(Value, Const)>) {
    constants.sort_by_key(|(value, _)| *value);
    let instructions = &mut function.blocks[Function::ENTRY.index()].instructions;
    instructions.splice(
        0..0,
        constants.into_iter().map(|(value, constant)| Instruction {
            op: Op::Const(constant),
            result: Some(value),
            site: NO_SITE,
        }),
    );
}

struct Numbering<'a> {
    renaming: Renaming,
    /// By type and bits.
    constants: FxHashMap<(Type, u64), (Value, Const)>,
    /// Each computation, with the last place met that makes it.
    computed: FxHashMap<Key, u32>,
    places: Vec<Place>,
    /// How constants, conditions and arrays came about.
    operations: FxHashMap<Value, Op>,
    not_null: NotNull,
    dominators: &'a Dominators,
}

/// A computation in a block, its result, and where else the same is computed.
struct Place {
    block: BlockId,
    result: Value,
    next: Option<u32>,
}

/// What an operation computes: a code for the operation, and its operands.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    code: u32,
    operands: [u32; 4],
}

impl Numbering<'_> {
    /// Whether an instruction, its operands already renamed, has to stay. If not, its result is renamed.
    fn must_stay(
        &mut self,
        function: &mut Function,
        block: BlockId,
        instruction: &Instruction,
    ) -> bool {
        let Instruction { op, result, .. } = instruction;
        if let Op::NonNull(reference) = op
            && self.not_null.holds(*reference, block, self.dominators)
        {
            return false;
        }
        let Some(result) = *result else {
            self.not_null.learn(op, None, block);
            return true;
        };
        if let Some(simpler) = self.simplify(function, block, op) {
            let value = match simpler {
                Simpler::Value(value) => value,
                Simpler::Constant(constant) => self.constant(function, constant, result),
            };
            if value != result {
                self.renaming.set(result, value);
            }
            return false;
        }
        if let Some(key) = key(function, op) {
            let last = self.computed.get(&key).copied();
            let mut at = last;
            while let Some(place) = at.map(|at| &self.places[at as usize]) {
                if self.dominators.dominates(place.block, block) {
                    self.renaming.set(result, place.result);
                    return false;
                }
                at = place.next;
            }
            self.computed.insert(key, self.places.len() as u32);
            self.places.push(Place {
                block,
                result,
                next: last,
            });
        }
        if matches!(
            op,
            Op::Compare(..) | Op::Binary(BinaryOp::And | BinaryOp::Or, ..) | Op::NewArray { .. }
        ) {
            self.operations.insert(result, op.clone());
        }
        self.not_null.learn(op, Some(result), block);
        true
    }

    /// The one value of a constant; `spare` is a value that may become it.
    fn constant(&mut self, function: &mut Function, constant: Const, spare: Value) -> Value {
        let bits = match constant {
            Const::Int(value) => value as u64,
            Const::Float(value) => value.to_bits(),
            Const::Bool(value) => u64::from(value),
            Const::Byte(value) => u64::from(value),
            Const::Null => 0,
        };
        let operations = &mut self.operations;
        let (value, _) = self
            .constants
            .entry((constant.ty(), bits))
            .or_insert_with(|| {
                // Its definition moves to the entry, so the value may serve as it is.
                debug_assert_eq!(function.ty(spare), constant.ty());
                operations.insert(spare, Op::Const(constant));
                (spare, constant)
            });
        *value
    }

    fn known(&self, value: Value) -> Option<Const> {
        match self.operations.get(&value) {
            Some(Op::Const(constant)) => Some(*constant),
            _ => None,
        }
    }

    fn simplify(&self, function: &Function, block: BlockId, op: &Op) -> Option<Simpler> {
        match op {
            Op::Const(constant) => Some(Simpler::Constant(*constant)),
            Op::Convert(a, to) if function.ty(*a) == *to => Some(Simpler::Value(*a)),
            Op::Unary(op, a) => {
                let constant = match (op, self.known(*a)?) {
                    (UnaryOp::Negate, Const::Int(a)) => Const::Int(a.wrapping_neg()),
                    (UnaryOp::Not, Const::Int(a)) => Const::Int(!a),
                    (UnaryOp::Not, Const::Bool(a)) => Const::Bool(!a),
                    _ => return None,
                };
                Some(Simpler::Constant(constant))
            }
            Op::Binary(op, a, b) => match function.ty(*a) {
                Type::Int => self.simplify_int(*op, *a, *b),
                Type::Bool => self.simplify_bool(*op, *a, *b),
                _ => None,
            },
            Op::Compare(op, a, b) => self.simplify_compare(function, block, *op, *a, *b),
            Op::Length { array, dimension } => match self.operations.get(array)? {
                Op::NewArray { sizes, .. } => {
                    Some(Simpler::Value(*sizes.get(*dimension as usize)?))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn simplify_int(&self, op: BinaryOp, a: Value, b: Value) -> Option<Simpler> {
        let int = |value| match self.known(value) {
            Some(Const::Int(int)) => Some(int),
            _ => None,
        };
        let simpler = match (op, int(a), int(b)) {
            (BinaryOp::Add, Some(a), Some(b)) => constant_int(a.wrapping_add(b)),
            (BinaryOp::Subtract, Some(a), Some(b)) => constant_int(a.wrapping_sub(b)),
            (BinaryOp::Multiply, Some(a), Some(b)) => constant_int(a.wrapping_mul(b)),
            (BinaryOp::Add | BinaryOp::Subtract, _, Some(0))
            | (BinaryOp::Multiply | BinaryOp::Divide, _, Some(1)) => Simpler::Value(a),
            (BinaryOp::Add, Some(0), _) | (BinaryOp::Multiply, Some(1), _) => Simpler::Value(b),
            (BinaryOp::Multiply, _, Some(0)) | (BinaryOp::Multiply, Some(0), _) => constant_int(0),
            _ => return None,
        };
        Some(simpler)
    }

    fn simplify_bool(&self, op: BinaryOp, a: Value, b: Value) -> Option<Simpler> {
        let bool = |value| match self.known(value) {
            Some(Const::Bool(bool)) => Some(bool),
            _ => None,
        };
        let simpler = match (op, bool(a), bool(b)) {
            (BinaryOp::And, Some(true), _) | (BinaryOp::Or, Some(false), _) => Simpler::Value(b),
            (BinaryOp::And, _, Some(true)) | (BinaryOp::Or, _, Some(false)) => Simpler::Value(a),
            (BinaryOp::And, Some(false), _) | (BinaryOp::And, _, Some(false)) => {
                Simpler::Constant(Const::Bool(false))
            }
            (BinaryOp::Or, Some(true), _) | (BinaryOp::Or, _, Some(true)) => {
                Simpler::Constant(Const::Bool(true))
            }
            (BinaryOp::And | BinaryOp::Or, ..) if a == b => Simpler::Value(a),
            _ => return None,
        };
        Some(simpler)
    }

    fn simplify_compare(
        &self,
        function: &Function,
        block: BlockId,
        op: CompareOp,
        a: Value,
        b: Value,
    ) -> Option<Simpler> {
        let decided = |ordering: std::cmp::Ordering| {
            let holds = match op {
                CompareOp::Equal => ordering.is_eq(),
                CompareOp::NotEqual => ordering.is_ne(),
                CompareOp::Less => ordering.is_lt(),
                CompareOp::LessEqual => ordering.is_le(),
                CompareOp::Greater => ordering.is_gt(),
                CompareOp::GreaterEqual => ordering.is_ge(),
            };
            Some(Simpler::Constant(Const::Bool(holds)))
        };
        if a == b && function.ty(a) != Type::Float {
            return decided(std::cmp::Ordering::Equal);
        }
        let not_null = |value| self.not_null.holds(value, block, self.dominators);
        match (self.known(a), self.known(b)) {
            (Some(Const::Int(a)), Some(Const::Int(b))) => decided(a.cmp(&b)),
            (Some(Const::Byte(a)), Some(Const::Byte(b))) => decided(a.cmp(&b)),
            (Some(Const::Bool(a)), Some(Const::Bool(b))) => decided(a.cmp(&b)),
            // References are only compared for being the same.
            (_, Some(Const::Null)) if not_null(a) => decided(std::cmp::Ordering::Greater),
            (Some(Const::Null), _) if not_null(b) => decided(std::cmp::Ordering::Less),
            _ => None,
        }
    }
}

enum Simpler {
    Value(Value),
    Constant(Const),
}

fn constant_int(value: i64) -> Simpler {
    Simpler::Constant(Const::Int(value))
}

/// None if the result depends on more than the operands, or there are too many of them.
fn key(function: &Function, op: &Op) -> Option<Key> {
    let none = u32::MAX;
    let (code, operands) = match op {
        Op::Unary(op, a) => (0x100 + *op as u32, [a.0, none, none, none]),
        Op::Binary(op, a, b) => {
            let commutes = matches!(
                op,
                BinaryOp::Add | BinaryOp::Multiply | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor
            ) && function.ty(*a) != Type::Float;
            let (a, b) = if commutes && b < a { (b, a) } else { (a, b) };
            (0x200 + *op as u32, [a.0, b.0, none, none])
        }
        Op::Compare(op, a, b) => (0x300 + *op as u32, [a.0, b.0, none, none]),
        Op::Convert(a, to) => (0x400 + *to as u32, [a.0, none, none, none]),
        Op::Math(math, operands) => {
            let operand = |at: usize| operands.get(at).map_or(none, |value| value.0);
            (0x500 + *math as u32, [operand(0), operand(1), none, none])
        }
        Op::RangeCount {
            start,
            end,
            step,
            inclusive,
        } => (
            0x600 + u32::from(*inclusive),
            [start.0, end.0, step.0, none],
        ),
        Op::Globals => (0x700, [none; 4]),
        Op::Length { array, dimension } => (0x800, [array.0, *dimension, none, none]),
        Op::Index { array, indices } => {
            let mut operands = [none; 4];
            operands[0] = array.0;
            for (at, index) in indices.iter().enumerate() {
                *operands.get_mut(at + 1)? = index.0;
            }
            (0x900, operands)
        }
        _ => return None,
    };
    Some(Key { code, operands })
}
