//! Explores the pieces of a search on several threads.
//!
//! A thread takes the next piece, in the order of the [`Frontier`]. When all are done, children
//! that the crown of the search lacks are added, and their pieces are explored in another *round*,
//! until nothing is lacking. The results are put together in the order of the pieces. So the answer
//! does not depend on how many threads there are, nor on which of them is faster.
//!
//! If the first race is enough, the pieces behind the first one that has a race do not count, and
//! are given up. Those before it are explored to their end.
//!
//! The crown and the order of the pieces are the same in every process. So pieces can be explored
//! by other processes, or earlier by this one: a [`Course`] has what they came to. A process that
//! explores one part of the search ([`Part`]) does not know what the others found lacking, so it
//! stops after the first round. Whoever puts the parts together goes on with the rest.

use super::frontier::{Frontier, Missing, NotCut};
use super::subtree::{Explorer, Worker, ends};
use super::task_names::TaskNames;
use super::tree::Start;
use super::{Exploration, Incomplete};
use crate::partition::Part;
use finishline_detect::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What a piece came to.
#[derive(Clone, Debug, Default)]
pub struct Piece {
    pub found: Exploration,
    pub missing: BTreeSet<Missing>,
}

impl Piece {
    /// Whether the pieces behind it do not count.
    fn is_last(&self) -> bool {
        self.found.failure.is_some() || self.found.incomplete == Some(Incomplete::FirstRace)
    }

    /// Whether nothing is left to do in it.
    pub fn is_done(&self) -> bool {
        let why = self.found.incomplete;
        let is_done = |why| matches!(why, Incomplete::FirstRace | Incomplete::MaxBlocks);
        self.found.failure.is_none() && why.is_none_or(is_done)
    }
}

/// Hears of a piece, with its number.
pub type Keep<'a> = &'a (dyn Fn(usize, &Piece) + Sync);

/// How an exploration in pieces goes on.
#[derive(Default)]
pub struct Course<'a> {
    /// The pieces that were explored before, by number.
    pub known: BTreeMap<usize, Piece>,
    /// The part that is to be explored. None: all.
    pub part: Option<Part>,
    /// Hears of each piece that is done.
    pub keep: Option<Keep<'a>>,
}

/// Explores everything on this thread.
pub(super) fn in_one_piece(explorer: &Explorer<'_>) -> Exploration {
    match Worker::new(TaskNames::default()) {
        Ok(mut worker) => explorer.explore(&mut worker, Start::default(), &|| true, &mut |_, _| {}),
        Err(failure) => not_judged(failure),
    }
}

fn not_judged(failure: Failure) -> Exploration {
    Exploration {
        failure: Some(failure),
        ..Exploration::default()
    }
}

/// Explores in pieces, on as many threads as the options say.
pub(super) fn in_pieces(explorer: &Explorer<'_>, course: Course<'_>) -> Exploration {
    let mut worker = match Worker::new(TaskNames::default()) {
        Ok(worker) => worker,
        Err(failure) => return not_judged(failure),
    };
    let mut found = Exploration::default();
    if let Err(why) = in_rounds(explorer, &mut worker, course, &mut found) {
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
    mut course: Course<'_>,
    found: &mut Exploration,
) -> Result<(), NotCut> {
    let mut frontier = Frontier::new(explorer, worker)?;
    let mut begin = 0;
    while begin < frontier.pieces() {
        let end = frontier.pieces();
        course.explore(explorer, &frontier, &worker.names, begin, end);
        let mut missing = BTreeSet::new();
        for (_, piece) in course.known.range(begin..end) {
            missing.extend(piece.missing.iter().cloned());
            found.add(piece.found.clone());
            if piece.is_last() {
                break;
            }
        }
        begin = end;
        let is_over = found.failure.is_some() || found.incomplete.is_some_and(ends);
        if is_over || course.part.is_some() {
            break;
        }
        frontier.admit(explorer, worker, &missing)?;
    }
    found.probes += frontier.runs;
    Ok(())
}

impl Course<'_> {
    /// What the known pieces came to. Nothing is explored, for this reason.
    pub fn as_it_is(&self, why: Incomplete) -> Exploration {
        let mut found = Exploration::default();
        for piece in self.known.values() {
            found.add(piece.found.clone());
            if piece.is_last() {
                break;
            }
        }
        found.incomplete = found.incomplete.or(Some(why));
        found
    }

    /// Explores those of the pieces that are not known, up to the one that ends the exploration.
    fn explore(
        &mut self,
        explorer: &Explorer<'_>,
        frontier: &Frontier,
        names: &TaskNames,
        begin: usize,
        end: usize,
    ) {
        let ours = |piece: &usize| self.part.is_none_or(|part| part.has_piece(*piece));
        let open: Vec<usize> = (begin..end)
            .filter(|piece| ours(piece) && !self.known.contains_key(piece))
            .collect();
        let progress = explorer.progress;
        progress.pieces.store(end as u64, Ordering::Relaxed);
        let done = end - open.len();
        progress.explored.store(done as u64, Ordering::Relaxed);
        let known_last = self.known.iter().find(|(_, piece)| piece.is_last());
        // The pieces behind this one do not count.
        let last = AtomicUsize::new(known_last.map_or(usize::MAX, |(number, _)| *number));
        let next = AtomicUsize::new(0);
        let explored = Mutex::new(&mut self.known);
        let keep = self.keep;
        let work = || {
            let mut worker = Worker::new(names.clone());
            while let Some(&number) = open.get(next.fetch_add(1, Ordering::Relaxed))
                && number <= last.load(Ordering::Relaxed)
            {
                let piece = match &mut worker {
                    Ok(worker) => explore_piece(explorer, frontier, worker, number, &last),
                    Err(failure) => Piece {
                        found: not_judged(*failure),
                        missing: BTreeSet::new(),
                    },
                };
                if piece.is_last() {
                    last.fetch_min(number, Ordering::Relaxed);
                }
                if number > last.load(Ordering::Relaxed) {
                    return;
                }
                progress.explored.fetch_add(1, Ordering::Relaxed);
                if let Some(keep) = keep {
                    keep(number, &piece);
                }
                if let Ok(mut explored) = explored.lock() {
                    explored.insert(number, piece);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..explorer.options.jobs.get().min(open.len()) {
                scope.spawn(work);
            }
            work();
        });
    }
}

fn explore_piece(
    explorer: &Explorer<'_>,
    frontier: &Frontier,
    worker: &mut Worker,
    number: usize,
    last: &AtomicUsize,
) -> Piece {
    let mut missing = BTreeSet::new();
    let wants = || number <= last.load(Ordering::Relaxed);
    let mut above = |reversal: &_, names: &_| {
        missing.extend(frontier.missing(number, reversal, names));
    };
    let found = explorer.explore(worker, frontier.start(number), &wants, &mut above);
    Piece { found, missing }
}
