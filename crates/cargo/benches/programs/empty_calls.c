/* What instrumented code calls, doing nothing: what is left of the cost is that of the calls.
   Atomic operations are made, since the instrumentation has replaced them. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NOTHING(name) void __tsan_##name(void *at) { (void)at; }
#define OF_SIZES(prefix)                                                                           \
    NOTHING(prefix##read2) NOTHING(prefix##read4) NOTHING(prefix##read8) NOTHING(prefix##read16)   \
    NOTHING(prefix##write2) NOTHING(prefix##write4) NOTHING(prefix##write8)                        \
    NOTHING(prefix##write16)

OF_SIZES()
OF_SIZES(unaligned_)
OF_SIZES(volatile_)
NOTHING(read1)
NOTHING(write1)
NOTHING(volatile_read1)
NOTHING(volatile_write1)
NOTHING(vptr_read)
NOTHING(init)
NOTHING(func_entry)
NOTHING(func_exit)
NOTHING(atomic_signal_fence)

void *__tsan_memcpy(void *to, const void *from, size_t bytes) { return memmove(to, from, bytes); }
void *__tsan_memmove(void *to, const void *from, size_t bytes) { return memmove(to, from, bytes); }
void *__tsan_memset(void *to, int byte, size_t bytes) { return memset(to, byte, bytes); }

void __tsan_atomic_thread_fence(int order) {
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#define MODIFY(bits, name, does)                                                                   \
    uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *at, uint##bits##_t by,             \
                                                int order) {                                       \
        (void)order;                                                                               \
        return does(at, by, __ATOMIC_SEQ_CST);                                                     \
    }

#define ATOMICS(bits)                                                                              \
    uint##bits##_t __tsan_atomic##bits##_load(const uint##bits##_t *at, int order) {               \
        (void)order;                                                                               \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(uint##bits##_t *at, uint##bits##_t value, int order) {        \
        (void)order;                                                                               \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                             \
    }                                                                                              \
    MODIFY(bits, exchange, __atomic_exchange_n)                                                    \
    MODIFY(bits, fetch_add, __atomic_fetch_add)                                                    \
    MODIFY(bits, fetch_sub, __atomic_fetch_sub)                                                    \
    MODIFY(bits, fetch_and, __atomic_fetch_and)                                                    \
    MODIFY(bits, fetch_or, __atomic_fetch_or)                                                      \
    MODIFY(bits, fetch_xor, __atomic_fetch_xor)                                                    \
    MODIFY(bits, fetch_nand, __atomic_fetch_nand)                                                  \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                     \
        uint##bits##_t *at, uint##bits##_t expected, uint##bits##_t new, int order, int failed) {  \
        (void)order, (void)failed;                                                                 \
        __atomic_compare_exchange_n(at, &expected, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
        return expected;                                                                           \
    }

ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)
