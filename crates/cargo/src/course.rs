//! What happened in a session: events that the runners noted, one after the other, and what follows
//! from all of them.

use crate::report::Told;
use crate::run::Run;
use finishline_answer::answer::{NotRun, WhyNotRun};
use serde::{Deserialize, Serialize};

/// One thing that a runner notes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    Ended(Box<Concluded>),
    /// A program of tests was asked which of its tests were to be run.
    Selected(Selected),
    /// The user asked a program of tests for its tests or for help, not to run anything.
    OnlyAsked,
    DocTestsSkipped,
    /// A test that was not run because of an interrupt, or all tests of the program.
    Interrupted {
        program: String,
        test: Option<String>,
    },
}

/// A run that has ended, with what was found, if that is known already.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Concluded {
    pub(crate) run: Run,
    pub(crate) told: Option<Told>,
}

/// Which tests of a program were not selected.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Selected {
    pub(crate) program: String,
    pub(crate) ignored: Vec<String>,
    pub(crate) filtered_out: usize,
    /// How many were left to other parts of the suite.
    pub(crate) elsewhere: usize,
}

impl Event {
    /// Of a run whose findings are still to be read.
    pub(crate) fn ended(run: Run) -> Event {
        Event::Ended(Box::new(Concluded { run, told: None }))
    }

    /// Of a run whose findings are not needed any more.
    pub(crate) fn told(run: Run, told: Told) -> Event {
        let told = Some(told);
        Event::Ended(Box::new(Concluded { run, told }))
    }

    /// A program whose tests are not known one by one was left to another part of the suite.
    pub(crate) fn elsewhere(program: String) -> Event {
        Event::Selected(Selected {
            program,
            ignored: Vec::new(),
            filtered_out: 0,
            elsewhere: 1,
        })
    }
}

/// All events of a session.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// In the order in which they ended.
    pub(crate) runs: Vec<Concluded>,
    pub(crate) only_asked: bool,
    pub(crate) doc_tests_skipped: bool,
    pub(crate) not_run: Vec<NotRun>,
    pub(crate) interrupted: bool,
    pub(crate) elsewhere: usize,
    filtered_out: usize,
}

impl FromIterator<Event> for Course {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Course {
        let mut course = Course::default();
        for event in events {
            match event {
                Event::Ended(run) => course.runs.push(*run),
                Event::Selected(selected) => {
                    course.filtered_out += selected.filtered_out;
                    course.elsewhere += selected.elsewhere;
                    let ignored = selected.ignored.into_iter().map(|test| NotRun {
                        program: selected.program.clone(),
                        test: Some(test),
                        why: WhyNotRun::Ignored,
                    });
                    course.not_run.extend(ignored);
                }
                Event::Interrupted { program, test } => course.not_run.push(NotRun {
                    program,
                    test,
                    why: WhyNotRun::Interrupted,
                }),
                Event::OnlyAsked => course.only_asked = true,
                Event::DocTestsSkipped => course.doc_tests_skipped = true,
            }
        }
        course
    }
}

impl Course {
    /// Why no test was run, in a sentence. None if one was.
    pub(crate) fn why_empty(&self) -> Option<String> {
        if !self.runs.is_empty() || self.elsewhere > 0 {
            return None;
        }
        let ignored = self.not_run.iter().any(|it| it.why == WhyNotRun::Ignored);
        Some(match (ignored, self.filtered_out) {
            (false, 0) => "there are no tests".to_owned(),
            (false, 1) => "no test was run: the only one was filtered out".to_owned(),
            (false, others) => format!("no test was run: all {others} were filtered out"),
            (true, _) => "no test was run: those that were selected are ignored, and \
                  `-- --include-ignored` runs them"
                .to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_without_tests_says_why() {
        let course = |programs: &[(usize, usize)]| {
            let selected = programs.iter().map(|(ignored, filtered_out)| {
                Event::Selected(Selected {
                    program: "p".to_owned(),
                    ignored: vec!["a".to_owned(); *ignored],
                    filtered_out: *filtered_out,
                    elsewhere: 0,
                })
            });
            selected.collect::<Vec<Event>>()
        };
        let why = |programs: &[(usize, usize)]| {
            let course: Course = course(programs).into_iter().collect();
            course.why_empty().unwrap_or_default()
        };
        assert_eq!(why(&[(0, 0)]), "there are no tests");
        assert!(why(&[(0, 3), (0, 4)]).contains("all 7 were filtered out"));
        assert!(why(&[(0, 3), (1, 0)]).contains("--include-ignored"));
        // The only test belongs to another part.
        let elsewhere = Event::elsewhere("q".to_owned());
        let part: Course = course(&[(0, 3)]).into_iter().chain([elsewhere]).collect();
        assert_eq!(part.why_empty(), None);
    }
}
