//! The locations that a race check of several locations covers.
//!
//! A pass puts such a check in front of a loop, for all accesses of the loop, before the bounds
//! checks of the loop. If a bounds check fails, the accesses behind it never happen. Hence
//! locations outside the object are left out, and a null reference has none. A run that fails later
//! is judged again without such checks.

/// Locations of an object: `count` of them from `first`, `stride` apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Covered {
    pub first: u64,
    pub count: u64,
    pub stride: u64,
}

/// Those of `first + k · stride`, 0 ≤ k < `count`, that are locations of an object with `size` of
/// them, in rising order; none if there are none. The count is unsigned, as
/// [`crate::Op::RangeCount`] gives it; the stride may be negative or 0. One location alone has the
/// stride 1.
pub fn covered(first: i64, count: u64, stride: i64, size: u64) -> Option<Covered> {
    inside(first, count, stride, size).or_else(|| clipped(first, count, stride, size))
}

/// A range that lies inside the object, as most do: nothing has to be divided.
#[inline]
fn inside(first: i64, count: u64, stride: i64, size: u64) -> Option<Covered> {
    let first = u64::try_from(first).ok()?;
    let apart = stride.unsigned_abs();
    let reach = apart.checked_mul(count.checked_sub(1)?)?;
    let (low, high) = match stride > 0 {
        true => (first, first.checked_add(reach)?),
        false => (first.checked_sub(reach)?, first),
    };
    (count > 1 && apart > 0 && high < size).then_some(Covered {
        first: low,
        count,
        stride: apart,
    })
}

fn clipped(first: i64, count: u64, stride: i64, size: u64) -> Option<Covered> {
    if count == 0 || size == 0 {
        return None;
    }
    let (first, last) = (i128::from(first), i128::from(size) - 1);
    if stride == 0 || count == 1 {
        return (0..=last).contains(&first).then_some(Covered {
            first: first as u64,
            count: 1,
            stride: 1,
        });
    }
    let reach = i128::from(stride) * i128::from(count - 1);
    let (low, high) = match stride > 0 {
        true => (first, first + reach),
        false => (first + reach, first),
    };
    let stride = i128::from(stride.unsigned_abs());
    let before = if low < 0 { (-low - 1) / stride + 1 } else { 0 };
    let low = low + before * stride;
    let high = high.min(last);
    (low <= high).then(|| {
        let count = ((high - low) / stride) as u64 + 1;
        Covered {
            first: low as u64,
            count,
            stride: if count == 1 { 1 } else { stride as u64 },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is covered, by the definition.
    fn locations(first: i64, count: u64, stride: i64, size: u64) -> Vec<u64> {
        let all = (0..count as i64).map(|k| first + k * stride);
        let mut found: Vec<u64> = all
            .filter_map(|location| u64::try_from(location).ok())
            .filter(|location| *location < size)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn every_small_range_is_the_one_of_the_definition() {
        for size in 0..7 {
            for first in -8..9 {
                for count in 0..6 {
                    for stride in -4..5 {
                        let found = match covered(first, count, stride, size) {
                            None => Vec::new(),
                            Some(c) => {
                                assert!(c.count > 1 || c.stride == 1);
                                (0..c.count).map(|k| c.first + k * c.stride).collect()
                            }
                        };
                        let expected = locations(first, count, stride, size);
                        assert_eq!(found, expected, "{first} {count} {stride} {size}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_overflows() {
        let everything = Covered {
            first: 0,
            count: 10,
            stride: 1,
        };
        assert_eq!(covered(0, u64::MAX, 1, 10), Some(everything));
        assert_eq!(covered(9, u64::MAX, -1, 10), Some(everything));
        assert_eq!(covered(i64::MIN, u64::MAX, i64::MIN, 10), None);
        assert_eq!(covered(i64::MAX, u64::MAX, i64::MAX, 10), None);
        assert_eq!(covered(i64::MIN, u64::MAX, 1, 10), Some(everything));
        assert_eq!(covered(0, u64::MAX, i64::MAX, u64::MAX).unwrap().count, 3);
        let one = Covered {
            first: 3,
            count: 1,
            stride: 1,
        };
        assert_eq!(covered(3, 2, i64::MIN, 10), Some(one));
        assert_eq!(covered(3, 2, i64::MAX, 10), Some(one));
    }
}
