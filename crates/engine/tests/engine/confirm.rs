//! Races that are claimed, rightly and wrongly, held to runs.

use crate::common::compile;
use finishline_answer::answer::{About, Answer};
use finishline_answer::claim::{Claim, Confirmation, Witness};
use finishline_answer::finding::{Finding, FoundAccess, Rule, Seen};
use finishline_answer::place::SourceLines;
use finishline_answer::proof::{Dataflow, Kernel, Proof};
use finishline_answer::task::Stack;
use finishline_answer::{Location, Place, Verdict};
use finishline_engine::confirm::confirm;
use finishline_ir::Module;
use finishline_model::{AccessId, AccessKind};
use std::time::Duration;

fn place(line: u32, column: u32) -> Place {
    Place {
        file: "test.fin".to_owned(),
        line,
        column,
        width: 0,
        text: String::new(),
    }
}

/// A write at this line and column, of the access that [`identify`] finds there.
fn write((line, column): (u32, u32)) -> FoundAccess {
    FoundAccess {
        id: Some(AccessId::from_index(0)),
        kind: AccessKind::Write.into(),
        isolated: false,
        stack: Stack::of("main", place(line, column)),
        task: None,
        instance: Vec::new(),
        machine: None,
    }
}

/// The claim that two writes race at this location if main gets these arguments.
fn claim(arguments: &[i64], location: &str, sites: [(u32, u32); 2]) -> Finding {
    let [first, second] = sites.map(write);
    Finding {
        rule: Rule::Race,
        location: Location::Unnamed(String::new()),
        first,
        second,
        why: None,
        allocated: None,
        seen: Seen::default(),
        ordered_by: None,
        claim: Some(Claim {
            kernel: 0,
            condition: String::new(),
            witness: Some(case(arguments, location)),
            larger: Vec::new(),
            benign: None,
        }),
        may_follow: false,
        schedule: None,
        replay: String::new(),
    }
}

fn case(arguments: &[i64], location: &str) -> Witness {
    Witness {
        smallest: true,
        arguments: arguments.to_vec(),
        location: named(location),
        first: Vec::new(),
        second: Vec::new(),
        replay: String::new(),
        confirmation: Confirmation::NotRun,
    }
}

/// `B[3]` is an element, everything else a global variable.
fn named(location: &str) -> Location {
    let element = location.strip_suffix(']').and_then(|it| it.split_once('['));
    match element {
        Some((object, index)) => Location::Element {
            object: object.to_owned(),
            indices: vec![index.to_owned()],
        },
        None => Location::Global(location.to_owned()),
    }
}

/// A proof with a kernel for each list of races; one without races is proved.
fn proof(kernels: Vec<Vec<Finding>>) -> Answer {
    let kernel = |races: &Vec<Finding>| Kernel {
        construct: "finish",
        place: place(1, 1),
        verdict: match races.is_empty() {
            true => Verdict::Proved,
            false => Verdict::Race,
        },
        reasons: Vec::new(),
        accesses: 2,
        pairs: 1,
        time: Duration::ZERO,
    };
    let judged = kernels.iter().map(kernel).collect();
    let mut findings = Vec::new();
    for (index, races) in kernels.into_iter().enumerate() {
        findings.extend(races.into_iter().map(|mut race| {
            race.claim.as_mut().expect("a claim").kernel = index;
            race
        }));
    }
    Answer {
        program: "test.fin".to_owned(),
        arguments: Vec::new(),
        verdict: Verdict::Race,
        distinct: findings.len() as u64,
        findings,
        suppressed: None,
        failure: None,
        lines: SourceLines::default(),
        about: About::Proof(Proof {
            parameters: Vec::new(),
            range: Vec::new(),
            may_stop: false,
            kernels: judged,
            remarks: Vec::new(),
            sources: Vec::new(),
            dataflow: Dataflow::NotAsked,
            time: Duration::ZERO,
        }),
    }
}

/// Gives each access of the claims the id of the write at its place.
fn identify(proof: &mut Answer, module: &Module) {
    let source = &module.source;
    let id_at = |place: &Place| {
        let mut all = (0..source.accesses.len()).map(AccessId::from_index);
        all.find(|id| {
            let site = source.site(source.access(*id).site);
            source.access(*id).kind == AccessKind::Write
                && (site.line, site.column) == (place.line, place.column)
        })
    };
    for race in &mut proof.findings {
        for access in [&mut race.first, &mut race.second] {
            let found = access.place().and_then(id_at);
            access.id = found.or(access.id);
        }
    }
}

/// What the runs say to claims about a program, all in one kernel; and the verdict that is left.
fn said(source: &str, claims: Vec<Finding>) -> (Vec<Confirmation>, Verdict) {
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    let mut proof = proof(vec![claims]);
    identify(&mut proof, &module);
    confirm(&mut proof, &module);
    let confirmations = (proof.findings.iter())
        .filter_map(|race| Some(race.witness()?.confirmation.clone()))
        .collect();
    assert_eq!(proof.kernels()[0].verdict, proof.verdict);
    (confirmations, proof.verdict)
}

/// `B[N]` races from `N = 1` on.
const RACY: &str = "fn main(N: int) {
let B = new int[N + 1];
finish {
async { for i in 1..=N { B[i] = 1; } }
B[N] = 2;
}
}";
const WRITES: [(u32, u32); 2] = [(4, 26), (5, 1)];

#[test]
fn a_race_is_known_by_its_accesses() {
    let (one, three) = ([1], [3]);
    let claims = vec![
        claim(&three, "B[3]", WRITES),
        // However the location is called.
        claim(&one, "b[1]", WRITES),
        claim(&one, "b[1]", [WRITES[1], WRITES[0]]),
    ];
    let (confirmed, verdict) = said(RACY, claims);
    assert_eq!(confirmed, vec![Confirmation::Confirmed; 3]);
    assert_eq!(verdict, Verdict::Race);
}

/// Fails for an `N` below 2, before it gets to the race.
const FAILS_IF_SMALL: &str = "var x = 0;
fn main(N: int) {
let B = new int[N];
B[1] = 1;
finish {
async x = 1;
x = 2;
}
}";

/// The smallest case fails: a larger one that does not takes its place, unless all of them fail.
#[test]
fn larger_cases_are_tried() {
    let module = compile(FAILS_IF_SMALL).unwrap_or_else(|errors| panic!("{errors}"));
    let confirmed = |sizes: &[i64]| {
        let mut race = claim(&[0], "x", [(6, 7), (7, 1)]);
        let larger = sizes.iter().map(|size| case(&[*size], "x"));
        race.claim.as_mut().expect("a claim").larger = larger.collect();
        let mut proof = proof(vec![vec![race]]);
        identify(&mut proof, &module);
        confirm(&mut proof, &module);
        let witness = proof.findings[0].witness().expect("a case");
        (proof.verdict, witness.arguments.clone())
    };
    assert_eq!(confirmed(&[1, 2, 3]), (Verdict::Race, vec![2]));
    assert_eq!(confirmed(&[1]), (Verdict::Unknown, vec![0]));
    assert_eq!(confirmed(&[]), (Verdict::Unknown, vec![0]));
    let many: Vec<i64> = (-500..=50).collect();
    assert_eq!(confirmed(&many), (Verdict::Unknown, vec![0]));
}

/// Of two objects called `B` the second one is `B#2`, which only a run knows.
#[test]
fn a_location_has_the_name_that_a_run_gives_it() {
    let source = "fn main(N: int) {
for k in 0..2 {
let B = new int[N];
finish { async { B[0] = k; B[1] = 1; } if k == 1 { B[0] = 2; } B[1] = k; }
}
}";
    let module = compile(source).expect("a program");
    let only_second = claim(&[2], "B[0]", [(4, 18), (4, 52)]);
    let both = claim(&[2], "B#2[1]", [(4, 28), (4, 64)]);
    let mut proof = proof(vec![vec![only_second, both]]);
    identify(&mut proof, &module);
    confirm(&mut proof, &module);
    let told = |index: usize| {
        let witness = proof.findings[index].witness().expect("it had one").clone();
        assert_eq!(witness.confirmation, Confirmation::Confirmed);
        (witness.location.to_string(), witness.replay)
    };
    let replay = "finishline check test.fin 2 --watch 'B#2[0]'";
    assert_eq!(told(0), ("B#2[0]".to_owned(), replay.to_owned()));
    // A name that a run has is kept, and the command with it.
    assert_eq!(told(1), ("B#2[1]".to_owned(), String::new()));
}

#[test]
fn a_race_that_the_run_has_not_is_contradicted() {
    for wrong in [
        claim(&[0], "B[0]", WRITES),
        claim(&[1], "B[1]", [WRITES[0], WRITES[0]]),
    ] {
        let (said, verdict) = said(RACY, vec![wrong]);
        assert_eq!(said, [Confirmation::Contradicted]);
        assert_eq!(verdict, Verdict::Unknown);
    }
}

/// Both reads have one place and one kind. Only the first one races.
#[test]
fn two_accesses_at_one_place_are_told_apart_by_their_ids() {
    let source = "var a = 0;
var b = 0;
var sum = 0;
fn main() {
finish {
async a = 1;
sum = a + b;
}
}";
    let module = compile(source).unwrap_or_else(|errors| panic!("{errors}"));
    let id_of = |text: &str, kind: AccessKind| {
        let all = (0..module.source.accesses.len()).map(AccessId::from_index);
        let mut those = all.filter(|id| {
            let info = module.source.access(*id);
            info.kind == kind && module.source.snippet(info.place) == text
        });
        those.next().expect("an access")
    };
    for (read, expected) in [
        ("a", Confirmation::Confirmed),
        ("b", Confirmation::Contradicted),
    ] {
        let mut race = claim(&[], "a", [(6, 7), (7, 1)]);
        race.first.id = Some(id_of("a", AccessKind::Write));
        race.second.kind = AccessKind::Read.into();
        race.second.id = Some(id_of(read, AccessKind::Read));
        let mut proof = proof(vec![vec![race]]);
        confirm(&mut proof, &module);
        let witness = proof.findings[0].witness();
        assert_eq!(witness.expect("a case").confirmation, expected, "{read}");
    }
}

#[test]
fn one_race_that_stands_is_enough() {
    let claims = vec![claim(&[0], "B[0]", WRITES), claim(&[2], "B[2]", WRITES)];
    let (said, verdict) = said(RACY, claims);
    assert_eq!(said, [Confirmation::Contradicted, Confirmation::Confirmed]);
    assert_eq!(verdict, Verdict::Race);

    let module = compile(RACY).expect("a program");
    let refuted = || vec![claim(&[0], "B[0]", WRITES)];
    let mut two = proof(vec![refuted(), vec![claim(&[1], "B[1]", WRITES)]]);
    identify(&mut two, &module);
    confirm(&mut two, &module);
    let verdicts = [&two.kernels()[0], &two.kernels()[1]].map(|kernel| kernel.verdict);
    assert_eq!(verdicts, [Verdict::Unknown, Verdict::Race]);
    assert_eq!(two.verdict, Verdict::Race);
    // Others being proved does not make the program so.
    let mut beside = proof(vec![Vec::new(), refuted()]);
    identify(&mut beside, &module);
    confirm(&mut beside, &module);
    assert_eq!(beside.kernels()[0].verdict, Verdict::Proved);
    assert_eq!(beside.verdict, Verdict::Unknown);
}

#[test]
fn a_run_that_fails_shows_what_came_before() {
    let source = "fn main(N: int) {
let B = new int[N];
finish { async { B[0] = 1; } B[0] = 2; assert(N > 1); }
finish { async { B[1] = 1; } B[1] = 2; }
}";
    let claims = vec![
        claim(&[1], "B[0]", [(3, 18), (3, 30)]),
        claim(&[1], "B[1]", [(4, 18), (4, 30)]),
        claim(&[0], "B[0]", [(3, 18), (3, 30)]),
        claim(&[2], "B[1]", [(4, 18), (4, 30)]),
    ];
    let (said, verdict) = said(source, claims);
    assert_eq!(said[0], Confirmation::Confirmed);
    for (failed, error) in [(&said[1], "assert"), (&said[2], "index 0 is out of bounds")] {
        let Confirmation::Failed(text) = failed else {
            panic!("{failed:?}");
        };
        assert!(
            text.contains(error) && text.contains(" at test.fin:3:"),
            "{text}"
        );
    }
    assert_eq!(said[3], Confirmation::Confirmed);
    assert_eq!(verdict, Verdict::Race);
}

#[test]
fn nothing_runs_for_long_or_takes_much_memory() {
    let endless = "fn main(N: int) { var i = 0; while i < 10 { i = i * N; } }";
    let huge = "fn main(N: int) { let B = new int[100000000]; B[N] = 1; }";
    let many_tasks = "fn main(N: int) { forall i in 0..9999 { } }";
    let many_pairs =
        "var x: int; fn main(N: int) { forall i in 0..3000 { x = x + x + x; x -= 1; } }";
    let many_objects = "fn main(N: int) { for i in 0..1000000 { let B = new int[4000000]; } }";
    for source in [endless, huge, many_tasks, many_pairs, many_objects] {
        let (said, verdict) = said(source, vec![claim(&[1], "x", WRITES)]);
        assert_eq!(said, [Confirmation::TooCostly]);
        // Nothing was seen, for it or against it.
        assert_eq!(verdict, Verdict::Race);
    }
}

#[test]
fn all_runs_together_are_short() {
    let endless = "fn main(N: int) { while N > 0 { } }";
    let many = (1..=100).map(|n| claim(&[n], "x", WRITES));
    let (said, verdict) = said(endless, many.collect());
    assert_eq!(said[0], Confirmation::TooCostly);
    assert_eq!(said[99], Confirmation::NotRun);
    assert_eq!(verdict, Verdict::Race);
}

/// However many pairs of accesses there were before, which are not compared.
#[test]
fn a_run_that_fails_confirms_nothing_behind_the_failure() {
    let source = "var x: int;
fn main(N: int) {
let B = new int[1];
forall i in 0..1500 { let sum = B[0] + B[0] + B[0] + B[0] + B[0] + B[0]; }
B[1] = 1;
finish { async { x = 1; } x = 2; }
}";
    let (said, verdict) = said(source, vec![claim(&[1], "x", [(6, 18), (6, 27)])]);
    assert!(matches!(said[..], [Confirmation::Failed(_)]), "{said:?}");
    assert_eq!(verdict, Verdict::Unknown);
}

#[test]
fn what_can_not_be_run_is_not() {
    for arguments in [&[1, 1][..], &[]] {
        let (said, verdict) = said(RACY, vec![claim(arguments, "B[1]", WRITES)]);
        assert_eq!(said, [Confirmation::NotRun], "{arguments:?}");
        assert_eq!(verdict, Verdict::Unknown);
    }
    let many = (1..=300).map(|n| claim(&[n], &format!("B[{n}]"), WRITES));
    let (said, _) = said(RACY, many.collect());
    let confirmed = |one: &&Confirmation| **one == Confirmation::Confirmed;
    assert_eq!(said.iter().filter(confirmed).count(), 256);
    assert_eq!(said[299], Confirmation::NotRun);
}

/// A depth-first run stays in the task that never ends.
#[test]
fn tasks_take_turns_where_one_never_ends() {
    let source = "var x = 0;
fn main(N: int) {
finish {
async { x = 1; while N > 0 { } }
x = 2;
}
x = 3;
}";
    let behind_the_join = [(4, 9), (7, 1)];
    let claims = vec![
        claim(&[1], "x", [(4, 9), (5, 1)]),
        claim(&[1], "x", behind_the_join),
    ];
    let (said, verdict) = said(source, claims);
    assert_eq!(
        said,
        [Confirmation::ConfirmedInTurns, Confirmation::TooCostly]
    );
    assert_eq!(verdict, Verdict::Race);
    // What may lie behind something endless is not claimed without a run.
    let module = compile(source).expect("a program");
    for (may_stop, expected) in [(false, Verdict::Race), (true, Verdict::Unknown)] {
        let mut proof = proof(vec![vec![claim(&[1], "x", behind_the_join)]]);
        let About::Proof(about) = &mut proof.about else {
            panic!("a proof");
        };
        about.may_stop = may_stop;
        identify(&mut proof, &module);
        confirm(&mut proof, &module);
        assert_eq!(proof.verdict, expected);
    }
}

/// A task that fails ends a depth-first run before the others begin.
#[test]
fn tasks_take_turns_where_one_fails() {
    let source = "var x = 0;
fn main(N: int) {
async { for i in 0..1000 { } assert(N < 0); }
async { x = 1; }
x = 2;
}";
    let (said, verdict) = said(source, vec![claim(&[1], "x", [(4, 9), (5, 1)])]);
    assert_eq!(said, [Confirmation::ConfirmedInTurns]);
    assert_eq!(verdict, Verdict::Race);
}

#[test]
fn arguments_may_be_large() {
    let source = "var x = 0;
fn main(N: int) {
if N > 1000000000000 {
if N % 2 == 0 { let B = new int[0 - N]; }
async { x = 1; }
x = 2;
}
}";
    let case = |n| claim(&[n], "x", [(5, 9), (6, 1)]);
    let (said, _) = said(source, vec![case(1_000_000_000_001), case(i64::MAX - 1)]);
    assert_eq!(said[0], Confirmation::Confirmed);
    let Confirmation::Failed(text) = &said[1] else {
        panic!("{said:?}");
    };
    assert!(text.contains(" at test.fin:4:"), "{text}");
}

#[test]
fn a_parameter_may_be_no_integer() {
    let source = "var x = 0;
fn main(wait: bool, size: byte, by: float) {
async { x = 1; }
if !wait { x = 2; }
}";
    let case = |numbers: &[i64]| claim(numbers, "x", [(3, 9), (4, 12)]);
    let claims = vec![case(&[0, 1, 2]), case(&[1, 1, 2]), case(&[0, -1, 2])];
    let expected = [
        Confirmation::Confirmed,
        Confirmation::Contradicted,
        Confirmation::NotRun,
    ];
    assert_eq!(said(source, claims).0, expected);
}

#[test]
fn accesses_that_only_the_order_of_isolated_blocks_keeps_apart_are_confirmed() {
    let source = "var flag = 0;
var data = 0;
fn main() {
finish {
async { data = 1; isolated { flag = 1; } }
isolated { flag = 2; }
data = 2;
}
}";
    let (said, verdict) = said(source, vec![claim(&[], "data", [(5, 9), (7, 1)])]);
    assert_eq!(said, [Confirmation::ConfirmedInTurns]);
    assert_eq!(verdict, Verdict::Race);
}

/// `data = 2` follows only if the other block came first, and `data = 1` comes before that.
#[test]
fn accesses_that_isolated_blocks_keep_apart_in_any_order_are_not_confirmed() {
    for asked in ["assert(flag == 1);", "while flag == 0 { }"] {
        let source = format!(
            "var flag = 0;
var data = 0;
fn main() {{
finish {{
async {{ data = 1; isolated {{ flag = 1; }} }}
isolated {{ {asked} }}
data = 2;
}}
}}"
        );
        let (said, verdict) = said(&source, vec![claim(&[], "data", [(5, 9), (7, 1)])]);
        assert_eq!(said, [Confirmation::Apparent], "{asked}");
        assert_eq!(verdict, Verdict::Unknown, "{asked}");
    }
}
