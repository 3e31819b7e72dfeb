//! Objects and cells that several workers check at once: what phases were trusted with, what a step
//! makes, and what ranges and single accesses leave in the same cells.

use crate::common::compile;
use crate::parallel_runs::{input, trap};
use finishline_detect::parallel::Trust;
use finishline_ir::Module;
use finishline_jit::CheckingCrew;
use finishline_model::{Detector, Passes};
use std::sync::atomic::AtomicU64;

/// A phase that writes what it was trusted to read is judged by another run.
#[test]
fn a_run_that_was_deceived_is_repeated() {
    let source = |written: u32| {
        format!(
            "fn main() {{ let a = new int[2]; let seen = new int[2]; finish {{
                 async {{ seen[0] = a[0]; }}
                 async {{ for i in 0..100 {{ seen[1] = i; }} a[{written}] = 1; }}
             }} print(a[1]); }}"
        )
    };
    for (written, races) in [(0, 1), (1, 0)] {
        let module = compile(&source(written)).unwrap();
        for workers in [1, 2, 8] {
            let progress = AtomicU64::new(0);
            let crew = CheckingCrew {
                workers,
                one_race: false,
                trust: Trust::Blind,
            };
            let (program, detector) = (input(&module, &progress), Detector::Finishline);
            let prepared = finishline_jit::prepare_parallel_check(program, detector, crew);
            let mut output = Vec::new();
            let (end, findings) = prepared.unwrap().unwrap().run(&mut output);
            assert_eq!(trap(end), None);
            assert_eq!(findings.unwrap().racing.len(), races);
            assert_eq!(output, format!("{written}\n").into_bytes(), "printed once");
        }
    }
}

/// What a step does with an object that it makes is not recorded. What it does later is, and what
/// others do.
#[test]
fn who_makes_an_object_may_race_with_it_later() {
    const ACCESSES: [&str; 3] = ["", "assert(a[0] >= 0);", "a[0] = 2;"];
    let main_makes = |body: &str| format!("async {{ seen[0] = 1; }} {body}");
    let task_makes = |body: &str| format!("async {{ {body} }} async {{ seen[0] = 1; }}");
    for (child, by_child) in ACCESSES.iter().enumerate() {
        for (maker, by_maker) in ACCESSES.iter().enumerate() {
            let makes = format!(
                "let a = new int[2]; a[0] = 1; a[1] = a[0];
                 finish {{ async {{ {by_child} }} {by_maker} }} a[0] = 3;"
            );
            let races = usize::from(child > 0 && maker > 0 && child + maker > 2);
            for body in [main_makes(&makes), task_makes(&makes)] {
                let source = format!("fn main() {{ let seen = new int[1]; finish {{ {body} }} }}");
                assert_eq!(racing(&source, Trust::Earned), races, "{source}");
                assert_eq!(racing(&source, Trust::Blind), races, "{source}");
            }
        }
    }
}

/// Others come by an object through a location or a promise, after the step that made it.
#[test]
fn objects_of_other_steps_are_recorded() {
    let handed_on = |first: &str, second: &str| {
        format!(
            "fn main() {{ let at = new int[1][]; let p = new promise<int>(); finish {{
                 async {{ let a = new int[2]; a[0] = 1; at[0] = a; p.set(1); }}
                 async {{ p.get(); let a = at[0]; {first} }}
                 async {{ p.get(); let a = at[0]; {second} }}
             }} at[0][0] = 4; }}"
        )
    };
    let (reads, writes) = ("assert(a[0] == 1);", "a[1] = 2;");
    for (first, second, races) in [
        (reads, reads, 0),
        (reads, writes, 0),
        (writes, writes, 1),
        (writes, "assert(a[1] >= 0);", 1),
    ] {
        let source = handed_on(first, second);
        assert_eq!(racing(&source, Trust::Earned), races, "{source}");
        assert_eq!(racing(&source, Trust::Blind), races, "{source}");
    }
}

/// A worker that changes the cells of many neighbours by plain stores undoes nothing for good that
/// another one does to a single cell meanwhile, nor the other way round.
#[test]
fn who_checks_many_neighbours_and_who_checks_one_find_each_other() {
    const ROUNDS: usize = 200;
    const ELEMENTS: usize = 1024;
    // Each element, far from the one before, in a step of its own or in one for all.
    let singles = |access: &str| {
        format!("for i in 0..{ELEMENTS} {{ let at = i * 367 % {ELEMENTS}; {access} }}")
    };
    // In pieces, so that it takes as long.
    let ranges =
        |access: &str| format!("for k in 0..32 {{ for at in 32 * k..32 * k + 32 {{ {access} }} }}");
    let (read, write) = ("sum += a[at];", "a[at] = at;");
    for (one, other) in [
        (ranges(write), singles(read)),
        (ranges(read), singles(write)),
        (ranges(write), singles(write)),
        (ranges(write), ranges(read)),
        (ranges(write), ranges(write)),
    ] {
        let source = format!(
            "fn main() {{ let seen = new int[2]; for round in 0..{ROUNDS} {{
                 let a = new int[{ELEMENTS}];
                 finish {{
                     async {{ var sum = 0; {one} seen[0] = sum; }}
                     async {{ var sum = 0; {other} seen[1] = sum; }}
                 }}
             }} }}"
        );
        let module = compile(&source).expect("a program");
        let by_ranges = finishline_opt::for_speed(&module, Passes::ALL);
        let races = racing_in(&by_ranges, Trust::Never, &source);
        assert_eq!(races, ROUNDS * ELEMENTS, "{source}");
    }
}

/// How many locations race, on one thread and on several.
fn racing(source: &str, trust: Trust) -> usize {
    racing_in(&compile(source).expect("a program"), trust, source)
}

fn racing_in(module: &Module, trust: Trust, source: &str) -> usize {
    let found = [1, 2, 8].map(|workers| {
        let progress = AtomicU64::new(0);
        let crew = CheckingCrew {
            workers,
            one_race: false,
            trust: trust.clone(),
        };
        let program = input(module, &progress);
        let prepared = finishline_jit::prepare_parallel_check(program, Detector::Finishline, crew);
        let (end, findings) = prepared.unwrap().unwrap().run(&mut std::io::sink());
        assert_eq!(trap(end), None);
        findings.unwrap().racing.len()
    });
    assert!(
        found.iter().all(|races| *races == found[0]),
        "{found:?}: {source}"
    );
    found[0]
}
