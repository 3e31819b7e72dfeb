//! The kinds of things in the findings of an instrumented process, with the word that its findings file has for each.

/// What keeps the two accesses of a pair apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConflictClass {
    /// Nothing.
    Race,
    /// A lock: both held it, or one gave it up behind its access and the other took it then.
    LockOrdered,
    /// Both are atomic and happen at once, in either order; or a release and an acquire came in between.
    AtomicOrdered,
}

impl ConflictClass {
    pub const ALL: [ConflictClass; 3] = [
        ConflictClass::Race,
        ConflictClass::LockOrdered,
        ConflictClass::AtomicOrdered,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            ConflictClass::Race => "race",
            ConflictClass::LockOrdered => "lock-ordered",
            ConflictClass::AtomicOrdered => "atomic-ordered",
        }
    }

    pub fn from_word(word: &str) -> Option<ConflictClass> {
        ConflictClass::ALL.into_iter().find(|c| c.word() == word)
    }
}

/// What an access does to its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeAccessKind {
    Read,
    Write,
    /// Frees the heap block that they are.
    Free,
}

impl NativeAccessKind {
    pub const ALL: [NativeAccessKind; 3] = [
        NativeAccessKind::Read,
        NativeAccessKind::Write,
        NativeAccessKind::Free,
    ];

    /// The word of findings files and reports.
    pub const fn word(self) -> &'static str {
        match self {
            NativeAccessKind::Read => "read",
            NativeAccessKind::Write => "write",
            NativeAccessKind::Free => "free",
        }
    }

    pub fn from_word(word: &str) -> Option<NativeAccessKind> {
        NativeAccessKind::ALL.into_iter().find(|k| k.word() == word)
    }
}

/// What a variable was seen to be used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SynchroniserKind {
    /// Held by one at a time.
    Lock,
    /// Held by several at a time.
    Rwlock,
    Atomic,
}

impl SynchroniserKind {
    pub const ALL: [SynchroniserKind; 3] = [
        SynchroniserKind::Lock,
        SynchroniserKind::Rwlock,
        SynchroniserKind::Atomic,
    ];

    /// The word of findings files and JSON reports.
    pub const fn word(self) -> &'static str {
        match self {
            SynchroniserKind::Lock => "lock",
            SynchroniserKind::Rwlock => "rwlock",
            SynchroniserKind::Atomic => "atomic",
        }
    }

    pub fn from_word(word: &str) -> Option<SynchroniserKind> {
        SynchroniserKind::ALL.into_iter().find(|k| k.word() == word)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeTaskKind {
    Main,
    JoinLeft,
    JoinRight,
    ScopeSpawn,
    Spawn,
    Broadcast,
    SpawnBroadcast,
    ScopeSpawnFifo,
    SpawnFifo,
    Thread,
}

impl NativeTaskKind {
    pub const ALL: [NativeTaskKind; 10] = [
        NativeTaskKind::Main,
        NativeTaskKind::JoinLeft,
        NativeTaskKind::JoinRight,
        NativeTaskKind::ScopeSpawn,
        NativeTaskKind::Spawn,
        NativeTaskKind::Broadcast,
        NativeTaskKind::SpawnBroadcast,
        NativeTaskKind::ScopeSpawnFifo,
        NativeTaskKind::SpawnFifo,
        NativeTaskKind::Thread,
    ];

    /// The word of findings files and JSON reports.
    pub const fn word(self) -> &'static str {
        match self {
            NativeTaskKind::Main => "main",
            NativeTaskKind::JoinLeft => "join-left",
            NativeTaskKind::JoinRight => "join-right",
            NativeTaskKind::ScopeSpawn => "scope-spawn",
            NativeTaskKind::Spawn => "spawn",
            NativeTaskKind::Broadcast => "broadcast",
            NativeTaskKind::SpawnBroadcast => "spawn-broadcast",
            NativeTaskKind::ScopeSpawnFifo => "scope-spawn-fifo",
            NativeTaskKind::SpawnFifo => "spawn-fifo",
            NativeTaskKind::Thread => "thread",
        }
    }

    pub fn from_word(word: &str) -> Option<NativeTaskKind> {
        NativeTaskKind::ALL.into_iter().find(|k| k.word() == word)
    }

    /// Which half of a join it is, if it is one.
    pub const fn half(self) -> Option<&'static str> {
        match self {
            NativeTaskKind::JoinLeft => Some("left"),
            NativeTaskKind::JoinRight => Some("right"),
            _ => None,
        }
    }

    /// The operation that creates such tasks, for a task whose creation left no trace of the method called.
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

/// What waits for tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NativeFinishKind {
    Program,
    Join,
    Scope,
    ScopeFifo,
    InPlaceScope,
    InPlaceScopeFifo,
    Broadcast,
}

impl NativeFinishKind {
    pub const ALL: [NativeFinishKind; 7] = [
        NativeFinishKind::Program,
        NativeFinishKind::Join,
        NativeFinishKind::Scope,
        NativeFinishKind::ScopeFifo,
        NativeFinishKind::InPlaceScope,
        NativeFinishKind::InPlaceScopeFifo,
        NativeFinishKind::Broadcast,
    ];

    /// The word of findings files.
    pub const fn word(self) -> &'static str {
        match self {
            NativeFinishKind::Program => "program",
            NativeFinishKind::Join => "join",
            NativeFinishKind::Scope => "scope",
            NativeFinishKind::ScopeFifo => "scope-fifo",
            NativeFinishKind::InPlaceScope => "in-place-scope",
            NativeFinishKind::InPlaceScopeFifo => "in-place-scope-fifo",
            NativeFinishKind::Broadcast => "broadcast",
        }
    }

    pub fn from_word(word: &str) -> Option<NativeFinishKind> {
        NativeFinishKind::ALL.into_iter().find(|k| k.word() == word)
    }

    /// The operation that ends with it, for one that left no trace of the method called.
    pub fn operation(self) -> String {
        self.word().replace('-', "_")
    }
}
