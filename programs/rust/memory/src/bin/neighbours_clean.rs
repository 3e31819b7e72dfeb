//! Loops of two tasks that go through one vector, one through the even items and the other through the odd ones, for
//! items of each size. What the first item of a loop teaches about its bytes says nothing about its neighbour's.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

#[inline(never)]
fn every_other<T: Copy>(items: SendPtr<T>, first: usize, length: usize, item: T) {
    for index in (first..black_box(length)).step_by(2) {
        unsafe { *items.at(index) = item };
    }
}

fn divided<T: Copy + PartialEq + Send + Sync>(none: T, left: T, right: T) -> bool {
    let mut items = vec![none; 3000];
    let (length, start) = (items.len(), SendPtr::new(&mut items));
    rayon::join(
        || every_other(start, 0, length, left),
        || every_other(start, 1, length, right),
    );
    items.chunks(2).all(|two| two[0] == left && two[1] == right)
}

fn main() {
    let all = [
        divided(0u8, 1, 2),
        divided(0u16, 1, 2),
        divided(0u32, 1, 2),
        divided(0u64, 1, 2),
        divided(0u128, 1, 2),
    ];
    println!("divided: {all:?}");
}
