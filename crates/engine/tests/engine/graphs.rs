//! The programs of the Zipper paper as computation graphs: their number of nodes, and the checkers
//! of graphs against the oracle.

use crate::common::{compile, takes_turns};
use finishline_detect::oracle::{Mode, Oracle};
use finishline_engine::cooperative::Cooperative;
use finishline_engine::depth_first::DepthFirst;
use finishline_engine::run::{End, Program, run_for};
use finishline_graph::{CHECKERS, Graph};
use finishline_ir::machine::{Datum, Limits};
use finishline_model::Location;
use finishline_model::event::{Record, replay};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicU64;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/zipper");

/// The run of a program with these arguments.
fn recorded(source: &str, arguments: &[Datum]) -> Vec<Record> {
    let module = compile(source).unwrap();
    let program = Program {
        module: &module,
        arguments,
        limits: Limits::default(),
    };
    let (mut records, progress) = (Vec::<Record>::new(), AtomicU64::new(0));
    let (fuel, output) = (u64::MAX, &mut std::io::sink());
    let outcome = if takes_turns(&module) {
        let mut schedule = Cooperative::default();
        run_for(
            fuel,
            program,
            &mut schedule,
            &mut records,
            output,
            &progress,
        )
    } else {
        let mut schedule = DepthFirst::default();
        run_for(
            fuel,
            program,
            &mut schedule,
            &mut records,
            output,
            &progress,
        )
    };
    assert!(matches!(outcome.result, End::Finished));
    records
}

/// The numbers in what follows `start` on its line.
fn numbers(source: &str, start: &str) -> Option<Vec<i64>> {
    let line = source.lines().find_map(|line| line.strip_prefix(start))?;
    let words = line.split(|letter: char| !letter.is_ascii_digit());
    Some(words.filter_map(|word| word.parse().ok()).collect())
}

/// `// Nodes: 23 in Table 3, 23 here`, with its arguments if they are not those of `args`.
#[test]
fn the_programs_of_zipper_have_the_nodes_that_they_claim() {
    let mut programs = 0;
    for entry in Path::new(PROGRAMS).read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "fin") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let claimed = numbers(&source, "// Nodes: ").expect("a number of nodes");
        // The second number is that of the table.
        let [in_table, 3, here, ref others @ ..] = claimed[..] else {
            panic!("{path:?} claims {claimed:?}")
        };
        let arguments = match others {
            [] => numbers(&source, "//@ args: ").unwrap_or_default(),
            others => others.to_vec(),
        };
        let arguments: Vec<Datum> = arguments.into_iter().map(Datum::Int).collect();
        let records = recorded(&source, &arguments);
        let graph = Graph::of(|builder| replay(&records, builder)).unwrap();
        assert_eq!(graph.len() as i64, here, "{path:?}");
        assert_eq!(in_table, here, "{path:?}");

        let mut oracle = Oracle::new(5_000);
        replay(&records, &mut oracle);
        let racing = oracle.racing_locations(Mode::Observed);
        for checker in CHECKERS {
            match checker.check(&graph) {
                Ok(found) => {
                    let found: BTreeSet<Location> = found.iter().map(|it| it.location).collect();
                    assert_eq!(found, racing, "{path:?}, {}", checker.name());
                }
                Err(refused) => {
                    assert_eq!(checker.name(), "zipper", "{path:?}: {refused}");
                    assert!(graph.constructs().promises, "{path:?}: {refused}");
                }
            }
        }
        programs += 1;
    }
    assert_eq!(programs, 27);
}
