//! Every construct inside and after every other: the front end accepts or refuses it as the
//! language says, and the detectors agree with the oracle.

use crate::common::{Judge, compile, record};
use finishline_generate::matrix::{Expectation, cases};

#[test]
fn every_construct_in_every_other() {
    let mut judge = Judge::new();
    let cases = cases();
    assert!(cases.len() > 300);
    for case in cases {
        let compiled = compile(&case.source);
        let (name, source) = (&case.name, &case.source);
        match (case.expectation, compiled) {
            (Expectation::Accepted, Ok(module)) => {
                let records = record(&module, 1_000_000)
                    .unwrap_or_else(|error| panic!("{name}: {error}\n{source}"));
                if let Err(error) = judge.judge(&module, &records) {
                    panic!("{name}: {error}\n{source}");
                }
            }
            (Expectation::Accepted, Err(errors)) => {
                panic!("{name} is refused:\n{errors}\n{source}")
            }
            (Expectation::Refused, Ok(_)) => panic!("{name} is accepted:\n{source}"),
            // For the reason meant, not for a slip of the generator: what parallel constructs
            // forbid, or a local of another function.
            (Expectation::Refused, Err(errors)) => {
                let codes = errors
                    .lines()
                    .filter_map(|line| line.strip_prefix("error["));
                let parallel = codes
                    .clone()
                    .all(|code| code.starts_with("E03") || code.starts_with("E0101"));
                assert!(parallel && codes.count() > 0, "{name}:\n{errors}\n{source}");
            }
        }
    }
}
