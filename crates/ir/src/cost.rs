//! What the memory budget counts, in bytes.
//!
//! A program that runs out of memory must do so at the same place however it is executed, so the costs are fixed here
//! and not what one executor happens to take. They are at least what the reference interpreter takes, and what compiled code
//! takes that is only run; under a detector that takes more, since its cells are not counted. Objects have the budget for themselves, and frames, tasks and finishes as much again.

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
