//! What can be seen of random affine programs without a front end: that a seed names one program, and that
//! each construct that a prover must understand occurs. That they run, and what is true of them, is tested where the prover is.

use finishline_generate::affine::{Settings, program};
use finishline_generate::render;
use finishline_generate::shape::{Expression, Range, ScopeKind, Statement};
use std::collections::HashSet;

#[test]
fn a_seed_names_one_program() {
    for beyond in [false, true] {
        let settings = Settings { beyond };
        let texts: HashSet<String> = (0..300)
            .map(|seed| render(&program(seed, &settings)))
            .collect();
        assert!(texts.len() > 290, "seeds give different programs");
        for seed in 0..300 {
            assert!(texts.contains(&render(&program(seed, &settings))));
        }
    }
}

/// Words for what a statement is.
fn words(statement: &Statement, found: &mut HashSet<String>) {
    let mut note = |word: &str| {
        found.insert(word.to_string());
    };
    match statement {
        Statement::Scope { kind, .. } => note(match kind {
            ScopeKind::Block => "block",
            ScopeKind::Async => "async",
            ScopeKind::Finish => "finish",
            ScopeKind::Isolated => "isolated",
        }),
        Statement::For {
            parallel,
            range: Range {
                inclusive, step, ..
            },
            ..
        } => {
            let word = if *parallel { "forall" } else { "for" };
            note(word);
            if *inclusive {
                note(&format!("{word} ..="));
            }
            if let Some(step) = step {
                note(&format!("{word} step {step:?}"));
            }
        }
        Statement::While { .. } => note("while"),
        Statement::If { otherwise, .. } => note(match otherwise {
            Some(_) => "else",
            None => "if",
        }),
        Statement::Break => note("break"),
        Statement::Continue => note("continue"),
        Statement::Return(value) => note(match value {
            Some(_) => "return a value",
            None => "return",
        }),
        Statement::Spawn { place, .. } => note(match place {
            Some(_) => "place = spawn",
            None => "spawn",
        }),
        Statement::Sync => note("sync"),
        Statement::BeginFinish => note("begin_finish"),
        Statement::Call(_) => note("call"),
        _ => {}
    }
    for expression in statement.expressions() {
        expression.any(&mut |part| {
            match part {
                Expression::Binary(op, _) => note(op.symbol()),
                Expression::Builtin(name, _) => note(name),
                Expression::Conditional(_) => note("? :"),
                Expression::Call(..) => note("call in an expression"),
                Expression::Element(array, indices) => {
                    note(&format!("{}-d element", indices.len()));
                    if matches!(**array, Expression::Element(..)) {
                        note("element of a row");
                    }
                }
                Expression::Field(..) => note("field"),
                _ => {}
            }
            false
        });
    }
}

#[test]
fn every_construct_occurs() {
    let mut found = HashSet::new();
    for seed in 0..1000 {
        for statement in program(seed, &Settings::default()).statements() {
            words(statement, &mut found);
        }
    }
    let steps = [2, 3, -1, -2, -3].map(|step| format!("for step {:?}", Expression::int(step)));
    let wanted = "async, finish, isolated, for, forall, for ..=, forall ..=, while, if, else, break, continue, \
                  return, return a value, spawn, place = spawn, sync, begin_finish, call, +, -, *, /, %, &, <<, \
                  >>, &&, ||, ==, !=, <, <=, >, >=, min, max, abs, ? :, call in an expression, 1-d element, \
                  2-d element, element of a row, field";
    for word in wanted.split(", ").map(str::to_string).chain(steps) {
        assert!(found.contains(&word), "no {word}");
    }
}
