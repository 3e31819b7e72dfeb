//! What two threads gain over one: programs of `programs/fastracer`, and the same kernels in Rust
//! with rayon.
//!
//! `cargo bench -p finishline-engine --bench kernels`. The kernels are those of the programs at
//! size A, with the same cut-offs, and with the same work before and after that one thread does. A
//! gain is the time on one thread by that on two, of medians over rounds in which all runs take
//! turns. Rayon shows what this machine, and the serial part of a program, let anybody gain.

mod blackscholes;
mod karatsuba;
mod kmeans;
mod sort;
mod streamcluster;

use finishline_engine::depth_first::End;
use finishline_engine::executor::{Executor, Forms};
use finishline_engine::question::Question;
use finishline_engine::timing;
use finishline_ir::Module;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::Passes;
use rayon::ThreadPoolBuilder;
use std::sync::atomic::AtomicU64;
use std::time::Instant;
use std::{env, fs};

const ROUNDS: usize = 9;
const SIZE_A: i64 = 1;

/// Runs the kernel with its validation, and returns what the program prints.
type Kernel = fn() -> String;

const KERNELS: [(&str, Kernel); 5] = [
    ("blackscholes", blackscholes::run),
    ("karatsuba", karatsuba::run),
    ("kmeans", kmeans::run),
    ("sort", sort::run),
    ("streamcluster", streamcluster::run),
];

fn module_of(name: &str) -> Module {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/fastracer");
    let path = format!("{folder}/{name}.fin");
    let source = fs::read(&path).expect("the program is there");
    match finishline_fin::compile(&path, &source) {
        Ok(program) => program.module,
        Err(_) => panic!("{path} is right"),
    }
}

/// Seconds of a run of the program on so many threads, and what it prints.
fn fin(module: &Module, threads: usize) -> (f64, String) {
    let question = Question {
        module,
        forms: Forms::new(module, Executor::Compiled, Passes::NONE),
        words: vec![SIZE_A.to_string()],
        arguments: vec![Datum::Int(SIZE_A)],
        limits: Limits::default(),
        max_races: 0,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    };
    let ready = timing::prepare_on_threads(&question, None, threads);
    let ready = ready.expect("it can be compiled");
    let mut printed = Vec::new();
    let start = Instant::now();
    let ran = ready.run(&mut printed);
    let seconds = start.elapsed().as_secs_f64();
    assert!(matches!(ran.end, End::Finished), "the program ends");
    (seconds, String::from_utf8_lossy(&printed).trim().to_owned())
}

/// The same of a kernel.
fn rayon(kernel: Kernel, threads: usize) -> (f64, String) {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.expect("threads can be made");
    let start = Instant::now();
    let printed = pool.install(kernel);
    (start.elapsed().as_secs_f64(), printed)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let wanted: Vec<String> = env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .collect();
    let kernels = KERNELS.iter();
    let kernels =
        kernels.filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|it| it == name));
    println!(
        "{:<14} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "gain", "Fin, s", "Fin", "rayon, s", "rayon", "Fin/rayon"
    );
    let (mut product, mut programs) = (1.0, 0);
    for (name, kernel) in kernels {
        let module = module_of(name);
        let mut times: [Vec<f64>; 4] = Default::default();
        for _ in 0..ROUNDS {
            let runs = [
                fin(&module, 1),
                fin(&module, 2),
                rayon(*kernel, 1),
                rayon(*kernel, 2),
            ];
            for ((seconds, printed), times) in runs.iter().zip(&mut times) {
                assert_eq!(printed, &runs[0].1, "{name} prints the same");
                times.push(*seconds);
            }
        }
        let [one, two, rayon_one, rayon_two] = times.map(|mut times| median(&mut times));
        let (gain, rayon_gain) = (one / two, rayon_one / rayon_two);
        println!(
            "{name:<14} {two:>8.3} {gain:>8.2} {rayon_two:>8.3} {rayon_gain:>8.2} {:>8.2}",
            gain / rayon_gain
        );
        product *= gain / rayon_gain;
        programs += 1;
    }
    if programs > 0 {
        let mean = f64::powf(product, 1.0 / f64::from(programs));
        println!("{:<14} {:>44.2}", "geometric mean", mean);
    }
}
