//! Quicksort on a raw pointer, where both halves get the pivot.
//!
//! After the partition the pivot stands at its place, and the halves around it can be sorted in parallel. Here the left half is
//! `0..=pivot` and the right half `pivot..`: both partitions read the pivot and move it about.
//! Since it is already where it belongs, the result is often right, which makes the mistake hard to see.
//! The repair is in `quicksort_clean`: `0..pivot` and `pivot + 1..`.
//!
//! Which of the marked accesses meet depends on the data and on which half comes first, so each of them is only possible (`?`).

//@ verdict: race
//@ object: heap

use send_ptr::SendPtr;

/// Moves the last of `length` elements to its place in the sorted order, and says which place that is.
fn partition(items: SendPtr<u32>, first: usize, length: usize) -> usize {
    let last = first + length - 1;
    let pivot = unsafe { items.at(last).read_volatile() }; //~ race read?
    let mut place = first;
    for i in first..last {
        let item = unsafe { items.at(i).read_volatile() }; //~ race read?
        if item < pivot {
            swap(items, i, place);
            place += 1;
        }
    }
    swap(items, place, last);
    place
}

fn swap(items: SendPtr<u32>, i: usize, j: usize) {
    let one = unsafe { items.at(i).read_volatile() }; //~ race read?
    let other = unsafe { items.at(j).read_volatile() }; //~ race read?
    unsafe { items.at(i).write_volatile(other) }; //~ race write?
    unsafe { items.at(j).write_volatile(one) }; //~ race write?
}

fn sort(items: SendPtr<u32>, first: usize, length: usize) {
    if length < 2 {
        return;
    }
    let pivot = partition(items, first, length);
    let left = pivot + 1 - first;
    let right = first + length - pivot;
    if left == length || right == length {
        // The pivot is at one end: a half that is as long as the whole would go on for ever.
        sort(
            items,
            if left == length { first } else { first + 1 },
            length - 1,
        );
        return;
    }
    rayon::join(|| sort(items, first, left), || sort(items, pivot, right));
}

fn main() {
    let mut items: Vec<u32> = (0..500).map(|i| i * 7919 % 503).collect();
    let length = items.len();
    sort(SendPtr::new(&mut items), 0, length);
    println!("sorted: {}", items.is_sorted());
}
