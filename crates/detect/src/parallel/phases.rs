//! Objects that a phase only reads.
//!
//! **Phases.** A task is *alone* while no other one is live: whatever it does then is ordered with
//! all the rest. A phase ends when a task that is alone creates another one, and when a task is
//! alone again. So all that happens in a phase precedes all that happens in a later one, and
//! accesses that race are in the same phase.
//!
//! **The rule.** Accesses race only if one of them writes. So nothing need be remembered of an
//! object as long as a phase only reads it, nor while a task is alone. Each object has a word: the
//! latest phase that has accessed it, and what its cells know of the accesses of that phase. They
//! know of all, and the object was *only read* or *written*; or it was only read, and the cells
//! need not know (*unrecorded*).
//!
//! ```text
//! the word           a read              a write                 a task that is alone
//! of another phase   makes it only read  makes it written        makes it unrecorded
//! only read          the cell decides    makes it written        –
//! written            the cell decides    the cell decides        –
//! unrecorded         is done             readers are *lost*      is done
//! ```
//!
//! **Own objects.** What a step does with an object that it makes precedes whatever others do with
//! the object. For others know the object from a location that the step wrote, or because they come
//! after the step; and if such a location does not race, its readers come after the step, too. So
//! nothing need be remembered of this either. The word of such an object is the number of its
//! *owner*, a step that makes objects. To others it is the word of another phase. An object of a
//! step of their own phase is recorded from their first access on: it was made to be written.
//! Locks let others come by an object without coming after the step that made it, so steps of
//! programs with locks or isolated blocks own nothing.
//!
//! The phase may be [*trusted*](super::trust), from the beginning or after a while. If it is
//! trusted with the object, a read makes it unrecorded instead of only read. If it writes the
//! object all the same, it can't tell who has read what: the run does not judge then, and is
//! repeated. If it is trusted with other objects, a read makes this one written, so that nobody
//! looks again.
//!
//! **Memory ordering.** All operations are relaxed: the word decides by itself. In its phase it
//! goes from only read to written or unrecorded, and stays there. Who finds one of these in its own
//! phase finds it for good, and changes are made by compare-and-swap. The end of a task orders its
//! phase before the next one.

use crate::atomics::{AtomicU32, Ordering};
use finishline_model::AccessKind;
use std::mem::offset_of;

/// The number of a phase. In odd ones a task is alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phase(u32);

/// All phases from this one on are one: everything is recorded in it.
const LAST: u32 = (1 << 29) - 2;

/// Words of phases are greater than those of owners.
const FIRST_WORD: u32 = 1 << 31;

/// No object has this word.
const NEVER: u32 = u32::MAX;

impl Phase {
    /// In which everything is recorded, also of what steps make.
    pub const RECORDED: Phase = Phase(LAST);
    /// That of `main` at its beginning. Objects that nobody has accessed have the word 0.
    pub const FIRST: Phase = Phase(1);

    pub const fn is_alone(self) -> bool {
        self.0 % 2 == 1
    }

    /// The task creates another one.
    #[must_use]
    pub fn beside_others(self) -> Phase {
        Phase(self.0 + u32::from(self.is_alone()))
    }

    /// All other tasks have ended.
    #[must_use]
    pub fn alone_again(self) -> Phase {
        Phase(LAST.min(self.0 + 1 + u32::from(self.is_alone())))
    }

    pub(super) const fn number(self) -> u32 {
        self.0
    }

    const fn unrecorded(self) -> u32 {
        match self.0 {
            LAST => NEVER,
            number => FIRST_WORD + 4 * number,
        }
    }

    const fn only_read(self) -> u32 {
        FIRST_WORD + 4 * self.0 + 1
    }

    const fn written(self) -> u32 {
        FIRST_WORD + 4 * self.0 + 2
    }

    /// A phase that is trusted looks again at what it only read before. Its steps own nothing yet.
    #[inline]
    pub fn words(self, is_trusted: bool) -> PhaseWords {
        let (unrecorded, written) = (self.unrecorded(), self.written());
        let recorded = match is_trusted {
            true => [written; 2],
            false => [self.only_read(), written],
        };
        match self.is_alone() {
            true => PhaseWords {
                done: [unrecorded; 2],
                recorded,
                owner: Owner::NOBODY,
                first_owner: Owner::NOBODY,
                made: unrecorded,
            },
            false => PhaseWords {
                done: [unrecorded, NEVER],
                recorded,
                owner: Owner::NOBODY,
                first_owner: Owner::NOBODY,
                made: written,
            },
        }
    }
}

/// The words of objects that matter in a phase. Compiled code compares objects with it.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhaseWords {
    /// By kind of access: if an object has this word, the access is done.
    pub done: [u32; 2],
    /// If it has this one or a greater one, the cell decides.
    pub recorded: [u32; 2],
    /// If it has this one, the running step has made it, and the access is done.
    pub owner: Owner,
    /// Owners from this one on are steps of the phase.
    pub first_owner: Owner,
    /// What an object has that is made now. Most are written next.
    pub made: u32,
}

/// The number of a step that makes objects, or nobody's. Later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub struct Owner(u32);

impl Owner {
    /// No object has this one.
    pub const NOBODY: Owner = Owner(FIRST_WORD - 1);
    /// That of the first step. Objects that nobody has accessed have the word 0.
    pub(super) const FIRST: u32 = 1;

    /// That of the step with this number, if there are so many owners.
    pub(super) fn new(number: u32) -> Owner {
        Owner(number.min(Owner::NOBODY.0))
    }

    pub(super) fn number(self) -> u32 {
        self.0
    }
}

impl PhaseWords {
    /// Of code that does not run.
    pub const NONE: PhaseWords = PhaseWords {
        done: [NEVER; 2],
        recorded: [NEVER; 2],
        owner: Owner::NOBODY,
        first_owner: Owner::NOBODY,
        made: 0,
    };

    /// The same, if owners from this one on are steps of the phase.
    #[must_use]
    pub fn since(self, first_owner: Owner) -> PhaseWords {
        PhaseWords {
            first_owner,
            ..self
        }
    }

    /// Whether the running step would own the objects that it makes, but has made none yet.
    #[inline]
    pub fn may_own(&self) -> bool {
        self.owner == Owner::NOBODY && self.first_owner != Owner::NOBODY
    }

    /// The running step is this owner from now on.
    pub fn own(&mut self, owner: Owner) {
        match owner {
            // There are too many.
            Owner::NOBODY => self.first_owner = Owner::NOBODY,
            Owner(word) => {
                self.owner = owner;
                self.made = word;
                // One comparison tells.
                self.done[AccessKind::Write as usize] = word;
            }
        }
    }

    /// The same, if every access that is not done asks.
    #[must_use]
    pub fn asking(self) -> PhaseWords {
        PhaseWords {
            recorded: [NEVER; 2],
            ..self
        }
    }
}

/// Whether a phase is trusted to only read an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trusted {
    No,
    /// But with others.
    WithOthers,
    Yes,
}

/// What an access finds at its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtObject {
    /// The access is done.
    Done,
    /// The cell decides.
    Recorded,
    /// The phase has read the object without a record, and writes it now.
    Lost,
}

/// A place of the program that makes objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Maker(pub u32);

/// What the first access of a phase makes of an object's word. It may make the same of others of
/// its maker that the phase has not accessed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirstAccess {
    pub makes: u32,
    pub maker: Maker,
}

impl FirstAccess {
    /// No access makes such a word.
    pub const NONE: FirstAccess = FirstAccess {
        makes: 0,
        maker: Maker(0),
    };
}

/// What is known of an object in the latest phase that has accessed it.
#[repr(C)]
#[derive(Debug)]
pub struct ObjectPhase {
    word: AtomicU32,
    maker: Maker,
}

impl ObjectPhase {
    /// Where compiled code finds the maker. The word is at the beginning.
    pub const MAKER_OFFSET: usize = offset_of!(ObjectPhase, maker);

    /// Of an object that is made in a phase with these words.
    pub fn new(words: PhaseWords, maker: Maker) -> ObjectPhase {
        ObjectPhase {
            word: AtomicU32::new(words.made),
            maker,
        }
    }

    /// What an access finds, if the word need not change.
    #[inline]
    pub fn find(&self, kind: AccessKind, words: &PhaseWords) -> Option<AtObject> {
        let word = self.word();
        if word == words.done[kind as usize] || word == words.owner.0 {
            Some(AtObject::Done)
        } else if word >= words.recorded[kind as usize] {
            Some(AtObject::Recorded)
        } else {
            None
        }
    }

    /// Changes the word from one to another. Returns what is there.
    fn change(&self, found: u32, now: u32) -> u32 {
        let changed = self
            .word
            .compare_exchange(found, now, Ordering::Relaxed, Ordering::Relaxed);
        changed.map_or_else(|other| other, |_| now)
    }

    /// What an access finds, after it has changed the word.
    pub(super) fn access(&self, kind: AccessKind, phase: Phase, trusted: Trusted) -> AtObject {
        let [only_read, written] = [phase.only_read(), phase.written()];
        let unrecorded = phase.unrecorded();
        let mut found = self.word();
        loop {
            let now = match (kind, trusted) {
                _ if phase.is_alone() => unrecorded,
                (AccessKind::Read, Trusted::Yes) if unrecorded != NEVER => unrecorded,
                (AccessKind::Read, Trusted::No) => only_read,
                _ => written,
            };
            if found == written || found == now && now == only_read {
                return AtObject::Recorded;
            } else if found == unrecorded && (kind == AccessKind::Read || phase.is_alone()) {
                return AtObject::Done;
            } else if found == unrecorded {
                return AtObject::Lost;
            }
            found = self.change(found, now);
        }
    }

    /// Whether it was made by a step that is this owner or a later one, and only by that accessed.
    pub(super) fn is_owned_since(&self, first: Owner) -> bool {
        (first.0..Owner::NOBODY.0).contains(&self.word())
    }

    /// The readers are lost. The cells know what follows.
    pub(super) fn record(&self, phase: Phase) {
        self.word.store(phase.written(), Ordering::Relaxed);
    }

    /// What an access has made of it.
    pub fn word(&self) -> u32 {
        self.word.load(Ordering::Relaxed)
    }

    pub fn maker(&self) -> Maker {
        self.maker
    }
}
