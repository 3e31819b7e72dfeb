//! The answer about a recorded run: what `check` answers about the run itself.
//!
//! A trace takes the place of a program that can be run again ([`Subject`]). A detector judges the
//! run as it was recorded. The racing accesses, the names and the stories of tasks come from the
//! close-up, if the trace has one for these locations, and else from the run as recorded. Then
//! accesses are missing that the same step had made before.
//!
//! The tables of a trace become a module without code. So everything that names things for a report
//! is the same as in a check.

use crate::check::{Judged, choose, unsupported};
use crate::compare::{self, Comparison};
use crate::executor::uses;
use crate::failed::{Awaits, Failed, Point};
use crate::focus::{About, Focus};
use crate::partition::Part;
use crate::picture::{self, NoPicture};
use crate::question::{CheckError, Ending, Question, Subject};
use crate::second_pass::MOST_FOLLOWED;
use crate::suppressions::Suppressions;
use finishline_answer::Answer;
use finishline_answer::answer::Tasks;
use finishline_answer::picture::Picture;
use finishline_detect::detectors::{self, Drive};
use finishline_detect::{Failure, Findings, LocationSet};
use finishline_ir::listener::{Allocated, Creation, EventsAlone, Listener, Shape};
use finishline_ir::machine::{Datum, TrapKind};
use finishline_ir::{
    Const, ConstructUse, Function, FunctionId, Global, Module, Role, StructId, StructLayout, Type,
};
use finishline_model::{Access, Detector, Event, Location, Observer, SiteId};
use finishline_trace::{Capture, Error, Hear, Object, Program, Trace};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};

/// What is asked about a trace.
pub struct Asked<'a> {
    /// None: the one that a check of the program would choose.
    pub detector: Option<Detector>,
    pub max_races: usize,
    pub suppressions: Option<Suppressions>,
    /// What the parts of a divided judgement found. None: everything is judged.
    pub judged: Option<JudgedParts>,
    /// The accesses judged so far, for a display of progress.
    pub progress: &'a AtomicU64,
}

/// What is found about some of the locations, or by all parts together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgedParts {
    pub racing: Vec<Location>,
    /// Isolated blocks of parallel tasks conflict.
    pub isolated_conflict: bool,
    /// Blocks under one lock do.
    pub overlap: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum AnalyzeError {
    Trace(Error),
    /// The detector does not know a construct that the program uses, at this place.
    Refused(CheckError, String),
}

/// Judges a recorded run.
pub fn analyze<R: Read + Seek>(trace: Trace<R>, asked: Asked<'_>) -> Result<Answer, AnalyzeError> {
    judged(trace, &asked, |judged| judged.answer())
}

/// Judges a recorded run, and draws its computation graph with at most `most` nodes. Tasks in which
/// nothing is checked are not recorded.
pub fn draw<R: Read + Seek>(
    trace: Trace<R>,
    asked: &Asked<'_>,
    most: usize,
) -> Result<Result<Picture, NoPicture>, AnalyzeError> {
    judged(trace, asked, |judged| picture::of(judged, most))
}

/// Judges a recorded run and puts the result into words.
fn judged<R: Read + Seek, T>(
    trace: Trace<R>,
    asked: &Asked<'_>,
    in_words: impl FnOnce(&Judged<'_, Recorded<'_, '_, R>>) -> T,
) -> Result<T, AnalyzeError> {
    let module = module(&trace.program);
    let failed = trace
        .ending
        .as_ref()
        .and_then(|ending| ending.failure.as_ref());
    let failed = failed.map(failure);
    let statistics = trace.ending.as_ref().map(|ending| ending.statistics);
    let words = trace.program.words.clone();
    let detector = asked.detector.unwrap_or_else(|| choose(&module));
    refuse_unsupported(detector, &module)?;
    let recorded = Recorded {
        module: &module,
        words,
        commutes: trace.ending.as_ref().is_some_and(|ending| ending.commutes),
        asked,
        told: Told::new(trace, finishline_trace::Part::Run, asked.progress),
    };
    let mut findings = recorded.judged(detector)?;
    if let (Ok(findings), Some(statistics)) = (&mut findings, statistics) {
        findings.statistics = statistics;
    }
    recorded.choose_part(findings.as_ref().ok());
    let told = in_words(&Judged {
        subject: &recorded,
        detector,
        ending: Ending::recorded(None),
        failed,
        cut_off: statistics.is_none(),
        findings,
        most_followed: MOST_FOLLOWED,
    });
    match recorded.told.failed.take() {
        Some(error) => Err(AnalyzeError::Trace(error)),
        None => Ok(told),
    }
}

/// Judges some locations of a recorded run.
pub fn analyze_part<R: Read + Seek>(
    trace: Trace<R>,
    asked: &Asked<'_>,
    part: Part,
) -> Result<Result<JudgedParts, Failure>, AnalyzeError> {
    let module = module(&trace.program);
    let detector = asked.detector.unwrap_or_else(|| choose(&module));
    refuse_unsupported(detector, &module)?;
    let recorded = Recorded {
        module: &module,
        words: Vec::new(),
        commutes: false,
        asked,
        told: Told::new(trace, finishline_trace::Part::Run, asked.progress),
    };
    let findings = recorded.findings(detector, Some(Focus::Part(part)))?;
    Ok(findings.map(|findings| JudgedParts {
        racing: findings.racing.in_order().to_vec(),
        isolated_conflict: findings.isolated_conflict,
        overlap: findings.overlap,
    }))
}

fn refuse_unsupported(detector: Detector, module: &Module) -> Result<(), AnalyzeError> {
    match unsupported(detector, module) {
        None => Ok(()),
        Some(used) => {
            let position = module.source.position(used.site);
            let refused = CheckError::Refused { detector, used };
            Err(AnalyzeError::Refused(refused, position))
        }
    }
}

/// Asks every detector about a recorded run, and compares them with the oracle.
pub fn compare<R: Read + Seek>(
    trace: Trace<R>,
    asked: &Asked<'_>,
) -> Result<Comparison, AnalyzeError> {
    let module = module(&trace.program);
    let recorded = Recorded {
        module: &module,
        words: Vec::new(),
        commutes: trace.ending.as_ref().is_some_and(|ending| ending.commutes),
        asked,
        told: Told::new(trace, finishline_trace::Part::Run, asked.progress),
    };
    let comparison = compare::compare_any(&recorded);
    match (recorded.told.failed.take(), comparison) {
        (Some(error), _) => Err(AnalyzeError::Trace(error)),
        (None, Ok(comparison)) => Ok(comparison),
        (None, Err(refused)) => Err(AnalyzeError::Refused(refused, String::new())),
    }
}

/// A trace that is told again and again.
pub(crate) struct Told<'a, R> {
    trace: RefCell<Trace<R>>,
    part: Cell<finishline_trace::Part>,
    progress: &'a AtomicU64,
    /// Why the trace could not be read to its end, once it could not.
    failed: Cell<Option<Error>>,
}

impl<'a, R: Read + Seek> Told<'a, R> {
    pub(crate) fn new(
        trace: Trace<R>,
        part: finishline_trace::Part,
        progress: &'a AtomicU64,
    ) -> Self {
        Told {
            trace: RefCell::new(trace),
            part: Cell::new(part),
            progress,
            failed: Cell::new(None),
        }
    }

    /// Tells the run. Whether it could be read.
    fn tell(&self, listener: &mut impl Listener) -> bool {
        let mut hearing = Hearing {
            listener,
            trace: self.progress,
            unreported: 0,
            functions: self.trace.borrow().program.functions.clone(),
        };
        let told = self.trace.borrow_mut().tell(self.part.get(), &mut hearing);
        let failed = self.failed.take().or(told.err());
        let could = failed.is_none();
        self.failed.set(failed);
        could
    }
}

impl<R: Read + Seek> Drive for &Told<'_, R> {
    type Output = ();

    fn drive(self, observer: &mut impl Observer) {
        self.tell(&mut EventsAlone(observer));
    }
}

/// A listener to a program, as one that hears a trace.
struct Hearing<'a, L> {
    listener: &'a mut L,
    trace: &'a AtomicU64,
    /// Accesses that progress does not show yet.
    unreported: u64,
    functions: Vec<Vec<(String, Capture)>>,
}

/// The accesses between two reports of progress.
const PULSE: u64 = 1 << 16;

impl<L: Listener> Hear for Hearing<'_, L> {
    fn event(&mut self, event: &Event) {
        self.listener.event(event);
    }

    #[inline]
    fn access(&mut self, access: &Access) {
        self.listener.access(access);
        self.unreported += 1;
        if self.unreported == PULSE {
            // A statistic: nothing is ordered by it.
            self.trace.fetch_add(PULSE, Ordering::Relaxed);
            self.unreported = 0;
        }
    }

    fn created(&mut self, creation: &finishline_trace::Creation<'_>) {
        let captures = || {
            let types = self.functions[creation.function as usize].iter();
            let mut values = creation.captures.iter();
            types
                .map(|(_, ty)| datum(*ty, || values.next().copied().unwrap_or_default()))
                .collect()
        };
        let made = Creation {
            parent: creation.parent,
            index: creation.index,
            site: creation.site,
            construct: creation.construct,
            function: FunctionId(creation.function),
            captures: &captures,
        };
        self.listener.created(creation.task, &made);
    }

    fn object(&mut self, object: &Object<'_>) {
        let Object {
            task,
            allocation,
            first,
            count,
            ..
        } = *object;
        self.listener.event(&Event::Alloc {
            task,
            allocation,
            first,
            count,
        });
        self.listener.allocated(&Allocated {
            allocation,
            first,
            count,
            shape: match object.shape {
                finishline_trace::Shape::Globals => Shape::Globals,
                finishline_trace::Shape::Struct(number) => Shape::Struct(StructId(number)),
                finishline_trace::Shape::Array(sizes) => Shape::Array(sizes),
                finishline_trace::Shape::Promise => Shape::Promise,
                finishline_trace::Shape::Lock => Shape::Lock,
            },
            earlier: Some(object.earlier),
        });
    }
}

/// A captured value. Of a hidden one there are no bits.
fn datum(ty: Capture, bits: impl FnOnce() -> u64) -> Datum {
    match ty {
        Capture::Int => Datum::Int(bits() as i64),
        Capture::Float => Datum::Float(f64::from_bits(bits())),
        Capture::Bool => Datum::Bool(bits() != 0),
        Capture::Byte => Datum::Byte(bits() as u8),
        Capture::Hidden => Datum::Ref(None),
    }
}

/// A question about a trace.
struct Recorded<'a, 'm, R> {
    module: &'m Module,
    words: Vec<String>,
    /// Isolated blocks conflict by nothing but updates that can be exchanged.
    commutes: bool,
    asked: &'a Asked<'a>,
    told: Told<'a, R>,
}

impl<R: Read + Seek> Recorded<'_, '_, R> {
    fn findings(
        &self,
        detector: Detector,
        focus: Option<Focus<'_>>,
    ) -> Result<Result<Findings, Failure>, AnalyzeError> {
        let (uses, run) = (uses(self.module), &self.told);
        let findings = match focus {
            None => detectors::first_pass(detector, uses, run).map(|((), findings)| findings),
            Some(focus) => detectors::first_pass(detector, uses, About { run, focus }).map(
                |(statistics, findings)| Findings {
                    statistics,
                    ..findings
                },
            ),
        };
        match self.told.failed.take() {
            Some(error) => Err(AnalyzeError::Trace(error)),
            None => Ok(findings),
        }
    }

    /// The findings about all locations. If parts were judged before, the racing locations alone
    /// are judged again: that gives them in the order of the run.
    fn judged(&self, detector: Detector) -> Result<Result<Findings, Failure>, AnalyzeError> {
        let Some(judged) = &self.asked.judged else {
            return self.findings(detector, None);
        };
        match LocationSet::of(&judged.racing) {
            Err(error) => Ok(Err(error.into())),
            Ok(racing) => {
                let mut findings = self.findings(detector, Some(Focus::Only(&racing)))?;
                if let Ok(findings) = &mut findings {
                    findings.isolated_conflict |= judged.isolated_conflict;
                    findings.overlap |= judged.overlap;
                }
                Ok(findings)
            }
        }
    }

    /// The close-up tells more, if it has everything about these findings.
    fn choose_part(&self, findings: Option<&Findings>) {
        let trace = self.told.trace.borrow();
        let is_followed = trace.followed().is_some_and(|followed| {
            let racing = findings.map_or(&[][..], |findings| findings.racing.in_order());
            racing.iter().all(|location| followed.contains(*location))
        });
        if is_followed {
            self.told.part.set(finishline_trace::Part::CloseUp);
        }
    }
}

impl<'m, R: Read + Seek> Subject<'m> for Recorded<'_, 'm, R> {
    fn module(&self) -> &'m Module {
        self.module
    }

    fn words(&self) -> &[String] {
        &self.words
    }

    fn max_races(&self) -> usize {
        self.asked.max_races
    }

    fn suppressions(&self) -> Option<&Suppressions> {
        self.asked.suppressions.as_ref()
    }

    fn watch(&self) -> Option<&str> {
        None
    }

    fn exploration(&self) -> String {
        "`finishline explore` runs the program in the other orders of the isolated blocks"
            .to_owned()
    }

    fn isolated_blocks_conflict(&self) -> bool {
        !self.commutes
    }

    fn again(&self, listener: &mut impl Listener) -> Ending {
        let could = self.told.tell(listener);
        Ending::recorded((!could).then_some("unreadable"))
    }

    /// The close-up has only accesses to racing locations.
    fn whole(&self, listener: &mut impl Listener) -> Ending {
        let part = self.told.part.replace(finishline_trace::Part::Run);
        let ending = self.again(listener);
        self.told.part.set(part);
        ending
    }

    fn judge(&self, detector: Detector) -> Result<(Ending, Result<Findings, Failure>), CheckError> {
        let findings = detectors::first_pass(detector, uses(self.module), &self.told);
        let findings = findings.map(|((), findings)| findings);
        Ok((Ending::recorded(None), findings))
    }
}

/// The tables of a trace for this program. Passes copy and renumber functions. So the functions of
/// the program as it is recorded come behind its own.
pub(crate) fn tables(question: &Question, checked: &Module) -> Program {
    let module = question.module;
    let captures = |function: &Function| match function.role {
        Role::Function => Vec::new(),
        Role::AsyncBody | Role::SpawnBody => {
            let values = &function.block(Function::ENTRY).parameters;
            let names = function.parameters.iter().zip(values);
            names
                .map(|(name, value)| (name.clone(), capture(function.ty(*value))))
                .collect()
        }
    };
    Program {
        words: question.words.clone(),
        source: module.source.clone(),
        constructs: (module.constructs.iter())
            .map(|used| (used.construct, used.site))
            .collect(),
        structs: (module.structs.iter())
            .map(|layout| layout.fields.iter().map(|(name, _)| name.clone()).collect())
            .collect(),
        globals: (module.globals.iter())
            .map(|global| global.name.clone())
            .collect(),
        functions: (module.functions.iter().chain(&checked.functions))
            .map(captures)
            .collect(),
    }
}

fn capture(ty: Type) -> Capture {
    match ty {
        Type::Int => Capture::Int,
        Type::Float => Capture::Float,
        Type::Bool => Capture::Bool,
        Type::Byte => Capture::Byte,
        Type::Ref => Capture::Hidden,
    }
}

/// The tables of a trace as a module without code.
fn module(program: &Program) -> Module {
    let nothing = Const::Int(0);
    let layout = |fields: &Vec<String>| StructLayout {
        name: String::new(),
        fields: (fields.iter())
            .map(|field| (field.clone(), nothing.ty()))
            .collect(),
    };
    let function = |captures: &Vec<(String, Capture)>| Function {
        name: String::new(),
        role: Role::AsyncBody,
        parameters: captures.iter().map(|(name, _)| name.clone()).collect(),
        result: None,
        blocks: Vec::new(),
        values: Vec::new(),
        frame: 0,
        site: SiteId(0),
        end: SiteId(0),
    };
    let global = |name: &String| Global {
        name: name.clone(),
        initial: nothing,
    };
    let used = |&(construct, site): &(_, _)| ConstructUse { construct, site };
    Module {
        source: program.source.clone(),
        structs: program.structs.iter().map(layout).collect(),
        globals: program.globals.iter().map(global).collect(),
        functions: program.functions.iter().map(function).collect(),
        main: FunctionId(0),
        constructs: program.constructs.iter().map(used).collect(),
        unchecked: BTreeMap::new(),
    }
}

/// A failure as a trace has it.
fn failure(failure: &finishline_trace::Failure) -> Failed {
    let tasks = |tasks: &finishline_trace::Tasks| Tasks {
        shown: tasks.shown.clone(),
        count: tasks.count,
    };
    let awaits = |waits_for: &finishline_trace::WaitsFor| match waits_for {
        finishline_trace::WaitsFor::Tasks(awaited) => Awaits::Tasks(awaited.as_ref().map(tasks)),
        finishline_trace::WaitsFor::Promise(promise, setters) => {
            Awaits::Promise(*promise, setters.as_ref().map(tasks))
        }
        finishline_trace::WaitsFor::Lock(lock, holder) => {
            Awaits::Lock(*lock, holder.as_ref().map(tasks))
        }
    };
    let known = TrapKind::WORDS.into_iter();
    Failed {
        kind: known
            .clone()
            .find(|word| *word == failure.kind)
            .unwrap_or("unknown"),
        message: failure.message.clone(),
        points: (failure.points.iter())
            .map(|point| Point {
                site: point.site,
                task: point.task,
                awaits: point.waits_for.as_ref().map(awaits),
            })
            .collect(),
        cycle: failure.cycle.as_ref().map(tasks),
    }
}
