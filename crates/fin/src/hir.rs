//! The typed tree: names resolved, types known, parallel structure explicit.
//!
//! The tree still has the structure of the source: loops have ranges, tasks have bodies and
//! captures, every shared access has its [`AccessId`]. Compound assignments to locals have become
//! plain assignments. `forall` is kept, because its iterations are known to be tasks of one finish.

use finishline_ir::{BinaryOp, CompareOp, Const, Construct, ConstructUse, MathFunction, UnaryOp};
use finishline_model::source::SourceMap;
use finishline_model::{AccessId, AllocationId, SiteId, entity};
use std::fmt;

pub use finishline_ir::{FunctionId, StructId};

entity! {
    /// A local of one function, including those of its nested tasks.
    LocalId, "local";
    /// A shared global variable.
    GlobalId, "global";
}

#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Type {
    Int,
    Float,
    Bool,
    Byte,
    /// The type of `null` before it is unified with another type.
    Null,
    Struct(StructId),
    Array {
        element: Box<Type>,
        dimensions: u32,
    },
    /// What one task at a time can hold.
    Lock,
    /// A value that is set once, by any task.
    Promise(Box<Type>),
    /// The value of a task.
    Future(Box<Type>),
}

impl Type {
    pub fn is_reference(&self) -> bool {
        self.ir() == finishline_ir::Type::Ref
    }

    pub fn is_number(&self) -> bool {
        matches!(self, Type::Int | Type::Float | Type::Byte)
    }

    /// The representation of the type in the IR.
    pub fn ir(&self) -> finishline_ir::Type {
        match self {
            Type::Int => finishline_ir::Type::Int,
            Type::Float => finishline_ir::Type::Float,
            Type::Bool => finishline_ir::Type::Bool,
            Type::Byte => finishline_ir::Type::Byte,
            Type::Null
            | Type::Struct(_)
            | Type::Array { .. }
            | Type::Lock
            | Type::Promise(_)
            | Type::Future(_) => finishline_ir::Type::Ref,
        }
    }

    /// The type as the user writes it.
    pub fn display<'a>(&'a self, structs: &'a [Struct]) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match self {
            Type::Int => f.write_str("int"),
            Type::Float => f.write_str("float"),
            Type::Bool => f.write_str("bool"),
            Type::Byte => f.write_str("byte"),
            Type::Null => f.write_str("null"),
            Type::Struct(id) => f.write_str(&structs[id.index()].name),
            Type::Array {
                element,
                dimensions,
            } => {
                let commas = ",".repeat(*dimensions as usize - 1);
                write!(f, "{}[{commas}]", element.display(structs))
            }
            Type::Lock => f.write_str("lock"),
            Type::Promise(carried) => write!(f, "promise<{}>", carried.display(structs)),
            Type::Future(carried) => write!(f, "future<{}>", carried.display(structs)),
        })
    }
}

pub struct Program {
    pub source: SourceMap,
    pub structs: Vec<Struct>,
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    pub main: FunctionId,
    pub constructs: Vec<ConstructUse>,
}

impl Program {
    pub fn uses(&self, construct: Construct) -> bool {
        self.constructs
            .iter()
            .any(|used| used.construct == construct)
    }
}

pub struct Struct {
    pub name: String,
    pub fields: Vec<(String, Type)>,
}

pub struct Global {
    pub name: String,
    pub ty: Type,
    pub initial: Const,
    /// The program gives the initial value. Otherwise it is the default of the type.
    pub is_given: bool,
}

pub struct Function {
    pub name: String,
    pub parameters: Vec<LocalId>,
    pub locals: Vec<Local>,
    pub result: Option<Type>,
    pub body: Body,
    pub site: SiteId,
}

pub struct Local {
    pub name: String,
    pub ty: Type,
}

/// The code of one task or procedure.
pub struct Body {
    pub block: Block,
    /// The body contains `spawn` or `sync` of its own, so it is a sync scope.
    pub sync_scope: bool,
    /// The closing brace.
    pub end: SiteId,
}

pub type Block = Vec<Statement>;

pub enum Statement {
    Block(Block),
    /// A declaration of a local, or an assignment to one.
    SetLocal {
        local: LocalId,
        value: Expression,
    },
    /// A write to a shared place.
    Store {
        place: SharedPlace,
        access: AccessId,
        value: Expression,
        site: SiteId,
    },
    /// `place op= value`: a read, the operation, a write.
    Update {
        place: SharedPlace,
        read: AccessId,
        write: AccessId,
        op: BinaryOp,
        value: Expression,
        site: SiteId,
    },
    /// A call, a `get` or a future whose value is not used.
    Call(Expression),
    /// `promise.set(value);`
    Set {
        promise: Expression,
        value: Expression,
        access: AccessId,
        site: SiteId,
    },
    /// The arms are tried in order.
    If {
        arms: Vec<(Expression, Block)>,
        otherwise: Block,
    },
    While {
        condition: Expression,
        body: Block,
    },
    For {
        counter: LocalId,
        range: Range,
        body: Block,
    },
    Break,
    Continue,
    Return {
        value: Option<Expression>,
        site: SiteId,
    },
    Print(Vec<Argument>),
    Assert {
        condition: Expression,
        message: Vec<Argument>,
        site: SiteId,
    },
    Async(Task),
    Forall {
        counter: LocalId,
        range: Range,
        task: Task,
        end: SiteId,
    },
    Finish {
        block: Block,
        site: SiteId,
        end: SiteId,
    },
    Isolated {
        block: Block,
        site: SiteId,
        end: SiteId,
    },
    /// Acquires the lock, runs the block, and releases the lock however the block is left.
    Locked {
        lock: Expression,
        block: Block,
        site: SiteId,
        end: SiteId,
    },
    Acquire {
        lock: Expression,
        site: SiteId,
    },
    Release {
        lock: Expression,
        site: SiteId,
    },
    BeginFinish(SiteId),
    EndFinish(SiteId),
    /// Creates a task that calls the function. The task stores the result if there is a place for
    /// it.
    Spawn {
        function: FunctionId,
        arguments: Vec<Expression>,
        target: Option<(SharedPlace, AccessId)>,
        site: SiteId,
    },
    Sync(SiteId),
}

/// The body of an `async`, or of each iteration of a `forall`.
pub struct Task {
    /// The creator's locals that the task uses. They are copied when the task is created.
    pub captures: Vec<LocalId>,
    pub body: Body,
    pub site: SiteId,
}

pub struct Range {
    pub start: Expression,
    pub end: Expression,
    pub inclusive: bool,
    /// None means 1.
    pub step: Option<Expression>,
    pub site: SiteId,
}

pub enum Argument {
    Text(String),
    Value(Expression),
}

/// A shared location.
pub struct SharedPlace {
    pub kind: PlaceKind,
    pub ty: Type,
    /// The site that a null or bounds error points at.
    pub site: SiteId,
}

pub enum PlaceKind {
    Global(GlobalId),
    Field {
        object: Box<Expression>,
        field: u32,
    },
    Element {
        array: Box<Expression>,
        indices: Vec<Expression>,
    },
}

pub struct Expression {
    pub kind: ExpressionKind,
    pub ty: Type,
    /// The site that an error points at. Only expressions that can fail have a site of their own.
    pub site: SiteId,
}

pub enum ExpressionKind {
    Const(Const),
    Local(LocalId),
    /// A read of a shared place.
    Load {
        place: Box<SharedPlace>,
        access: AccessId,
    },
    Unary(UnaryOp, Box<Expression>),
    Binary(BinaryOp, Box<Expression>, Box<Expression>),
    Compare(CompareOp, Box<Expression>, Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Conditional(Box<Expression>, Box<Expression>, Box<Expression>),
    Convert(Box<Expression>),
    Math(MathFunction, Vec<Expression>),
    Length {
        array: Box<Expression>,
        dimension: u32,
    },
    Call {
        function: FunctionId,
        arguments: Vec<Expression>,
    },
    NewStruct {
        layout: StructId,
        allocation: AllocationId,
    },
    NewArray {
        element: Type,
        sizes: Vec<Expression>,
        allocation: AllocationId,
    },
    NewLock {
        allocation: AllocationId,
    },
    /// An array of locks, each of them made.
    NewLocks {
        sizes: Vec<Expression>,
        allocation: AllocationId,
        /// Of each lock.
        of_lock: AllocationId,
        /// The write of each element.
        access: AccessId,
    },
    NewPromise {
        allocation: AllocationId,
    },
    /// Waits for the value of a promise or future.
    Get(Box<Expression>),
    Future(Future),
}

/// A task that computes a value.
pub struct Future {
    /// The creator's locals that the task uses.
    pub captures: Vec<LocalId>,
    pub value: Box<Expression>,
    pub allocation: AllocationId,
    /// The closing brace.
    pub end: SiteId,
}

/// Whether control never reaches the end of the block.
pub fn diverges(block: &[Statement]) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Return { .. } | Statement::Break | Statement::Continue => true,
        Statement::Block(block) => diverges(block),
        Statement::Isolated { block, .. } | Statement::Locked { block, .. } => diverges(block),
        Statement::If { arms, otherwise } => {
            diverges(otherwise) && arms.iter().all(|(_, block)| diverges(block))
        }
        Statement::While { condition, body } => is_forever(condition) && !breaks(body),
        _ => false,
    })
}

/// `while true`: the loop ends only by `break` or `return`.
pub fn is_forever(condition: &Expression) -> bool {
    matches!(condition.kind, ExpressionKind::Const(Const::Bool(true)))
}

/// Whether the body of a loop contains a `break` of that loop.
fn breaks(body: &[Statement]) -> bool {
    body.iter().any(|statement| match statement {
        Statement::Break => true,
        Statement::Block(block)
        | Statement::Isolated { block, .. }
        | Statement::Locked { block, .. } => breaks(block),
        Statement::If { arms, otherwise } => {
            breaks(otherwise) || arms.iter().any(|(_, block)| breaks(block))
        }
        _ => false,
    })
}
