//! Small programs whose isolated or locked blocks decide what happens next: for the exploration of
//! orders.
//!
//! What a block finds in shared variables decides what it writes, which other variable it touches,
//! which blocks its task runs later, which tasks it creates, and whether it fails. Some variables
//! are used outside of blocks as well, so some orders have races and others none.
//!
//! With locks, each variable belongs to a lock, and one to isolated blocks. Most accesses keep to
//! that. Locks are taken one inside the other in either order, and handed over.
//!
//! A program is a tree of lines. A smaller one is made by leaving out a line with what it contains
//! ([`OrderProgram::smaller`]).

use crate::rng::Rng;
use std::fmt::{self, Write};

/// A line, and the lines in its braces.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Line {
    text: String,
    body: Option<Vec<Line>>,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderProgram {
    main: Vec<Line>,
}

/// The variables that blocks use.
const GUARDED: [&str; 3] = ["a", "b", "c"];
/// Those that are used everywhere.
const PLAIN: [&str; 2] = ["x", "y"];

#[derive(Clone, Copy)]
struct Lock {
    name: &'static str,
    guards: &'static [&'static str],
}

/// The lock of `c` is also that of the elements of `D`.
const LOCKS: [Lock; 2] = [
    Lock {
        name: "l",
        guards: &["a", "b"],
    },
    Lock {
        name: "m",
        guards: &["c"],
    },
];

struct Generator {
    rng: Rng,
    blocks_left: u32,
    tasks_left: u32,
    promises: bool,
    /// Promises that may still be set.
    to_set: Vec<&'static str>,
    /// Whether there are locks, and what may be used under those that are held.
    locks: bool,
    allowed: Vec<&'static str>,
}

/// A program with at most this many isolated blocks in its text.
pub fn program(seed: u64, blocks: u32) -> OrderProgram {
    generate(Rng::new(seed), blocks, false)
}

/// A program with at most this many isolated or locked blocks in its text.
pub fn program_with_locks(seed: u64, blocks: u32) -> OrderProgram {
    generate(Rng::new(seed), blocks, true)
}

fn generate(mut rng: Rng, blocks: u32, locks: bool) -> OrderProgram {
    let promises = rng.percent(25);
    let mut generator = Generator {
        blocks_left: 2 + rng.below(blocks - 1),
        tasks_left: 1 + rng.below(3),
        to_set: match promises {
            true => vec!["p", "q"],
            false => Vec::new(),
        },
        promises,
        locks,
        allowed: GUARDED.to_vec(),
        rng,
    };
    let mut main = vec![Line::new("var t = 0;")];
    if locks {
        main.push(Line::new("let l = new lock(); let m = new lock();"));
    }
    if promises {
        main.push(Line::new(
            "let p = new promise<int>(); let q = new promise<int>();",
        ));
    }
    let body = generator.task(0);
    if generator.rng.percent(70) {
        main.push(Line::with("finish", body));
        main.extend(generator.ending());
    } else {
        main.extend(body);
    }
    OrderProgram { main }
}

impl Line {
    fn new(text: impl Into<String>) -> Line {
        Line {
            text: text.into(),
            body: None,
        }
    }

    fn with(text: impl Into<String>, body: Vec<Line>) -> Line {
        Line {
            text: text.into(),
            body: Some(body),
        }
    }
}

impl Generator {
    /// The statements of a task.
    fn task(&mut self, depth: u32) -> Vec<Line> {
        let count = 1 + self.rng.below(4);
        let mut lines = Vec::new();
        for _ in 0..count {
            lines.push(self.statement(depth));
        }
        if depth == 0 {
            while self.tasks_left > 0 {
                lines.push(self.creation(depth));
            }
            lines.push(self.block());
        }
        lines
    }

    fn statement(&mut self, depth: u32) -> Line {
        let constant = self.rng.below(3);
        match self.rng.below(20) {
            0..=7 if self.blocks_left > 0 => self.block(),
            8..=10 if self.tasks_left > 0 && depth < 3 => self.creation(depth),
            11 if depth < 3 => {
                let body = self.task(depth + 1);
                Line::with("finish", body)
            }
            12..=14 if depth < 3 => {
                let body = vec![self.statement(depth + 1)];
                Line::with(format!("if t == {constant}"), body)
            }
            15 => {
                let variable = self.rng.pick(&PLAIN);
                Line::new(format!("{variable} = {constant};"))
            }
            16 => {
                let variable = self.rng.pick(&PLAIN);
                Line::new(format!("t = {variable};"))
            }
            17 => Line::new(format!("assert(t != {});", constant + 1)),
            18 if self.promises => match self.to_set.pop() {
                Some(promise) => Line::new(format!("{promise}.set(t);")),
                None => {
                    let promise = self.rng.pick(&["p", "q"]);
                    Line::new(format!("t = {promise}.get();"))
                }
            },
            _ => Line::new("print(t);"),
        }
    }

    fn creation(&mut self, depth: u32) -> Line {
        self.tasks_left -= 1;
        let mut body = vec![Line::new("var t = now;")];
        body.extend(self.task(depth + 1));
        let tasks = if self.rng.percent(15) { 2 } else { 1 };
        let creation = vec![Line::new("let now = t;"), Line::with("async", body)];
        Line::with(format!("for k in 0..{tasks}"), creation)
    }

    /// An isolated or locked block.
    fn block(&mut self) -> Line {
        self.blocks_left = self.blocks_left.saturating_sub(1);
        if !self.locks {
            let body = self.some(&GUARDED);
            return Line::with("isolated", body);
        }
        let [one, other] = match self.rng.percent(50) {
            true => LOCKS,
            false => [LOCKS[1], LOCKS[0]],
        };
        let both = [one.guards, other.guards].concat();
        match self.rng.below(10) {
            0..=4 => {
                let mut body = self.some(one.guards);
                // A task may want the lock that its creator holds.
                if self.tasks_left > 0 && self.rng.percent(40) {
                    body.push(self.creation(2));
                    body.extend(self.some(one.guards));
                    body.push(Line::new(format!("{} = 3;", self.rng.pick(&PLAIN))));
                }
                Line::with(format!("locked ({})", one.name), body)
            }
            5 => Line::with("isolated", self.some(&["e"])),
            6 | 7 => {
                let mut body = self.some(one.guards);
                let inner = self.some(&both);
                body.push(Line::with(format!("locked ({})", other.name), inner));
                if self.rng.percent(30) {
                    body.extend(self.some(one.guards));
                }
                Line::with(format!("locked ({})", one.name), body)
            }
            8 => {
                let mut body = self.some(one.guards);
                body.push(Line::with("isolated", self.some(&["e"])));
                body.extend(self.some(one.guards));
                Line::with(format!("locked ({})", one.name), body)
            }
            _ => {
                let call = |word: &str, lock: Lock| Line::new(format!("{word}({});", lock.name));
                let mut body = vec![call("acquire", one)];
                body.extend(self.some(one.guards));
                body.push(call("acquire", other));
                body.extend(self.some(&both));
                body.push(call("release", one));
                body.extend(self.some(other.guards));
                body.push(call("release", other));
                Line::with("", body)
            }
        }
    }

    /// Some statements of a block that may use these variables.
    fn some(&mut self, allowed: &[&'static str]) -> Vec<Line> {
        self.allowed = allowed.to_vec();
        let count = 1 + self.rng.below(3);
        (0..count).map(|_| self.in_block(2)).collect()
    }

    fn variable(&mut self) -> &'static str {
        match self.locks && self.rng.percent(3) {
            true => self.rng.pick(&GUARDED),
            false => self.rng.pick(&self.allowed),
        }
    }

    fn in_block(&mut self, depth: u32) -> Line {
        let (one, other) = (self.variable(), self.variable());
        let constant = self.rng.below(3);
        match self.rng.below(16) {
            0..=2 => Line::new(format!("{one} = {constant};")),
            3 => Line::new(format!("{one} = {other};")),
            4 => Line::new(format!("{one} += {};", constant + 1)),
            5 | 6 => {
                let op = self.rng.pick(&["+", "^", "|", "-", "&"]);
                Line::new(format!("{one} {op}= {};", self.operand(other, constant)))
            }
            7 => Line::new(format!("{one} = {one} * 2 + {constant};")),
            8 | 9 => Line::new(format!("t = {one};")),
            10..=12 if depth > 0 => {
                let body = vec![self.in_block(depth - 1)];
                Line::with(format!("if {one} == {constant}"), body)
            }
            13 if !self.locks || self.rng.percent(30) => {
                let variable = self.rng.pick(&PLAIN);
                Line::new(format!("{variable} = {constant};"))
            }
            14 => Line::new(format!("assert({one} != {});", constant + 2)),
            15 if !self.to_set.is_empty() => {
                let promise = self.to_set.pop().expect("not empty");
                Line::new(format!("{promise}.set({one});"))
            }
            _ if !self.allowed.contains(&"c") => Line::new(format!("{one} = {constant};")),
            _ => {
                let op = self.rng.pick(&["", "", "+", "|"]);
                Line::new(format!("D[{one} & 1] {op}= {constant};"))
            }
        }
    }

    fn operand(&mut self, variable: &str, constant: u32) -> String {
        match self.rng.below(3) {
            0 => variable.to_owned(),
            1 => "t".to_owned(),
            _ => constant.to_string(),
        }
    }

    /// What `main` does after all tasks have ended.
    fn ending(&mut self) -> Vec<Line> {
        let mut lines = vec![Line::new("t = a + b * 10 + c * 100;")];
        if self.rng.percent(50) {
            lines.push(self.block());
        }
        if self.rng.percent(50) {
            lines.push(Line::new("print(t);"));
        }
        lines
    }
}

impl OrderProgram {
    /// The same without some line, for each line.
    pub fn smaller(&self) -> Vec<OrderProgram> {
        let mut smaller = Vec::new();
        without_one(&self.main, &mut |main| smaller.push(OrderProgram { main }));
        smaller
    }
}

/// Tells of the lines without one, at any depth, and with the body of one in its place.
fn without_one(lines: &[Line], tell: &mut dyn FnMut(Vec<Line>)) {
    for (number, line) in lines.iter().enumerate() {
        let with = |instead: Vec<Line>| {
            let mut changed = lines.to_vec();
            changed.splice(number..=number, instead);
            changed
        };
        tell(with(Vec::new()));
        if let Some(body) = &line.body {
            tell(with(body.clone()));
            without_one(body, &mut |body| {
                tell(with(vec![Line::with(line.text.clone(), body)]));
            });
        }
    }
}

impl fmt::Display for OrderProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for variable in GUARDED.iter().chain(&PLAIN).chain(&["e"]) {
            writeln!(f, "var {variable}: int;")?;
        }
        writeln!(f, "var D: int[];")?;
        writeln!(f, "fn main() {{")?;
        writeln!(f, "    D = new int[2];")?;
        write_lines(f, &self.main, 1)?;
        writeln!(f, "}}")
    }
}

fn write_lines(f: &mut impl Write, lines: &[Line], depth: usize) -> fmt::Result {
    let indent = "    ".repeat(depth);
    for line in lines {
        match &line.body {
            None => writeln!(f, "{indent}{}", line.text)?,
            Some(body) => {
                writeln!(f, "{indent}{} {{", line.text)?;
                write_lines(f, body, depth + 1)?;
                writeln!(f, "{indent}}}")?;
            }
        }
    }
    Ok(())
}
