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
            "vmovq {mask:x}, {mask_bits}",
            "vmovq {pattern:x}, {pattern_bits}",
            "vpbroadcastq {mask}, {mask:x}",
            "vpbroadcastq {pattern}, {pattern:x}",
            "2:",
            "vpand {a}, {mask}, [{next}]",
            "vpand {b}, {mask}, [{next} + 32]",
            "vpand {c}, {mask}, [{next} + 64]",
            "vpand {d}, {mask}, [{next} + 96]",
            "vpcmpeqq {a}, {a}, {pattern}",
            "vpcmpeqq {b}, {b}, {pattern}",
            "vpcmpeqq {c}, {c}, {pattern}",
            "vpcmpeqq {d}, {d}, {pattern}",
            "vpand {a}, {a}, {b}",
            "vpand {c}, {c}, {d}",
            "vpand {a}, {a}, {c}",
            "vpmovmskb {equal:e}, {a}",
            "cmp {equal:e}, -1",
            "jne 3f",
            "add {next}, 128",
            "sub {left}, 1",
            "jne 2b",
            "3: vzeroupper",
            mask_bits = in(reg) mask,
            pattern_bits = in(reg) pattern,
            mask = out(ymm_reg) _,
            pattern = out(ymm_reg) _,
            a = out(ymm_reg) _,
            b = out(ymm_reg) _,
            c = out(ymm_reg) _,
            d = out(ymm_reg) _,
            equal = out(reg) _,
            next = inout(reg) next,
            left = inout(reg) blocks => _,
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
