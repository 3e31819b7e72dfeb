//! Where a collection begins: memory in which compiled code may keep references.

use std::ops::Range;

/// The stacks of a running program, with its registers spilled to them.
///
/// A collection reads every aligned word of them and keeps the objects that these words point into,
/// even if the words are numbers. So compiled code may keep a reference as any pointer into its
/// object, from its first byte to right behind its last one.
///
/// # Safety
///
/// Every range must be readable, and nobody may write to it meanwhile.
pub(crate) unsafe trait Roots {
    /// Calls `visit` with each range of addresses. Bytes before the first and behind the last
    /// aligned word of a range are ignored.
    fn visit(&self, visit: &mut dyn FnMut(Range<usize>));
}

/// The workers of a running program.
pub(crate) trait World {
    /// Stops all workers but the caller, does something, and lets them go on. The caller may have
    /// to wait, and others may do the same before.
    fn stopped(&self, work: &mut dyn FnMut(&dyn Roots));
}

/// A single worker, which is the caller.
impl<R: Roots> World for R {
    fn stopped(&self, work: &mut dyn FnMut(&dyn Roots)) {
        work(self);
    }
}

/// Visits each word of the roots, and returns how many bytes they have.
pub(super) fn each_word(roots: &dyn Roots, mut visit: impl FnMut(u64)) -> u64 {
    let mut bytes = 0;
    roots.visit(&mut |range| {
        for address in (range.start.next_multiple_of(8)..range.end & !7).step_by(8) {
            // SAFETY: an aligned word of a range that `Roots` promises to be readable. It may
            // belong to a variable of some function of ours, hence the volatile read, of which the
            // compiler assumes nothing.
            visit(unsafe { std::ptr::with_exposed_provenance::<u64>(address).read_volatile() });
            bytes += 8;
        }
    });
    bytes
}

/// Words of Rust code.
// SAFETY: borrowed words are readable, and nobody writes to them meanwhile.
unsafe impl Roots for &[u64] {
    fn visit(&self, visit: &mut dyn FnMut(Range<usize>)) {
        let range = self.as_ptr_range();
        visit(range.start.expose_provenance()..range.end.addr());
    }
}
