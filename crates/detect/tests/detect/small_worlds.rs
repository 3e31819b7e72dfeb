//! Every program of up to six statements over async, finish, isolated, and reads and writes of two
//! locations.
//!
//! Programs that differ only by exchanging the two locations are run once: the first access of each
//! is to `a`.

use crate::common::{Comparison, Open, Word, show};
use finishline_model::{AccessKind, FinishKind};

const STATEMENTS: usize = 6;
const LOCATIONS: u64 = 2;

struct World {
    comparison: Comparison,
    words: Vec<Word>,
    open: Vec<Open>,
    programs: u64,
    /// Those run stand for this many, counting the exchanged ones.
    represented: u64,
}

impl World {
    /// Extends the current beginning of a program by all that `left` more statements allow.
    fn visit(&mut self, left: usize, b_allowed: bool) {
        if self.open.is_empty() {
            self.check(b_allowed);
        } else {
            self.with(Word::Close, left, b_allowed);
        }
        if left == 0 {
            return;
        }
        for location in 0..=u64::from(b_allowed) {
            for kind in [AccessKind::Read, AccessKind::Write] {
                self.with(Word::access(kind, location), left - 1, true);
            }
        }
        if self.open.last() != Some(&Open::Isolated) {
            for open in [
                Open::Async,
                Open::Finish(FinishKind::Lexical),
                Open::Isolated,
            ] {
                self.with(Word::Open(open), left - 1, b_allowed);
            }
        }
    }

    fn with(&mut self, word: Word, left: usize, b_allowed: bool) {
        self.words.push(word);
        match word {
            Word::Open(open) => {
                self.open.push(open);
                self.visit(left, b_allowed);
                self.open.pop();
            }
            Word::Close => {
                let closed = self.open.pop().expect("something is open");
                self.visit(left, b_allowed);
                self.open.push(closed);
            }
            _ => self.visit(left, b_allowed),
        }
        self.words.pop();
    }

    fn check(&mut self, has_access: bool) {
        self.programs += 1;
        self.represented += 1 + u64::from(has_access);
        if let Err(disagreement) = self.comparison.run(&self.words) {
            panic!("{disagreement}\nin: {}", show(&self.words));
        }
    }
}

/// The number of programs of at most `STATEMENTS` statements, from the grammar: with `free[n]` the
/// number of statement lists of size n and 4ⁿ lists inside isolated blocks, a list is empty or a
/// statement and a list.
fn programs_by_the_grammar() -> u64 {
    let mut free = vec![1u64];
    for size in 1..=STATEMENTS {
        let mut lists = 4 * free[size - 1];
        for body in 0..size {
            lists += (2 * free[body] + 4u64.pow(body as u32)) * free[size - 1 - body];
        }
        free.push(lists);
    }
    free.iter().sum()
}

#[test]
fn every_small_program_agrees_with_the_oracle() {
    let mut world = World {
        comparison: Comparison::new(LOCATIONS),
        words: Vec::new(),
        open: Vec::new(),
        programs: 0,
        represented: 0,
    };
    world.visit(STATEMENTS, false);
    assert_eq!(world.represented, programs_by_the_grammar());
    println!(
        "{} programs stand for {}",
        world.programs, world.represented
    );
}
