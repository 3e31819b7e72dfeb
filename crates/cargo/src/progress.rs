//! A line on the terminal that says how far the tests of a program are.
//!
//! The line is on standard error, and only if that is a terminal. Whoever prints anything meanwhile
//! does so by [`Progress::aside`], which takes the line away first. So the line never mixes with
//! output, and nothing of it is left at the end.

use crate::report::Standing;
use crate::single_test::Outcome;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::env;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(200);

pub(crate) struct Progress {
    line: ProgressBar,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order in which they started.
    running: Vec<String>,
    tests: usize,
    ended: usize,
    racing: usize,
    failed: usize,
}

impl Progress {
    /// Nothing is shown.
    pub(crate) fn hidden() -> Progress {
        Progress::on(ProgressDrawTarget::hidden(), 0)
    }

    pub(crate) fn of_tests(tests: usize) -> Progress {
        match env::var_os("TERM").is_some_and(|term| term == "dumb") {
            true => Progress::hidden(),
            false => Progress::on(ProgressDrawTarget::stderr(), tests),
        }
    }

    fn on(target: ProgressDrawTarget, tests: usize) -> Progress {
        // A bar that is not seen needs no thread that moves it.
        let is_seen = !target.is_hidden();
        let line = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{spinner} [{elapsed}] {wide_msg}");
        let progress = Progress {
            line: style.map_or(line.clone(), |style| line.with_style(style)),
            state: Mutex::new(State {
                tests,
                ..State::default()
            }),
        };
        if is_seen {
            progress.line.enable_steady_tick(TICK);
        }
        progress
    }

    pub(crate) fn starts(&self, test: &str) {
        self.change(|state| state.running.push(test.to_owned()));
    }

    /// `outcome` is none if something went wrong with the tool itself.
    pub(crate) fn ends(&self, test: &str, outcome: Option<&Outcome>) {
        self.change(|state| {
            state.running.retain(|running| running != test);
            state.ended += 1;
            match outcome {
                Some(outcome) if outcome.standing == Standing::Races => state.racing += 1,
                Some(outcome) if !outcome.is_fine() => state.failed += 1,
                _ => {}
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if !self.line.is_hidden() {
            self.line.set_message(state.message());
        }
    }

    /// Prints something where the line is.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.line.suspend(print)
    }

    pub(crate) fn is_over(&self) {
        self.line.finish_and_clear();
    }
}

/// Also if something goes wrong in between.
impl Drop for Progress {
    fn drop(&mut self) {
        self.is_over();
    }
}

impl State {
    fn message(&self) -> String {
        let State {
            running,
            tests,
            ended,
            ..
        } = self;
        let mut message = format!("{ended} of {tests} tests");
        for (number, what) in [(self.racing, "with races"), (self.failed, "failed")] {
            if number > 0 {
                message += &format!(", {number} {what}");
            }
        }
        if !running.is_empty() {
            message += &format!(", running {}", running.join(", "));
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_done_and_what_runs() {
        let progress = Progress::on(ProgressDrawTarget::hidden(), 12);
        let said = || progress.state.lock().expect("no panic").message();
        assert_eq!(said(), "0 of 12 tests");
        progress.starts("a::b");
        progress.starts("c");
        assert_eq!(said(), "0 of 12 tests, running a::b, c");
        progress.ends("a::b", None);
        assert_eq!(said(), "1 of 12 tests, running c");
        progress.change(|state| (state.racing, state.failed) = (2, 1));
        assert_eq!(said(), "1 of 12 tests, 2 with races, 1 failed, running c");
    }
}
