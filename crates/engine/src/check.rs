//! Can the result depend on the schedule? One depth-first run under a detector decides. Further
//! runs name what the detector found.
//!
//! 1. The **first pass** has the smallest cells and gives the exact set of racing locations. A
//!    clean run is the only one.
//! 2. The **second pass** follows these locations alone and gives the pairs of accesses
//!    ([`crate::second_pass`]). It also gives the names of locations ([`crate::names`]) and the
//!    accesses to a watched one ([`crate::watch`]).
//! 3. A **story** gives names to the tasks involved ([`crate::story`]). If the run ended in a
//!    deadlock, another one first finds out who may set what ([`crate::deadlock`]).
//!
//! Only one run's memory is alive at a time. A run that differs from the first is not believed.
//! Runs differ only if the system runs out of memory.

use crate::executor::uses;
use crate::explore::order_script::OrderScript;
use crate::explore::scheduled::Scheduled;
use crate::failed::Failed;
use crate::picture::{self, NoPicture};
use crate::question::{CheckError, Ending, Question, Subject};
use crate::rerun::{Depths, Rerun};
use crate::run::{End, Outcome};
use crate::second_pass::{MOST_FOLLOWED, Pairs, SecondPass};
use crate::story::Story;
use crate::suppressions::{Numbered, Sorted};
use crate::teller::RaceTeller;
use finishline_answer::answer::{self, About, Answer, Check, Watch};
use finishline_answer::finding::{Names, Suppressed};
use finishline_answer::picture::Picture;
use finishline_answer::place::SourceLines;
use finishline_answer::rules::{self, CheckFacts};
use finishline_detect::detectors::{self, Drive};
use finishline_detect::{Failure, Findings, LocationSet};
use finishline_ir::listener::EventsAlone;
use finishline_ir::machine::Trap;
use finishline_ir::{ConstructUse, Module};
use finishline_model::Statistics;
use finishline_model::{Detector, Observer, Race, TaskId};
use std::io::Write;
use std::marker::PhantomData;

/// No more tasks are admitted once their paths have this many tasks in all. A single path can have
/// a million.
const MOST_ON_PATHS: usize = 100_000;

/// The cheapest detector that has rules for all constructs of the program, and for every run of it.
pub fn choose(module: &Module) -> Detector {
    if uses(module).locks {
        // The others refuse a run in which a task has to wait for a lock.
        Detector::Finishline
    } else if !module.constructs.is_empty() && unsupported(Detector::SpBags, module).is_none() {
        Detector::SpBags
    } else if unsupported(Detector::EspBags, module).is_none() {
        Detector::EspBags
    } else {
        Detector::Finishline
    }
}

/// The first construct of the program that the detector has no rule for.
pub fn unsupported(detector: Detector, module: &Module) -> Option<ConstructUse> {
    let mut used = module.constructs.iter().copied();
    used.find(|used| !detector.judges(used.construct))
}

/// Runs the program on as many threads without checking. Returns its failure, if it fails.
///
/// Which task fails first on several threads may change from run to run. So the failure is told as
/// that of the run on one thread, if that fails, too.
pub fn run(
    question: &Question,
    threads: usize,
    output: &mut (dyn Write + Send),
) -> Result<Option<answer::Failure>, CheckError> {
    let outcome = question.forms.run(question.input(), threads, output);
    let trap = match outcome.result {
        End::OutputError(error) => return Err(CheckError::Output(error)),
        End::Finished | End::OutOfFuel => return Ok(None),
        End::Trapped(trap) => trap,
    };
    let trap = match threads {
        1 => trap,
        _ => match question.forms.failure_alone(question.input()) {
            Ok(trap) => trap,
            Err(why) => return Ok(Some(seen_once(question, &trap, why))),
        },
    };
    let failed = Failed::of(question, &trap);
    let story = Story::of(question, [], Some(&failed));
    Ok(Some(story.failure(&failed)))
}

/// A failure that the run on one thread does not have. The task can't be found again.
fn seen_once(question: &Question, trap: &Trap, why: &str) -> answer::Failure {
    let site = question.module.source.site(trap.site);
    let message = trap.kind.message();
    answer::Failure {
        kind: trap.kind.word(),
        message: format!("{message}, at {}:{}; {why}", site.line, site.column),
        at: None,
        near: None,
        unchecked: None,
        waiting: Vec::new(),
        cycle: None,
        schedule: None,
    }
}

/// Runs the program under the detector. The program prints to `output`.
pub fn check(
    question: &Question,
    detector: Detector,
    output: &mut (dyn Write + Send),
) -> Result<Answer, CheckError> {
    check_following(MOST_FOLLOWED, question, detector, output)
}

/// Like [`check`], but follows at most `most_followed` racing locations in one run.
fn check_following(
    most_followed: usize,
    question: &Question,
    detector: Detector,
    output: &mut (dyn Write + Send),
) -> Result<Answer, CheckError> {
    let judged = judge(most_followed, question, detector, output)?;
    if let Some(order) = question.forms.other_order() {
        let again = question.alone(Some(order.clone()));
        let sink = &mut std::io::sink();
        match judge(most_followed, &again, Detector::Finishline, sink) {
            Ok(judged) if judged.racing().is_some() || judged.failed.is_some() => {
                return Ok(judged.answer());
            }
            // In that order the blocks themselves order the accesses.
            Ok(judged) if judged.findings.is_ok() => {
                let alone = question.alone(None);
                return Ok(judge(most_followed, &alone, detector, sink)?.answer());
            }
            // A race may have kept the run on several threads from doing the same.
            _ => {}
        }
    }
    Ok(judged.answer())
}

/// The first pass of a program, not yet in the user's words.
fn judge<'a, 'm>(
    most_followed: usize,
    question: &'a Question<'m>,
    detector: Detector,
    output: &mut (dyn Write + Send),
) -> Result<Judged<'a, Question<'m>>, CheckError> {
    if let Some(used) = unsupported(detector, question.module) {
        return Err(CheckError::Refused { detector, used });
    }
    let (outcome, findings) = first_pass(question, detector, output)?;
    let trap = outcome.trap();
    let statistics = findings.as_ref().map(|findings| findings.statistics);
    Ok(Judged {
        subject: question,
        detector,
        ending: Ending::new(trap, &statistics.unwrap_or_default()),
        failed: trap.map(|trap| Failed::of(question, trap)),
        cut_off: false,
        findings,
        most_followed,
    })
}

/// Runs the program under the detector, and draws the computation graph of the run with at most
/// `most` nodes.
pub fn draw(
    question: &Question,
    detector: Detector,
    most: usize,
    output: &mut (dyn Write + Send),
) -> Result<Result<Picture, NoPicture>, CheckError> {
    let judged = judge(MOST_FOLLOWED, question, detector, output)?;
    Ok(picture::of(&judged, most))
}

/// The run whose output is shown. Returns its outcome, and the findings or the detector's failure.
pub fn first_pass(
    question: &Question,
    detector: Detector,
    output: &mut (dyn Write + Send),
) -> Result<(Outcome, Result<Findings, Failure>), CheckError> {
    let (outcome, findings) = match &question.schedule {
        None => (question.forms).first_pass(detector, question.input(), output),
        Some(script) => in_order(question, script, detector, output)?,
    };
    match outcome.result {
        End::OutputError(error) => Err(CheckError::Output(error)),
        _ => Ok((outcome, findings)),
    }
}

/// The first pass with the isolated blocks in a given order.
fn in_order(
    question: &Question,
    script: &OrderScript,
    detector: Detector,
    output: &mut (dyn Write + Send),
) -> Result<(Outcome, Result<Findings, Failure>), CheckError> {
    let run = InOrder {
        question,
        script,
        output,
    };
    let uses = uses(question.module);
    let (scheduled, findings) = match detectors::first_pass(detector, uses, run) {
        Ok((scheduled, mut findings)) => {
            findings.isolated_conflict = scheduled.conflicts;
            (scheduled, Ok(findings))
        }
        Err(failure) => {
            let again = question.in_order(script, &mut (), &mut std::io::sink());
            (again, Err(failure))
        }
    };
    match scheduled.departs {
        Some(departure) => Err(CheckError::Schedule(departure)),
        None => Ok((scheduled.outcome, findings)),
    }
}

struct InOrder<'a, 'm> {
    question: &'a Question<'m>,
    script: &'a OrderScript,
    output: &'a mut (dyn Write + Send),
}

impl Drive for InOrder<'_, '_> {
    type Output = Scheduled;

    fn drive(self, observer: &mut impl Observer) -> Scheduled {
        let listener = &mut EventsAlone(observer);
        self.question.in_order(self.script, listener, self.output)
    }
}

/// The result of the first pass, not yet in the user's words.
pub(crate) struct Judged<'a, S> {
    pub(crate) subject: &'a S,
    pub(crate) detector: Detector,
    /// The end of the run, to be compared with that of later ones.
    pub(crate) ending: Ending,
    pub(crate) failed: Option<Failed>,
    /// The end of the run is not known.
    pub(crate) cut_off: bool,
    pub(crate) findings: Result<Findings, Failure>,
    pub(crate) most_followed: usize,
}

impl<'m, S: Subject<'m>> Judged<'_, S> {
    pub(crate) fn answer(&self) -> Answer {
        self.answer_with_races().0
    }

    /// The answer, and the races of its findings as the detector sees them.
    pub(crate) fn answer_with_races(&self) -> (Answer, Vec<Race>) {
        let subject = self.subject;
        let (pairs, rerun) = self.second_pass();
        let Rerun {
            names,
            watcher,
            depths,
        } = rerun;
        let suppressions = subject.suppressions();
        let sorted = Sorted::new(&pairs.pairs, suppressions, &names);

        let mut cast = Cast::new(&depths);
        let mut shown = |pairs: &[Numbered<'_>]| -> usize {
            let most = pairs.iter().take(subject.max_races());
            let tasks = most.map(|(_, pair)| [pair.race.first.task, pair.race.second.task]);
            tasks.take_while(|tasks| cast.admit(tasks)).count()
        };
        let reported = &sorted.reported[..shown(&sorted.reported)];
        let suppressed = &sorted.suppressed[..shown(&sorted.suppressed)];
        let watched = watcher.and_then(|watcher| {
            let location = watcher.location?;
            let seen = watcher.seen.iter();
            let shown = seen.take_while(|point| cast.admit(&[point.task])).count();
            Some((location, watcher, shown))
        });
        let tasks = cast.tasks;
        drop(depths);
        let failed = self.failed.as_ref();

        let teller = RaceTeller {
            subject,
            names: &names,
            story: &Story::of(subject, tasks, failed),
            pairs: &pairs,
        };
        let (verdict, stronger) = rules::check(&self.facts(&pairs));
        let source = &subject.module().source;
        let races = reported.iter().map(|(_, pair)| pair.race).collect();
        let answer = Answer {
            program: source.path.clone(),
            arguments: subject.words().to_vec(),
            verdict,
            findings: reported.iter().map(|race| teller.race(*race)).collect(),
            distinct: match (&pairs.incomplete, pairs.pairs.len()) {
                // At least one race could not be found, and no suppression is known to match it.
                (Some(_), found) => found.max(sorted.suppressed.len() + 1),
                (None, found) => found,
            } as u64,
            suppressed: suppressions.map(|suppressions| Suppressed {
                file: suppressions.file().to_owned(),
                findings: suppressed.iter().map(|race| teller.race(*race)).collect(),
                count: sorted.suppressed.len() as u64,
                // Whether an entry matches is unknown if some races could not be found.
                unmatched: match pairs.incomplete {
                    Some(_) => Vec::new(),
                    None => sorted.unmatched,
                },
            }),
            failure: failed.map(|failed| answer::Failure {
                schedule: subject.schedule().map(OrderScript::to_string),
                ..teller.story.failure(failed)
            }),
            lines: SourceLines::of_file(&source.path, &source.text),
            about: About::Check(Check {
                exploration: None,
                detector: self.detector,
                stronger,
                racing_locations: match self.racing() {
                    Some(racing) => teller.locations(racing.in_order()),
                    None => Names::default(),
                },
                watched: watched.map(|(location, watcher, shown)| Watch {
                    location: names.location(location),
                    accesses: (watcher.seen[..shown].iter())
                        .map(|point| teller.access(point))
                        .collect(),
                    count: watcher.count,
                }),
                statistics: match &self.findings {
                    Ok(findings) => findings.statistics,
                    Err(_) => {
                        let mut did = Statistics::default();
                        subject.again(&mut EventsAlone(&mut did));
                        did
                    }
                },
            }),
        };
        (answer, races)
    }

    /// The racing locations, if there are any.
    fn racing(&self) -> Option<&LocationSet> {
        let racing = self.findings.as_ref().ok().map(|findings| &findings.racing);
        racing.filter(|racing| !racing.is_empty())
    }

    /// The accesses that race at the racing locations, the names of these locations, and the
    /// accesses to the watched location.
    fn second_pass(&self) -> (Pairs, Rerun<'m>) {
        let Some(racing) = self.racing() else {
            let subject = self.subject;
            let mut rerun = Rerun::new(subject.module(), &[], subject.watch());
            if subject.watch().is_some() {
                subject.again(&mut rerun);
            }
            return (Pairs::default(), rerun);
        };
        let second_pass = SecondPass {
            subject: self.subject,
            module: PhantomData,
            detector: self.detector,
            first: self.ending.clone(),
            most_followed: self.most_followed,
        };
        second_pass.pairs(racing)
    }

    /// Whether more than updates that can be exchanged conflict in isolated or locked blocks. It is
    /// not asked if a race decides the verdict.
    fn conflict_matters(&self) -> bool {
        self.racing().is_some() || self.subject.isolated_blocks_conflict()
    }

    /// The facts that decide the verdict.
    fn facts(&self, pairs: &Pairs) -> CheckFacts {
        let exclusive_conflict = match &self.findings {
            Ok(findings) => {
                findings.overlap || findings.isolated_conflict && self.conflict_matters()
            }
            Err(_) => false,
        };
        let lock_cycle = (self.findings.as_ref()).is_ok_and(|findings| findings.lock_cycle);
        let uses = uses(self.subject.module());
        let has_exclusive = uses.isolated || uses.locks;
        let order_decides = match self.racing() {
            Some(_) => has_exclusive && !pairs.any_real(),
            None => exclusive_conflict || lock_cycle,
        };
        let asks = order_decides && self.subject.schedule().is_none();
        CheckFacts {
            not_judged: (self.findings.as_ref().err())
                .map(|failure| format!("{} could not judge this run: {failure}", self.detector)),
            racing: self.racing().is_some(),
            any_real: pairs.any_real(),
            incomplete: pairs.incomplete.clone(),
            has_exclusive,
            exclusive_conflict,
            lock_cycle,
            cut_off: self.cut_off,
            failed: self.failed.is_some(),
            exploration: asks.then(|| self.subject.exploration()),
            deadlock: self.failed.as_ref().is_some_and(Failed::is_deadlock),
        }
    }
}

/// The tasks that a report is about.
struct Cast<'a> {
    depths: &'a Depths,
    tasks: Vec<TaskId>,
    /// How many tasks are on the paths admitted.
    on_paths: usize,
}

impl<'a> Cast<'a> {
    fn new(depths: &'a Depths) -> Self {
        Cast {
            depths,
            tasks: Vec::new(),
            on_paths: 0,
        }
    }

    /// Adds these tasks if there is room for their paths. There is always room for the first ones.
    fn admit(&mut self, tasks: &[TaskId]) -> bool {
        if self.on_paths > MOST_ON_PATHS {
            return false;
        }
        self.tasks.extend_from_slice(tasks);
        let depths = tasks.iter().map(|task| self.depths.of(*task));
        self.on_paths += depths.sum::<usize>();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Executor, Forms};
    use crate::suppressions::Suppressions;
    use finishline_answer::{Rule, Verdict};
    use finishline_ir::machine::{Datum, Limits};
    use finishline_model::Passes;
    use std::sync::atomic::AtomicU64;

    /// `A` has `n` races, all of them apparent. The race on `real` comes last and is not apparent.
    const REAL_AT_THE_END: &str = "var flag = 0;
        var real = 0;
        fn main(n: int) {
            let A = new int[n];
            finish {
                async { for i in 0..n { A[i] = 1; } isolated { flag = 1; } real = 1; }
                isolated { flag = 2; }
                for i in 0..n { A[i] = 2; }
                real = 2;
            }
        }";

    fn compiled(source: &str) -> Module {
        let program = finishline_fin::compile("p.fin", source.as_bytes());
        program.unwrap().module
    }

    fn question<'m>(module: &'m Module, n: i64, suppressions: Option<&str>) -> Question<'m> {
        Question {
            module,
            forms: Forms::new(module, Executor::Interpreted, Passes::NONE),
            words: Vec::new(),
            arguments: vec![Datum::Int(n)],
            limits: Limits::default(),
            max_races: usize::MAX,
            suppressions: suppressions.map(|text| Suppressions::parse("s.txt", text).unwrap()),
            watch: None,
            schedule: None,
            progress: AtomicU64::new(0),
        }
    }

    fn checked(most_followed: usize, source: &str, n: i64, suppressions: Option<&str>) -> Answer {
        let module = compiled(source);
        let question = question(&module, n, suppressions);
        let output = &mut std::io::sink();
        check_following(most_followed, &question, Detector::EspBags, output).unwrap()
    }

    #[test]
    fn a_race_is_found_however_many_apparent_ones_come_before() {
        for (n, most_followed) in [(3, 10), (3, 3), (4, 3), (6, 3), (5, 1)] {
            let summary = checked(most_followed, REAL_AT_THE_END, n, None);
            assert_eq!(summary.verdict, Verdict::Race, "{n} {most_followed}");
            assert_eq!(summary.check().unwrap().stronger, None, "all were followed");
            assert_eq!(summary.distinct, 2);
            let [apparent, real] = &summary.findings[..] else {
                panic!("{:?}", summary.findings)
            };
            assert_eq!([apparent.rule, real.rule], [Rule::Apparent, Rule::Race]);
            assert_eq!(apparent.seen.times, n as u64);
            assert_eq!(apparent.seen.locations.count, n as u64);
            assert_eq!(
                apparent.seen.locations.shown[n as usize - 1].to_string(),
                format!("A[{}]", n - 1)
            );
            assert_eq!(real.location.to_string(), "real");
            // The first race of the run is known only if all locations were followed together.
            assert_eq!(real.may_follow, n as usize >= most_followed);
        }
    }

    #[test]
    fn locations_that_can_change_nothing_are_not_followed() {
        let source = "fn main(n: int) {
            let A = new int[n];
            finish { async { for i in 0..n { A[i] = 1; } } for i in 0..n { A[i] = 2; } }
        }";
        let summary = checked(2, source, 7, None);
        assert_eq!(summary.verdict, Verdict::Race);
        assert_eq!(summary.findings[0].seen.locations.count, 2);
        assert_eq!(summary.check().unwrap().racing_locations.count, 7);
        let why = summary.check().unwrap().stronger.clone().unwrap();
        assert_eq!(why, "only the first 2 racing locations were followed");
    }

    #[test]
    fn a_race_that_is_not_suppressed_is_found_behind_those_that_are() {
        for most_followed in [1, 2, 100] {
            let summary = checked(most_followed, REAL_AT_THE_END, 5, Some("A"));
            assert_eq!(summary.suppressed_count(), 1);
            assert_eq!(summary.distinct, 2);
            assert_eq!(summary.findings[0].location.to_string(), "real");
            let summary = checked(most_followed, REAL_AT_THE_END, 5, Some("real\nA"));
            assert_eq!((summary.suppressed_count(), summary.distinct), (2, 2));
        }
    }

    #[test]
    fn nothing_is_called_apparent_or_suppressed_that_was_not_found() {
        let module = compiled(REAL_AT_THE_END);
        let question = question(&module, 3, Some("A"));
        let (_, findings) = first_pass(&question, Detector::EspBags, &mut std::io::sink()).unwrap();
        let judged = Judged {
            subject: &question,
            detector: Detector::EspBags,
            // The runs that follow do not end like this, so they are not believed.
            ending: Ending::recorded(None),
            failed: None,
            cut_off: false,
            findings,
            most_followed: 2,
        };
        let summary = judged.answer();
        assert_eq!(summary.verdict, Verdict::Unknown);
        assert_eq!((summary.distinct, summary.suppressed_count()), (1, 0));
        let why = summary.check().unwrap().stronger.clone().unwrap();
        assert!(why.contains("did not do the same"), "{why}");
    }
}
