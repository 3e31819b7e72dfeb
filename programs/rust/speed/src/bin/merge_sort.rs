//! Sorts numbers by nested joins: the halves into a second array, which is merged back.

//@ verdict: certified

fn merge(left: &[u64], right: &[u64], to: &mut [u64]) {
    let (mut i, mut j) = (0, 0);
    for place in to {
        let takes_left = j == right.len() || i < left.len() && left[i] <= right[j];
        *place = match takes_left {
            true => {
                i += 1;
                left[i - 1]
            }
            false => {
                j += 1;
                right[j - 1]
            }
        };
    }
}

/// Sorts `items`, either there or into `spare`, which begins as a copy of them.
fn sort(items: &mut [u64], spare: &mut [u64], into_spare: bool) {
    if items.len() <= 32 {
        let there = if into_spare { spare } else { items };
        for i in 1..there.len() {
            let mut j = i;
            while j > 0 && there[j - 1] > there[j] {
                there.swap(j - 1, j);
                j -= 1;
            }
        }
        return;
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    let (spare_left, spare_right) = spare.split_at_mut(middle);
    if left.len() > 1000 {
        rayon::join(
            || sort(left, spare_left, !into_spare),
            || sort(right, spare_right, !into_spare),
        );
    } else {
        sort(left, spare_left, !into_spare);
        sort(right, spare_right, !into_spare);
    }
    match into_spare {
        true => merge(left, right, spare),
        false => merge(spare_left, spare_right, items),
    }
}

fn main() {
    let mut items: Vec<u64> = speed::random(1).take(speed::size(3000)).collect();
    let mut spare = items.clone();
    sort(&mut items, &mut spare, false);
    println!("sorted: {}", items.is_sorted());
}
