//! Which tasks get stacks of their own, and what a checker is told when tasks take turns.

use super::{compile, run};
use crate::checker::{Checker, Style};
use crate::waiting::may_wait;
use finishline_detect::inline::FastPath;
use finishline_ir::{Function, Role};
use finishline_model::{Access, AccessId, AccessKind, Event, Location, TaskId};
use std::ptr::NonNull;

/// Whether a task that runs the function `f` may wait.
fn f_may_wait(source: &str) -> bool {
    let main = "fn main() { let p = new promise<int>(); async f(p); p.set(1); }";
    let module = compile(&format!("{source} {main}"));
    let is_f = |function: &Function| function.name == "f" && function.role == Role::Function;
    let index = module.functions.iter().position(is_f).expect("f");
    may_wait(&module)[index]
}

#[test]
fn a_task_may_wait_at_a_get_of_its_own_or_at_a_join_of_tasks_that_get() {
    for (waits, source) in [
        (true, "fn f(p: promise<int>) { p.get(); }"),
        (
            false,
            "fn f(p: promise<int>) { let q = new promise<int>(); q.set(1); }",
        ),
        (
            true,
            "fn f(p: promise<int>) { g(p); } fn g(p: promise<int>) { p.get(); }",
        ),
        (false, "fn f(p: promise<int>) { async { p.get(); } }"),
        (
            true,
            "fn f(p: promise<int>) { finish { async { p.get(); } } }",
        ),
        (false, "fn f(p: promise<int>) { finish { async { } } }"),
        (
            true,
            "fn f(p: promise<int>) { g(p); h(); }
            fn g(p: promise<int>) { begin_finish; async { async { p.get(); } } }
            fn h() { end_finish; }",
        ),
        (
            true,
            "fn f(p: promise<int>) { spawn g(p); sync; } fn g(p: promise<int>) { p.get(); }",
        ),
        (
            false,
            "fn f(p: promise<int>) { spawn g(p); sync; } fn g(p: promise<int>) { }",
        ),
        (
            true,
            "fn f(p: promise<int>) { if p == null { f(p); } else { finish { async g(p); } } }
            fn g(p: promise<int>) { p.get(); }",
        ),
        (
            false,
            "fn f(p: promise<int>) { async { finish { async { p.get(); } } } }",
        ),
    ] {
        assert_eq!(f_may_wait(source), waits, "{source}");
    }
}

/// Knows which task runs by what it is told, and compares that with who makes an access.
struct Following {
    running: TaskId,
    accesses: usize,
    switches: usize,
}

impl Checker for Following {
    const STYLE: Style = Style::Call;

    fn attach(&mut self, _: NonNull<FastPath>) {}

    fn event(&mut self, event: &Event) {
        match event {
            // The first event of a task says so itself.
            Event::TaskBegin { .. } => {}
            event => assert_eq!(event.task(), self.running, "{event:?}"),
        }
        self.running = event.task();
    }

    fn resumed(&mut self, task: TaskId) {
        self.switches += usize::from(task != self.running);
        self.running = task;
    }

    fn access(&mut self, access: &Access) {
        assert_eq!(access.task, self.running);
        self.accesses += 1;
    }

    fn undecided(&mut self, _: AccessKind, _: &mut u64, _: usize, _: impl FnOnce() -> Location) {}

    fn range(&mut self, _: AccessKind, _: &mut [u64], _: isize, _: Location, _: AccessId) {}

    fn ended(&mut self, _: u64) {}
}

#[test]
fn a_checker_is_told_which_task_goes_on() {
    let source = "
        var x = 0;
        fn plain(n: int) { x += n; async { x += 1; } x += 2; }
        fn main() {
            let p = new promise<int>();
            let q = new promise<int>();
            for i in 0..3 { async { x = p.get(); plain(i); let made = new int[1]; x += 1; } x += 1; }
            async { finish { async { q.get(); x += 1; } x += 1; } x += 1; }
            x += 1;
            isolated { p.set(1); x += 1; }
            x += 1;
            q.set(2);
            x += 1;
        }";
    let mut checker = Following {
        running: TaskId::MAIN,
        accesses: 0,
        switches: 0,
    };
    run(source, &mut checker);
    assert!(checker.accesses > 40, "{} accesses", checker.accesses);
    assert!(checker.switches > 12, "{} switches", checker.switches);
}
