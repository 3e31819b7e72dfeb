//! What instrumented code calls, doing nothing: what is left of the cost is that of the calls.
//!
//! Atomic operations are made, since the instrumentation has replaced them.

use std::ffi::c_void;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

macro_rules! nothing {
    ($($symbol:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $symbol(_: u64) {}
    )*};
}

nothing! {
    __tsan_init __tsan_func_entry __tsan_func_exit __tsan_vptr_read
    __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_read16
    __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_write16
    __tsan_unaligned_read2 __tsan_unaligned_read4 __tsan_unaligned_read8 __tsan_unaligned_read16
    __tsan_unaligned_write2 __tsan_unaligned_write4 __tsan_unaligned_write8
    __tsan_unaligned_write16
    __tsan_volatile_read1 __tsan_volatile_read2 __tsan_volatile_read4 __tsan_volatile_read8
    __tsan_volatile_read16
    __tsan_volatile_write1 __tsan_volatile_write2 __tsan_volatile_write4 __tsan_volatile_write8
    __tsan_volatile_write16
    __tsan_atomic_signal_fence
}

unsafe extern "C" {
    fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: i32, bytes: usize) -> *mut c_void;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> *mut c_void {
    // SAFETY: the program's own call, here and below.
    unsafe { memmove(to, from, bytes) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memmove(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> *mut c_void {
    // SAFETY: see `__tsan_memcpy`.
    unsafe { memmove(to, from, bytes) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memset(to: *mut c_void, byte: i32, bytes: usize) -> *mut c_void {
    // SAFETY: see `__tsan_memcpy`.
    unsafe { memset(to, byte, bytes) }
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_thread_fence(_order: u32) {
    fence(SeqCst);
}

macro_rules! atomics {
    ($($atomic:ident $integer:ident: $load:ident $store:ident $exchange:ident $add:ident $sub:ident
       $and:ident $or:ident $xor:ident $nand:ident $cas:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $load(at: *const $atomic, _: u32) -> $integer {
            // SAFETY: see `__tsan_memcpy`.
            unsafe { &*at }.load(SeqCst)
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(at: *const $atomic, value: $integer, _: u32) {
            // SAFETY: see `__tsan_memcpy`.
            unsafe { &*at }.store(value, SeqCst);
        }

        modify! { $atomic $integer: $exchange swap }
        modify! { $atomic $integer: $add fetch_add }
        modify! { $atomic $integer: $sub fetch_sub }
        modify! { $atomic $integer: $and fetch_and }
        modify! { $atomic $integer: $or fetch_or }
        modify! { $atomic $integer: $xor fetch_xor }
        modify! { $atomic $integer: $nand fetch_nand }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $cas(
            at: *const $atomic,
            expected: $integer,
            new: $integer,
            _: u32,
            _: u32,
        ) -> $integer {
            // SAFETY: see `__tsan_memcpy`.
            let done = unsafe { &*at }.compare_exchange(expected, new, SeqCst, SeqCst);
            done.unwrap_or_else(|found| found)
        }
    )*};
}

macro_rules! modify {
    ($atomic:ident $integer:ident: $symbol:ident $method:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(
            at: *const $atomic,
            value: $integer,
            _: u32,
        ) -> $integer {
            // SAFETY: see `__tsan_memcpy`.
            unsafe { &*at }.$method(value, SeqCst)
        }
    };
}

atomics! {
    AtomicU8 u8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_exchange
        __tsan_atomic8_fetch_add __tsan_atomic8_fetch_sub __tsan_atomic8_fetch_and
        __tsan_atomic8_fetch_or __tsan_atomic8_fetch_xor __tsan_atomic8_fetch_nand
        __tsan_atomic8_compare_exchange_val;
    AtomicU16 u16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_exchange
        __tsan_atomic16_fetch_add __tsan_atomic16_fetch_sub __tsan_atomic16_fetch_and
        __tsan_atomic16_fetch_or __tsan_atomic16_fetch_xor __tsan_atomic16_fetch_nand
        __tsan_atomic16_compare_exchange_val;
    AtomicU32 u32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_exchange
        __tsan_atomic32_fetch_add __tsan_atomic32_fetch_sub __tsan_atomic32_fetch_and
        __tsan_atomic32_fetch_or __tsan_atomic32_fetch_xor __tsan_atomic32_fetch_nand
        __tsan_atomic32_compare_exchange_val;
    AtomicU64 u64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_exchange
        __tsan_atomic64_fetch_add __tsan_atomic64_fetch_sub __tsan_atomic64_fetch_and
        __tsan_atomic64_fetch_or __tsan_atomic64_fetch_xor __tsan_atomic64_fetch_nand
        __tsan_atomic64_compare_exchange_val;
}
