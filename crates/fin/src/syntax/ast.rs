//! The syntax tree: the source as written, with spans, before names are looked up.

use crate::span::Span;
use finishline_ir::{BinaryOp, CompareOp, UnaryOp};

#[derive(Clone, Copy, Debug)]
pub struct Name<'s> {
    pub text: &'s str,
    pub span: Span,
}

#[derive(Debug, Default)]
pub struct File<'s> {
    pub structs: Vec<Struct<'s>>,
    pub globals: Vec<Global<'s>>,
    pub functions: Vec<Function<'s>>,
}

#[derive(Debug)]
pub struct Struct<'s> {
    pub name: Name<'s>,
    pub fields: Vec<Field<'s>>,
}

/// A field of a struct or a parameter of a function.
#[derive(Debug)]
pub struct Field<'s> {
    pub name: Name<'s>,
    pub ty: Type<'s>,
}

#[derive(Debug)]
pub struct Global<'s> {
    pub mutable: bool,
    pub name: Name<'s>,
    pub ty: Option<Type<'s>>,
    pub value: Option<Expression<'s>>,
}

#[derive(Debug)]
pub struct Function<'s> {
    pub name: Name<'s>,
    pub parameters: Vec<Field<'s>>,
    pub result: Option<Type<'s>>,
    pub body: Block<'s>,
}

#[derive(Clone, Debug)]
pub struct Type<'s> {
    pub base: BaseType<'s>,
    /// The number of dimensions of each array suffix, from left to right.
    pub suffixes: Vec<u32>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum BaseType<'s> {
    Int,
    Float,
    Bool,
    Byte,
    Named(Name<'s>),
    Lock,
    /// `promise<T>`.
    Promise(Box<Type<'s>>),
    /// `future<T>`.
    Future(Box<Type<'s>>),
    /// The type could not be read. The error has been reported.
    Error,
}

#[derive(Debug)]
pub struct Block<'s> {
    pub statements: Vec<Statement<'s>>,
    pub span: Span,
}

#[derive(Debug)]
pub struct Statement<'s> {
    pub kind: StatementKind<'s>,
    pub span: Span,
}

#[derive(Debug)]
pub enum StatementKind<'s> {
    Block(Block<'s>),
    Declare {
        mutable: bool,
        name: Name<'s>,
        ty: Option<Type<'s>>,
        value: Option<Expression<'s>>,
    },
    /// `place = value` or `place op= value`.
    Assign {
        place: Expression<'s>,
        op: Option<BinaryOp>,
        value: Expression<'s>,
    },
    Expression(Expression<'s>),
    /// One or more `if` arms, and the last `else`.
    If {
        arms: Vec<(Expression<'s>, Block<'s>)>,
        otherwise: Option<Block<'s>>,
    },
    While {
        condition: Expression<'s>,
        body: Block<'s>,
    },
    For {
        name: Name<'s>,
        range: Range<'s>,
        body: Block<'s>,
    },
    Forall {
        head: Span,
        name: Name<'s>,
        range: Range<'s>,
        body: Block<'s>,
    },
    Break,
    Continue,
    Return(Option<Expression<'s>>),
    Print(Vec<Argument<'s>>),
    Assert {
        condition: Expression<'s>,
        message: Vec<Argument<'s>>,
    },
    Async {
        head: Span,
        body: Block<'s>,
    },
    Finish {
        head: Span,
        body: Block<'s>,
    },
    Isolated {
        head: Span,
        body: Block<'s>,
    },
    Locked {
        head: Span,
        lock: Expression<'s>,
        body: Block<'s>,
    },
    BeginFinish,
    EndFinish,
    Spawn {
        head: Span,
        place: Option<Expression<'s>>,
        callee: Name<'s>,
        arguments: Vec<Expression<'s>>,
    },
    Sync,
}

#[derive(Debug)]
pub struct Range<'s> {
    pub start: Expression<'s>,
    pub end: Expression<'s>,
    pub inclusive: bool,
    pub step: Option<Expression<'s>>,
    pub span: Span,
}

/// An argument of `print` or a part of an `assert`'s message.
#[derive(Debug)]
pub enum Argument<'s> {
    Text(String),
    Value(Expression<'s>),
}

#[derive(Debug)]
pub struct Expression<'s> {
    pub kind: ExpressionKind<'s>,
    pub span: Span,
    /// The height of the tree. It is limited, so no walk can exhaust the stack.
    pub height: u32,
}

#[derive(Debug)]
pub enum ExpressionKind<'s> {
    Int(i64),
    Float(f64),
    Bool(bool),
    Byte(u8),
    Null,
    Text,
    Name(&'s str),
    Unary(UnaryOp, Box<Expression<'s>>),
    /// `~e`: `Not`, on integers only.
    Complement(Box<Expression<'s>>),
    Binary(BinaryOp, Box<Expression<'s>>, Box<Expression<'s>>),
    Compare(CompareOp, Box<Expression<'s>>, Box<Expression<'s>>),
    And(Box<Expression<'s>>, Box<Expression<'s>>),
    Or(Box<Expression<'s>>, Box<Expression<'s>>),
    Conditional(
        Box<Expression<'s>>,
        Box<Expression<'s>>,
        Box<Expression<'s>>,
    ),
    Call {
        callee: Name<'s>,
        arguments: Vec<Expression<'s>>,
    },
    Convert {
        ty: BaseType<'s>,
        value: Box<Expression<'s>>,
    },
    Index {
        array: Box<Expression<'s>>,
        indices: Vec<Expression<'s>>,
    },
    Field {
        object: Box<Expression<'s>>,
        name: Name<'s>,
    },
    /// `object.name(arguments)`.
    Method {
        object: Box<Expression<'s>>,
        name: Name<'s>,
        arguments: Vec<Expression<'s>>,
    },
    NewStruct(Name<'s>),
    /// `new lock()`.
    NewLock,
    /// `new promise<T>()`, with T.
    NewPromise(Box<Type<'s>>),
    /// `future { value }`.
    Future {
        head: Span,
        value: Box<Expression<'s>>,
        /// The braces and what is inside.
        body: Span,
    },
    NewArray {
        element: Type<'s>,
        sizes: Vec<Expression<'s>>,
    },
    /// The expression could not be read. The error has been reported.
    Error,
}
