//! Tasks by the operations that created them, stacks of calls, and why two tasks are parallel.

use crate::place::Place;
use crate::stored;
use finishline_model::kinds::NativeTaskKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A task by the steps that led to it, `main` left out.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Task {
    /// Its number in the run of a process, where 0 is `main`; 0 in other answers.
    pub id: u64,
    pub steps: Vec<Step>,
}

/// One operation of the user that created tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// A construct of Fin (`async`, `forall`, `spawn`) or a method (`for_each`, `join`).
    pub operation: String,
    pub place: Option<Place>,
    pub created: Created,
}

/// Which of the tasks that an operation created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Created {
    /// A task of Fin.
    One(Creation),
    /// Tasks inside each other, the outermost first; at least one. A parallel iterator divides
    /// itself by joins inside joins, and a recursion comes back to the same place.
    Nested(Vec<Part>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Creation {
    /// Index among its creator's tasks: the same in every schedule.
    pub index: u32,
    /// Captured numbers by name, as `i = 0`.
    pub captures: Vec<(String, String)>,
    /// The other task of the finding reads the same: only the index tells them apart.
    pub told_by_index: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub task: u64,
    #[serde(with = "stored::task_kind")]
    pub kind: NativeTaskKind,
}

impl Step {
    /// The line where the tasks are created; 0 if unknown.
    pub fn line(&self) -> u32 {
        self.place.as_ref().map_or(0, |place| place.line)
    }

    /// Whether two steps lead to the same task.
    pub fn is_same(&self, other: &Step) -> bool {
        match (&self.created, &other.created) {
            (Created::One(one), Created::One(another)) => one.index == another.index,
            (Created::Nested(parts), Created::Nested(others)) => parts == others,
            _ => false,
        }
    }
}

impl Task {
    /// How many steps two tasks have in common.
    pub fn common_steps(&self, other: &Task) -> usize {
        let pairs = self.steps.iter().zip(&other.steps);
        pairs
            .take_while(|(one, another)| one.is_same(another))
            .count()
    }

    /// How the innermost task was created, if a process created it.
    pub fn kind(&self) -> Option<NativeTaskKind> {
        match &self.steps.last()?.created {
            Created::Nested(parts) => Some(parts.last()?.kind),
            Created::One(_) => None,
        }
    }
}

/// Frames from the innermost out, inlined ones included. An access of Fin has one frame.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Stack {
    pub frames: Vec<Frame>,
    /// The frame to show as the place: the innermost of the user's with a line, else the best there
    /// is.
    pub shown: Option<usize>,
}

impl Stack {
    /// A stack of one frame of the user's.
    pub fn of(function: &str, place: Place) -> Stack {
        Stack {
            frames: vec![Frame {
                function: function.to_owned(),
                place: Some(place),
                origin: Origin::User,
                inlined: false,
            }],
            shown: Some(0),
        }
    }

    /// The frame to show.
    pub fn frame(&self) -> Option<&Frame> {
        self.shown.and_then(|shown| self.frames.get(shown))
    }

    pub fn place(&self) -> Option<&Place> {
        self.frame()?.place.as_ref()
    }

    pub fn function(&self) -> &str {
        self.frame().map_or("", |frame| &frame.function)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Demangled, without hashes; the address and module if nothing else is known.
    pub function: String,
    pub place: Option<Place>,
    pub origin: Origin,
    /// Inlined into the next frame.
    pub inlined: bool,
}

/// Whose code a frame is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    User,
    /// A package that the user only depends on, by name.
    Dependency(String),
    Rayon,
    Std,
    /// C libraries, start-up code, code without names.
    System,
}

impl Origin {
    /// The word of JSON reports.
    pub fn word(&self) -> &str {
        match self {
            Origin::User => "user",
            Origin::Dependency(package) => package,
            Origin::Rayon => "rayon",
            Origin::Std => "std",
            Origin::System => "system",
        }
    }
}

/// Why nothing orders two accesses: the task that holds one of them, and the join that comes too
/// late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhyParallel {
    pub relation: Relation,
    /// The task, among the tasks of one access and those around it, that runs beside the other
    /// access.
    pub task: Task,
    /// Where that task was created.
    pub spawned: Option<Place>,
    /// Where the other access's task was created, if the same join waits for it.
    pub other_spawned: Option<Place>,
    /// What waits for the task first; none if nothing did.
    pub join: Option<Join>,
    /// Promises could have ordered the accesses, and did not.
    pub promises: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// The two halves of one join.
    Halves,
    /// Two tasks that one scope or broadcast waits for.
    Siblings,
    /// The first access's task is still running when the second access happens.
    FirstOutlives,
    /// The second access's task may have run before the first access.
    SecondOutlives,
    /// Both accesses are of one task, as far as the findings say.
    SameTask,
}

/// Something that waits for tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Join {
    pub construct: JoinConstruct,
    /// Where it waits.
    pub place: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinConstruct {
    /// The end of a `finish` or a `forall` that begins at this line.
    EndOf {
        construct: String,
        line: u32,
    },
    /// The `end_finish` for the `begin_finish` at this line.
    EndFinish {
        line: u32,
    },
    Sync,
    /// The end of a procedure's body waits for what it has spawned.
    ImplicitSync,
    EndOfMain,
    /// The end of a method of the user's library: `join`, `scope`, `for_each`.
    Operation(String),
}

impl JoinConstruct {
    /// Whether the words say where the join is.
    pub const fn names_its_line(&self) -> bool {
        matches!(
            self,
            JoinConstruct::EndOf { .. } | JoinConstruct::EndFinish { .. }
        )
    }
}

/// `the end of finish@7`, without an article for a keyword: `sync`.
impl fmt::Display for JoinConstruct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinConstruct::EndOf { construct, line } => {
                write!(f, "the end of {construct}@{line}")
            }
            JoinConstruct::EndFinish { line } => write!(f, "the end_finish of begin_finish@{line}"),
            JoinConstruct::Sync => f.write_str("sync"),
            JoinConstruct::ImplicitSync => {
                f.write_str("the implicit sync at the end of its creator's body")
            }
            JoinConstruct::EndOfMain => f.write_str("the end of main"),
            JoinConstruct::Operation(operation) => write!(f, "the end of the {operation}"),
        }
    }
}
