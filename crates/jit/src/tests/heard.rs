//! What a checker hears of tasks in which nothing is checked, and of the others beside them.

use super::{compile, run_module};
use crate::checker::{Checker, Style};
use finishline_detect::inline::FastPath;
use finishline_ir::{Module, Op};
use finishline_model::{Access, AccessId, AccessKind, Event, Location};
use std::ptr::NonNull;

/// Writes down what it hears and what it only counts.
#[derive(Default)]
struct Hearing {
    heard: Vec<String>,
    unheard: Vec<String>,
}

/// `begin 3`, for tasks and finishes by their ids.
fn word(event: &Event) -> String {
    match event {
        Event::TaskBegin { task, .. } => format!("begin {}", task.0),
        Event::TaskEnd { task } => format!("end {}", task.0),
        Event::FinishBegin { finish, .. } => format!("open {}", finish.0),
        Event::FinishEnd { finish, .. } => format!("close {}", finish.0),
        Event::FinishJoin { finish, .. } => format!("join {}", finish.0),
        Event::IsolatedBegin { .. } => "isolated".to_owned(),
        Event::IsolatedEnd { .. } => "no longer".to_owned(),
        Event::Alloc { count, .. } => format!("new {count}"),
        _ => "other".to_owned(),
    }
}

impl Checker for Hearing {
    const STYLE: Style = Style::Inline;

    fn attach(&mut self, _: NonNull<FastPath>) {}

    fn event(&mut self, event: &Event) {
        self.heard.push(word(event));
    }

    fn unheard(&mut self, event: &Event) {
        self.unheard.push(word(event));
    }

    fn access(&mut self, _: &Access) {}

    fn undecided(&mut self, _: AccessKind, _: &mut u64, _: usize, _: impl Fn() -> Location) {}

    fn range(&mut self, _: AccessKind, _: &mut [u64], _: isize, _: Location, _: AccessId) {}

    fn ended(&mut self, _: u64) {}
}

/// The program without checks but in the function `checked`.
fn with_few_checks(source: &str) -> Module {
    let mut module = compile(source);
    for function in &mut module.functions {
        if function.name != "checked" {
            for block in &mut function.blocks {
                let unchecked = |op: &Op| !matches!(op, Op::Check { .. });
                block
                    .instructions
                    .retain(|instruction| unchecked(&instruction.op));
            }
        }
    }
    module
}

fn hear(source: &str) -> Hearing {
    let mut hearing = Hearing::default();
    run_module(&with_few_checks(source), &mut hearing);
    hearing
}

/// A task counts as a whole, with its tasks and finishes. The task behind it is heard again, also
/// if its check is made by a function that it calls, or by a task of its own.
#[test]
fn tasks_that_check_nothing_are_only_counted() {
    let hearing = hear(
        "var x = 0;
         fn checked() { x = 1; }
         fn indirectly() { checked(); }
         fn main() {
             finish {
                 async {
                     finish { async { isolated { x = 2; } } }
                     let a = new int[3];
                     async { a[0] = x; }
                 }
                 async { indirectly(); }
                 async { x = 3; }
                 async { async { checked(); } async { x = 4; } }
             }
             checked();
         }",
    );
    // The globals are made after the finish of main has begun.
    let heard = [
        "begin 0", "open 0", "new 1", "open 1", "begin 4", "end 4", "begin 6", "begin 7", "end 7",
        "end 6", "close 1", "close 0", "end 0",
    ];
    assert_eq!(hearing.heard, heard);
    let unheard = [
        "begin 1",
        "open 2",
        "begin 2",
        "isolated",
        "no longer",
        "end 2",
        "close 2",
        "new 3",
        "begin 3",
        "end 3",
        "end 1",
        "begin 5",
        "end 5",
        "begin 8",
        "end 8",
    ];
    assert_eq!(hearing.unheard, unheard);
}

/// A function that spawns itself is followed as well.
#[test]
fn recursion_is_heard_if_it_checks_in_the_end() {
    let source = |body: &str| {
        format!(
            "var x = 0;
             fn checked() {{ x = 1; }}
             fn go(n: int) {{ if n > 0 {{ spawn go(n - 1); sync; }} else {{ {body} }} }}
             fn main() {{ spawn go(2); sync; }}"
        )
    };
    let begun = |words: &[String]| {
        words
            .iter()
            .filter(|word| word.starts_with("begin"))
            .count()
    };
    let hearing = hear(&source("checked();"));
    assert_eq!((begun(&hearing.heard), begun(&hearing.unheard)), (4, 0));
    let hearing = hear(&source("x = 2;"));
    // Nobody calls `checked`: main itself begins before anything is known, and all else is counted.
    assert_eq!((begun(&hearing.heard), begun(&hearing.unheard)), (1, 3));
}

/// Without any check even the finishes of main are only counted.
#[test]
fn a_program_without_checks_is_heard_to_begin() {
    let hearing = hear("fn main() { finish { async { } } let a = new int[2]; a[0] = 1; }");
    assert_eq!(hearing.heard, ["begin 0", "open 0"]);
    let unheard = [
        "new 0", "open 1", "begin 1", "end 1", "close 1", "new 2", "close 0", "end 0",
    ];
    assert_eq!(hearing.unheard, unheard);
}
