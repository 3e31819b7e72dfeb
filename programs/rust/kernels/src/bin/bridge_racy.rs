//! Words counted by length, from an iterator that is made parallel by `par_bridge`.
//!
//! The threads take words from the iterator one at a time, under a lock. What they do with a word is not under that lock, so two words of
//! one length are counted at the same time. The repair is a count for each word, added up by `reduce`.

//@ verdict: race
//@ object: heap

use rayon::prelude::*;
use send_ptr::SendPtr;
use std::hint::black_box;

const TEXT: &str = "the quick brown fox jumps over the lazy dog and is not seen again";

fn main() {
    let mut counts = vec![0u32; 8];
    let lengths = SendPtr::new(&mut counts);
    TEXT.split(' ').par_bridge().for_each(|word| {
        let count = lengths.at(word.len());
        unsafe { *count += black_box(1) }; //~ race write read?
    });
    println!("at most 14 words: {}", counts.iter().sum::<u32>());
}
