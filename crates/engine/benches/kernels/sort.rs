//! Merge sort with a parallel merge.

const ITEMS: usize = 2_000_000;
const SORT_CUT_OFF: usize = 500;
const MERGE_CUT_OFF: usize = 2000;
const SHORT: usize = 16;
const KEYS: i64 = 0x100_0000;

pub(super) fn run() -> String {
    let mut items = vec![0; ITEMS];
    let mut scratch = vec![0; ITEMS];
    fill(&mut items);
    sort(&mut items, &mut scratch, true);
    validate(&items, &mut scratch);
    format!("sort {ITEMS} checksum {}", checksum_of(&items))
}

fn fill(items: &mut [i64]) {
    let mut state: i64 = 20101;
    for (i, item) in items.iter_mut().enumerate() {
        state = state.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
        *item = ((state >> 16) % KEYS) << 32 | i as i64;
    }
}

/// The sorted items end up in `items`, or else in `other`.
fn sort(items: &mut [i64], other: &mut [i64], in_place: bool) {
    if items.len() <= SORT_CUT_OFF {
        return sort_serially(items, other, in_place);
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    let (other_left, other_right) = other.split_at_mut(middle);
    rayon::join(
        || sort(left, other_left, !in_place),
        || sort(right, other_right, !in_place),
    );
    match in_place {
        true => merge(&other[..middle], &other[middle..], items),
        false => merge(&items[..middle], &items[middle..], other),
    }
}

fn sort_serially(items: &mut [i64], other: &mut [i64], in_place: bool) {
    if items.len() <= SHORT {
        if !in_place {
            other.copy_from_slice(items);
        }
        return insert(if in_place { items } else { other });
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    let (other_left, other_right) = other.split_at_mut(middle);
    sort_serially(left, other_left, !in_place);
    sort_serially(right, other_right, !in_place);
    match in_place {
        true => merge_serially(&other[..middle], &other[middle..], items),
        false => merge_serially(&items[..middle], &items[middle..], other),
    }
}

fn insert(items: &mut [i64]) {
    for i in 0..items.len() {
        let item = items[i];
        let mut j = i;
        while j > 0 && items[j - 1] >> 32 > item >> 32 {
            items[j] = items[j - 1];
            j -= 1;
        }
        items[j] = item;
    }
}

fn merge(one: &[i64], other: &[i64], to: &mut [i64]) {
    if one.len() + other.len() <= MERGE_CUT_OFF {
        return merge_serially(one, other, to);
    }
    let (cut, other_cut) = if one.len() >= other.len() {
        let cut = one.len() / 2;
        (
            cut,
            other.partition_point(|item| item >> 32 < one[cut] >> 32),
        )
    } else {
        let other_cut = other.len() / 2;
        let key = other[other_cut] >> 32;
        (one.partition_point(|item| item >> 32 < key + 1), other_cut)
    };
    let (before, after) = to.split_at_mut(cut + other_cut);
    rayon::join(
        || merge(&one[..cut], &other[..other_cut], before),
        || merge(&one[cut..], &other[other_cut..], after),
    );
}

fn merge_serially(one: &[i64], other: &[i64], to: &mut [i64]) {
    let (mut i, mut j) = (0, 0);
    for place in to {
        let takes_other = j < other.len() && (i == one.len() || other[j] >> 32 < one[i] >> 32);
        if takes_other {
            *place = other[j];
            j += 1;
        } else {
            *place = one[i];
            i += 1;
        }
    }
}

fn validate(items: &[i64], input: &mut [i64]) {
    fill(input);
    for (i, &item) in items.iter().enumerate() {
        assert!(i == 0 || items[i - 1] < item);
        assert_eq!(input[(item & 0xffff_ffff) as usize], item);
    }
}

fn checksum_of(items: &[i64]) -> i64 {
    let mixed = items.iter().map(|item| item >> 32 ^ item);
    mixed.fold(0, |sum, item| (sum * 31 + item) % 1_000_000_000_039)
}
