//! A program without rayon and without threads: there is nothing that could race, and nothing that could be certified.
//!
//! A tool that calls this clean would call a program clean whose tasks it failed to see. It must say that nothing was parallel.

//@ verdict: unknown
//@ class: nothing-parallel

fn main() {
    let sum: u64 = (1..=100).sum();
    assert_eq!(sum, 5050);
    println!("the sum is {sum}");
}
