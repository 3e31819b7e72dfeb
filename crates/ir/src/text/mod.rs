//! The text form of the IR: one instruction a line, in program order.
//!
//! ```text
//! struct0 Pair { x: int, next: ref }
//! global 0 total: int = 0
//! uses async                                               // 8:3
//! unchecked acc2: sequential
//! main fn1
//!
//! fn1 f(x: int) -> int {                                   // 3:1
//! bb0(v0: int):
//!   v1: ref = globals                                      // 4:5
//!   check read v1 + 0, acc2                                // 4:5
//!   v2: int = load v1 + 0, acc2                            // 4:5
//!   return v2
//! }                                                        // 5:1
//! ```
//!
//! A definition shows its type, a check its kind, an access its id. The place in the source stands
//! at the end of the line, as line:column. A function whose calls cost more or fewer registers than
//! it has values says `frame N` before the brace.
//!
//! [`write`] prints, [`read()`] reads. Reading and printing again gives the same bytes. The text
//! has no names of allocations, no ends of source spans and no path of the source. The reader
//! rebuilds the source map without them. All else that a run can show is in the text.

mod instruction;
pub mod read;
mod scan;
mod words;
pub mod write;

pub use read::read;
pub use scan::ReadError;
