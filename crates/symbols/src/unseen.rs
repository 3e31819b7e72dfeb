//! The atomic operations of a program that its instrumentation leaves out, as the user knows them.
//!
//! An atomic instruction is told as the operation that somebody wrote: `fetch_max` in this line. In
//! optimised code, debug information has that, since the operation was inlined there. Otherwise the
//! instruction is in a function of the standard library, compiled for the program, and who wrote
//! the operation is found by following the calls back until code of another origin is reached.
//! Nothing says whether a run came to an operation, so each that the linker kept is told.

use crate::findings::Findings;
use crate::function_names::last_part;
use crate::locked::{self, Locked};
use crate::modules::Modules;
use finishline_answer::process::{Limit, UnseenAtomic};
use finishline_answer::task::{Frame, Origin};
use finishline_model::findings::ListedModule;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What the instrumentation left out of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// These, in the order of their places.
    Operations(Vec<UnseenAtomic>),
    /// Nothing tells which code is instrumented.
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

/// Programs and libraries, each of which is looked through once although many processes run it.
#[derive(Debug, Default)]
pub struct Executables {
    /// By the directory that paths are relative to, and the file.
    known: Mutex<FxHashMap<(PathBuf, String), Unseen>>,
}

impl Executables {
    /// What the files of a process leave unseen. Of a process in which nothing was parallel nobody
    /// need know.
    pub fn unseen(&self, findings: &Findings, directory: &Path) -> Unseen {
        if !findings.has_parallelism() {
            return Unseen::default();
        }
        let mut paths: Vec<&str> = (findings.modules.iter())
            .map(|module| module.path.as_str())
            .collect();
        paths.sort_unstable();
        paths.dedup();
        let mut all = Unseen::Unknown;
        for path in paths {
            // One that C or the system has brought along is not instrumented, and does not say so.
            if let Unseen::Operations(more) = self.of_file(path, directory) {
                match &mut all {
                    Unseen::Operations(operations) => operations.extend(more),
                    Unseen::Unknown => all = Unseen::Operations(more),
                }
            }
        }
        all
    }

    /// Tests that run at the same time wait here for one of them to look.
    fn of_file(&self, path: &str, directory: &Path) -> Unseen {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let file = (directory.to_owned(), path.to_owned());
        known
            .entry(file)
            .or_insert_with(|| match locked::find(path) {
                Some(locked) => Unseen::Operations(told(path, &locked, directory)),
                None => Unseen::Unknown,
            })
            .clone()
    }
}

fn told(path: &str, locked: &Locked, directory: &Path) -> Vec<UnseenAtomic> {
    let file = [ListedModule {
        path: path.to_owned(),
        bias: 0,
        start: 0,
        end: u64::MAX,
    }];
    let mut modules = Modules::new(&file, directory);
    let mut operations = Vec::new();
    for instruction in &locked.instructions {
        for operation in written(*instruction, locked, &mut modules) {
            if !operations.contains(&operation) {
                operations.push(operation);
            }
        }
    }
    operations.sort_by(|a, b| {
        let key = |operation: &UnseenAtomic| {
            let place = operation.place.as_ref();
            let place = place.map(|place| (place.file.clone(), place.line, place.column));
            // Those without a place come last.
            (place.is_none(), place, operation.function.clone())
        };
        key(a).cmp(&key(b))
    });
    operations
}

/// The operations that led to an instruction: one, unless it is in a function that is called from
/// several places.
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
        // It is called by its address alone.
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
