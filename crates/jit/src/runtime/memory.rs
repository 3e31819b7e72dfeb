//! New objects, and where references may hide when the heap is collected.
//!
//! The collector looks for references in the heap, which it knows precisely. It also scans the
//! words of the program's stacks, and of the registers that a call preserves. The other registers
//! hold nothing that the program still needs: the compiler has saved their values on the stack.

use super::Runtime;
use super::context::Context;
use super::schedule::Schedule;
use crate::checker::{Checker, Style};
use crate::heap::layout::{
    CELLS_OFFSET, COUNT_OFFSET, FIRST_LOCATION_OFFSET, LOCK_NUMBER, PHASE_OF_ARRAY, PHASE_OF_STRUCT,
};
use crate::heap::{Reference, Roots, World};
use finishline_detect::parallel::phases::{Maker, ObjectPhase};
use finishline_ir::listener::{Allocated, Shape};
use finishline_ir::{StructId, Type};
use finishline_model::{AllocationId, Event, Location, SiteId};
use std::arch::asm;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// The registers that a call preserves, and the lowest address of the stack that is in use.
#[inline(always)]
pub(super) fn preserved_registers() -> ([usize; 6], usize) {
    let mut registers = [0usize; 6];
    let stack_pointer: usize;
    // SAFETY: stores six registers into an array of six words, and reads the stack pointer.
    unsafe {
        asm!(
            "mov [{into}], rbx",
            "mov [{into} + 8], rbp",
            "mov [{into} + 16], r12",
            "mov [{into} + 24], r13",
            "mov [{into} + 32], r14",
            "mov [{into} + 40], r15",
            "mov {pointer}, rsp",
            into = in(reg) registers.as_mut_ptr(),
            pointer = out(reg) stack_pointer,
            options(nostack, preserves_flags),
        );
    }
    (registers, stack_pointer)
}

/// Where the running program may keep references.
struct ProgramRoots<'a, S> {
    preserved: [usize; 6],
    stack_pointer: usize,
    schedule: &'a S,
    context: &'a Context,
}

// SAFETY: the array is borrowed with the value, and the schedule visits stacks in use: by the
// functions that are waiting for this one, and by suspended tasks.
unsafe impl<S: Schedule> Roots for ProgramRoots<'_, S> {
    fn visit(&self, visit: &mut dyn FnMut(Range<usize>)) {
        let registers = self.preserved.as_ptr_range();
        visit(registers.start.expose_provenance()..registers.end.addr());
        self.schedule
            .visit_stacks(self.context, self.stack_pointer, visit);
    }
}

/// The workers of the program, of which this one makes an object.
struct ProgramWorld<'a, S> {
    schedule: &'a S,
    context: &'a Context,
}

impl<S: Schedule> World for ProgramWorld<'_, S> {
    /// What the registers of compiled code had is still there, or the functions in between have
    /// saved it on the stack.
    #[cold]
    #[inline(never)]
    fn stopped(&self, work: &mut dyn FnMut(&dyn Roots)) {
        let (preserved, stack_pointer) = preserved_registers();
        let ProgramWorld { schedule, context } = *self;
        let roots = ProgramRoots {
            preserved,
            stack_pointer,
            schedule,
            context,
        };
        schedule.stop_others(context, stack_pointer, &mut || work(&roots));
    }
}

/// A word of an object's header.
///
/// # Safety
///
/// The address must be that of a live object.
pub(super) unsafe fn header_word(object: *const u8, offset: i32) -> u64 {
    // SAFETY: a live object has a header of aligned words before its data.
    unsafe { object.offset(offset as isize).cast::<u64>().read() }
}

/// Where an object has its [phase](finishline_detect::parallel::phases).
///
/// # Safety
///
/// The address must be that of a live object with such a word.
pub(super) unsafe fn phase_of(object: *mut u8) -> *mut ObjectPhase {
    // SAFETY: as promised.
    let place = match unsafe { header_word(object, CELLS_OFFSET) } {
        0 => object.wrapping_offset(PHASE_OF_STRUCT as isize),
        cells => (cells as *mut u8).wrapping_offset(PHASE_OF_ARRAY as isize),
    };
    place.cast()
}

/// The first number is that of the global variables.
fn maker_of(allocation: AllocationId) -> Maker {
    Maker(allocation.0.wrapping_add(1))
}

fn locations(object: Reference) -> (Location, u64) {
    let address = object.address() as *const u8;
    // SAFETY: the object was just made.
    let [first, count] =
        unsafe { [FIRST_LOCATION_OFFSET, COUNT_OFFSET].map(|offset| header_word(address, offset)) };
    (Location(first), count)
}

impl<C: Checker, S: Schedule> Runtime<'_, C, S> {
    pub(super) fn tell_alloc(
        &mut self,
        object: Reference,
        allocation: AllocationId,
        shape: Shape<&[u64]>,
    ) {
        let (first, count) = locations(object);
        if C::STYLE == Style::SharedWord && self.heap.has_phases() {
            if self.context.phase.may_own() {
                self.checker.own(&mut self.context.phase);
            }
            let made = ObjectPhase::new(self.context.phase, maker_of(allocation));
            // SAFETY: the object was just made, and nobody else has it.
            unsafe { phase_of(object.address() as *mut u8).write(made) };
        }
        S::begin_era(self);
        let event = Event::Alloc {
            task: self.running(),
            allocation,
            first,
            count,
        };
        self.tell(&event);
        self.checker.allocated(&Allocated {
            allocation,
            first,
            count,
            shape,
            earlier: None,
        });
    }
}

pub(super) unsafe extern "C" fn new_struct<C: Checker, S: Schedule>(
    context: *mut Context,
    layout: u32,
    allocation: u32,
    site: u32,
) -> u64 {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let world = ProgramWorld {
        schedule: &runtime.schedule,
        context: &runtime.context,
    };
    match runtime.heap.new_struct(StructId(layout), &world) {
        Ok(object) => {
            let shape = Shape::Struct(StructId(layout));
            runtime.tell_alloc(object, AllocationId(allocation), shape);
            object.address()
        }
        Err(kind) => runtime.fail(kind, SiteId(site)),
    }
}

pub(super) unsafe extern "C" fn new_array<C: Checker, S: Schedule>(
    context: *mut Context,
    element: u32,
    sizes: *const i64,
    dimensions: u64,
    allocation: u32,
    site: u32,
) -> u64 {
    // SAFETY: compiled code passes its context and the address of `dimensions` sizes on its stack.
    // Sizes are told only of an array that was made, and then they are not negative.
    let (runtime, requested, sizes) = unsafe {
        let dimensions = dimensions as usize;
        let requested = std::slice::from_raw_parts(sizes, dimensions);
        let sizes = std::slice::from_raw_parts(sizes.cast::<u64>(), dimensions);
        (Runtime::<C, S>::of(context), requested, sizes)
    };
    let world = ProgramWorld {
        schedule: &runtime.schedule,
        context: &runtime.context,
    };
    match runtime
        .heap
        .new_array(Type::ALL[element as usize], requested, &world)
    {
        Ok(object) => {
            runtime.tell_alloc(object, AllocationId(allocation), Shape::Array(sizes));
            object.address()
        }
        Err(kind) => runtime.fail(kind, SiteId(site)),
    }
}

/// Makes a promise of the type with that index.
pub(super) unsafe extern "C" fn new_lock<C: Checker, S: Schedule>(
    context: *mut Context,
    allocation: u32,
    site: u32,
) -> u64 {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let world = ProgramWorld {
        schedule: &runtime.schedule,
        context: &runtime.context,
    };
    match runtime.heap.new_lock(&world) {
        Ok(object) => {
            // A number alone is taken: nothing is ordered by it.
            let lock = runtime.locks_made.fetch_add(1, Ordering::Relaxed);
            let number = (object.address() as *mut u8).wrapping_offset(LOCK_NUMBER as isize);
            // SAFETY: the lock was just made, and has a word for its number.
            unsafe { number.cast::<u64>().write(lock) };
            runtime.tell_alloc(object, AllocationId(allocation), Shape::Lock);
            object.address()
        }
        Err(kind) => runtime.fail(kind, SiteId(site)),
    }
}

pub(super) unsafe extern "C" fn new_promise<C: Checker, S: Schedule>(
    context: *mut Context,
    carried: u32,
    allocation: u32,
    site: u32,
) -> u64 {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let world = ProgramWorld {
        schedule: &runtime.schedule,
        context: &runtime.context,
    };
    match runtime
        .heap
        .new_promise(Type::ALL[carried as usize], &world)
    {
        Ok(object) => {
            runtime.tell_alloc(object, AllocationId(allocation), Shape::Promise);
            object.address()
        }
        Err(kind) => runtime.fail(kind, SiteId(site)),
    }
}

#[cfg(test)]
mod tests {
    use super::{ProgramRoots, preserved_registers};
    use crate::heap::Roots;
    use crate::runtime::context::Context;
    use crate::runtime::depth_first::DepthFirst;
    use std::arch::naked_asm;

    const VALUES: [usize; 6] = [0x1d1, 0x2d2, 0x3d3, 0x4d4, 0x5d5, 0x6d6];
    /// The most words that are looked at.
    const WORDS: usize = 64;

    /// Calls `look` with these values in the registers that a call preserves, and restores them.
    // SAFETY: the body keeps to the convention for calls: it restores what it changes and aligns
    // the stack.
    #[unsafe(naked)]
    unsafe extern "C" fn look_with(values: *const [usize; 6], into: *mut [usize; WORDS]) {
        naked_asm!(
            "push rbx",
            "push rbp",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "sub rsp, 8",
            "mov rbx, [rdi]",
            "mov rbp, [rdi + 8]",
            "mov r12, [rdi + 16]",
            "mov r13, [rdi + 24]",
            "mov r14, [rdi + 32]",
            "mov r15, [rdi + 40]",
            "mov rdi, rsi",
            "mov rsi, rsp",
            "call {look}",
            "add rsp, 8",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbp",
            "pop rbx",
            "ret",
            look = sym look,
        )
    }

    /// Notes what the collector would look at if it were called from here, up to `base` on the
    /// stack. It calls nothing, so that registers are still where they were.
    unsafe extern "C" fn look(into: *mut [usize; WORDS], base: usize) {
        let (preserved, stack_pointer) = preserved_registers();
        let stack = (stack_pointer..base).step_by(size_of::<usize>());
        // SAFETY: between the stack pointer and the caller's frame is the stack.
        let stack = stack.map(|address| unsafe { (address as *const usize).read_volatile() });
        for (index, word) in preserved.into_iter().chain(stack).take(WORDS).enumerate() {
            // SAFETY: there is room for `WORDS` words.
            unsafe { into.cast::<usize>().add(index).write_volatile(word) };
        }
    }

    #[test]
    fn a_reference_in_any_register_that_a_call_preserves_is_found() {
        let mut found = [0; WORDS];
        // SAFETY: the addresses are those of the two arrays.
        unsafe { look_with(&VALUES, &mut found) };
        let missing = VALUES.iter().find(|value| !found.contains(value));
        assert_eq!(missing, None, "{found:x?}");
    }

    #[test]
    fn registers_and_the_stack_are_looked_at() {
        let stack = [7usize, 8, 9];
        let from = stack.as_ptr().expose_provenance();
        let roots = ProgramRoots {
            preserved: VALUES,
            stack_pointer: from,
            schedule: &DepthFirst::on_stack_below(from + size_of_val(&stack)),
            context: &Context::new(),
        };
        let mut found = Vec::new();
        roots.visit(&mut |words| {
            let addresses = words.step_by(size_of::<usize>());
            // SAFETY: the words of the two arrays.
            found.extend(addresses.map(|address| unsafe { *(address as *const usize) }));
        });
        assert_eq!(found, [&VALUES[..], &stack].concat());
    }
}
