//! The inputs that an answer is about.
//!
//! The prover counts with endless integers, and an `int` wraps around. Where a value may leave 64
//! bits for some inputs only, these inputs are *excluded*: nothing is claimed of them. Excluded
//! inputs are far from 0. A value that may wrap around for inputs near 0 is an unknown instead,
//! because an answer without these inputs would be worth nothing.

use crate::sets::{Affine, Isl, Result, Set};
use crate::symbols::{Kind, Symbol};

/// Inputs up to this magnitude are never excluded.
const NEAR: i64 = 1 << 31;

/// The inputs of which nothing is claimed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Excluded(Option<Set>);

/// The values of a parameter of main for which an answer holds; no bound: as far as 64 bits go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// Index among the parameters of main.
    pub(crate) parameter: usize,
    pub(crate) least: Option<i64>,
    pub(crate) greatest: Option<i64>,
}

impl Excluded {
    /// Excludes inputs; false if some of them are near 0, then nothing changes.
    pub(crate) fn add(&mut self, isl: &Isl, inputs: &Set) -> Result<bool> {
        let parameters = parameters(inputs)?;
        if !inputs
            .intersect(&within(isl, &parameters, NEAR)?)?
            .is_empty()?
        {
            return Ok(false);
        }
        self.0 = Some(match &self.0 {
            Some(others) => others.union(inputs)?.coalesce()?,
            None => inputs.clone(),
        });
        Ok(true)
    }

    pub(crate) fn set(&self) -> Option<&Set> {
        self.0.as_ref()
    }

    /// A simple description of inputs that are not excluded: the largest box of a power of two,
    /// without the bounds that it does not need. Empty if no input is excluded.
    pub(crate) fn ranges(&self, isl: &Isl) -> Result<Vec<Range>> {
        let Some(excluded) = &self.0 else {
            return Ok(Vec::new());
        };
        let parameters = parameters(excluded)?;
        let mut largest = NEAR;
        for exponent in (32..=62).rev() {
            let limit = 1 << exponent;
            let inside = within(isl, &parameters, limit)?;
            if excluded.intersect(&inside)?.is_empty()? {
                largest = limit;
                break;
            }
        }
        let mut bounds = Vec::new();
        for parameter in parameters {
            bounds.push((parameter, true));
            bounds.push((parameter, false));
        }
        for bound in bounds.clone() {
            let others: Vec<_> = bounds.iter().copied().filter(|it| *it != bound).collect();
            let mut inside = excluded.clone();
            for (parameter, is_least) in &others {
                inside = inside.intersect(&one_side(isl, *parameter, *is_least, largest)?)?;
            }
            if inside.is_empty()? {
                bounds = others;
            }
        }
        let mut ranges: Vec<Range> = Vec::new();
        for (parameter, is_least) in bounds {
            let index = parameter.index as usize;
            if ranges.last().is_none_or(|last| last.parameter != index) {
                ranges.push(Range {
                    parameter: index,
                    least: None,
                    greatest: None,
                });
            }
            let range = ranges.last_mut().expect("one was pushed");
            match is_least {
                true => range.least = Some(-largest),
                false => range.greatest = Some(largest),
            }
        }
        Ok(ranges)
    }
}

/// The condition that a value is between two constants, these included.
pub(crate) fn between(isl: &Isl, value: &Affine, least: i128, greatest: i128) -> Result<Set> {
    let above = isl.constant(least)?.at_most(value)?;
    above.intersect(&value.at_most(&isl.constant(greatest)?)?)
}

/// The parameters that a condition depends on.
fn parameters(set: &Set) -> Result<Vec<Symbol>> {
    let mut parameters = Vec::new();
    for symbol in set.symbols()? {
        if symbol.kind == Kind::Parameter && set.involves(symbol)? {
            parameters.push(symbol);
        }
    }
    parameters.sort_unstable();
    Ok(parameters)
}

fn within(isl: &Isl, parameters: &[Symbol], limit: i64) -> Result<Set> {
    let mut set = isl.everything()?;
    for parameter in parameters {
        let limit = i128::from(limit);
        set = set.intersect(&between(isl, &isl.symbol(*parameter)?, -limit, limit)?)?;
    }
    Ok(set)
}

fn one_side(isl: &Isl, parameter: Symbol, is_least: bool, limit: i64) -> Result<Set> {
    let value = isl.symbol(parameter)?;
    match is_least {
        true => isl.constant(-limit)?.at_most(&value),
        false => value.at_most(&isl.constant(limit)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parameter with its bounds.
    type Bounds = (usize, Option<i64>, Option<i64>);

    fn ranges(condition: &str) -> Option<Vec<Bounds>> {
        let isl = Isl::new();
        let set = isl.condition(&format!("[p0, p1] -> {{ : {condition} }}"));
        let mut excluded = Excluded::default();
        let is_far = excluded.add(&isl, &set.expect("a set")).expect("in time");
        let ranges = excluded.ranges(&isl).expect("in time").into_iter();
        is_far.then(|| {
            ranges
                .map(|it| (it.parameter, it.least, it.greatest))
                .collect()
        })
    }

    #[test]
    fn one_bound_is_enough_for_one_end() {
        const LAST: &str = "p0 = 9223372036854775807";
        assert_eq!(ranges(LAST), Some(vec![(0, None, Some(1 << 62))]));
        let first = "p1 <= -4611686018427387904 - 5";
        assert_eq!(ranges(first), Some(vec![(1, Some(-1 << 62), None)]));
    }

    #[test]
    fn sums_need_a_bound_for_each() {
        let sum = "p0 + p1 > 4611686018427387904";
        let both = vec![(0, None, Some(1 << 61)), (1, None, Some(1 << 61))];
        assert_eq!(ranges(sum), Some(both));
        let difference = "p0 - p1 > 4611686018427387904";
        let both = vec![(0, None, Some(1 << 61)), (1, Some(-1 << 61), None)];
        assert_eq!(ranges(difference), Some(both));
    }

    #[test]
    fn both_ends_of_a_parameter_are_one_range() {
        let ends = "p0 > 4611686018427387904 or p0 < -4611686018427387904";
        let both = vec![(0, Some(-1 << 62), Some(1 << 62))];
        assert_eq!(ranges(ends), Some(both));
    }

    /// Either bound may be left out, but not both.
    #[test]
    fn one_bound_is_enough_for_two_that_are_exceeded_together() {
        let together = "p0 > 4611686018427387904 and p1 > 4611686018427387904";
        let last = vec![(1, None, Some(1 << 62))];
        assert_eq!(ranges(together), Some(last));
    }

    #[test]
    fn inputs_stay_excluded_when_others_are() {
        let isl = Isl::new();
        let mut excluded = Excluded::default();
        for condition in ["p0 > 4611686018427387904", "p1 < -4611686018427387904"] {
            let set = isl.condition(&format!("[p0, p1] -> {{ : {condition} }}"));
            assert!(excluded.add(&isl, &set.expect("a set")).expect("in time"));
        }
        let near = isl.condition("[p0, p1] -> { : p0 = 7 }").expect("a set");
        assert!(!excluded.add(&isl, &near).expect("in time"));
        let ranges = excluded.ranges(&isl).expect("in time");
        let range = |parameter, least, greatest| Range {
            parameter,
            least,
            greatest,
        };
        let (first, second) = (
            range(0, None, Some(1 << 62)),
            range(1, Some(-1 << 62), None),
        );
        assert_eq!(ranges, [first, second]);
    }

    #[test]
    fn inputs_near_0_are_not_excluded() {
        assert_eq!(ranges("p0 >= 2147483648"), None);
        assert_eq!(ranges("p0 = -7 or p0 > 2147483649"), None);
        let almost = vec![(0, None, Some(1 << 31))];
        assert_eq!(ranges("p0 >= 2147483649"), Some(almost));
        assert_eq!(ranges("true"), None);
    }
}
