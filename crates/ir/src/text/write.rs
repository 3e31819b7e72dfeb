//! Printing the IR: for people, snapshot tests and [`read`](super::read()).
//!
//! A function printed without its module has neither places in the source nor a frame.

use super::words::Word;
use crate::module::*;
use finishline_model::SiteId;
use finishline_model::source::SourceMap;
use std::fmt::{self, Display, Formatter, Write};

/// The column before the places in the source.
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
        for ConstructUse { construct, site } in &self.constructs {
            let line = format!("uses {}", construct.word());
            write_line(f, &line, *site, Some(&self.source))?;
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

/// `head` is the beginning of the first line.
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
    if source.is_some() && function.frame as usize != shown_values(function) {
        write!(head, " frame {}", function.frame)?;
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
    write_line(f, "}", function.end, source)
}

/// The number of values as far as the text shows: one more than the last that is defined.
fn shown_values(function: &Function) -> usize {
    let defined = function.blocks.iter().flat_map(|block| {
        let results = block.instructions.iter().filter_map(|i| i.result);
        block.parameters.iter().copied().chain(results)
    });
    defined.map(|value| value.index() + 1).max().unwrap_or(0)
}

/// The type of a value. The verifier's messages print functions too: ids may be out of range.
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
            Op::Unary(op, a) => write!(f, "{} {a}", op.word()),
            Op::Binary(op, a, b) => write!(f, "{} {a}, {b}", op.word()),
            Op::Compare(op, a, b) => write!(f, "{} {a}, {b}", op.word()),
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
            Op::NewPromise {
                carried,
                allocation,
            } => write!(f, "new promise {}, {allocation}", carried.word()),
            Op::NewLock { allocation } => write!(f, "new lock, {allocation}"),
            Op::Acquire(lock) => write!(f, "acquire {lock}"),
            Op::Release(lock) => write!(f, "release {lock}"),
            Op::PromiseSet {
                promise,
                value,
                access,
            } => {
                write!(f, "set {promise}, {value}")?;
                access.map_or(Ok(()), |access| write!(f, ", {access}"))
            }
            Op::PromiseGet(promise) => write!(f, "get {promise}"),
            Op::Globals => f.write_str("globals"),
            Op::NonNull(a) => write!(f, "non_null {a}"),
            Op::Index { array, indices } => {
                write!(f, "index {array}[")?;
                values(f, indices)?;
                f.write_char(']')
            }
            Op::Length { array, dimension } => write!(f, "length {array}, {dimension}"),
            Op::SizeOrZero { array, dimension } => {
                write!(f, "size_or_zero {array}, {dimension}")
            }
            Op::Check {
                kind,
                base,
                first,
                count,
                stride,
                access,
            } => {
                write!(f, "check {} {base} + {first}", kind.word())?;
                if (*count, *stride) != (Operand::Constant(1), Operand::Constant(1)) {
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
                let task = kind.word();
                write!(f, "create {task} {function}(")?;
                values(f, arguments)?;
                f.write_char(')')?;
                if construct.word() == task {
                    Ok(())
                } else {
                    write!(f, ", {}", construct.word())
                }
            }
            Op::FinishBegin(kind) => write!(f, "begin {}", kind.word()),
            Op::FinishEnd(kind) => write!(f, "end {}", kind.word()),
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
