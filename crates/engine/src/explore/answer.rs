//! The answer of an exploration. What an order shows is told by a check of that order: so a race
//! has both accesses, and a deadlock its cycle.
//!
//! The first rule that applies decides the verdict:
//!
//! | some order | verdict |
//! |---|---|
//! | has a race | `race` |
//! | deadlocks | `deadlock` |
//! | fails | `trap` |
//! | was not run that may differ | `unknown` |
//! | none of these | `explored` |

use super::determinacy::determinacy;
use super::in_all::Structures;
use super::order_script::OrderScript;
use super::tree::Reduction;
use super::{Exploration, Fault, Faulty, Incomplete, Options};
use crate::check::check;
use crate::question::{CheckError, Question};
use finishline_answer::answer::{About, Answer, Check, Exploration as Explored, FaultyOrder};
use finishline_answer::finding::Names;
use finishline_answer::place::SourceLines;
use finishline_answer::{Finding, Verdict};
use finishline_model::{Detector, Statistics};
use std::io;

/// The most orders with a race that are told about.
const MOST_TOLD: usize = 20;

/// The answer to a question about the orders of the program's isolated blocks, of which this was
/// found. The program's output is dropped.
pub fn answer(
    question: &mut Question<'_>,
    options: Options,
    found: Exploration,
) -> Result<Answer, CheckError> {
    let mut answer = told(question, &found, options.max_blocks)?;
    let verdict = verdict(&found);
    let determinacy = options.states.then(|| determinacy(question, &found));
    let About::Check(about) = &mut answer.about else {
        return Ok(answer);
    };
    answer.verdict = verdict;
    about.stronger = match (&found.failure, found.incomplete) {
        (Some(failure), _) => Some(format!("the orders could not be judged: {failure}")),
        (None, Some(why)) if verdict == Verdict::Unknown => Some(stronger(why).to_owned()),
        (None, _) => None,
    };
    let in_all = match (found.structures, found.incomplete) {
        (Structures::Same { orders, .. }, None) => Some(orders),
        _ => None,
    };
    about.exploration = Some(Box::new(Explored {
        in_all,
        determinacy,
        shown: Vec::new(),
        reduced: options.reduction == Reduction::Optimal,
        orders: found.orders,
        cut_off: found.cut_off,
        trials: found.trials,
        probes: found.probes,
        too_long: found.too_long,
        incomplete: found.incomplete.map(|why| reason(why).to_owned()),
        races: found.races,
        deadlocks: found.deadlocks,
        failures: found.failures,
        faulty: (found.faults.iter())
            .map(|it| FaultyOrder {
                verdict: it.fault.verdict(),
                schedule: it.script.to_string(),
            })
            .collect(),
    }));
    Ok(answer)
}

impl Fault {
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Fault::Race => Verdict::Race,
            Fault::Deadlock => Verdict::Deadlock,
            Fault::Failed(_) => Verdict::Trap,
        }
    }
}

fn verdict(found: &Exploration) -> Verdict {
    let worst = [Verdict::Race, Verdict::Deadlock, Verdict::Trap];
    let has = |verdict: &Verdict| found.faults.iter().any(|it| it.fault.verdict() == *verdict);
    match worst.into_iter().find(has) {
        Some(verdict) => verdict,
        None if found.failure.is_some() || found.incomplete.is_some() => Verdict::Unknown,
        None => Verdict::Explored,
    }
}

/// The findings in the orders that show what decides the verdict.
fn told(
    question: &mut Question<'_>,
    found: &Exploration,
    max_blocks: usize,
) -> Result<Answer, CheckError> {
    let verdict = verdict(found);
    let scripts = |found: &Exploration| -> Vec<OrderScript> {
        let shows = |it: &&Faulty| it.fault.verdict() == verdict;
        let scripts = found.faults.iter().filter(shows);
        let most = match verdict {
            Verdict::Race => MOST_TOLD,
            _ => 1,
        };
        let scripts = scripts.take(most).map(|it| it.script.clone());
        scripts.map(|it| it.at_most(max_blocks)).collect()
    };
    let mut scripts = scripts(found).into_iter();
    let first = match scripts.next() {
        Some(script) => script,
        None if verdict == Verdict::Explored => OrderScript::default(),
        // An order that was not run to its end may have none.
        None => return Ok(nothing(question)),
    };
    let mut answer = in_order(question, first)?;
    for script in scripts {
        let other = in_order(question, script)?;
        for finding in other.findings {
            if !answer.findings.iter().any(|known| is_same(known, &finding)) {
                answer.findings.push(finding);
                answer.distinct += 1;
            }
        }
    }
    Ok(answer)
}

fn in_order(question: &mut Question<'_>, script: OrderScript) -> Result<Answer, CheckError> {
    question.schedule = Some(script);
    check(question, Detector::Finishline, &mut io::sink())
}

/// An answer that establishes nothing.
fn nothing(question: &Question<'_>) -> Answer {
    let source = &question.module.source;
    Answer {
        program: source.path.clone(),
        arguments: question.words.clone(),
        verdict: Verdict::Unknown,
        findings: Vec::new(),
        distinct: 0,
        suppressed: None,
        failure: None,
        lines: SourceLines::of_file(&source.path, &source.text),
        about: About::Check(Check {
            detector: Detector::Finishline,
            stronger: None,
            racing_locations: Names::default(),
            watched: None,
            statistics: Statistics::default(),
            exploration: None,
        }),
    }
}

/// Whether two findings are about the same pair of accesses.
fn is_same(a: &Finding, b: &Finding) -> bool {
    let accesses = |it: &Finding| {
        let mut both = [it.first.id, it.second.id];
        both.sort_unstable();
        both
    };
    accesses(a) == accesses(b)
}

/// Why not all orders were run that can differ.
fn reason(why: Incomplete) -> &'static str {
    match why {
        Incomplete::FirstRace => "the first race ended the exploration",
        Incomplete::MaxOrders => "the limit of orders was reached",
        Incomplete::MaxBlocks => "an order has more blocks than the limit; blocks may spin",
        Incomplete::MaxSteps => "the limit of steps was reached",
        Incomplete::Timeout => "the time was up",
        Incomplete::Interrupted => "it was interrupted",
        Incomplete::Lost => "an order that should be possible was not",
    }
}

/// What would establish more.
fn stronger(why: Incomplete) -> &'static str {
    match why {
        Incomplete::FirstRace => "`--all` runs the orders that are left",
        Incomplete::MaxOrders => {
            "not all orders were run that can differ: a greater `--max-orders`"
        }
        Incomplete::MaxBlocks => {
            "an order has more isolated blocks than `--max-blocks`; if blocks wait in a loop for one another, there are endlessly many orders"
        }
        Incomplete::MaxSteps => "not all orders were run that can differ",
        Incomplete::Timeout => "not all orders were run that can differ: a greater `--timeout`",
        Incomplete::Interrupted => {
            "not all orders were run that can differ: with `--checkpoint FILE` the same command goes on where it was interrupted"
        }
        Incomplete::Lost => {
            "an order that should be possible was not: a bug of Finishline, please report it with the program"
        }
    }
}
