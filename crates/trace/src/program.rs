//! The tables of names: what the ids of a trace stand for.
//!
//! The source text is part of them, because reports quote it. So an analysis needs no other file.
//! Whoever reads the tables may use every id in them: those that stand for nothing are refused.

use crate::bytes::{Bytes, put_difference, put_number, put_text};
use crate::error::Wrong;
use finishline_model::source::{AccessInfo, AllocationInfo, Site, SourceMap};
use finishline_model::{AccessKind, Construct, SiteId};

/// A program and its arguments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// The words given for the parameters of `main`.
    pub words: Vec<String>,
    pub source: SourceMap,
    /// The parallel constructs that the program has, each with its first place.
    pub constructs: Vec<(Construct, SiteId)>,
    /// The names of the fields of each struct.
    pub structs: Vec<Vec<String>>,
    pub globals: Vec<String>,
    /// By function that tasks run: the names and types of its captures.
    pub functions: Vec<Vec<(String, Capture)>>,
}

/// The type of a captured value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Capture {
    Int,
    Float,
    Bool,
    Byte,
    /// A reference. Its value is not in the trace.
    Hidden,
}

impl Capture {
    const ALL: [Capture; 5] = [
        Capture::Int,
        Capture::Float,
        Capture::Bool,
        Capture::Byte,
        Capture::Hidden,
    ];
}

/// The number of a construct in a file.
pub(crate) fn construct_number(construct: Construct) -> u8 {
    let place = Construct::ALL.iter().position(|known| *known == construct);
    place.unwrap_or_default() as u8
}

pub(crate) fn construct_of(number: u8) -> Result<Construct, Wrong> {
    let known = Construct::ALL.get(usize::from(number));
    known.copied().ok_or(Wrong::NoSuch("construct"))
}

impl Program {
    /// Whether the run is depth-first. One with promises or locks is not.
    pub fn is_depth_first(&self) -> bool {
        let waits = |construct| {
            matches!(
                construct,
                Construct::Promise | Construct::Future | Construct::Lock
            )
        };
        !self
            .constructs
            .iter()
            .any(|(construct, _)| waits(*construct))
    }

    /// How many captured values of a function are in the trace.
    pub fn shown_captures(&self, function: u32) -> Option<usize> {
        let captures = self.functions.get(function as usize)?.iter();
        Some(captures.filter(|(_, ty)| *ty != Capture::Hidden).count())
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let out = &mut bytes;
        put_texts(out, &self.words);
        put_source(out, &self.source);
        put_number(out, self.constructs.len() as u64);
        for (construct, site) in &self.constructs {
            out.push(construct_number(*construct));
            put_number(out, u64::from(site.0));
        }
        put_number(out, self.structs.len() as u64);
        for fields in &self.structs {
            put_texts(out, fields);
        }
        put_texts(out, &self.globals);
        put_number(out, self.functions.len() as u64);
        for captures in &self.functions {
            put_number(out, captures.len() as u64);
            for (name, ty) in captures {
                put_text(out, name);
                out.push(*ty as u8);
            }
        }
        bytes
    }

    pub(crate) fn decode(contents: &[u8]) -> Result<Program, Wrong> {
        let mut bytes = Bytes::new(contents);
        let words = bytes.list(Bytes::text)?;
        let source = source(&mut bytes)?;
        let sites = source.sites.len();
        let constructs = bytes.list(|bytes| {
            let construct = construct_of(bytes.byte()?)?;
            Ok((construct, SiteId(id(bytes, sites, "place")?)))
        })?;
        let structs = bytes.list(|bytes| bytes.list(Bytes::text))?;
        let globals = bytes.list(Bytes::text)?;
        let functions = bytes.list(|bytes| bytes.list(capture))?;
        bytes.end()?;
        Ok(Program {
            words,
            source,
            constructs,
            structs,
            globals,
            functions,
        })
    }
}

fn capture(bytes: &mut Bytes) -> Result<(String, Capture), Wrong> {
    let name = bytes.text()?;
    let ty = Capture::ALL.get(usize::from(bytes.byte()?));
    Ok((name, *ty.ok_or(Wrong::NoSuch("type"))?))
}

fn put_texts(out: &mut Vec<u8>, texts: &[String]) {
    put_number(out, texts.len() as u64);
    for text in texts {
        put_text(out, text);
    }
}

fn put_source(out: &mut Vec<u8>, source: &SourceMap) {
    put_text(out, &source.path);
    put_text(out, &source.text);
    put_number(out, source.sites.len() as u64);
    let mut before = 0;
    for site in &source.sites {
        put_difference(out, before, u64::from(site.start));
        put_difference(out, u64::from(site.start), u64::from(site.end));
        put_number(out, u64::from(site.line));
        put_number(out, u64::from(site.column));
        before = u64::from(site.start);
    }
    put_number(out, source.accesses.len() as u64);
    for access in &source.accesses {
        put_number(out, u64::from(access.site.0));
        put_number(out, u64::from(access.place.0));
        out.push(kind_number(access.kind));
        put_text(out, &access.function);
    }
    put_number(out, source.allocations.len() as u64);
    for allocation in &source.allocations {
        put_number(out, u64::from(allocation.site.0));
        put_text(out, &allocation.name);
    }
}

fn source(bytes: &mut Bytes) -> Result<SourceMap, Wrong> {
    let (path, text) = (bytes.text()?, bytes.text()?);
    let most = text.len() as u64 + 1;
    let mut before = 0;
    let sites = bytes.list(|bytes| {
        let start = bytes.differing_small(before)?;
        before = start;
        let end = bytes.differing_small(start)?;
        let (line, column) = (bytes.small()?, bytes.small()?);
        if [line, column].iter().any(|it| u64::from(*it) > most) {
            return Err(Wrong::NoSuch("place"));
        }
        Ok(Site {
            start,
            end,
            line,
            column,
        })
    })?;
    let count = sites.len();
    let accesses = bytes.list(|bytes| {
        Ok(AccessInfo {
            site: SiteId(id(bytes, count, "place")?),
            place: SiteId(id(bytes, count, "place")?),
            kind: kind_of(bytes.byte()?)?,
            function: bytes.text()?,
        })
    })?;
    let allocations = bytes.list(|bytes| {
        Ok(AllocationInfo {
            site: SiteId(id(bytes, count, "place")?),
            name: bytes.text()?,
        })
    })?;
    Ok(SourceMap {
        path,
        text,
        sites,
        accesses,
        allocations,
    })
}

/// The id of an entry in a table with this many.
fn id(bytes: &mut Bytes, count: usize, what: &'static str) -> Result<u32, Wrong> {
    let id = bytes.small()?;
    match (id as usize) < count {
        true => Ok(id),
        false => Err(Wrong::NoSuch(what)),
    }
}

pub(crate) const fn kind_number(kind: AccessKind) -> u8 {
    match kind {
        AccessKind::Read => 0,
        AccessKind::Write => 1,
    }
}

pub(crate) fn kind_of(number: u8) -> Result<AccessKind, Wrong> {
    match number {
        0 => Ok(AccessKind::Read),
        1 => Ok(AccessKind::Write),
        _ => Err(Wrong::NoSuch("kind of access")),
    }
}
