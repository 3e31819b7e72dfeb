//! The report for scripts. `docs/report.schema.json` defines the format and `docs/report.md`
//! explains it. Change fields there, here and in the CHANGELOG together.
//!
//! Parts that all answers share have the same names in all of them. `fin`, `native`, `suite` and
//! `proof` in the schema list the other fields of each. Every field is always present. Missing
//! values are `null`. Lists that the answer cut short have their full length beside them. Addresses
//! are hexadecimal strings, because a 64-bit integer does not fit every JSON reader.

use crate::Selection;
use crate::node::{Node, object};
use crate::parts;
use crate::words::finding as pair;
use crate::words::{self, proof as proof_words, task as task_words};
use finishline_answer::answer::{
    About, Answer, Determinacy, Exploration, Failure, FailurePoint, Suite, Tasks, WaitsFor, Watch,
};
use finishline_answer::claim::{Claim, Witness};
use finishline_answer::exit_status::{exit_status, suite_exit_status};
use finishline_answer::finding::{Finding, FoundAccess, Names, OrderedBy, Rule, Synchroniser};
use finishline_answer::location::{Bytes, Location, Object};
use finishline_answer::place::Place;
use finishline_answer::process::Process;
use finishline_answer::proof::{Kernel, ParameterRange, Proof, ReadSources};
use finishline_answer::task::{Created, Stack, Step, Task, WhyParallel};
use finishline_answer::unsafe_code::UnsafeCode;
use finishline_answer::verdict::Verdict;
use std::io;

/// Raised when a field is added, renamed or dropped.
const SCHEMA_VERSION: u32 = 1;

pub(crate) fn write(
    answer: &Answer,
    selection: Selection,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    report(answer, selection).write(out)
}

pub(crate) fn write_suite(suite: &Suite, out: &mut dyn io::Write) -> io::Result<()> {
    let mut verdicts: Vec<(&str, Node)> = Vec::new();
    for verdict in Verdict::ALL {
        let with = suite.answers.iter().filter(|one| one.verdict == verdict);
        match with.count() {
            0 => {}
            count => verdicts.push((verdict.word(), count.into())),
        }
    }
    verdicts.sort_by_key(|(word, _)| *word);
    head()
        .with(object! {
            "command": &suite.command,
            "exit_status": suite_exit_status(suite),
            "verdicts": Node::Object(verdicts),
            "notes": &suite.notes,
            "interrupted": suite.interrupted,
            "not_run": Node::list(&suite.not_run, |it| object! {
                "program": &it.program,
                "test": it.test.as_ref(),
                "why": it.why.word(),
            }),
            "partition": parts::node(suite)?,
            "unsafe_code": suite.unsafe_code.as_ref().map(|all| Node::list(all, |it| {
                unsafe_code(&it.code).with(object! {
                    "processes": it.processes,
                    "first": it.first.as_ref(),
                })
            })),
            "reports": Node::list(&suite.answers, |answer| report(answer, Selection::default())),
        })
        .write(out)
}

/// The beginning of every document.
pub(crate) fn head() -> Node {
    object! {
        "schema_version": SCHEMA_VERSION,
        "tool": object! { "name": "finishline", "version": env!("CARGO_PKG_VERSION") },
    }
}

fn report(answer: &Answer, selection: Selection) -> Node {
    let head = head().with(object! { "program": &answer.program });
    let established = |between: Node| {
        let said = object! {
            "verdict": answer.verdict.word(),
            "meaning": words::meaning(answer),
            "guarantee": words::guarantee(answer),
        };
        let ending = object! {
            "stronger": words::stronger(answer),
            "exit_status": exit_status(answer),
        };
        said.with(between).with(ending)
    };
    let findings = answer.findings.iter().take(selection.max_findings);
    let findings = Node::list(findings, finding);
    match &answer.about {
        About::Check(check) => head
            .with(object! { "arguments": &answer.arguments, "detector": check.detector.name() })
            .with(established(object! {}))
            .with(object! {
                "races": findings,
                "distinct_races": answer.distinct,
                "suppressed_races": answer.suppressed_count(),
                "racing_locations": names(&check.racing_locations),
                "failure": answer.failure.as_ref().map(failure),
                "watch": check.watched.as_ref().map(watch),
                "statistics": object! {
                    "tasks": check.statistics.tasks,
                    "finishes": check.statistics.finishes,
                    "isolated_blocks": check.statistics.isolated_blocks,
                    "accesses": check.statistics.accesses,
                    "locations": check.statistics.locations,
                },
                "exploration": Node::if_any(check.exploration.as_deref().map(exploration)),
            }),
        About::Process(process) => head
            .with(object! {
                "arguments": &answer.arguments,
                "test": process.test.as_ref(),
                "detector": process.detector.name(),
            })
            .with(established(limits(process)))
            .with(object! {
                "races": findings,
                "distinct_races": answer.distinct,
                "suppressed_races": answer.suppressed_count(),
                "known_races": answer.known_count(),
                "racing_locations": racing_bytes(answer, process),
                "failure": answer.failure.as_ref().map(|it| {
                    failure(it).with(object! { "unchecked": it.unchecked.as_ref() })
                }),
                "stopped": process.stopped.as_ref().map(|stopped| object! {
                    "what": stopped.what.word(),
                    "place": stopped.stack.place().map(place),
                    "task": task(&stopped.task),
                    "stack": stack(&stopped.stack),
                }),
                "watch": Node::NULL,
                "unsafe_code": process.unsafe_code.as_ref().map(|all| Node::list(all, unsafe_code)),
                "logical_threads": process.logical_threads,
                "division": process.division.word(),
                "orders": process.orders.map(|orders| object! {
                    "told": orders.told,
                    "ended": orders.ended,
                    "stopped": orders.stopped,
                }),
                "statistics": object! {
                    "tasks": process.statistics.tasks,
                    "finishes": process.statistics.finishes,
                    "accesses": process.statistics.accesses,
                    "atomic_accesses": process.statistics.atomic_accesses,
                    "threads": process.statistics.threads,
                },
            }),
        About::Proof(proof) => head
            .with(object! { "parameters": &proof.parameters, "range": range(proof) })
            .with(established(object! {}))
            .with(object! {
                "kernels": Node::list(proof.kernels.iter().enumerate(), |(index, one)| {
                    kernel(answer, index, one)
                }),
                "races": findings,
                "distinct_races": answer.distinct,
                "remarks": Node::list(&proof.remarks, |remark| object! {
                    "kind": remark.kind.word(),
                    "text": remark.kind.meaning(),
                    "place": place(&remark.place),
                    "location": &remark.location,
                    "condition": &remark.condition,
                }),
                "sources": Node::list(&proof.sources, sources),
                "dataflow": proof.dataflow.word(),
                "seconds": proof.time.as_secs_f64(),
            }),
    }
}

/// Why a process's verdict says no more, with threads and unseen operations.
fn limits(process: &Process) -> Node {
    object! {
        "because": process.because.map(|limit| object! {
            "kind": limit.word(),
            "text": limit.because(),
        }),
        "thread_starts": Node::list(&process.started, |started| object! {
            "threads": started.threads,
            "library": started.library.as_ref(),
            "place": started.place.as_ref().map(place),
        }),
        "unseen": Node::list(&process.unseen, |atomic| object! {
            "operation": atomic.operation.as_ref(),
            "function": &atomic.function,
            "place": atomic.place.as_ref().map(place),
        }),
    }
}

/// Code that is marked as `unsafe`.
fn unsafe_code(code: &UnsafeCode) -> Node {
    let [line, column] = code.end;
    object! {
        "kind": code.kind.word(),
        "name": code.kind.name(),
        "place": place(&code.place),
        "end": object! { "line": line, "column": column },
        "reached": code.reached,
    }
}

/// The inputs that a proof covers. SARIF has the same.
pub(crate) fn range(proof: &Proof) -> Node {
    Node::list(&proof.range, |bounds: &ParameterRange| {
        object! {
            "parameter": &bounds.parameter,
            "least": bounds.least,
            "greatest": bounds.greatest,
        }
    })
}

fn names(names: &Names) -> Node {
    object! {
        "count": names.count,
        "names": Node::list(&names.shown, |location| location.to_string().into()),
        "truncated": (names.shown.len() as u64) < names.count,
    }
}

fn racing_bytes(answer: &Answer, process: &Process) -> Node {
    let races = answer.findings.iter().filter(|one| one.rule == Rule::Race);
    let bytes = races.clone().map(|race| match &race.location {
        Location::Bytes(bytes) => bytes.bytes,
        _ => 0,
    });
    let shown = bytes.fold(0, u64::saturating_add);
    let racing = process.statistics.racing_bytes;
    object! {
        "count": racing,
        "names": Node::list(races, |race| race.location.to_string().into()),
        "truncated": shown < racing,
    }
}

fn finding(finding: &Finding) -> Node {
    let accesses = || {
        object! { "first": access(&finding.first), "second": access(&finding.second) }
    };
    if let Some(claim) = &finding.claim {
        return claimed(finding, claim, accesses());
    }
    let message = object! {
        "apparent": finding.rule == Rule::Apparent,
        "message": pair::message(finding),
        "location": finding.location.to_string(),
    };
    let ending = object! {
        "why": finding.why.as_ref().map(|why| self::why(finding, why)),
        "allocated": allocated(finding).map(place),
        "may_follow": finding.may_follow,
        "schedule": Node::if_any(finding.schedule.as_ref()),
        "replay": &finding.replay,
    };
    let seen = &finding.seen;
    let Location::Bytes(bytes) = &finding.location else {
        let excluded = finding.ordered_by.as_ref().map(|by| {
            let lock = match by {
                OrderedBy::Lock { name, .. } => name.as_ref().map(ToString::to_string),
                _ => None,
            };
            object! { "text": pair::ordered_by(by), "lock": lock }
        });
        let class = excluded.is_some().then(|| finding.rule.word());
        return object! { "class": Node::if_any(class) }
            .with(message)
            .with(object! { "locations": names(&seen.locations), "occurrences": seen.times })
            .with(object! { "ordered_by": Node::if_any(excluded) })
            .with(accesses())
            .with(ending);
    };
    object! { "class": finding.rule.word() }
        .with(message)
        .with(object! {
            "locations": object! {
                "count": seen.locations.count,
                "names": vec![finding.location.to_string()],
                "truncated": bytes.bytes < seen.locations.count,
            },
            "occurrences": seen.locations.count.max(1),
            "address": address(bytes.address),
            "bytes": bytes.bytes,
            "object": object(&bytes.object),
            "ordered_by": finding.ordered_by.as_ref().and_then(|by| match by {
                OrderedBy::Synchroniser { synchroniser: it, excludes } => {
                    let text = object! {
                        "text": pair::ordered_by(by),
                        "kind": it.kind.word(),
                        "excludes": *excludes,
                    };
                    Some(text.with(synchroniser(it)))
                }
                OrderedBy::Lock { .. } | OrderedBy::Isolation => None,
            }),
        })
        .with(accesses())
        .with(ending)
}

/// A race that a proof claims.
fn claimed(finding: &Finding, claim: &Claim, accesses: Node) -> Node {
    object! {
        "kernel": claim.kernel,
        "message": pair::message(finding),
        "location": finding.location.to_string(),
        "condition": &claim.condition,
    }
    .with(accesses)
    .with(object! {
        "benign": claim.benign.map(|benign| benign.word()),
        "witness": claim.witness.as_ref().map(witness),
    })
}

fn witness(witness: &Witness) -> Node {
    object! {
        "arguments": witness.arguments.clone(),
        "location": witness.location.to_string(),
        "first": counters(&witness.first),
        "second": counters(&witness.second),
        "confirmation": object! {
            "kind": witness.confirmation.word(),
            "text": proof_words::confirmation(&witness.confirmation),
        },
        "replay": &witness.replay,
    }
}

/// Counters of loops and their values.
fn counters<V: Clone + Into<Node>>(counters: &[(String, V)]) -> Node {
    Node::list(counters, |(name, value)| {
        object! { "name": name, "value": value.clone().into() }
    })
}

/// Where the object of a finding was allocated.
fn allocated(finding: &Finding) -> Option<&Place> {
    match &finding.location {
        Location::Bytes(Bytes {
            object: Object::Heap { allocated, .. },
            ..
        }) => allocated.place(),
        _ => finding.allocated.as_ref(),
    }
}

fn why(finding: &Finding, why: &WhyParallel) -> Node {
    object! {
        "text": pair::why(finding),
        "task": task(&why.task),
        "spawned": why.spawned.as_ref().map(place),
        "join": why.join.as_ref().map(|join| object! {
            "what": join.construct.to_string(),
            "place": join.place.as_ref().map(place),
        }),
    }
}

fn access(access: &FoundAccess) -> Node {
    let kind = object! { "kind": access.kind.word(), "isolated": access.isolated };
    let place = object! {
        "place": access.place().map(place),
        "function": access.stack.function(),
    };
    let Some(task) = access.task.as_ref().map(task) else {
        let instance = object! { "instance": counters(&access.instance) };
        return kind.with(place).with(instance);
    };
    let task = object! { "task": task };
    let Some(machine) = &access.machine else {
        return kind.with(place).with(task);
    };
    kind.with(object! {
        "atomic": machine.atomic,
        "address": address(machine.address),
        "size": machine.size,
    })
    .with(place)
    .with(task)
    .with(object! {
        "stack": stack(&access.stack),
        "locks": Node::list(&machine.locks, |held| {
            object! { "kind": held.lock.kind.word() }
                .with(synchroniser(&held.lock))
                .with(object! { "place": held.place.as_ref().map(self::place) })
        }),
    })
}

fn synchroniser(synchroniser: &Synchroniser) -> Node {
    object! {
        "address": address(synchroniser.address),
        "object": object(&synchroniser.object),
    }
}

fn object(object: &Object) -> Node {
    let mut fields = [const { Node::NULL }; 7];
    let [name, size, offset, at, function, frames, by] = &mut fields;
    match object {
        Object::Heap {
            size: bytes,
            offset: from,
            allocated,
            task: of,
        } => {
            (*size, *offset) = ((*bytes).into(), (*from).into());
            (*at, *frames) = (allocated.place().map(place).into(), stack(allocated));
            *by = task(of);
        }
        Object::Global {
            name: called,
            size: bytes,
            offset: from,
            defined,
        } => {
            *name = called.into();
            (*size, *offset) = ((*bytes).into(), (*from).into());
            *at = defined.as_ref().map(place).into();
        }
        Object::Stack {
            function: of,
            place: known,
            task: owner,
        } => {
            (*function, *at) = (of.into(), known.as_ref().map(place).into());
            *by = task(owner);
        }
        Object::ThreadLocal | Object::Unknown => {}
    }
    let keys = [
        "name", "size", "offset", "place", "function", "stack", "task",
    ];
    object! { "kind": object.kind() }.with(Node::Object(keys.into_iter().zip(fields).collect()))
}

fn stack(stack: &Stack) -> Node {
    Node::list(&stack.frames, |frame| {
        object! {
            "function": &frame.function,
            "place": frame.place.as_ref().map(place),
            "origin": frame.origin.word(),
            "inlined": frame.inlined,
        }
    })
}

fn task(task: &Task) -> Node {
    let mut path = "main".to_owned();
    for step in &task.steps {
        match &step.created {
            Created::One(creation) => path += &format!(".{}", creation.index),
            Created::Nested(parts) => {
                path.extend(parts.iter().map(|part| format!(".{}", part.task)));
            }
        }
    }
    object! {
        "path": path,
        "text": task_words::task(task),
        "creations": Node::list(&task.steps, creation),
    }
}

fn creation(step: &Step) -> Node {
    match &step.created {
        Created::One(creation) => object! {
            "index": creation.index,
            "construct": &step.operation,
            "line": step.line(),
            "captures": counters(&creation.captures),
        },
        Created::Nested(parts) => object! {
            "operation": &step.operation,
            "place": step.place.as_ref().map(place),
            "parts": Node::list(parts, |part| {
                object! { "task": part.task, "kind": part.kind.word() }
            }),
        },
    }
}

fn failure(failure: &Failure) -> Node {
    let at = failure.at.as_ref();
    object! {
        "kind": failure.kind,
        "message": &failure.message,
        "place": at.map(|at| &at.place).or(failure.near.as_ref()).map(place),
        "task": at.map(|at| task(&at.task)),
        "promise": at.and_then(awaited_promise),
        "lock": Node::if_any(at.and_then(awaited_lock)),
        "waiting": Node::list(&failure.waiting, |at| object! {
            "place": place(&at.place),
            "task": task(&at.task),
            "promise": awaited_promise(at),
            "lock": Node::if_any(awaited_lock(at)),
            "joins": match &at.waits_for {
                Some(WaitsFor::Tasks(tasks)) => tasks.as_ref().map(tasks_of_failure),
                _ => None,
            },
        }),
        "cycle": failure.cycle.as_ref().map(tasks_of_failure),
        "schedule": Node::if_any(failure.schedule.as_ref()),
    }
}

fn exploration(explored: &Exploration) -> Node {
    object! {
        "reduction": words::reduction(explored),
        "orders": explored.orders,
        "cut_off": explored.cut_off,
        "trials": explored.trials,
        "probes": explored.probes,
        "too_long": explored.too_long,
        "incomplete": explored.incomplete.as_ref(),
        "faulty_orders": explored.races + explored.deadlocks + explored.failures,
        "faulty": Node::list(&explored.faulty, |order| object! {
            "verdict": order.verdict.word(),
            "schedule": &order.schedule,
        }),
        "in_all": explored.in_all.as_ref(),
        "determinacy": explored.determinacy.as_ref().map(determinacy),
    }
}

fn determinacy(determinacy: &Determinacy) -> Node {
    object! {
        "states": determinacy.states,
        "differ": determinacy.differ.as_ref().map(|differ| object! {
            "what": &differ.what,
            "orders": Node::list(&differ.orders, |order| object! {
                "value": &order.value,
                "schedule": &order.schedule,
            }),
            "decided_by": differ.decided_by.as_ref().map(|blocks| {
                Node::list(blocks, |block| object! {
                    "task": &block.task,
                    "place": block.place.as_ref().map(place),
                })
            }),
        }),
    }
}

fn awaited_promise(at: &FailurePoint) -> Option<Node> {
    let Some(WaitsFor::Promise(promise)) = &at.waits_for else {
        return None;
    };
    Some(object! {
        "name": promise.name.to_string(),
        "made": promise.made.as_ref().map(place),
        "setters": promise.setters.as_ref().map(tasks_of_failure),
    })
}

fn awaited_lock(at: &FailurePoint) -> Option<Node> {
    let Some(WaitsFor::Lock(lock)) = &at.waits_for else {
        return None;
    };
    Some(object! {
        "name": lock.name.to_string(),
        "made": lock.made.as_ref().map(place),
        "holder": lock.holder.as_ref().map(tasks_of_failure),
    })
}

/// By number: 0 is the task of the failure, then come the waiting ones.
fn tasks_of_failure(tasks: &Tasks) -> Node {
    object! {
        "tasks": Node::list(&tasks.shown, |index| Node::from(*index)),
        "count": tasks.count,
    }
}

fn watch(watch: &Watch) -> Node {
    object! {
        "location": watch.location.to_string(),
        "count": watch.count,
        "accesses": Node::list(&watch.accesses, access),
        "truncated": (watch.accesses.len() as u64) < watch.count,
    }
}

fn kernel(answer: &Answer, index: usize, kernel: &Kernel) -> Node {
    let of_kernel = |finding: &&Finding| {
        let claim = finding.claim.as_ref();
        claim.is_some_and(|claim| claim.kernel == index)
    };
    object! {
        "construct": kernel.construct,
        "place": place(&kernel.place),
        "verdict": kernel.verdict.word(),
        "distinct_races": answer.findings.iter().filter(of_kernel).count(),
        "reasons": Node::list(&kernel.reasons, |reason| object! {
            "kind": reason.kind.word(),
            "text": reason.kind.meaning(),
            "help": reason.kind.help(),
            "place": place(&reason.place),
            "concerns": &reason.concerns,
        }),
        "accesses": kernel.accesses,
        "pairs": kernel.pairs,
        "seconds": kernel.time.as_secs_f64(),
    }
}

fn sources(read: &ReadSources) -> Node {
    object! {
        "place": place(&read.place),
        "location": &read.location,
        "producers": Node::list(&read.sources, |source| object! {
            "write": source.write.as_ref().map(place),
            "instance": counters(&source.instance),
            "condition": &source.condition,
        }),
    }
}

fn place(place: &Place) -> Node {
    object! {
        "file": &place.file,
        "line": place.line,
        "column": place.column,
        "text": &place.text,
    }
}

fn address(address: u64) -> String {
    format!("{address:#x}")
}
