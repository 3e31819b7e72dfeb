//! The kinds of tasks, finishes and accesses of native programs, listed once.
//!
//! The runtime writes a kind to its findings file as a word, and to a recording as a number. The
//! tool reads both back. Number and word come from the lists below, so the parties always agree.
//!
//! Some kinds occur in every program. Those of tasks and finishes mostly belong to a library, a
//! *dialect* of native programs: it lists them, with their words, in a file of its own.

#[macro_use]
mod list;
pub mod rayon;

kinds! {
    /// What an access does to its bytes.
    NativeAccessKind:
    Read "read"
    Write "write"
    /// The access frees the heap block that the bytes belong to.
    Free "free"
}

kinds! {
    /// What keeps the two accesses of a pair apart.
    ConflictClass:
    /// Nothing: the two accesses race.
    Race "race"
    /// A lock. Both tasks held it, or one released it after its access and the other then took it.
    LockOrdered "lock-ordered"
    /// Both accesses are atomic and may come in either order, or a release and an acquire lie
    /// between them.
    AtomicOrdered "atomic-ordered"
    /// The thread that both tasks were on, having asked which one it is. If the bytes are what the
    /// program keeps for the thread, they are not shared.
    ThreadOrdered "thread-ordered"
    /// Nothing keeps the two from meeting: the first freed the block, and the second came later.
    UseAfterFree "use-after-free"
}

kinds! {
    /// How the program was seen to use a variable that orders tasks.
    SynchroniserKind:
    /// One task at a time holds it.
    Lock "lock"
    /// Several tasks at a time may hold it.
    Rwlock "rwlock"
    Atomic "atomic"
}

kinds! {
    /// What a task waits by, or for, when it waits in vain.
    WaitKind:
    /// The system call behind locks, channels and condition variables.
    Futex "futex"
    /// The task reads an atomic variable over and over.
    Spin "spin"
    /// The end of a thread.
    Join "join"
    /// A thread that cannot go on before this one does.
    Creator "creator"
}

/// How many bytes of freed blocks a process keeps if nothing else was asked for.
pub const QUARANTINE: u64 = 64 << 20;

/// What created a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeTaskKind {
    /// The task that the program begins with.
    Main,
    Rayon(rayon::TaskKind),
    Thread,
}

impl NativeTaskKind {
    const FIRST_OF_RAYON: u32 = 1;
    const THREAD: u32 = Self::FIRST_OF_RAYON + rayon::TaskKind::ALL.len() as u32;

    pub fn all() -> impl Iterator<Item = NativeTaskKind> {
        (0..).map_while(NativeTaskKind::from_number)
    }

    /// The word in findings files and JSON reports.
    pub const fn word(self) -> &'static str {
        match self {
            NativeTaskKind::Main => "main",
            NativeTaskKind::Rayon(kind) => kind.word(),
            NativeTaskKind::Thread => "thread",
        }
    }

    pub fn from_word(word: &str) -> Option<NativeTaskKind> {
        NativeTaskKind::all().find(|kind| kind.word() == word)
    }

    /// The number in recordings.
    pub const fn number(self) -> u32 {
        match self {
            NativeTaskKind::Main => 0,
            NativeTaskKind::Rayon(kind) => Self::FIRST_OF_RAYON + kind.number(),
            NativeTaskKind::Thread => Self::THREAD,
        }
    }

    pub fn from_number(number: u32) -> Option<NativeTaskKind> {
        match number {
            0 => Some(NativeTaskKind::Main),
            Self::THREAD => Some(NativeTaskKind::Thread),
            number => {
                let kind = rayon::TaskKind::from_number(number - Self::FIRST_OF_RAYON);
                kind.map(NativeTaskKind::Rayon)
            }
        }
    }

    /// The half of a join, if the task is one.
    pub const fn half(self) -> Option<&'static str> {
        match self {
            NativeTaskKind::Rayon(kind) => kind.half(),
            NativeTaskKind::Main | NativeTaskKind::Thread => None,
        }
    }

    /// Such a task in a sentence, before the place that created it.
    pub const fn created(self) -> &'static str {
        match self {
            NativeTaskKind::Main => "the program",
            NativeTaskKind::Rayon(kind) => kind.created(),
            NativeTaskKind::Thread => "the thread started",
        }
    }

    /// The operation that creates such tasks. Used if the name of the called method is unknown.
    pub const fn operation(self) -> &'static str {
        match self {
            NativeTaskKind::Rayon(kind) => kind.operation(),
            NativeTaskKind::Main | NativeTaskKind::Thread => self.word(),
        }
    }
}

/// What waits for tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeFinishKind {
    /// The end of the program.
    Program,
    Rayon(rayon::FinishKind),
}

impl NativeFinishKind {
    const FIRST_OF_RAYON: u32 = 1;

    pub fn all() -> impl Iterator<Item = NativeFinishKind> {
        (0..).map_while(NativeFinishKind::from_number)
    }

    /// The word in findings files and JSON reports.
    pub const fn word(self) -> &'static str {
        match self {
            NativeFinishKind::Program => "program",
            NativeFinishKind::Rayon(kind) => kind.word(),
        }
    }

    pub fn from_word(word: &str) -> Option<NativeFinishKind> {
        NativeFinishKind::all().find(|kind| kind.word() == word)
    }

    /// The number in recordings.
    pub const fn number(self) -> u32 {
        match self {
            NativeFinishKind::Program => 0,
            NativeFinishKind::Rayon(kind) => Self::FIRST_OF_RAYON + kind.number(),
        }
    }

    pub fn from_number(number: u32) -> Option<NativeFinishKind> {
        match number.checked_sub(Self::FIRST_OF_RAYON) {
            None => Some(NativeFinishKind::Program),
            Some(number) => rayon::FinishKind::from_number(number).map(NativeFinishKind::Rayon),
        }
    }

    /// The operation that this finish ends. Used if the name of the called method is unknown.
    pub fn operation(self) -> String {
        self.word().replace('-', "_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `docs/trace-format.md` lists them.
    #[test]
    fn numbers_and_words_are_as_recordings_have_them() {
        let tasks: Vec<_> = NativeTaskKind::all().map(NativeTaskKind::word).collect();
        let expected = "main join-left join-right scope-spawn spawn broadcast spawn-broadcast \
                        scope-spawn-fifo spawn-fifo thread";
        assert_eq!(tasks.join(" "), expected);
        let finishes: Vec<_> = NativeFinishKind::all()
            .map(NativeFinishKind::word)
            .collect();
        let expected = "program join scope scope-fifo in-place-scope in-place-scope-fifo broadcast";
        assert_eq!(finishes.join(" "), expected);
        for (number, kind) in (0..).zip(NativeTaskKind::all()) {
            assert_eq!(kind.number(), number);
            assert_eq!(NativeTaskKind::from_word(kind.word()), Some(kind));
        }
        for (number, kind) in (0..).zip(NativeFinishKind::all()) {
            assert_eq!(kind.number(), number);
            assert_eq!(NativeFinishKind::from_word(kind.word()), Some(kind));
        }
        assert_eq!(NativeTaskKind::from_number(10), None);
        assert_eq!(NativeFinishKind::from_number(7), None);
    }
}
