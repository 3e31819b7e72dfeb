//! The computation graph of a run in the user's words, ready to be drawn.
//!
//! The engine fills it in; a report only formats it. A node of the picture stands for one node of
//! the graph, or for several like ones. [`Picture::left_out`] counts what it does not have.

use crate::answer::Answer;
use crate::location::Location;
use crate::place::Place;
use crate::task::Step;
use finishline_model::AccessKind;

#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The answer about the run. Its findings are the races of the picture.
    pub answer: Answer,
    /// In the order of the run, so that without loops edges lead to later nodes.
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    /// For each finding of the answer the two nodes that race. None if they are not in the picture.
    pub races: Vec<Option<[usize; 2]>>,
    /// The number of nodes of the graph.
    pub nodes_of_graph: u64,
    /// The number of nodes of the graph that are not in the picture.
    pub left_out: u64,
}

/// One node of the graph, or several like ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: Kind,
    pub begins: Begins,
    /// Where in the source it begins.
    pub place: Option<Place>,
    /// How its task was created. None for `main`.
    pub task: Option<Step>,
    pub accesses: Vec<NodeAccess>,
    /// The size of its access set. Not all need be in `accesses`.
    pub access_count: u64,
    /// The number of nodes of the graph that it stands for, at least 1.
    pub count: u64,
    /// It stands for tasks with everything in them: their number.
    pub folded_tasks: Option<u64>,
    /// The node that begins the innermost task or finish that contains this one. None for the first
    /// node of `main`.
    pub inside: Option<usize>,
}

/// What a node is called in the Zipper paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its task creates another one at its end.
    Async,
    /// It begins with the end or join of a finish.
    Wait,
    Isolated,
    Step,
}

impl Kind {
    /// The word of JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Async => "async",
            Kind::Wait => "wait",
            Kind::Isolated => "isolated",
            Kind::Step => "step",
        }
    }
}

/// What a node begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum Begins {
    Main,
    Task,
    /// Its task has created another one.
    AfterCreation,
    /// The finish around `main`.
    Root,
    /// `finish`, `forall`, `begin_finish`.
    Finish(String),
    /// The scope of `sync`.
    SyncScope,
    /// The end of a finish that has begun at this line.
    FinishEnd(String, u32),
    EndOfMain,
    EndOfSyncScope,
    Sync,
    Isolated,
    AfterIsolated,
    AfterSet,
    Get,
    Other,
}

impl Begins {
    /// The word of JSON.
    pub const fn word(&self) -> &'static str {
        match self {
            Begins::Main => "main",
            Begins::Task => "task",
            Begins::AfterCreation => "after-creation",
            Begins::Root | Begins::Finish(_) | Begins::SyncScope => "finish",
            Begins::FinishEnd(..) | Begins::EndOfMain | Begins::EndOfSyncScope => "finish-end",
            Begins::Sync => "sync",
            Begins::Isolated => "isolated",
            Begins::AfterIsolated => "after-isolated",
            Begins::AfterSet => "after-set",
            Begins::Get => "get",
            Begins::Other => "other",
        }
    }
}

/// An entry of an access set.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeAccess {
    pub kind: AccessKind,
    pub location: Accessed,
    pub line: u32,
    /// It is one of the two accesses of a race of the picture.
    pub races: bool,
}

/// What an entry of an access set is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Accessed {
    One(Location),
    /// The place in the source, for nodes that stand for several: `A[i]`.
    Each(String),
}

/// Why one node comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// The task goes on.
    Continue,
    /// The task begins.
    Create,
    /// A join waits for the task.
    Join,
    /// A get waits for the value of a promise.
    Promise,
    /// The observed order of isolated blocks.
    Isolation,
}

impl EdgeKind {
    pub const ALL: [EdgeKind; 5] = [
        EdgeKind::Continue,
        EdgeKind::Create,
        EdgeKind::Join,
        EdgeKind::Promise,
        EdgeKind::Isolation,
    ];

    /// The word of JSON and of legends.
    pub const fn word(self) -> &'static str {
        match self {
            EdgeKind::Continue => "continue",
            EdgeKind::Create => "create",
            EdgeKind::Join => "join",
            EdgeKind::Promise => "promise",
            EdgeKind::Isolation => "isolation",
        }
    }
}

/// An edge. If nodes stand for several iterations, an edge from a later one to an earlier one leads
/// to the next iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
}
