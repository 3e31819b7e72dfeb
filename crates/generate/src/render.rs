//! The text of a program: four spaces of indentation, parentheses only where the grammar needs
//! them.
//!
//! Every tree has one text, even if the front end will refuse it. The cost is linear in the size of
//! the text.

use crate::shape::{
    Argument, BinaryOp, Expression, Function, Global, Literal, Name, Program, Range, ScopeKind,
    Statement, Type, UnaryOp,
};
use std::fmt::Write;

pub fn render(program: &Program) -> String {
    render_with(program, &mut |_, _| {})
}

/// Renders a program and reports the range of each expression in the text, in bytes, without
/// parentheses around it.
pub fn render_with(
    program: &Program,
    rendered: &mut dyn FnMut(&Expression, std::ops::Range<usize>),
) -> String {
    let mut text = Text {
        out: String::with_capacity(2048),
        depth: 0,
        rendered,
    };
    for item in &program.structs {
        text.name("struct ", item.name);
        text.push(" { ");
        for (index, (field, ty)) in item.fields.iter().enumerate() {
            text.separator(index);
            text.typed(*field, ty);
        }
        text.push(" }\n");
    }
    for global in &program.globals {
        text.global(global);
    }
    for function in &program.functions {
        text.function(function);
    }
    text.out
}

/// How tightly an expression binds, by the nesting of the grammar. An operand that binds less
/// tightly than its place needs gets parentheses.
type Level = u8;
const CONDITIONAL: Level = 0;
const OR_ELSE: Level = 1;
const COMPARISON: Level = 3;
const UNARY: Level = 10;
const POSTFIX: Level = 11;

impl BinaryOp {
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::OrElse => "||",
            BinaryOp::AndAlso => "&&",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::And => "&",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::ShiftRightLogical => ">>>",
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Remainder => "%",
        }
    }

    const fn level(self) -> Level {
        match self {
            BinaryOp::OrElse => OR_ELSE,
            BinaryOp::AndAlso => 2,
            BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual => COMPARISON,
            BinaryOp::Or => 4,
            BinaryOp::Xor => 5,
            BinaryOp::And => 6,
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight | BinaryOp::ShiftRightLogical => 7,
            BinaryOp::Add | BinaryOp::Subtract => 8,
            BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => 9,
        }
    }
}

fn level(expression: &Expression) -> Level {
    match expression {
        Expression::Conditional(_) => CONDITIONAL,
        Expression::Binary(op, _) => op.level(),
        Expression::Unary(..) => UNARY,
        Expression::Literal(Literal::Int(i64::MIN..=-1)) => UNARY,
        Expression::Literal(Literal::Float(value)) if value.is_sign_negative() => UNARY,
        _ => POSTFIX,
    }
}

struct Text<'a> {
    out: String,
    depth: usize,
    rendered: &'a mut dyn FnMut(&Expression, std::ops::Range<usize>),
}

impl Text<'_> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn line(&mut self) {
        for _ in 0..self.depth {
            self.push("    ");
        }
    }

    fn separator(&mut self, index: usize) {
        if index > 0 {
            self.push(", ");
        }
    }

    fn int(&mut self, value: i64) {
        if let Ok(digit @ 0..=9) = u8::try_from(value) {
            return self.out.push(char::from(b'0' + digit));
        }
        write!(self.out, "{value}").expect("writing to a string");
    }

    fn name(&mut self, before: &str, name: Name) {
        self.push(before);
        self.push(name.stem);
        if name.number > 0 {
            self.int(i64::from(name.number));
        }
    }

    fn typed(&mut self, name: Name, ty: &Type) {
        self.name("", name);
        self.push(": ");
        self.ty(ty);
    }

    fn declared(&mut self, word: &str, name: Name, ty: Option<&Type>) {
        self.push(word);
        match ty {
            Some(ty) => self.typed(name, ty),
            None => self.name("", name),
        }
    }

    fn ty(&mut self, ty: &Type) {
        self.base(ty);
        self.suffixes(ty);
    }

    fn base(&mut self, ty: &Type) {
        match ty {
            Type::Int => self.push("int"),
            Type::Float => self.push("float"),
            Type::Bool => self.push("bool"),
            Type::Byte => self.push("byte"),
            Type::Struct(name) => self.name("", *name),
            Type::Array(element, _) => self.base(element),
            Type::Lock => self.push("lock"),
            Type::Promise(carried) => {
                self.push("promise<");
                self.ty(carried);
                self.push(">");
            }
        }
    }

    /// Suffixes apply from left to right, so those of the element come first.
    fn suffixes(&mut self, ty: &Type) {
        if let Type::Array(element, dimensions) = ty {
            self.suffixes(element);
            self.push("[");
            for _ in 1..*dimensions {
                self.push(",");
            }
            self.push("]");
        }
    }

    fn global(&mut self, global: &Global) {
        let word = if global.constant { "let " } else { "var " };
        self.declared(word, global.name, global.ty.as_ref());
        if let Some(initial) = global.initial {
            self.push(" = ");
            self.literal(initial);
        }
        self.push(";\n");
    }

    fn function(&mut self, function: &Function) {
        self.name("fn ", function.name);
        self.push("(");
        for (index, (parameter, ty)) in function.parameters.iter().enumerate() {
            self.separator(index);
            self.typed(*parameter, ty);
        }
        self.push(")");
        if let Some(result) = &function.result {
            self.push(": ");
            self.ty(result);
        }
        self.push(" ");
        self.block(&function.body);
        self.push("\n");
    }

    fn block(&mut self, body: &[Statement]) {
        if body.is_empty() {
            return self.push("{}");
        }
        self.push("{\n");
        self.depth += 1;
        for statement in body {
            self.line();
            self.statement(statement);
            self.push("\n");
        }
        self.depth -= 1;
        self.line();
        self.push("}");
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Let { name, ty, value } => {
                self.declared("let ", *name, ty.as_ref());
                self.push(" = ");
                self.expression(value, CONDITIONAL);
                self.push(";");
            }
            Statement::Var { name, ty, value } => {
                self.declared("var ", *name, ty.as_ref());
                if let Some(value) = value {
                    self.push(" = ");
                    self.expression(value, CONDITIONAL);
                }
                self.push(";");
            }
            Statement::Assign { place, op, value } => {
                self.expression(place, CONDITIONAL);
                self.push(" ");
                self.push(op.map_or("", BinaryOp::symbol));
                self.push("= ");
                self.expression(value, CONDITIONAL);
                self.push(";");
            }
            Statement::Call(call) => {
                self.expression(call, CONDITIONAL);
                self.push(";");
            }
            Statement::Scope { kind, body, bare } => {
                match kind {
                    ScopeKind::Block => {}
                    ScopeKind::Async => self.push("async "),
                    ScopeKind::Finish => self.push("finish "),
                    ScopeKind::Isolated => self.push("isolated "),
                    ScopeKind::Locked(lock) => {
                        self.name("locked (", *lock);
                        self.push(") ");
                    }
                }
                match body.as_slice() {
                    [only] if *bare && *kind != ScopeKind::Block && !only.declares() => {
                        self.statement(only);
                    }
                    _ => self.block(body),
                }
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                self.push("if ");
                self.expression(condition, CONDITIONAL);
                self.push(" ");
                self.block(then);
                match otherwise.as_deref() {
                    None => {}
                    Some([chained @ Statement::If { .. }]) => {
                        self.push(" else ");
                        self.statement(chained);
                    }
                    Some(body) => {
                        self.push(" else ");
                        self.block(body);
                    }
                }
            }
            Statement::While { condition, body } => {
                self.push("while ");
                self.expression(condition, CONDITIONAL);
                self.push(" ");
                self.block(body);
            }
            Statement::For {
                parallel,
                counter,
                range,
                body,
            } => {
                self.name(if *parallel { "forall " } else { "for " }, *counter);
                self.push(" in ");
                self.range(range);
                self.push(" ");
                self.block(body);
            }
            Statement::Break => self.push("break;"),
            Statement::Continue => self.push("continue;"),
            Statement::Return(value) => {
                self.push("return");
                if let Some(value) = value {
                    self.push(" ");
                    self.expression(value, CONDITIONAL);
                }
                self.push(";");
            }
            Statement::Print(arguments) => {
                self.push("print(");
                for (index, argument) in arguments.iter().enumerate() {
                    self.separator(index);
                    self.argument(argument);
                }
                self.push(");");
            }
            Statement::Assert(condition, arguments) => {
                self.push("assert(");
                self.expression(condition, CONDITIONAL);
                for argument in arguments {
                    self.push(", ");
                    self.argument(argument);
                }
                self.push(");");
            }
            Statement::BeginFinish => self.push("begin_finish;"),
            Statement::EndFinish => self.push("end_finish;"),
            Statement::Sync => self.push("sync;"),
            Statement::Spawn {
                place,
                function,
                arguments,
            } => {
                if let Some(place) = place {
                    self.expression(place, CONDITIONAL);
                    self.push(" = ");
                }
                self.name("spawn ", *function);
                self.list("(", arguments, ");");
            }
        }
    }

    fn range(&mut self, range: &Range) {
        self.expression(&range.start, CONDITIONAL);
        self.push(if range.inclusive { "..=" } else { ".." });
        self.expression(&range.end, CONDITIONAL);
        if let Some(step) = &range.step {
            self.push(" step ");
            self.expression(step, CONDITIONAL);
        }
    }

    fn argument(&mut self, argument: &Argument) {
        match argument {
            Argument::Text(text) => {
                self.push("\"");
                for c in text.chars() {
                    match c {
                        '\n' => self.push("\\n"),
                        '\\' => self.push("\\\\"),
                        '"' => self.push("\\\""),
                        _ => self.out.push(c),
                    }
                }
                self.push("\"");
            }
            Argument::Value(value) => self.expression(value, CONDITIONAL),
        }
    }

    fn list(&mut self, open: &str, list: &[Expression], close: &str) {
        self.push(open);
        for (index, item) in list.iter().enumerate() {
            self.separator(index);
            self.expression(item, CONDITIONAL);
        }
        self.push(close);
    }

    fn expression(&mut self, expression: &Expression, least: Level) {
        if level(expression) < least {
            self.push("(");
            self.bare_expression(expression);
            self.push(")");
        } else {
            self.bare_expression(expression);
        }
    }

    fn bare_expression(&mut self, expression: &Expression) {
        let start = self.out.len();
        self.unnoted_expression(expression);
        (self.rendered)(expression, start..self.out.len());
    }

    fn unnoted_expression(&mut self, expression: &Expression) {
        match expression {
            Expression::Literal(literal) => self.literal(*literal),
            Expression::Name(name) => self.name("", *name),
            Expression::Unary(op, operand) => {
                self.push(match op {
                    UnaryOp::Negate => "-",
                    UnaryOp::Not => "!",
                    UnaryOp::Complement => "~",
                });
                self.expression(operand, UNARY);
            }
            Expression::Binary(op, operands) => {
                let own = op.level();
                // Comparisons don't chain. The other operators group to the left.
                let left = if own == COMPARISON { own + 1 } else { own };
                self.expression(&operands.0, left);
                self.push(" ");
                self.push(op.symbol());
                self.push(" ");
                self.expression(&operands.1, own + 1);
            }
            Expression::Conditional(parts) => {
                self.expression(&parts.0, OR_ELSE);
                self.push(" ? ");
                self.expression(&parts.1, CONDITIONAL);
                self.push(" : ");
                self.expression(&parts.2, CONDITIONAL);
            }
            Expression::Convert(ty, operand) => {
                self.ty(ty);
                self.push("(");
                self.expression(operand, CONDITIONAL);
                self.push(")");
            }
            Expression::Builtin(name, arguments) => {
                self.push(name);
                self.list("(", arguments, ")");
            }
            Expression::Call(function, arguments) => {
                self.name("", *function);
                self.list("(", arguments, ")");
            }
            Expression::Element(array, indices) => {
                self.expression(array, POSTFIX);
                self.list("[", indices, "]");
            }
            Expression::Field(object, field) => {
                self.expression(object, POSTFIX);
                self.name(".", *field);
            }
            Expression::NewStruct(name) => {
                self.name("new ", *name);
                self.push("()");
            }
            Expression::NewArray(element, sizes) => {
                self.push("new ");
                self.base(element);
                self.list("[", sizes, "]");
                self.suffixes(element);
            }
            Expression::NewLock => self.push("new lock()"),
            Expression::NewPromise(carried) => {
                self.push("new ");
                self.ty(&Type::promise(carried.clone()));
                self.push("()");
            }
            Expression::Future(value) => {
                self.push("future { ");
                self.expression(value, 0);
                self.push(" }");
            }
            Expression::Method(object, method, arguments) => {
                self.expression(object, POSTFIX);
                self.push(".");
                self.push(method);
                self.list("(", arguments, ")");
            }
        }
    }

    fn literal(&mut self, literal: Literal) {
        match literal {
            Literal::Int(value) => self.int(value),
            Literal::Float(value) => {
                write!(self.out, "{value:?}").expect("writing to a string");
            }
            Literal::Bool(value) => self.push(if value { "true" } else { "false" }),
            Literal::Byte(value) if value.is_ascii_alphanumeric() => {
                self.out.push('\'');
                self.out.push(char::from(value));
                self.out.push('\'');
            }
            Literal::Byte(value) => {
                write!(self.out, "'\\x{value:02x}'").expect("writing to a string");
            }
            Literal::Null => self.push("null"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(expression: Expression) -> String {
        let program = Program {
            functions: vec![Function {
                name: Name::MAIN,
                parameters: Vec::new(),
                result: None,
                body: vec![Statement::Return(Some(expression))],
            }],
            ..Program::default()
        };
        let source = render(&program);
        let start = source.find("return ").unwrap() + "return ".len();
        source[start..source.find(';').unwrap()].to_string()
    }

    fn name(stem: &'static str) -> Expression {
        Expression::Name(Name::plain(stem))
    }

    #[test]
    fn parentheses_follow_the_grammar() {
        use BinaryOp::*;
        let binary = Expression::binary;
        let sum = binary(Add, name("a"), name("b"));
        assert_eq!(
            text(binary(Multiply, sum.clone(), name("c"))),
            "(a + b) * c"
        );
        assert_eq!(text(binary(Add, sum.clone(), name("c"))), "a + b + c");
        assert_eq!(
            text(binary(Subtract, name("c"), sum.clone())),
            "c - (a + b)"
        );
        let less = binary(Less, sum.clone(), name("c"));
        assert_eq!(
            text(binary(Equal, less.clone(), less.clone())),
            "(a + b < c) == (a + b < c)"
        );
        assert_eq!(
            text(binary(And, less.clone(), less.clone())),
            "(a + b < c) & (a + b < c)"
        );
        assert_eq!(
            text(binary(AndAlso, less.clone(), less)),
            "a + b < c && a + b < c"
        );
        let choice = Expression::Conditional(Box::new((name("p"), sum.clone(), name("c"))));
        assert_eq!(
            text(Expression::Conditional(Box::new((
                choice.clone(),
                choice.clone(),
                choice
            )))),
            "(p ? a + b : c) ? p ? a + b : c : p ? a + b : c"
        );
        assert_eq!(
            text(Expression::Unary(
                UnaryOp::Negate,
                Box::new(Expression::int(-3))
            )),
            "--3"
        );
        assert_eq!(
            text(Expression::element(
                sum,
                vec![Expression::int(-1), name("i")]
            )),
            "(a + b)[-1, i]"
        );
    }

    #[test]
    fn suffixes_of_an_array_of_arrays() {
        let grid = Type::array(Type::Int, 2);
        let made = Expression::NewArray(grid.clone(), vec![name("n")]);
        assert_eq!(text(made), "new int[n][,]");
        let mut text = Text {
            out: String::new(),
            depth: 0,
            rendered: &mut |_, _| {},
        };
        text.ty(&Type::array(grid, 1));
        assert_eq!(text.out, "int[,][]");
    }

    #[test]
    fn literals_are_legal_tokens() {
        let literal = |l| text(Expression::Literal(l));
        assert_eq!(literal(Literal::Int(i64::MIN)), "-9223372036854775808");
        assert_eq!(literal(Literal::Float(1.0)), "1.0");
        assert_eq!(literal(Literal::Float(1e300)), "1e300");
        assert_eq!(literal(Literal::Byte(b'a')), "'a'");
        assert_eq!(literal(Literal::Byte(b'\'')), "'\\x27'");
    }
}
