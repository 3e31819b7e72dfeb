//! Whatever a writer is told, a reader tells.

use crate::damage::Random;
use finishline_model::source::{AccessInfo, AllocationInfo, Site, SourceMap};
use finishline_model::{
    Access, AccessId, AccessKind, AllocationId, Construct, Event, FinishId, FinishKind, Location,
    SiteId, Statistics, TaskId, TaskKind,
};
use finishline_trace::{
    Capture, Creation, Ending, Failure, FailurePoint, Hear, Object, Part, Program, Shape, Tasks,
    Trace, WaitsFor, Writer,
};
use std::io::Cursor;

const SITE: SiteId = SiteId(0);

/// A program with tables of every kind.
pub(crate) fn program() -> Program {
    let site = Site {
        start: 0,
        end: 7,
        line: 1,
        column: 1,
    };
    let access = |kind| AccessInfo {
        site: SITE,
        place: SiteId(1),
        kind,
        function: "main".to_owned(),
    };
    let allocation = |name: &str| AllocationInfo {
        site: SITE,
        name: name.to_owned(),
    };
    Program {
        words: vec!["7".to_owned()],
        source: SourceMap {
            path: "p.fin".to_owned(),
            text: "fn main() { é }\n".to_owned(),
            sites: vec![site, Site { start: 3, ..site }],
            accesses: vec![
                access(AccessKind::Read),
                access(AccessKind::Write),
                access(AccessKind::Write),
            ],
            allocations: vec![allocation("globals"), allocation("A"), allocation("p")],
        },
        constructs: vec![(Construct::Async, SITE), (Construct::Promise, SITE)],
        structs: vec![vec!["x".to_owned(), "y".to_owned()]],
        globals: vec!["total".to_owned()],
        functions: vec![vec![
            ("i".to_owned(), Capture::Int),
            ("rows".to_owned(), Capture::Hidden),
            ("f".to_owned(), Capture::Float),
        ]],
    }
}

/// Everything that is told, in words.
#[derive(Default, PartialEq, Debug)]
pub(crate) struct Heard(pub(crate) Vec<String>);

impl Hear for Heard {
    fn event(&mut self, event: &Event) {
        self.0.push(format!("{event:?}"));
    }
    fn access(&mut self, access: &Access) {
        self.0.push(format!("{access:?}"));
    }
    fn created(&mut self, creation: &Creation<'_>) {
        self.0.push(format!("{creation:?}"));
    }
    fn object(&mut self, object: &Object<'_>) {
        self.0.push(format!("{object:?}"));
    }
}

/// Tells a writer and a list the same.
struct Both {
    writer: Writer<Vec<u8>>,
    told: Heard,
}

impl Both {
    fn event(&mut self, event: Event) {
        self.writer.event(&event);
        self.told.event(&event);
    }
    fn access(&mut self, task: u32, id: u32, first: u64, count: u64) {
        let access = Access {
            task: TaskId(task),
            kind: match id {
                0 => AccessKind::Read,
                _ => AccessKind::Write,
            },
            first: Location(first),
            count,
            stride: 1 + u64::from(count > 1),
            id: AccessId(id),
        };
        self.writer.access(&access);
        self.told.access(&access);
    }
    fn object(&mut self, object: Object<'_>) {
        self.writer.object(&object);
        self.told.object(&object);
    }
    fn begin(&mut self, task: u32, index: u32) {
        self.event(Event::TaskBegin {
            task: TaskId(task),
            parent: Some(TaskId::MAIN),
            kind: TaskKind::Async,
            finish: FinishId(1),
            site: SiteId(1),
        });
        let creation = Creation {
            task: TaskId(task),
            parent: TaskId::MAIN,
            site: SiteId(1),
            construct: Construct::Async,
            index,
            function: 0,
            captures: &[u64::from(index).wrapping_neg(), f64::to_bits(0.5)],
        };
        self.writer.created(&creation);
        self.told.created(&creation);
    }
}

/// A run in which two tasks take turns, with all kinds of records.
pub(crate) fn recorded(accesses: u64) -> (Vec<u8>, Heard) {
    let program = program();
    let mut both = Both {
        writer: Writer::new(Vec::new(), &program).expect("memory takes everything"),
        told: Heard::default(),
    };
    let (task, site) = (TaskId::MAIN, SITE);
    let finish = FinishId::ROOT;
    both.event(Event::TaskBegin {
        task,
        parent: None,
        kind: TaskKind::Main,
        finish,
        site,
    });
    both.event(Event::FinishBegin {
        task,
        finish,
        kind: FinishKind::Root,
        site,
    });
    let object = |allocation, first, count, shape, earlier| Object {
        task,
        allocation: AllocationId(allocation),
        first: Location(first),
        count,
        shape,
        earlier,
    };
    both.object(object(0, 0, 1, Shape::Globals, 0));
    both.object(object(1, 1, 1000, Shape::Array(&[10, 100]), 0));
    both.object(object(2, 1001, 2, Shape::Promise, 3));
    both.object(object(1, 2000, 2, Shape::Struct(0), 5));
    both.event(Event::Alloc {
        task,
        allocation: AllocationId(1),
        first: Location(3000),
        count: 4,
    });
    both.event(Event::FinishBegin {
        task,
        finish: FinishId(1),
        kind: FinishKind::Lexical,
        site,
    });
    both.begin(1, 0);
    both.begin(2, 1);
    // A loop of tasks.
    for task in 3..20 {
        both.begin(task, task - 1);
        both.access(task, 0, 7, 1);
        both.event(Event::TaskEnd { task: TaskId(task) });
    }
    let mut random = Random(7);
    for k in 0..accesses {
        // Loops, and in between something else.
        both.access(1, 0, 1 + k % 500, 1);
        both.access(1, 1, 3 + 2 * (k % 300), 1);
        if random.below(10) == 0 {
            both.access(2, 2, 1 + random.next() % 900, 1 + random.next() % 50);
        }
    }
    let promise = Location(1001);
    both.event(Event::IsolatedBegin {
        task: TaskId(2),
        site,
    });
    both.event(Event::PromiseSet {
        task: TaskId(2),
        promise,
        site,
    });
    both.event(Event::IsolatedEnd {
        task: TaskId(2),
        site,
    });
    both.event(Event::PromiseGet {
        task: TaskId(1),
        promise,
        site,
    });
    both.event(Event::TaskEnd { task: TaskId(2) });
    both.event(Event::TaskEnd { task: TaskId(1) });
    both.event(Event::FinishJoin {
        task,
        finish: FinishId(1),
        site,
    });
    both.event(Event::FinishEnd {
        task,
        finish: FinishId(1),
        site,
    });
    let Both { mut writer, told } = both;
    writer.end(&ending());
    writer.close_up(&program);
    writer.event(&Event::TaskBegin {
        task,
        parent: None,
        kind: TaskKind::Main,
        finish,
        site,
    });
    writer.close([1, 2, 3, 7].map(Location));
    (writer.finish().expect("memory takes everything"), told)
}

fn ending() -> Ending {
    let tasks = Tasks {
        shown: vec![0],
        count: 2,
    };
    Ending {
        statistics: Statistics {
            tasks: 3,
            accesses: 1 << 40,
            ..Statistics::default()
        },
        commutes: true,
        failure: Some(Failure {
            kind: "deadlock".to_owned(),
            message: "nobody goes on".to_owned(),
            points: vec![FailurePoint {
                site: SITE,
                task: TaskId(1),
                waits_for: Some(WaitsFor::Promise(Location(1001), Some(tasks.clone()))),
            }],
            cycle: Some(tasks),
        }),
    }
}

#[test]
fn a_reader_tells_what_the_writer_was_told() {
    let (bytes, told) = recorded(20_000);
    let mut trace = Trace::open(Cursor::new(&bytes)).expect("a trace");
    assert_eq!(trace.program, program());
    assert_eq!(trace.ending, Some(ending()));
    assert_eq!(trace.length, bytes.len() as u64);
    let mut heard = Heard::default();
    trace.tell(Part::Run, &mut heard).expect("a run");
    assert_eq!(heard, told);
    let mut heard = Heard::default();
    trace.tell(Part::CloseUp, &mut heard).expect("a close-up");
    assert_eq!(heard.0.len(), 1);
    let followed = trace.followed().expect("a close-up");
    let expected = [1, 2, 3, 7];
    for location in 0..10 {
        let is_followed = followed.contains(Location(location));
        assert_eq!(is_followed, expected.contains(&location), "{location}");
    }
}

#[test]
fn regular_accesses_take_next_to_nothing() {
    let [short, long] = [0, 100_000].map(|accesses| recorded(accesses).0.len());
    // One of 20 is not regular. It comes with two switches of tasks and two broken loops.
    assert!(long - short < 150_000, "{}", long - short);
}
