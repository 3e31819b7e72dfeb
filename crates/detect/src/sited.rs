//! The second pass: runs the program again for a few locations and names both accesses of each
//! race.
//!
//! A depth-first run is deterministic, so after a first pass with small cells it can be repeated.
//! Here the same order and history follow only the *watched* locations, the racing ones. Each field
//! of a cell also remembers the access it stands for. A race is then two [`AccessPoint`]s. Races
//! are collected as [`RacePairs`] in order of discovery:
//!
//! - An access races with each conflicting field. If a task is remembered both as writer and as
//!   reader, its read adds nothing and is left out, unless the write is only apparent and the read
//!   is not.
//! - A race is *apparent* if the observed order of isolated blocks separates its accesses
//!   ([`crate::order::isolation`]).
//! - With isolated blocks, the structural history may miss races that are not apparent. These are
//!   added ([`ObservedOrder`]), so a location with a pair that is not apparent is listed with one.
//!
//! An access to a location that is not watched costs one look-up in a bit set. A watched location
//! takes some 80 bytes, 250 with isolated blocks. If there are too many, the caller may watch some
//! of them. The others are ignored.

use crate::Failure;
use crate::history::{History, Now, ObservedOrder};
use crate::locations::LocationSet;
use crate::order::isolation::{CurrentStep, IsolationOrder};
use crate::order::{ESCAPING, LOCKS, NOBODY, Order, Stamp};
use crate::pairs::RacePairs;
use crate::table::{TableError, Zeroed, make_room};
use finishline_model::hash::IdMap;
use finishline_model::{Access, AccessKind, AccessPoint, Event, Location, Observer, Race};

#[derive(Debug)]
pub struct Sited<'a, O: Order, H: History> {
    order: O,
    strand: O::Strand,
    /// Present only if the program uses isolated blocks.
    isolation: Option<Isolation>,
    in_isolated: bool,
    watched: &'a LocationSet,
    /// The number of each watched location. The tables below are indexed by it.
    numbers: IdMap<Location, usize>,
    cells: Vec<H::Cell>,
    /// The accesses that the fields of the cells stand for.
    remembered: Vec<Option<Remembered>>,
    pairs: RacePairs,
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Isolation {
    order: IsolationOrder,
    /// Indexed by the number of the watched location.
    observed: Vec<ObservedOrder<Remembered>>,
}

/// An access to a watched location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Remembered {
    point: AccessPoint,
    stamp: Stamp,
    /// Its step, if the order of isolated blocks is followed.
    step: Option<CurrentStep>,
}

/// Whether the order of isolated blocks separates two accesses.
fn separates(order: &IsolationOrder, earlier: &Remembered, now: &Remembered) -> bool {
    match (earlier.step, now.step) {
        (Some(earlier), Some(now)) => order.before(earlier.id, now),
        _ => false,
    }
}

const TABLE: &str = "watched locations";

fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>, TableError> {
    let mut entries = Vec::new();
    make_room(&mut entries, count, TABLE)?;
    entries.resize(count, value);
    Ok(entries)
}

impl<'a, O: Order, H: History> Sited<'a, O, H> {
    pub fn new(watched: &'a LocationSet) -> Result<Self, Failure> {
        let count = watched.len();
        let fields = H::Cell::ZERO.as_ref().len();
        let mut numbers = IdMap::default();
        let refused = |_| TableError::refused::<(Location, usize)>(TABLE, count);
        numbers.try_reserve(count).map_err(refused)?;
        numbers.extend(watched.in_order().iter().copied().zip(0..));
        let isolation = match H::KNOWS_ISOLATED {
            true => Some(Isolation {
                order: IsolationOrder::new(),
                observed: filled(ObservedOrder::default(), count)?,
            }),
            false => None,
        };
        Ok(Sited {
            order: O::new()?,
            strand: O::Strand::default(),
            isolation,
            in_isolated: false,
            watched,
            numbers,
            cells: filled(H::Cell::ZERO, count)?,
            remembered: filled(None, count * fields)?,
            pairs: RacePairs::default(),
            failure: None,
        })
    }

    /// The pairs found in a run that has ended or was cut short.
    pub fn finish(self) -> Result<RacePairs, Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.pairs),
        }
    }

    /// The pairs found so far.
    pub fn pairs(&self) -> &RacePairs {
        &self.pairs
    }

    /// Starts over for another run with the same watched locations and keeps the memory.
    pub fn clear(&mut self) {
        self.order.clear();
        if let Some(isolation) = &mut self.isolation {
            isolation.order.clear();
            isolation.observed.fill(ObservedOrder::default());
        }
        self.in_isolated = false;
        self.cells.fill(H::Cell::ZERO);
        self.remembered.fill(None);
        self.pairs.clear();
        self.failure = None;
    }

    fn follow(&mut self, event: &Event) -> Result<(), Failure> {
        match event {
            Event::IsolatedBegin { .. } if !H::KNOWS_ISOLATED => {
                return Err(Failure::Unsupported("isolated"));
            }
            Event::Lock { .. } | Event::Unlock { .. } => {
                return Err(Failure::Unsupported(LOCKS));
            }
            Event::IsolatedBegin { .. } => self.in_isolated = true,
            Event::IsolatedEnd { .. } => self.in_isolated = false,
            _ => {}
        }
        self.order.event(event)?;
        self.strand = self.order.strand(event.task());
        if !self.order.stands_for_now(self.strand, NOBODY) {
            return Err(Failure::Unsupported(ESCAPING));
        }
        match &mut self.isolation {
            Some(isolation) => isolation.order.event(event),
            None => Ok(()),
        }
    }

    fn check(&mut self, access: &Access, location: Location) -> Result<(), Failure> {
        let Some(&number) = self.numbers.get(&location) else {
            return Ok(());
        };
        let &Access { task, kind, id, .. } = access;
        let isolated = self.in_isolated;
        let now = Remembered {
            point: AccessPoint {
                task,
                access: id,
                kind,
                isolated,
            },
            stamp: self.order.stamp(self.strand),
            step: self
                .isolation
                .as_ref()
                .and_then(|isolation| isolation.order.now(task)),
        };
        let mut candidates = self.by_structure(number, now);
        candidates.extend(self.by_observed_order(number, now));
        for (index, candidate) in candidates.iter().enumerate() {
            let said = candidates[..index].contains(candidate)
                || candidates
                    .iter()
                    .any(|other| other.makes_redundant(candidate));
            if !said {
                self.pairs.add(Race {
                    location,
                    first: candidate.first.point,
                    second: now.point,
                    ordered_by_isolation: candidate.apparent,
                    excluded_by: None,
                })?;
            }
        }
        Ok(())
    }

    /// The remembered accesses that race with this one by task structure.
    fn by_structure(&mut self, number: usize, now: Remembered) -> Vec<Candidate> {
        let AccessPoint { kind, isolated, .. } = now.point;
        let access = Now {
            stamp: now.stamp,
            kind,
            isolated,
        };
        let cell = &mut self.cells[number];
        let done = H::transition(*cell, access, |earlier| {
            self.order.parallel(self.strand, earlier)
        });
        *cell = done.cell;

        let fields = cell.as_ref().len();
        let remembered = &mut self.remembered[number * fields..][..fields];
        let apparent = |first: &Remembered| {
            self.isolation
                .as_ref()
                .is_some_and(|isolation| separates(&isolation.order, first, &now))
        };
        let racing = done
            .races
            .iter()
            .filter_map(|field| remembered[field as usize]);
        let candidates = racing
            .map(|first| Candidate {
                first,
                apparent: apparent(&first),
            })
            .collect();
        if let Some(field) = done.recorded {
            remembered[field as usize] = Some(now);
        }
        candidates
    }

    /// The remembered accesses that race with this one and that the observed order of isolated
    /// blocks does not separate from it.
    fn by_observed_order(
        &mut self,
        number: usize,
        now: Remembered,
    ) -> impl Iterator<Item = Candidate> + use<O, H> {
        let unordered = self
            .isolation
            .as_mut()
            .map(|Isolation { order, observed }| {
                observed[number].access(
                    now,
                    now.point.kind,
                    |earlier| {
                        !self.order.parallel(self.strand, earlier.stamp)
                            || separates(order, earlier, &now)
                    },
                    |earlier| order.first_block_after(earlier.step?.id),
                )
            });
        let racing = unordered.into_iter().flatten().flatten();
        racing.map(|first| Candidate {
            first,
            apparent: false,
        })
    }
}

/// An earlier access that races with the current one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Candidate {
    first: Remembered,
    apparent: bool,
}

impl Candidate {
    /// Whether this is a write that makes the read `other` of the same task redundant.
    fn makes_redundant(&self, other: &Candidate) -> bool {
        self.first.point.kind == AccessKind::Write
            && other.first.point.kind == AccessKind::Read
            && self.first.point.task == other.first.point.task
            && (!self.apparent || other.apparent)
    }
}

impl<O: Order, H: History> Observer for Sited<'_, O, H> {
    fn event(&mut self, event: &Event) {
        if self.failure.is_none() {
            self.failure = self.follow(event).err();
        }
    }

    fn access(&mut self, access: &Access) {
        for location in access.locations() {
            if self.watched.contains(location) && self.failure.is_none() {
                self.failure = self.check(access, location).err();
            }
        }
    }
}
