//! What a process was, and how it ended.

use crate::bytes::{Bytes, put_number, put_text};
use crate::error::Wrong;
use finishline_model::TaskId;
use finishline_model::kinds::WaitKind;
use finishline_model::kinds::rayon::Division;
use std::ops::Range;

/// What is known when the process begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// The number of the process.
    pub process: u32,
    /// When it began, in nanoseconds since 1970.
    pub began: u64,
    pub executable: String,
    pub arguments: Vec<String>,
    pub directory: String,
    pub modules: Vec<Module>,
    /// Of the first thread.
    pub stack: Range<u64>,
    pub thread_locals: Range<u64>,
    pub logical_threads: u32,
    pub right_first: bool,
    /// How many pairs of places are kept with details.
    pub max_races: u64,
    /// The process is a test, which runs in a thread of its own.
    pub is_test: bool,
}

/// A file that is mapped into the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    pub path: String,
    pub bias: u64,
    pub start: u64,
    pub end: u64,
}

/// What is known when it ends, or when a race is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// It is not the end.
    pub goes_on: bool,
    pub modules: Vec<Module>,
    /// Those that the process decided by itself included.
    pub accesses: u64,
    /// Threads that were not followed.
    pub unfollowed: u64,
    /// The version of the drop-in's interface, if the drop-in was used.
    pub drop_in: Option<u32>,
    /// From some point on the process was not checked.
    pub failed: bool,
    pub stopped: Option<Stop>,
    /// How finely parallel iterators were divided. Traces before format 4 don't have it: they were
    /// divided as for the threads of their pool.
    pub division: Division,
}

/// A task waited for something that only another task could do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    pub what: WaitKind,
    pub place: u64,
    /// The number of its stack of calls.
    pub calls: u32,
    pub task: TaskId,
}

impl Start {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, u64::from(self.process));
        put_number(&mut out, self.began);
        put_text(&mut out, &self.executable);
        put_number(&mut out, self.arguments.len() as u64);
        for argument in &self.arguments {
            put_text(&mut out, argument);
        }
        put_text(&mut out, &self.directory);
        put_modules(&mut out, &self.modules);
        put_range(&mut out, &self.stack);
        put_range(&mut out, &self.thread_locals);
        put_number(&mut out, u64::from(self.logical_threads));
        out.push(u8::from(self.right_first));
        put_number(&mut out, self.max_races);
        out.push(u8::from(self.is_test));
        out
    }

    pub(super) fn decode(contents: &[u8]) -> Result<Start, Wrong> {
        let mut bytes = Bytes::new(contents);
        let start = Start {
            process: bytes.small()?,
            began: bytes.number()?,
            executable: bytes.text()?,
            arguments: bytes.list(Bytes::text)?,
            directory: bytes.text()?,
            modules: bytes.list(module)?,
            stack: range(&mut bytes)?,
            thread_locals: range(&mut bytes)?,
            logical_threads: bytes.small()?,
            right_first: bytes.is_there()?,
            max_races: bytes.number()?,
            is_test: bytes.is_there()?,
        };
        bytes.end()?;
        Ok(start)
    }
}

impl End {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.goes_on)];
        put_modules(&mut out, &self.modules);
        put_number(&mut out, self.accesses);
        put_number(&mut out, self.unfollowed);
        out.push(u8::from(self.drop_in.is_some()));
        if let Some(version) = self.drop_in {
            put_number(&mut out, u64::from(version));
        }
        out.push(u8::from(self.failed));
        out.push(u8::from(self.stopped.is_some()));
        if let Some(stop) = self.stopped {
            out.push(stop.what.number() as u8);
            put_number(&mut out, stop.place);
            put_number(&mut out, u64::from(stop.calls));
            put_number(&mut out, u64::from(stop.task.0));
        }
        out.push(self.division.number() as u8);
        out
    }

    pub(super) fn decode(contents: &[u8]) -> Result<End, Wrong> {
        let mut bytes = Bytes::new(contents);
        let end = End {
            goes_on: bytes.is_there()?,
            modules: bytes.list(module)?,
            accesses: bytes.number()?,
            unfollowed: bytes.number()?,
            drop_in: optional(&mut bytes, |bytes| bytes.small())?,
            failed: bytes.is_there()?,
            stopped: optional(&mut bytes, |bytes| {
                let what = WaitKind::from_number(u32::from(bytes.byte()?));
                Ok(Stop {
                    what: what.ok_or(Wrong::NoSuch("reason to wait"))?,
                    place: bytes.number()?,
                    calls: bytes.small()?,
                    task: TaskId(bytes.small()?),
                })
            })?,
            division: match bytes.is_empty() {
                true => Division::Threads,
                false => {
                    let division = Division::from_number(u32::from(bytes.byte()?));
                    division.ok_or(Wrong::NoSuch("way to divide iterators"))?
                }
            },
        };
        bytes.end()?;
        Ok(end)
    }
}

fn optional<T>(
    bytes: &mut Bytes,
    read: impl FnOnce(&mut Bytes) -> Result<T, Wrong>,
) -> Result<Option<T>, Wrong> {
    bytes.is_there()?.then(|| read(bytes)).transpose()
}

pub(super) fn put_range(out: &mut Vec<u8>, range: &Range<u64>) {
    put_number(out, range.start);
    put_number(out, range.end.saturating_sub(range.start));
}

pub(super) fn range(bytes: &mut Bytes) -> Result<Range<u64>, Wrong> {
    let (start, length) = (bytes.number()?, bytes.number()?);
    let end = start.checked_add(length).ok_or(Wrong::TooBig)?;
    Ok(start..end)
}

fn put_modules(out: &mut Vec<u8>, modules: &[Module]) {
    put_number(out, modules.len() as u64);
    for module in modules {
        put_text(out, &module.path);
        put_number(out, module.bias);
        put_range(out, &(module.start..module.end));
    }
}

fn module(bytes: &mut Bytes) -> Result<Module, Wrong> {
    let (path, bias) = (bytes.text()?, bytes.number()?);
    let range = range(bytes)?;
    Ok(Module {
        path,
        bias,
        start: range.start,
        end: range.end,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_of_format_3_tells_nothing_of_the_division() {
        let end = End {
            goes_on: false,
            modules: Vec::new(),
            accesses: 7,
            unfollowed: 0,
            drop_in: Some(3),
            failed: false,
            stopped: None,
            division: Division::Items,
        };
        let mut bytes = end.encode();
        assert_eq!(End::decode(&bytes).as_ref(), Ok(&end));
        bytes.pop();
        let of_threads = End {
            division: Division::Threads,
            ..end
        };
        assert_eq!(End::decode(&bytes), Ok(of_threads));
        bytes.push(Division::ALL.len() as u8);
        assert_eq!(
            End::decode(&bytes),
            Err(Wrong::NoSuch("way to divide iterators"))
        );
    }
}
