//! What goes and what stays when every access is said to be harmless. That nothing else changes
//! when they are is compared in `subsets`.

use crate::common::{compile, run};
use finishline_ir::machine::Limits;
use finishline_ir::verify::verify;
use finishline_model::event::Record;
use finishline_model::{AccessId, Pass, Passes};
use finishline_opt::without_proved;
use std::collections::BTreeSet;

/// The places that are checked in a run, in order, if all these accesses are harmless; each that is
/// not must be noted.
fn checked(source: &str, harmless: impl Fn(&str) -> bool) -> Vec<String> {
    let module = compile(source);
    let place = |access: AccessId| {
        let info = module.source.access(access);
        module.source.snippet(info.place)
    };
    let all = (0..module.source.accesses.len()).map(AccessId::from_index);
    let harmless: BTreeSet<AccessId> = all.filter(|access| harmless(&place(*access))).collect();
    let after = without_proved(&module, &harmless);
    verify(&after).unwrap_or_else(|violations| panic!("{}", violations[0]));
    for (access, unchecked) in &after.unchecked {
        assert!(harmless.contains(access));
        assert_eq!(unchecked.by, Passes::NONE.with(Pass::Proved));
    }
    let records = run(&after, &[], Limits::default(), 10_000).records;
    let accesses = records.iter().filter_map(|record| match record {
        Record::Access(access) => Some(place(access.id)),
        Record::Event(_) => None,
    });
    accesses.collect()
}

#[test]
fn what_is_harmless_goes_and_nothing_else() {
    let source = "var x = 0; var y = 0;
        fn main() { finish { async { x = 1; y = x; } } y = 2; }";
    assert_eq!(checked(source, |_| false), ["x", "x", "y", "y"]);
    assert_eq!(checked(source, |place| place == "x"), ["y", "y"]);
    assert_eq!(checked(source, |_| true), [""; 0]);
}

/// Also where control comes into an isolated block by a loop, and leaves it in the middle.
#[test]
fn what_is_isolated_stays() {
    let source = "var before = 0; var inside = 0; var late = 0; var behind = 0;
        fn leave(n: int) {
            isolated {
                for i in 0..n { inside = i; }
                if n == 1 { return; }
                late = n;
            }
            behind = n;
        }
        fn main() { finish { async { before = 1; leave(1); leave(2); } } }";
    let expected = ["inside", "inside", "inside", "late"];
    assert_eq!(checked(source, |_| true), expected);
}

#[test]
fn functions_that_isolated_blocks_call_are_checked_wherever_they_are_called() {
    let source = "var deep = 0; var elsewhere = 0;
        fn outer() { inner(); }
        fn inner() { deep = 1; }
        fn other() { elsewhere = 1; }
        fn main() { finish { async isolated { outer(); } async { inner(); other(); } } }";
    assert_eq!(checked(source, |_| true), ["deep", "deep"]);
}
