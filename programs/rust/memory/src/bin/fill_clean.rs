//! The repair of `fill_racy`: the page is cleared up to the byte that the other task reads.

//@ verdict: certified

use send_ptr::SendPtr;
use std::hint::black_box;

fn main() {
    let mut page = vec![0xffu8; 4096];
    let length = black_box(page.len());
    let start = SendPtr::new(&mut page);
    let ((), seen) = rayon::join(
        || unsafe { std::slice::from_raw_parts_mut(start.at(0), length - 1).fill(0) },
        || unsafe { start.at(4095).read_volatile() },
    );
    assert_eq!((seen, page[0], page[4094]), (255, 0, 0));
    println!("seen {seen}");
}
