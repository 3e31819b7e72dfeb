//! Races that a proof claims: for which inputs, the smallest case, and what a run of that case
//! showed.

use crate::location::Location;

/// What a proof says about a pair of accesses.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The kernel of the pair, by index.
    pub kernel: usize,
    /// For which parameters, and if counters are needed to say so, for which instances: `N ≥ 1`.
    /// Empty: always.
    pub condition: String,
    /// The smallest case, or a larger one that a run has confirmed.
    pub witness: Option<Witness>,
    /// Larger cases, for smaller ones that fail before the race.
    pub larger: Vec<Witness>,
    /// The race can't change what the program computes; it is a race all the same.
    pub benign: Option<Benign>,
}

/// Values for which the race occurs.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// There is none with smaller arguments.
    pub smallest: bool,
    /// The arguments of main.
    pub arguments: Vec<i64>,
    pub location: Location,
    /// The counters of both accesses.
    pub first: Vec<(String, i64)>,
    pub second: Vec<(String, i64)>,
    /// The command that shows the race in a run.
    pub replay: String,
    /// What such a run showed. The prover runs nothing, and leaves it at `NotRun`.
    pub confirmation: Confirmation,
}

/// What a run with the arguments of a witness showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confirmation {
    /// Nothing: there was none.
    #[default]
    NotRun,
    /// Nothing: it would have taken too much time or memory.
    TooCostly,
    /// The race.
    Confirmed,
    /// The race, in a run in which the tasks take turns. The depth-first run does not show it.
    ConfirmedInTurns,
    /// It failed, by this error, and had no such race until then.
    Failed(String),
    /// It only had the race apparently: its isolated blocks kept the accesses apart.
    Apparent,
    /// It ended, and had no such race.
    Contradicted,
}

impl Confirmation {
    /// A word for machines.
    pub const fn word(&self) -> &'static str {
        match self {
            Confirmation::NotRun => "not-run",
            Confirmation::TooCostly => "too-costly",
            Confirmation::Confirmed | Confirmation::ConfirmedInTurns => "confirmed",
            Confirmation::Failed(_) => "failed",
            Confirmation::Apparent => "apparent",
            Confirmation::Contradicted => "contradicted",
        }
    }
}

/// Why a race is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Benign {
    /// Both write the same value.
    SameValue,
    /// No read can see what either writes.
    NeverRead,
}

impl Benign {
    pub const fn word(self) -> &'static str {
        match self {
            Benign::SameValue => "same-value",
            Benign::NeverRead => "never-read",
        }
    }

    pub const fn meaning(self) -> &'static str {
        match self {
            Benign::SameValue => "both write the same value",
            Benign::NeverRead => "no read can see what either writes",
        }
    }
}
