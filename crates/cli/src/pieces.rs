//! The explored pieces of a search, as records of a [part](crate::part).

use finishline_engine::explore::in_all::Structures;
use finishline_engine::explore::{Exploration, Fault, Faulty, Incomplete, Missing, Piece};
use finishline_ir::machine::TrapKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A piece, or the end of an exploration that is not complete.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Record {
    Piece(Box<PieceRecord>),
    /// Why not all pieces are here.
    Incomplete(String),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct PieceRecord {
    number: usize,
    orders: u64,
    cut_off: u64,
    trials: u64,
    too_long: u64,
    incomplete: Option<String>,
    races: u64,
    failures: u64,
    deadlocks: u64,
    /// The word of a failure, or `race`, and the order.
    faults: Vec<(String, String)>,
    /// By digest.
    states: BTreeMap<String, String>,
    /// The digest of the structure of all runs, and its orders. None: they differ.
    structure: Option<(u64, String)>,
    missing: Vec<(usize, Vec<u32>)>,
}

/// The reasons why an exploration is not complete, by word.
const INCOMPLETE: [(Incomplete, &str); 7] = [
    (Incomplete::FirstRace, "first-race"),
    (Incomplete::MaxOrders, "max-orders"),
    (Incomplete::MaxBlocks, "max-blocks"),
    (Incomplete::MaxSteps, "max-steps"),
    (Incomplete::Timeout, "timeout"),
    (Incomplete::Interrupted, "interrupted"),
    (Incomplete::Lost, "lost"),
];

pub(crate) fn incomplete_word(why: Incomplete) -> &'static str {
    let known = INCOMPLETE.iter().find(|(it, _)| *it == why);
    known.map_or("lost", |(_, word)| word)
}

pub(crate) fn incomplete(word: &str) -> Incomplete {
    let known = INCOMPLETE.iter().find(|(_, it)| *it == word);
    known.map_or(Incomplete::Lost, |(why, _)| *why)
}

const RACE: &str = "race";
const DEADLOCK: &str = "deadlock";

impl PieceRecord {
    pub(crate) fn new(number: usize, piece: &Piece) -> PieceRecord {
        let Piece { found, missing } = piece;
        let word = |fault| match fault {
            Fault::Race => RACE,
            Fault::Deadlock => DEADLOCK,
            Fault::Failed(word) => word,
        };
        PieceRecord {
            number,
            orders: found.orders,
            cut_off: found.cut_off,
            trials: found.trials,
            too_long: found.too_long,
            incomplete: found.incomplete.map(|why| incomplete_word(why).to_owned()),
            races: found.races,
            failures: found.failures,
            deadlocks: found.deadlocks,
            faults: (found.faults.iter())
                .map(|it| (word(it.fault).to_owned(), it.script.to_string()))
                .collect(),
            states: (found.states.iter())
                .map(|(state, script)| (format!("{state:032x}"), script.to_string()))
                .collect(),
            structure: match &found.structures {
                Structures::Same { digest, orders } => Some((*digest, orders.clone())),
                // A piece without orders has none.
                Structures::Unseen => Some((0, String::new())),
                Structures::Different => None,
            },
            missing: (missing.iter())
                .map(|it| (it.node, it.task.clone()))
                .collect(),
        }
    }

    /// The piece and its number. None if the record makes no sense.
    pub(crate) fn read(self) -> Option<(usize, Piece)> {
        let fault = |word: &str| match word {
            RACE => Some(Fault::Race),
            DEADLOCK => Some(Fault::Deadlock),
            word => {
                let mut known = TrapKind::WORDS.into_iter();
                known.find(|it| *it == word).map(Fault::Failed)
            }
        };
        let faults = self.faults.iter().map(|(word, script)| {
            Some(Faulty {
                fault: fault(word)?,
                script: script.parse().ok()?,
            })
        });
        let states = (self.states.iter()).map(|(state, script)| {
            let state = u128::from_str_radix(state, 16).ok()?;
            Some((state, script.parse().ok()?))
        });
        let found = Exploration {
            orders: self.orders,
            cut_off: self.cut_off,
            trials: self.trials,
            too_long: self.too_long,
            incomplete: self.incomplete.as_deref().map(incomplete),
            faults: faults.collect::<Option<_>>()?,
            races: self.races,
            failures: self.failures,
            deadlocks: self.deadlocks,
            states: states.collect::<Option<_>>()?,
            structures: match self.structure {
                Some((_, orders)) if orders.is_empty() => Structures::Unseen,
                Some((digest, orders)) => Structures::Same { digest, orders },
                None => Structures::Different,
            },
            ..Exploration::default()
        };
        let missing = self.missing.into_iter();
        let missing = missing.map(|(node, task)| Missing { node, task });
        let piece = Piece {
            found,
            missing: missing.collect(),
        };
        Some((self.number, piece))
    }
}
