//! Every program of up to five statements over async, finish, isolated, and reads and writes of
//! one location, in a depth-first run and with tasks that take turns in other ways.
//!
//! Locations have nothing to do with each other, so one is enough.

use crate::interleaved::{Policy, recorded};
use crate::judge::judge;
use crate::words::{Open, Word, show};
use finishline_model::{AccessKind, FinishKind};

const STATEMENTS: usize = 5;

struct World {
    words: Vec<Word>,
    open: Vec<Open>,
    programs: u64,
}

impl World {
    /// Extends the current beginning of a program by all that `left` more statements allow.
    fn visit(&mut self, left: usize) {
        if self.open.is_empty() {
            self.check();
        } else {
            self.with(Word::Close, left);
        }
        if left == 0 {
            return;
        }
        for kind in [AccessKind::Read, AccessKind::Write] {
            self.with(Word::access(kind, 0), left - 1);
        }
        if self.open.last() != Some(&Open::Isolated) {
            for open in [
                Open::Async,
                Open::Finish(FinishKind::Lexical),
                Open::Isolated,
            ] {
                self.with(Word::Open(open), left - 1);
            }
        }
    }

    fn with(&mut self, word: Word, left: usize) {
        self.words.push(word);
        match word {
            Word::Open(open) => {
                self.open.push(open);
                self.visit(left);
                self.open.pop();
            }
            Word::Close => {
                let closed = self.open.pop().expect("something is open");
                self.visit(left);
                self.open.push(closed);
            }
            _ => self.visit(left),
        }
        self.words.pop();
    }

    fn check(&mut self) {
        self.programs += 1;
        // Without two blocks the order in which tasks run changes nothing.
        let blocks = |word: &&Word| **word == Word::Open(Open::Isolated);
        let policies: &[Policy] = match self.words.iter().filter(blocks).count() {
            0 | 1 => &[Policy::Newest],
            _ => &[Policy::Newest, Policy::Oldest, Policy::Random],
        };
        for &policy in policies {
            let records = recorded(&self.words, policy, self.programs);
            if let Err(disagreement) = judge(&records) {
                panic!("{disagreement}\nin: {}, {policy:?}", show(&self.words));
            }
        }
    }
}

#[test]
fn every_small_program_agrees_with_the_oracle() {
    let mut world = World {
        words: Vec::new(),
        open: Vec::new(),
        programs: 0,
    };
    world.visit(STATEMENTS);
    println!("{} programs", world.programs);
}
