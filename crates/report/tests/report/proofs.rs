//! Proofs as the prover would fill them in, one for each thing a report of them can say.

use crate::summaries::{EVIL, location, place};
use finishline_answer::answer::{About, Answer};
use finishline_answer::claim::{Benign, Claim, Confirmation, Witness};
use finishline_answer::finding::{Finding, FoundAccess, Rule, Seen};
use finishline_answer::place::SourceLines;
use finishline_answer::proof::{
    Dataflow, Kernel, ParameterRange, Proof, ReadSources, Reason, ReasonKind, Remark, RemarkKind,
    Source,
};
use finishline_answer::rules;
use finishline_answer::task::Stack;
use finishline_answer::verdict::Verdict;
use finishline_model::AccessId;
use finishline_model::kinds::NativeAccessKind as AccessKind;
use std::time::Duration;

/// Every proof with the name of its snapshot and its exit status.
pub(crate) fn all() -> Vec<(&'static str, Answer, u8)> {
    vec![
        ("proof-proved", proved(), 0),
        ("proof-racy", racy(), 66),
        ("proof-benign", benign(), 66),
        ("proof-unknown", unknown(), 4),
        ("proof-partly", partly(), 4),
        ("proof-failed", refuted(failed_run()), 4),
        ("proof-contradicted", refuted(Confirmation::Contradicted), 4),
        ("proof-hostile", hostile(), 66),
        ("proof-empty", empty(), 0),
        ("proof-ranged", ranged(), 0),
        ("proof-ranged-race", ranged_race(), 66),
    ]
}

pub(crate) fn failed_run() -> Confirmation {
    Confirmation::Failed("index 1 is out of bounds at x.fin:5:13".to_owned())
}

fn kernel(construct: &'static str, line: u32, verdict: Verdict) -> Kernel {
    Kernel {
        construct,
        place: place("x.fin", line, 5, "forall i in 1..=N"),
        verdict,
        reasons: Vec::new(),
        accesses: 6,
        pairs: 9,
        time: Duration::from_micros(1200),
    }
}

fn proof(verdict: Verdict, kernels: Vec<Kernel>) -> Answer {
    Answer {
        program: "x.fin".to_owned(),
        arguments: Vec::new(),
        verdict,
        findings: Vec::new(),
        distinct: 0,
        suppressed: None,
        failure: None,
        lines: SourceLines::default(),
        about: About::Proof(Proof {
            parameters: vec!["N".to_owned()],
            range: Vec::new(),
            may_stop: false,
            kernels,
            remarks: Vec::new(),
            sources: Vec::new(),
            dataflow: Dataflow::NotAsked,
            time: Duration::from_micros(3140),
        }),
    }
}

/// The fields that only a proof has.
pub(crate) fn part(answer: &mut Answer) -> &mut Proof {
    match &mut answer.about {
        About::Proof(proof) => proof,
        other => panic!("{other:?}"),
    }
}

/// The answer with these races, the first of them in the first kernel.
fn with_races(mut answer: Answer, races: Vec<Finding>) -> Answer {
    answer.distinct = races.len() as u64;
    answer.findings = races;
    answer
}

/// No task, so no kernel.
pub(crate) fn empty() -> Answer {
    let mut empty = proof(Verdict::Proved, Vec::new());
    part(&mut empty).parameters.clear();
    empty
}

pub(crate) fn proved() -> Answer {
    let mut proved = proof(
        Verdict::Proved,
        vec![
            kernel("forall", 4, Verdict::Proved),
            kernel("finish", 12, Verdict::Proved),
        ],
    );
    let proof = part(&mut proved);
    proof.dataflow = Dataflow::Complete;
    proof.sources = vec![ReadSources {
        place: place("x.fin", 9, 20, "B[k]"),
        location: "B[k]".to_owned(),
        sources: vec![
            Source {
                write: Some(place("x.fin", 5, 13, "B[i] = C[i]")),
                instance: vec![("i".to_owned(), "k".to_owned())],
                condition: "1 ≤ k ≤ N".to_owned(),
            },
            Source {
                write: Some(place("x.fin", 9, 13, "B[k + 1] = B[k]")),
                instance: vec![("k".to_owned(), "-1 + 2k".to_owned())],
                condition: "k > N".to_owned(),
            },
            Source {
                write: None,
                instance: Vec::new(),
                condition: "k = 0".to_owned(),
            },
        ],
    }];
    proof.remarks = vec![Remark {
        kind: RemarkKind::DeadWrite,
        place: place("x.fin", 4, 5, "B[N] = 0"),
        location: "B[N]".to_owned(),
        condition: "N ≥ 1".to_owned(),
    }];
    proved
}

fn access(line: u32, text: &str, counter: &str) -> FoundAccess {
    FoundAccess {
        id: Some(AccessId::from_index(line as usize)),
        kind: AccessKind::Write,
        isolated: false,
        stack: Stack::of("main", place("x.fin", line, 13, text)),
        task: None,
        instance: vec![(counter.to_owned(), "N".to_owned())],
        machine: None,
    }
}

/// What a proof says about a pair.
pub(crate) fn claim(finding: &mut Finding) -> &mut Claim {
    finding.claim.as_mut().expect("a claim")
}

fn race() -> Finding {
    Finding {
        rule: Rule::Race,
        first: access(5, "B[i] = C[i]", "i"),
        second: access(7, "B[j] = C[2 * j]", "j"),
        location: location("B[N]"),
        why: None,
        allocated: None,
        seen: Seen::default(),
        ordered_by: None,
        claim: Some(Claim {
            kernel: 0,
            condition: "N ≥ 1".to_owned(),
            witness: Some(Witness {
                smallest: true,
                arguments: vec![1],
                location: location("B[1]"),
                first: vec![("i".to_owned(), 1)],
                second: vec![("j".to_owned(), 1)],
                replay: "finishline check x.fin 1 --watch 'B[1]'".to_owned(),
                confirmation: Confirmation::Confirmed,
            }),
            larger: Vec::new(),
            benign: None,
        }),
        may_follow: false,
        schedule: None,
        replay: String::new(),
    }
}

/// The race of the example in the design of the prover.
pub(crate) fn racy() -> Answer {
    let kernels = vec![
        kernel("finish", 4, Verdict::Race),
        kernel("forall", 12, Verdict::Proved),
    ];
    with_races(proof(Verdict::Race, kernels), vec![race()])
}

pub(crate) fn range(parameter: &str, least: Option<i64>, greatest: Option<i64>) -> ParameterRange {
    ParameterRange {
        parameter: parameter.to_owned(),
        least,
        greatest,
    }
}

/// Holds for a stated range: bounds on both sides, on one, on none.
pub(crate) fn ranged() -> Answer {
    let mut ranged = proof(Verdict::Proved, vec![kernel("forall", 4, Verdict::Proved)]);
    let proof = part(&mut ranged);
    proof.parameters = ["n", "m", "k", "l"].map(str::to_owned).into();
    proof.range = vec![
        range("n", Some(-(1 << 62)), Some(1 << 62)),
        range("m", None, Some(9)),
        range("k", Some(0), None),
        range("l", None, None),
    ];
    ranged
}

pub(crate) fn ranged_race() -> Answer {
    let mut ranged = racy();
    part(&mut ranged).range = vec![range("N", Some(i64::MIN), Some(7))];
    ranged
}

/// Races on two globals, outside of loops, without parameters, not run.
pub(crate) fn benign() -> Answer {
    let plain = |line| FoundAccess {
        instance: Vec::new(),
        ..access(line, "flag = 1", "i")
    };
    let mut same_value = Finding {
        first: plain(3),
        second: plain(4),
        location: location("flag"),
        ..race()
    };
    *claim(&mut same_value) = Claim {
        kernel: 0,
        condition: String::new(),
        witness: Some(Witness {
            smallest: true,
            arguments: Vec::new(),
            location: location("flag"),
            first: Vec::new(),
            second: Vec::new(),
            replay: "finishline check x.fin --watch flag".to_owned(),
            confirmation: Confirmation::NotRun,
        }),
        larger: Vec::new(),
        benign: Some(Benign::SameValue),
    };
    let mut never_read = same_value.clone();
    claim(&mut never_read).benign = Some(Benign::NeverRead);
    claim(&mut never_read).witness = None;
    let mut slow = race();
    let case = claim(&mut slow).witness.as_mut();
    case.expect("a witness").confirmation = Confirmation::TooCostly;
    let mut benign = with_races(
        proof(Verdict::Race, vec![kernel("program", 2, Verdict::Race)]),
        vec![same_value, never_read, slow],
    );
    part(&mut benign).parameters.clear();
    benign
}

fn reason(kind: ReasonKind, line: u32) -> Reason {
    Reason {
        kind,
        place: place("x.fin", line, 11, "b[i]"),
        concerns: format!("the write of a[b[i]] at {line}:9"),
    }
}

/// Every kind of reason.
pub(crate) fn unknown() -> Answer {
    let mut unknown = kernel("sync scope", 4, Verdict::Unknown);
    unknown.reasons = (ReasonKind::ALL.into_iter().zip(10..))
        .map(|(kind, line)| reason(kind, line))
        .collect();
    unknown.reasons[1].concerns = String::new();
    proof(Verdict::Unknown, vec![unknown])
}

/// One kernel is proved. The other has more reasons than text lists. There are more remarks than
/// text lists.
pub(crate) fn partly() -> Answer {
    let mut undecided = kernel("forall", 30, Verdict::Unknown);
    undecided.reasons = (0..14)
        .map(|at| reason(ReasonKind::Indirect, 40 + at))
        .collect();
    let kernels = vec![kernel("finish", 4, Verdict::Proved), undecided];
    let remark = |line| Remark {
        kind: RemarkKind::NeverWritten,
        place: place("x.fin", line, 9, "C[i]"),
        location: "C[i]".to_owned(),
        condition: String::new(),
    };
    let mut partly = proof(Verdict::Unknown, kernels);
    part(&mut partly).remarks = (60..73).map(remark).collect();
    partly
}

/// A race that a run with its smallest case does not have.
pub(crate) fn refuted(confirmation: Confirmation) -> Answer {
    let mut refuted = racy();
    refuted.verdict = Verdict::Unknown;
    part(&mut refuted).kernels[0].verdict = Verdict::Unknown;
    let race = &mut refuted.findings[0];
    let witness = &mut claim(race).witness;
    witness.as_mut().expect("a witness").confirmation = confirmation;
    race.rule = rules::claim(witness.as_ref(), false);
    refuted
}

/// More races than a report lists.
pub(crate) fn many() -> Answer {
    let mut many = racy();
    part(&mut many).kernels[1].verdict = Verdict::Race;
    let mut races = vec![race(); 6];
    claim(&mut races[5]).kernel = 1;
    with_races(many, races)
}

/// All user text is hostile to readers.
fn hostile() -> Answer {
    let mut hostile = racy();
    hostile.program = EVIL.to_owned();
    let race = &mut hostile.findings[0];
    race.location = location(EVIL);
    race.first.stack = Stack::of(EVIL, place(EVIL, 1, 1, EVIL));
    race.first.instance = vec![(EVIL.to_owned(), EVIL.to_owned())];
    claim(race).condition = EVIL.to_owned();
    let witness = claim(race).witness.as_mut().expect("a witness");
    witness.location = location(EVIL);
    witness.replay = EVIL.to_owned();
    hostile.lines = SourceLines::of_file(EVIL, EVIL);
    let proof = part(&mut hostile);
    proof.parameters = vec![EVIL.to_owned()];
    proof.range = vec![range(EVIL, Some(1), None)];
    let evil = place(EVIL, 1, 1, EVIL);
    proof.kernels[1].verdict = Verdict::Unknown;
    proof.kernels[1].reasons = vec![Reason {
        kind: ReasonKind::Aliasing,
        place: evil.clone(),
        concerns: EVIL.to_owned(),
    }];
    proof.remarks = vec![Remark {
        kind: RemarkKind::DeadWrite,
        place: evil.clone(),
        location: EVIL.to_owned(),
        condition: EVIL.to_owned(),
    }];
    proof.sources = vec![ReadSources {
        place: evil.clone(),
        location: EVIL.to_owned(),
        sources: vec![Source {
            write: Some(evil),
            instance: vec![(EVIL.to_owned(), EVIL.to_owned())],
            condition: EVIL.to_owned(),
        }],
    }];
    hostile
}
