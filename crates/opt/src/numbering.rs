//! Value numbering: what was computed before from the same operands is not computed again.
//!
//! Blocks are visited in an order in which those that dominate a block come before it. An operation
//! whose result is decided by its operands alone is replaced by an equal one that dominates it.
//! That holds for operations that can fail as well: the sizes of an array never change, so behind
//! an [`Op::Index`] that did not fail an equal one does not fail either, and a null check behind
//! another one is void. Operations on constants are computed, and those with a neutral operand are
//! that operand; float arithmetic is left alone, so that no bit of a result changes. Where control
//! only gets if a condition held, it holds: another branch on it is a jump. A [`Op::CallRoom`] is
//! void behind an equal one in a function in which nothing changes the depth of calls or the memory
//! of frames. Constants are moved to the front of the entry block, one of each: they are at hand
//! everywhere, and a code generator makes them anew where they are used.
//!
//! Linear in the function, times the number of places that compute one thing without dominating
//! each other.

use crate::edit::{NO_SITE, Renaming};
use crate::effects::ends_memory;
use crate::not_null::{NotNull, conditions, entered_by_one_edge};
use finishline_ir::dominators::Dominators;
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Function, FunctionId, Instruction, Op, Terminator, Type,
    UnaryOp, Value,
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
        decided: FxHashMap::default(),
        rooms: keeps_its_room(function).then(FxHashMap::default),
        dominators: &dominators,
    };
    for &id in dominators.order() {
        if let Some(from) = entered[id.index()] {
            numbering.enter(id, &function.block(from).terminator);
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
        if let Terminator::Branch {
            condition,
            then,
            otherwise,
        } = &block.terminator
            && let Some(holds) = numbering.decided(*condition, id)
        {
            let taken = if holds { then } else { otherwise };
            block.terminator = Terminator::Jump(taken.clone());
        }
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
    places: Vec<Computed>,
    /// How constants, conditions and arrays came about.
    operations: FxHashMap<Value, Op>,
    not_null: NotNull,
    /// Conditions with a block from which on they are decided, and how.
    decided: FxHashMap<Value, Vec<(BlockId, bool)>>,
    /// The rooms asked for so far, if asking again gives the same answer.
    rooms: Option<FxHashMap<Vec<FunctionId>, Vec<BlockId>>>,
    dominators: &'a Dominators,
}

/// A computation in a block, its result, and where else the same is computed.
struct Computed {
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

/// Whether the depth of calls and the memory that frames take are the same all the time that a call
/// of the function lasts. Objects have a budget of their own.
fn keeps_its_room(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.all(|instruction| !ends_memory(&instruction.op))
}

impl Numbering<'_> {
    /// Notes what is known on entry of a block that only one edge leads to.
    fn enter(&mut self, block: BlockId, from: &Terminator) {
        let operations = &self.operations;
        let op = |value: Value| operations.get(&value);
        self.not_null.enter(block, from, op);
        for (condition, holds) in conditions(block, from, op) {
            self.decided
                .entry(condition)
                .or_default()
                .push((block, holds));
        }
    }

    /// Whether a condition is known to hold, or not to, in a block.
    fn decided(&self, condition: Value, block: BlockId) -> Option<bool> {
        if let Some(Const::Bool(holds)) = self.known(condition) {
            return Some(holds);
        }
        let found = self.decided.get(&condition)?.iter();
        let mut found = found.filter(|(from, _)| self.dominators.dominates(*from, block));
        found.next().map(|(_, holds)| *holds)
    }

    /// Whether an equal room was there before.
    fn had_room(&mut self, nested: &[FunctionId], block: BlockId) -> bool {
        let Some(rooms) = &mut self.rooms else {
            return false;
        };
        let places = rooms.entry(nested.to_vec()).or_default();
        let known = |place: &BlockId| self.dominators.dominates(*place, block);
        if places.iter().any(known) {
            return true;
        }
        places.push(block);
        false
    }

    /// Whether an instruction, its operands already renamed, has to stay. If not, its result is
    /// renamed.
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
        if let Op::CallRoom(nested) = op
            && self.had_room(nested, block)
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
            if let Some(equal) = self.equal(&key, block) {
                self.renaming.set(result, equal);
                return false;
            }
            let last = self.computed.get(&key).copied();
            self.computed.insert(key, self.places.len() as u32);
            self.places.push(Computed {
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

    /// What was computed before and is known in a block.
    fn equal(&self, key: &Key, block: BlockId) -> Option<Value> {
        let mut at = self.computed.get(key).copied();
        while let Some(place) = at.map(|at| &self.places[at as usize]) {
            if self.dominators.dominates(place.block, block) {
                return Some(place.result);
            }
            at = place.next;
        }
        None
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

    fn int(&self, value: Value) -> Option<i64> {
        match self.known(value) {
            Some(Const::Int(int)) => Some(int),
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
                Type::Bool => self.simplify_bool(block, *op, *a, *b),
                _ => None,
            },
            Op::Compare(op, a, b) => self.simplify_compare(function, block, *op, *a, *b),
            Op::RangeCount {
                start,
                end,
                step,
                inclusive,
            } => {
                let (start, end, step) = (self.int(*start)?, self.int(*end)?, self.int(*step)?);
                // Other ranges are rare with constants, and nothing is gained by their counts.
                let distance = end.checked_sub(start)?.checked_add(i64::from(*inclusive))?;
                (step > 0 && distance > 0).then(|| constant_int((distance - 1) / step + 1))
            }
            Op::Length { array, dimension } => self.allocated_size(*array, *dimension),
            Op::SizeOrZero { array, dimension } => {
                let (array, dimension) = (*array, *dimension);
                let length = || {
                    let length = key(function, &Op::Length { array, dimension })?;
                    self.equal(&length, block).map(Simpler::Value)
                };
                self.allocated_size(array, dimension).or_else(length)
            }
            _ => None,
        }
    }

    /// The size of an array that is made in this function.
    fn allocated_size(&self, array: Value, dimension: u32) -> Option<Simpler> {
        match self.operations.get(&array)? {
            Op::NewArray { sizes, .. } => Some(Simpler::Value(*sizes.get(dimension as usize)?)),
            _ => None,
        }
    }

    fn simplify_int(&self, op: BinaryOp, a: Value, b: Value) -> Option<Simpler> {
        let simpler = match (op, self.int(a), self.int(b)) {
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

    fn simplify_bool(&self, block: BlockId, op: BinaryOp, a: Value, b: Value) -> Option<Simpler> {
        let simpler = match (op, self.decided(a, block), self.decided(b, block)) {
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
        Op::SizeOrZero { array, dimension } => (0x801, [array.0, *dimension, none, none]),
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
