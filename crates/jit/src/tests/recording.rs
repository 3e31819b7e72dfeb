//! A recorded run: only the first access of a step to a location is heard, and all are counted.

use super::{compile, run_module};
use crate::recording::Recording;
use finishline_ir::listener::{Allocated, Creation, Listener};
use finishline_model::{Access, Event, Observer, TaskId};

/// What is heard, in words.
#[derive(Default)]
struct Heard(Vec<String>);

impl Observer for Heard {
    fn event(&mut self, event: &Event) {
        let word = match event {
            Event::TaskBegin { task, .. } => format!("begin {}", task.0),
            Event::TaskEnd { task } => format!("end {}", task.0),
            Event::IsolatedBegin { .. } => "isolated".to_owned(),
            Event::IsolatedEnd { .. } => "no longer".to_owned(),
            Event::Alloc { task, .. } => format!("new by {}", task.0),
            _ => return,
        };
        self.0.push(word);
    }

    fn access(&mut self, access: &Access) {
        let Access {
            task,
            kind,
            first,
            count,
            ..
        } = access;
        let word = kind.word();
        self.0
            .push(format!("{} {word} {}x{count}", task.0, first.0));
    }
}

impl Listener for Heard {
    fn created(&mut self, _: TaskId, creation: &Creation<'_>) {
        let captures = (creation.captures)();
        let values: Vec<String> = captures.iter().map(ToString::to_string).collect();
        self.0.push(format!("with {}", values.join(" ")));
    }

    fn allocated(&mut self, object: &Allocated<'_>) {
        self.0.push(format!("{} locations", object.count));
    }
}

fn heard(source: &str) -> (Vec<String>, u64) {
    let mut recording = Recording::new(Heard::default());
    run_module(&compile(source), &mut recording);
    let accesses = recording.statistics.accesses;
    (recording.listener.0, accesses)
}

#[test]
fn repetitions_of_a_step_are_only_counted() {
    let (heard, accesses) = heard(
        "var x = 0;
         fn main() {
             x = x + 1;
             x = x + 1;
             let k = 7;
             finish { async { x = k; x = x + 1; isolated { x = 2; } } }
             x = 3;
         }",
    );
    let expected = [
        "begin 0",
        "new by 0",
        "1 locations",
        "0 read 0x1",
        "0 write 0x1",
        "begin 1",
        "with 7",
        "1 write 0x1",
        "isolated",
        "1 write 0x1",
        "no longer",
        "end 1",
        "0 write 0x1",
        "end 0",
    ];
    assert_eq!(heard, expected);
    assert_eq!(accesses, 9);
}
