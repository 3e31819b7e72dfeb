//! A set as bits, eight numbers a byte, filled by a parallel iterator over the numbers.
//!
//! `|=` reads the byte and writes it back, so one of two numbers of a byte can get lost. rayon runs neighbours one after the other as long
//! as it has enough pieces for its threads. But an idle thread takes a piece and divides it further, down to single numbers if need be: two
//! numbers of a byte may run at the same time, with any number of threads. The repair is to divide the bytes instead of the numbers.

//@ verdict: race
//@ object: heap

use rayon::prelude::*;
use send_ptr::SendPtr;

const NUMBERS: usize = 4096;

fn main() {
    let mut bits = vec![0u8; NUMBERS / 8];
    let set = SendPtr::new(&mut bits);
    (0..NUMBERS).into_par_iter().for_each(|number| {
        let byte = set.at(number / 8);
        unsafe { *byte |= 1 << (number % 8) }; //~ race write read?
    });
    let numbers: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
    println!("at most {NUMBERS} numbers: {numbers}");
}
