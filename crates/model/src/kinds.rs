//! The kinds of tasks, finishes and accesses of native programs, listed once.
//!
//! The drop-in for rayon-core sends a kind to the runtime as a number. The runtime writes a kind to
//! its findings file as a word. The tool reads the word back. Number and word both come from the
//! lists below, so the three always agree.
//!
//! The drop-in is compiled by the user's rustc from a single crate root and has no dependencies. It
//! includes this file by its path, so the file must stand alone: no `use` of this crate.

/// The version of the C interface between drop-in and runtime. It changes with every change of the
/// functions, their meaning, or the order of a list below.
pub const INTERFACE_VERSION: u32 = 2;

/// Defines an enumeration. Each variant has a word, and its position is its number.
macro_rules! kinds {
    ($(#[$attribute:meta])* $name:ident: $($(#[$about:meta])* $variant:ident $word:literal)*) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$about])* $variant,)*
        }

        impl $name {
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];

            /// The word in findings files and JSON reports.
            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            pub fn from_word(word: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|kind| kind.word() == word)
            }

            pub const fn number(self) -> u32 {
                self as u32
            }

            pub fn from_number(number: u32) -> Option<$name> {
                $name::ALL.get(number as usize).copied()
            }
        }
    };
}

kinds! {
    /// What created a task.
    NativeTaskKind:
    /// The task that the program begins with.
    Main "main"
    JoinLeft "join-left"
    JoinRight "join-right"
    ScopeSpawn "scope-spawn"
    Spawn "spawn"
    Broadcast "broadcast"
    SpawnBroadcast "spawn-broadcast"
    ScopeSpawnFifo "scope-spawn-fifo"
    SpawnFifo "spawn-fifo"
    Thread "thread"
}

kinds! {
    /// What waits for tasks.
    NativeFinishKind:
    /// The end of the program.
    Program "program"
    Join "join"
    Scope "scope"
    ScopeFifo "scope-fifo"
    InPlaceScope "in-place-scope"
    InPlaceScopeFifo "in-place-scope-fifo"
    Broadcast "broadcast"
}

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

kinds! {
    /// Which half of a join runs first.
    FirstHalf:
    Left "left"
    Right "right"
}

impl NativeTaskKind {
    /// The half of a join, if the task is one.
    pub const fn half(self) -> Option<&'static str> {
        match self {
            NativeTaskKind::JoinLeft => Some("left"),
            NativeTaskKind::JoinRight => Some("right"),
            _ => None,
        }
    }

    /// The operation that creates such tasks. Used if the name of the called method is unknown.
    pub const fn operation(self) -> &'static str {
        match self {
            NativeTaskKind::Main => "main",
            NativeTaskKind::JoinLeft | NativeTaskKind::JoinRight => "join",
            NativeTaskKind::ScopeSpawn | NativeTaskKind::Spawn => "spawn",
            NativeTaskKind::Broadcast => "broadcast",
            NativeTaskKind::SpawnBroadcast => "spawn_broadcast",
            NativeTaskKind::ScopeSpawnFifo | NativeTaskKind::SpawnFifo => "spawn_fifo",
            NativeTaskKind::Thread => "thread",
        }
    }
}

impl NativeFinishKind {
    /// The operation that this finish ends. Used if the name of the called method is unknown.
    pub fn operation(self) -> String {
        self.word().replace('-', "_")
    }
}
