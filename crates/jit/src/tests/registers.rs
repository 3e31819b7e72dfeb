//! What compiled code keeps in registers while a check calls the runtime is there when it comes back, whatever the runtime does with
//! them, and the runtime finds the stack as a call must leave it.

use super::run;
use crate::checker::{Checker, Style};
use finishline_detect::inline::FastPath;
use finishline_model::{Access, AccessKind, Event, Location};
use std::arch::asm;
use std::hint::black_box;
use std::ptr::NonNull;

/// As many of each as there are registers, and some more: values are in all of them, then.
const VALUES: usize = 18;

/// Makes all numbers, each behind its own check, and prints them in the end.
fn program() -> String {
    let lines = |line: &dyn Fn(usize) -> String| (0..VALUES).map(line).collect::<String>();
    let list = |prefix: &str| {
        let names: Vec<String> = (0..VALUES).map(|k| format!("{prefix}{k}")).collect();
        names.join(", ")
    };
    format!(
        "fn main() {{
            let ints = new int[{VALUES}];
            let floats = new float[{VALUES}];
            for k in 0..{VALUES} {{ ints[k] = 100 + k; floats[k] = float(k) + 0.5; }}
            finish {{ }}
            {}
            print({});
            {}
            print({});
            floats[0] = 1.0;
            print({});
            ints[0] = 1;
            print({});
        }}",
        lines(&|k| format!("let i{k} = ints[{k}]; ")),
        list("i"),
        lines(&|k| format!("let f{k} = floats[{k}]; ")),
        list("f"),
        list("f"),
        list("i"),
    )
}

fn expected() -> String {
    let words = |word: &dyn Fn(usize) -> String| {
        let words: Vec<String> = (0..VALUES).map(word).collect();
        words.join(" ")
    };
    let ints = words(&|k| (100 + k).to_string());
    let floats = words(&|k| format!("{k}.5"));
    format!("{ints}\n{floats}\n{floats}\n{ints}\n")
}

/// Overwrites all registers that a function may change without saving them.
fn spoil_registers() {
    // SAFETY: the compiler is told of every register that is written.
    unsafe {
        asm!(
            "mov rax, -1",
            "mov rcx, rax",
            "mov rdx, rax",
            "mov rsi, rax",
            "mov rdi, rax",
            "mov r8, rax",
            "mov r9, rax",
            "mov r10, rax",
            "mov r11, rax",
            "pcmpeqd xmm0, xmm0",
            "pcmpeqd xmm1, xmm1",
            "pcmpeqd xmm2, xmm2",
            "pcmpeqd xmm3, xmm3",
            "pcmpeqd xmm4, xmm4",
            "pcmpeqd xmm5, xmm5",
            "pcmpeqd xmm6, xmm6",
            "pcmpeqd xmm7, xmm7",
            "pcmpeqd xmm8, xmm8",
            "pcmpeqd xmm9, xmm9",
            "pcmpeqd xmm10, xmm10",
            "pcmpeqd xmm11, xmm11",
            "pcmpeqd xmm12, xmm12",
            "pcmpeqd xmm13, xmm13",
            "pcmpeqd xmm14, xmm14",
            "pcmpeqd xmm15, xmm15",
            clobber_abi("C"),
        );
    }
}

#[repr(align(16))]
struct Aligned(u8);

/// Spoils registers in every call, or is never called: then the memo decides all reads after the first finish.
struct Spoiling {
    memo_decides: bool,
    fast: Option<NonNull<FastPath>>,
    reads: usize,
    writes: usize,
    misaligned: bool,
}

impl Spoiling {
    const SERIAL_BELOW: u32 = 5;
    const BESIDE: u32 = 7;

    fn new(memo_decides: bool) -> Self {
        Spoiling {
            memo_decides,
            fast: None,
            reads: 0,
            writes: 0,
            misaligned: false,
        }
    }
}

impl Checker for Spoiling {
    const STYLE: Style = Style::Inline;

    fn attach(&mut self, fast: NonNull<FastPath>) {
        self.fast = Some(fast);
    }

    fn event(&mut self, event: &Event) {
        if self.memo_decides && matches!(event, Event::FinishEnd { .. }) {
            let mut fast = self.fast.expect("attached before the program begins");
            // SAFETY: valid while the program runs, and the program waits for the checker now.
            let fast = unsafe { fast.as_mut() };
            fast.serial_below = Self::SERIAL_BELOW;
            fast.beside.fill(Self::BESIDE);
        }
    }

    fn access(&mut self, _: &Access) {}

    fn undecided(
        &mut self,
        kind: AccessKind,
        cell: &mut u64,
        _: usize,
        _: impl FnOnce() -> Location,
    ) {
        match kind {
            AccessKind::Read => self.reads += 1,
            AccessKind::Write => self.writes += 1,
        }
        *cell = u64::from(Self::BESIDE) << 32;
        let local = Aligned(0);
        self.misaligned |= black_box(&raw const local.0).addr() % align_of::<Aligned>() != 0;
        spoil_registers();
    }

    fn ended(&mut self, _: u64) {}
}

#[test]
fn a_check_that_asks_the_detector_preserves_all_registers() {
    let mut checker = Spoiling::new(false);
    assert_eq!(run(&program(), &mut checker), expected());
    assert_eq!(
        (checker.reads, checker.writes),
        (2 * VALUES, 2 * VALUES + 2)
    );
    assert!(!checker.misaligned, "the stack of the detector");
}

#[test]
fn a_check_that_the_memo_decides_preserves_all_registers() {
    let mut checker = Spoiling::new(true);
    assert_eq!(run(&program(), &mut checker), expected());
    assert_eq!((checker.reads, checker.writes), (0, 2 * VALUES + 2));
}
