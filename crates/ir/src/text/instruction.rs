//! Reading one instruction or terminator. The writer of each line is in [`write`](super::write).

use super::scan::{Read, Scanner};
use super::words::Word;
use crate::module::*;
use finishline_model::{AccessId, AllocationId, TaskKind};

/// The terminator of a block, if the line begins like one.
pub(super) fn terminator(line: &mut Scanner<'_>) -> Read<Option<Terminator>> {
    if line.takes_word("jump") {
        return Ok(Some(Terminator::Jump(target(line)?)));
    }
    if line.takes_word("branch") {
        let condition = value(line)?;
        line.symbol(",")?;
        let then = target(line)?;
        line.symbol(",")?;
        let otherwise = target(line)?;
        return Ok(Some(Terminator::Branch {
            condition,
            then,
            otherwise,
        }));
    }
    if line.takes_word("return") {
        return Ok(Some(Terminator::Return(line.takes_id("v").map(Value))));
    }
    Ok(None)
}

fn target(line: &mut Scanner<'_>) -> Read<Target> {
    let block = BlockId(line.id("bb")?);
    let arguments = match line.takes("(") {
        true => line.list(")", value)?,
        false => Vec::new(),
    };
    Ok(Target { block, arguments })
}

/// An operation. `ty` is the type of its result.
pub(super) fn op(line: &mut Scanner<'_>, ty: Option<Type>) -> Read<Op> {
    let start = line.here();
    let word = line.word();
    if let Some(op) = UnaryOp::from_word(word) {
        return Ok(Op::Unary(op, value(line)?));
    }
    if let Some(op) = BinaryOp::from_word(word) {
        let (a, b) = two_values(line)?;
        return Ok(Op::Binary(op, a, b));
    }
    if let Some(op) = CompareOp::from_word(word) {
        let (a, b) = two_values(line)?;
        return Ok(Op::Compare(op, a, b));
    }
    if let Some(to) = Type::from_word(word) {
        return Ok(Op::Convert(value(line)?, to));
    }
    if let Some(function) = MathFunction::from_word(word) {
        return Ok(Op::Math(function, line.items(value)?));
    }
    Ok(match word {
        "const" => match ty {
            Some(ty) => Op::Const(constant(line, ty)?),
            None => return start.error("the type of a constant is that of its result"),
        },
        "range_count" => range_count(line)?,
        "new" => new(line)?,
        "globals" => Op::Globals,
        "non_null" => Op::NonNull(value(line)?),
        "index" => {
            let array = value(line)?;
            line.symbol("[")?;
            let indices = line.list("]", value)?;
            Op::Index { array, indices }
        }
        "length" => {
            let array = value(line)?;
            line.symbol(",")?;
            let dimension = line.number("a dimension")?;
            Op::Length { array, dimension }
        }
        "size_or_zero" => {
            let array = value(line)?;
            line.symbol(",")?;
            let dimension = line.number("a dimension")?;
            Op::SizeOrZero { array, dimension }
        }
        "check" => check(line)?,
        "load" => {
            let (base, offset) = location(line)?;
            line.symbol(",")?;
            let access = access(line)?;
            Op::Load {
                base,
                offset,
                access,
            }
        }
        "store" => {
            let (base, offset) = location(line)?;
            line.symbol(",")?;
            let value = value(line)?;
            line.symbol(",")?;
            let access = access(line)?;
            Op::Store {
                base,
                offset,
                value,
                access,
            }
        }
        "call" => {
            let (function, arguments) = call(line)?;
            Op::Call {
                function,
                arguments,
            }
        }
        "call_room" => Op::CallRoom(line.items(function)?),
        "print" => match line.clone().place() {
            Ok(_) => Op::Print(Vec::new()),
            Err(_) => Op::Print(line.items(print_part)?),
        },
        "assert" => {
            let condition = value(line)?;
            let mut message = Vec::new();
            while line.takes(",") {
                message.push(print_part(line)?);
            }
            Op::Assert { condition, message }
        }
        "create" => create(line)?,
        "begin" if line.takes_word("isolated") => Op::IsolatedBegin,
        "begin" => Op::FinishBegin(line.one_of("`isolated` or a kind of finish")?),
        "end" if line.takes_word("isolated") => Op::IsolatedEnd,
        "end" => Op::FinishEnd(line.one_of("`isolated` or a kind of finish")?),
        "sync" => Op::Sync,
        "set" => {
            let (promise, value) = two_values(line)?;
            Op::PromiseSet {
                promise,
                value,
                access: match line.takes(",") {
                    true => Some(access(line)?),
                    false => None,
                },
            }
        }
        "acquire" => Op::Acquire(value(line)?),
        "release" => Op::Release(value(line)?),
        "get" => Op::PromiseGet(value(line)?),
        _ => {
            *line = start;
            return line.expected("an instruction");
        }
    })
}

fn range_count(line: &mut Scanner<'_>) -> Read<Op> {
    let start = value(line)?;
    let inclusive = line.takes("..=");
    if !inclusive {
        line.symbol("..")?;
    }
    let end = value(line)?;
    if !line.takes_word("step") {
        return line.expected("`step`");
    }
    let step = value(line)?;
    Ok(Op::RangeCount {
        start,
        end,
        step,
        inclusive,
    })
}

fn new(line: &mut Scanner<'_>) -> Read<Op> {
    if let Some(layout) = line.takes_id("struct") {
        line.symbol(",")?;
        return Ok(Op::NewStruct {
            layout: StructId(layout),
            allocation: allocation(line)?,
        });
    }
    if line.takes_word("lock") {
        line.symbol(",")?;
        return Ok(Op::NewLock {
            allocation: allocation(line)?,
        });
    }
    if line.takes_word("promise") {
        let carried = line.one_of("a type")?;
        line.symbol(",")?;
        return Ok(Op::NewPromise {
            carried,
            allocation: allocation(line)?,
        });
    }
    let element = line.one_of("a struct, `lock`, `promise` or a type")?;
    line.symbol("[")?;
    let sizes = line.list("]", value)?;
    line.symbol(",")?;
    Ok(Op::NewArray {
        element,
        sizes,
        allocation: allocation(line)?,
    })
}

fn check(line: &mut Scanner<'_>) -> Read<Op> {
    let kind = line.one_of("`read` or `write`")?;
    let (base, first) = location(line)?;
    line.symbol(",")?;
    let (mut count, mut stride) = (Operand::Constant(1), Operand::Constant(1));
    if line.takes_word("count") {
        count = operand(line)?;
        line.symbol(",")?;
        if !line.takes_word("stride") {
            return line.expected("`stride`");
        }
        stride = operand(line)?;
        line.symbol(",")?;
    }
    Ok(Op::Check {
        kind,
        base,
        first,
        count,
        stride,
        access: access(line)?,
    })
}

fn create(line: &mut Scanner<'_>) -> Read<Op> {
    let start = line.here();
    let kind: TaskKind = line.one_of("a kind of task")?;
    let (function, arguments) = call(line)?;
    let construct = match line.takes(",") {
        true => line.one_of("a construct")?,
        false => match Construct::from_word(kind.word()) {
            Some(construct) => construct,
            None => return start.error("which construct creates this task?"),
        },
    };
    Ok(Op::Spawn {
        kind,
        construct,
        function,
        arguments,
    })
}

fn call(line: &mut Scanner<'_>) -> Read<(FunctionId, Vec<Value>)> {
    let function = function(line)?;
    line.symbol("(")?;
    Ok((function, line.list(")", value)?))
}

/// `v1 + 3`, a base and an offset.
fn location(line: &mut Scanner<'_>) -> Read<(Value, Operand)> {
    let base = value(line)?;
    line.symbol("+")?;
    Ok((base, operand(line)?))
}

fn operand(line: &mut Scanner<'_>) -> Read<Operand> {
    match line.takes_id("v") {
        Some(value) => Ok(Operand::Value(Value(value))),
        None => Ok(Operand::Constant(line.number("a value or a number")?)),
    }
}

fn print_part(line: &mut Scanner<'_>) -> Read<PrintPart> {
    match line.takes_id("v") {
        Some(value) => Ok(PrintPart::Value(Value(value))),
        None => Ok(PrintPart::Text(line.string()?)),
    }
}

fn two_values(line: &mut Scanner<'_>) -> Read<(Value, Value)> {
    let a = value(line)?;
    line.symbol(",")?;
    Ok((a, value(line)?))
}

fn value(line: &mut Scanner<'_>) -> Read<Value> {
    line.id("v").map(Value)
}

fn function(line: &mut Scanner<'_>) -> Read<FunctionId> {
    line.id("fn").map(FunctionId)
}

fn access(line: &mut Scanner<'_>) -> Read<AccessId> {
    line.id("acc").map(AccessId)
}

fn allocation(line: &mut Scanner<'_>) -> Read<AllocationId> {
    line.id("alloc").map(AllocationId)
}

pub(super) fn constant(line: &mut Scanner<'_>, ty: Type) -> Read<Const> {
    Ok(match ty {
        Type::Int => Const::Int(line.number("an int")?),
        Type::Float => Const::Float(line.number("a float")?),
        Type::Bool => Const::Bool(line.number("a bool")?),
        Type::Byte => Const::Byte(line.number("a byte")?),
        Type::Ref if line.takes_word("null") => Const::Null,
        Type::Ref => return line.expected("`null`"),
    })
}
