//! A `LazyLock` around a cell with `unsafe impl Sync`: the initialisation is safe, so all seems safe.
//!
//! `LazyLock` orders the initialisation before every use. It does not order the uses: the two halves of the join are parallel, and
//! both write the cell.
//! The repair is a lock or an atomic inside the `LazyLock`.

//@ verdict: race
//@ object: global

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::LazyLock;

struct Settings(UnsafeCell<u64>);

unsafe impl Sync for Settings {}

static SETTINGS: LazyLock<Settings> = LazyLock::new(|| Settings(UnsafeCell::new(1)));

fn main() {
    rayon::join(
        || unsafe { *SETTINGS.0.get() = black_box(2) }, //~ race write
        || unsafe { *SETTINGS.0.get() = black_box(3) }, //~ race write
    );
    println!("the setting is {}", unsafe { *SETTINGS.0.get() });
}
