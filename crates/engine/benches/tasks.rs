//! What a task costs: created and run by Fin, and by rayon's `join`.
//!
//! `cargo bench -p finishline-engine --bench tasks`. A tree of calls, each of which runs one of its
//! two halves as a task and waits for it, with nothing else to do. All rows take turns, so that a
//! machine that is slow for a while slows down all of them. Times are wall-clock nanoseconds for a
//! task: the median of the rounds, and the least and the most.

use finishline_engine::depth_first::End;
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::question::Question;
use finishline_engine::timing;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::Passes;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::io;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

const TREE: &str = "
fn main(depth: int) {
    tree(depth);
}

fn tree(depth: int) {
    if depth > 0 {
        finish {
            async tree(depth - 1);
            tree(depth - 1);
        }
    }
}
";

/// A million tasks.
const DEPTH: u32 = 20;
const TASKS: u32 = (1 << DEPTH) - 1;
const ROUNDS: usize = 15;

fn tree(depth: u32) {
    if depth > 0 {
        rayon::join(|| tree(depth - 1), || tree(depth - 1));
    }
}

fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads can be made")
}

/// A run on so many workers, or by the code for one thread.
fn fin(question: &Question, workers: Option<usize>) {
    let ready = match workers {
        None => timing::prepare(question, None),
        Some(workers) => timing::prepare_on_threads(question, None, workers),
    };
    let ran = ready.expect("it can be compiled").run(&mut io::sink());
    assert!(matches!(ran.end, End::Finished), "the program ends");
}

fn main() {
    let program = finishline_fin::compile("tree.fin", TREE.as_bytes());
    let Ok(program) = program else {
        panic!("the program is right");
    };
    let module = program.module;
    let question = Question {
        module: &module,
        forms: Forms::new(&module, Executor::Compiled, Passes::NONE),
        words: vec![DEPTH.to_string()],
        arguments: vec![Datum::Int(DEPTH.into())],
        limits: Limits::default(),
        max_races: 0,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    };
    let [one, two] = [1, 2].map(pool);
    let rows: [(&str, &dyn Fn()); 5] = [
        ("Fin, one thread", &|| fin(&question, None)),
        ("Fin, one worker of a parallel run", &|| {
            fin(&question, Some(1))
        }),
        ("Fin, two workers", &|| fin(&question, Some(2))),
        ("rayon's join, one thread", &|| one.install(|| tree(DEPTH))),
        ("rayon's join, two threads", &|| two.install(|| tree(DEPTH))),
    ];
    let mut times = rows.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((_, run), times) in rows.iter().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(TASKS));
        }
    }
    println!(
        "{:<36} {:>8} {:>8} {:>8}",
        "ns for a task", "median", "least", "most"
    );
    for ((name, _), times) in rows.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let [least, median, most] = [0, ROUNDS / 2, ROUNDS - 1].map(|place| times[place]);
        println!("{name:<36} {median:>8.1} {least:>8.1} {most:>8.1}");
    }
}
