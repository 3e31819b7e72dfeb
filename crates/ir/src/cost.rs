//! The costs that the memory budget counts, in bytes.
//!
//! A program that runs out of memory must do so at the same place in every executor. Hence the
//! costs are fixed here, independent of an executor. The reference interpreter takes at most this
//! much, and so does compiled code without a detector. Under a detector compiled code takes more:
//! the cells are not counted. Objects have one budget. Frames, tasks and finishes have another one
//! of the same size.

use crate::module::{Function, Type};

/// An object besides its locations.
pub const OBJECT: u64 = 192;
/// A field of a struct or a global variable.
pub const FIELD: u64 = 16;
/// What stays of a task when it has ended.
pub const TASK_RECORD: u64 = 20;
/// A live task besides its frames.
pub const LIVE_TASK: u64 = 96;
/// An open finish.
pub const FINISH: u64 = 20;

/// A frame besides its registers.
pub const FRAME: u64 = 64;
/// A register of a frame.
pub const REGISTER: u64 = 16;

/// A frame of the function.
pub const fn frame(function: &Function) -> u64 {
    FRAME + function.frame as u64 * REGISTER
}

/// The elements of an array.
pub fn elements(ty: Type, count: u64) -> Option<u64> {
    count.checked_mul(ty.size())
}
