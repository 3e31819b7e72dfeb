//! Random small call graphs: functions that sequential code, several parallel regions and each other call, many of which do nothing but
//! call. So copies for two contexts often look alike and differ in nothing but which copies they call, and are still not the same
//! function. No set of passes changes which locations race.
//!
//! `FINISHLINE_SEED` and `FINISHLINE_SEEDS` run other programs, or more. One on which a pass errs is shrunk and printed.

use crate::common::statements::{Node, line, smaller, write_nodes};
use crate::common::{both_forms, compile, in_parallel, setting};
use finishline_generate::rng::Rng;
use finishline_ir::{Function, Module, Op};
use finishline_model::{Pass, Passes, SiteId};
use finishline_opt::reduce;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 4_000;
/// Steps after which a program is given up.
const FUEL: u64 = 5_000;
const GLOBALS: usize = 4;

/// How deep a block is: no tasks, loops or finishes further in.
const DEEPEST: u32 = 2;

struct Maker {
    rng: Rng,
    functions: usize,
}

impl Maker {
    /// A program: globals, functions and `main`.
    fn program(seed: u64) -> Vec<Node> {
        let mut rng = Rng::new(seed);
        let functions = 3 + rng.index(4);
        let mut maker = Maker { rng, functions };
        let globals = (0..GLOBALS).map(|k| line(format!("var g{k} = 0;")));
        let mut nodes: Vec<Node> = globals.collect();
        for own in 0..functions {
            // The last ones access something, so that chains end at an access; of the others most call, and no more.
            let accesses = own + 2 >= functions || maker.rng.percent(30);
            nodes.push(Node {
                head: format!("fn f{own}(n: int)"),
                inside: Some(maker.block(Some(own), accesses, 0)),
            });
        }
        let regions = 2 + maker.rng.below(2);
        nodes.push(Node {
            head: "fn main()".into(),
            inside: Some((0..regions).map(|_| maker.region()).collect()),
        });
        nodes
    }

    /// What `main` does one after the other: something sequential or a parallel region.
    fn region(&mut self) -> Node {
        // Every second call is of one function, so that it has several contexts.
        let called = match self.rng.percent(50) {
            true => 0,
            false => self.rng.index(self.functions),
        };
        let n = self.rng.below(2);
        let inside = match self.rng.below(6) {
            0 | 1 => return line(format!("f{called}({n});")),
            2 => return line(self.access()),
            3 => {
                let head = "forall i in 0..2".to_owned();
                let inside = vec![line(format!("f{called}({n});"))];
                return Node {
                    head,
                    inside: Some(inside),
                };
            }
            4 => vec![line(format!("async f{called}({n});")), line(self.access())],
            _ => {
                let other = self.rng.index(self.functions);
                let second = self.rng.pick(&["", "async "]);
                vec![
                    line(format!("async f{called}({n});")),
                    line(format!("{second}f{other}({n});")),
                ]
            }
        };
        Node {
            head: "finish".into(),
            inside: Some(inside),
        }
    }

    fn block(&mut self, own: Option<usize>, accesses: bool, depth: u32) -> Vec<Node> {
        let count = if depth == 0 { 1 + self.rng.below(2) } else { 1 };
        (0..count)
            .map(|_| self.statement(own, accesses, depth))
            .collect()
    }

    fn statement(&mut self, own: Option<usize>, accesses: bool, depth: u32) -> Node {
        if accesses && self.rng.percent(60) {
            return line(self.access());
        }
        if depth < DEEPEST && self.rng.percent(25) {
            let head = self.rng.pick(&["finish", "if n > 0", "forall i in 0..2"]);
            return Node {
                head: head.into(),
                inside: Some(self.block(own, accesses, depth + 1)),
            };
        }
        let called = self.rng.index(self.functions);
        let how = match self.rng.below(10) {
            0 => "async ",
            1 => "spawn ",
            _ => "",
        };
        // Functions with higher numbers may always be called. The others are recursion, which ends as n does.
        match own {
            Some(own) if called <= own => Node {
                head: "if n > 0".into(),
                inside: Some(vec![line(format!("{how}f{called}(n - 1);"))]),
            },
            _ => line(format!("{how}f{called}(n);")),
        }
    }

    fn access(&mut self) -> String {
        let global = self.rng.index(GLOBALS);
        match self.rng.below(8) {
            0..4 => format!("print(g{global});"),
            4..7 => format!("g{global} = 1;"),
            _ => format!("isolated g{global} += 1;"),
        }
    }
}

fn text(nodes: &[Node]) -> String {
    let mut text = String::new();
    write_nodes(&mut text, nodes, 0);
    text
}

/// Copies, and the passes after which they may differ; all there are for every second seed.
fn passes(seed: u64) -> Passes {
    let mut rng = Rng::new(seed ^ 0x5eed);
    let all: Vec<Passes> = Passes::subsets().collect();
    let others = match seed % 2 {
        0 => Passes::ALL,
        _ => all[rng.index(all.len())],
    };
    others.with(Pass::Contexts).with(Pass::Sequential)
}

/// What is shrunk too far to be a program is no counter-example.
fn same(nodes: &[Node], seed: u64) -> Result<usize, String> {
    match finishline_fin::compile("test.fin", text(nodes).as_bytes()) {
        Ok(program) => both_forms::same(&program.module, passes(seed), FUEL),
        Err(_) => Ok(0),
    }
}

/// Whether two copies of a function differ in nothing but what they call.
fn differ_by_callees(module: &Module) -> bool {
    let is_call = |op: &Op| matches!(op, Op::Call { .. } | Op::Spawn { .. });
    let up_to_callees = |function: &Function| -> Vec<(SiteId, Option<Op>)> {
        let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
        instructions
            .map(|i| (i.site, (!is_call(&i.op)).then(|| i.op.clone())))
            .collect()
    };
    let mut seen = BTreeMap::new();
    let alike = |function: &Function| {
        let others: &mut Vec<_> = seen.entry(function.name.clone()).or_default();
        let own = up_to_callees(function);
        let found = others.contains(&own);
        others.push(own);
        found
    };
    module.functions.iter().map(alike).any(|found| found)
}

#[test]
fn copies_of_functions_keep_the_races_of_random_call_graphs() {
    let (first, count) = (
        setting("FINISHLINE_SEED", 1),
        setting("FINISHLINE_SEEDS", PROGRAMS),
    );
    let (spared, by_callees, racing) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    in_parallel(first..first + count, |seed| {
        let mut nodes = Maker::program(seed);
        let module = compile(&text(&nodes));
        let add = |to: &AtomicU64, holds: bool| to.fetch_add(u64::from(holds), Ordering::Relaxed);
        match same(&nodes, seed) {
            Ok(checks) => {
                add(&spared, checks > 0);
                let two_copies = differ_by_callees(&reduce(&module, passes(seed)));
                add(&by_callees, two_copies);
                add(
                    &racing,
                    two_copies && both_forms::racing(&module, FUEL).is_some_and(|n| n > 0),
                );
            }
            Err(error) => {
                let fails = |nodes: &Vec<Node>| same(nodes, seed).is_err();
                while let Some(fewer) = smaller(&nodes).into_iter().find(fails) {
                    nodes = fewer;
                }
                let said = same(&nodes, seed).expect_err("a shrunk program still fails");
                panic!("seed {seed}: {error}\nshrunk: {said}\n{}", text(&nodes));
            }
        }
    });
    let [spared, by_callees, racing] = [spared, by_callees, racing].map(AtomicU64::into_inner);
    // That the comparison is one of something: programs with fewer checks, with copies that are alike up to what they call, and races in these.
    assert!(
        count < 1000 || spared > count / 2 && by_callees > count / 20 && racing > count / 40,
        "of {count} programs {spared} have fewer checks, {by_callees} copies that differ by callees, {racing} of them races"
    );
}
