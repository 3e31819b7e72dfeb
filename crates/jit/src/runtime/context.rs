//! What compiled code and the runtime share by address.
//!
//! Every compiled function gets the address of the [`Context`] as its first argument. The context
//! is the first field of the runtime, so this is the address of the runtime, too.

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
}
