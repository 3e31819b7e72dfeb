//! The tree of a Fin program: every construct of the language, without resolved names or checks.
//!
//! The tree says only what the text says. Generators keep it valid. The shrinker may break it, and
//! asks the front end. Sequences of statements are plain vectors, so they are easy to edit.
//! `begin_finish` and `end_finish` are ordinary statements. Only a run shows whether they pair up.

use std::fmt;

/// `stem`, or `stem` and a number. It is `Copy` and needs no allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Name {
    pub stem: &'static str,
    /// 0 means the stem alone.
    pub number: u32,
}

impl Name {
    pub const MAIN: Name = Name::plain("main");

    pub const fn plain(stem: &'static str) -> Name {
        Name { stem, number: 0 }
    }

    pub const fn numbered(stem: &'static str, number: u32) -> Name {
        Name { stem, number }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => f.write_str(self.stem),
            n => write!(f, "{}{n}", self.stem),
        }
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    pub structs: Vec<Struct>,
    pub globals: Vec<Global>,
    /// The functions, including `main`.
    pub functions: Vec<Function>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Struct {
    pub name: Name,
    pub fields: Vec<(Name, Type)>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Global {
    pub name: Name,
    /// Absent only if there is an initial value.
    pub ty: Option<Type>,
    pub initial: Option<Literal>,
    /// A `let`, not a `var`.
    pub constant: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    pub name: Name,
    pub parameters: Vec<(Name, Type)>,
    pub result: Option<Type>,
    pub body: Vec<Statement>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    Int,
    Float,
    Bool,
    Byte,
    Struct(Name),
    /// The element type and the number of dimensions.
    Array(Box<Type>, u8),
    Promise(Box<Type>),
    Lock,
}

impl Type {
    pub fn array(element: Type, dimensions: u8) -> Type {
        Type::Array(Box::new(element), dimensions)
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Literal {
    Int(i64),
    Float(f64),
    Bool(bool),
    Byte(u8),
    Null,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    Let {
        name: Name,
        ty: Option<Type>,
        value: Expression,
    },
    Var {
        name: Name,
        ty: Option<Type>,
        value: Option<Expression>,
    },
    /// `place = value;`, or with an operator `place op= value;`.
    Assign {
        place: Expression,
        op: Option<BinaryOp>,
        value: Expression,
    },
    /// A call whose result is dropped.
    Call(Expression),
    /// A block, or a construct with a block or a single statement as its body.
    Scope {
        kind: ScopeKind,
        body: Vec<Statement>,
        /// Without braces. Rendered this way only around one statement that is not a declaration.
        bare: bool,
    },
    /// If `otherwise` is a single `If`, it is an `else if`.
    If {
        condition: Expression,
        then: Vec<Statement>,
        otherwise: Option<Vec<Statement>>,
    },
    While {
        condition: Expression,
        body: Vec<Statement>,
    },
    For {
        /// `forall`.
        parallel: bool,
        counter: Name,
        range: Range,
        body: Vec<Statement>,
    },
    Break,
    Continue,
    Return(Option<Expression>),
    Print(Vec<Argument>),
    Assert(Expression, Vec<Argument>),
    BeginFinish,
    EndFinish,
    Sync,
    Spawn {
        place: Option<Expression>,
        function: Name,
        arguments: Vec<Expression>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScopeKind {
    Block,
    Async,
    Finish,
    Isolated,
    /// `locked (name)`.
    Locked(Name),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    pub start: Expression,
    pub end: Expression,
    pub inclusive: bool,
    pub step: Option<Expression>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    Text(&'static str),
    Value(Expression),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    Literal(Literal),
    Name(Name),
    Unary(UnaryOp, Box<Expression>),
    Binary(BinaryOp, Box<(Expression, Expression)>),
    Conditional(Box<(Expression, Expression, Expression)>),
    /// `int(e)`, `float(e)`, `byte(e)`.
    Convert(Type, Box<Expression>),
    /// `len`, `sqrt`, …
    Builtin(&'static str, Vec<Expression>),
    Call(Name, Vec<Expression>),
    Element(Box<Expression>, Vec<Expression>),
    Field(Box<Expression>, Name),
    NewStruct(Name),
    /// `new T[n, …]`: the type of an element, and the sizes.
    NewArray(Type, Vec<Expression>),
    NewLock,
    NewPromise(Type),
    /// `future { e }`.
    Future(Box<Expression>),
    /// `object.set(e)`, `object.get()`.
    Method(Box<Expression>, &'static str, Vec<Expression>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    Negate,
    Not,
    Complement,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    OrElse,
    AndAlso,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Or,
    Xor,
    And,
    ShiftLeft,
    ShiftRight,
    ShiftRightLogical,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Expression {
    pub fn int(value: i64) -> Expression {
        Expression::Literal(Literal::Int(value))
    }

    pub fn bool(value: bool) -> Expression {
        Expression::Literal(Literal::Bool(value))
    }

    pub fn binary(op: BinaryOp, left: Expression, right: Expression) -> Expression {
        Expression::Binary(op, Box::new((left, right)))
    }

    pub fn element(array: Expression, indices: Vec<Expression>) -> Expression {
        Expression::Element(Box::new(array), indices)
    }

    pub fn field(object: Expression, field: Name) -> Expression {
        Expression::Field(Box::new(object), field)
    }

    /// `len(array)`, or `len(array, dimension)`.
    pub fn length(array: Expression, dimension: Option<i64>) -> Expression {
        let mut arguments = vec![array];
        arguments.extend(dimension.map(Expression::int));
        Expression::Builtin("len", arguments)
    }

    /// The operands, from left to right.
    pub fn operands(&self) -> Vec<&Expression> {
        match self {
            Expression::Literal(_)
            | Expression::Name(_)
            | Expression::NewStruct(_)
            | Expression::NewLock
            | Expression::NewPromise(_) => Vec::new(),
            Expression::Unary(_, e)
            | Expression::Convert(_, e)
            | Expression::Field(e, _)
            | Expression::Future(e) => {
                vec![e]
            }
            Expression::Binary(_, both) => vec![&both.0, &both.1],
            Expression::Conditional(all) => vec![&all.0, &all.1, &all.2],
            Expression::Builtin(_, list)
            | Expression::Call(_, list)
            | Expression::NewArray(_, list) => list.iter().collect(),
            Expression::Element(first, others) | Expression::Method(first, _, others) => {
                std::iter::once(&**first).chain(others).collect()
            }
        }
    }

    pub fn operands_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            Expression::Literal(_)
            | Expression::Name(_)
            | Expression::NewStruct(_)
            | Expression::NewLock
            | Expression::NewPromise(_) => Vec::new(),
            Expression::Unary(_, e)
            | Expression::Convert(_, e)
            | Expression::Field(e, _)
            | Expression::Future(e) => {
                vec![e]
            }
            Expression::Binary(_, both) => vec![&mut both.0, &mut both.1],
            Expression::Conditional(all) => vec![&mut all.0, &mut all.1, &mut all.2],
            Expression::Builtin(_, list)
            | Expression::Call(_, list)
            | Expression::NewArray(_, list) => list.iter_mut().collect(),
            Expression::Element(first, others) | Expression::Method(first, _, others) => {
                std::iter::once(&mut **first).chain(others).collect()
            }
        }
    }

    /// Whether this expression or one in it has the property.
    pub fn any(&self, property: &mut dyn FnMut(&Expression) -> bool) -> bool {
        property(self) || self.operands().iter().any(|e| e.any(property))
    }
}

impl Statement {
    pub fn scope(kind: ScopeKind, body: Vec<Statement>) -> Statement {
        Statement::Scope {
            kind,
            body,
            bare: false,
        }
    }

    /// The sequences of statements inside this one.
    pub fn bodies(&self) -> Vec<&Vec<Statement>> {
        match self {
            Statement::Scope { body, .. }
            | Statement::While { body, .. }
            | Statement::For { body, .. } => vec![body],
            Statement::If {
                then, otherwise, ..
            } => std::iter::once(then).chain(otherwise).collect(),
            _ => Vec::new(),
        }
    }

    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Statement>> {
        match self {
            Statement::Scope { body, .. }
            | Statement::While { body, .. }
            | Statement::For { body, .. } => vec![body],
            Statement::If {
                then, otherwise, ..
            } => std::iter::once(then).chain(otherwise).collect(),
            _ => Vec::new(),
        }
    }

    /// The expressions that belong to the statement itself, not to one inside it.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Statement::Let { value, .. } => vec![value],
            Statement::Var { value, .. } | Statement::Return(value) => value.iter().collect(),
            Statement::Assign { place, value, .. } => vec![place, value],
            Statement::Call(call) => vec![call],
            Statement::If { condition, .. } | Statement::While { condition, .. } => vec![condition],
            Statement::For { range, .. } => [&range.start, &range.end]
                .into_iter()
                .chain(&range.step)
                .collect(),
            Statement::Print(arguments) => values(arguments).collect(),
            Statement::Assert(condition, arguments) => std::iter::once(condition)
                .chain(values(arguments))
                .collect(),
            Statement::Spawn {
                place, arguments, ..
            } => place.iter().chain(arguments).collect(),
            Statement::Scope { .. }
            | Statement::Break
            | Statement::Continue
            | Statement::BeginFinish
            | Statement::EndFinish
            | Statement::Sync => Vec::new(),
        }
    }

    pub fn expressions_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            Statement::Let { value, .. } => vec![value],
            Statement::Var { value, .. } | Statement::Return(value) => value.iter_mut().collect(),
            Statement::Assign { place, value, .. } => vec![place, value],
            Statement::Call(call) => vec![call],
            Statement::If { condition, .. } | Statement::While { condition, .. } => vec![condition],
            Statement::For { range, .. } => [&mut range.start, &mut range.end]
                .into_iter()
                .chain(&mut range.step)
                .collect(),
            Statement::Print(arguments) => values_mut(arguments).collect(),
            Statement::Assert(condition, arguments) => std::iter::once(condition)
                .chain(values_mut(arguments))
                .collect(),
            Statement::Spawn {
                place, arguments, ..
            } => place.iter_mut().chain(arguments).collect(),
            Statement::Scope { .. }
            | Statement::Break
            | Statement::Continue
            | Statement::BeginFinish
            | Statement::EndFinish
            | Statement::Sync => Vec::new(),
        }
    }

    /// Whether the statement declares a name in its block. Such a statement needs braces around it.
    pub fn declares(&self) -> bool {
        matches!(self, Statement::Let { .. } | Statement::Var { .. })
    }

    /// Whether the statement's own expressions, or its `spawn`, call the function.
    pub fn mentions(&self, function: Name) -> bool {
        matches!(self, Statement::Spawn { function: f, .. } if *f == function)
            || self
                .expressions()
                .iter()
                .any(|e| e.any(&mut |e| matches!(e, Expression::Call(f, _) if *f == function)))
    }
}

fn values(arguments: &[Argument]) -> impl Iterator<Item = &Expression> {
    arguments.iter().filter_map(|a| match a {
        Argument::Text(_) => None,
        Argument::Value(e) => Some(e),
    })
}

fn values_mut(arguments: &mut [Argument]) -> impl Iterator<Item = &mut Expression> {
    arguments.iter_mut().filter_map(|a| match a {
        Argument::Text(_) => None,
        Argument::Value(e) => Some(e),
    })
}

impl Program {
    /// Every statement. Each comes before those inside it.
    pub fn statements(&self) -> Vec<&Statement> {
        fn walk<'a>(body: &'a [Statement], out: &mut Vec<&'a Statement>) {
            for statement in body {
                out.push(statement);
                for inner in statement.bodies() {
                    walk(inner, out);
                }
            }
        }
        let mut out = Vec::new();
        for function in &self.functions {
            walk(&function.body, &mut out);
        }
        out
    }
}
