//! The slow half of a check, and checks of several locations.
//!
//! Compiled code calls the slow half from the middle of its hottest loops, where all values are in
//! registers. So the entry points preserve all registers, floating-point ones included, and the
//! compiler keeps its values where they are: a check that is decided inline costs no spill.
//! Compiled code has no vectors, so it suffices to preserve the low half of a vector register.

use super::Runtime;
use super::context::Context;
use super::memory::header_word;
use super::schedule::Schedule;
use super::seen::{self, Range, Seen};
use super::switch::{self, on_worker_stack};
use crate::checker::Checker;
use crate::heap::layout::{CELLS_OFFSET, COUNT_OFFSET, Cells, FIRST_LOCATION_OFFSET};
use finishline_detect::inline::{Change, SLOTS};
use finishline_ir::range::{Covered, covered};
use finishline_model::{Access, AccessId, AccessKind, Location};
use std::arch::naked_asm;
use std::mem::offset_of;

/// The address of a function that saves every register that a call may change, calls `$function`
/// with the same arguments, and restores them. In a cooperative program the function is called on
/// the worker's stack, unless the memo knows what becomes of the cell.
macro_rules! preserving_all {
    (
        $name:ident calls $function:ident
        $(after $quick:literal where $($known:ident = $offset:expr),+)?;
        $(unless $seen:ident)?
        $(changes at $changes:expr)?
    ) => {
        pub(in crate::runtime) fn $name<C: Checker, S: Schedule>() -> usize {
            on_worker_stack!(on_worker_stack calls $function);
            saving_registers!(direct calls $function $(after $quick where $($known = $offset),+)?);
            saving_registers!(
                from_strand calls on_worker_stack
                $(after $quick where $($known = $offset),+)?
            );
            $(
                unless_seen!($seen calls direct, on_strand calls from_strand);
                if S::MANNER.has_strands() {
                    return on_strand::<C, S> as *const () as usize;
                }
                return $seen::<C, S> as *const () as usize;
            )?
            #[allow(unreachable_code)]
            if !S::MANNER.has_strands() {
                return direct::<C, S> as *const () as usize;
            }
            $(
                changing!(changing at $changes, else from_strand);
                return changing::<C, S> as *const () as usize;
            )?
            #[allow(unreachable_code)]
            {
                from_strand::<C, S> as *const () as usize
            }
        }
    };
}

/// Makes the change of a cell that the memo has, or goes on with `$otherwise`.
macro_rules! changing {
    ($name:ident at $changes:expr, else $otherwise:ident) => {
        // SAFETY: the body keeps to the convention that compiled code calls it by: it returns with
        // every register as it was.
        #[unsafe(naked)]
        unsafe extern "C" fn $name<C: Checker, S: Schedule>() {
            naked_asm!(
                "push rax",
                "push rcx",
                "shl rcx, 4",
                "mov rax, [rsi + 8 * rdx]",
                "cmp rax, [rdi + rcx + {before}]",
                "jne 3f",
                "mov rax, [rdi + rcx + {after}]",
                "mov [rsi + 8 * rdx], rax",
                "pop rcx",
                "pop rax",
                "ret",
                "3: pop rcx",
                "pop rax",
                "jmp {otherwise}",
                before = const $changes + offset_of!(Change, before),
                after = const $changes + offset_of!(Change, after),
                otherwise = sym $otherwise::<C, S>,
            )
        }
    };
}

/// Functions that do nothing for a range of no locations, as rows have that are checked together,
/// nor for one that the step has checked before ([`seen`]). Else they go on with another one.
macro_rules! unless_seen {
    ($($name:ident calls $otherwise:ident),+) => { $(
        // SAFETY: the body keeps to the convention that compiled code calls it by: it returns with
        // every register as it was.
        #[unsafe(naked)]
        unsafe extern "C" fn $name<C: Checker, S: Schedule>() {
            naked_asm!(
                "test rcx, rcx",
                "jnz 2f",
                "ret",
                "2: push rax",
                "push r10",
                "mov r10, r9",
                "shr r10, 32",
                "shl r10, {kind_shift}",
                "mov rax, rsi",
                "shr rax, 3",
                "add rax, rdx",
                "add rax, r10",
                "imul eax, eax, {scatter}",
                "shr eax, {shift}",
                "shl eax, {range_bits}",
                "add rax, [rdi + {seen}]",
                "mov r10, [rdi + {now}]",
                "cmp r10, [rax + {era}]",
                "jne 2f",
                "cmp rsi, [rax + {object}]",
                "jne 2f",
                "cmp rdx, [rax + {first}]",
                "jne 2f",
                "cmp rcx, [rax + {count}]",
                "jne 2f",
                "cmp r8, [rax + {stride}]",
                "jne 2f",
                "mov r10, r9",
                "shr r10, 32",
                "cmp r10, [rax + {kind}]",
                "jne 2f",
                // One location is counted as one.
                "3: cmp rcx, 1",
                "je 4f",
                "inc qword ptr [rdi + {found}]",
                "add [rdi + {locations}], rcx",
                "pop r10",
                "pop rax",
                "ret",
                "4: inc qword ptr [rdi + {accesses}]",
                "pop r10",
                "pop rax",
                "ret",
                "2: cmp r8, 1",
                "jne 2f",
                "mov r10, r9",
                "shr r10, 32",
                "mov rax, r10",
                "shl rax, {kind_shift}",
                "push rsi",
                "shr rsi, 3",
                "add rax, rsi",
                "pop rsi",
                "imul eax, eax, {scatter}",
                "shr eax, {stretch_shift}",
                "shl eax, {range_bits}",
                "add rax, [rdi + {seen}]",
                "cmp rsi, [rax + {stretches} + {object}]",
                "jne 2f",
                "cmp r10, [rax + {stretches} + {kind}]",
                "jne 2f",
                "mov r10, [rdi + {now}]",
                "cmp r10, [rax + {stretches} + {era}]",
                "jne 2f",
                // From the beginning of the stretch to the end of the range.
                "mov r10, rdx",
                "sub r10, [rax + {stretches} + {first}]",
                "add r10, rcx",
                "jc 2f",
                "cmp r10, [rax + {stretches} + {count}]",
                "jbe 3b",
                "2: pop r10",
                "pop rax",
                "jmp {otherwise}",
                scatter = const seen::SCATTER,
                shift = const seen::SHIFT,
                stretch_shift = const seen::STRETCH_SHIFT,
                stretches = const offset_of!(Seen, stretches),
                range_bits = const seen::RANGE_BITS,
                seen = const offset_of!(Context, seen),
                now = const offset_of!(Context, fast.limits.era),
                era = const offset_of!(Range, era),
                object = const offset_of!(Range, object),
                first = const offset_of!(Range, first),
                count = const offset_of!(Range, count),
                stride = const offset_of!(Range, stride),
                kind = const offset_of!(Range, kind),
                kind_shift = const seen::KIND_SHIFT,
                found = const offset_of!(Context, spared_checks),
                locations = const offset_of!(Context, spared_locations),
                accesses = const offset_of!(Context, accesses),
                otherwise = sym $otherwise::<C, S>,
            )
        }
    )+ };
}

macro_rules! saving_registers {
    (
        $name:ident calls $function:ident
        $(after $quick:literal where $($known:ident = $offset:expr),+)?
    ) => {
        // SAFETY: the body keeps to the convention that compiled code calls it by: it returns with
        // every register as it was.
        #[unsafe(naked)]
        unsafe extern "C" fn $name<C: Checker, S: Schedule>() {
            naked_asm!(
                $($quick,)?
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push r11",
                // With the return address 80 bytes: the stack is aligned again, as it is at a call.
                "sub rsp, 128",
                "movsd [rsp], xmm0",
                "movsd [rsp + 8], xmm1",
                "movsd [rsp + 16], xmm2",
                "movsd [rsp + 24], xmm3",
                "movsd [rsp + 32], xmm4",
                "movsd [rsp + 40], xmm5",
                "movsd [rsp + 48], xmm6",
                "movsd [rsp + 56], xmm7",
                "movsd [rsp + 64], xmm8",
                "movsd [rsp + 72], xmm9",
                "movsd [rsp + 80], xmm10",
                "movsd [rsp + 88], xmm11",
                "movsd [rsp + 96], xmm12",
                "movsd [rsp + 104], xmm13",
                "movsd [rsp + 112], xmm14",
                "movsd [rsp + 120], xmm15",
                "call {function}",
                "movsd xmm0, [rsp]",
                "movsd xmm1, [rsp + 8]",
                "movsd xmm2, [rsp + 16]",
                "movsd xmm3, [rsp + 24]",
                "movsd xmm4, [rsp + 32]",
                "movsd xmm5, [rsp + 40]",
                "movsd xmm6, [rsp + 48]",
                "movsd xmm7, [rsp + 56]",
                "movsd xmm8, [rsp + 64]",
                "movsd xmm9, [rsp + 72]",
                "movsd xmm10, [rsp + 80]",
                "movsd xmm11, [rsp + 88]",
                "movsd xmm12, [rsp + 96]",
                "movsd xmm13, [rsp + 104]",
                "movsd xmm14, [rsp + 112]",
                "movsd xmm15, [rsp + 120]",
                "add rsp, 128",
                "pop r11",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "ret",
                function = sym $function::<C, S>,
                $($($known = const $offset,)+)?
            )
        }
    };
}

mod alike;
mod in_a_row;
mod shared;

pub(crate) use shared::known_place;
pub(super) use shared::{shared_range, shared_read, shared_write};

// The lines in the table of `finishline_detect::inline` that use the memo. The memo knows the
// reader, and the writer is serial: programs whose tasks nest come here often; the others have no
// use for it in every check. The memo knows what becomes of the cell: this happens in cooperative
// programs alone.
preserving_all!(undecided_read calls read after "
    push rax
    mov rax, [rsi + 8 * rdx]
    cmp eax, [rdi + {serial_below}]
    jae 2f
    shr rax, 32
    cmp eax, [rdi + 4 * rcx + {beside}]
    jne 2f
    pop rax
    ret
 2: pop rax" where
    serial_below = offset_of!(Context, fast.limits.serial_below),
    beside = offset_of!(Context, fast.beside);
changes at offset_of!(Context, fast.changed)
);
// The changes by writes come after those by reads.
preserving_all!(
    undecided_write calls write;
    changes at offset_of!(Context, fast.changed) + size_of::<[Change; SLOTS]>()
);
// With the id of the access where others have the slot of the memo.
preserving_all!(record_read calls read;);
preserving_all!(record_write calls write;);
// In every loop of a parallel run, when there is a signal.
preserving_all!(poll calls heed;);
// In front of a loop, whose values would else be kept in memory all along. Short ranges of
// neighbours are decided here, cell by cell, by the lines of the table that need no memo: a call
// would cost more than that.
preserving_all!(check_range calls range after "
    push rax
    push r10
    lea rax, [rcx - 1]
    cmp rax, {short}
    jae 9f
    test rsi, rsi
    jz 9f
    mov r10, rdx
    cmp r8, 1
    je 4f
    cmp r8, -1
    jne 9f
    sub r10, rax
 4: mov rax, [rsi + {size}]
    sub rax, rcx
    jb 9f
    cmp r10, rax
    ja 9f
    mov rax, [rsi + {cells}]
    test rax, rax
    jz 9f
    push rcx
    lea rax, [rax + 8 * r10]
    lea rcx, [rax + 8 * rcx]
    bt r9, 32
    jc 6f
 5: mov r10d, [rax + 4]
    cmp r10d, [rdi + {me}]
    je 7f
    cmp r10d, [rdi + {serial_below}]
    jae 8f
    mov r10d, [rax]
    cmp r10d, [rdi + {serial_below}]
    jae 8f
    mov r10d, [rdi + {me}]
    mov [rax + 4], r10d
 7: add rax, 8
    cmp rax, rcx
    jne 5b
    jmp 4f
 6: mov r10, [rax]
    cmp r10, [rdi + {settled}]
    je 7f
    cmp r10d, [rdi + {serial_below}]
    jae 8f
    shr r10, 32
    cmp r10d, [rdi + {me}]
    je 5f
    cmp r10d, [rdi + {serial_below}]
    jae 8f
 5: mov r10, [rdi + {settled}]
    mov [rax], r10
 7: add rax, 8
    cmp rax, rcx
    jne 6b
 4: pop rcx
    cmp rcx, 1
    je 3f
    inc qword ptr [rdi + {found}]
    add [rdi + {locations}], rcx
    pop r10
    pop rax
    ret
 3: inc qword ptr [rdi + {accesses}]
    pop r10
    pop rax
    ret
 8: pop rcx
 9: pop r10
    pop rax" where
    found = offset_of!(Context, spared_checks),
    locations = offset_of!(Context, spared_locations),
    short = SHORT,
    size = COUNT_OFFSET,
    cells = CELLS_OFFSET,
    me = offset_of!(Context, fast.limits.me),
    serial_below = offset_of!(Context, fast.limits.serial_below),
    settled = offset_of!(Context, fast.limits.settled),
    accesses = offset_of!(Context, accesses);
unless seen
);

/// The longest range that is compared cell by cell.
const SHORT: usize = 16;

const _: () = assert!(size_of::<Change>() == 1 << 4, "as it is shifted above");

unsafe extern "C" fn heed<C: Checker, S: Schedule>(context: *mut Context) {
    // SAFETY: compiled code passes its context.
    S::poll(unsafe { Runtime::<C, S>::of(context) });
}

unsafe extern "C" fn read<C: Checker, S: Schedule>(
    context: *mut Context,
    cells: *mut u64,
    index: u64,
    slot: u64,
) {
    // SAFETY: as the caller promises.
    unsafe { undecided::<C, S>(context, AccessKind::Read, cells, index, slot) };
}

unsafe extern "C" fn write<C: Checker, S: Schedule>(
    context: *mut Context,
    cells: *mut u64,
    index: u64,
    slot: u64,
) {
    // SAFETY: as the caller promises.
    unsafe { undecided::<C, S>(context, AccessKind::Write, cells, index, slot) };
}

#[inline(always)]
unsafe fn undecided<C: Checker, S: Schedule>(
    context: *mut Context,
    kind: AccessKind,
    cells: *mut u64,
    index: u64,
    slot: u64,
) {
    // SAFETY: compiled code passes its context, the address of cells of a live object and the index
    // of one of them.
    let (runtime, cell) = unsafe {
        (
            Runtime::<C, S>::of(context),
            &mut *cells.add(index as usize),
        )
    };
    let address = (&raw const *cell).addr();
    let Runtime { checker, heap, .. } = runtime;
    checker.undecided(kind, cell, slot as usize, || heap.location_of_cell(address));
}

/// Tells of an access to a location of the object. The access and its kind are packed.
pub(super) unsafe extern "C" fn tell_access<C: Checker, S: Schedule>(
    context: *mut Context,
    object: *const u8,
    offset: u64,
    packed: u64,
) {
    let one = Covered {
        first: offset,
        count: 1,
        stride: 1,
    };
    // SAFETY: compiled code passes its context, a live object and an offset inside it.
    unsafe { tell::<C, S>(context, object, one, packed) };
}

/// Tells of accesses to those of `count` locations from `first` on, `stride` apart, that the object
/// has.
pub(super) unsafe extern "C" fn tell_range<C: Checker, S: Schedule>(
    context: *mut Context,
    object: *const u8,
    first: i64,
    count: u64,
    stride: i64,
    packed: u64,
) {
    // SAFETY: compiled code passes its context and a live object or null.
    unsafe {
        if let Some(covered) = covered_of(object, first, count, stride) {
            tell::<C, S>(context, object, covered, packed);
        }
    }
}

#[inline(always)]
unsafe fn tell<C: Checker, S: Schedule>(
    context: *mut Context,
    object: *const u8,
    covered: Covered,
    packed: u64,
) {
    // SAFETY: as the callers promise.
    let (runtime, location) = unsafe {
        let first = header_word(object, FIRST_LOCATION_OFFSET);
        (Runtime::<C, S>::of(context), first + covered.first)
    };
    let (kind, id) = unpack(packed);
    let access = Access {
        task: runtime.running(),
        kind,
        first: Location(location),
        count: covered.count,
        stride: covered.stride,
        id,
    };
    runtime.checker.access(&access);
}

/// Checks accesses to those of `count` locations from `first` on, `stride` apart, that the object
/// has.
unsafe extern "C" fn range<C: Checker, S: Schedule>(
    context: *mut Context,
    object: *const u8,
    start: i64,
    count: u64,
    stride: i64,
    packed: u64,
) {
    // SAFETY: compiled code passes a live object or null.
    let Some(covered) = (unsafe { covered_of(object, start, count, stride) }) else {
        return;
    };
    // SAFETY: the object is live.
    let [location, cells] =
        unsafe { [FIRST_LOCATION_OFFSET, CELLS_OFFSET].map(|offset| header_word(object, offset)) };
    let extent = (covered.count - 1) * covered.stride + 1;
    let rising = covered.stride as isize;
    let (lowest, in_memory) = if cells == 0 {
        // Of a struct: from the header downwards.
        let last = covered.first + extent - 1;
        let lowest = object.wrapping_offset(Cells::Word.of_field(last as u32) as isize);
        (lowest.cast_mut().cast::<u64>(), -rising)
    } else {
        let cells = cells as *mut u64;
        (cells.wrapping_add(covered.first as usize), rising)
    };
    // SAFETY: these are cells of the object, which has all locations that are covered; compiled
    // code passes its context, and nobody else uses cells while the runtime runs.
    let (runtime, cells) = unsafe {
        let cells = std::slice::from_raw_parts_mut(lowest, extent as usize);
        (Runtime::<C, S>::of(context), cells)
    };
    let (kind, id) = unpack(packed);
    let first = Location(location + covered.first);
    runtime.checker.range(kind, cells, in_memory, first, id);
    // A range that leaves the object comes before a failure, and not again.
    if covered.count == count {
        let era = runtime.context.fast.limits.era;
        let arguments = (start, count, stride);
        runtime.seen.add(object, arguments, kind, era);
    }
}

/// What a range covers of an object, or of null.
///
/// # Safety
///
/// The address must be null or that of a live object.
unsafe fn covered_of(object: *const u8, first: i64, count: u64, stride: i64) -> Option<Covered> {
    if object.is_null() {
        return None;
    }
    // SAFETY: the object is live.
    let locations = unsafe { header_word(object, COUNT_OFFSET) };
    covered(first, count, stride, locations)
}

/// An access and its kind in a word.
pub(crate) fn pack(kind: AccessKind, id: AccessId) -> u64 {
    let kind = match kind {
        AccessKind::Read => 0,
        AccessKind::Write => 1,
    };
    kind << 32 | u64::from(id.0)
}

fn unpack(packed: u64) -> (AccessKind, AccessId) {
    let kind = match packed >> 32 {
        0 => AccessKind::Read,
        _ => AccessKind::Write,
    };
    (kind, AccessId(packed as u32))
}
