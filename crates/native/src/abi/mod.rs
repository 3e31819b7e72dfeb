//! The symbols that every instrumented program calls.
//!
//! An instrumented program passes the address of an access; the place of the access is the return
//! address of the call. So each function here consists of a few instructions that add the return
//! address and the stack pointer to the arguments, and then jump to a function of the runtime.
//!
//! The orders of atomic operations are numbered as in C: 0 relaxed, 1 consume, 2 acquire, 3
//! release, 4 acquire and release, 5 sequentially consistent.

pub(crate) mod allocation;
mod glance;
mod pairs;
mod quarantine;

use crate::checker::{Checker, Here, Looking};
use crate::facts::calls::Calls;
use crate::facts::synchronisation::{How, Operation};
use crate::process::{self, with_calls, with_checker};
use crate::turns;
use finishline_model::AccessKind;
use finishline_model::AccessKind::{Read, Write};
use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

/// `place` is where the function was called from.
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn __tsan_func_entry(place: u64) {
    naked_asm!("mov rsi, rsp", "jmp {}", sym enter)
}

extern "C" fn enter(place: u64, frame: u64) {
    // SAFETY: one method of the calls.
    unsafe { with_calls(|calls| calls.enter(place, frame)) }
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_func_exit() {
    // SAFETY: one method of the calls.
    unsafe { with_calls(Calls::leave) }
}

/// Functions that take an address, and tell an access of a fixed size.
macro_rules! accesses {
    ($does:ident: $($symbol:ident $kind:ident $bytes:literal;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $symbol(_address: u64) {
            naked_asm!(
                "mov rsi, [rsp]", "mov rdx, rsp", "jmp {}",
                sym $does::<{ is_write($kind) }, $bytes>
            )
        }
    )*};
}

const fn is_write(kind: AccessKind) -> bool {
    matches!(kind, Write)
}

const fn kind_of(write: bool) -> AccessKind {
    if write { Write } else { Read }
}

/// Tells the checker something that happens at a place, if there is one.
#[inline(always)]
fn tell(place: u64, stack_pointer: u64, what: impl FnOnce(&mut Checker, Here)) {
    let here = Here {
        place,
        stack_pointer,
    };
    with_checker(|checker| what(checker, here));
}

extern "C" fn access<const WRITE: bool, const BYTES: usize>(at: u64, place: u64, top: u64) {
    tell(place, top, |checker, here| {
        checker.access(kind_of(WRITE), at, BYTES, here);
    });
}

extern "C" fn unaligned<const WRITE: bool, const BYTES: usize>(at: u64, place: u64, top: u64) {
    tell(place, top, |checker, here| {
        checker.access_range(kind_of(WRITE), at, BYTES, here);
    });
}

accesses! { access:
    __tsan_read16 Read 16; __tsan_write16 Write 16;
    __tsan_volatile_read1 Read 1; __tsan_volatile_read2 Read 2; __tsan_volatile_read4 Read 4;
    __tsan_volatile_read8 Read 8; __tsan_volatile_read16 Read 16;
    __tsan_volatile_write1 Write 1; __tsan_volatile_write2 Write 2; __tsan_volatile_write4 Write 4;
    __tsan_volatile_write8 Write 8; __tsan_volatile_write16 Write 16;
    __tsan_read_write1 Write 1; __tsan_read_write2 Write 2; __tsan_read_write4 Write 4;
    __tsan_read_write8 Write 8; __tsan_read_write16 Write 16;
    __tsan_vptr_read Read 8;
}

accesses! { unaligned:
    __tsan_unaligned_read2 Read 2; __tsan_unaligned_read4 Read 4; __tsan_unaligned_read8 Read 8;
    __tsan_unaligned_read16 Read 16;
    __tsan_unaligned_write2 Write 2; __tsan_unaligned_write4 Write 4;
    __tsan_unaligned_write8 Write 8; __tsan_unaligned_write16 Write 16;
    __tsan_unaligned_volatile_read2 Read 2; __tsan_unaligned_volatile_read4 Read 4;
    __tsan_unaligned_volatile_read8 Read 8; __tsan_unaligned_volatile_read16 Read 16;
    __tsan_unaligned_volatile_write2 Write 2; __tsan_unaligned_volatile_write4 Write 4;
    __tsan_unaligned_volatile_write8 Write 8; __tsan_unaligned_volatile_write16 Write 16;
    __tsan_unaligned_read_write2 Write 2; __tsan_unaligned_read_write4 Write 4;
    __tsan_unaligned_read_write8 Write 8; __tsan_unaligned_read_write16 Write 16;
}

/// A write of a table of virtual functions' address.
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn __tsan_vptr_update(_address: u64, _new: u64) {
    naked_asm!("mov rsi, [rsp]", "mov rdx, rsp", "jmp {}", sym access::<true, 8>)
}

/// Functions that do what a function of the C library does with three arguments, and tell it.
macro_rules! copies {
    ($($symbol:ident $does:ident;)*) => {$(
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $symbol(_to: *mut c_void, _from: u64, _bytes: usize) -> *mut c_void {
            naked_asm!("mov rcx, [rsp]", "mov r8, rsp", "jmp {}", sym $does)
        }
    )*};
}

copies! {
    __tsan_memcpy copy;
    __tsan_memmove copy;
    __tsan_memset set;
}

unsafe extern "C" {
    fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void;
}

unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    place: u64,
    top: u64,
) -> *mut c_void {
    if bytes > 0 {
        tell(place, top, |checker, here| {
            checker.access_range(Read, from as u64, bytes, here);
            checker.access_range(Write, to as u64, bytes, here);
        });
    }
    // SAFETY: the program's own call.
    unsafe { memmove(to, from, bytes) }
}

unsafe extern "C" fn set(
    to: *mut c_void,
    byte: c_int,
    bytes: usize,
    place: u64,
    top: u64,
) -> *mut c_void {
    if bytes > 0 {
        tell(place, top, |checker, here| {
            checker.access_range(Write, to as u64, bytes, here);
        });
    }
    // SAFETY: the program's own call.
    unsafe { memset(to, byte, bytes) }
}

/// The orders that acquire, and those that release.
fn acquires(order: u32) -> bool {
    matches!(order, 1 | 2 | 4 | 5)
}

fn releases(order: u32) -> bool {
    matches!(order, 3..=5)
}

/// The order of sequentially consistent operations.
const SEQUENTIAL: u32 = 5;

/// An atomic operation that was made in this order.
fn atomic(operation: &Operation, bytes: usize, order: u32, place: u64) {
    // Atomics are shared: where the innermost frame is does not matter.
    tell(place, u64::MAX, |checker, here| {
        if order == SEQUENTIAL {
            checker.sequential();
        }
        checker.atomic(operation, bytes, here);
    });
}

/// The program has read this value of an atomic variable. Only the running task could change it,
/// unless there are threads.
fn looked(address: u64, value: u64, place: u64) {
    match with_checker(|checker| checker.looks_at(address, value, place)) {
        None | Some(Looking::Perhaps) => {}
        Some(Looking::Waiting) => turns::give_way(),
        Some(Looking::WaitingForEver(stopped)) => {
            if !turns::before_wait() {
                turns::spins_for_ever(stopped);
            }
        }
    }
}

/// The functions of one width. Each adds the return address as the sixth argument, and jumps on.
macro_rules! atomics {
    (
        $integer:ty, $atomic:ty, $bytes:literal, $module:ident;
        $load:ident $store:ident $exchange:ident $add:ident $sub:ident $and:ident $or:ident
        $xor:ident $nand:ident $cas:ident
    ) => {
        mod $module {
            use super::*;

            macro_rules! symbol {
                ($name:ident, $does:ident) => {
                    #[unsafe(no_mangle)]
                    #[unsafe(naked)]
                    extern "C" fn $name() {
                        naked_asm!("mov r9, [rsp]", "jmp {}", sym $does)
                    }
                };
            }

            symbol!($load, load);
            symbol!($store, store);
            symbol!($exchange, exchange);
            symbol!($add, add);
            symbol!($sub, sub);
            symbol!($and, and);
            symbol!($or, or);
            symbol!($xor, xor);
            symbol!($nand, nand);
            symbol!($cas, compare_exchange);

            unsafe extern "C" fn load(
                at: *const $atomic,
                order: u32,
                _: u64,
                _: u64,
                _: u64,
                place: u64,
            ) -> $integer {
                turns::before_operation(at as u64, false);
                // SAFETY: the program's own operation, here and below.
                let value = unsafe { &*at }.load(SeqCst);
                let operation = Operation {
                    address: at as u64,
                    before: Some(u64::from(value)),
                    after: None,
                    how: How::Replaced,
                    acquires: acquires(order),
                    releases: false,
                };
                atomic(&operation, $bytes, order, place);
                looked(at as u64, u64::from(value), place);
                let told = with_checker(|checker| checker.is_told(at as u64)).flatten();
                told.map_or(value, |told| told as $integer)
            }

            unsafe extern "C" fn store(
                at: *const $atomic,
                value: $integer,
                order: u32,
                _: u64,
                _: u64,
                place: u64,
            ) {
                turns::before_operation(at as u64, true);
                let operation = Operation {
                    address: at as u64,
                    before: None,
                    after: Some(u64::from(value)),
                    how: How::Replaced,
                    acquires: false,
                    releases: releases(order),
                };
                atomic(&operation, $bytes, order, place);
                // SAFETY: see `load`.
                unsafe { &*at }.store(value, SeqCst);
            }

            macro_rules! modify {
                ($does:ident $method:ident $how:ident $result:expr) => {
                    unsafe extern "C" fn $does(
                        at: *const $atomic,
                        value: $integer,
                        order: u32,
                        _: u64,
                        _: u64,
                        place: u64,
                    ) -> $integer {
                        turns::before_operation(at as u64, true);
                        // SAFETY: see `load`.
                        let before = unsafe { &*at }.$method(value, SeqCst);
                        let result: fn($integer, $integer) -> $integer = $result;
                        let operation = Operation {
                            address: at as u64,
                            before: Some(u64::from(before)),
                            after: Some(u64::from(result(before, value))),
                            how: How::$how,
                            acquires: acquires(order),
                            releases: releases(order),
                        };
                        atomic(&operation, $bytes, order, place);
                        looked(at as u64, u64::from(before), place);
                        before
                    }
                };
            }

            modify!(exchange swap Replaced |_, value| value);
            modify!(add fetch_add Counted |before, value| before.wrapping_add(value));
            modify!(sub fetch_sub Counted |before, value| before.wrapping_sub(value));
            modify!(and fetch_and Flagged |before, value| before & value);
            modify!(or fetch_or Flagged |before, value| before | value);
            modify!(xor fetch_xor Flagged |before, value| before ^ value);
            modify!(nand fetch_nand Flagged |before, value| !(before & value));

            unsafe extern "C" fn compare_exchange(
                at: *const $atomic,
                expected: $integer,
                new: $integer,
                order: u32,
                failed: u32,
                place: u64,
            ) -> $integer {
                turns::before_operation(at as u64, true);
                // SAFETY: see `load`.
                let result = unsafe { &*at }.compare_exchange(expected, new, SeqCst, SeqCst);
                if result.is_err() {
                    let [expected, new] = [expected, new].map(u64::from);
                    with_checker(|checker| checker.tries(at as u64, expected, new));
                }
                let order = if result.is_ok() { order } else { failed };
                let before = result.unwrap_or_else(|found| found);
                let operation = Operation {
                    address: at as u64,
                    before: Some(u64::from(before)),
                    after: result.is_ok().then_some(u64::from(new)),
                    how: How::Replaced,
                    acquires: acquires(order),
                    releases: releases(order),
                };
                atomic(&operation, $bytes, order, place);
                looked(at as u64, u64::from(before), place);
                before
            }
        }
    };
}

atomics!(
    u8, AtomicU8, 1, bytes;
    __tsan_atomic8_load __tsan_atomic8_store
    __tsan_atomic8_exchange __tsan_atomic8_fetch_add
    __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and
    __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor
    __tsan_atomic8_fetch_nand __tsan_atomic8_compare_exchange_val
);
atomics!(
    u16, AtomicU16, 2, shorts;
    __tsan_atomic16_load __tsan_atomic16_store
    __tsan_atomic16_exchange __tsan_atomic16_fetch_add
    __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and
    __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor
    __tsan_atomic16_fetch_nand __tsan_atomic16_compare_exchange_val
);
atomics!(
    u32, AtomicU32, 4, words;
    __tsan_atomic32_load __tsan_atomic32_store
    __tsan_atomic32_exchange __tsan_atomic32_fetch_add
    __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and
    __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor
    __tsan_atomic32_fetch_nand __tsan_atomic32_compare_exchange_val
);
atomics!(
    u64, AtomicU64, 8, longs;
    __tsan_atomic64_load __tsan_atomic64_store
    __tsan_atomic64_exchange __tsan_atomic64_fetch_add
    __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and
    __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor
    __tsan_atomic64_fetch_nand __tsan_atomic64_compare_exchange_val
);

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(order: u32) {
    fence(SeqCst);
    with_checker(|checker| {
        if order == SEQUENTIAL {
            checker.sequential();
        }
        checker.fence(acquires(order), releases(order));
    });
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: u32) {}

/// Accesses of the thread are ignored until as many ends as beginnings have come.
#[unsafe(no_mangle)]
extern "C" fn __tsan_ignore_thread_begin() {
    process::ignore();
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_ignore_thread_end() {
    process::ignore_no_more();
}
