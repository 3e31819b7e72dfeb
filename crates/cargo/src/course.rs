//! What happened in a session: events that the runners noted, one after the other, and what follows
//! from all of them.

use crate::run::Run;
use finishline_answer::answer::{NotRun, WhyNotRun};
use serde::{Deserialize, Serialize};

/// One thing that a runner notes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    Ended(Run),
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

/// Which tests of a program were not selected.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Selected {
    pub(crate) program: String,
    pub(crate) ignored: Vec<String>,
    pub(crate) filtered_out: usize,
}

/// All events of a session.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// In the order in which they ended.
    pub(crate) runs: Vec<Run>,
    pub(crate) only_asked: bool,
    pub(crate) doc_tests_skipped: bool,
    pub(crate) not_run: Vec<NotRun>,
    pub(crate) interrupted: bool,
    filtered_out: usize,
}

impl FromIterator<Event> for Course {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Course {
        let mut course = Course::default();
        for event in events {
            match event {
                Event::Ended(run) => course.runs.push(run),
                Event::Selected(selected) => {
                    course.filtered_out += selected.filtered_out;
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
        if !self.runs.is_empty() {
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
        let why = |programs: &[(usize, usize)]| {
            let selected = programs.iter().map(|(ignored, filtered_out)| {
                Event::Selected(Selected {
                    program: "p".to_owned(),
                    ignored: vec!["a".to_owned(); *ignored],
                    filtered_out: *filtered_out,
                })
            });
            selected.collect::<Course>().why_empty().unwrap_or_default()
        };
        assert_eq!(why(&[(0, 0)]), "there are no tests");
        assert!(why(&[(0, 3), (0, 4)]).contains("all 7 were filtered out"));
        assert!(why(&[(0, 3), (1, 0)]).contains("--include-ignored"));
    }
}
