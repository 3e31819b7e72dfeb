//! Turns addresses of a process into frames, by the files mapped into it and their debug
//! information.
//!
//! One address gives one frame for its function and one more for each function inlined there,
//! innermost first. A module is opened when one of its addresses is needed, and each address is
//! looked up once. Without debug information, the symbol table still names the function. Without
//! that, the frame has only an address. Nothing here fails: a file that can't be read, or that has
//! changed since, gives frames without names. In place of the files there may be what was looked up
//! in them earlier ([`KeptNames`]).

use crate::Question;
use crate::failure::Position;
use crate::function_names::{demangled, origin};
use crate::globals;
use crate::names::KeptNames;
use crate::sources::{REACH, Sources};
use addr2line::Loader;
use finishline_answer::location::Object;
use finishline_answer::place::{Place, SourceLines};
use finishline_answer::task::{Frame, Origin, Stack};
use finishline_model::findings::ListedModule;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::path::Path;

pub(crate) struct Modules<'f> {
    modules: Cow<'f, [ListedModule]>,
    /// The opened modules, by number. None for a module that could not be opened.
    opened: FxHashMap<usize, Option<Loader>>,
    looked_up: FxHashMap<u64, Vec<Frame>>,
    /// The global variables that were looked up, by an address inside.
    globals: FxHashMap<u64, Object>,
    sources: Sources,
    /// Lines of sources that were kept. None if the sources themselves are read.
    kept_lines: Option<SourceLines>,
}

impl<'f> Modules<'f> {
    pub(crate) fn new(modules: &'f [ListedModule], base: &Path) -> Modules<'f> {
        Modules::of(Cow::Borrowed(modules), base)
    }

    /// One file, by addresses in it.
    pub(crate) fn of_file(path: &str, base: &Path) -> Modules<'static> {
        let file = ListedModule {
            path: path.to_owned(),
            bias: 0,
            start: 0,
            end: u64::MAX,
        };
        Modules::of(Cow::Owned(vec![file]), base)
    }

    fn of(modules: Cow<'f, [ListedModule]>, base: &Path) -> Modules<'f> {
        Modules {
            modules,
            opened: FxHashMap::default(),
            looked_up: FxHashMap::default(),
            globals: FxHashMap::default(),
            sources: Sources::new(base),
            kept_lines: None,
        }
    }

    /// No files, but what was looked up in them.
    pub(crate) fn by_names(names: &KeptNames) -> Modules<'f> {
        Modules {
            modules: Cow::Borrowed(&[]),
            opened: FxHashMap::default(),
            looked_up: names.frames(),
            globals: names.globals(),
            sources: Sources::new(Path::new("")),
            kept_lines: Some(names.lines()),
        }
    }

    /// What was looked up, and the lines of an answer.
    pub(crate) fn names(&self, lines: &SourceLines, question: &Question) -> KeptNames {
        KeptNames::collect(&self.looked_up, &self.globals, lines, question)
    }

    /// The global variable that an address belongs to.
    pub(crate) fn global(&mut self, address: u64) -> Object {
        if let Some(known) = self.globals.get(&address) {
            return known.clone();
        }
        let object = self.look_up_global(address);
        self.globals.insert(address, object.clone());
        object
    }

    fn look_up_global(&mut self, address: u64) -> Object {
        let found = self.module(address).and_then(|(number, in_file)| {
            let global = globals::find(&self.modules[number].path, in_file)?;
            Some((in_file - global.address, global))
        });
        let Some((offset, global)) = found else {
            return Object::Unknown;
        };
        let defined = global.defined;
        Object::Global {
            name: global.name,
            size: global.size,
            offset,
            defined: defined.map(|(file, line)| self.sources.place(&file, line, 0)),
        }
    }

    /// A place that was found by other means than an address.
    pub(crate) fn place(&mut self, at: &Position) -> Place {
        self.sources.place(&at.file, at.line, at.column)
    }

    /// Adds the lines around a place.
    pub(crate) fn around(&self, place: &Place, lines: &mut SourceLines) {
        match &self.kept_lines {
            None => self.sources.around(place, lines),
            Some(kept) => {
                for (line, text) in kept.around(&place.file, place.line, REACH) {
                    lines.add(&place.file, line, [text.to_owned()]);
                }
            }
        }
    }

    /// The frames of a stack of addresses, and the one to show as its place.
    pub(crate) fn stack(&mut self, addresses: &[u64]) -> Stack {
        let frames: Vec<Frame> = addresses.iter().flat_map(|pc| self.frames(*pc)).collect();
        let shown = shown(&frames);
        Stack { frames, shown }
    }

    /// The frames at one address, innermost first.
    pub(crate) fn frames(&mut self, pc: u64) -> Vec<Frame> {
        if let Some(known) = self.looked_up.get(&pc) {
            return known.clone();
        }
        let frames = self.look_up(pc);
        self.looked_up.insert(pc, frames.clone());
        frames
    }

    /// The number of the module that contains an address, and the address in its file.
    fn module(&self, address: u64) -> Option<(usize, u64)> {
        let holds = |module: &ListedModule| (module.start..module.end).contains(&address);
        let number = self.modules.iter().position(holds)?;
        Some((number, address.wrapping_sub(self.modules[number].bias)))
    }

    fn look_up(&mut self, pc: u64) -> Vec<Frame> {
        let Some((number, address)) = self.module(pc) else {
            return vec![nameless(pc, None)];
        };
        let module = &self.modules[number];
        let opened = self.opened.entry(number).or_insert_with(|| {
            let is_file = std::fs::metadata(&module.path).is_ok_and(|file| file.is_file());
            is_file.then(|| Loader::new(&module.path).ok()).flatten()
        });
        let Some(loader) = opened else {
            return vec![nameless(pc, Some(module))];
        };
        let symbol = loader.find_symbol(address).map(demangled);
        let mut frames = Vec::new();
        if let Ok(mut found) = loader.find_frames(address) {
            while let Ok(Some(frame)) = found.next() {
                let name = frame.function.as_ref().and_then(|f| f.raw_name().ok());
                let location = frame.location.as_ref();
                let file = location.and_then(|location| location.file);
                let line = location.and_then(|location| location.line);
                let column = location.and_then(|location| location.column);
                frames.push((
                    name.map(|name| demangled(&name)),
                    file.zip(line.filter(|line| *line > 0)),
                    column.unwrap_or(0),
                ));
            }
        }
        if frames.is_empty() {
            frames.push((None, None, 0));
        }
        let last = frames.len() - 1;
        let mut told = Vec::with_capacity(frames.len());
        for (index, (name, line, column)) in frames.into_iter().enumerate() {
            let inlined = index != last;
            // Line tables alone may give a function without its path. The symbol table has the path
            // of the outermost function.
            let symbol = symbol.as_ref().filter(|_| !inlined);
            let name = match (name, symbol) {
                (Some(name), Some(symbol)) if !name.contains("::") => symbol.clone(),
                (Some(name), _) => name,
                (None, Some(symbol)) => symbol.clone(),
                (None, None) => nameless(pc, Some(module)).function,
            };
            let place = line.map(|(file, line)| self.sources.place(file, line, column));
            told.push(Frame {
                origin: origin(&name, line.map(|(file, _)| file)),
                function: name,
                place,
                inlined,
            });
        }
        told
    }
}

/// The frame to show as the place of a stack: the innermost frame of the user's that has a line,
/// else of a package, else any.
fn shown(frames: &[Frame]) -> Option<usize> {
    let with_place = |wanted: fn(&Origin) -> bool| {
        let fits = |frame: &Frame| frame.place.is_some() && wanted(&frame.origin);
        frames.iter().position(fits)
    };
    with_place(|origin| *origin == Origin::User)
        .or_else(|| with_place(|origin| matches!(origin, Origin::Dependency(_))))
        .or_else(|| with_place(|_| true))
        .or(if frames.is_empty() { None } else { Some(0) })
}

fn nameless(pc: u64, module: Option<&ListedModule>) -> Frame {
    let function = match module {
        Some(module) => {
            let offset = pc.wrapping_sub(module.bias);
            format!("{:#x} in {}", offset, module.path)
        }
        None => format!("{pc:#x}"),
    };
    Frame {
        function,
        place: None,
        origin: Origin::System,
        inlined: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use finishline_answer::place::Place;

    fn frame(origin: Origin, line: u32) -> Frame {
        let place = Place {
            file: "f.rs".to_owned(),
            line,
            width: 0,
            column: 1,
            text: String::new(),
        };
        Frame {
            function: "f".to_owned(),
            place: (line > 0).then_some(place),
            origin,
            inlined: false,
        }
    }

    #[test]
    fn the_users_innermost_line_is_shown() {
        let package = || Origin::Dependency("p".to_owned());
        for (frames, expected) in [
            (vec![], None),
            (vec![frame(Origin::System, 0)], Some(0)),
            (
                vec![frame(Origin::System, 0), frame(Origin::Std, 3)],
                Some(1),
            ),
            (vec![frame(Origin::Std, 3), frame(package(), 4)], Some(1)),
            (
                vec![
                    frame(package(), 4),
                    frame(Origin::User, 5),
                    frame(Origin::User, 6),
                ],
                Some(1),
            ),
            (
                vec![
                    frame(Origin::Std, 3),
                    frame(Origin::User, 0),
                    frame(Origin::User, 6),
                ],
                Some(2),
            ),
        ] {
            assert_eq!(shown(&frames), expected, "{frames:#?}");
        }
    }
}
