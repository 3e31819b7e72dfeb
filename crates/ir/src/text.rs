//! The printed form of the IR: one instruction a line, in program order, for people and snapshot tests.
//!
//! ```text
//! fn1 f(x: int) -> int {                                   // 3:1
//! bb0(v0: int):
//!   v1: ref = globals                                      // 4:5
//!   check read v1 + 0, acc2                                // 4:5
//!   v2: int = load v1 + 0, acc2                            // 4:5
//!   return v2
//! }
//! ```
//!
//! A definition shows its type, a check its kind, an access its id. The place in the source stands behind, as line:column; a
//! function printed without its module has none.

use crate::module::*;
use finishline_model::source::SourceMap;
use finishline_model::{FinishKind, SiteId, TaskKind};
use std::fmt::{self, Display, Formatter, Write};

/// Where the places in the source begin.
const COMMENT_COLUMN: usize = 56;

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, layout) in self.structs.iter().enumerate() {
            write!(f, "struct{index} {} {{ ", layout.name)?;
            list(f, &layout.fields, |f, (name, ty)| {
                write!(f, "{name}: {}", ty.word())
            })?;
            writeln!(f, " }}")?;
        }
        for (index, global) in self.globals.iter().enumerate() {
            let Global { name, initial } = global;
            writeln!(
                f,
                "global {index} {name}: {} = {initial}",
                initial.ty().word()
            )?;
        }
        for (access, reason) in &self.unchecked {
            writeln!(f, "unchecked {access}: {reason}")?;
        }
        writeln!(f, "main {}", self.main)?;
        for (index, function) in self.functions.iter().enumerate() {
            let head = format!("{} ", FunctionId::from_index(index));
            writeln!(f)?;
            write_function(f, head, function, Some(&self.source))?;
        }
        Ok(())
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_function(f, String::new(), self, None)
    }
}

/// `head` is what the first line begins with.
fn write_function(
    f: &mut Formatter<'_>,
    mut head: String,
    function: &Function,
    source: Option<&SourceMap>,
) -> fmt::Result {
    match function.role {
        Role::Function => write!(head, "{}", function.name)?,
        Role::AsyncBody => write!(head, "{} async body", function.name)?,
        Role::SpawnBody => write!(head, "{} spawn body", function.name)?,
    }
    let entry = function
        .blocks
        .first()
        .map_or(&[][..], |block| &block.parameters);
    let named: Vec<_> = function.parameters.iter().zip(entry).collect();
    head.push('(');
    list(&mut head, &named, |f, (name, value)| {
        write!(f, "{name}: {}", word(function, **value))
    })?;
    head.push(')');
    if let Some(result) = function.result {
        write!(head, " -> {}", result.word())?;
    }
    head.push_str(" {");
    write_line(f, &head, function.site, source)?;
    for (index, block) in function.blocks.iter().enumerate() {
        write!(f, "{}", BlockId::from_index(index))?;
        if !block.parameters.is_empty() {
            f.write_char('(')?;
            list(f, &block.parameters, |f, v| {
                write!(f, "{v}: {}", word(function, *v))
            })?;
            f.write_char(')')?;
        }
        writeln!(f, ":")?;
        for instruction in &block.instructions {
            let mut line = String::from("  ");
            if let Some(result) = instruction.result {
                write!(line, "{result}: {} = ", word(function, result))?;
            }
            write!(line, "{}", instruction.op)?;
            write_line(f, &line, instruction.site, source)?;
        }
        writeln!(f, "  {}", block.terminator)?;
    }
    writeln!(f, "}}")
}

/// The type of a value. The verifier's messages print functions too, so ids may be out of range.
fn word(function: &Function, value: Value) -> &'static str {
    function
        .values
        .get(value.index())
        .map_or("?", |ty| ty.word())
}

fn write_line(
    f: &mut Formatter<'_>,
    line: &str,
    site: SiteId,
    source: Option<&SourceMap>,
) -> fmt::Result {
    match source.and_then(|source| source.sites.get(site.index())) {
        Some(site) => writeln!(
            f,
            "{line:<COMMENT_COLUMN$} // {}:{}",
            site.line, site.column
        ),
        None => writeln!(f, "{line}"),
    }
}

/// Items separated by commas.
fn list<W: Write, T>(
    into: &mut W,
    items: &[T],
    mut write: impl FnMut(&mut W, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            into.write_str(", ")?;
        }
        write(into, item)?;
    }
    Ok(())
}

fn values(f: &mut Formatter<'_>, values: &[Value]) -> fmt::Result {
    list(f, values, |f, value| write!(f, "{value}"))
}

impl Display for Const {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Const::Int(value) => write!(f, "{value}"),
            Const::Float(value) => write!(f, "{value:?}"),
            Const::Bool(value) => write!(f, "{value}"),
            Const::Byte(value) => write!(f, "{value}"),
            Const::Null => f.write_str("null"),
        }
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Value(value) => write!(f, "{value}"),
            Operand::Constant(constant) => write!(f, "{constant}"),
        }
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Op::Const(constant) => write!(f, "const {constant}"),
            Op::Unary(op, a) => write!(f, "{} {a}", unary_word(*op)),
            Op::Binary(op, a, b) => write!(f, "{} {a}, {b}", binary_word(*op)),
            Op::Compare(op, a, b) => write!(f, "{} {a}, {b}", compare_word(*op)),
            Op::Convert(a, to) => write!(f, "{} {a}", to.word()),
            Op::Math(function, operands) => {
                write!(f, "{} ", function.word())?;
                values(f, operands)
            }
            Op::RangeCount {
                start,
                end,
                step,
                inclusive,
            } => {
                let dots = if *inclusive { "..=" } else { ".." };
                write!(f, "range_count {start}{dots}{end} step {step}")
            }
            Op::NewStruct { layout, allocation } => write!(f, "new {layout}, {allocation}"),
            Op::NewArray {
                element,
                sizes,
                allocation,
            } => {
                write!(f, "new {}[", element.word())?;
                values(f, sizes)?;
                write!(f, "], {allocation}")
            }
            Op::Globals => f.write_str("globals"),
            Op::NonNull(a) => write!(f, "non_null {a}"),
            Op::Index { array, indices } => {
                write!(f, "index {array}[")?;
                values(f, indices)?;
                f.write_char(']')
            }
            Op::Length { array, dimension } => write!(f, "length {array}, {dimension}"),
            Op::Check {
                kind,
                base,
                first,
                count,
                stride,
                access,
            } => {
                write!(f, "check {} {base} + {first}", kind.word())?;
                if *count != Operand::Constant(1) {
                    write!(f, ", count {count}, stride {stride}")?;
                }
                write!(f, ", {access}")
            }
            Op::Load {
                base,
                offset,
                access,
            } => write!(f, "load {base} + {offset}, {access}"),
            Op::Store {
                base,
                offset,
                value,
                access,
            } => {
                write!(f, "store {base} + {offset}, {value}, {access}")
            }
            Op::Call {
                function,
                arguments,
            } => {
                write!(f, "call {function}(")?;
                values(f, arguments)?;
                f.write_char(')')
            }
            Op::CallRoom(nested) => {
                f.write_str("call_room ")?;
                list(f, nested, |f, function| write!(f, "{function}"))
            }
            Op::Print(parts) => {
                f.write_str(if parts.is_empty() { "print" } else { "print " })?;
                list(f, parts, |f, part| write!(f, "{part}"))
            }
            Op::Assert { condition, message } => {
                write!(f, "assert {condition}")?;
                message.iter().try_for_each(|part| write!(f, ", {part}"))
            }
            Op::Spawn {
                kind,
                construct,
                function,
                arguments,
            } => {
                let task = match kind {
                    TaskKind::Main => "main",
                    TaskKind::Async => "async",
                    TaskKind::Spawn => "spawn",
                };
                write!(f, "create {task} {function}(")?;
                values(f, arguments)?;
                f.write_char(')')?;
                if construct.word() == task {
                    Ok(())
                } else {
                    write!(f, ", {}", construct.word())
                }
            }
            Op::FinishBegin(kind) => write!(f, "begin {}", finish_word(*kind)),
            Op::FinishEnd(kind) => write!(f, "end {}", finish_word(*kind)),
            Op::Sync => f.write_str("sync"),
            Op::IsolatedBegin => f.write_str("begin isolated"),
            Op::IsolatedEnd => f.write_str("end isolated"),
        }
    }
}

impl Display for PrintPart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PrintPart::Text(text) => write!(f, "{text:?}"),
            PrintPart::Value(value) => write!(f, "{value}"),
        }
    }
}

impl Display for Terminator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Terminator::Jump(target) => write!(f, "jump {target}"),
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                write!(f, "branch {condition}, {then}, {otherwise}")
            }
            Terminator::Return(None) => f.write_str("return"),
            Terminator::Return(Some(value)) => write!(f, "return {value}"),
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.block)?;
        if self.arguments.is_empty() {
            return Ok(());
        }
        f.write_char('(')?;
        values(f, &self.arguments)?;
        f.write_char(')')
    }
}

fn unary_word(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Negate => "negate",
        UnaryOp::Not => "not",
    }
}

fn binary_word(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Subtract => "subtract",
        BinaryOp::Multiply => "multiply",
        BinaryOp::Divide => "divide",
        BinaryOp::Remainder => "remainder",
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::Xor => "xor",
        BinaryOp::ShiftLeft => "shift_left",
        BinaryOp::ShiftRight => "shift_right",
        BinaryOp::ShiftRightLogical => "shift_right_logical",
    }
}

fn compare_word(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "equal",
        CompareOp::NotEqual => "not_equal",
        CompareOp::Less => "less",
        CompareOp::LessEqual => "less_equal",
        CompareOp::Greater => "greater",
        CompareOp::GreaterEqual => "greater_equal",
    }
}

fn finish_word(kind: FinishKind) -> &'static str {
    match kind {
        FinishKind::Root => "root",
        FinishKind::Lexical => "finish",
        FinishKind::Dynamic => "dynamic_finish",
        FinishKind::SyncScope => "sync_scope",
    }
}
