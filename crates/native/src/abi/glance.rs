//! Accesses of variables of up to 8 bytes, the most frequent ones. Each begins with a look at the
//! variable's cell, and ends there if the cell stays as it is.
//!
//! The instructions do as [`Checker::access`](crate::checker::Checker::access) does for a variable
//! with one cell that stays, or is like one that an access at the same place has changed
//! ([`Became`]). For any other variable they jump to the rest of that method. They use only
//! registers that every function may change, and need no frame, so the return address is on top of
//! the stack.

use super::{kind_of, tell};
use crate::checker::{Became, Glance, PLACES};
use crate::facts::shadow::{GRAIN, PAGE, PAGE_BITS, PAGES};
use crate::process;
use finishline_detect::inline::SLOTS;
use std::arch::naked_asm;
use std::mem::offset_of;

/// `$kind` decides by the reader, in `ecx`, and the writer, in `eax`, whether the cell stays.
/// `$finer` decides whether a variable of this size has one cell in a page with the finer grain in
/// `ecx`. `$whole` decides whether the cell is the variable's alone: only then it may be changed.
macro_rules! glance {
    (
        $symbol:ident $bytes:literal $finer:literal $whole:literal $kind:literal $slowly:path;
        $($more:tt)*
    ) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        extern "C" fn $symbol(_address: u64) {
            naked_asm!(
                // Is it to be checked?
                "mov rax, fs:0",
                "cmp rax, [rip + {owner}]",
                "jne 2f",
                "cmp byte ptr [rip + {glance} + {alone}], 0",
                "jne 2f",
                "inc qword ptr [rip + {glance} + {accesses}]",
                // The entry of its page.
                "mov rcx, rdi",
                "shr rcx, {page_bits}",
                "mov rax, rcx",
                "shr rax, {number_bits}",
                "jne 4f",
                "mov rax, [rip + {glance} + {directory}]",
                "mov rax, [rax + 8 * rcx]",
                "test dil, {misaligned}",
                "jne 4f",
                "test rax, rax",
                "jle 3f",
                // A cell for each word: as many bytes as the word has.
                "mov ecx, edi",
                "and ecx, {in_page} - 7",
                "lea r8, [rax + rcx]",
                "5:",
                "mov rax, [r8]",
                "mov rcx, rax",
                "shr rcx, 32",
                $kind,
                "2:",
                "ret",
                // Finer cells, or none.
                "3:",
                "je 4f",
                "mov ecx, eax",
                "and ecx, {grain}",
                $finer,
                "mov edx, edi",
                "and edx, {in_page}",
                "shr edx, cl",
                "btr rax, 63",
                "xor rax, rcx",
                "lea r8, [rax + 8 * rdx]",
                "jmp 5b",
                // Has an equal cell become another one here?
                "6:",
                $whole,
                "mov rax, [r8]",
                "mov rsi, [rip + {glance} + {path}]",
                "test rsi, rsi",
                "je 4f",
                "mov r9, [rsp]",
                "mov rdx, rax",
                "shr rdx, 32",
                "lea rcx, [r9 + rax]",
                "xor ecx, edx",
                "and ecx, {last_place}",
                "shl ecx, {became_bits}",
                "lea rdx, [rip + {glance} + {became}]",
                "add rdx, rcx",
                "xor r9, [rsi]",
                "cmp r9, [rdx + {of_access}]",
                "jne 4f",
                "cmp rax, [rdx + {of_before}]",
                "jne 4f",
                "mov rcx, [rip + {glance} + {era}]",
                "cmp rcx, [rdx + {of_era}]",
                "jne 4f",
                // To use a variable of the thread is to ask which one it is.
                "mov rcx, rdi",
                "sub rcx, [rip + {glance} + {thread_locals}]",
                "cmp rcx, [rip + {glance} + {thread_locals} + 8]",
                "jb 4f",
                "mov rdx, [rdx + {of_after}]",
                "mov [r8], rdx",
                "ret",
                "4:",
                "mov rsi, [rsp]",
                "mov rdx, rsp",
                "jmp {slowly}",
                owner = sym process::OWNER,
                glance = sym process::GLANCE,
                alone = const offset_of!(Glance, alone),
                accesses = const offset_of!(Glance, accesses),
                directory = const offset_of!(Glance, directory),
                me = const offset_of!(Glance, fast.limits.me),
                own = const offset_of!(Glance, fast.limits.own),
                page_bits = const PAGE_BITS,
                number_bits = const PAGES.ilog2(),
                in_page = const PAGE - 1,
                misaligned = const $bytes - 1,
                grain = const GRAIN,
                path = const offset_of!(Glance, path),
                thread_locals = const offset_of!(Glance, thread_locals),
                era = const offset_of!(Glance, fast.limits.era),
                became = const offset_of!(Glance, became),
                last_place = const PLACES - 1,
                became_bits = const size_of::<Became>().ilog2(),
                of_access = const offset_of!(Became, access),
                of_before = const offset_of!(Became, before),
                of_after = const offset_of!(Became, after),
                of_era = const offset_of!(Became, era),
                slowly = sym $slowly,
                $($more)*
            )
        }
    };
}

macro_rules! glances {
    ($($finer:literal $whole:literal: $read:ident $write:ident $bytes:literal;)*) => {$(
        // It stays if the step has read it before, or reads beside a reader that is known to stand
        // for it.
        glance!($read $bytes $finer $whole
            "mov edx, ecx
             sub edx, [rip + {glance} + {me}]
             cmp edx, [rip + {glance} + {own}]
             jb 2f
             cmp eax, [rip + {glance} + {serial_below}]
             jae 6f
             lea rsi, [rip + {glance} + {beside}]
             mov edx, ecx
             and edx, {last_slot}
             cmp ecx, [rsi + 4 * rdx]
             jne 6f"
            variable::<false, $bytes>;
            serial_below = const offset_of!(Glance, fast.limits.serial_below),
            beside = const offset_of!(Glance, fast.beside),
            last_slot = const SLOTS - 1);
        // It stays if the step has written it before.
        glance!($write $bytes $finer $whole
            "sub ecx, [rip + {glance} + {me}]
             cmp ecx, [rip + {glance} + {own}]
             jae 6f
             sub eax, [rip + {glance} + {me}]
             cmp eax, [rip + {glance} + {own}]
             jae 6f"
            variable::<true, $bytes>;);
    )*};
}

// The finer grains are 2 and 0: a word has several cells then, and half of one has several if it is
// 0. So a byte is alone in its cell in a page of grain 0, half a word in one of grain 2, and two
// bytes in none.
glances! {
    "" "mov rcx, rdi
        shr rcx, {page_bits}
        mov rax, [rip + {glance} + {directory}]
        mov rax, [rax + 8 * rcx]
        test rax, rax
        jns 4f
        test al, {grain}
        jne 4f": __tsan_read1 __tsan_write1 1;
    "test ecx, ecx\nje 4f" "jmp 4f": __tsan_read2 __tsan_write2 2;
    "test ecx, ecx\nje 4f" "mov rcx, rdi
        shr rcx, {page_bits}
        mov rax, [rip + {glance} + {directory}]
        cmp qword ptr [rax + 8 * rcx], 0
        jge 4f": __tsan_read4 __tsan_write4 4;
    "jmp 4f" "": __tsan_read8 __tsan_write8 8;
}

extern "C" fn variable<const WRITE: bool, const BYTES: usize>(at: u64, place: u64, top: u64) {
    tell(place, top, |checker, here| {
        checker.access_variable(kind_of(WRITE), at, BYTES, here);
    });
}
