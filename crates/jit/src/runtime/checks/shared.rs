//! Checks of cells that several workers access.
//!
//! An object that the phase only reads needs no cells: compiled code finds that out itself
//! ([`finishline_detect::parallel::phases`]).
//!
//! What becomes of a cell by an access depends on its value, the step and the kind of the access
//! alone. So a step remembers outcomes, by site: compiled code finds out itself that a read leaves
//! a cell as it is, and the entry points below replace a value that they know, before they save any
//! register.

use super::super::Runtime;
use super::super::context::{Context, KNOWN};
use super::super::memory::{header_word, phase_of};
use super::super::schedule::Schedule;
use super::super::switch::{self, on_worker_stack};
use super::{alike, covered_of, unpack};
use crate::End;
use crate::checker::{Checker, Style};
use crate::heap::layout::{CELLS_OFFSET, FIRST_LOCATION_OFFSET};
use finishline_detect::inline::Limits;
use finishline_detect::order::Stamp;
use finishline_detect::parallel::NO_STAMP;
use finishline_detect::parallel::phases::{AtObject, ObjectPhase};
use finishline_model::{AccessId, AccessKind, Location};
use std::arch::naked_asm;
use std::mem::offset_of;
use std::slice::from_raw_parts;
use std::sync::atomic::{AtomicU64, Ordering};

/// An entry point that replaces the cell itself, if its object is recorded and its outcome is known
/// at the site.
macro_rules! after_known_outcome {
    ($name:ident calls $function:ident by $kind:expr) => {
        preserving_all!($name calls $function after "
            push rax
            push r10
            mov r10d, [r8]
            cmp r10d, [rdi + {recorded}]
            jb 2f
            mov r10d, ecx
            and r10d, {mask}
            mov rax, [rsi + 8 * rdx]
            cmp rax, [rdi + 8 * r10 + {before}]
            jne 2f
            mov r10, [rdi + 8 * r10 + {after}]
            lock cmpxchg [rsi + 8 * rdx], r10
            jne 2f
            pop r10
            pop rax
            ret
         2: pop r10
            pop rax" where
            recorded = offset_of!(Context, phase.recorded) + $kind as usize * size_of::<u32>(),
            mask = KNOWN - 1,
            before = offset_of!(Context, known.before) + $kind as usize * size_of::<[u64; KNOWN]>(),
            after = offset_of!(Context, known.after) + $kind as usize * size_of::<[u64; KNOWN]>();
        );
    };
}

const _: () = assert!(KNOWN.is_power_of_two(), "as it is masked above");

after_known_outcome!(word_read calls read_shared by AccessKind::Read);
after_known_outcome!(word_write calls write_shared by AccessKind::Write);
preserving_all!(words_read calls read_shared;);
preserving_all!(words_write calls write_shared;);
preserving_all!(shared_range calls range_shared;);

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
    // The step has a stamp from its first access on.
    if runtime.context.fast.limits.me == NO_STAMP {
        S::name_step(runtime);
    }
    if C::STYLE == Style::SharedWord
        && let Some([before, after]) = done.outcome
    {
        let place = known_place(AccessId(access as u32));
        let known = &mut runtime.context.known;
        match kind {
            AccessKind::Read if before == after => known.left[place] = before,
            kind => {
                let kind = kind as usize;
                known.before[kind][place] = before;
                known.after[kind][place] = after;
            }
        }
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
    let task = runtime.schedule.carried();
    match runtime.checker.access_object(kind, object, task) {
        AtObject::Recorded => true,
        AtObject::Done => false,
        AtObject::Lost => runtime.leave(End::Stopped),
    }
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
    // SAFETY: compiled code passes its context, and the object is live.
    let (runtime, [location, cells]) = unsafe {
        let header = [FIRST_LOCATION_OFFSET, CELLS_OFFSET];
        let header = header.map(|offset| header_word(object, offset));
        (Runtime::<C, S>::of(context), header)
    };
    let (kind, _) = unpack(packed);
    let kinds = const { C::STYLE.cells() };
    runtime.checker.count_range(covered.count);
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
            let done = become_like(words, kind, &runtime.context.fast.limits, outcome);
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

/// No cell is like that.
const NO_OUTCOME: [u64; 2] = [u64::MAX; 2];

/// The number of cells of one word, from the first on, for which the access is done: the step has
/// made one like it before, or the word is one of which is known what becomes of it.
///
/// The worker knows what such a word refers to, because it has decided on it.
#[inline]
fn become_like(
    cells: &[AtomicU64],
    kind: AccessKind,
    limits: &Limits,
    [before, after]: [u64; 2],
) -> usize {
    let (mask, mine) = match kind {
        AccessKind::Read => (u64::from(Stamp::MAX) << 32, u64::from(limits.me) << 32),
        AccessKind::Write => (u64::MAX, limits.settled),
    };
    let mut done = 0;
    while let Some(first) = cells.get(done) {
        let left = &cells[done..];
        let word = first.load(Ordering::Relaxed);
        done += if word & mask == mine {
            alike::prefix(left, mask, mine)
        } else if word != before {
            break;
        } else if before == after {
            alike::prefix(left, u64::MAX, before)
        } else {
            let replace = |cell: &&AtomicU64| {
                cell.compare_exchange(before, after, Ordering::Release, Ordering::Relaxed)
                    .is_ok()
            };
            match left.iter().take_while(replace).count() {
                0 => break,
                replaced => replaced,
            }
        };
    }
    done
}
