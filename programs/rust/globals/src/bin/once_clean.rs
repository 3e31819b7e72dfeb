//! The repair of `once_racy`: the value is written inside the closure of `call_once`, which every task waits for.

//@ verdict: certified-order
//@ determinacy: atomic-ordered

use std::sync::Once;

static DECIDED: Once = Once::new();
static mut SEED: u64 = 0;

fn seed() -> u64 {
    DECIDED.call_once(|| unsafe { SEED = 42 });
    unsafe { SEED }
}

fn main() {
    let (left, right) = rayon::join(seed, seed);
    assert_eq!((left, right), (42, 42));
    println!("{left} {right}");
}
