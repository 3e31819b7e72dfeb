//! Depth-first runs of joins: how much work the lists are.

use super::*;
use finishline_model::{FinishKind, SiteId, TaskKind};

const SITE: SiteId = SiteId(0);

struct Run {
    order: Labelled,
    tasks: u32,
    finishes: u32,
}

impl Run {
    fn new() -> Run {
        let mut run = Run {
            order: Labelled::new().unwrap(),
            tasks: 0,
            finishes: 0,
        };
        run.tell(Event::TaskBegin {
            task: TaskId::MAIN,
            parent: None,
            kind: TaskKind::Main,
            finish: FinishId::ROOT,
            site: SITE,
        });
        run.tell(Event::FinishBegin {
            task: TaskId::MAIN,
            finish: FinishId::ROOT,
            kind: FinishKind::Root,
            site: SITE,
        });
        run
    }

    fn tell(&mut self, event: Event) {
        self.order.event(&event).unwrap();
    }

    /// A join by a task, and joins by its halves, down to this level.
    fn join(&mut self, task: TaskId, levels: u32) {
        self.finishes += 1;
        let finish = FinishId(self.finishes);
        self.tell(Event::FinishBegin {
            task,
            finish,
            kind: FinishKind::Lexical,
            site: SITE,
        });
        for _ in 0..2 {
            self.tasks += 1;
            let half = TaskId(self.tasks);
            self.tell(Event::TaskBegin {
                task: half,
                parent: Some(task),
                kind: TaskKind::Async,
                finish,
                site: SITE,
            });
            if levels > 1 {
                self.join(half, levels - 1);
            }
            self.tell(Event::TaskEnd { task: half });
        }
        self.tell(Event::FinishEnd {
            task,
            finish,
            site: SITE,
        });
    }

    fn relabelled_by(count: u32, levels: u32) -> u64 {
        let mut run = Run::new();
        for _ in 0..count {
            run.join(TaskId::MAIN, levels);
        }
        run.order.lists.relabelled()
    }
}

#[test]
fn joins_relabel_nothing() {
    assert_eq!(Run::relabelled_by(1, 14), 0, "a recursion");
    assert_eq!(Run::relabelled_by(10_000, 1), 0, "a loop");
    assert_eq!(Run::relabelled_by(100, 7), 0, "a loop of recursions");
}
