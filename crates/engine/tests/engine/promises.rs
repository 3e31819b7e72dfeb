//! Programs with promises and futures whose races, output and end are known by the definition. The
//! oracle judges the cooperative run, and every interleaving must say the same.

use crate::common::comparison::agrees;
use crate::common::compile;
use finishline_detect::oracle::{Mode, Oracle};
use finishline_engine::cooperative::Cooperative;
use finishline_engine::interleavings::{Budget, Granularity, Outcome, explore};
use finishline_engine::run::{self, End, Program};
use finishline_ir::listener::EventsAlone;
use finishline_ir::machine::{Limits, TrapKind};
use std::sync::atomic::AtomicU64;

/// How a program ends, in every schedule if it has no race.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Ends {
    /// With this output.
    With(&'static str),
    Deadlock,
    /// By a second `set`.
    SetTwice,
}

use Ends::{Deadlock, SetTwice, With};

struct Case {
    what: &'static str,
    source: &'static str,
    races: bool,
    ends: Ends,
}

const CASES: &[Case] = &[
    Case {
        what: "a get waits for the set",
        source: "var x = 0;
            fn main() {
                let p = new promise<int>();
                async { x = 1; p.set(7); }
                let got = p.get();
                print(x + got);
            }",
        races: false,
        ends: With("8\n"),
    },
    Case {
        what: "a task waits for what its creator does later",
        source: "var x = 0;
            fn main() {
                let p = new promise<int>();
                async { let got = p.get(); x += got; print(x); }
                x = 1;
                p.set(2);
            }",
        races: false,
        ends: With("3\n"),
    },
    Case {
        what: "what follows the set is not ordered",
        source: "var x = 0;
            fn main() {
                let p = new promise<int>();
                async { p.set(1); x = 1; }
                p.get();
                x = 2;
            }",
        races: true,
        ends: With(""),
    },
    Case {
        what: "of three parallel readers one is not waited for",
        source: "var x = 0;
            fn main() {
                let p = new promise<int>();
                let q = new promise<int>();
                async { p.set(x); }
                async { q.set(x); }
                async { let r = x; }
                p.get();
                q.get();
                x = 1;
            }",
        races: true,
        ends: With(""),
    },
    Case {
        what: "orders go through promises of promises",
        source: "var x = 0;
            fn main() {
                let outer = new promise<promise<int>>();
                async { let inner = outer.get(); x = 1; inner.set(5); }
                let inner = new promise<int>();
                outer.set(inner);
                print(inner.get() + x);
            }",
        races: false,
        ends: With("6\n"),
    },
    Case {
        what: "crossed gets",
        source: "fn main() {
                let p = new promise<int>();
                let q = new promise<int>();
                async { p.get(); q.set(1); }
                q.get();
                p.set(1);
            }",
        races: false,
        ends: Deadlock,
    },
    Case {
        what: "a promise that nobody sets",
        source: "fn main() { let p = new promise<int>(); async { } p.get(); }",
        races: false,
        ends: Deadlock,
    },
    Case {
        what: "a finish waits for a task that waits for what follows the finish",
        source: "fn main() {
                let p = new promise<int>();
                finish { async { p.get(); } }
                p.set(1);
            }",
        races: false,
        ends: Deadlock,
    },
    Case {
        what: "a finish waits for a task that waited",
        source: "var x = 0;
            fn main() {
                let p = new promise<int>();
                finish { async { x = p.get(); } p.set(3); }
                print(x);
            }",
        races: false,
        ends: With("3\n"),
    },
    Case {
        what: "two ordered sets",
        source: "fn main() { let p = new promise<int>(); p.set(1); p.set(2); }",
        races: false,
        ends: SetTwice,
    },
    Case {
        what: "two parallel sets",
        source: "fn main() {
                let p = new promise<int>();
                async { p.set(1); }
                p.set(2);
            }",
        races: true,
        ends: SetTwice,
    },
    Case {
        what: "a future has its value from its task",
        source: "var x = 0;
            fn twice(n: int): int { x += n; return 2 * n; }
            fn main() {
                let f = future { twice(4) };
                print(f.get() + x);
            }",
        races: false,
        ends: With("12\n"),
    },
    Case {
        what: "a future that nobody gets is parallel",
        source: "var x = 0;
            fn set(n: int): int { x = n; return n; }
            fn main() { future { set(4) }; x = 1; }",
        races: true,
        ends: With(""),
    },
    Case {
        what: "a finish waits for a future",
        source: "var x = 0;
            fn set(n: int): int { x = n; return n; }
            fn main() { finish { future { set(4) }; } print(x); }",
        races: false,
        ends: With("4\n"),
    },
    Case {
        what: "promises in arrays, fields, globals and parameters",
        source: "struct Box { p: promise<int> }
            var all: promise<int>;
            fn pass(from: promise<int>, to: promise<int>) { to.set(from.get() + 1); }
            fn main() {
                let chain = new promise<int>[3];
                for i in 0..3 { chain[i] = new promise<int>(); }
                let box = new Box();
                box.p = new promise<int>();
                all = new promise<int>();
                async pass(chain[1], chain[2]);
                async pass(chain[0], chain[1]);
                async { chain[0].set(box.p.get() + all.get()); }
                box.p.set(10);
                all.set(20);
                print(chain[2].get());
            }",
        races: false,
        ends: With("32\n"),
    },
    Case {
        what: "a set in an isolated block orders like any other",
        source: "var x = 0;
            fn main() {
                let p = new promise<int>();
                async { let got = p.get(); isolated { x += got; } }
                isolated { p.set(5); x = 1; }
            }",
        races: false,
        ends: With(""),
    },
];

/// Whether the oracle sees a race in the cooperative run, and how that ends.
fn cooperative(case: &Case) -> (bool, Ends, String) {
    let module = compile(case.source).unwrap_or_else(|errors| panic!("{errors}"));
    let program = Program {
        module: &module,
        arguments: &[],
        limits: Limits::default(),
    };
    let mut oracle = Oracle::new(10_000);
    let mut output = Vec::new();
    let outcome = run::run_for(
        1_000_000,
        program,
        &mut Cooperative::default(),
        &mut EventsAlone(&mut oracle),
        &mut output,
        &AtomicU64::new(0),
    );
    let ends = match outcome.result {
        End::Finished => With(""),
        End::Trapped(trap) => match trap.kind {
            TrapKind::Deadlock { .. } => Deadlock,
            TrapKind::SetTwice { .. } => SetTwice,
            other => panic!("{}: {other}", case.what),
        },
        other => panic!("{}: {other:?}", case.what),
    };
    let races = !oracle.racing_locations(Mode::Structure).is_empty();
    let output = String::from_utf8(output).expect("text");
    (races, ends, output)
}

#[test]
fn the_cooperative_run_is_judged_by_the_definition() {
    for case in CASES {
        let (races, ends, output) = cooperative(case);
        assert_eq!(races, case.races, "{}", case.what);
        match case.ends {
            With(expected) => {
                assert_eq!((ends, &*output), (With(""), expected), "{}", case.what);
            }
            expected => assert_eq!(ends, expected, "{}", case.what),
        }
    }
}

#[test]
fn every_schedule_says_the_same() {
    for case in CASES {
        let module = compile(case.source).unwrap_or_else(|errors| panic!("{errors}"));
        for granularity in [Granularity::Visible, Granularity::Instruction] {
            let every = explore(
                &module,
                &[],
                Limits::default(),
                granularity,
                Budget::default(),
            );
            assert!(!every.gave_up, "{}", case.what);
            assert_eq!(!every.conflicts.is_empty(), case.races, "{}", case.what);
            if case.races {
                continue;
            }
            let ends: Vec<Ends> = (every.outcomes.iter())
                .map(|outcome| match outcome {
                    Outcome::Finished { output, .. } => {
                        let printed = output.concat();
                        assert!(
                            matches!(case.ends, With(text) if text.as_bytes() == printed),
                            "{}",
                            case.what
                        );
                        With("")
                    }
                    Outcome::Deadlock { .. } => Deadlock,
                    Outcome::Trapped { .. } => SetTwice,
                })
                .collect();
            let expected = match case.ends {
                With(_) => With(""),
                other => other,
            };
            assert_eq!(ends, [expected], "{}", case.what);
        }
    }
}

#[test]
fn compiled_code_does_the_same() {
    for case in CASES {
        let module = compile(case.source).unwrap_or_else(|errors| panic!("{errors}"));
        match agrees(&module, &[], Limits::default()) {
            Ok(compared) => assert!(compared, "{}", case.what),
            Err(why) => panic!("{}: {why}", case.what),
        }
    }
}
