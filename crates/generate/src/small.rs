//! Every program of n statements, up to renaming, over one of five vocabularies.
//!
//! | vocabulary | around statements | alone |
//! |---|---|---|
//! | plain | `async`, `finish`, `isolated` around accesses | reads and writes of two globals |
//! | wild | `async`, `finish`, `spawn` | accesses, writes under conditions, stops, `sync` |
//! | asking | `async`, `finish` | writes, isolated blocks that set a flag or fail without it |
//! | promises | `async`, `finish` | accesses of one global, sets and gets of two promises |
//! | locks | `async`, `finish`, `locked` with two locks | accesses of one global |
//!
//! Some conditions of the wild vocabulary wrap around. A *stop* fails or never ends if the
//! parameter of main is negative.
//!
//! A program is numbered by its place in one fixed order. So a range of numbers is a share of the
//! work, and one number repeats a failure. The counts follow from the grammar. Let F(n) be the
//! sequences of n statements and T(k) the statements of size k:
//!
//! - F(0) = 1, F(n) = Σₖ T(k) F(n − k)
//! - plain: T(k) = 2 F(k − 1) + 4ᵏ⁻¹, and 4 more for k = 1
//! - wild: T(k) = 3 F(k − 1), and 8 more for k = 1
//! - asking: T(k) = 2 F(k − 1), and 3 more for k = 1
//! - promises: T(k) = 2 F(k − 1), and 6 more for k = 1
//! - locks: T(k) = 4 F(k − 1), and 2 more for k = 1
//!
//! Cost: linear in n for a program, after a table of n numbers.

use crate::shape::{
    BinaryOp, Expression, Function, Global, Literal, Name, Program, ScopeKind, Statement, Type,
};

const VARIABLES: [Name; 2] = [Name::plain("x"), Name::plain("y")];
const LOCKS: [Name; 2] = [Name::plain("a"), Name::plain("b")];
const PROMISES: [Name; 2] = [Name::plain("p"), Name::plain("q")];
const PARAMETER: Name = Name::plain("n");
const ACCESSES: u64 = 4;

/// More statements would not fit into 64 bits.
pub const MOST_STATEMENTS: usize = 14;

/// Arguments that cover all outcomes of the conditions in wild programs.
pub const ARGUMENTS: [i64; 4] = [-1, 0, 2, i64::MAX];

/// The set of statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vocabulary {
    Plain,
    Wild,
    Asking,
    Promises,
    Locks,
}

impl Vocabulary {
    /// Statements around any others.
    const fn scopes(self) -> &'static [Scope] {
        match self {
            Vocabulary::Plain | Vocabulary::Asking | Vocabulary::Promises => &[
                Scope::Block(ScopeKind::Async),
                Scope::Block(ScopeKind::Finish),
            ],
            Vocabulary::Wild => &[
                Scope::Block(ScopeKind::Async),
                Scope::Block(ScopeKind::Finish),
                Scope::Spawn,
            ],
            Vocabulary::Locks => &[
                Scope::Block(ScopeKind::Async),
                Scope::Block(ScopeKind::Finish),
                Scope::Block(ScopeKind::Locked(LOCKS[0])),
                Scope::Block(ScopeKind::Locked(LOCKS[1])),
            ],
        }
    }

    /// The number of statements that contain no other.
    const fn leaves(self) -> u64 {
        match self {
            Vocabulary::Plain => ACCESSES,
            Vocabulary::Wild => 8,
            Vocabulary::Asking => 3,
            Vocabulary::Promises => 6,
            Vocabulary::Locks => 2,
        }
    }

    /// The number of isolated blocks with this number of accesses.
    const fn isolated(self, accesses: u32) -> u64 {
        match self {
            Vocabulary::Plain => ACCESSES.pow(accesses),
            _ => 0,
        }
    }
}

/// A statement that contains others.
#[derive(Clone, Copy)]
enum Scope {
    Block(ScopeKind),
    /// A spawned function of its own.
    Spawn,
}

/// All programs of exactly `statements` statements, at most [`MOST_STATEMENTS`].
#[derive(Clone, Debug)]
pub struct Small {
    vocabulary: Vocabulary,
    statements: usize,
    /// F(0) … F(n).
    sequences: Vec<u64>,
}

impl Small {
    /// The plain programs.
    pub fn new(statements: usize) -> Small {
        Small::over(Vocabulary::Plain, statements)
    }

    pub fn over(vocabulary: Vocabulary, statements: usize) -> Small {
        assert!(
            statements <= MOST_STATEMENTS,
            "counts of longer programs don't fit 64 bits"
        );
        let mut sequences = vec![1];
        for n in 1..=statements {
            let ways = (1..=n)
                .map(|k| single(vocabulary, &sequences, k) * sequences[n - k])
                .sum();
            sequences.push(ways);
        }
        Small {
            vocabulary,
            statements,
            sequences,
        }
    }

    /// The number of programs.
    pub fn count(&self) -> u64 {
        self.sequences[self.statements]
    }

    /// All programs, in order.
    pub fn programs(&self) -> impl Iterator<Item = Program> + '_ {
        (0..self.count()).map(|number| self.program(number))
    }

    /// The program with this number, which must be below [`Small::count`].
    pub fn program(&self, number: u64) -> Program {
        assert!(number < self.count(), "no such program");
        let mut builder = Builder {
            vocabulary: self.vocabulary,
            sequences: &self.sequences,
            accesses: 0,
            spawned: Vec::new(),
        };
        let mut body = builder.sequence(self.statements, number);
        if self.vocabulary == Vocabulary::Promises {
            body.splice(0..0, PROMISES.map(new_promise));
        }
        if self.vocabulary == Vocabulary::Locks {
            body.splice(0..0, LOCKS.map(new_lock));
        }
        let main = builder.function(Name::MAIN, body);
        let variables = match self.vocabulary {
            Vocabulary::Plain | Vocabulary::Asking => VARIABLES.iter(),
            Vocabulary::Wild | Vocabulary::Promises | Vocabulary::Locks => VARIABLES[..1].iter(),
        };
        let global = |name: &Name| Global {
            name: *name,
            ty: None,
            initial: Some(Literal::Int(0)),
            constant: false,
        };
        let mut functions = builder.spawned;
        functions.push(main);
        Program {
            structs: Vec::new(),
            globals: variables.map(global).collect(),
            functions,
        }
    }
}

/// The program with this number among all of a vocabulary, smaller ones first. None if it has more
/// than [`MOST_STATEMENTS`].
pub fn numbered(vocabulary: Vocabulary, mut number: u64) -> Option<Program> {
    for statements in 0..=MOST_STATEMENTS {
        let small = Small::over(vocabulary, statements);
        if number < small.count() {
            return Some(small.program(number));
        }
        number -= small.count();
    }
    None
}

/// `let p = new promise<int>();`
fn new_promise(name: Name) -> Statement {
    Statement::Let {
        name,
        ty: None,
        value: Expression::NewPromise(Type::Int),
    }
}

/// `let a = new lock();`
fn new_lock(name: Name) -> Statement {
    Statement::Let {
        name,
        ty: None,
        value: Expression::NewLock,
    }
}

/// T(k), from F(0) … F(k − 1).
fn single(vocabulary: Vocabulary, sequences: &[u64], k: usize) -> u64 {
    let leaves = if k == 1 { vocabulary.leaves() } else { 0 };
    let scopes = vocabulary.scopes().len() as u64 * sequences[k - 1];
    scopes + vocabulary.isolated(k as u32 - 1) + leaves
}

struct Builder<'a> {
    vocabulary: Vocabulary,
    sequences: &'a [u64],
    /// The number of accesses so far. Each stores its own number, or reads into its own name.
    accesses: u32,
    /// The functions that are spawned.
    spawned: Vec<Function>,
}

impl Builder<'_> {
    fn sequence(&mut self, mut left: usize, mut number: u64) -> Vec<Statement> {
        let mut out = Vec::new();
        while left > 0 {
            let mut size = 1;
            loop {
                let rest = self.sequences[left - size];
                let ways = single(self.vocabulary, self.sequences, size) * rest;
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
        for scope in self.vocabulary.scopes() {
            let ways = self.sequences[size - 1];
            if number < ways {
                let body = self.sequence(size - 1, number);
                return self.scope(*scope, body);
            }
            number -= ways;
        }
        let ways = self.vocabulary.isolated(size as u32 - 1);
        if number < ways {
            let mut body = Vec::new();
            for _ in 1..size {
                body.push(self.access(number % ACCESSES));
                number /= ACCESSES;
            }
            return Statement::scope(ScopeKind::Isolated, body);
        }
        match self.vocabulary {
            Vocabulary::Plain | Vocabulary::Locks => self.access(number - ways),
            Vocabulary::Wild => self.wild(number - ways),
            Vocabulary::Asking => self.asking(number - ways),
            Vocabulary::Promises => self.promises(number - ways),
        }
    }

    fn function(&self, name: Name, body: Vec<Statement>) -> Function {
        let parameters = match self.vocabulary {
            Vocabulary::Wild => vec![(PARAMETER, Type::Int)],
            _ => Vec::new(),
        };
        Function {
            name,
            parameters,
            result: None,
            body,
        }
    }

    fn scope(&mut self, scope: Scope, body: Vec<Statement>) -> Statement {
        match scope {
            Scope::Block(kind) => Statement::scope(kind, body),
            Scope::Spawn => {
                let name = Name::numbered("f", self.spawned.len() as u32 + 1);
                let function = self.function(name, body);
                self.spawned.push(function);
                Statement::Spawn {
                    place: None,
                    function: name,
                    arguments: vec![Expression::Name(PARAMETER)],
                }
            }
        }
    }

    /// A statement of the wild vocabulary that contains no other.
    fn wild(&mut self, number: u64) -> Statement {
        let n = || Expression::Name(PARAMETER);
        let is_less = |left, right| Expression::binary(BinaryOp::Less, left, right);
        let is_negative = || is_less(n(), Expression::int(0));
        let condition = match number {
            0 | 1 => return self.access(number),
            // Without wrapping it is negative only if n is. In 64 bits it is negative also if n is
            // 2.
            2 => {
                let shifted = Expression::binary(BinaryOp::ShiftLeft, n(), Expression::int(62));
                is_less(shifted, Expression::int(0))
            }
            // Without wrapping it is never less. In 64 bits it is less for one n.
            3 => {
                let next = Expression::binary(BinaryOp::Add, n(), Expression::int(1));
                is_less(next, n())
            }
            4 => is_negative(),
            5 => {
                let holds = Expression::binary(BinaryOp::GreaterEqual, n(), Expression::int(0));
                return Statement::Assert(holds, Vec::new());
            }
            6 => {
                return Statement::While {
                    condition: is_negative(),
                    body: Vec::new(),
                };
            }
            _ => return Statement::Sync,
        };
        Statement::If {
            condition,
            then: vec![self.access(1)],
            otherwise: None,
        }
    }

    /// A statement of the asking vocabulary that contains no other. The second variable is the
    /// flag.
    fn asking(&mut self, number: u64) -> Statement {
        let flag = || Expression::Name(VARIABLES[1]);
        let inside = match number {
            0 => return self.access(1),
            1 => Statement::Assign {
                place: flag(),
                op: None,
                value: Expression::int(1),
            },
            _ => {
                let is_set = Expression::binary(BinaryOp::Equal, flag(), Expression::int(1));
                Statement::Assert(is_set, Vec::new())
            }
        };
        Statement::scope(ScopeKind::Isolated, vec![inside])
    }

    /// A statement of the vocabulary of promises that contains no other.
    fn promises(&mut self, number: u64) -> Statement {
        if number < 2 {
            return self.access(number);
        }
        let promise = Box::new(Expression::Name(PROMISES[(number / 2 - 1) as usize]));
        Statement::Call(match number % 2 {
            0 => Expression::Method(promise, "set", vec![Expression::int(1)]),
            _ => Expression::Method(promise, "get", Vec::new()),
        })
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

    /// An independent count: writes programs as strings over the grammar and counts the distinct
    /// ones.
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
    fn counts_of_wild_programs_match_the_grammar() {
        let counts: Vec<u64> = (0..=4)
            .map(|n| Small::over(Vocabulary::Wild, n).count())
            .collect();
        // F(2) = 11 · 11 + 3 · 11, F(3) = 11 · 154 + 33 · 11 + 3 · 154, …
        assert_eq!(counts, [1, 11, 154, 2519, 45_430]);
        let all: HashSet<String> = (0..2685)
            .map(|number| render(&numbered(Vocabulary::Wild, number).unwrap()))
            .collect();
        assert_eq!(all.len(), 1 + 11 + 154 + 2519);
    }

    #[test]
    fn counts_of_asking_programs_match_the_grammar() {
        let counts: Vec<u64> = (0..=4)
            .map(|n| Small::over(Vocabulary::Asking, n).count())
            .collect();
        // F(2) = 5 · 5 + 2 · 5, F(3) = 5 · 35 + 10 · 5 + 2 · 35, …
        assert_eq!(counts, [1, 5, 35, 295, 2765]);
        let all: HashSet<String> = (0..336)
            .map(|number| render(&numbered(Vocabulary::Asking, number).unwrap()))
            .collect();
        assert_eq!(all.len(), 336);
    }

    #[test]
    fn counts_of_programs_with_promises_match_the_grammar() {
        let counts: Vec<u64> = (0..=4)
            .map(|n| Small::over(Vocabulary::Promises, n).count())
            .collect();
        // F(2) = 8 · 8 + 2 · 8, F(3) = 8 · 80 + 16 · 8 + 2 · 80, …
        assert_eq!(counts, [1, 8, 80, 928, 11_840]);
        let all: HashSet<String> = (0..1017)
            .map(|number| render(&numbered(Vocabulary::Promises, number).unwrap()))
            .collect();
        assert_eq!(all.len(), 1017);
    }

    #[test]
    fn counts_of_programs_with_locks_match_the_grammar() {
        let counts: Vec<u64> = (0..=4)
            .map(|n| Small::over(Vocabulary::Locks, n).count())
            .collect();
        // F(2) = 6 · 6 + 4 · 6, F(3) = 6 · 60 + 24 · 6 + 4 · 60, …
        assert_eq!(counts, [1, 6, 60, 744, 10_320]);
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
        for vocabulary in [Vocabulary::Plain, Vocabulary::Wild] {
            let small = Small::over(vocabulary, MOST_STATEMENTS);
            let last = small.program(small.count() - 1);
            assert_eq!(last.statements().len(), MOST_STATEMENTS);
        }
    }
}
