//! What the addresses in a process's findings are called, apart from the files that say it.
//!
//! A recorded process is analysed when its executable and its sources may be gone. So the names are
//! collected when it has ended ([`symbolise_and_keep`](crate::symbolise_and_keep)) and kept as
//! text. Later they take the place of the files ([`symbolise_by`](crate::symbolise_by)). There are
//! names for what the findings mention and for nothing else.

use crate::Question;
use crate::unseen::Unseen;
use finishline_answer::location::Object;
use finishline_answer::place::{Place, SourceLines};
use finishline_answer::process::UnseenAtomic;
use finishline_answer::task::{Frame, Origin};
use finishline_answer::unsafe_code::{UnsafeCode, UnsafeKind};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KeptNames {
    frames: Vec<AtAddress<Vec<NamedFrame>>>,
    globals: Vec<AtAddress<NamedGlobal>>,
    lines: Vec<NamedLine>,
    /// None if it is unknown which code is instrumented.
    unseen: Option<Vec<NamedOperation>>,
    /// Where the process failed. Traces of earlier versions don't have it.
    #[serde(default)]
    failed: Option<NamedPlace>,
    /// None if it is not known. Traces of earlier versions don't have it.
    #[serde(default)]
    unsafe_code: Option<Vec<NamedUnsafe>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct AtAddress<T> {
    address: u64,
    named: T,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NamedFrame {
    function: String,
    place: Option<NamedPlace>,
    origin: NamedOrigin,
    inlined: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum NamedOrigin {
    User,
    Dependency(String),
    Rayon,
    Std,
    System,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NamedPlace {
    file: String,
    line: u32,
    column: u32,
    text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NamedGlobal {
    name: String,
    size: u64,
    offset: u64,
    defined: Option<NamedPlace>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NamedLine {
    file: String,
    line: u32,
    text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NamedOperation {
    operation: Option<String>,
    function: String,
    place: Option<NamedPlace>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NamedUnsafe {
    kind: NamedUnsafeKind,
    place: NamedPlace,
    end: [u32; 2],
    reached: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum NamedUnsafeKind {
    Block,
    Function(String),
    #[serde(rename = "impl")]
    Implementation(String),
}

impl KeptNames {
    /// Collects what was looked up for an answer.
    pub(crate) fn collect(
        frames: &FxHashMap<u64, Vec<Frame>>,
        globals: &FxHashMap<u64, Object>,
        lines: &SourceLines,
        question: &Question,
    ) -> KeptNames {
        let mut names = KeptNames {
            frames: frames
                .iter()
                .map(|(address, frames)| AtAddress {
                    address: *address,
                    named: frames.iter().map(NamedFrame::from).collect(),
                })
                .collect(),
            globals: globals
                .iter()
                .filter_map(|(address, object)| {
                    Some(AtAddress {
                        address: *address,
                        named: NamedGlobal::of(object)?,
                    })
                })
                .collect(),
            lines: lines
                .all()
                .map(|(file, line, text)| NamedLine {
                    file: file.to_owned(),
                    line,
                    text: text.to_owned(),
                })
                .collect(),
            unseen: match &question.unseen {
                Unseen::Operations(operations) => {
                    Some(operations.iter().map(NamedOperation::from).collect())
                }
                Unseen::Unknown => None,
            },
            failed: None,
            unsafe_code: (question.unsafe_code.as_ref())
                .map(|code| code.iter().map(NamedUnsafe::from).collect()),
        };
        names.frames.sort_by_key(|frame| frame.address);
        names.globals.sort_by_key(|global| global.address);
        names
    }

    /// The same with the place of a failure.
    pub(crate) fn of_failure(self, place: Option<&Place>) -> KeptNames {
        KeptNames {
            failed: place.map(NamedPlace::from),
            ..self
        }
    }

    pub(crate) fn failed(&self) -> Option<Place> {
        self.failed.as_ref().map(NamedPlace::place)
    }

    pub fn text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    pub fn parse(text: &str) -> Result<KeptNames, serde_json::Error> {
        serde_json::from_str(text)
    }

    pub(crate) fn frames(&self) -> FxHashMap<u64, Vec<Frame>> {
        let frames = self.frames.iter();
        frames
            .map(|at| (at.address, at.named.iter().map(NamedFrame::frame).collect()))
            .collect()
    }

    pub(crate) fn globals(&self) -> FxHashMap<u64, Object> {
        let globals = self.globals.iter();
        globals.map(|at| (at.address, at.named.object())).collect()
    }

    pub(crate) fn lines(&self) -> SourceLines {
        let mut lines = SourceLines::default();
        for line in &self.lines {
            lines.add(&line.file, line.line, [line.text.clone()]);
        }
        lines
    }

    /// The operations that the instrumentation left out of the program.
    pub fn unseen(&self) -> Unseen {
        match &self.unseen {
            None => Unseen::Unknown,
            Some(operations) => {
                let operations = operations.iter().map(|operation| UnseenAtomic {
                    operation: operation.operation.clone(),
                    function: operation.function.clone(),
                    place: operation.place.as_ref().map(NamedPlace::place),
                });
                Unseen::Operations(operations.collect())
            }
        }
    }

    /// The `unsafe` code of the program, if it is known.
    pub fn unsafe_code(&self) -> Option<Vec<UnsafeCode>> {
        let code = self.unsafe_code.as_ref()?;
        Some(code.iter().map(NamedUnsafe::code).collect())
    }
}

impl From<&UnsafeCode> for NamedUnsafe {
    fn from(code: &UnsafeCode) -> NamedUnsafe {
        NamedUnsafe {
            kind: match &code.kind {
                UnsafeKind::Block => NamedUnsafeKind::Block,
                UnsafeKind::Function(name) => NamedUnsafeKind::Function(name.clone()),
                UnsafeKind::Implementation(name) => NamedUnsafeKind::Implementation(name.clone()),
            },
            place: NamedPlace::from(&code.place),
            end: code.end,
            reached: code.reached,
        }
    }
}

impl NamedUnsafe {
    fn code(&self) -> UnsafeCode {
        UnsafeCode {
            kind: match &self.kind {
                NamedUnsafeKind::Block => UnsafeKind::Block,
                NamedUnsafeKind::Function(name) => UnsafeKind::Function(name.clone()),
                NamedUnsafeKind::Implementation(name) => UnsafeKind::Implementation(name.clone()),
            },
            place: self.place.place(),
            end: self.end,
            reached: self.reached,
        }
    }
}

impl From<&Frame> for NamedFrame {
    fn from(frame: &Frame) -> NamedFrame {
        NamedFrame {
            function: frame.function.clone(),
            place: frame.place.as_ref().map(NamedPlace::from),
            origin: match &frame.origin {
                Origin::User => NamedOrigin::User,
                Origin::Dependency(package) => NamedOrigin::Dependency(package.clone()),
                Origin::Rayon => NamedOrigin::Rayon,
                Origin::Std => NamedOrigin::Std,
                Origin::System => NamedOrigin::System,
            },
            inlined: frame.inlined,
        }
    }
}

impl NamedFrame {
    fn frame(&self) -> Frame {
        Frame {
            function: self.function.clone(),
            place: self.place.as_ref().map(NamedPlace::place),
            origin: match &self.origin {
                NamedOrigin::User => Origin::User,
                NamedOrigin::Dependency(package) => Origin::Dependency(package.clone()),
                NamedOrigin::Rayon => Origin::Rayon,
                NamedOrigin::Std => Origin::Std,
                NamedOrigin::System => Origin::System,
            },
            inlined: self.inlined,
        }
    }
}

impl From<&Place> for NamedPlace {
    fn from(place: &Place) -> NamedPlace {
        NamedPlace {
            file: place.file.clone(),
            line: place.line,
            column: place.column,
            text: place.text.clone(),
        }
    }
}

impl NamedPlace {
    fn place(&self) -> Place {
        Place {
            file: self.file.clone(),
            line: self.line,
            column: self.column,
            // Of compiled code only the start of a span is known.
            width: 0,
            text: self.text.clone(),
        }
    }
}

impl NamedGlobal {
    fn of(object: &Object) -> Option<NamedGlobal> {
        match object {
            Object::Global {
                name,
                size,
                offset,
                defined,
            } => Some(NamedGlobal {
                name: name.clone(),
                size: *size,
                offset: *offset,
                defined: defined.as_ref().map(NamedPlace::from),
            }),
            _ => None,
        }
    }

    fn object(&self) -> Object {
        Object::Global {
            name: self.name.clone(),
            size: self.size,
            offset: self.offset,
            defined: self.defined.as_ref().map(NamedPlace::place),
        }
    }
}

impl From<&UnseenAtomic> for NamedOperation {
    fn from(operation: &UnseenAtomic) -> NamedOperation {
        NamedOperation {
            operation: operation.operation.clone(),
            function: operation.function.clone(),
            place: operation.place.as_ref().map(NamedPlace::from),
        }
    }
}
