//! Medians, spreads, geometric means. Values are positive and there is at least one.

use finishline_report::bench::table::Spread;

/// The middle value. For an even number of values, the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    } else {
        sorted[middle]
    }
}

pub(crate) fn spread(values: &[f64]) -> Spread {
    let sorted = sorted(values);
    Spread {
        median: median(values),
        least: sorted[0],
        greatest: sorted[sorted.len() - 1],
    }
}

/// The mean for ratios: the mean of 2x and 0.5x is 1x.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (logarithms / values.len() as f64).exp()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(median(&[9.0, 1.0, 4.0]), 4.0);
        assert_eq!(median(&[8.0, 1.0, 2.0, 4.0]), 3.0);
    }

    #[test]
    fn a_spread_has_its_ends() {
        let expected = Spread {
            median: 2.5,
            least: 1.0,
            greatest: 10.0,
        };
        assert_eq!(spread(&[3.0, 10.0, 1.0, 2.0]), expected);
    }

    #[test]
    fn the_geometric_mean_is_that_of_ratios() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(geometric_mean(&[2.0, 0.5]), 1.0));
        // 1 · 3 · 9 = 27 = 3³
        assert!(close(geometric_mean(&[9.0, 1.0, 3.0]), 3.0));
        assert!(close(geometric_mean(&[5.0]), 5.0));
    }
}
