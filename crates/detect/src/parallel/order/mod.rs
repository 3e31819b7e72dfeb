//! Orders of parallel runs: one file has one order.
//!
//! ```text
//! Tree          the structure tree, lowest common ancestors    spd3, ptracer
//! Lists         two order-maintenance lists                    c-racer
//! Clocks        a vector clock for each task                   fasttrack
//! SplitClocks   vector clocks that tasks share parts of        fastracer
//! Labels        paths in the tree, packed into words           finishline
//! ```
//!
//! [`path_words`] has the words of such paths. [`Layers`](layers) are vector clocks that share what
//! they have in common. [`Learnt`](learnt) is what promises tell.

mod clocks;
mod labels;
mod layers;
mod learnt;
mod lists;
mod path_words;
mod split_clocks;
mod tree;

pub use clocks::Clocks;
pub use labels::Labels;
pub use lists::Lists;
pub use split_clocks::SplitClocks;
pub use tree::Tree;

use crate::order::Stamp;

/// Of three steps that are parallel to each other, two that stand for all, by how far down any two
/// of them meet: where two meet further down, one of them stands for both. [`tree`] has the proof.
fn two_that_part_first<D: Ord>(
    [a, b, c]: [Stamp; 3],
    meet: impl Fn(Stamp, Stamp) -> D,
) -> [Stamp; 2] {
    match meet(a, b) > meet(a, c) {
        true => [a, c],
        false => [a, b],
    }
}
