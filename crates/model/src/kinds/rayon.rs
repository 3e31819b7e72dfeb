//! rayon's kinds of tasks and finishes, and their words.
//!
//! The drop-in for rayon-core sends a kind to the runtime as a number. The drop-in is compiled by
//! the user's rustc from a single crate root and has no dependencies. It includes this file and
//! `list.rs` by their paths, so both must stand alone: no `use` of this crate.

/// The version of the C interface between drop-in and runtime. It changes with every change of the
/// functions, their meaning, or the order of a list below.
pub const INTERFACE_VERSION: u32 = 5;

/// Set in the runtime's answer to the drop-in, beside the number of threads, if parallel iterators
/// are to be divided down to single items.
pub const TO_ITEMS: u32 = 1 << 31;

/// Set in the runtime's answer to a join: the right half runs first, and the second half may run in
/// the midst of the first.
pub const RIGHT_FIRST: u32 = 1;
pub const INTERRUPTS: u32 = 2;

/// Nested divisions of parallel iterators that go down to single items: with 12 levels, 4096 items
/// are tasks of their own.
pub const MOST_LEVELS: u32 = 12;
/// And divisions of a process that do.
pub const MOST_DIVISIONS: u32 = 1 << 18;

kinds! {
    /// What created a task.
    TaskKind:
    JoinLeft "join-left"
    JoinRight "join-right"
    ScopeSpawn "scope-spawn"
    Spawn "spawn"
    Broadcast "broadcast"
    SpawnBroadcast "spawn-broadcast"
    ScopeSpawnFifo "scope-spawn-fifo"
    SpawnFifo "spawn-fifo"
}

kinds! {
    /// What waits for tasks.
    FinishKind:
    Join "join"
    Scope "scope"
    ScopeFifo "scope-fifo"
    InPlaceScope "in-place-scope"
    InPlaceScopeFifo "in-place-scope-fifo"
    Broadcast "broadcast"
}

kinds! {
    /// How finely parallel iterators were divided. Of two, the later one says of both what is left.
    #[derive(Default)]
    Division:
    /// There was nothing to divide.
    #[default]
    None "none"
    /// As for the threads of their pool.
    Threads "threads"
    /// As far as the program and the iterators allow: mostly down to single items.
    Items "items"
    /// So, up to a limit of the drop-in; the rest as for the threads of their pool.
    Partly "partly"
}

kinds! {
    /// Which half of a join runs first.
    FirstHalf:
    Left "left"
    Right "right"
}

impl TaskKind {
    /// The half of a join, if the task is one.
    pub const fn half(self) -> Option<&'static str> {
        match self {
            TaskKind::JoinLeft => Some("left"),
            TaskKind::JoinRight => Some("right"),
            _ => None,
        }
    }

    /// Such a task in a sentence, before the place that created it.
    pub const fn created(self) -> &'static str {
        match self {
            TaskKind::JoinLeft => "the left half of the join",
            TaskKind::JoinRight => "the right half of the join",
            TaskKind::Broadcast => "the task of the broadcast",
            TaskKind::ScopeSpawn
            | TaskKind::Spawn
            | TaskKind::SpawnBroadcast
            | TaskKind::ScopeSpawnFifo
            | TaskKind::SpawnFifo => "the task spawned",
        }
    }

    /// The operation that creates such tasks.
    pub const fn operation(self) -> &'static str {
        match self {
            TaskKind::JoinLeft | TaskKind::JoinRight => "join",
            TaskKind::ScopeSpawn | TaskKind::Spawn => "spawn",
            TaskKind::Broadcast => "broadcast",
            TaskKind::SpawnBroadcast => "spawn_broadcast",
            TaskKind::ScopeSpawnFifo | TaskKind::SpawnFifo => "spawn_fifo",
        }
    }
}
