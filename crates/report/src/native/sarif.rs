//! Native runs for code hosts and editors: SARIF 2.1.0.
//!
//! One log has one run, however many processes there were, since code hosts take one run a tool: each process is an invocation, and a result says
//! by its provenance which one it comes from. A pair is a result at its first access, with both stacks, with a code flow of the two tasks
//! from their creation to the access, and with related locations as in the other reports. A frame or an access whose line is not known is a
//! logical location alone.

use super::{exit_status, suite_exit_status, words};
use crate::sarif::log;
use crate::sarif::log::{
    CodeFlow, Configuration, Descriptor, FlowLocation, Invocation, Location, Log, Provenance,
    SarifResult, StackFrame, Suppression, ThreadFlow, link, message,
};
use crate::words::MAY_FOLLOW_REMARK;
use finishline_answer::native::{
    Conflict, ConflictClass, NativeAccess, NativeRun, NativeSuite, Object, Stack, Stopped,
};
use finishline_answer::summary::Place;
use finishline_answer::verdict::Verdict;
use serde::Serialize;
use std::io;

/// The id by which a message links to the second access.
const SECOND_ACCESS: u32 = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Race,
    LockOrdered,
    AtomicOrdered,
    Stopped,
    ProgramFailure,
}

impl Rule {
    const ALL: [Rule; 5] = [
        Rule::Race,
        Rule::LockOrdered,
        Rule::AtomicOrdered,
        Rule::Stopped,
        Rule::ProgramFailure,
    ];

    const fn of(class: ConflictClass) -> Rule {
        match class {
            ConflictClass::Race => Rule::Race,
            ConflictClass::LockOrdered => Rule::LockOrdered,
            ConflictClass::AtomicOrdered => Rule::AtomicOrdered,
        }
    }

    const fn id(self) -> &'static str {
        match self {
            Rule::Race => ConflictClass::Race.word(),
            Rule::LockOrdered => ConflictClass::LockOrdered.word(),
            Rule::AtomicOrdered => ConflictClass::AtomicOrdered.word(),
            Rule::Stopped => "stopped",
            Rule::ProgramFailure => "program-failure",
        }
    }

    const fn level(self) -> &'static str {
        match self {
            Rule::Race | Rule::ProgramFailure => "error",
            Rule::LockOrdered | Rule::AtomicOrdered | Rule::Stopped => "warning",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Rule::Race => "Two accesses race",
            Rule::LockOrdered => "The order of two accesses is up to a lock",
            Rule::AtomicOrdered => "The order of two atomic accesses is up to the schedule",
            Rule::Stopped => "A task waits in vain",
            Rule::ProgramFailure => "The program failed",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Rule::Race => Verdict::Race.native_meaning(),
            Rule::LockOrdered | Rule::AtomicOrdered => {
                "no data race, but which of the two comes first is up to the schedule, and so may be the result"
            }
            Rule::Stopped => Verdict::Unknown.native_meaning(),
            Rule::ProgramFailure => Verdict::Trap.native_meaning(),
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Rule::Race => {
                "Let a join or the end of a scope wait for the task of one access before the other access; or give each task \
                 memory of its own; or protect both by a lock, if their order does not matter."
            }
            Rule::LockOrdered | Rule::AtomicOrdered => {
                "If the two do not commute, order them by a join, or combine the tasks' results in a fixed order."
            }
            Rule::Stopped => "Let tasks wait for each other only by join and scope.",
            Rule::ProgramFailure => {
                "Mend the failure and check again: what would have followed was not checked. If a race is reported as well, the \
                 failure may be its consequence."
            }
        }
    }

    fn descriptor(self) -> Descriptor {
        Descriptor {
            id: self.id(),
            short_description: message(self.title()),
            full_description: message(self.meaning()),
            help: message(self.help()),
            default_configuration: Configuration {
                level: self.level(),
            },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunProperties<'a> {
    command: &'a [String],
    notes: &'a [String],
    exit_status: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProcessProperties<'a> {
    program: &'a str,
    arguments: &'a [String],
    test: Option<&'a str>,
    detector: &'static str,
    verdict: &'static str,
    meaning: &'static str,
    guarantee: String,
    because: Option<&'static str>,
    unseen: Vec<String>,
    stronger: Option<&'static str>,
    distinct_races: u64,
    suppressed_races: u64,
}

/// The log of these processes; the suite they belong to, if they are more than one process on its own.
pub(super) fn write(
    runs: &[NativeRun],
    suite: Option<&NativeSuite>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let suppressing = runs.iter().any(|run| run.suppressed.is_some());
    let mut results = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        results.extend(run.conflicts.iter().map(|conflict| pair(conflict, index)));
        results.extend(
            run.stopped
                .as_ref()
                .map(|stopped| self::stopped(stopped, index)),
        );
        results.extend(
            run.failure
                .as_ref()
                .map(|failure| failed(run, failure, index)),
        );
    }
    // [SARIF 3.27.23]: either every result says whether it is suppressed, or none does.
    if suppressing {
        for result in &mut results {
            result.suppressions = Some(Vec::new());
        }
    }
    for (index, run) in runs.iter().enumerate() {
        for conflict in run
            .suppressed
            .iter()
            .flat_map(|suppressed| &suppressed.conflicts)
        {
            results.push(SarifResult {
                suppressions: Some(vec![Suppression { kind: "external" }]),
                ..pair(conflict, index)
            });
        }
    }
    let rules = Rule::ALL.map(Rule::descriptor).into();
    let invocations = runs.iter().map(invocation).collect();
    let properties = RunProperties {
        command: suite.map_or(&[], |suite| &suite.command),
        notes: suite.map_or(&[], |suite| &suite.notes),
        exit_status: suite.map_or_else(|| runs.first().map_or(0, exit_status), suite_exit_status),
    };
    Log::new(rules, invocations, results, properties).write(out)
}

fn invocation(run: &NativeRun) -> Invocation<ProcessProperties<'_>> {
    Invocation {
        execution_successful: run.verdict != Verdict::Unknown,
        exit_code: exit_status(run),
        properties: Some(ProcessProperties {
            program: &run.program,
            arguments: &run.arguments,
            test: run.test.as_deref(),
            detector: run.detector.name(),
            verdict: run.verdict.word(),
            meaning: run.verdict.native_meaning(),
            guarantee: words::guarantee(run),
            because: run.because.map(|limit| limit.because()),
            unseen: run.unseen.iter().map(words::unseen).collect(),
            stronger: words::stronger(run),
            distinct_races: run.distinct,
            suppressed_races: run.suppressed_count(),
        }),
    }
}

fn result<'a>(rule: Rule, text: &str, at: Location<'a>, process: usize) -> SarifResult<'a> {
    SarifResult {
        rule_id: rule.id(),
        rule_index: rule as usize,
        level: rule.level(),
        message: message(text),
        locations: vec![at],
        related_locations: Vec::new(),
        stacks: Vec::new(),
        code_flows: Vec::new(),
        provenance: Some(Provenance {
            invocation_index: process,
        }),
        occurrence_count: None,
        suppressions: None,
    }
}

fn pair(conflict: &Conflict, process: usize) -> SarifResult<'_> {
    let (first, second) = (&conflict.first, &conflict.second);
    let [of_first, of_second] = words::tasks(conflict);
    let target = format!("(2) is at {}", words::site(&second.stack));
    let mut text = format!(
        "{}: (1) is here, {}. {}.",
        words::message(conflict),
        link(&target, SECOND_ACCESS),
        words::why(conflict)
    );
    if let Some(by) = &conflict.ordered_by {
        text += &format!(" Ordered by {}.", words::ordered_by(by));
    }
    if conflict.may_follow {
        text += &format!(" It is {MAY_FOLLOW_REMARK}.");
    }
    if !conflict.replay.is_empty() {
        text += &format!(" Replay: {}", conflict.replay);
    }
    let mut related = vec![Location {
        id: Some(SECOND_ACCESS),
        ..access(2, second, &of_second)
    }];
    let why = &conflict.why;
    let mut relate = |place: &Option<Place>, text: &str| {
        related.extend(place.as_ref().map(|place| Location::at(place, text)));
    };
    relate(
        &why.spawned,
        &format!("{} was created here", words::task(&why.task)),
    );
    if let Some(join) = &why.join {
        relate(
            &join.place,
            &format!("the {} whose end waits for it", join.operation),
        );
    }
    for (number, access) in [(1, first), (2, second)] {
        for held in &access.locks {
            let lock = words::synchroniser(&held.lock);
            relate(&held.place, &format!("({number}) holds {lock}, taken here"));
        }
    }
    match &conflict.object {
        Object::Heap { allocated, .. } => {
            relate(&allocated.place().cloned(), "the block was allocated here");
        }
        Object::Global { name, defined, .. } => relate(defined, &format!("{name} is defined here")),
        Object::Stack { place, .. } => relate(place, "the variable's function"),
        Object::Unknown => {}
    }
    let mut stacks = vec![stack("(1)", &first.stack), stack("(2)", &second.stack)];
    if let Object::Heap { allocated, .. } = &conflict.object {
        stacks.push(stack("the allocation", allocated));
    }
    SarifResult {
        related_locations: related,
        stacks,
        code_flows: vec![CodeFlow {
            thread_flows: vec![flow(1, first, &of_first), flow(2, second, &of_second)],
        }],
        occurrence_count: Some(conflict.locations.max(1)),
        ..result(
            Rule::of(conflict.class),
            &text,
            access(1, first, &of_first),
            process,
        )
    }
}

fn stopped(stopped: &Stopped, process: usize) -> SarifResult<'_> {
    let text = words::stopped(stopped);
    let task = format!("in task {}", words::task(&stopped.task));
    SarifResult {
        stacks: vec![stack("the waiting task", &stopped.stack)],
        ..result(Rule::Stopped, &text, shown(&stopped.stack, &task), process)
    }
}

fn failed<'a>(run: &'a NativeRun, failure: &str, process: usize) -> SarifResult<'a> {
    let at = Location::somewhere("where is not known").in_function(&run.program);
    result(Rule::ProgramFailure, failure, at, process)
}

fn access<'a>(number: u32, access: &'a NativeAccess, task: &str) -> Location<'a> {
    let text = format!("({number}) {} in task {task}", words::access(access));
    shown(&access.stack, &text)
}

/// The place to show of a stack.
fn shown<'a>(stack: &'a Stack, text: &str) -> Location<'a> {
    let location = match stack.place() {
        Some(place) => Location::at(place, text),
        None => Location::somewhere(text),
    };
    match stack.frame() {
        Some(frame) => location.in_function(&frame.function),
        None => location,
    }
}

fn stack<'a>(of: &str, stack: &'a Stack) -> log::Stack<'a> {
    let frames = stack.frames.iter().map(|frame| {
        let text = words::frame(frame);
        let location = match &frame.place {
            Some(place) => Location::at(place, &text),
            None => Location::somewhere(&text),
        };
        StackFrame {
            location: location.in_function(&frame.function),
        }
    });
    log::Stack {
        message: message(&format!("the stack of {of}")),
        frames: frames.collect(),
    }
}

/// From the creation of an access's task to the access.
fn flow<'a>(number: u32, access: &'a NativeAccess, task: &str) -> ThreadFlow<'a> {
    let created = access.task.steps.iter().filter_map(|step| {
        let place = step.place.as_ref()?;
        Some(Location::at(
            place,
            &format!("{} creates tasks", step.operation),
        ))
    });
    let locations = created.chain([self::access(number, access, task)]);
    ThreadFlow {
        message: message(&format!("task {task}")),
        locations: locations
            .map(|location| FlowLocation { location })
            .collect(),
    }
}
