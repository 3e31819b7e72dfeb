//! Parts of a suite of tests, for several machines.
//!
//! A hash of a test's full name decides which part it belongs to, and nothing else does. So all
//! machines agree without asking each other, each test is in exactly one part, and a new test moves
//! no other. Parts are about as large as each other, by the number of their tests. Cost: linear in
//! the names.

use crate::answer::{Answer, Suite};
use crate::unsafe_code;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A part, from 1, and how many there are: `3/8` is the third of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    pub number: usize,
    pub of: usize,
}

/// The most parts.
const MOST_PARTS: usize = 100_000;

impl Partition {
    /// Whether a test belongs to this part, by its package, its program and its name there. A
    /// program that is no list of tests has no name besides its own.
    pub fn has(self, package: &str, program: &str, test: &str) -> bool {
        let name = [package, program, test].map(str::as_bytes).join(&0);
        // The number of parts is at least one if it was read from a text.
        let part = scattered(fnv_1a(&name)) % self.of.max(1) as u64;
        part + 1 == self.number as u64
    }
}

/// A number by which changes of some records are found out.
pub fn digest<'r>(records: impl Iterator<Item = &'r [u8]>) -> u64 {
    let digests = records.map(|record| scattered(fnv_1a(record)).to_le_bytes());
    scattered(fnv_1a(&digests.collect::<Vec<_>>().concat()))
}

/// The hash of Fowler, Noll and Vo in 64 bits.
fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Mixes the bits: the lowest bit of the hash of Fowler, Noll and Vo depends on the lowest bits of
/// the bytes alone. These are the last steps of MurmurHash3.
fn scattered(mut hash: u64) -> u64 {
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ hash >> 33).wrapping_mul(factor);
    }
    hash ^ hash >> 33
}

/// The option that names a part, in the command of a suite.
pub const OPTION: &str = "--partition=";

/// The command of a suite without its part. It is the same for all parts of one suite.
pub fn undivided(command: &[String]) -> Vec<String> {
    let words = command.iter().filter(|word| !word.starts_with(OPTION));
    words.cloned().collect()
}

/// The suite that these are all parts of. Answers are ordered by program, as the parts first name
/// them, and by test, as libtest lists tests.
pub fn whole(parts: impl IntoIterator<Item = Suite>) -> Suite {
    let mut whole = Suite::default();
    let mut surveyed = Vec::new();
    for part in parts {
        surveyed.extend(part.unsafe_code);
        whole.command = undivided(&part.command);
        whole.answers.extend(part.answers);
        whole.not_run.extend(part.not_run);
        whole.interrupted |= part.interrupted;
        for note in part.notes {
            if !whole.notes.contains(&note) {
                whole.notes.push(note);
            }
        }
    }
    let mut programs: BTreeMap<String, usize> = BTreeMap::new();
    for answer in &whole.answers {
        let next = programs.len();
        programs.entry(answer.program.clone()).or_insert(next);
    }
    let place = |answer: &Answer| {
        let test = answer.process().and_then(|process| process.test.clone());
        (programs.get(&answer.program).copied(), test)
    };
    whole.answers.sort_by_cached_key(place);
    let names = whole
        .answers
        .iter()
        .map(Answer::process_name)
        .enumerate()
        .rev();
    let order: BTreeMap<String, usize> = names.map(|(at, name)| (name.to_owned(), at)).collect();
    // The first test that came to some code is the first of all parts.
    let mut surveyed = surveyed.concat();
    surveyed.sort_by_key(|it| {
        it.first.as_ref().map_or(usize::MAX, |name| {
            order.get(name).copied().unwrap_or(usize::MAX)
        })
    });
    if !surveyed.is_empty() {
        unsafe_code::add(&mut whole.unsafe_code, surveyed);
    }
    whole
}

/// What is no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPart;

impl fmt::Display for NoPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a part is written as 3/8, the third of eight; there are at most {MOST_PARTS}"
        )
    }
}

impl std::error::Error for NoPart {}

impl FromStr for Partition {
    type Err = NoPart;

    fn from_str(word: &str) -> Result<Partition, NoPart> {
        let (number, of) = word.split_once('/').ok_or(NoPart)?;
        let number: usize = number.parse().map_err(|_| NoPart)?;
        let of: usize = of.parse().map_err(|_| NoPart)?;
        match 1 <= number && number <= of && of <= MOST_PARTS {
            true => Ok(Partition { number, of }),
            false => Err(NoPart),
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those that the authors of the hashes give: for FNV-1a in their list of test
    /// vectors; zero is the fixed point of the mixing, which is a bijection.
    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(scattered(0), 0);
    }

    #[test]
    fn each_test_is_in_one_part_and_parts_are_about_equal() {
        for of in [1, 2, 3, 4, 7, 8] {
            let mut sizes = vec![0; of];
            for test in 0..1000 {
                let name = format!("tests::number_{test}");
                let parts = (1..=of).map(|number| Partition { number, of });
                let having = parts.filter(|part| part.has("package", "program", &name));
                let having: Vec<Partition> = having.collect();
                assert_eq!(having.len(), 1, "{name} of {of}");
                sizes[having[0].number - 1] += 1;
            }
            // Each size is binomial. Five standard deviations are less than a third of 125.
            let even = 1000 / of;
            assert!(
                sizes
                    .iter()
                    .all(|size: &usize| size.abs_diff(even) <= even / 3 + 1),
                "{sizes:?}"
            );
        }
    }

    /// What stands where matters, not only which letters there are.
    #[test]
    fn package_program_and_test_are_told_apart() {
        let of = 100_000;
        let part_of = |package, program, test| {
            (1..=of).find(|number| {
                let number = *number;
                Partition { number, of }.has(package, program, test)
            })
        };
        assert_ne!(part_of("a", "b", "c"), part_of("ab", "", "c"));
        assert_ne!(part_of("a", "b", "c"), part_of("b", "a", "c"));
    }

    #[test]
    fn a_part_is_read_as_it_is_written() {
        for word in ["1/1", "3/8", "100000/100000"] {
            let part: Partition = word.parse().expect("a part");
            assert_eq!(part.to_string(), word);
        }
        for wrong in [
            "", "1", "0/2", "3/2", "1/0", "-1/2", "1/100001", "1/2/3", "a/b",
        ] {
            assert_eq!(wrong.parse::<Partition>(), Err(NoPart), "{wrong}");
        }
    }
}
