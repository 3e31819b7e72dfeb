//! The atomic operations that the instrumentation leaves out, in the user's words.
//!
//! An atomic instruction is reported as the operation in the source: `fetch_max` in this line. In
//! optimised code the operation was inlined, and debug information has its place. Otherwise the
//! instruction is in a function of the standard library, compiled for the program. Then calls are
//! followed back until they reach code of another origin. A process says which instructions of its
//! executable it reached, if it could find out. Otherwise every operation that the linker kept is
//! reported.

use crate::findings::Findings;
use crate::function_names::last_part;
use crate::locked::{self, Locked};
use crate::modules::Modules;
use finishline_answer::process::{Limit, UnseenAtomic};
use finishline_answer::task::{Frame, Origin};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The operations that the instrumentation left out of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// The operations, in the order of their places.
    Operations(Vec<UnseenAtomic>),
    /// It is unknown which code is instrumented.
    Unknown,
}

impl Default for Unseen {
    fn default() -> Unseen {
        Unseen::Operations(Vec::new())
    }
}

impl Unseen {
    pub(crate) fn limit(&self) -> Option<Limit> {
        match self {
            Unseen::Operations(operations) if operations.is_empty() => None,
            Unseen::Operations(_) => Some(Limit::Unseen),
            Unseen::Unknown => Some(Limit::Stripped),
        }
    }
}

/// Programs and libraries. Each is searched once, although many processes run it.
#[derive(Debug, Default)]
pub struct Executables {
    /// The results, by the directory that paths are relative to, and by file. None if it is unknown
    /// which code of the file is instrumented.
    known: Mutex<FxHashMap<(PathBuf, String), Option<OfInstructions>>>,
}

/// For each atomic instruction the operations that led to it.
type OfInstructions = Arc<Vec<(u64, Vec<UnseenAtomic>)>>;

/// The addresses of the atomic instructions in a file's instrumented code. None if it is unknown
/// which code is instrumented.
pub fn atomic_instructions(path: &str) -> Option<Vec<u64>> {
    Some(locked::find(path)?.instructions)
}

impl Executables {
    /// The unseen operations in the files of a process. Empty if nothing in the process was
    /// parallel.
    pub fn unseen(&self, findings: &Findings, directory: &Path) -> Unseen {
        if !findings.has_parallelism() {
            return Unseen::default();
        }
        let mut paths: Vec<&str> = (findings.modules.iter())
            .map(|module| module.path.as_str())
            .collect();
        paths.sort_unstable();
        paths.dedup();
        let mut all: Option<Vec<UnseenAtomic>> = None;
        for path in paths {
            // Libraries of C or of the system are not instrumented. Their result is not known.
            let Some(found) = self.of_file(path, directory) else {
                continue;
            };
            let reached = (findings.reached_unseen.as_ref())
                .filter(|_| path == findings.executable)
                .map(|reached| reached.iter().copied().collect::<FxHashSet<u64>>());
            let counts = |instruction: u64| {
                let reached = reached.as_ref();
                reached.is_none_or(|reached| reached.contains(&instruction))
            };
            let found = found.iter().filter(|(instruction, _)| counts(*instruction));
            let all = all.get_or_insert_default();
            for operation in in_order(found.flat_map(|(_, operations)| operations)) {
                if !all.contains(operation) {
                    all.push(operation.clone());
                }
            }
        }
        all.map_or(Unseen::Unknown, Unseen::Operations)
    }

    /// Searches a file. Tests that run at the same time wait here until one of them has searched
    /// it.
    fn of_file(&self, path: &str, directory: &Path) -> Option<OfInstructions> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let file = (directory.to_owned(), path.to_owned());
        let search = || Some(told(path, &locked::find(path)?, directory));
        known.entry(file).or_insert_with(search).clone()
    }
}

fn told(path: &str, locked: &Locked, directory: &Path) -> OfInstructions {
    let mut modules = Modules::of_file(path, directory);
    let instructions = locked.instructions.iter();
    let told = instructions.map(|at| (*at, written(*at, locked, &mut modules)));
    Arc::new(told.collect())
}

/// In the order of their places.
fn in_order<'a>(operations: impl Iterator<Item = &'a UnseenAtomic>) -> Vec<&'a UnseenAtomic> {
    let mut operations: Vec<&UnseenAtomic> = operations.collect();
    operations.sort_by(|a, b| {
        let key = |operation: &UnseenAtomic| {
            let place = operation.place.as_ref();
            let place = place.map(|place| (place.file.clone(), place.line, place.column));
            // Operations without a place come last.
            (place.is_none(), place, operation.function.clone())
        };
        key(a).cmp(&key(b))
    });
    operations
}

/// The operations that led to an instruction. There are several if several places call its
/// function.
fn written(instruction: u64, locked: &Locked, modules: &mut Modules) -> Vec<UnseenAtomic> {
    let mut written = Vec::new();
    let mut outermost = None;
    let mut reached = FxHashSet::default();
    let mut pending: Vec<(u64, Option<String>)> = vec![(instruction, None)];
    while let Some((address, called)) = pending.pop() {
        if !reached.insert(address) {
            continue;
        }
        let frames = modules.frames(address);
        let of_library = |frame: &&Frame| frame.origin == Origin::Std;
        let library = frames.iter().take_while(of_library);
        let operation = library.last().map(|frame| last_part(&frame.function));
        let operation = operation.or(called);
        match frames.iter().find(|frame| !of_library(frame)) {
            Some(author) => written.push(operation_in(author, operation)),
            None => {
                outermost = (frames.last()).map(|frame| operation_in(frame, operation.clone()));
                let calls = locked.calls_of_function_around(address).iter();
                pending.extend(calls.map(|call| (*call, operation.clone())));
            }
        }
    }
    if written.is_empty() {
        // The function is called only by its address.
        written.extend(outermost);
    }
    written
}

fn operation_in(frame: &Frame, operation: Option<String>) -> UnseenAtomic {
    UnseenAtomic {
        operation,
        function: frame.function.clone(),
        place: frame.place.clone(),
    }
}
