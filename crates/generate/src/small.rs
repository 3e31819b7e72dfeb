//! Every program of n statements, up to renaming: sequences over `async`, `finish`, `isolated` and the reads and
//! writes of two global variables, where an isolated block contains only reads and writes.
//!
//! A program is numbered by its place in one fixed order, so that a range of numbers is a share of the work
//! and a number is enough to repeat a failure. The counts follow from the grammar: F(n) sequences of n
//! statements in all, T(k) statements of size k,
//!
//! - F(0) = 1, F(n) = Σₖ T(k) F(n − k)
//! - T(k) = 2 F(k − 1) + 4ᵏ⁻¹, for `async`, `finish` and `isolated` around what is left; T(1) has the four
//!   accesses besides.
//!
//! Cost: linear in n a program, after a table of n numbers.

use crate::shape::{Expression, Function, Global, Literal, Name, Program, ScopeKind, Statement};

const VARIABLES: [Name; 2] = [Name::plain("x"), Name::plain("y")];
const ACCESSES: u64 = 4;

/// More would not fit 64 bits.
pub const MOST_STATEMENTS: usize = 16;

/// All programs of exactly `statements` statements, which is at most [`MOST_STATEMENTS`].
#[derive(Clone, Debug)]
pub struct Small {
    statements: usize,
    /// F(0) … F(n).
    sequences: Vec<u64>,
}

impl Small {
    pub fn new(statements: usize) -> Small {
        assert!(
            statements <= MOST_STATEMENTS,
            "counts of longer programs don't fit 64 bits"
        );
        let mut sequences = vec![1];
        for n in 1..=statements {
            let ways = (1..=n)
                .map(|k| single(&sequences, k) * sequences[n - k])
                .sum();
            sequences.push(ways);
        }
        Small {
            statements,
            sequences,
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.sequences[self.statements]
    }

    /// All of them, in order.
    pub fn programs(&self) -> impl Iterator<Item = Program> + '_ {
        (0..self.count()).map(|number| self.program(number))
    }

    /// The program with this number, which is below [`Small::count`].
    pub fn program(&self, number: u64) -> Program {
        assert!(number < self.count(), "no such program");
        let mut builder = Builder {
            sequences: &self.sequences,
            accesses: 0,
        };
        let body = builder.sequence(self.statements, number);
        Program {
            structs: Vec::new(),
            globals: VARIABLES
                .map(|name| Global {
                    name,
                    ty: None,
                    initial: Some(Literal::Int(0)),
                    constant: false,
                })
                .into(),
            functions: vec![Function {
                name: Name::MAIN,
                parameters: Vec::new(),
                result: None,
                body,
            }],
        }
    }
}

/// T(k), from F(0) … F(k − 1).
fn single(sequences: &[u64], k: usize) -> u64 {
    let accesses = if k == 1 { ACCESSES } else { 0 };
    2 * sequences[k - 1] + ACCESSES.pow(k as u32 - 1) + accesses
}

struct Builder<'a> {
    sequences: &'a [u64],
    /// Accesses so far; each stores its own number, or into its own name.
    accesses: u32,
}

impl Builder<'_> {
    fn sequence(&mut self, mut left: usize, mut number: u64) -> Vec<Statement> {
        let mut out = Vec::new();
        while left > 0 {
            let mut size = 1;
            loop {
                let rest = self.sequences[left - size];
                let ways = single(self.sequences, size) * rest;
                if number < ways {
                    out.push(self.statement(size, number / rest));
                    number %= rest;
                    left -= size;
                    break;
                }
                number -= ways;
                size += 1;
            }
        }
        out
    }

    fn statement(&mut self, size: usize, mut number: u64) -> Statement {
        for kind in [ScopeKind::Async, ScopeKind::Finish] {
            let ways = self.sequences[size - 1];
            if number < ways {
                return Statement::scope(kind, self.sequence(size - 1, number));
            }
            number -= ways;
        }
        let ways = ACCESSES.pow(size as u32 - 1);
        if number < ways {
            let mut body = Vec::new();
            for _ in 1..size {
                body.push(self.access(number % ACCESSES));
                number /= ACCESSES;
            }
            return Statement::scope(ScopeKind::Isolated, body);
        }
        self.access(number - ways)
    }

    fn access(&mut self, number: u64) -> Statement {
        self.accesses += 1;
        let variable = Expression::Name(VARIABLES[number as usize / 2]);
        if number.is_multiple_of(2) {
            Statement::Let {
                name: Name::numbered("r", self.accesses),
                ty: None,
                value: variable,
            }
        } else {
            Statement::Assign {
                place: variable,
                op: None,
                value: Expression::int(i64::from(self.accesses)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render;
    use std::collections::HashSet;

    /// An independent count: writes programs as strings over the grammar and counts distinct ones.
    fn by_hand(n: usize) -> HashSet<String> {
        if n == 0 {
            return HashSet::from([String::new()]);
        }
        let mut all = HashSet::new();
        for first in 1..=n {
            let mut statements: Vec<String> = Vec::new();
            for inner in by_hand(first - 1) {
                statements.push(format!("a({inner})"));
                statements.push(format!("f({inner})"));
                if !inner.contains('(') {
                    statements.push(format!("i({inner})"));
                }
            }
            if first == 1 {
                statements.extend(["rx", "wx", "ry", "wy"].map(String::from));
            }
            for rest in by_hand(n - first) {
                all.extend(statements.iter().map(|s| format!("{s}{rest}")));
            }
        }
        all
    }

    #[test]
    fn counts_match_the_grammar() {
        for n in 0..=4 {
            assert_eq!(
                Small::new(n).count(),
                by_hand(n).len() as u64,
                "{n} statements"
            );
        }
        let counts: Vec<u64> = (0..=6).map(|n| Small::new(n).count()).collect();
        assert_eq!(counts, [1, 7, 67, 745, 9025, 115_819, 1_549_855]);
    }

    #[test]
    fn numbers_name_different_programs_of_the_right_size() {
        for n in 0..=4 {
            let small = Small::new(n);
            let mut seen = HashSet::new();
            for program in small.programs() {
                assert_eq!(program.statements().len(), n);
                assert!(seen.insert(render(&program)), "twice: {}", render(&program));
            }
        }
    }

    #[test]
    fn isolated_blocks_contain_accesses_only() {
        for program in Small::new(4).programs() {
            for statement in program.statements() {
                if let Statement::Scope {
                    kind: ScopeKind::Isolated,
                    body,
                    ..
                } = statement
                {
                    assert!(body.iter().all(|s| s.bodies().is_empty()));
                }
            }
        }
    }

    #[test]
    fn the_longest_are_still_countable() {
        let small = Small::new(MOST_STATEMENTS);
        assert_eq!(
            small.program(small.count() - 1).statements().len(),
            MOST_STATEMENTS
        );
    }
}
