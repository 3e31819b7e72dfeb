//! The points of a set one by one, when the parameters are given.
//!
//! A set is taken out of isl once, as [systems](System) of linear conditions. Each integer has a
//! range, and conditions narrow ranges: in `c + Σ aₖxₖ ≥ 0` the greatest values of all other terms
//! bound each term from below. Where a range stays wide, the other integers are eliminated. Then
//! the search tries each value of one open integer, wanted integers first. For the others one value
//! that satisfies the conditions is enough. A point is found when all conditions have been looked
//! at with all integers determined, so points are exact.

use crate::sets::{Linear, Result, Set, System};
use crate::symbols::{Kind, Symbol};
use std::collections::BTreeSet;

/// Integers further from 0 are not looked for.
const FARTHEST: i128 = 1 << 10;
/// Where so many values of an integer are left, it is tried whether all conditions together leave
/// fewer.
const NARROW: i128 = 8;
/// Elimination stops beyond this number of conditions.
const MOST_CONDITIONS: usize = 1000;

/// The least and the greatest value of each integer.
type Ranges = Vec<(i128, i128)>;

/// A set, as seen from some of its symbols.
pub(crate) struct Points {
    symbols: Vec<Symbol>,
    /// None: its numbers are too large to reckon with.
    systems: Option<Vec<System>>,
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

    /// The values of the wanted symbols when the parameters have these; none if there are
    /// infinitely many, or if integers are too far from 0.
    pub(crate) fn at(&self, arguments: &[i64]) -> Option<BTreeSet<Vec<i64>>> {
        let mut found = BTreeSet::new();
        for system in self.systems.as_ref()? {
            let mut ranges = vec![(-FARTHEST, FARTHEST); system.integers];
            for (at, range) in ranges.iter_mut().enumerate() {
                let parameter = self
                    .symbols
                    .get(at)
                    .filter(|symbol| symbol.kind == Kind::Parameter);
                let mut conditions = system.conditions.iter();
                if let Some(symbol) = parameter {
                    let value = i128::from(*arguments.get(symbol.index as usize)?);
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

    /// Finds the points within ranges.
    fn search(
        &self,
        system: &System,
        mut ranges: Ranges,
        found: &mut BTreeSet<Vec<i64>>,
    ) -> Option<()> {
        if !narrow(system, &mut ranges) {
            return Some(());
        }
        let Some(at) = next(system, &mut ranges, &self.wanted) else {
            let point = self.wanted.iter().map(|at| ranges[*at].0 as i64).collect();
            if !found.contains(&point) && is_possible(system, &ranges)? {
                found.insert(point);
            }
            return Some(());
        };
        if is_unbounded(ranges[at]) {
            return None;
        }
        for value in ranges[at].0..=ranges[at].1 {
            let mut tried = ranges.clone();
            tried[at] = (value, value);
            self.search(system, tried, found)?;
        }
        Some(())
    }
}

fn is_unbounded((low, high): (i128, i128)) -> bool {
    low == -FARTHEST || high == FARTHEST
}

/// Which of some integers to try next, its range as narrow as can be: none if all are determined.
fn next(system: &System, ranges: &mut Ranges, some: &[usize]) -> Option<usize> {
    let open = some.iter().copied();
    let open = open.filter(|at| ranges[*at].0 < ranges[*at].1);
    let at = open.min_by_key(|at| (is_unbounded(ranges[*at]), ranges[*at].1 - ranges[*at].0))?;
    let (low, high) = ranges[at];
    if high - low > NARROW
        && let Some((least, greatest)) = eliminate_others(system, ranges, at)
    {
        ranges[at] = (low.max(least), high.min(greatest));
    }
    Some(at)
}

/// Whether some values within ranges satisfy all conditions; none if that may be so only far from
/// 0. Those that no condition connects are looked for apart.
fn is_possible(system: &System, ranges: &Ranges) -> Option<bool> {
    let is_open = |at: &usize| ranges[*at].0 < ranges[*at].1;
    let mut open: BTreeSet<usize> = (0..ranges.len()).filter(is_open).collect();
    while let Some(first) = open.pop_first() {
        let mut part = vec![first];
        let mut seen = 0;
        while let Some(at) = part.get(seen).copied() {
            seen += 1;
            for condition in &system.conditions {
                if condition.factors[at] != 0 {
                    part.extend(open.extract_if(.., |other| condition.factors[*other] != 0));
                }
            }
        }
        if !is_part_possible(system, ranges.clone(), &part)? {
            return Some(false);
        }
    }
    Some(true)
}

fn is_part_possible(system: &System, mut ranges: Ranges, part: &[usize]) -> Option<bool> {
    if !narrow(system, &mut ranges) {
        return Some(false);
    }
    let Some(at) = next(system, &mut ranges, part) else {
        return Some(true);
    };
    for value in ranges[at].0..=ranges[at].1 {
        let mut tried = ranges.clone();
        tried[at] = (value, value);
        if is_part_possible(system, tried, part)? {
            return Some(true);
        }
    }
    (!is_unbounded(ranges[at])).then_some(false)
}

/// Narrows ranges as far as the conditions do; false if none of their integers satisfy all
/// conditions.
fn narrow(system: &System, ranges: &mut [(i128, i128)]) -> bool {
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
                let greatest = |(at, factor): (usize, i128)| {
                    let (low, high) = ranges[at];
                    (factor * low).max(factor * high)
                };
                let sum = sign * constant + terms().map(greatest).sum::<i128>();
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

/// The range of an integer that all conditions together leave to it, by Fourier's and Motzkin's
/// elimination of those not determined yet; none if that takes too many conditions.
fn eliminate_others(system: &System, ranges: &[(i128, i128)], at: usize) -> Option<(i128, i128)> {
    const NOTHING: (i128, i128) = (0, -1);
    // A row is the constant and the factors of what is at least 0.
    let mut rows = BTreeSet::new();
    for condition in &system.conditions {
        let mut row = vec![condition.constant];
        row.extend(&condition.factors);
        for (place, (low, high)) in ranges.iter().enumerate() {
            if low == high {
                row[0] += row[place + 1] * low;
                row[place + 1] = 0;
            }
        }
        if condition.is_zero {
            rows.insert(row.iter().map(|factor| -factor).collect());
        }
        rows.insert(row);
    }
    for other in (0..ranges.len()).filter(|other| *other != at) {
        let involved = |row: &Vec<i128>| row[other + 1] != 0;
        let (with, mut without): (BTreeSet<Vec<i128>>, BTreeSet<_>) =
            rows.into_iter().partition(involved);
        for above in with.iter().filter(|row| row[other + 1] > 0) {
            for below in with.iter().filter(|row| row[other + 1] < 0) {
                let (up, down) = (above[other + 1], -below[other + 1]);
                let sum =
                    |(a, b): (&i128, &i128)| a.checked_mul(down)?.checked_add(b.checked_mul(up)?);
                let mut row: Vec<i128> =
                    (above.iter().zip(below)).map(sum).collect::<Option<_>>()?;
                let divisor = row[1..].iter().copied().fold(0, gcd);
                if divisor > 0 {
                    // Rounded down, for the rest is an integer.
                    row.iter_mut().for_each(|it| *it = it.div_euclid(divisor));
                }
                without.insert(row);
            }
        }
        if without.len() > MOST_CONDITIONS {
            return None;
        }
        rows = without;
    }
    let (mut low, mut high) = (-FARTHEST, FARTHEST);
    for row in rows {
        match row[at + 1] {
            0 if row[0] < 0 => return Some(NOTHING),
            0 => {}
            factor if factor > 0 => low = low.max(-(row[0].div_euclid(factor))),
            factor => high = high.min(row[0].div_euclid(-factor)),
        }
    }
    Some((low, high))
}

fn gcd(a: i128, b: i128) -> i128 {
    match b {
        0 => a.abs(),
        _ => gcd(b, a % b),
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

    /// Nothing bounds x, a or b alone.
    #[test]
    fn what_only_all_conditions_together_say() {
        let conditions = [
            [1, 0, -1, 2],
            [0, 1, -2, 0],
            [0, 1, 0, 2],
            [0, -1, 2, -2],
            [-1, 0, -1, 1],
        ];
        let system = |conditions: &[[i128; 4]]| System {
            integers: 3,
            conditions: (conditions.iter())
                .map(|[constant, factors @ ..]| Linear {
                    constant: *constant,
                    factors: factors.to_vec(),
                    is_zero: false,
                })
                .collect(),
        };
        let points = |conditions: &[[i128; 4]]| {
            let points = Points {
                symbols: vec![I],
                systems: Some(vec![system(conditions)]),
                wanted: vec![0],
                is_infinite: false,
            };
            points.at(&[])
        };
        assert_eq!(points(&conditions), Some(BTreeSet::new()));
        // Without the last one, the third and the fourth leave a ≥ 0, and the second and the fourth
        // b ≤ 0; then b = 0 and a ≤ 1 by the first, and x = 2a.
        let two = BTreeSet::from([vec![0], vec![2]]);
        assert_eq!(points(&conditions[..4]), Some(two));
        assert_eq!(points(&conditions[..3]), None);
        // x = a + b ≤ 2, 2x ≥ 3, and a and b differ by 3 at most.
        let sum = [
            [0, 1, -1, -1],
            [0, -1, 1, 1],
            [2, 0, -1, -1],
            [-3, 2, 0, 0],
            [3, 0, 1, -1],
            [3, 0, -1, 1],
        ];
        assert_eq!(points(&sum), Some(BTreeSet::from([vec![2]])));
    }

    #[test]
    fn an_infinite_set_is_refused() {
        assert_eq!(points("c0 >= p0 and c1 = 0", 1), None);
        assert_eq!(points("c1 = p0", 1), None);
    }
}
