//! Random affine programs without a front end. A seed names one program, and each construct that a
//! prover must understand occurs. The tests of the prover run the programs.

use finishline_generate::affine::{Settings, pipeline, program};
use finishline_generate::render;
use finishline_generate::shape::{Expression, Literal, Range, ScopeKind, Statement};
use std::collections::HashSet;

#[test]
fn a_seed_names_one_program() {
    for bits in 0..8 {
        let settings = Settings {
            beyond: bits & 1 != 0,
            wrapping: bits & 2 != 0,
            stops: bits & 4 != 0,
        };
        let texts: HashSet<String> = (0..300)
            .map(|seed| render(&program(seed, &settings)))
            .collect();
        assert!(texts.len() > 290, "seeds give different programs");
        for seed in 0..300 {
            assert!(texts.contains(&render(&program(seed, &settings))));
        }
    }
}

#[test]
fn a_seed_names_one_pipeline() {
    let texts: Vec<String> = (0..300).map(|seed| render(&pipeline(seed))).collect();
    for (seed, text) in texts.iter().enumerate() {
        assert_eq!(*text, render(&pipeline(seed as u64)));
    }
    let different: HashSet<&String> = texts.iter().collect();
    assert!(different.len() > 250, "{} are different", different.len());
    // Tasks of points and of rows, waits by names and under conditions, promises that are replaced.
    for word in [
        "forall",
        "for j in 0..n",
        "let p1 = done",
        "done[i + 3] = ",
        "isolated",
    ] {
        let count = texts.iter().filter(|text| text.contains(word)).count();
        assert!(count > 3, "{word} is in {count} programs");
    }
}

/// Words for the constructs of a statement.
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
            ScopeKind::Locked(_) => "locked",
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
        Statement::While { body, .. } if body.is_empty() => note("while for ever"),
        Statement::While { .. } => note("while"),
        Statement::Assert(..) => note("assert"),
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

#[test]
fn integers_wrap_around_and_tasks_stop_only_if_asked() {
    let settings = |wrapping, stops| Settings {
        wrapping,
        stops,
        ..Settings::default()
    };
    let found = |settings: Settings| {
        let (mut found, mut large) = (HashSet::new(), 0);
        for seed in 0..300 {
            for statement in program(seed, &settings).statements() {
                words(statement, &mut found);
                let is_large = |part: &Expression| {
                    matches!(part, Expression::Literal(Literal::Int(value))
                        if value.unsigned_abs() >= (1 << 31) - 2)
                };
                let expressions = statement.expressions().into_iter();
                large += expressions
                    .filter(|it| it.any(&mut |part| is_large(part)))
                    .count();
            }
        }
        (found, large)
    };
    let (tame, none) = found(settings(false, false));
    assert_eq!(none, 0);
    let (wild, many) = found(settings(true, false));
    assert!(many > 600, "{many}");
    let (stopping, none) = found(settings(false, true));
    assert!(stopping.contains("assert") && stopping.contains("while for ever"));
    // An index outside of an array.
    assert!(none > 0 && none < 100, "{none}");
    for word in ["assert", "while for ever", ">>>"] {
        assert!(!tame.contains(word), "{word}");
    }
    assert!(wild.contains(">>>") && !wild.contains("assert"));
}
