//! Each construct inside and after each other, with the errors that the front end must report.
//!
//! A case is a whole source. Its construct accesses the shared variable `x` before and after the
//! other construct, and `y` inside that one. So every combination has accesses on all sides. Some
//! rules need more than a pair: an isolated block that calls a function with a parallel statement,
//! leaving a body by `break`, `continue` or `return`, and a task that uses a variable of its
//! creator.
//!
//! The expectation is static. Some accepted cases fail when they run: those that leave a
//! `begin_finish` open by `break`, `continue` or `return`, and those with a `sync` between
//! `begin_finish` and `end_finish`.

use std::fmt::Write;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// `inner inside outer`, `inner after outer`.
    pub name: String,
    pub source: String,
    pub expectation: Expectation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expectation {
    Accepted,
    Refused,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Construct {
    Async,
    Finish,
    Forall,
    Isolated,
    Locked,
    Acquire,
    DynamicFinish,
    Spawn,
    Sync,
    If,
    While,
    For,
    Call,
    Block,
}

impl Construct {
    pub const ALL: [Construct; 14] = [
        Construct::Async,
        Construct::Finish,
        Construct::Forall,
        Construct::Isolated,
        Construct::Locked,
        Construct::Acquire,
        Construct::DynamicFinish,
        Construct::Spawn,
        Construct::Sync,
        Construct::If,
        Construct::While,
        Construct::For,
        Construct::Call,
        Construct::Block,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Construct::Async => "async",
            Construct::Finish => "finish",
            Construct::Forall => "forall",
            Construct::Isolated => "isolated",
            Construct::Locked => "locked",
            Construct::Acquire => "acquire",
            Construct::DynamicFinish => "begin_finish",
            Construct::Spawn => "spawn",
            Construct::Sync => "sync",
            Construct::If => "if",
            Construct::While => "while",
            Construct::For => "for",
            Construct::Call => "call",
            Construct::Block => "block",
        }
    }

    /// Whether the construct is a parallel statement.
    pub const fn is_parallel(self) -> bool {
        matches!(
            self,
            Construct::Async
                | Construct::Finish
                | Construct::Forall
                | Construct::Isolated
                | Construct::Locked
                | Construct::Acquire
                | Construct::DynamicFinish
                | Construct::Spawn
                | Construct::Sync
        )
    }
}

/// A source under construction: the functions made so far, and a number for fresh names.
#[derive(Default)]
struct Source {
    functions: String,
    names: u32,
}

impl Source {
    /// The construct around a body. The body of a `sync` is the code between a spawn and the
    /// `sync`.
    fn around(&mut self, construct: Construct, body: &str) -> String {
        self.names += 1;
        let n = self.names;
        match construct {
            Construct::Async => format!("async {{ {body} }}"),
            Construct::Finish => format!("finish {{ {body} }}"),
            Construct::Forall => format!("forall i{n} in 0..2 {{ {body} }}"),
            Construct::Isolated => format!("isolated {{ {body} }}"),
            Construct::Locked => format!("locked (guard) {{ {body} }}"),
            Construct::Acquire => format!("acquire(guard); {body} release(guard);"),
            Construct::DynamicFinish => format!("begin_finish; {body} end_finish;"),
            Construct::Spawn => format!("spawn f{n}();{}", self.function(n, body)),
            Construct::Sync => {
                let spawned = self.function(n, "y += 1;");
                format!("spawn f{n}(); {body} sync;{spawned}")
            }
            Construct::If => format!("if yes {{ {body} }}"),
            Construct::While => {
                format!("var n{n} = 0; while n{n} < 2 {{ n{n} += 1; {body} }}")
            }
            Construct::For => format!("for i{n} in 0..2 {{ {body} }}"),
            Construct::Call => format!("f{n}();{}", self.function(n, body)),
            Construct::Block => format!("{{ {body} }}"),
        }
    }

    /// Declares a function. Returns an empty text, for the place where it is called.
    fn function(&mut self, number: u32, body: &str) -> &'static str {
        writeln!(self.functions, "fn f{number}() {{ {body} }}").expect("writing to a string");
        ""
    }

    fn case(self, name: String, main: &str, expectation: Expectation) -> Case {
        let uses_lock = main.contains("guard") || self.functions.contains("guard");
        let (declared, made) = match uses_lock {
            true => ("var guard: lock;\n", "guard = new lock(); "),
            false => ("", ""),
        };
        let source = format!(
            "var x: int;\nvar y: int;\nlet yes = true;\n{declared}{}fn main() {{ {made}{main} }}\n",
            self.functions
        );
        Case {
            name,
            source,
            expectation,
        }
    }
}

fn refused_if(refused: bool) -> Expectation {
    if refused {
        Expectation::Refused
    } else {
        Expectation::Accepted
    }
}

/// Every case.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for outer in Construct::ALL {
        for inner in Construct::ALL {
            cases.push(inside(outer, inner));
            cases.push(after(outer, inner));
        }
    }
    for inner in Construct::ALL {
        cases.extend([1, 2].map(|calls| called_in_isolated(inner, calls)));
    }
    for body in Construct::ALL {
        cases.extend(["break;", "continue;", "return;"].map(|leave| leaving(body, leave)));
        cases.extend(["var", "let"].map(|word| captured(body, word)));
    }
    cases
}

fn inside(outer: Construct, inner: Construct) -> Case {
    let mut source = Source::default();
    let within = source.around(inner, "y += 1;");
    let main = source.around(outer, &format!("x += 1; {within} x += 2;"));
    let refused = outer == Construct::Isolated && inner.is_parallel();
    source.case(
        format!("{} inside {}", inner.word(), outer.word()),
        &format!("{main} x += 3;"),
        refused_if(refused),
    )
}

fn after(outer: Construct, inner: Construct) -> Case {
    let mut source = Source::default();
    let first = source.around(outer, "x += 1;");
    let second = source.around(inner, "y += 1; x += 2;");
    source.case(
        format!("{} after {}", inner.word(), outer.word()),
        &format!("{first} x += 3; {second} x += 4;"),
        Expectation::Accepted,
    )
}

/// An isolated block that calls a function with the construct, directly or through another
/// function.
fn called_in_isolated(inner: Construct, calls: usize) -> Case {
    let mut source = Source::default();
    let mut body = source.around(inner, "y += 1;");
    for _ in 0..calls {
        body = source.around(Construct::Call, &body);
    }
    source.case(
        format!("{} behind {calls} calls inside isolated", inner.word()),
        &format!("isolated {{ {body} }}"),
        refused_if(inner.is_parallel()),
    )
}

/// A function with a loop, in it the construct, and in that a `break`, `continue` or `return`.
fn leaving(body: Construct, leave: &str) -> Case {
    let mut source = Source::default();
    let inner = source.around(body, &format!("if x < 9 {{ {leave} }}"));
    let looped = format!("for i in 0..3 {{ {inner} }}");
    // An inner loop is left itself, so nothing is crossed. A called or spawned function has no loop
    // around its body.
    let refused = match body {
        Construct::Async | Construct::Finish | Construct::Forall => true,
        Construct::Spawn | Construct::Call => leave != "return;",
        _ => false,
    };
    source.case(
        format!("{leave} inside {}", body.word()),
        &looped,
        refused_if(refused),
    )
}

/// The construct uses a name of its creator. Another task can't use a `var`, and another function
/// can't use any local.
fn captured(body: Construct, word: &str) -> Case {
    let mut source = Source::default();
    let inner = source.around(body, "y = local;");
    let refused = match body {
        Construct::Async | Construct::Forall => word == "var",
        Construct::Spawn | Construct::Call => true,
        _ => false,
    };
    source.case(
        format!("a {word} used inside {}", body.word()),
        &format!("{word} local = 1; {inner}"),
        refused_if(refused),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_ordered_pair_is_there_twice() {
        let cases = cases();
        let names: HashSet<&str> = cases.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names.len(), cases.len(), "names differ");
        for outer in Construct::ALL {
            for inner in Construct::ALL {
                for relation in ["inside", "after"] {
                    let name = format!("{} {relation} {}", inner.word(), outer.word());
                    assert!(names.contains(name.as_str()), "{name}");
                }
            }
        }
    }

    #[test]
    fn refusals_are_those_of_the_language() {
        let refused = cases()
            .into_iter()
            .filter(|c| c.expectation == Expectation::Refused)
            .count();
        // 9 parallel statements in isolated, and the same behind one and two calls. Three ways to
        // leave async, finish and forall, and two to leave a function's body. A var in async and
        // forall, and any local in two functions.
        assert_eq!(refused, 9 + 18 + 9 + 4 + 2 + 4);
    }
}
