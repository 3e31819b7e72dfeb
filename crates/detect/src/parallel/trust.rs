//! Which [phases] are trusted to only read which objects.
//!
//! Objects that are made at one place of the program are used alike, and phases that begin at one
//! place are alike. A phase is trusted when phases of its place have taken an eighth of the time of
//! the run, and a whole one was seen, or a whole task if tasks don't create tasks. It is trusted
//! with all objects but those of a maker of which such a phase has written one that it had not made
//! itself.
//!
//! **Deceived.** A phase may write an object after it was trusted to only read it. The run goes on
//! for a little while, to see what else deceives it, and is repeated without trust in that. A run
//! that is deceived again is repeated without any trust. Little is lost, because trust comes late,
//! and programs rarely change their ways.
//!
//! [phases]: super::phases

use super::phases::{AtObject, Maker, ObjectPhase, Phase, Trusted};
use crate::atomics::{AtomicU32, AtomicU64, Ordering};
use finishline_model::AccessKind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A place where a phase begins: where a task that is alone creates another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place(pub u32);

/// When phases are trusted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trust {
    /// When they have earned it.
    Earned,
    /// At once, to be deceived often: for tests.
    Blind,
    /// After a run was deceived: not with objects of such makers in phases of such places.
    NotWith(BTreeSet<(Maker, Place)>),
    Never,
}

/// What all workers know of the phases of a run.
pub(super) struct Trusting {
    trust: Trust,
    begun: Instant,
    present: Present,
    /// Whether objects of a maker were written in a phase of a place, by both. If two share a bit,
    /// one is trusted less than it might be.
    written: [AtomicU64; WRITTEN_WORDS],
    /// How long phases of other places have taken, in nanoseconds.
    spent: Mutex<BTreeMap<Place, u64>>,
    /// What was lost. The run goes on for a little while to see what else it would lose: until so
    /// many nanoseconds after it has begun.
    lost: Mutex<BTreeSet<(Maker, Place)>>,
    ends: AtomicU64,
}

/// The latest phase with several tasks. It is changed by a task that is alone.
#[derive(Default)]
struct Present {
    place: AtomicU32,
    /// When it began, and how long those of its place that have ended have taken.
    begun: AtomicU64,
    spent: AtomicU64,
    /// The latest phase that is trusted, and the latest one in which tasks have created tasks.
    trusted: AtomicU32,
    nested: AtomicU32,
}

const WRITTEN_WORDS: usize = 64;
/// Trust begins after such a part of the time.
const PROBATION: u64 = 8;
/// A run that has lost something goes on for such a part of its time.
const GOES_ON: u64 = 10;
/// It has lost nothing.
const NO_END: u64 = u64::MAX;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Trusting {
    pub(super) fn new(trust: Trust) -> Trusting {
        Trusting {
            trust,
            begun: Instant::now(),
            present: Present::default(),
            written: [const { AtomicU64::new(0) }; WRITTEN_WORDS],
            spent: Mutex::default(),
            lost: Mutex::default(),
            ends: AtomicU64::new(NO_END),
        }
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    fn place(&self) -> Place {
        Place(self.present.place.load(Ordering::Relaxed))
    }

    /// A task that was alone creates another one.
    pub(super) fn begin(&self, place: Place) {
        let before = self.place();
        if place != before {
            let mut spent = locked(&self.spent);
            spent.insert(before, self.present.spent.load(Ordering::Relaxed));
            let spent = spent.get(&place).copied().unwrap_or(0);
            self.present.spent.store(spent, Ordering::Relaxed);
            self.present.place.store(place.0, Ordering::Relaxed);
        }
        self.present.begun.store(self.now(), Ordering::Relaxed);
    }

    fn spent(&self, now: u64) -> u64 {
        let Present { begun, spent, .. } = &self.present;
        let since = now.saturating_sub(begun.load(Ordering::Relaxed));
        spent.load(Ordering::Relaxed).saturating_add(since)
    }

    /// A task is alone again.
    pub(super) fn end(&self) {
        let spent = self.spent(self.now());
        self.present.spent.store(spent, Ordering::Relaxed);
    }

    /// Another task than `main` creates one.
    #[inline]
    pub(super) fn nest(&self, phase: Phase) {
        let nested = &self.present.nested;
        if nested.load(Ordering::Relaxed) != phase.number() {
            nested.store(phase.number(), Ordering::Relaxed);
        }
    }

    /// Whether to trust this phase from now on. It may have shown a task from beginning to end.
    pub(super) fn consider(&self, phase: Phase, has_shown_task: bool) {
        let trusted = &self.present.trusted;
        // All workers read it: it is written once.
        if trusted.load(Ordering::Relaxed) == phase.number() {
            return;
        }
        let has_shown_phase = self.present.spent.load(Ordering::Relaxed) > 0;
        let is_flat = self.present.nested.load(Ordering::Relaxed) != phase.number();
        if has_shown_phase || has_shown_task && is_flat {
            let now = self.now();
            if self.spent(now) > now / PROBATION {
                trusted.store(phase.number(), Ordering::Relaxed);
            }
        }
    }

    /// Whether the run is to be repeated. Then accesses ask, so that it ends soon.
    #[inline]
    pub(super) fn is_deceived(&self) -> bool {
        self.ends.load(Ordering::Relaxed) != NO_END
    }

    /// Whether the phase is trusted with some objects.
    #[inline]
    pub(super) fn trusts(&self, phase: Phase) -> bool {
        match self.trust {
            Trust::Earned | Trust::NotWith(_) => {
                self.present.trusted.load(Ordering::Relaxed) == phase.number()
            }
            Trust::Blind => true,
            Trust::Never => false,
        }
    }

    fn trusts_with(&self, phase: Phase, maker: Maker) -> Trusted {
        if !self.trusts(phase) {
            return Trusted::No;
        }
        let is_excepted = match &self.trust {
            Trust::NotWith(some) => some.contains(&(maker, self.place())),
            _ => false,
        };
        match is_excepted || self.trust != Trust::Blind && self.is_written(maker) {
            true => Trusted::WithOthers,
            false => Trusted::Yes,
        }
    }

    fn written_bit(&self, maker: Maker) -> (&AtomicU64, u64) {
        let key = u64::from(maker.0) << 32 | u64::from(self.place().0);
        // Fibonacci hashing.
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        let word = &self.written[hash as usize % WRITTEN_WORDS];
        (word, 1 << (hash / WRITTEN_WORDS as u64))
    }

    fn is_written(&self, maker: Maker) -> bool {
        let (word, bit) = self.written_bit(maker);
        word.load(Ordering::Relaxed) & bit != 0
    }

    fn note_written(&self, maker: Maker) {
        let (word, bit) = self.written_bit(maker);
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// An access to an object, which may have an owner in this phase. If the phase has lost its
    /// readers, the run may go on for a while.
    pub(super) fn access(
        &self,
        kind: AccessKind,
        object: &ObjectPhase,
        phase: Phase,
        has_owner: bool,
    ) -> AtObject {
        let trusted = match kind {
            _ if phase.is_alone() => Trusted::No,
            _ if has_owner => Trusted::WithOthers,
            AccessKind::Read => self.trusts_with(phase, object.maker()),
            AccessKind::Write => {
                self.note_written(object.maker());
                Trusted::No
            }
        };
        let found = object.access(kind, phase, trusted);
        if found != AtObject::Lost && !self.is_deceived() {
            return found;
        }
        let now = self.now();
        if now >= self.ends.load(Ordering::Relaxed) {
            return AtObject::Lost;
        }
        if found == AtObject::Lost {
            locked(&self.lost).insert((object.maker(), self.place()));
            object.record(phase);
            self.ends.fetch_min(now + now / GOES_ON, Ordering::Relaxed);
            return AtObject::Recorded;
        }
        found
    }

    /// What another run may trust, if this one was deceived.
    pub(super) fn after_deceit(&self) -> Option<Trust> {
        let lost = locked(&self.lost);
        if lost.is_empty() {
            return None;
        }
        match &self.trust {
            Trust::Earned | Trust::Blind => Some(Trust::NotWith(lost.clone())),
            Trust::NotWith(_) | Trust::Never => Some(Trust::Never),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place(3);
    const READ: AccessKind = AccessKind::Read;
    const WRITE: AccessKind = AccessKind::Write;

    /// A run in its first phase with several tasks, which makes an object before.
    fn begun(trust: Trust) -> (Trusting, Phase, ObjectPhase) {
        let trusting = Trusting::new(trust);
        trusting.begin(PLACE);
        let object = ObjectPhase::new(Phase::FIRST.words(false), Maker(7));
        (trusting, Phase::FIRST.beside_others(), object)
    }

    #[test]
    fn a_phase_that_reads_and_writes_deceives_who_trusts_it() {
        let (blind, phase, object) = begun(Trust::Blind);
        assert_eq!(blind.access(READ, &object, phase, false), AtObject::Done);
        assert_eq!(blind.after_deceit(), None);
        blind.access(WRITE, &object, phase, false);
        let Some(less) = blind.after_deceit() else {
            panic!("it was deceived");
        };
        assert_eq!(less, Trust::NotWith(BTreeSet::from([(Maker(7), PLACE)])));
        // The run ends soon, whatever is accessed.
        assert!(blind.is_deceived());
        assert_eq!(object.find(WRITE, &phase.words(true).asking()), None);
        // Without trust nothing is lost.
        for trust in [less, Trust::Never] {
            let (run, phase, object) = begun(trust);
            run.consider(phase, true);
            assert_eq!(run.access(READ, &object, phase, false), AtObject::Recorded);
            assert_eq!(run.access(WRITE, &object, phase, false), AtObject::Recorded);
            assert_eq!(run.after_deceit(), None);
        }
    }

    #[test]
    fn who_is_deceived_again_trusts_nobody() {
        let (run, phase, object) = begun(Trust::NotWith(BTreeSet::new()));
        object.access(READ, phase, Trusted::Yes);
        run.access(WRITE, &object, phase, false);
        assert_eq!(run.after_deceit(), Some(Trust::Never));
    }

    #[test]
    fn trust_is_earned() {
        let (run, phase, object) = begun(Trust::Earned);
        assert_eq!(run.access(READ, &object, phase, false), AtObject::Recorded);
        // Nothing was seen yet.
        run.consider(phase, false);
        assert_eq!(run.access(READ, &object, phase, false), AtObject::Recorded);
        // A task was, and the phase has taken all of the time.
        while run.now() == 0 {}
        run.consider(phase, true);
        assert_eq!(run.access(READ, &object, phase, false), AtObject::Done);
        // But objects of another maker are written, and so may be those that come.
        let [one, other] = [(); 2].map(|()| ObjectPhase::new(Phase::FIRST.words(false), Maker(8)));
        assert_eq!(run.access(WRITE, &one, phase, false), AtObject::Recorded);
        assert_eq!(run.access(READ, &other, phase, false), AtObject::Recorded);
        let words = phase.words(run.trusts(phase));
        assert_eq!(other.find(READ, &words), Some(AtObject::Recorded));
        // Nested tasks may do something else later.
        let next = phase.alone_again().beside_others();
        run.begin(Place(4));
        run.nest(next);
        while run.spent(run.now()) <= run.now() / PROBATION {}
        run.consider(next, true);
        assert_eq!(run.access(READ, &object, next, false), AtObject::Recorded);
        assert_eq!(run.after_deceit(), None);
    }

    #[test]
    fn a_task_alone_is_never_recorded() {
        let (run, phase, object) = begun(Trust::Never);
        for phase in [Phase::FIRST, phase.alone_again()] {
            assert_eq!(run.access(WRITE, &object, phase, false), AtObject::Done);
            assert_eq!(run.access(READ, &object, phase, false), AtObject::Done);
        }
    }

    /// So many phases that their numbers end.
    #[test]
    fn the_last_phase_is_recorded() {
        let (run, _, object) = begun(Trust::Blind);
        for kind in [READ, WRITE] {
            assert_eq!(
                run.access(kind, &object, Phase::RECORDED, false),
                AtObject::Recorded
            );
        }
        let last = Phase::RECORDED;
        assert_eq!(last.alone_again(), last);
        assert_eq!(last.beside_others(), last);
    }
}
