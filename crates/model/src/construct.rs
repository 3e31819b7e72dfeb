//! The parallel constructs of the language, as detectors, programs and reports name them.

/// A parallel construct of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Construct {
    Async,
    Finish,
    Forall,
    Isolated,
    BeginFinish,
    Spawn,
    Sync,
    Promise,
    Future,
    Lock,
}

impl Construct {
    pub const ALL: [Construct; 10] = [
        Construct::Async,
        Construct::Finish,
        Construct::Forall,
        Construct::Isolated,
        Construct::BeginFinish,
        Construct::Spawn,
        Construct::Sync,
        Construct::Promise,
        Construct::Future,
        Construct::Lock,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Construct::Async => "async",
            Construct::Finish => "finish",
            Construct::Forall => "forall",
            Construct::Isolated => "isolated",
            Construct::BeginFinish => "begin_finish",
            Construct::Spawn => "spawn",
            Construct::Sync => "sync",
            Construct::Promise => "promise",
            Construct::Future => "future",
            Construct::Lock => "lock",
        }
    }
}
