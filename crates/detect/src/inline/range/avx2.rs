//! [`Rule::apply`] with AVX2: a block of sixteen cells is four vectors of four.
//!
//! A rule covers a cell if each of its two stamps, minus the first stamp of the interval, is below
//! the interval's length. So in each of the eight lanes the greatest difference of the block
//! decides. A block costs one subtraction and one maximum for each vector, and one comparison.
//! Cells between those that count are left out of the comparison only, so strides cost nothing
//! more.

#![allow(unsafe_code)]

use super::{BLOCK, Between, LANES, LEFT_ALONE, Rule, packed};
use std::arch::x86_64::*;

#[target_feature(enable = "avx2")]
pub(super) fn apply(rule: &Rule, between: &Between, cells: &mut [u64]) -> usize {
    let from = everywhere(packed(rule.from));
    let span = everywhere(packed(rule.span));
    let between = load(between);
    let keep = _mm256_or_si256(everywhere(rule.keep), between);
    let put = _mm256_andnot_si256(between, everywhere(rule.put));
    let changes = (rule.keep, rule.put) != LEFT_ALONE;

    let mut count = 0;
    for block in cells.as_chunks_mut::<BLOCK>().0 {
        let block = block.as_chunks_mut::<LANES>().0;
        let mut furthest = _mm256_setzero_si256();
        for cells in block.iter() {
            let distance = _mm256_sub_epi32(load(cells), from);
            furthest = _mm256_max_epu32(furthest, distance);
        }
        let outside = _mm256_cmpeq_epi32(_mm256_max_epu32(furthest, span), furthest);
        // One if every bit set in `outside` is set in `between`.
        if _mm256_testc_si256(between, outside) == 0 {
            break;
        }
        if changes {
            for cells in block.iter_mut() {
                let kept = _mm256_and_si256(load(cells), keep);
                store(cells, _mm256_or_si256(kept, put));
            }
        }
        count += BLOCK;
    }
    count
}

#[target_feature(enable = "avx2")]
fn everywhere(cell: u64) -> __m256i {
    _mm256_set1_epi64x(cell.cast_signed())
}

#[target_feature(enable = "avx2")]
fn load(cells: &[u64; LANES]) -> __m256i {
    // SAFETY: the slice is as long as a vector. An unaligned load is allowed.
    unsafe { _mm256_loadu_si256(cells.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn store(cells: &mut [u64; LANES], vector: __m256i) {
    // SAFETY: as in `load`.
    unsafe { _mm256_storeu_si256(cells.as_mut_ptr().cast(), vector) }
}
