//! Random small call graphs: functions that sequential code, several parallel regions and each
//! other call, many of which do nothing but call. So copies for two contexts often look alike and
//! differ in nothing but which copies they call, and are still not the same function. No set of
//! passes changes which locations race: they are those of all checks, which other suites compare
//! with the oracle.
//!
//! `FINISHLINE_SEED` and `FINISHLINE_SEEDS` run other programs, or more. One on which a pass errs
//! is shrunk and printed.

use crate::common::statements::{Node, line, smaller, write_nodes};
use crate::common::{both_forms, compile};
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::rng::Rng;
use finishline_ir::{Function, Module, Op};
use finishline_model::{Pass, Passes, SiteId};
use finishline_opt::reduce;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

const PROGRAMS: u64 = 2_000;
/// Steps after which a program is given up.
const FUEL: u64 = 5_000;
const GLOBALS: usize = 4;
/// Blocks inside so many others have none inside.
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
        let mut nodes: Vec<Node> = (0..functions).map(|own| maker.function(own)).collect();
        // Chains of calls lead up in the order of the functions, or down.
        if maker.rng.percent(50) {
            nodes.reverse();
        }
        nodes.extend((0..GLOBALS).map(|k| line(format!("var g{k} = 0;"))));
        let regions = 2 + maker.rng.below(2);
        nodes.push(Node {
            head: "fn main()".into(),
            inside: Some((0..regions).map(|_| maker.region()).collect()),
        });
        nodes
    }

    fn function(&mut self, own: usize) -> Node {
        // The last ones access something, so that chains end at an access; of the others most call,
        // and no more.
        let accesses = own + 2 >= self.functions || self.rng.percent(30);
        Node {
            head: format!("fn f{own}(n: int)"),
            inside: Some(self.block(own, accesses, 0)),
        }
    }

    /// A step of `main`: something sequential, or a parallel region.
    fn region(&mut self) -> Node {
        let n = self.rng.below(2);
        let called = self.called_by_main();
        let call = format!("f{called}({n});");
        let (head, inside) = match self.rng.below(6) {
            0 | 1 => return line(call),
            2 => return line(self.access()),
            3 => ("forall i in 0..2", vec![call]),
            4 => ("finish", vec![format!("async {call}"), self.access()]),
            _ => {
                let (how, other) = (self.rng.pick(&["", "async "]), self.called_by_main());
                let second = format!("{how}f{other}({n});");
                ("finish", vec![format!("async {call}"), second])
            }
        };
        Node {
            head: head.into(),
            inside: Some(inside.into_iter().map(line).collect()),
        }
    }

    /// Every second time the first function, so that it has several contexts.
    fn called_by_main(&mut self) -> usize {
        match self.rng.percent(50) {
            true => 0,
            false => self.rng.index(self.functions),
        }
    }

    fn block(&mut self, own: usize, accesses: bool, depth: u32) -> Vec<Node> {
        let count = if depth == 0 { 1 + self.rng.below(2) } else { 1 };
        (0..count)
            .map(|_| self.statement(own, accesses, depth))
            .collect()
    }

    fn statement(&mut self, own: usize, accesses: bool, depth: u32) -> Node {
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
        // Functions with higher numbers may always be called. The others are recursion, which ends
        // as n does.
        if called > own {
            return line(format!("{how}f{called}(n);"));
        }
        Node {
            head: "if n > 0".into(),
            inside: Some(vec![line(format!("{how}f{called}(n - 1);"))]),
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

/// Those that make copies and let them differ, and every second time all others, else some.
fn passes(seed: u64) -> Passes {
    let subsets: Vec<Passes> = Passes::subsets().collect();
    let others = match seed.is_multiple_of(2) {
        true => Passes::ALL,
        false => subsets[Rng::new(seed ^ 0x5eed).index(subsets.len())],
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
    module.functions.iter().any(alike)
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
                if differ_by_callees(&reduce(&module, passes(seed))) {
                    add(&by_callees, true);
                    add(&racing, both_forms::racing(&module, FUEL) > Some(0));
                }
            }
            Err(error) => {
                let fails = |nodes: &Vec<Node>| same(nodes, seed).is_err();
                while let Some(fewer) = smaller(&nodes).into_iter().find(fails) {
                    nodes = fewer;
                }
                let said = same(&nodes, seed).expect_err("a shrunk program still fails");
                panic!(
                    "seed {seed}: {error}\nshrunk: {said}\n{}\nrepeat: FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1 \
                     cargo test -p finishline-opt --test opt whole_program::call_graphs",
                    text(&nodes)
                );
            }
        }
    });
    let [spared, by_callees, racing] = [spared, by_callees, racing].map(AtomicU64::into_inner);
    // That the comparison is one of something.
    assert!(
        count < 1000 || spared > count / 2 && by_callees > count / 20 && racing > count / 40,
        "of {count} programs {spared} have fewer checks, {by_callees} copies that differ by callees, {racing} of them race"
    );
}
