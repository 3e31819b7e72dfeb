//! Sorts numbers of four bytes by nested joins.

//@ verdict: certified

/// Moves the middle element to its place in the sorted order, and says which place that is.
fn partition(items: &mut [u32]) -> usize {
    let last = items.len() - 1;
    items.swap(last / 2, last);
    let pivot = items[last];
    let mut place = 0;
    for i in 0..last {
        if items[i] < pivot {
            items.swap(i, place);
            place += 1;
        }
    }
    items.swap(place, last);
    place
}

fn sort(items: &mut [u32]) {
    if items.len() < 2 {
        return;
    }
    let pivot = partition(items);
    let (left, right) = items.split_at_mut(pivot);
    let right = &mut right[1..];
    if left.len() + right.len() > 500 {
        rayon::join(|| sort(left), || sort(right));
    } else {
        sort(left);
        sort(right);
    }
}

fn main() {
    let numbers = speed::random(1).map(|number| number as u32);
    let mut items: Vec<u32> = numbers.take(speed::size(2000)).collect();
    sort(&mut items);
    println!("sorted: {}", items.is_sorted());
}
