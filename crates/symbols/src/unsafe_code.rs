//! Which `unsafe` code of a program its parallel tasks were seen in.
//!
//! The compiler lists the code with its spans in the source. The findings list places in the
//! machine code: of accesses that were made while something was parallel, and of the calls around
//! them. Debug information gives the line and the column of each place, with those of the calls
//! that were inlined there. If one of them lies in the span, then a parallel task was in that code.
//!
//! `unsafe impl Sync for T` has no code of its own. The question is whether parallel tasks use a
//! `T`. It shows in the functions that contain the places: a function with a variable of that type,
//! for which full debug information is needed ([`variables`]), or a method of `T`, or a function
//! with `T` among its type parameters. Types are compared by name, so two types of a crate that
//! have the same name in different modules are not told apart.
//!
//! Cost: one look into the debug information for each place, and one pass over all of it if there
//! are such types, however many processes of a program are asked about.

use crate::findings::Findings;
use crate::function_names::mentions;
use crate::modules::Modules;
use crate::sources::Sources;
use crate::variables;
use finishline_answer::place::Place;
use finishline_answer::task::Frame;
use finishline_answer::unsafe_code::{UnsafeCode, UnsafeKind};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Unsafe code as the compiler listed it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ListedUnsafe {
    /// The whole path.
    pub file: PathBuf,
    /// Line and column of the beginning, and behind the end; both from 1, in characters.
    pub start: [u32; 2],
    pub end: [u32; 2],
    pub kind: ListedKind,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListedKind {
    Block,
    Function(String),
    #[serde(rename = "impl")]
    Implementation {
        /// `Sync for Output<T>`.
        written: String,
        /// The type's crate and its name there. None if it is no type of that crate with a name of
        /// its own, or a macro writes the implementation for a type that it is given.
        of: Option<[String; 2]>,
    },
}

impl From<&ListedKind> for UnsafeKind {
    fn from(kind: &ListedKind) -> UnsafeKind {
        match kind {
            ListedKind::Block => UnsafeKind::Block,
            ListedKind::Function(name) => UnsafeKind::Function(name.clone()),
            ListedKind::Implementation { written, .. } => {
                UnsafeKind::Implementation(written.clone())
            }
        }
    }
}

/// The unsafe code of a program.
pub struct ProgramsUnsafe {
    listed: Vec<ListedUnsafe>,
    /// Blocks and functions by file.
    by_file: FxHashMap<PathBuf, Vec<usize>>,
    /// Implementations for types with a name: of which crate, and the name.
    implementations: Vec<(usize, [String; 2])>,
    /// The files of the program, by path.
    files: FxHashMap<String, KnownPlaces>,
}

/// A file of a program, and the code around each place in it that was looked up.
struct KnownPlaces {
    modules: Modules<'static>,
    /// The functions with variables of types that have an implementation, by their numbers in
    /// `implementations`.
    functions: Vec<(Range<u64>, Vec<usize>)>,
    around: FxHashMap<u64, Vec<usize>>,
}

impl ProgramsUnsafe {
    pub fn new(mut listed: Vec<ListedUnsafe>) -> ProgramsUnsafe {
        // A macro that is used several times has several blocks at one place.
        listed.sort_unstable();
        listed.dedup();
        let mut by_file: FxHashMap<PathBuf, Vec<usize>> = FxHashMap::default();
        let mut implementations = Vec::new();
        for (number, code) in listed.iter().enumerate() {
            match &code.kind {
                ListedKind::Implementation { of, .. } => {
                    implementations.extend(of.clone().map(|of| (number, of)));
                }
                _ => by_file.entry(code.file.clone()).or_default().push(number),
            }
        }
        ProgramsUnsafe {
            listed,
            by_file,
            implementations,
            files: FxHashMap::default(),
        }
    }

    /// All of it, for a process of the program. Files below the directory are told relative to it.
    pub fn reached(&mut self, findings: &Findings, directory: &Path) -> Vec<UnsafeCode> {
        let reached = self.reached_numbers(findings);
        let mut sources = Sources::new(directory);
        let told = self.listed.iter().enumerate().map(|(number, code)| {
            let [line, column] = code.start;
            let place = sources.place(&code.file.to_string_lossy(), line, 0);
            UnsafeCode {
                kind: (&code.kind).into(),
                place: Place { column, ..place },
                end: code.end,
                reached: reached.contains(&number),
            }
        });
        told.collect()
    }

    fn reached_numbers(&mut self, findings: &Findings) -> FxHashSet<usize> {
        let mut reached = FxHashSet::default();
        if self.listed.is_empty() {
            return reached;
        }
        let types: Vec<&[String; 2]> = self.implementations.iter().map(|(_, of)| of).collect();
        for module in &findings.modules {
            let places = findings.parallel_code.addresses().iter();
            let inside = places.filter(|place| (module.start..module.end).contains(*place));
            let in_file = inside.map(|place| place.wrapping_sub(module.bias));
            let known = self.files.remove(&module.path);
            let mut known = known.unwrap_or_else(|| KnownPlaces {
                // The names of files are wanted in full.
                modules: Modules::of_file(&module.path, Path::new("")),
                functions: variables::functions_with(&module.path, &types),
                around: FxHashMap::default(),
            });
            for address in in_file {
                let here = known.around.entry(address).or_insert_with(|| {
                    let mut around = self.around(&known.modules.frames(address));
                    let types = variables::around(&known.functions, address).iter();
                    around.extend(types.map(|number| self.implementations[*number].0));
                    around
                });
                reached.extend(here.iter().copied());
            }
            self.files.insert(module.path.clone(), known);
        }
        reached
    }

    /// The code around a place of the program.
    fn around(&self, frames: &[Frame]) -> Vec<usize> {
        let mut around = Vec::new();
        for frame in frames {
            if let Some(place) = &frame.place {
                let in_file = self.by_file.get(Path::new(&place.file));
                let inside = |number: &&usize| {
                    let code = &self.listed[**number];
                    (code.start..code.end).contains(&[place.line, place.column])
                };
                around.extend(in_file.into_iter().flatten().filter(inside));
            }
            let of_type = self.implementations.iter();
            let of_type =
                of_type.filter(|(_, [krate, name])| mentions(&frame.function, krate, name));
            around.extend(of_type.map(|(number, _)| *number));
        }
        around
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use finishline_answer::task::Origin;

    fn listed(start: [u32; 2], end: [u32; 2], kind: ListedKind) -> ListedUnsafe {
        ListedUnsafe {
            file: "/ws/src/lib.rs".into(),
            start,
            end,
            kind,
        }
    }

    fn frame(function: &str, file: &str, line: u32, column: u32) -> Frame {
        Frame {
            function: function.to_owned(),
            place: Some(Place {
                file: file.to_owned(),
                line,
                column,
                width: 0,
                text: String::new(),
            }),
            origin: Origin::User,
            inlined: false,
        }
    }

    #[test]
    fn a_span_has_its_first_column_and_not_the_one_behind_its_end() {
        let code = ProgramsUnsafe::new(vec![listed([3, 9], [5, 2], ListedKind::Block)]);
        let is_inside = |file: &str, line, column| {
            let frames = [
                frame("a::f", "/ws/src/main.rs", 4, 1),
                frame("a::f", file, line, column),
            ];
            !code.around(&frames).is_empty()
        };
        let cases = [
            (3, 8, false),
            (3, 9, true),
            (4, 1, true),
            (4, 99, true),
            (5, 1, true),
            (5, 2, false),
            (2, 50, false),
            (6, 1, false),
        ];
        for (line, column, expected) in cases {
            assert_eq!(
                is_inside("/ws/src/lib.rs", line, column),
                expected,
                "{line}:{column}"
            );
        }
        assert!(is_inside("/ws/./src/lib.rs", 4, 1), "the same file");
        assert!(!is_inside("/ws/lib.rs", 4, 1), "another file");
    }

    #[test]
    fn an_implementation_is_found_by_the_name_of_its_type() {
        let of = |name: &str| ListedKind::Implementation {
            written: format!("Sync for {name}"),
            of: Some(["a".to_owned(), name.to_owned()]),
        };
        let nameless = ListedKind::Implementation {
            written: "Sync for $t".to_owned(),
            of: None,
        };
        let code = ProgramsUnsafe::new(vec![
            listed([1, 1], [1, 30], of("Output")),
            listed([2, 1], [2, 30], of("Other")),
            listed([3, 1], [3, 30], nameless),
        ]);
        // Its own line is no code.
        let frames = [frame("<a::m::Output<u8>>::put", "/ws/src/lib.rs", 2, 5)];
        assert_eq!(code.around(&frames), [0]);
    }

    #[test]
    fn a_block_of_a_macro_is_one() {
        let block = || listed([3, 9], [5, 2], ListedKind::Block);
        assert_eq!(ProgramsUnsafe::new(vec![block(), block()]).listed.len(), 1);
    }
}
