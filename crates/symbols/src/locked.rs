//! Finds atomic instructions in instrumented machine code.
//!
//! Instrumentation turns each atomic operation into a call of the runtime. So instrumented code
//! should have no atomic instruction of its own: none with a `lock` prefix, no `xchg` with memory.
//! If there is one, it is an operation that the runtime does not hear of. LLVM's pass skips
//! operations that it has no function for (`fetch_max` and `fetch_min`) and does not look into
//! inline assembly.
//!
//! Debug information tells which code is instrumented: the units that rustc compiled, except those
//! of the precompiled standard library and of the drop-in. It also tells where the code begins that
//! the linker has kept. From there on one instruction follows the other. The code is decoded once.
//! If an atomic instruction is found, it is decoded a second time for the calls in it. Cost: linear
//! in the code.

use crate::debug_information::{self, Slice};
use crate::function_names::is_standard;
use gimli::{Dwarf, Reader, Unit};
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use object::{Object, ObjectSection, SectionKind};
use std::collections::BTreeMap;

/// The crate root of the drop-in. The drop-in is not instrumented: its atomics belong to its own
/// bookkeeping.
const DROP_IN_ROOT: &str = "/crates/rayon-core/src/lib.rs";

/// The separator between a unit's crate root and the name of its part, in rustc's debug
/// information.
const PART_OF_CRATE: &str = "/@/";

/// The atomic instructions of a file's instrumented code.
#[derive(Default)]
pub(crate) struct Locked {
    /// Their addresses, in order.
    pub(crate) instructions: Vec<u64>,
    /// For the address of a function, the instructions that call it. Empty if no atomic instruction
    /// was found.
    calls: BTreeMap<u64, Vec<u64>>,
    /// The addresses at which code begins, in order. Usually each is a function, sometimes several.
    beginnings: Vec<u64>,
}

impl Locked {
    /// The calls of the function that contains an instruction.
    pub(crate) fn calls_of_function_around(&self, address: u64) -> &[u64] {
        let before = self.beginnings.partition_point(|start| *start <= address);
        let beginning = before.checked_sub(1).map(|index| self.beginnings[index]);
        let called = beginning.and_then(|start| self.calls.range(start..=address).next_back());
        called.map_or(&[], |(_, calls)| calls)
    }
}

/// Searches an ELF file. None if no code in it is known to be instrumented.
pub(crate) fn find(path: &str) -> Option<Locked> {
    let cache = debug_information::open(path)?;
    let file = object::File::parse(&cache).ok()?;
    let dwarf = debug_information::read(&file)?;
    let sections = file
        .sections()
        .filter(|section| section.kind() == SectionKind::Text);
    let text: Vec<Text> = sections
        .filter_map(|section| {
            let bytes = section.data().ok()?;
            let start = section.address();
            Some(Text { start, bytes })
        })
        .collect();
    let code = instrumented(&dwarf, &text).ok()?;
    (!code.is_empty()).then(|| locked(&code))
}

/// A piece of machine code, and the address of its first byte.
#[derive(Clone, Copy)]
struct Text<'d> {
    start: u64,
    bytes: &'d [u8],
}

impl<'d> Text<'d> {
    fn contains(self, address: u64) -> bool {
        let offset = address.checked_sub(self.start);
        offset.is_some_and(|offset| offset < self.bytes.len() as u64)
    }

    /// The part between two addresses, if it is inside.
    fn part(self, start: u64, end: u64) -> Option<Text<'d>> {
        let from = usize::try_from(start.checked_sub(self.start)?).ok()?;
        let to = usize::try_from(end.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(from..to)?;
        Some(Text { start, bytes })
    }
}

/// The instrumented code, by address. Functions that the linker dropped still have units, but there
/// is nothing at their addresses.
fn instrumented<'d>(dwarf: &Dwarf<Slice>, text: &[Text<'d>]) -> gimli::Result<Vec<Text<'d>>> {
    let mut code = BTreeMap::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        if !is_instrumented(&unit)? {
            continue;
        }
        let mut ranges = dwarf.unit_ranges(&unit)?;
        while let Some(range) = ranges.next()? {
            let part = |text: &Text<'d>| text.part(range.begin, range.end);
            if let Some(part) = text.iter().find_map(part).filter(|p| !p.bytes.is_empty()) {
                // The linker may have folded identical functions into one.
                code.insert(part.start, part);
            }
        }
    }
    Ok(code.into_values().collect())
}

fn is_instrumented(unit: &Unit<Slice>) -> gimli::Result<bool> {
    let root = unit.entry(unit.header.root_offset())?;
    let language = root.attr_value(gimli::DW_AT_language);
    let Some(name) = &unit.name else {
        return Ok(false);
    };
    let name = name.to_string_lossy()?;
    let (crate_root, _) = name.split_once(PART_OF_CRATE).unwrap_or((&name, ""));
    Ok(
        language == Some(gimli::AttributeValue::Language(gimli::DW_LANG_Rust))
            && !is_standard(crate_root)
            && !crate_root.ends_with(DROP_IN_ROOT),
    )
}

fn locked(code: &[Text]) -> Locked {
    let mut locked = Locked::default();
    for text in code {
        each_instruction(text, |instruction| {
            if is_atomic(instruction) {
                locked.instructions.push(instruction.ip());
            }
        });
    }
    if !locked.instructions.is_empty() {
        locked.beginnings = code.iter().map(|text| text.start).collect();
        for text in code {
            each_instruction(text, |instruction| {
                if let Some(function) = called(instruction, text) {
                    let calls = locked.calls.entry(function).or_default();
                    calls.push(instruction.ip());
                }
            });
        }
    }
    locked
}

fn each_instruction(text: &Text, mut see: impl FnMut(&Instruction)) {
    let mut decoder = Decoder::with_ip(64, text.bytes, text.start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        see(&instruction);
    }
}

/// Whether the instruction reads and replaces memory in one step.
fn is_atomic(instruction: &Instruction) -> bool {
    let swaps_memory = || {
        instruction.mnemonic() == Mnemonic::Xchg
            && (instruction.op0_kind() == OpKind::Memory
                || instruction.op1_kind() == OpKind::Memory)
    };
    instruction.has_lock_prefix() || swaps_memory()
}

/// The function that an instruction calls. A tail call is a jump out of the function.
fn called(instruction: &Instruction, around: &Text) -> Option<u64> {
    let target = instruction.near_branch_target();
    match instruction.code() {
        Code::Call_rel32_64 => Some(target),
        Code::Jmp_rel32_64 | Code::Jmp_rel8_64 if !around.contains(target) => Some(target),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atomic(bytes: &[u8]) -> bool {
        let mut found = Vec::new();
        let text = Text { start: 0, bytes };
        each_instruction(&text, |instruction| found.push(is_atomic(instruction)));
        assert_eq!(found.len(), 1, "one instruction");
        found[0]
    }

    #[test]
    fn instructions_that_replace_what_they_read_in_one_step() {
        // lock cmpxchg [rdi], rsi; lock xadd [rdi], eax; lock inc [rdi]
        assert!(atomic(&[0xf0, 0x48, 0x0f, 0xb1, 0x37]));
        assert!(atomic(&[0xf0, 0x0f, 0xc1, 0x07]));
        assert!(atomic(&[0xf0, 0xff, 0x07]));
        // xchg [rdi], rax; xchg [rdi], al
        assert!(atomic(&[0x48, 0x87, 0x07]));
        assert!(atomic(&[0x86, 0x07]));
        // xchg rbx, rdi; xchg rax, rax; cmpxchg [rdi], rsi; xadd [rdi], eax
        assert!(!atomic(&[0x48, 0x87, 0xfb]));
        assert!(!atomic(&[0x48, 0x90]));
        assert!(!atomic(&[0x48, 0x0f, 0xb1, 0x37]));
        assert!(!atomic(&[0x0f, 0xc1, 0x07]));
        // mov rax, [rbp - 16]: the byte of the prefix as an offset
        assert!(!atomic(&[0x48, 0x8b, 0x45, 0xf0]));
    }

    /// The function at 0x1010 increments and jumps back to repeat. It is called from 0x1000 and
    /// jumped to from 0x1005. Nothing calls the function after it.
    #[test]
    fn calls_are_those_of_the_function_around() {
        let code = [
            Text {
                start: 0x1000,
                bytes: &[0xe8, 11, 0, 0, 0, 0xeb, 9],
            },
            Text {
                start: 0x1010,
                bytes: &[0x90, 0xf0, 0xff, 0x07, 0xeb, 0xfb],
            },
            Text {
                start: 0x1020,
                bytes: &[0xf0, 0xff, 0x07, 0xc3],
            },
        ];
        let locked = locked(&code);
        assert_eq!(locked.instructions, [0x1011, 0x1020]);
        assert!(locked.calls_of_function_around(0x1020).is_empty());
        assert_eq!(locked.calls_of_function_around(0x1011), [0x1000, 0x1005]);
        assert!(locked.calls_of_function_around(0x100f).is_empty());
    }

    #[test]
    fn parts_lie_inside() {
        let text = Text {
            start: 0x1000,
            bytes: &[1, 2, 3],
        };
        let bytes = |start, end| text.part(start, end).map(|part| part.bytes);
        assert_eq!(bytes(0x1001, 0x1003), Some(&[2, 3][..]));
        for (start, end) in [
            (0, 2),
            (0x1002, 0x1004),
            (0x1002, 0x1001),
            (u64::MAX - 1, u64::MAX),
        ] {
            assert_eq!(bytes(start, end), None);
        }
    }
}
