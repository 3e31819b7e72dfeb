//! Random programs with a heap of references: the passes must see through every alias.
//!
//! `finishline_generate` makes all constructs, but its objects are few and seldom hold each other.
//! These programs are nothing but objects that refer to each other, stored, loaded, passed,
//! returned, chosen and captured, in tasks, finishes and functions that call each other. Names are
//! never null, so nothing fails. `FINISHLINE_SEED` and `FINISHLINE_SEEDS` run other programs, or
//! more.

use super::random::subsets;
use crate::common::compile;
use crate::common::races::Checked;
use finishline_generate::campaign::{in_parallel, setting};
use finishline_generate::rng::Rng;
use finishline_model::Pass;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

const FUNCTIONS: usize = 3;

struct Generator {
    rng: Rng,
    text: String,
    /// The references in scope.
    names: Vec<String>,
    count: usize,
    /// Functions below this number may be called: there is no recursion but by a counter.
    callable: usize,
    /// Statements that may still be written.
    room: u32,
}

impl Generator {
    fn program(seed: u64) -> String {
        let mut generator = Generator {
            rng: Rng::new(seed),
            text: String::from(
                "struct N { next: N, other: N, x: int, y: int }\nvar g: N;\nvar h: N;\n",
            ),
            names: Vec::new(),
            count: 0,
            callable: 0,
            room: 0,
        };
        for function in 0..FUNCTIONS {
            generator.callable = function + 1;
            generator.names = vec!["p".into(), "q".into()];
            writeln!(generator.text, "fn f{function}(p: N, q: N, d: int): N {{").unwrap();
            generator.room = 5;
            generator.block(2);
            let result = generator.name();
            writeln!(generator.text, "return {result};\n}}").unwrap();
        }
        generator.callable = FUNCTIONS;
        generator.names = vec!["a".into(), "b".into()];
        generator.text.push_str(
            "fn main() {\nlet d = 2;\nlet a = new N();\nlet b = new N();\ng = a;\nh = new N();\n",
        );
        generator.room = 14;
        generator.block(4);
        generator.text.push_str("}\n");
        generator.text
    }

    fn name(&mut self) -> String {
        let index = self.rng.index(self.names.len());
        self.names[index].clone()
    }

    /// Statements until there is no more room, or fewer.
    fn block(&mut self, at_least: usize) {
        let mut written = 0;
        while self.room > 0 && (written < at_least || self.rng.below(3) > 0) {
            self.room -= 1;
            written += 1;
            self.statement();
        }
    }

    fn statement(&mut self) {
        let (a, b) = (self.name(), self.name());
        match self.rng.below(17) {
            0..=4 => self.declaration(&a, &b),
            5 | 6 => {
                let (field, global) = (self.rng.pick(&["x", "y"]), self.rng.pick(&["g", "h"]));
                let read = if self.rng.below(4) == 0 {
                    global
                } else {
                    b.as_str()
                };
                writeln!(self.text, "{a}.{field} = {read}.{field} + 1;").unwrap();
            }
            7 => {
                let field = self.rng.pick(&["x", "y"]);
                writeln!(self.text, "print({a}.{field});").unwrap();
            }
            8 | 9 => {
                let field = self.rng.pick(&["next", "other"]);
                writeln!(self.text, "{a}.{field} = {b};").unwrap();
            }
            10 => {
                let global = self.rng.pick(&["g", "h"]);
                writeln!(self.text, "{global} = {a};").unwrap();
            }
            11 | 12 => self.nested("async {"),
            13 => self.nested("finish {"),
            14 => {
                let head = self
                    .rng
                    .pick(&["for i in 0..2 {", "if d > 1 {", "forall i in 0..2 {"]);
                self.nested(head);
            }
            15 => {
                let field = self.rng.pick(&["next", "other"]);
                let callee = self.rng.index(self.callable);
                let then = self.rng.pick(&["", " sync;"]);
                writeln!(
                    self.text,
                    "if d > 0 {{ {a}.{field} = spawn f{callee}({a}, {b}, d - 1);{then} }}"
                )
                .unwrap();
            }
            _ => writeln!(self.text, "isolated {a}.x += 1;").unwrap(),
        }
    }

    fn nested(&mut self, head: &str) {
        writeln!(self.text, "{head}").unwrap();
        let outer = self.names.len();
        self.block(1);
        self.names.truncate(outer);
        self.text.push_str("}\n");
    }

    /// A new name, for an object that is new, loaded, returned or chosen.
    fn declaration(&mut self, a: &str, b: &str) {
        self.count += 1;
        let name = format!("v{}", self.count);
        let field = self.rng.pick(&["next", "other"]);
        let global = self.rng.pick(&["g", "h"]);
        let callee = self.rng.index(self.callable);
        let text = &mut self.text;
        match self.rng.below(7) {
            0 | 1 => writeln!(text, "let {name} = new N();"),
            2 | 3 => writeln!(
                text,
                "let {name}_ = {a}.{field};\nlet {name} = {name}_ == null ? {b} : {name}_;"
            ),
            4 => writeln!(text, "let {name} = {global};"),
            5 => writeln!(text, "let {name} = d > 1 ? {a} : {b};"),
            _ => writeln!(
                text,
                "let {name} = d > 0 ? f{callee}({a}, {b}, d - 1) : {b};"
            ),
        }
        .unwrap();
        self.names.push(name);
    }
}

#[test]
fn no_set_of_passes_changes_the_races_of_a_random_heap() {
    let (first, count) = (
        setting("FINISHLINE_SEED", 1),
        setting("FINISHLINE_SEEDS", 2_500),
    );
    let (racy, spared) = (AtomicU64::new(0), AtomicU64::new(0));
    in_parallel(first..first + count, |seed| {
        let source = Generator::program(seed);
        let module = compile(&source);
        let run = Checked::new(&module, &[], Default::default());
        racy.fetch_add(u64::from(run.races()), Ordering::Relaxed);
        for (passes, _) in subsets().zip(seed..).filter(|(_, n)| n % 3 == 0) {
            let checks = run
                .without(passes)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{source}"));
            let some = !passes.contains(Pass::Sequential) && checks > 0;
            spared.fetch_add(u64::from(some), Ordering::Relaxed);
        }
    });
    if count >= 1000 {
        let (racy, spared) = (racy.into_inner(), spared.into_inner());
        assert!(racy > count / 5, "{racy} of {count} have races");
        assert!(
            spared > count / 5,
            "{spared} runs of {count} programs are spared checks"
        );
    }
}
