//! Quicksort by `join`: the repair of `quicksort_racy`. The pivot belongs to neither half.

//@ verdict: certified
//@ fin: lessons/quicksort_clean.fin

/// Moves the last element to its place in the sorted order, and says which place that is.
fn partition(items: &mut [u32]) -> usize {
    let last = items.len() - 1;
    let mut place = 0;
    for i in 0..last {
        if items[i] < items[last] {
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
    rayon::join(|| sort(left), || sort(&mut right[1..]));
}

fn main() {
    let mut items: Vec<u32> = (0..500).map(|i| i * 7919 % 503).collect();
    let mut expected = items.clone();
    sort(&mut items);
    expected.sort();
    assert_eq!(items, expected);
    println!("sorted: {}", items.is_sorted());
}
