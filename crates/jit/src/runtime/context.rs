//! What compiled code and the runtime share by address.
//!
//! Every compiled function gets the address of the [`Context`] as its first argument. The context
//! is the first field of the runtime, so this is the address of the runtime, too.

use super::seen::Seen;
use finishline_detect::inline::FastPath;

#[repr(C)]
pub(crate) struct Context {
    /// What checks compare cells with.
    pub(crate) fast: FastPath,
    /// The object of global variables.
    pub(crate) globals: u64,
    /// What live frames and tasks may take, by what is left of the budget and by the room on the
    /// stack. Compiled code carries the sum of those in a register.
    pub(crate) stack_limit: u64,
    /// Accesses checked so far, but for those the running functions have not yet added.
    pub(crate) accesses: u64,

    // Of cooperative programs, in which every task that may wait has a stack of its own.
    /// Where the runtime's functions begin on the worker's stack.
    pub(crate) worker_pointer: u64,
    /// Where the running strand left its stack to call the runtime. The strand that is there when
    /// the runtime's function returns goes on.
    pub(crate) strand_pointer: u64,
    /// The bytes of frames and tasks on the running stack, noted before what may suspend it or ask
    /// for more room.
    pub(crate) stack: u64,

    /// Ranges that need no check.
    pub(crate) seen: Seen,
}

impl Context {
    /// Of a run that has not begun.
    pub(crate) const fn new() -> Context {
        Context {
            fast: FastPath::IDLE,
            globals: 0,
            stack_limit: 0,
            accesses: 0,
            worker_pointer: 0,
            strand_pointer: 0,
            stack: 0,
            seen: Seen::new(),
        }
    }
}
