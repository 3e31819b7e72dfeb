//! How many cells in a row are alike, while other workers may change them.
//!
//! Sixteen cells are looked at together. A vector load is no atomic operation of the language, but
//! each of its words is loaded at once, as by the loads of compiled code. So it is written as a
//! machine instruction.

use std::sync::atomic::{AtomicU64, Ordering};

/// So many cells are looked at together.
const BLOCK: usize = 16;

/// The number of cells, from the first on, whose words are `pattern` where the mask has bits.
#[inline]
pub(super) fn prefix(cells: &[AtomicU64], mask: u64, pattern: u64) -> usize {
    let whole = match is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        true => unsafe { whole_blocks(cells, mask, pattern) },
        false => 0,
    };
    let is_like = |cell: &&AtomicU64| cell.load(Ordering::Relaxed) & mask == pattern;
    whole + cells[whole..].iter().take_while(is_like).count()
}

/// Stores a word in each of the cells, which releases it.
pub(super) fn fill(cells: &[AtomicU64], word: u64) {
    for cell in cells {
        cell.store(word, Ordering::Release);
    }
}

/// The number of cells in whole blocks that are like that, from the first on.
#[target_feature(enable = "avx2")]
fn whole_blocks(cells: &[AtomicU64], mask: u64, pattern: u64) -> usize {
    let blocks = cells.len() / BLOCK;
    if blocks == 0 {
        return 0;
    }
    let mut next = cells.as_ptr();
    // SAFETY: it loads words of the cells, and nothing else.
    unsafe {
        std::arch::asm!(
            "vmovq xmm0, {mask}",
            "vmovq xmm1, {pattern}",
            "vpbroadcastq ymm0, xmm0",
            "vpbroadcastq ymm1, xmm1",
            "2:",
            "vpand ymm2, ymm0, [{next}]",
            "vpand ymm3, ymm0, [{next} + 32]",
            "vpand ymm4, ymm0, [{next} + 64]",
            "vpand ymm5, ymm0, [{next} + 96]",
            "vpcmpeqq ymm2, ymm2, ymm1",
            "vpcmpeqq ymm3, ymm3, ymm1",
            "vpcmpeqq ymm4, ymm4, ymm1",
            "vpcmpeqq ymm5, ymm5, ymm1",
            "vpand ymm2, ymm2, ymm3",
            "vpand ymm4, ymm4, ymm5",
            "vpand ymm2, ymm2, ymm4",
            "vpmovmskb {equal:e}, ymm2",
            "cmp {equal:e}, -1",
            "jne 3f",
            "add {next}, 128",
            "sub {left}, 1",
            "jne 2b",
            // Mixing what follows with dirty upper halves would be slow.
            "3: vzeroupper",
            mask = in(reg) mask,
            pattern = in(reg) pattern,
            next = inout(reg) next,
            left = inout(reg) blocks => _,
            equal = out(reg) _,
            out("ymm0") _,
            out("ymm1") _,
            out("ymm2") _,
            out("ymm3") _,
            out("ymm4") _,
            out("ymm5") _,
            out("ymm6") _,
            out("ymm7") _,
            out("ymm8") _,
            out("ymm9") _,
            out("ymm10") _,
            out("ymm11") _,
            out("ymm12") _,
            out("ymm13") _,
            out("ymm14") _,
            out("ymm15") _,
            options(readonly, nostack),
        );
    }
    (next.addr() - cells.as_ptr().addr()) / size_of::<AtomicU64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place at which one cell differs, in every number of cells, by a bit in each half.
    #[test]
    fn cells_are_counted_up_to_the_first_that_differs() {
        const LOWER: u64 = 1;
        const UPPER: u64 = 1 << 40;
        for mask in [u64::MAX, u64::MAX << 32] {
            for count in 0..70 {
                for place in 0..=count {
                    for change in [LOWER, UPPER] {
                        let pattern = 0x1234_5678_9abc_def0 & mask;
                        let mut cells: Vec<AtomicU64> = Vec::new();
                        cells.resize_with(count, || AtomicU64::new(pattern | !mask & 7));
                        let expected = match cells.get(place) {
                            Some(cell) if change & mask != 0 => {
                                cell.fetch_xor(change, Ordering::Relaxed);
                                place
                            }
                            _ => count,
                        };
                        assert_eq!(prefix(&cells, mask, pattern), expected);
                    }
                }
            }
        }
    }
}
