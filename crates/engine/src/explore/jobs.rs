//! Explores the pieces of a search on several threads.
//!
//! A thread takes the next piece, in the order of the [`Frontier`]. When all are done, children
//! that the crown of the search lacks are added, and their pieces are explored in another *round*,
//! until nothing is lacking. The results are put together in the order of the pieces. So the answer
//! does not depend on how many threads there are, nor on which of them is faster.
//!
//! If the first race is enough, the pieces behind the first one that has a race do not count, and
//! are given up. Those before it are explored to their end.

use super::frontier::{Frontier, Missing, NotCut};
use super::subtree::{Explorer, Worker, ends};
use super::task_names::TaskNames;
use super::tree::Start;
use super::{Exploration, Incomplete};
use finishline_detect::Failure;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Explores everything on this thread.
pub(super) fn in_one_piece(explorer: &Explorer<'_>) -> Exploration {
    match Worker::new(TaskNames::default()) {
        Ok(mut worker) => explorer.explore(&mut worker, Start::default(), &|| true, &mut |_| {}),
        Err(failure) => not_judged(failure),
    }
}

fn not_judged(failure: Failure) -> Exploration {
    Exploration {
        failure: Some(failure),
        ..Exploration::default()
    }
}

/// Explores everything on as many threads as the options say.
pub(super) fn in_pieces(explorer: &Explorer<'_>) -> Exploration {
    let mut worker = match Worker::new(TaskNames::default()) {
        Ok(worker) => worker,
        Err(failure) => return not_judged(failure),
    };
    let mut found = Exploration::default();
    if let Err(why) = in_rounds(explorer, &mut worker, &mut found) {
        match why {
            NotCut::Overdue(why) => found.incomplete = Some(why),
            NotCut::NoDetector(failure) => found.failure = Some(failure),
        }
    }
    found
}

fn in_rounds(
    explorer: &Explorer<'_>,
    worker: &mut Worker,
    found: &mut Exploration,
) -> Result<(), NotCut> {
    let mut frontier = Frontier::new(explorer, worker)?;
    let mut done = 0;
    while done < frontier.pieces() {
        let pieces = done..frontier.pieces();
        done = pieces.end;
        let mut missing = BTreeSet::new();
        for piece in round(explorer, &frontier, &worker.names, pieces) {
            missing.extend(piece.missing);
            found.add(piece.found);
        }
        if found.failure.is_some() || found.incomplete.is_some_and(ends) {
            break;
        }
        frontier.admit(explorer, worker, &missing)?;
    }
    found.probes = frontier.runs;
    Ok(())
}

/// What a piece came to.
pub(super) struct Piece {
    pub(super) found: Exploration,
    pub(super) missing: BTreeSet<Missing>,
}

/// Explores some pieces. The results come in their order, up to the one that ends the exploration.
fn round(
    explorer: &Explorer<'_>,
    frontier: &Frontier,
    names: &TaskNames,
    pieces: Range<usize>,
) -> Vec<Piece> {
    let next = AtomicUsize::new(pieces.start);
    // The pieces behind this one do not count.
    let last = AtomicUsize::new(usize::MAX);
    let results = Mutex::new(Vec::new());
    let work = || {
        let mut worker = Worker::new(names.clone());
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces.end || piece > last.load(Ordering::Relaxed) {
                return;
            }
            let mut missing = BTreeSet::new();
            let found = match &mut worker {
                Ok(worker) => {
                    let wants = || piece <= last.load(Ordering::Relaxed);
                    let mut above = |reversal| missing.extend(frontier.missing(piece, &reversal));
                    explorer.explore(worker, frontier.start(piece), &wants, &mut above)
                }
                Err(failure) => not_judged(*failure),
            };
            if found.failure.is_some() || found.incomplete == Some(Incomplete::FirstRace) {
                last.fetch_min(piece, Ordering::Relaxed);
            }
            if let Ok(mut results) = results.lock() {
                results.push((piece, Piece { found, missing }));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..explorer.options.jobs.get().min(pieces.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(piece, _)| *piece);
    let last = last.into_inner();
    let counts = results.into_iter().filter(|(piece, _)| *piece <= last);
    counts.map(|(_, piece)| piece).collect()
}
