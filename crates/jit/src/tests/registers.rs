//! A check that calls the runtime preserves the registers of compiled code, even if the runtime
//! uses all of them, and the runtime finds the stack as a call must leave it.

use super::{compile, run, run_module};
use crate::checker::{Checker, Style};
use finishline_detect::inline::FastPath;
use finishline_ir::{Op, Operand};
use finishline_model::{Access, AccessId, AccessKind, Event, Location};
use std::arch::asm;
use std::hint::black_box;
use std::ptr::NonNull;

/// How many values of each type are alive at a time: about as many as there are registers, so that
/// each register is in use in some program.
const VALUES: std::ops::RangeInclusive<usize> = 8..=18;

fn int(k: usize) -> i64 {
    100 + k as i64
}

fn float(k: usize) -> f64 {
    k as f64 + 0.5
}

/// A number that tells all values, each with its own weight.
fn weight(k: usize) -> usize {
    2 * k + 1
}

/// What programs do besides: nothing, or what makes them run on stacks that the runtime does not
/// use.
const ALSO: [&str; 2] = ["", "future { 1 };"];

/// The numbers of values, with what else a program does.
fn programs() -> impl Iterator<Item = (usize, &'static str)> {
    VALUES.flat_map(|values| ALSO.map(|also| (values, also)))
}

/// Loads all values, each behind a check, and uses them behind two more, with no other call in
/// between.
fn program(values: usize, also: &str) -> String {
    let each = |text: &dyn Fn(usize) -> String| (0..values).map(text).collect::<String>();
    let sum = |term: &dyn Fn(usize) -> String| {
        let terms: Vec<String> = (0..values).map(term).collect();
        terms.join(" + ")
    };
    format!(
        "fn add(ints: int[], floats: float[]) {{
            {}
            floats[0] = {};
            ints[0] = {};
        }}
        fn main() {{
            let ints = new int[{values}];
            let floats = new float[{values}];
            {}
            finish {{ {also} }}
            add(ints, floats);
            print(ints[0], floats[0]);
        }}",
        each(&|k| format!("let i{k} = ints[{k}]; let f{k} = floats[{k}];")),
        sum(&|k| format!("{:?} * f{k}", weight(k) as f64)),
        sum(&|k| format!("{} * i{k}", weight(k))),
        each(&|k| format!("ints[{k}] = {}; floats[{k}] = {:?};", int(k), float(k))),
    )
}

fn expected(values: usize) -> String {
    let ints: i64 = (0..values).map(|k| weight(k) as i64 * int(k)).sum();
    let floats: f64 = (0..values).map(|k| weight(k) as f64 * float(k)).sum();
    format!("{ints} {floats:?}\n")
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

/// Spoils registers in every call, or is never called: then the memo decides all reads after the
/// first finish.
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
            fast.limits.serial_below = Self::SERIAL_BELOW;
            fast.beside.fill(Self::BESIDE);
        }
    }

    fn access(&mut self, _: &Access) {}

    fn undecided(&mut self, kind: AccessKind, cell: &mut u64, _: usize, _: impl Fn() -> Location) {
        match kind {
            AccessKind::Read => self.reads += 1,
            AccessKind::Write => self.writes += 1,
        }
        *cell = u64::from(Self::BESIDE) << 32;
        let local = Aligned(0);
        let address = black_box(&raw const local.0).addr();
        self.misaligned |= !address.is_multiple_of(align_of::<Aligned>());
        spoil_registers();
    }

    fn range(
        &mut self,
        kind: AccessKind,
        cells: &mut [u64],
        _: isize,
        first: Location,
        _: AccessId,
    ) {
        self.undecided(kind, &mut cells[0], 0, || first);
    }

    fn ended(&mut self, _: u64) {}
}

#[test]
fn a_check_that_asks_the_detector_preserves_all_registers() {
    for (values, also) in programs() {
        let mut checker = Spoiling::new(false);
        assert_eq!(run(&program(values, also), &mut checker), expected(values));
        let each = 2 * values + 2;
        assert_eq!((checker.reads, checker.writes), (each, each));
        assert!(!checker.misaligned, "the stack of the detector");
    }
}

#[test]
fn a_check_of_a_range_preserves_all_registers() {
    for (values, also) in programs() {
        let mut module = compile(&program(values, also));
        let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
        for instruction in blocks.flat_map(|block| &mut block.instructions) {
            if let Op::Check { count, .. } = &mut instruction.op {
                *count = Operand::Constant(2);
            }
        }
        let mut checker = Spoiling::new(false);
        assert_eq!(run_module(&module, &mut checker), expected(values));
        // The last two reads and writes are spared if the step has checked the range before.
        let each = 2 * values..=2 * values + 2;
        assert!(each.contains(&checker.reads) && each.contains(&checker.writes));
        assert!(!checker.misaligned, "the stack of the detector");
    }
}

#[test]
fn a_check_that_the_memo_decides_preserves_all_registers() {
    for (values, also) in programs() {
        let mut checker = Spoiling::new(true);
        assert_eq!(run(&program(values, also), &mut checker), expected(values));
        assert_eq!((checker.reads, checker.writes), (0, 2 * values + 2));
    }
}
