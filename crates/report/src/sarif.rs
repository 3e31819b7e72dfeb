//! The report for code hosts and editors: the part of SARIF 2.1.0 that an answer needs.
//!
//! A finding is a result at its first access. The message links to the second access, because
//! viewers show only related locations that a message links to. The creation of the task, the join,
//! locks and the origin of the object are related locations too. Accesses of a process have stacks,
//! and a code flow from the creation of their task. A reason why a kernel is undecided is a result
//! at the place that would have to change. A remark is a result too. A clean answer is a run
//! without results. An unknown place is only a logical location. Regions have only a start. The
//! text of a place is folded to one line, so it appears in messages but not as the region's
//! snippet.
//!
//! One log has one run for any number of processes, because code hosts take one run a tool. Each
//! process is an invocation, and the provenance of a result names its invocation.
//!
//! [SARIF 3.11.5]: braces in a message are doubled. [SARIF 3.11.6]: brackets in a link's text have
//! a backslash before them. [SARIF 3.27.23]: either every result says whether it is suppressed, or
//! none does. So it is with the state of a result against a baseline. Missing values are left out.

use crate::Selection;
use crate::json::range;
use crate::node::{Node, object};
use crate::words::finding::{self as pair, APPARENT_REMARK, MAY_FOLLOW_REMARK};
use crate::words::{self, deadlock, proof as proof_words, task as task_words};
use finishline_answer::answer::{About, Answer, Failure, Suite};
use finishline_answer::exit_status::{exit_status, suite_exit_status};
use finishline_answer::finding::{self, Finding, FoundAccess};
use finishline_answer::location::{Bytes, Location, Object};
use finishline_answer::place::Place;
use finishline_answer::process::{Stopped, UNCHECKED_REMARK};
use finishline_answer::proof::{Reason, Remark, RemarkKind};
use finishline_answer::task::{JoinConstruct, Stack};
use finishline_answer::verdict::Verdict;
use std::io;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The id by which a message links to the second access.
const SECOND_ACCESS: u32 = 2;

pub(crate) fn write(
    answer: &Answer,
    selection: Selection,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let properties = match &answer.about {
        About::Process(_) => object! {
            "command": Node::List(Vec::new()),
            "notes": Node::List(Vec::new()),
            "exitStatus": exit_status(answer),
        },
        About::Check(_) | About::Proof(_) => properties(answer),
    };
    let rules = rules_of(&answer.about);
    log(std::slice::from_ref(answer), rules, selection, properties).write(out)
}

pub(crate) fn write_suite(suite: &Suite, out: &mut dyn io::Write) -> io::Result<()> {
    let properties = object! {
        "command": &suite.command,
        "notes": Node::list(words::notes(suite), Node::from),
        "exitStatus": suite_exit_status(suite),
    };
    let rules = Rule::OF_PROCESSES;
    log(&suite.answers, rules, Selection::default(), properties).write(out)
}

/// A rule. A log lists the rules that its kind of answers can break.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Race,
    ApparentRace,
    UnconfirmedRace,
    IsolationOrdered,
    LockOrdered,
    AtomicOrdered,
    ThreadOrdered,
    UseAfterFree,
    Stopped,
    ProgramFailure,
    Unproved,
    DeadWrite,
    NeverWritten,
}

impl Rule {
    const OF_CHECKS: &'static [Rule] = &[
        Rule::Race,
        Rule::ApparentRace,
        Rule::IsolationOrdered,
        Rule::LockOrdered,
        Rule::ProgramFailure,
    ];
    const OF_PROCESSES: &'static [Rule] = &[
        Rule::Race,
        Rule::LockOrdered,
        Rule::AtomicOrdered,
        Rule::ThreadOrdered,
        Rule::UseAfterFree,
        Rule::Stopped,
        Rule::ProgramFailure,
    ];
    const OF_PROOFS: &'static [Rule] = &[
        Rule::Race,
        Rule::UnconfirmedRace,
        Rule::Unproved,
        Rule::DeadWrite,
        Rule::NeverWritten,
    ];

    const fn of(rule: finding::Rule) -> Rule {
        match rule {
            finding::Rule::Race => Rule::Race,
            finding::Rule::Apparent => Rule::ApparentRace,
            finding::Rule::Unconfirmed => Rule::UnconfirmedRace,
            finding::Rule::IsolationOrdered => Rule::IsolationOrdered,
            finding::Rule::LockOrdered => Rule::LockOrdered,
            finding::Rule::AtomicOrdered => Rule::AtomicOrdered,
            finding::Rule::ThreadOrdered => Rule::ThreadOrdered,
            finding::Rule::UseAfterFree => Rule::UseAfterFree,
        }
    }

    const fn id(self) -> &'static str {
        match self {
            Rule::Race => "race",
            Rule::ApparentRace => "apparent-race",
            Rule::UnconfirmedRace => "unconfirmed-race",
            Rule::IsolationOrdered => "isolation-ordered",
            Rule::LockOrdered => "lock-ordered",
            Rule::AtomicOrdered => "atomic-ordered",
            Rule::ThreadOrdered => "thread-ordered",
            Rule::UseAfterFree => "use-after-free",
            Rule::Stopped => "stopped",
            Rule::ProgramFailure => "program-failure",
            Rule::Unproved => "unproved",
            Rule::DeadWrite => RemarkKind::DeadWrite.word(),
            Rule::NeverWritten => RemarkKind::NeverWritten.word(),
        }
    }

    const fn level(self) -> &'static str {
        match self {
            Rule::Race | Rule::UseAfterFree | Rule::ProgramFailure => "error",
            Rule::ApparentRace
            | Rule::UnconfirmedRace
            | Rule::IsolationOrdered
            | Rule::LockOrdered
            | Rule::AtomicOrdered
            | Rule::ThreadOrdered
            | Rule::Stopped
            | Rule::Unproved => "warning",
            Rule::DeadWrite | Rule::NeverWritten => "note",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Rule::Race => "Two accesses race",
            Rule::ApparentRace => {
                "Two accesses may race in another order of isolated and locked blocks"
            }
            Rule::UnconfirmedRace => "A race that a run does not confirm",
            Rule::IsolationOrdered => "The order of two isolated accesses is up to the schedule",
            Rule::LockOrdered => "The order of two accesses is up to a lock",
            Rule::AtomicOrdered => "The order of two atomic accesses is up to the schedule",
            Rule::ThreadOrdered => "Two accesses are ordered only if their tasks share a thread",
            Rule::UseAfterFree => "A block is used after it was freed",
            Rule::Stopped => "A task waits in vain",
            Rule::ProgramFailure => "The program failed",
            Rule::Unproved => "This keeps a part of the program from being proved",
            Rule::DeadWrite => "A write that nobody reads",
            Rule::NeverWritten => "A read of what nobody wrote",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Rule::Race => Verdict::Race.meaning(),
            Rule::ApparentRace => Verdict::Apparent.meaning(),
            Rule::UnconfirmedRace | Rule::Unproved => Verdict::Unknown.proof_meaning(),
            Rule::IsolationOrdered | Rule::LockOrdered | Rule::AtomicOrdered => {
                "no data race, but which of the two comes first is up to the schedule, and so may be the result"
            }
            Rule::ThreadOrdered => {
                "no data race if the bytes are kept for the thread that both tasks were on; which tasks share a thread is up to the schedule, and so may be the result"
            }
            Rule::UseAfterFree => {
                "the memory was nobody's any more: in a run without checks it may be part of another object, or gone"
            }
            Rule::Stopped => Verdict::Unknown.meaning(),
            Rule::ProgramFailure => Verdict::Trap.meaning(),
            Rule::DeadWrite => RemarkKind::DeadWrite.meaning(),
            Rule::NeverWritten => RemarkKind::NeverWritten.meaning(),
        }
    }

    /// What to do about a finding, in a process or in Fin.
    const fn help(self, in_process: bool) -> &'static str {
        match (self, in_process) {
            (Rule::Race, true) => {
                "Let a join or the end of a scope wait for the task of one access before the other access; or give each task \
                 memory of its own; or protect both by a lock, if their order does not matter."
            }
            (Rule::Race, _) => {
                "Let a join wait for the task of the first access before the second access, for \
                 example by a finish around its async or a sync before the second access; or give \
                 each task a location of its own."
            }
            (Rule::ApparentRace, _) => {
                "Explore the other orders of the isolated and locked blocks to confirm or refute it, or order \
                 the two accesses by a join."
            }
            (Rule::UnconfirmedRace, _) => {
                "Check the program on inputs of interest with `finishline check`."
            }
            (Rule::IsolationOrdered | Rule::LockOrdered | Rule::AtomicOrdered, _) => {
                "If the two do not commute, order them by a join, or combine the tasks' results in a fixed order."
            }
            (Rule::ThreadOrdered, _) => {
                "Make sure that other threads do not use these bytes, and that the result does not depend on which tasks share them."
            }
            (Rule::UseAfterFree, _) => {
                "Free the block after its last use: look for a pointer that outlives its owner, or its place in a vector that has grown."
            }
            (Rule::Stopped, _) => "Let tasks wait for each other only by join and scope.",
            (Rule::ProgramFailure, _) => {
                "Mend the failure and check again: what would have followed was not checked. If a \
                 race is reported as well, the failure may be its consequence."
            }
            (Rule::Unproved, _) => "The message says what would make it provable.",
            (Rule::DeadWrite, _) => "Remove the write, or read what it was meant for.",
            (Rule::NeverWritten, _) => {
                "Write it before, unless the starting value is what is wanted."
            }
        }
    }
}

fn rules_of(about: &About) -> &'static [Rule] {
    match about {
        About::Check(_) => Rule::OF_CHECKS,
        About::Process(_) => Rule::OF_PROCESSES,
        About::Proof(_) => Rule::OF_PROOFS,
    }
}

/// A log of answers that are all of one kind.
fn log(answers: &[Answer], rules: &[Rule], selection: Selection, properties: Node) -> Node {
    let in_process = rules.contains(&Rule::Stopped);
    let rules = Node::list(rules, |rule| descriptor(*rule, in_process));
    let suppressing = answers.iter().any(|answer| answer.suppressed.is_some());
    let known = |answer: &Answer| answer.process().and_then(|process| process.known.clone());
    let comparing = answers.iter().any(|answer| known(answer).is_some());
    // Either all results have such a property or none.
    let state = |of_result: &'static str| match comparing {
        true => object! { "baselineState": of_result },
        false => object! {},
    };
    let mut results = Vec::new();
    for (index, answer) in answers.iter().enumerate() {
        let log = Log { answer, index };
        results.extend(log.results(selection).into_iter().map(|result| {
            result
                .with(match suppressing {
                    true => object! { "suppressions": Node::List(Vec::new()) },
                    false => object! {},
                })
                .with(state("new"))
        }));
        for finding in known(answer).iter().flat_map(|known| &known.findings) {
            let suppressions = suppressing.then(|| Node::List(Vec::new()));
            let result = log.pair(finding).with(state("unchanged"));
            results.push(result.with(object! { "suppressions": Node::if_any(suppressions) }));
        }
    }
    for (index, answer) in answers.iter().enumerate() {
        let log = Log { answer, index };
        for finding in answer.suppressed.iter().flat_map(|some| &some.findings) {
            // Suppressed by a file, not by a remark in the source.
            let external = Node::List(vec![object! { "kind": "external" }]);
            let result = log.pair(finding).with(state("unchanged"));
            results.push(result.with(object! { "suppressions": external }));
        }
    }
    object! {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": Node::List(vec![object! {
            "tool": object! {
                "driver": object! {
                    "name": "finishline",
                    "version": env!("CARGO_PKG_VERSION"),
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                },
            },
            "invocations": Node::list(answers, invocation),
            "columnKind": "unicodeCodePoints",
            "results": Node::List(results),
            "properties": properties,
        }]),
    }
}

fn descriptor(rule: Rule, in_process: bool) -> Node {
    object! {
        "id": rule.id(),
        "shortDescription": message(rule.title()),
        "fullDescription": message(rule.meaning()),
        "help": message(rule.help(in_process)),
        "defaultConfiguration": object! { "level": rule.level() },
    }
}

fn invocation(answer: &Answer) -> Node {
    object! {
        "executionSuccessful": answer.verdict != Verdict::Unknown,
        "exitCode": exit_status(answer),
        "properties": match &answer.about {
            About::Process(_) => properties(answer),
            About::Check(_) | About::Proof(_) => Node::Absent,
        },
    }
}

/// The question and what was established. It belongs to the run, or to the invocation of a process.
fn properties(answer: &Answer) -> Node {
    let program = object! { "program": &answer.program };
    let asked = match &answer.about {
        About::Check(check) => object! {
            "arguments": &answer.arguments,
            "detector": check.detector.name(),
            "orders": Node::if_any(words::orders(answer)),
        },
        About::Process(process) => object! {
            "arguments": &answer.arguments,
            "test": process.test.as_ref(),
            "detector": process.detector.name(),
        },
        About::Proof(proof) => object! {
            "parameters": &proof.parameters,
            "range": range(proof),
        },
    };
    let said = object! {
        "verdict": answer.verdict.word(),
        "meaning": words::meaning(answer),
        "guarantee": words::guarantee(answer),
    };
    let limits = match &answer.about {
        About::Process(process) => object! {
            "because": process.because.map(|limit| limit.because()),
            "threads": words::all_started(std::iter::once(process)),
            "unseen": Node::list(&process.unseen, |atomic| words::unseen(atomic).into()),
        },
        About::Check(_) | About::Proof(_) => object! {},
    };
    let found = object! {
        "stronger": words::stronger(answer),
        "distinctRaces": answer.distinct,
        "suppressedRaces": match &answer.about {
            About::Check(_) | About::Process(_) => answer.suppressed_count().into(),
            About::Proof(_) => Node::Absent,
        },
    };
    program.with(asked).with(said).with(limits).with(found)
}

/// One answer of a log, and its index there.
struct Log<'a> {
    answer: &'a Answer,
    index: usize,
}

impl Log<'_> {
    fn results(&self, selection: Selection) -> Vec<Node> {
        let answer = self.answer;
        let findings = answer.findings.iter().take(selection.max_findings);
        let mut results: Vec<Node> = findings.map(|finding| self.pair(finding)).collect();
        match &answer.about {
            About::Check(_) => {}
            About::Process(process) => {
                results.extend(process.stopped.iter().map(|stopped| self.stopped(stopped)));
            }
            About::Proof(proof) => {
                let reasons = proof.kernels.iter().flat_map(|kernel| &kernel.reasons);
                results.extend(reasons.map(|reason| self.reason(reason)));
                results.extend(proof.remarks.iter().map(|remark| self.remark(remark)));
            }
        }
        results.extend(answer.failure.iter().map(|failure| self.failure(failure)));
        results
    }

    fn result(&self, rule: Rule, text: &str, at: Node) -> Node {
        let about = &self.answer.about;
        let index = rules_of(about).iter().position(|other| *other == rule);
        object! {
            "ruleId": rule.id(),
            "ruleIndex": index.unwrap_or_default(),
            "level": rule.level(),
            "message": message(text),
            "locations": Node::List(vec![at]),
            "provenance": match about {
                About::Process(_) => object! { "invocationIndex": self.index },
                About::Check(_) | About::Proof(_) => Node::Absent,
            },
        }
    }

    fn pair(&self, finding: &Finding) -> Node {
        let accesses = [&finding.first, &finding.second];
        let [of_first, of_second] = pair::by_both(finding);
        let mut stacks = Vec::new();
        let mut flows = Vec::new();
        if finding.first.machine.is_some() {
            for (number, access) in (1..).zip(accesses) {
                stacks.push(stack(&format!("({number})"), &access.stack));
            }
            if let Location::Bytes(Bytes {
                object: Object::Heap { allocated, .. },
                ..
            }) = &finding.location
            {
                stacks.push(stack("the allocation", allocated));
            }
            let both = [
                flow(1, accesses[0], &of_first),
                flow(2, accesses[1], &of_second),
            ];
            flows.push(object! { "threadFlows": Node::List(both.into()) });
        }
        let occurrences = match &finding.claim {
            Some(_) => None,
            None if finding.first.machine.is_some() => Some(finding.seen.locations.count.max(1)),
            None => Some(finding.seen.times.max(1)),
        };
        let text = self.text(finding);
        let at = access(1, accesses[0], &of_first, None);
        self.result(Rule::of(finding.rule), &text, at)
            .with(object! {
                "relatedLocations": Node::List(related(finding, &of_second)),
                "stacks": Node::unless_empty(stacks),
                "codeFlows": Node::unless_empty(flows),
                "occurrenceCount": Node::if_any(occurrences),
            })
    }

    fn text(&self, finding: &Finding) -> String {
        let target = format!("(2) is at {}", task_words::site(&finding.second.stack));
        let mut text = format!(
            "{}: (1) is here, {}.",
            pair::message(finding),
            link(&target, SECOND_ACCESS),
        );
        if let Some(why) = pair::why(finding) {
            text += &format!(" {why}.");
        }
        if let Some(by) = &finding.ordered_by {
            text += &format!(" Ordered by {}.", pair::ordered_by(by));
        }
        if finding.rule == finding::Rule::Apparent {
            text += &format!(" It is only apparent: {APPARENT_REMARK}.");
        }
        if finding.may_follow {
            text += &format!(" It is {MAY_FOLLOW_REMARK}.");
        }
        if !finding.replay.is_empty() {
            text += &format!(" Replay: {}", finding.replay);
        }
        if let (Some(claim), Some(proof)) = (&finding.claim, self.answer.proof()) {
            if let Some(benign) = claim.benign {
                text += &format!(" Benign: {}.", benign.meaning());
            }
            if let Some(witness) = &claim.witness {
                let case = proof_words::case(proof, witness);
                let run = proof_words::confirmation(&witness.confirmation);
                let kind = proof_words::kind_of_case(witness);
                text += &format!(" The {kind}: {case}; {run}. Replay: {}", witness.replay);
            }
        }
        text
    }

    fn stopped(&self, stopped: &Stopped) -> Node {
        let task = format!("in task {}", task_words::task(&stopped.task));
        let at = shown(&stopped.stack, &task, None);
        self.result(Rule::Stopped, &words::stopped(stopped), at)
            .with(object! {
                "stacks": Node::List(vec![stack("the waiting task", &stopped.stack)]),
            })
    }

    fn failure(&self, failure: &Failure) -> Node {
        let mut points = deadlock::points(failure).enumerate().map(|(index, at)| {
            let number = match failure.is_deadlock() {
                true => format!("{} ", deadlock::number(index)),
                false => String::new(),
            };
            let task = task_words::task(&at.task);
            let mut text = format!("{number}{} in task {task}", at.place.text);
            text.extend(deadlock::waits(at, index).map(|waits| format!(" {waits}")));
            location(Some(&at.place), &text, None, None)
        });
        let at = points.next().unwrap_or_else(|| {
            let program = Some(self.answer.process_name());
            let near = failure.near.as_ref();
            let text = near.map_or("where is not known", |near| near.text.as_str());
            location(near, text, program, None)
        });
        let mut text = words::failure(failure);
        text.extend(deadlock::cycle(failure).map(|cycle| format!(". Cycle: {cycle}")));
        if let Some(command) = &failure.unchecked {
            text += &format!("; {}: {command}", UNCHECKED_REMARK);
        }
        self.result(Rule::ProgramFailure, &text, at).with(object! {
            "relatedLocations": Node::unless_empty(points.collect()),
        })
    }

    fn reason(&self, reason: &Reason) -> Node {
        let text = proof_words::reason(reason);
        let help = format!("{text}. To make it provable: {}", reason.kind.help());
        let at = location(Some(&reason.place), &text, None, None);
        self.result(Rule::Unproved, &help, at)
    }

    fn remark(&self, remark: &Remark) -> Node {
        let rule = match remark.kind {
            RemarkKind::DeadWrite => Rule::DeadWrite,
            RemarkKind::NeverWritten => Rule::NeverWritten,
        };
        let at = location(Some(&remark.place), &remark.place.text, None, None);
        self.result(rule, &proof_words::remark(remark), at)
    }
}

/// The second access, the creation, the join, the locks, and the origin of the object.
fn related(finding: &Finding, of_second: &str) -> Vec<Node> {
    let mut related = vec![access(2, &finding.second, of_second, Some(SECOND_ACCESS))];
    let mut relate = |place: Option<&Place>, text: &str| {
        related.extend(place.map(|place| location(Some(place), text, None, None)));
    };
    if let Some(why) = &finding.why {
        let task = task_words::task(&why.task);
        let created = match finding.first.machine {
            Some(_) => "created",
            None => "spawned",
        };
        relate(why.spawned.as_ref(), &format!("{task} was {created} here"));
        if let Some(join) = &why.join {
            let waits = match &join.construct {
                JoinConstruct::Operation(operation) => {
                    format!("the {operation} whose end waits for it")
                }
                construct => format!("{construct}: the first join that waits for {task}"),
            };
            relate(join.place.as_ref(), &waits);
        }
    }
    for (number, access) in [(1, &finding.first), (2, &finding.second)] {
        for held in access.machine.iter().flat_map(|machine| &machine.locks) {
            let lock = pair::synchroniser(&held.lock);
            let taken = format!("({number}) holds {lock}, taken here");
            relate(held.place.as_ref(), &taken);
        }
    }
    match &finding.location {
        Location::Bytes(bytes) => match &bytes.object {
            Object::Heap { allocated, .. } => {
                relate(allocated.place(), "the block was allocated here");
            }
            Object::Global { name, defined, .. } => {
                relate(defined.as_ref(), &format!("{name} is defined here"));
            }
            Object::Stack { place, .. } => relate(place.as_ref(), "the variable's function"),
            Object::ThreadLocal | Object::Unknown => {}
        },
        place => {
            let allocated = format!("{} was allocated here", pair::object(place));
            relate(finding.allocated.as_ref(), &allocated);
        }
    }
    related
}

fn access(number: u32, access: &FoundAccess, by: &str, id: Option<u32>) -> Node {
    let by = match by {
        "" => String::new(),
        by if access.task.is_some() => format!(" in {by}"),
        by => format!(" {by}"),
    };
    let text = format!("({number}) {}{by}", pair::access(access));
    shown(&access.stack, &text, id)
}

/// The place to show of a stack.
fn shown(stack: &Stack, text: &str, id: Option<u32>) -> Node {
    let function = stack.frame().map(|frame| frame.function.as_str());
    location(stack.place(), text, function, id)
}

/// A place, as far as it is known, and a text about it.
fn location(place: Option<&Place>, text: &str, function: Option<&str>, id: Option<u32>) -> Node {
    object! {
        "id": Node::if_any(id),
        "physicalLocation": Node::if_any(place.map(|place| object! {
            "artifactLocation": object! { "uri": uri(&place.file) },
            "region": object! { "startLine": place.line, "startColumn": place.column },
        })),
        "logicalLocations": Node::if_any(function.map(|name| {
            Node::List(vec![object! { "name": name, "kind": "function" }])
        })),
        "message": message(text),
    }
}

fn stack(of: &str, stack: &Stack) -> Node {
    object! {
        "message": message(&format!("the stack of {of}")),
        "frames": Node::list(&stack.frames, |frame| {
            let text = task_words::frame(frame);
            let at = location(frame.place.as_ref(), &text, Some(&frame.function), None);
            object! { "location": at }
        }),
    }
}

/// The steps from the creation of an access's task to the access.
fn flow(number: u32, access: &FoundAccess, by: &str) -> Node {
    let steps = access.task.iter().flat_map(|task| &task.steps);
    let created = steps.filter_map(|step| {
        let text = format!("{} creates tasks", step.operation);
        Some(location(Some(step.place.as_ref()?), &text, None, None))
    });
    let locations = created.chain([self::access(number, access, by, None)]);
    object! {
        "message": message(by),
        "locations": Node::list(locations, |location| object! { "location": location }),
    }
}

fn message(text: &str) -> Node {
    object! { "text": text.replace('{', "{{").replace('}', "}}") }
}

fn link(text: &str, location: u32) -> String {
    let text = text
        .replace('\\', r"\\")
        .replace('[', r"\[")
        .replace(']', r"\]");
    format!("[{text}]({location})")
}

/// A path as a URI reference. Relative paths stay relative. Everything except unreserved characters
/// and `/` is encoded. An unencoded colon would make the first name look like a scheme.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    if path.starts_with('/') {
        uri += "file://";
    }
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}
