//! Records a run as a trace ([`finishline_trace`]).
//!
//! 1. **The run.** The program runs once, with output. What a detector would check is written:
//!    tasks, finishes, isolated blocks, promises, objects, and the accesses that the passes leave.
//!    If the program fails, the run is repeated with the passes that are right for failed runs, as
//!    in a check, and the trace begins anew.
//! 2. **The close-up.** Passes leave out accesses that race only together with others. Reports list
//!    them. So the recorder judges its own trace, unless no two steps accessed the same location.
//!    That is quick, because repetitions are not in it. Only if something races or fails does the
//!    program run again. Then every access to the racing locations is written, with all tasks and
//!    objects.
//!
//! Objects that no checked access can refer to are left out of the first part. By the names they
//! share, objects are numbered all the same.

use crate::check::choose;
use crate::executor::{Forms, uses};
use crate::failed::{Awaits, Failed, Point};
use crate::names::Counts;
use crate::question::{Ending, Question, Subject};
use crate::recorded::{Told, tables};
use crate::run::{End, Outcome};
use crate::story::Story;
use finishline_answer::answer;
use finishline_detect::{LocationSet, detectors};
use finishline_ir::listener::{Allocated, Creation, EventsAlone, Listener, Shape};
use finishline_ir::machine::Datum;
use finishline_ir::{Module, Op};
use finishline_model::{Access, AllocationId, Event, Location, Observer, Statistics, TaskId};
use finishline_trace::{Part, Program, Trace, Writer};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// A recorded run.
pub struct Recording {
    /// The failure of the program, if it failed.
    pub failure: Option<answer::Failure>,
    pub statistics: Statistics,
    /// The size of the trace.
    pub bytes: u64,
}

/// Why there is no trace.
#[derive(Debug)]
pub enum RecordError {
    /// The trace could not be written, or not be read again.
    Trace(io::Error),
    /// The program's output could not be written.
    Output(io::Error),
}

/// Runs the program and writes a trace to the file, which must be open for reading, too. The
/// program prints to `output`.
pub fn record(
    question: &Question,
    file: &File,
    output: &mut (dyn Write + Send),
) -> Result<Recording, RecordError> {
    let mut program = tables(question, question.forms.checked());
    let mut first = Recorder::new(question, &question.forms, file, &program)?;
    let (mut outcome, mut statistics, mut shares) = first.run(question, &question.forms, output);
    let believed = question.forms.believed();
    if outcome.trap().is_some() && believed.passes() != question.forms.passes() {
        begin_anew(file).map_err(RecordError::Trace)?;
        program = tables(question, believed.checked());
        first = Recorder::new(question, &believed, file, &program)?;
        (outcome, statistics, shares) = first.run(question, &believed, &mut io::sink());
    }
    if let End::OutputError(error) = outcome.result {
        return Err(RecordError::Output(error));
    }
    let failed = outcome.trap().map(|trap| Failed::of(question, trap));
    let mut writer = first.writer;
    writer.end(&finishline_trace::Ending {
        statistics,
        commutes: uses(question.module).isolated && !question.isolated_blocks_conflict(),
        failure: failed.as_ref().map(told),
    });
    let racing = match shares {
        true => racing(question, file).map_err(RecordError::Trace)?,
        false => None,
    };
    if failed.is_some() || racing.as_ref().is_some_and(|racing| !racing.is_empty()) {
        writer.close_up(&program);
        let ending = Ending::new(outcome.trap(), &statistics);
        writer = close_up(question, writer, racing.as_ref(), &ending);
    }
    let bytes = writer.written();
    writer.finish().map_err(RecordError::Trace)?;
    let failure = failed.map(|failed| Story::of(question, [], Some(&failed)).failure(&failed));
    Ok(Recording {
        failure,
        statistics,
        bytes,
    })
}

fn begin_anew(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(())
}

/// The racing locations of the trace in the file. None if they could not be found. Leaves the file
/// at its end.
fn racing(question: &Question, mut file: &File) -> io::Result<Option<LocationSet>> {
    let found = Trace::open(file).ok().and_then(|trace| {
        let told = Told::new(trace, Part::Run, &question.progress);
        let detector = choose(question.module);
        detectors::first_pass(detector, uses(question.module), &told).ok()
    });
    file.seek(SeekFrom::End(0))?;
    Ok(found.map(|(_, findings)| findings.racing))
}

/// Writes the run once more, with every access to the racing locations.
fn close_up<'f>(
    question: &Question,
    writer: Writer<&'f File>,
    racing: Option<&LocationSet>,
    first: &Ending,
) -> Writer<&'f File> {
    let none = LocationSet::new().ok();
    let Some(racing) = racing.or(none.as_ref()) else {
        return writer;
    };
    let mut recorder = Recorder {
        only: Some(racing),
        ..Recorder::with(question, writer)
    };
    let input = question.input();
    let mut did = Statistics::default();
    let listener = &mut (&mut recorder, EventsAlone(&mut did));
    let outcome = question.forms.tell(input, listener, &mut io::sink());
    let mut writer = recorder.writer;
    // Without its last chunk a close-up is not believed.
    if Ending::new(outcome.trap(), &did) == *first {
        let mut locations = racing.in_order().to_vec();
        locations.sort_unstable();
        writer.close(locations);
    }
    writer
}

/// A failure by ids, as a trace has it.
fn told(failed: &Failed) -> finishline_trace::Failure {
    let tasks = |tasks: &answer::Tasks| finishline_trace::Tasks {
        shown: tasks.shown.clone(),
        count: tasks.count,
    };
    let point = |point: &Point| finishline_trace::FailurePoint {
        site: point.site,
        task: point.task,
        waits_for: point.awaits.as_ref().map(|awaits| match awaits {
            Awaits::Tasks(awaited) => {
                finishline_trace::WaitsFor::Tasks(awaited.as_ref().map(tasks))
            }
            Awaits::Promise(promise, setters) => {
                finishline_trace::WaitsFor::Promise(*promise, setters.as_ref().map(tasks))
            }
            Awaits::Lock(lock, holder) => {
                finishline_trace::WaitsFor::Lock(*lock, holder.as_ref().map(tasks))
            }
        }),
    };
    finishline_trace::Failure {
        kind: failed.kind.to_owned(),
        message: failed.message.clone(),
        points: failed.points.iter().map(point).collect(),
        cycle: failed.cycle.as_ref().map(tasks),
    }
}

/// Listens to a run and writes it.
struct Recorder<'f, 'a> {
    writer: Writer<&'f File>,
    counts: Counts,
    /// The locations whose accesses are written. None: all of them.
    only: Option<&'a LocationSet>,
    /// By allocation, whether its objects are written. None: all of them.
    wanted: Option<Vec<bool>>,
    /// The number in the trace of the program's first function.
    first_function: u32,
    /// The running task, for the objects that it makes.
    task: TaskId,
    captures: Vec<u64>,
}

impl<'f> Recorder<'f, '_> {
    /// Begins a trace of this form of the program.
    fn new(
        question: &Question,
        forms: &Forms,
        file: &'f File,
        program: &Program,
    ) -> Result<Self, RecordError> {
        let writer = Writer::new(file, program).map_err(RecordError::Trace)?;
        Ok(Recorder {
            wanted: accessed(forms.checked()),
            first_function: question.module.functions.len() as u32,
            ..Recorder::with(question, writer)
        })
    }

    /// Continues a trace, with the program as it is.
    fn with(question: &Question, writer: Writer<&'f File>) -> Self {
        Recorder {
            writer,
            counts: Counts::new(&question.module.source),
            only: None,
            wanted: None,
            first_function: 0,
            task: TaskId::MAIN,
            captures: Vec::new(),
        }
    }

    fn run(
        &mut self,
        question: &Question,
        forms: &Forms,
        output: &mut (dyn Write + Send),
    ) -> (Outcome, Statistics, bool) {
        forms.record(question.input(), self, output)
    }
}

/// By allocation, whether a check may be about its objects. None if that is not known.
fn accessed(module: &Module) -> Option<Vec<bool>> {
    let references = finishline_opt::References::of(module)?;
    let mut accessed = vec![false; module.source.allocations.len()];
    // The globals are an object that every program has.
    if let Some(globals) = accessed.first_mut() {
        *globals = true;
    }
    for (index, function) in module.functions.iter().enumerate() {
        let blocks = function.blocks.iter();
        for instruction in blocks.flat_map(|block| &block.instructions) {
            let base = match instruction.op {
                Op::Check { base, .. } => base,
                // Events name promises and locks.
                Op::NewPromise { allocation, .. } | Op::NewLock { allocation } => {
                    accessed[allocation.index()] = true;
                    continue;
                }
                _ => continue,
            };
            let function = finishline_ir::FunctionId::from_index(index);
            for AllocationId(allocation) in references.of_value(function, base) {
                accessed[allocation as usize] = true;
            }
        }
    }
    Some(accessed)
}

impl Observer for Recorder<'_, '_> {
    fn event(&mut self, event: &Event) {
        self.task = event.task();
        // Objects are written with their shapes, which are told next.
        if !matches!(event, Event::Alloc { .. }) {
            self.writer.event(event);
        }
    }

    #[inline]
    fn access(&mut self, access: &Access) {
        let Some(only) = self.only else {
            self.writer.access(access);
            return;
        };
        for first in access.locations().filter(|at| only.contains(*at)) {
            self.writer.access(&Access {
                first,
                count: 1,
                stride: 1,
                ..*access
            });
        }
    }
}

impl Listener for Recorder<'_, '_> {
    fn created(&mut self, task: TaskId, creation: &Creation<'_>) {
        self.captures.clear();
        let bits = |datum| match datum {
            Datum::Int(value) => Some(value as u64),
            Datum::Float(value) => Some(value.to_bits()),
            Datum::Bool(value) => Some(u64::from(value)),
            Datum::Byte(value) => Some(u64::from(value)),
            Datum::Ref(_) => None,
        };
        let captures = (creation.captures)();
        self.captures.extend(captures.into_iter().filter_map(bits));
        self.writer.created(&finishline_trace::Creation {
            task,
            parent: creation.parent,
            site: creation.site,
            construct: creation.construct,
            index: creation.index,
            function: self.first_function + creation.function.0,
            captures: &self.captures,
        });
    }

    fn allocated(&mut self, object: &Allocated<'_>) {
        let Allocated {
            allocation,
            first: Location(first),
            count,
            ..
        } = *object;
        let number = self.counts.of(allocation);
        let earlier = *number;
        *number += 1;
        if (self.wanted.as_ref()).is_some_and(|wanted| !wanted[allocation.index()]) {
            return;
        }
        self.writer.object(&finishline_trace::Object {
            task: self.task,
            allocation,
            first: Location(first),
            count,
            shape: match object.shape {
                Shape::Globals => finishline_trace::Shape::Globals,
                Shape::Struct(layout) => finishline_trace::Shape::Struct(layout.0),
                Shape::Array(sizes) => finishline_trace::Shape::Array(sizes),
                Shape::Promise => finishline_trace::Shape::Promise,
                Shape::Lock => finishline_trace::Shape::Lock,
            },
            earlier,
        });
    }
}
