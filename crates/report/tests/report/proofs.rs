//! Proofs as the prover would fill them in, one for each thing a report of them can say.

use crate::summaries::{EVIL, place};
use finishline_answer::proof::{
    Benign, Confirmation, Dataflow, Kernel, ParameterRange, Proof, ReadSources, Reason, ReasonKind,
    Remark, RemarkKind, Source, StaticAccess, StaticRace, Witness,
};
use finishline_answer::verdict::Verdict;
use finishline_model::{AccessId, AccessKind};
use std::time::Duration;

/// Every proof with the name of its snapshot and the exit status that belongs to it.
pub(crate) fn all() -> Vec<(&'static str, Proof, u8)> {
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
        races: Vec::new(),
        reasons: Vec::new(),
        accesses: 6,
        pairs: 9,
        time: Duration::from_micros(1200),
    }
}

fn proof(verdict: Verdict, kernels: Vec<Kernel>) -> Proof {
    Proof {
        program: "x.fin".to_owned(),
        verdict,
        parameters: vec!["N".to_owned()],
        range: Vec::new(),
        kernels,
        remarks: Vec::new(),
        sources: Vec::new(),
        dataflow: Dataflow::NotAsked,
        time: Duration::from_micros(3140),
    }
}

/// No task, so no kernel.
pub(crate) fn empty() -> Proof {
    Proof {
        parameters: Vec::new(),
        ..proof(Verdict::Proved, Vec::new())
    }
}

pub(crate) fn proved() -> Proof {
    Proof {
        dataflow: Dataflow::Complete,
        sources: vec![ReadSources {
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
        }],
        remarks: vec![Remark {
            kind: RemarkKind::DeadWrite,
            place: place("x.fin", 4, 5, "B[N] = 0"),
            location: "B[N]".to_owned(),
            condition: "N ≥ 1".to_owned(),
        }],
        ..proof(
            Verdict::Proved,
            vec![
                kernel("forall", 4, Verdict::Proved),
                kernel("finish", 12, Verdict::Proved),
            ],
        )
    }
}

fn access(line: u32, text: &str, counter: &str) -> StaticAccess {
    StaticAccess {
        id: AccessId::from_index(line as usize),
        kind: AccessKind::Write,
        isolated: false,
        place: place("x.fin", line, 13, text),
        function: "main".to_owned(),
        instance: vec![(counter.to_owned(), "N".to_owned())],
    }
}

fn race() -> StaticRace {
    StaticRace {
        first: access(5, "B[i] = C[i]", "i"),
        second: access(7, "B[j] = C[2 * j]", "j"),
        location: "B[N]".to_owned(),
        condition: "N ≥ 1".to_owned(),
        witness: Some(Witness {
            smallest: true,
            arguments: vec![1],
            location: "B[1]".to_owned(),
            first: vec![("i".to_owned(), 1)],
            second: vec![("j".to_owned(), 1)],
            replay: "finishline check x.fin 1 --watch 'B[1]'".to_owned(),
            confirmation: Confirmation::Confirmed,
        }),
        larger: Vec::new(),
        benign: None,
    }
}

/// The race of the example in the design of the prover.
pub(crate) fn racy() -> Proof {
    let racy = Kernel {
        races: vec![race()],
        ..kernel("finish", 4, Verdict::Race)
    };
    proof(
        Verdict::Race,
        vec![racy, kernel("forall", 12, Verdict::Proved)],
    )
}

pub(crate) fn range(parameter: &str, least: Option<i64>, greatest: Option<i64>) -> ParameterRange {
    ParameterRange {
        parameter: parameter.to_owned(),
        least,
        greatest,
    }
}

/// Holds for a stated range: bounds on both sides, on one, on none.
pub(crate) fn ranged() -> Proof {
    Proof {
        parameters: ["n", "m", "k", "l"].map(str::to_owned).into(),
        range: vec![
            range("n", Some(-(1 << 62)), Some(1 << 62)),
            range("m", None, Some(9)),
            range("k", Some(0), None),
            range("l", None, None),
        ],
        ..proof(Verdict::Proved, vec![kernel("forall", 4, Verdict::Proved)])
    }
}

pub(crate) fn ranged_race() -> Proof {
    Proof {
        range: vec![range("N", Some(i64::MIN), Some(7))],
        ..racy()
    }
}

/// Of two globals, in no loop, without parameters, nothing run.
pub(crate) fn benign() -> Proof {
    let plain = |line| StaticAccess {
        instance: Vec::new(),
        ..access(line, "flag = 1", "i")
    };
    let same_value = StaticRace {
        first: plain(3),
        second: plain(4),
        location: "flag".to_owned(),
        condition: String::new(),
        witness: Some(Witness {
            smallest: true,
            arguments: Vec::new(),
            location: "flag".to_owned(),
            first: Vec::new(),
            second: Vec::new(),
            replay: "finishline check x.fin --watch flag".to_owned(),
            confirmation: Confirmation::NotRun,
        }),
        larger: Vec::new(),
        benign: Some(Benign::SameValue),
    };
    let never_read = StaticRace {
        benign: Some(Benign::NeverRead),
        witness: None,
        ..same_value.clone()
    };
    let slow = StaticRace {
        witness: Some(Witness {
            confirmation: Confirmation::TooCostly,
            ..race().witness.expect("a witness")
        }),
        ..race()
    };
    let racy = Kernel {
        races: vec![same_value, never_read, slow],
        ..kernel("program", 2, Verdict::Race)
    };
    Proof {
        parameters: Vec::new(),
        ..proof(Verdict::Race, vec![racy])
    }
}

fn reason(kind: ReasonKind, line: u32) -> Reason {
    Reason {
        kind,
        place: place("x.fin", line, 11, "b[i]"),
        concerns: format!("the write of a[b[i]] at {line}:9"),
    }
}

/// Every reason there is.
pub(crate) fn unknown() -> Proof {
    let mut unknown = kernel("sync scope", 4, Verdict::Unknown);
    unknown.reasons = (ReasonKind::ALL.into_iter().zip(10..))
        .map(|(kind, line)| reason(kind, line))
        .collect();
    unknown.reasons[1].concerns = String::new();
    proof(Verdict::Unknown, vec![unknown])
}

/// One kernel proved, the other with more reasons than text lists, and more remarks than that.
pub(crate) fn partly() -> Proof {
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
    Proof {
        remarks: (60..73).map(remark).collect(),
        ..proof(Verdict::Unknown, kernels)
    }
}

/// A race that a run with its smallest case does not have.
pub(crate) fn refuted(confirmation: Confirmation) -> Proof {
    let mut refuted = racy();
    refuted.verdict = Verdict::Unknown;
    refuted.kernels[0].verdict = Verdict::Unknown;
    let witness = &mut refuted.kernels[0].races[0].witness;
    witness.as_mut().expect("a witness").confirmation = confirmation;
    refuted
}

/// More races than a report is to have.
pub(crate) fn many() -> Proof {
    let mut many = racy();
    many.kernels[0].races = (0..5).map(|_| race()).collect();
    many.kernels[1].verdict = Verdict::Race;
    many.kernels[1].races = vec![race()];
    many
}

/// Everything that is the user's text is not nice to readers.
fn hostile() -> Proof {
    let mut hostile = racy();
    hostile.program = EVIL.to_owned();
    hostile.parameters = vec![EVIL.to_owned()];
    hostile.range = vec![range(EVIL, Some(1), None)];
    let race = &mut hostile.kernels[0].races[0];
    race.location = EVIL.to_owned();
    race.condition = EVIL.to_owned();
    race.first.place = place(EVIL, 1, 1, EVIL);
    race.first.function = EVIL.to_owned();
    race.first.instance = vec![(EVIL.to_owned(), EVIL.to_owned())];
    let witness = race.witness.as_mut().expect("a witness");
    witness.location = EVIL.to_owned();
    witness.replay = EVIL.to_owned();
    let evil = place(EVIL, 1, 1, EVIL);
    hostile.kernels[1].verdict = Verdict::Unknown;
    hostile.kernels[1].reasons = vec![Reason {
        kind: ReasonKind::Aliasing,
        place: evil.clone(),
        concerns: EVIL.to_owned(),
    }];
    hostile.remarks = vec![Remark {
        kind: RemarkKind::DeadWrite,
        place: evil.clone(),
        location: EVIL.to_owned(),
        condition: EVIL.to_owned(),
    }];
    hostile.sources = vec![ReadSources {
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
