//! Modules, functions, blocks and instructions.
//!
//! Values are in SSA form. Blocks have parameters instead of phi instructions. The bodies of
//! `async` and `spawn` are outlined into functions whose parameters are the captures.
//!
//! **Memory.** Only heap objects and globals are shared. Every access has a `base`, a reference,
//! and an `offset` in locations. The offset of a field is its index. The offset of a global is its
//! index in the object of all globals. The offset of an element is the result of [`Op::Index`],
//! which has checked for null and bounds, or of arithmetic that a pass put in its place. The offset
//! of a field or a global is always an [`Operand::Constant`], that of an element never is. The
//! order at run time is always: null and bounds, race check, access.
//!
//! **Checks.** [`Op::Check`] stands before the [`Op::Load`] or [`Op::Store`] with the same
//! [`AccessId`]. [`Module::unchecked`] names the passes that removed or moved a check. The verifier
//! accepts nothing else.

pub use finishline_model::Construct;
use finishline_model::entity;
use finishline_model::source::SourceMap;
use finishline_model::{
    AccessId, AccessKind, AllocationId, FinishKind, Pass, Passes, SiteId, TaskKind,
};
use std::collections::BTreeMap;
use std::fmt;

entity! {
    FunctionId, "fn";
    BlockId, "bb";
    /// An SSA value of one function.
    Value, "v";
    StructId, "struct";
}

/// The type of a value, and of a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Type {
    Int,
    Float,
    Bool,
    Byte,
    /// A reference to a struct, an array or a promise, or null.
    Ref,
}

impl Type {
    /// Every type, each at its [`index`](Type::index).
    pub const ALL: [Type; 5] = [Type::Int, Type::Float, Type::Bool, Type::Byte, Type::Ref];

    /// The type's number, as tables and compiled code know it.
    pub const fn index(self) -> usize {
        self as usize
    }

    pub const fn word(self) -> &'static str {
        match self {
            Type::Int => "int",
            Type::Float => "float",
            Type::Bool => "bool",
            Type::Byte => "byte",
            Type::Ref => "ref",
        }
    }

    /// Bytes an array element of this type takes, as the memory budget counts it.
    pub const fn size(self) -> u64 {
        match self {
            Type::Int | Type::Float | Type::Ref => 8,
            Type::Bool | Type::Byte => 1,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Const {
    Int(i64),
    Float(f64),
    Bool(bool),
    Byte(u8),
    Null,
}

impl Const {
    pub const fn ty(self) -> Type {
        match self {
            Const::Int(_) => Type::Int,
            Const::Float(_) => Type::Float,
            Const::Bool(_) => Type::Bool,
            Const::Byte(_) => Type::Byte,
            Const::Null => Type::Ref,
        }
    }

    /// The starting value of a location.
    pub const fn zero(ty: Type) -> Const {
        match ty {
            Type::Int => Const::Int(0),
            Type::Float => Const::Float(0.0),
            Type::Bool => Const::Bool(false),
            Type::Byte => Const::Byte(0),
            Type::Ref => Const::Null,
        }
    }
}

/// A whole program.
#[derive(Clone, Debug)]
pub struct Module {
    pub source: SourceMap,
    pub structs: Vec<StructLayout>,
    /// The locations of the object of globals, in order.
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    pub main: FunctionId,
    /// The first use of each parallel construct.
    pub constructs: Vec<ConstructUse>,
    /// Accesses that somewhere have no check before them, each with the reasons.
    pub unchecked: BTreeMap<AccessId, Unchecked>,
}

impl Module {
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    pub fn uses(&self, construct: Construct) -> Option<&ConstructUse> {
        self.constructs.iter().find(|u| u.construct == construct)
    }
}

/// Why an access has no check before it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Unchecked {
    /// Removed, or moved elsewhere, by these passes.
    pub by: Passes,
    /// It is a read that was made early; its check stands where it was.
    pub read_ahead: bool,
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passes = self.by.iter().map(Pass::name);
        let words: Vec<&str> = passes
            .chain(self.read_ahead.then_some("read ahead"))
            .collect();
        f.write_str(&words.join(", "))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    pub name: String,
    pub fields: Vec<(String, Type)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    pub name: String,
    pub initial: Const,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstructUse {
    pub construct: Construct,
    pub site: SiteId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// As the user wrote it; an outlined body has the name of the function it was cut from.
    pub name: String,
    pub role: Role,
    /// Names of the parameters (captures, for an outlined body), as many as the entry block has
    /// parameters.
    pub parameters: Vec<String>,
    pub result: Option<Type>,
    /// Block 0 is the entry; nothing jumps to it.
    pub blocks: Vec<Block>,
    /// The type of each value.
    pub values: Vec<Type>,
    /// How many registers a call of it costs, as the memory budget counts them: the values that the
    /// front end gave it. Passes add and remove values but leave this alone, so that no program
    /// fails earlier or later for them.
    pub frame: u32,
    pub site: SiteId,
    /// Where its body ends.
    pub end: SiteId,
}

impl Function {
    pub const ENTRY: BlockId = BlockId(0);

    pub fn ty(&self, value: Value) -> Type {
        self.values[value.index()]
    }

    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A function of the source.
    Function,
    /// The body of an `async` or of an iteration of `forall`.
    AsyncBody,
    /// What a `spawn` does: the call, and the store of its result.
    SpawnBody,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub parameters: Vec<Value>,
    pub instructions: Vec<Instruction>,
    pub terminator: Terminator,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    pub op: Op,
    pub result: Option<Value>,
    /// What a failure of this instruction points at.
    pub site: SiteId,
}

/// A value or a constant, where constants are frequent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Operand {
    Value(Value),
    Constant(i64),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    Const(Const),
    Unary(UnaryOp, Value),
    Binary(BinaryOp, Value, Value),
    /// Both of one type; references only with `Equal` and `NotEqual`, bools too.
    Compare(CompareOp, Value, Value),
    /// Between int, float and byte, and from bool to int.
    Convert(Value, Type),
    Math(MathFunction, Vec<Value>),
    /// How many iterations a range has, as an unsigned number in an int. Fails if the step is 0.
    RangeCount {
        start: Value,
        end: Value,
        step: Value,
        inclusive: bool,
    },

    NewStruct {
        layout: StructId,
        allocation: AllocationId,
    },
    /// Fails on a negative size and over the memory budget.
    NewArray {
        element: Type,
        sizes: Vec<Value>,
        allocation: AllocationId,
    },
    /// A promise without a value.
    NewPromise {
        carried: Type,
        allocation: AllocationId,
    },
    /// A lock that no task holds.
    NewLock {
        allocation: AllocationId,
    },
    /// The object that holds the global variables.
    Globals,
    /// Fails if the reference is null. Has no result.
    NonNull(Value),
    /// The offset of an element. Fails on null and out of bounds.
    Index {
        array: Value,
        indices: Vec<Value>,
    },
    /// The size of one dimension. Fails on null.
    Length {
        array: Value,
        dimension: u32,
    },
    /// The size of one dimension, 0 for null. For checks that are made before anything fails.
    SizeOrZero {
        array: Value,
        dimension: u32,
    },

    /// The race check of `count` locations of `base` from `first`, `stride` apart, as far as there
    /// are such locations ([`crate::range`]).
    Check {
        kind: AccessKind,
        base: Value,
        first: Operand,
        count: Operand,
        stride: Operand,
        access: AccessId,
    },
    Load {
        base: Value,
        offset: Operand,
        access: AccessId,
    },
    Store {
        base: Value,
        offset: Operand,
        value: Value,
        access: AccessId,
    },

    Call {
        function: FunctionId,
        arguments: Vec<Value>,
    },
    /// What is left of a call that was inlined: fails as the call of the last of these functions
    /// would, from the first ones nested in each other, for want of call depth or memory. Changes
    /// nothing.
    CallRoom(Vec<FunctionId>),
    Print(Vec<PrintPart>),
    /// Fails if the condition is false, with the message.
    Assert {
        condition: Value,
        message: Vec<PrintPart>,
    },

    /// Creates a task that runs the function. `construct` is `Async`, `Forall`, `Future` or
    /// `Spawn`.
    Spawn {
        kind: TaskKind,
        construct: Construct,
        function: FunctionId,
        arguments: Vec<Value>,
    },
    /// Opens a finish in this task. Its site is the construct's head.
    FinishBegin(FinishKind),
    /// Waits and closes. Fails if the innermost finish this task has open is of another kind.
    FinishEnd(FinishKind),
    /// Waits for the innermost finish of this task, which stays open. Fails if that is a
    /// `begin_finish`.
    Sync,
    IsolatedBegin,
    IsolatedEnd,

    /// Waits until no task holds the lock, and holds it. Fails on null.
    Acquire(Value),
    /// Gives up a lock. Fails on null, and if the task does not hold it.
    Release(Value),

    /// Gives a promise its value. Fails on null, and if it has one. A set that is written in the
    /// source is checked as a write of the promise. The task of a future sets its own promise,
    /// which nobody else can.
    PromiseSet {
        promise: Value,
        value: Value,
        access: Option<AccessId>,
    },
    /// Waits for the value of a promise. Fails on null.
    PromiseGet(Value),
}

#[derive(Clone, PartialEq, Debug)]
pub enum PrintPart {
    Text(String),
    Value(Value),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// Int, float, byte.
    Negate,
    /// Bool, int, byte.
    Not,
}

/// Both operands and the result are of one type; shifts take an int count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    /// Int and byte: fails on zero; int: fails on MIN / −1.
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    ShiftRightLogical,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MathFunction {
    Sqrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Exp,
    Log,
    Floor,
    Ceil,
    Pow,
    Atan2,
    /// Int or float, as are `Min` and `Max`. The smallest int is its own absolute value.
    Abs,
    Min,
    Max,
}

impl MathFunction {
    pub const ALL: [MathFunction; 16] = [
        MathFunction::Sqrt,
        MathFunction::Sin,
        MathFunction::Cos,
        MathFunction::Tan,
        MathFunction::Asin,
        MathFunction::Acos,
        MathFunction::Atan,
        MathFunction::Exp,
        MathFunction::Log,
        MathFunction::Floor,
        MathFunction::Ceil,
        MathFunction::Pow,
        MathFunction::Atan2,
        MathFunction::Abs,
        MathFunction::Min,
        MathFunction::Max,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            MathFunction::Sqrt => "sqrt",
            MathFunction::Sin => "sin",
            MathFunction::Cos => "cos",
            MathFunction::Tan => "tan",
            MathFunction::Asin => "asin",
            MathFunction::Acos => "acos",
            MathFunction::Atan => "atan",
            MathFunction::Exp => "exp",
            MathFunction::Log => "log",
            MathFunction::Floor => "floor",
            MathFunction::Ceil => "ceil",
            MathFunction::Pow => "pow",
            MathFunction::Atan2 => "atan2",
            MathFunction::Abs => "abs",
            MathFunction::Min => "min",
            MathFunction::Max => "max",
        }
    }

    pub const fn arity(self) -> usize {
        match self {
            MathFunction::Pow | MathFunction::Atan2 | MathFunction::Min | MathFunction::Max => 2,
            _ => 1,
        }
    }

    /// Whether it also takes ints.
    pub const fn takes_int(self) -> bool {
        matches!(
            self,
            MathFunction::Abs | MathFunction::Min | MathFunction::Max
        )
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Terminator {
    Jump(Target),
    Branch {
        condition: Value,
        then: Target,
        otherwise: Target,
    },
    Return(Option<Value>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub block: BlockId,
    pub arguments: Vec<Value>,
}

impl Terminator {
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let (a, b) = match self {
            Terminator::Jump(target) => (Some(target), None),
            Terminator::Branch {
                then, otherwise, ..
            } => (Some(then), Some(otherwise)),
            Terminator::Return(_) => (None, None),
        };
        a.into_iter().chain(b)
    }

    pub fn targets_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        let (a, b) = match self {
            Terminator::Jump(target) => (Some(target), None),
            Terminator::Branch {
                then, otherwise, ..
            } => (Some(then), Some(otherwise)),
            Terminator::Return(_) => (None, None),
        };
        a.into_iter().chain(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_at_its_index() {
        for (index, ty) in Type::ALL.into_iter().enumerate() {
            assert_eq!(ty.index(), index, "{ty:?}");
        }
    }
}
