//! The points of a set one by one, when the parameters are given.
//!
//! A set is taken out of isl once, as [systems](System) of linear conditions. For given arguments each integer has a range,
//! which the conditions narrow: in `c + Σ aₖxₖ ≥ 0` no term can be less than what the greatest values of the others leave
//! to it. When nothing narrows further, one of the integers that are not determined yet is tried with each of its values,
//! the wanted ones first: for the others one value that satisfies the conditions is enough. Every condition has been looked at
//! with all its integers determined when a point is found, so the points are exact.

use crate::sets::{Linear, Result, Set, System};
use crate::symbols::{Kind, Symbol};
use std::collections::BTreeSet;

/// Integers further from 0 are not looked for.
const FARTHEST: i64 = 1 << 10;

/// A set, as seen from some of its symbols.
pub(crate) struct Points {
    symbols: Vec<Symbol>,
    systems: Vec<System>,
    /// Places among the symbols.
    wanted: Vec<usize>,
    /// The set says nothing of one that is wanted, so every point stands for infinitely many.
    is_infinite: bool,
}

impl Points {
    pub(crate) fn new(set: &Set, wanted: Vec<Symbol>) -> Result<Points> {
        let symbols = set.symbols()?;
        let place = |symbol| symbols.iter().position(|other| other == symbol);
        let places: Vec<usize> = wanted.iter().filter_map(place).collect();
        Ok(Points {
            is_infinite: places.len() < wanted.len(),
            wanted: places,
            systems: set.systems()?,
            symbols,
        })
    }

    /// The values of the wanted symbols when the parameters have these; none if there are infinitely many, or if
    /// integers are too far from 0.
    pub(crate) fn at(&self, arguments: &[i64]) -> Option<BTreeSet<Vec<i64>>> {
        let mut found = BTreeSet::new();
        for system in &self.systems {
            let mut ranges = vec![(-FARTHEST, FARTHEST); system.integers];
            for (at, range) in ranges.iter_mut().enumerate() {
                let parameter = self
                    .symbols
                    .get(at)
                    .filter(|symbol| symbol.kind == Kind::Parameter);
                let mut conditions = system.conditions.iter();
                if let Some(symbol) = parameter {
                    let value = *arguments.get(symbol.index as usize)?;
                    *range = (value, value);
                } else if !self.wanted.contains(&at)
                    && conditions.all(|condition| condition.factors[at] == 0)
                {
                    // Anything will do.
                    *range = (0, 0);
                }
            }
            self.search(system, ranges, &mut found)?;
        }
        (found.is_empty() || !self.is_infinite).then_some(found)
    }

    /// Finds the points within ranges, of which each has a value at least.
    fn search(
        &self,
        system: &System,
        mut ranges: Vec<(i64, i64)>,
        found: &mut BTreeSet<Vec<i64>>,
    ) -> Option<()> {
        if !narrow(system, &mut ranges) {
            return Some(());
        }
        let is_open = |at: &usize| ranges[*at].0 < ranges[*at].1;
        let point = || self.wanted.iter().map(|at| ranges[*at].0).collect();
        let is_determined = !self.wanted.iter().any(is_open);
        if is_determined && found.contains(&point()) {
            return Some(());
        }
        let is_unbounded = |at: usize| ranges[at].0 == -FARTHEST || ranges[at].1 == FARTHEST;
        let preference = |at: &usize| {
            let (low, high) = ranges[*at];
            (is_unbounded(*at), !self.wanted.contains(at), high - low)
        };
        let Some(at) = (0..ranges.len()).filter(is_open).min_by_key(preference) else {
            found.insert(point());
            return Some(());
        };
        if is_unbounded(at) {
            return None;
        }
        for value in ranges[at].0..=ranges[at].1 {
            let mut tried = ranges.clone();
            tried[at] = (value, value);
            self.search(system, tried, found)?;
            if is_determined && found.contains(&point()) {
                break;
            }
        }
        Some(())
    }
}

/// Narrows ranges as far as the conditions do; false if none of their integers satisfy all conditions.
fn narrow(system: &System, ranges: &mut [(i64, i64)]) -> bool {
    loop {
        let mut changed = false;
        for Linear {
            constant,
            factors,
            is_zero,
        } in &system.conditions
        {
            for sign in [1, -1] {
                if sign == -1 && !is_zero {
                    continue;
                }
                let terms = || factors.iter().map(|factor| sign * factor).enumerate();
                let greatest = |(at, factor): (usize, i64)| {
                    let (low, high) = ranges[at];
                    (factor * low).max(factor * high)
                };
                let sum = sign * constant + terms().map(greatest).sum::<i64>();
                if sum < 0 {
                    return false;
                }
                for (at, factor) in terms().filter(|(_, factor)| *factor != 0) {
                    let (low, high) = ranges[at];
                    // factor · x ≥ −rest
                    let rest = sum - (factor * low).max(factor * high);
                    let narrowed = if factor > 0 {
                        (low.max(-(rest.div_euclid(factor))), high)
                    } else {
                        (low, high.min(rest.div_euclid(-factor)))
                    };
                    if narrowed.0 > narrowed.1 {
                        return false;
                    }
                    if narrowed != (low, high) {
                        ranges[at] = narrowed;
                        changed = true;
                        break;
                    }
                }
            }
        }
        if !changed {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::Isl;

    const N: Symbol = Symbol::new(Kind::Parameter, 0);
    const I: Symbol = Symbol::new(Kind::Counter, 0);
    const J: Symbol = Symbol::new(Kind::Counter, 1);

    fn points(condition: &str, n: i64) -> Option<Vec<Vec<i64>>> {
        let isl = Isl::new();
        let set = isl.condition(&format!("[p0, c0, c1] -> {{ : {condition} }}"));
        let points = Points::new(&set.expect("a set"), vec![I, J]).expect("in numbers");
        assert!(points.symbols.contains(&N));
        Some(points.at(&[n])?.into_iter().collect())
    }

    #[test]
    fn a_triangle() {
        let triangle = points("0 <= c0 < p0 and c0 < c1 < p0", 3);
        assert_eq!(triangle, Some(vec![vec![0, 1], vec![0, 2], vec![1, 2]]));
        assert_eq!(points("0 <= c0 < p0 and c0 < c1 < p0", 1), Some(Vec::new()));
    }

    #[test]
    fn a_union_with_divisions() {
        let condition = "(c0 = 2c1 and 3 <= c0 <= p0) or (c1 = -1 and c0 = floor(p0 / 3))";
        let found = points(condition, 6);
        assert_eq!(found, Some(vec![vec![2, -1], vec![4, 2], vec![6, 3]]));
    }

    #[test]
    fn one_value_of_what_is_not_wanted_is_enough() {
        let isl = Isl::new();
        let condition =
            "[c0, c1, c2] -> { : 0 <= c0 <= 1 and c0 <= 2c1 + 3c2 and 0 <= c1, c2 <= 900 }";
        let points = Points::new(&isl.condition(condition).expect("a set"), vec![I]);
        let found = points.expect("in numbers").at(&[]);
        assert_eq!(found, Some(BTreeSet::from([vec![0], vec![1]])));
    }

    #[test]
    fn an_infinite_set_is_refused() {
        assert_eq!(points("c0 >= p0 and c1 = 0", 1), None);
        assert_eq!(points("c1 = p0", 1), None);
    }
}
