//! `print`, and the messages of assertions: a line is put together part by part.

use super::context::Context;
use super::schedule::Schedule;
use super::{Runtime, datum};
use crate::End;
use crate::checker::Checker;
use finishline_ir::Type;
use std::io::Write;
use std::sync::PoisonError;

/// Appends a text that lives as long as the code.
pub(super) unsafe extern "C" fn add_text<C: Checker, S: Schedule>(
    context: *mut Context,
    text: *const u8,
    length: u64,
) {
    // SAFETY: compiled code passes its context and a text of the module it was made from.
    let (runtime, text) = unsafe {
        let text = std::slice::from_raw_parts(text, length as usize);
        (Runtime::<C, S>::of(context), text)
    };
    runtime.line.extend_from_slice(text);
}

/// Appends a value of the type with that index.
pub(super) unsafe extern "C" fn add_value<C: Checker, S: Schedule>(
    context: *mut Context,
    ty: u32,
    word: u64,
) {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let value = datum(Type::ALL[ty as usize], word);
    // A vector takes everything.
    let _ = write!(runtime.line, "{value}");
}

/// Ends the line and prints it.
pub(super) unsafe extern "C" fn end_line<C: Checker, S: Schedule>(context: *mut Context) {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    runtime.line.push(b'\n');
    let mut output = runtime
        .output
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let written = output.write_all(&runtime.line);
    drop(output);
    runtime.line.clear();
    if let Err(error) = written {
        runtime.leave(End::OutputError(error));
    }
}
