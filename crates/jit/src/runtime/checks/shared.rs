//! Checks of cells that several workers access.
//!
//! An object that the phase only reads needs no cells: compiled code finds that out itself
//! ([`finishline_detect::parallel::phases`]).
//!
//! What becomes of a cell by an access depends on its value, the step and the kind of the access
//! alone. So compiled code finds out itself that a read leaves a cell as it is, because one of the
//! same step at the same site has left such a cell. The entry points below replace a value before
//! they save any register, if all of it is past, or if the worker knows what becomes of it.

use super::super::Runtime;
use super::super::context::{Context, FIRSTS, KNOWN};
use super::super::memory::{header_word, phase_of};
use super::super::schedule::Schedule;
use super::super::seen::{self, Range, Seen};
use super::super::switch::{self, on_worker_stack};
use super::in_a_row::{InARow, NO_OUTCOME};
use super::{covered_of, unpack};
use crate::End;
use crate::checker::{Checker, Style};
use crate::heap::layout::{CELLS_OFFSET, FIRST_LOCATION_OFFSET};
use finishline_detect::parallel::cell::OneWord;
use finishline_detect::parallel::phases::{AtObject, FirstAccess, ObjectPhase};
use finishline_detect::parallel::{NO_STAMP, OUTCOMES, Outcome, SCATTER, SCATTER_SHIFT};
use finishline_ir::range::Covered;
use finishline_model::{AccessId, AccessKind, Location};
use std::arch::naked_asm;
use std::mem::offset_of;
use std::slice::from_raw_parts;
use std::sync::atomic::AtomicU64;

/// An entry point that decides by itself, if it can:
///
/// 1. It is the first access of the phase to the object (label 6), which no step of the phase owns
///    (only words of phases are negative), and the same will do as for another object of its maker.
///    Then it may be done.
/// 2. The object is recorded (label 7), and the cell has only past accesses. This access is the
///    only one to remember then. The word of a write is settled, that of a read has the step in its
///    upper half alone.
/// 3. The [outcome](Outcome) is known (label 2). It is where [`OneWord`] mixes it with the stamp,
///    and the worker scatters it. If the cell stays as it is (label 5), the site will know. This
///    holds for a write, too: such a cell has a writer that stands for the step, so its reads find
///    nothing.
///
/// If it has replaced a cell while a [span](finishline_detect::parallel::spans) may have been open,
/// the function accesses the cell again.
///
/// Otherwise (label 4) it calls the function.
macro_rules! after_known_outcome {
    ($name:ident calls $function:ident by $kind:expr) => {
        preserving_all!($name calls $function after "
            push rax
            push r10
            push r11
            mov r10d, [r8]
            cmp r10d, [rdi + {recorded}]
            jb 6f
         7: mov rax, [rsi + 8 * rdx]
            mov r11d, [rdi + {past}]
            mov r10, rax
            shr r10, 32
            cmp r10d, r11d
            jae 2f
            cmp eax, r11d
            jae 2f
            mov r10, [rdi + {settled}]
            shr r10, {shift}
            shl r10, {shift}
            jmp 3f
         2: rol r10d, {turn}
            xor r10d, eax
            xor r10d, [rdi + {me}]
            imul r10d, r10d, {scatter}
            shr r10d, {scatter_shift}
            lea r10, [r10 + 2 * r10]
            mov r11, [rdi + {outcomes}]
            lea r11, [r11 + 8 * r10 + {of_kind}]
            cmp rax, [r11 + {before}]
            jne 4f
            mov r10d, [r11 + {stamp}]
            cmp r10d, [rdi + {me}]
            jne 4f
            mov r10, [r11 + {after}]
            cmp rax, r10
            je 5f
         3: lock cmpxchg [rsi + 8 * rdx], r10
            jne 4f
            mov r10, [rdi + {opened_spans}]
            mov r10, [r10]
            cmp r10, [rdi + {calm}]
            jne 4f
            pop r11
            pop r10
            pop rax
            ret
         5: mov r10d, ecx
            and r10d, {sites}
            mov [rdi + 8 * r10 + {left}], rax
         8: pop r11
            pop r10
            pop rax
            ret
         6: mov eax, [r8]
            cmp eax, [rdi + {unrecorded}]
            jae 4f
            cmp eax, [rdi + {first_owner}]
            jge 4f
            mov r10d, [r8 + {maker}]
            mov r11d, r10d
            and r11d, {firsts}
            lea r11, [rdi + 8 * r11 + {first}]
            cmp r10d, [r11 + {of_maker}]
            jne 4f
            mov r10d, [r11 + {makes}]
            mov r11d, r10d
            cmp r10d, [rdi + {done}]
            je 9f
            cmp r10d, [rdi + {recorded}]
            jne 4f
         9: lock cmpxchg [r8], r10d
            jne 4f
            cmp r11d, [rdi + {done}]
            je 8b
            jmp 7b
         4: pop r11
            pop r10
            pop rax" where
            recorded = offset_of!(Context, phase.recorded) + $kind as usize * size_of::<u32>(),
            done = offset_of!(Context, phase.done) + $kind as usize * size_of::<u32>(),
            unrecorded = offset_of!(Context, phase.done),
            first_owner = offset_of!(Context, phase.first_owner),
            maker = ObjectPhase::MAKER_OFFSET,
            first = offset_of!(Context, firsts)
                + $kind as usize * size_of::<[FirstAccess; FIRSTS]>(),
            firsts = FIRSTS - 1,
            of_maker = offset_of!(FirstAccess, maker),
            makes = offset_of!(FirstAccess, makes),
            past = offset_of!(Context, past),
            me = offset_of!(Context, fast.limits.me),
            settled = offset_of!(Context, fast.limits.settled),
            shift = match $kind { AccessKind::Read => 32, AccessKind::Write => 0 },
            turn = OneWord::TURN,
            scatter = SCATTER as i32,
            scatter_shift = SCATTER_SHIFT,
            outcomes = offset_of!(Context, outcomes),
            opened_spans = offset_of!(Context, opened_spans),
            calm = offset_of!(Context, calm),
            of_kind = $kind as usize * size_of::<[Outcome<u64>; OUTCOMES]>(),
            stamp = offset_of!(Outcome<u64>, stamp),
            before = offset_of!(Outcome<u64>, before),
            after = offset_of!(Outcome<u64>, after),
            sites = KNOWN - 1,
            left = offset_of!(Context, known.left);
        );
    };
}

const _: () = assert!(
    KNOWN.is_power_of_two() && FIRSTS.is_power_of_two(),
    "as they are masked"
);
const _: () = assert!(
    size_of::<Outcome<u64>>() == 3 * 8,
    "as it is multiplied above"
);

after_known_outcome!(word_read calls read_shared by AccessKind::Read);
after_known_outcome!(word_write calls write_shared by AccessKind::Write);
preserving_all!(words_read calls read_shared;);
preserving_all!(words_write calls write_shared;);
preserving_all!(shared_range calls range_shared; unless seen);

pub(in crate::runtime) fn shared_read<C: Checker, S: Schedule>() -> usize {
    match C::STYLE {
        Style::SharedWord => word_read::<C, S>(),
        _ => words_read::<C, S>(),
    }
}

pub(in crate::runtime) fn shared_write<C: Checker, S: Schedule>() -> usize {
    match C::STYLE {
        Style::SharedWord => word_write::<C, S>(),
        _ => words_write::<C, S>(),
    }
}

unsafe extern "C" fn read_shared<C: Checker, S: Schedule>(
    context: *mut Context,
    words: *const u64,
    index: u64,
    access: u64,
    object: *const ObjectPhase,
) {
    // SAFETY: as the caller promises.
    unsafe {
        let cell = words.add(index as usize);
        access_shared::<C, S>(context, AccessKind::Read, cell, access, object)
    };
}

unsafe extern "C" fn write_shared<C: Checker, S: Schedule>(
    context: *mut Context,
    words: *const u64,
    index: u64,
    access: u64,
    object: *const ObjectPhase,
) {
    // SAFETY: as the caller promises.
    unsafe {
        let cell = words.add(index as usize);
        access_shared::<C, S>(context, AccessKind::Write, cell, access, object)
    };
}

#[inline(always)]
unsafe fn access_shared<C: Checker, S: Schedule>(
    context: *mut Context,
    kind: AccessKind,
    cell: *const u64,
    access: u64,
    object: *const ObjectPhase,
) {
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    // SAFETY: compiled code passes the phase of a live object.
    if C::STYLE == Style::SharedWord && !unsafe { is_recorded(runtime, kind, object) } {
        return;
    }
    let Runtime {
        checker,
        heap,
        schedule,
        ..
    } = runtime;
    let location = || heap.location_of_cell(cell.addr());
    // SAFETY: compiled code passes the address of a cell of a live object.
    let done = unsafe { checker.shared(kind, cell, schedule.carried(), location) };
    if done.ends {
        runtime.leave(End::Stopped);
    }
    runtime.context.calm = runtime.checker.calm();
    // The step has a stamp from its first access on.
    if runtime.context.fast.limits.me == NO_STAMP {
        S::name_step(runtime);
    }
    if C::STYLE == Style::SharedWord
        && kind == AccessKind::Read
        && let Some([before, after]) = done.outcome
        && before == after
    {
        let place = known_place(AccessId(access as u32));
        runtime.context.known.left[place] = before;
    }
}

/// Whether an access needs its cell. It does not if the object is not recorded. Ends the run if
/// that was a mistake.
///
/// # Safety
///
/// There must be the phase of a live object.
#[inline]
unsafe fn is_recorded<C: Checker, S: Schedule>(
    runtime: &mut Runtime<'_, C, S>,
    kind: AccessKind,
    object: *const ObjectPhase,
) -> bool {
    // SAFETY: as promised.
    let object = unsafe { &*object };
    let found = object.find(kind, &runtime.context.phase);
    let found = found.unwrap_or_else(|| first_in_phase(runtime, kind, object));
    match found {
        AtObject::Recorded => true,
        AtObject::Done => false,
        AtObject::Lost => runtime.leave(End::Stopped),
    }
}

/// The first access of the phase to an object, or the first write. What it makes of the object's
/// word is noted, unless that is one that does not stay: a read notices if the phase is trusted.
fn first_in_phase<C: Checker, S: Schedule>(
    runtime: &mut Runtime<'_, C, S>,
    kind: AccessKind,
    object: &ObjectPhase,
) -> AtObject {
    let task = runtime.schedule.carried();
    let found = runtime.checker.access_object(kind, object, task);
    let phase = &runtime.context.phase;
    let makes = object.word();
    let stays = [
        phase.done[kind as usize],
        phase.recorded[AccessKind::Write as usize],
    ];
    if stays.contains(&makes) {
        let maker = object.maker();
        runtime.context.firsts[kind as usize][maker.0 as usize % FIRSTS] =
            FirstAccess { makes, maker };
    }
    found
}

/// Where the context has what is known at the site of an access.
pub(crate) const fn known_place(access: AccessId) -> usize {
    access.0 as usize % KNOWN
}

/// Checks accesses to those of `count` locations from `first` on, `stride` apart, that the object
/// has.
unsafe extern "C" fn range_shared<C: Checker, S: Schedule>(
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
    // SAFETY: compiled code passes its context.
    let runtime = unsafe { Runtime::<C, S>::of(context) };
    let (kind, _) = unpack(packed);
    runtime.checker.count_range(covered.count);
    // SAFETY: the object is live, and has these locations.
    unsafe { access_range(runtime, object, kind, &covered) };
    // What leaves the object comes before a failure, and not again.
    if C::REMEMBERS_RANGES && covered.count == count {
        let era = runtime.context.fast.limits.era;
        let arguments = (start, count, stride);
        runtime.seen.add(object, arguments, kind, era);
    }
}

/// Accesses of one kind to locations of an object.
///
/// # Safety
///
/// The object must be live and have these locations.
unsafe fn access_range<C: Checker, S: Schedule>(
    runtime: &mut Runtime<'_, C, S>,
    object: *const u8,
    kind: AccessKind,
    covered: &Covered,
) {
    let kinds = const { C::STYLE.cells() };
    // SAFETY: the object is live.
    let [location, cells] =
        unsafe { [FIRST_LOCATION_OFFSET, CELLS_OFFSET].map(|offset| header_word(object, offset)) };
    // SAFETY: the object is live.
    let of_object = unsafe { phase_of(object.cast_mut()) };
    // SAFETY: it has a phase in this style.
    if C::STYLE == Style::SharedWord && !unsafe { is_recorded(runtime, kind, of_object) } {
        return;
    }
    // Neighbours are most often alike.
    let mut outcome = NO_OUTCOME;
    let mut number = 0;
    while number < covered.count {
        let index = covered.first + number * covered.stride;
        let cell = match cells {
            0 => object.wrapping_offset(kinds.of_field(index as u32) as isize),
            _ => (cells as *const u8).wrapping_add(index as usize * kinds.bytes()),
        };
        let cell = cell.cast_mut().cast::<u64>();
        if C::STYLE == Style::SharedWord {
            let in_a_row = match (cells, covered.stride) {
                (0, _) | (_, 2..) => 1,
                _ => covered.count - number,
            };
            // SAFETY: cells of the object, which has all locations that are covered. They are only
            // touched by atomic operations or loads of compiled code.
            let words = unsafe { from_raw_parts(cell.cast::<AtomicU64>(), in_a_row as usize) };
            let in_a_row = InARow::of(kind, &runtime.context, outcome);
            let calm = &mut runtime.context.calm;
            let done = in_a_row.access(words, runtime.checker.span(), calm);
            if done > 0 {
                number += done as u64;
                continue;
            }
        }
        let location = || Location(location + index);
        let task = runtime.schedule.carried();
        // SAFETY: as above.
        let done = unsafe { runtime.checker.shared(kind, cell, task, location) };
        if done.ends {
            runtime.leave(End::Stopped);
        }
        outcome = done.outcome.unwrap_or(NO_OUTCOME);
        if runtime.context.fast.limits.me == NO_STAMP {
            S::name_step(runtime);
        }
        number += 1;
    }
}
