//! Random programs without a front end. A seed names one program, every construct occurs, settings
//! are obeyed, and the static rules about tasks hold.
//!
//! The tests of `engine` compile and run the programs. They check that programs end within their
//! limits, and are free of races where they should be.

use finishline_generate::random::{Constructs, Ownership, Settings, program};
use finishline_generate::render;
use finishline_generate::shape::{
    Argument, BinaryOp, Expression, Function, Name, Program, ScopeKind, Statement, Type, UnaryOp,
};
use std::collections::{HashMap, HashSet};

fn some_settings() -> Vec<Settings> {
    let with = |data_dependent, traps, ownership| Settings {
        data_dependent,
        traps,
        ownership,
        ..Settings::default()
    };
    vec![
        Settings::default(),
        Settings::spawn_sync(),
        Settings::async_finish(),
        Settings::tiny(),
        with(true, false, Ownership::Kept),
        with(true, true, Ownership::Ignored),
    ]
}

fn programs(settings: &Settings, count: u64) -> impl Iterator<Item = Program> + '_ {
    (0..count).map(move |seed| program(seed, settings))
}

#[test]
fn a_seed_names_one_program() {
    for settings in some_settings() {
        let mut texts = HashSet::new();
        for seed in 0..300 {
            let text = render(&program(seed, &settings));
            assert_eq!(text, render(&program(seed, &settings)));
            texts.insert(text);
        }
        assert!(texts.len() > 290, "seeds give different programs");
    }
}

/// A word for each construct that a statement or its expressions use.
fn constructs(statement: &Statement, found: &mut HashSet<String>) {
    let word = match statement {
        Statement::Let { .. } => "let",
        Statement::Var { value: None, .. } => "var without a value",
        Statement::Var { .. } => "var",
        Statement::Assign { op: Some(op), .. } => {
            found.insert(format!("{}=", op.symbol()));
            "compound assignment"
        }
        Statement::Assign { .. } => "assignment",
        Statement::Call(_) => "call",
        Statement::Scope { kind, bare, body } => {
            let single = *bare && body.len() == 1;
            found.insert(format!(
                "{kind:?}{}",
                if single { " of one statement" } else { "" }
            ));
            "scope"
        }
        Statement::If {
            otherwise: None, ..
        } => "if",
        Statement::If {
            otherwise: Some(body),
            ..
        } => match body.as_slice() {
            [Statement::If { .. }] => "else if",
            _ => "else",
        },
        Statement::While { .. } => "while",
        Statement::For {
            parallel, range, ..
        } => {
            let word = if *parallel { "forall" } else { "for" };
            found.insert(word.to_string());
            if range.inclusive {
                found.insert(format!("{word} ..="));
            }
            if let Some(Expression::Literal(_)) = range.step {
                found.insert(format!("{word} step"));
            }
            "loop"
        }
        Statement::Break => "break",
        Statement::Continue => "continue",
        Statement::Return(None) => "return",
        Statement::Return(Some(_)) => "return a value",
        Statement::Print(_) => "print",
        Statement::Assert(_, message) if message.is_empty() => "assert",
        Statement::Assert(..) => "assert with a message",
        Statement::BeginFinish => "begin_finish",
        Statement::EndFinish => "end_finish",
        Statement::Sync => "sync",
        Statement::Spawn { place: None, .. } => "spawn",
        Statement::Spawn { place: Some(_), .. } => "place = spawn",
    };
    found.insert(word.to_string());
    if let Statement::Print(arguments) = statement
        && arguments.iter().any(|a| matches!(a, Argument::Text(_)))
    {
        found.insert("text".to_string());
    }
    for expression in statement.expressions() {
        expression.any(&mut |e| {
            found.insert(match e {
                Expression::Literal(_) => "literal".to_string(),
                Expression::Name(_) => "name".to_string(),
                Expression::Unary(op, _) => format!("{op:?}"),
                Expression::Binary(op, _) => op.symbol().to_string(),
                Expression::Conditional(_) => "? :".to_string(),
                Expression::Convert(ty, _) => format!("to {ty:?}"),
                Expression::Builtin(name, arguments) => format!("{name}/{}", arguments.len()),
                Expression::Call(..) => "call in an expression".to_string(),
                Expression::Element(_, indices) => format!("{}-d element", indices.len()),
                Expression::Field(..) => "field".to_string(),
                Expression::NewStruct(_) => "new struct".to_string(),
                Expression::NewArray(Type::Array(..) | Type::Struct(_), _) => {
                    "new array of references".to_string()
                }
                Expression::NewArray(..) => "new array".to_string(),
                Expression::NewLock => "new lock".to_string(),
                Expression::NewPromise(_) => "new promise".to_string(),
                Expression::Future(_) => "future".to_string(),
                Expression::Method(_, name, _) => format!(".{name}"),
            });
            false
        });
    }
}

#[test]
fn every_construct_occurs() {
    let mut found = HashSet::new();
    let with_promises = Settings::promises(0);
    let promises = programs(&with_promises, 300);
    let with_locks = Settings::locks(0);
    let locks = programs(&with_locks, 300);
    for program in programs(&Settings::default(), 3000)
        .chain(promises)
        .chain(locks)
    {
        for statement in program.statements() {
            constructs(statement, &mut found);
        }
    }
    let words = "let|var|var without a value|assignment|call|call in an expression|Block|Async|Finish|Isolated|\
        Async of one statement|Finish of one statement|Isolated of one statement|if|else|else if|while|for|for ..=|\
        for step|forall|forall ..=|forall step|break|continue|return|return a value|print|text|assert|\
        assert with a message|begin_finish|end_finish|sync|spawn|place = spawn|? :|to Int|to Float|to Byte|len/1|\
        len/2|sqrt/1|sin/1|cos/1|tan/1|asin/1|acos/1|atan/1|exp/1|log/1|floor/1|ceil/1|pow/2|atan2/2|abs/1|min/2|\
        max/2|1-d element|2-d element|3-d element|field|new struct|new array|new array of references|\
        new promise|future|.set|.get|new lock|acquire/1|release/1";
    for word in words.split('|') {
        assert!(found.contains(word), "never: {word}");
    }
    use BinaryOp::*;
    for op in [
        OrElse,
        AndAlso,
        Equal,
        NotEqual,
        Less,
        LessEqual,
        Greater,
        GreaterEqual,
    ] {
        assert!(found.contains(op.symbol()), "never: {op:?}");
    }
    for op in [
        Or,
        Xor,
        And,
        ShiftLeft,
        ShiftRight,
        ShiftRightLogical,
        Add,
        Subtract,
        Multiply,
        Divide,
        Remainder,
    ] {
        assert!(found.contains(op.symbol()), "never: {op:?}");
        assert!(
            found.contains(&format!("{}=", op.symbol())),
            "never: {op:?}="
        );
    }
    for op in [UnaryOp::Negate, UnaryOp::Not, UnaryOp::Complement] {
        assert!(found.contains(&format!("{op:?}")), "never: {op:?}");
    }
}

#[test]
fn settings_are_obeyed() {
    let none = Constructs {
        asyncs: false,
        finishes: false,
        foralls: false,
        isolated: false,
        dynamic_finishes: false,
        spawns: false,
    };
    let silent = |constructs| Settings {
        constructs,
        output: false,
        ..Settings::default()
    };
    let parallel = [
        "Async",
        "Finish",
        "forall",
        "Isolated",
        "begin_finish",
        "end_finish",
        "spawn",
        "place = spawn",
        "sync",
    ];
    let only: [(Constructs, &[&str]); 7] = [
        (none, &[]),
        (
            Constructs {
                asyncs: true,
                ..none
            },
            &["Async"],
        ),
        (
            Constructs {
                finishes: true,
                ..none
            },
            &["Finish"],
        ),
        (
            Constructs {
                foralls: true,
                ..none
            },
            &["forall"],
        ),
        (
            Constructs {
                isolated: true,
                ..none
            },
            &["Isolated"],
        ),
        (
            Constructs {
                dynamic_finishes: true,
                ..none
            },
            &["begin_finish", "end_finish"],
        ),
        (
            Constructs {
                spawns: true,
                ..none
            },
            &["spawn", "place = spawn", "sync"],
        ),
    ];
    for (allowed, words) in only {
        let mut found = HashSet::new();
        for program in programs(&silent(allowed), 500) {
            for statement in program.statements() {
                constructs(statement, &mut found);
            }
        }
        for word in parallel {
            assert_eq!(
                found.contains(word),
                words.contains(&word),
                "{word} with {allowed:?}"
            );
        }
        assert!(!found.contains("print"));
    }
}

fn is_parallel(statement: &Statement) -> bool {
    match statement {
        Statement::Scope { kind, .. } => *kind != ScopeKind::Block,
        Statement::For { parallel, .. } => *parallel,
        Statement::BeginFinish
        | Statement::EndFinish
        | Statement::Sync
        | Statement::Spawn { .. } => true,
        _ => false,
    }
}

fn any_inside(body: &[Statement], property: &dyn Fn(&Statement) -> bool) -> bool {
    body.iter().any(|s| {
        property(s)
            || s.bodies()
                .into_iter()
                .any(|inner| any_inside(inner, property))
    })
}

/// The functions that contain a parallel statement, or call one that does.
fn not_plain(program: &Program) -> HashSet<Name> {
    let mut found = HashSet::new();
    loop {
        let before = found.len();
        for function in &program.functions {
            let calls = |s: &Statement| found.iter().any(|&name| s.mentions(name));
            if any_inside(&function.body, &|s| is_parallel(s) || calls(s)) {
                found.insert(function.name);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

#[test]
fn isolated_blocks_are_plain() {
    for settings in some_settings() {
        for program in programs(&settings, 500) {
            let forbidden = not_plain(&program);
            for statement in program.statements() {
                if let Statement::Scope {
                    kind: ScopeKind::Isolated,
                    body,
                    ..
                } = statement
                {
                    let calls = |s: &Statement| forbidden.iter().any(|&name| s.mentions(name));
                    let bad = any_inside(body, &|s| is_parallel(s) || calls(s));
                    assert!(!bad, "{}", render(&program));
                }
            }
        }
    }
}

/// The surroundings of a statement, for the rules about leaving a body.
#[derive(Clone, Copy)]
struct Position {
    in_loop: bool,
    may_return: bool,
}

fn leaves_properly(body: &[Statement], at: Position) -> bool {
    body.iter().all(|statement| {
        let inside = match statement {
            Statement::Break | Statement::Continue => return at.in_loop,
            Statement::Return(_) => return at.may_return,
            Statement::While { .. }
            | Statement::For {
                parallel: false, ..
            } => Position {
                in_loop: true,
                ..at
            },
            Statement::For { parallel: true, .. }
            | Statement::Scope {
                kind: ScopeKind::Async | ScopeKind::Finish,
                ..
            } => Position {
                in_loop: false,
                may_return: false,
            },
            _ => at,
        };
        statement
            .bodies()
            .into_iter()
            .all(|inner| leaves_properly(inner, inside))
    })
}

#[test]
fn nothing_leaves_a_task_or_a_finish() {
    let start = Position {
        in_loop: false,
        may_return: true,
    };
    for settings in some_settings() {
        for program in programs(&settings, 500) {
            for function in &program.functions {
                assert!(
                    leaves_properly(&function.body, start),
                    "{}",
                    render(&program)
                );
            }
        }
    }
}

/// Checks every use of a local in a body. `outer` gives for each `var` the task that declared it.
fn check_captures(
    body: &[Statement],
    task: u32,
    next: &mut u32,
    outer: &HashMap<Name, Option<u32>>,
) -> bool {
    let mut names = outer.clone();
    body.iter().all(|statement| {
        let usable = |e: &Expression| {
            !e.any(&mut |e| match e {
                Expression::Name(name) => names
                    .get(name)
                    .is_some_and(|v| v.is_some_and(|t| t != task)),
                _ => false,
            })
        };
        let good = statement.expressions().into_iter().all(usable);
        let mut inner = names.clone();
        let mut inner_task = task;
        match statement {
            Statement::Let { name, .. } => drop(names.insert(*name, None)),
            Statement::Var { name, .. } => drop(names.insert(*name, Some(task))),
            Statement::For { counter, .. } => drop(inner.insert(*counter, None)),
            _ => {}
        }
        let creates = match statement {
            Statement::For { parallel, .. } => *parallel,
            Statement::Scope { kind, .. } => *kind == ScopeKind::Async,
            _ => false,
        };
        if creates {
            *next += 1;
            inner_task = *next;
        }
        let bodies = statement.bodies();
        good && bodies
            .into_iter()
            .all(|body| check_captures(body, inner_task, next, &inner))
    })
}

#[test]
fn tasks_use_no_variable_of_their_creator() {
    for settings in some_settings() {
        for program in programs(&settings, 500) {
            for function in &program.functions {
                let parameters = function
                    .parameters
                    .iter()
                    .map(|(name, _)| (*name, None))
                    .collect();
                assert!(
                    check_captures(&function.body, 0, &mut 0, &parameters),
                    "{}",
                    render(&program)
                );
            }
        }
    }
}

/// The names in a function whose values may come from shared memory. Names declared twice count as
/// one.
fn unsteady_names(program: &Program, function: &Function) -> HashSet<Name> {
    let globals = program
        .globals
        .iter()
        .filter(|g| !g.constant)
        .map(|g| g.name);
    let mut unsteady: HashSet<Name> = globals.collect();
    loop {
        let before = unsteady.len();
        let mut pending = vec![&function.body];
        while let Some(body) = pending.pop() {
            for statement in body {
                let target = match statement {
                    Statement::Let { name, value, .. } => Some((*name, value)),
                    Statement::Var {
                        name,
                        value: Some(value),
                        ..
                    } => Some((*name, value)),
                    Statement::Assign {
                        place: Expression::Name(name),
                        value,
                        ..
                    } => Some((*name, value)),
                    _ => None,
                };
                if let Some((name, value)) = target
                    && !is_steady(value, &unsteady)
                {
                    unsteady.insert(name);
                }
                pending.extend(statement.bodies());
            }
        }
        if unsteady.len() == before {
            return unsteady;
        }
    }
}

fn is_steady(expression: &Expression, unsteady: &HashSet<Name>) -> bool {
    !expression.any(&mut |e| match e {
        Expression::Element(..) | Expression::Field(..) | Expression::Call(..) => true,
        Expression::Name(name) => unsteady.contains(name),
        _ => false,
    })
}

/// Conditions, ranges, indices, and left operands that decide whether right ones are evaluated.
fn steers(statement: &Statement, steady: &dyn Fn(&Expression) -> bool) -> bool {
    let control = match statement {
        Statement::If { condition, .. } | Statement::While { condition, .. } => steady(condition),
        Statement::For { range, .. } => {
            steady(&range.start) && steady(&range.end) && range.step.as_ref().is_none_or(steady)
        }
        _ => true,
    };
    let inside = statement.expressions().into_iter().all(|e| {
        !e.any(&mut |e| match e {
            Expression::Element(_, indices) => !indices.iter().all(steady),
            Expression::Binary(BinaryOp::AndAlso | BinaryOp::OrElse, both) => !steady(&both.0),
            Expression::Conditional(parts) => !steady(&parts.0),
            _ => false,
        })
    });
    control && inside
}

#[test]
fn steady_control_reads_no_shared_data() {
    for settings in [
        Settings::default(),
        Settings::spawn_sync(),
        Settings::tiny(),
    ] {
        let mut hidden = 0;
        for program in programs(&settings, 500) {
            for function in &program.functions {
                if declares_twice(function) {
                    hidden += 1;
                    continue;
                }
                let unsteady = unsteady_names(&program, function);
                let steady = |e: &Expression| is_steady(e, &unsteady);
                let bad = any_inside(&function.body, &|s| !steers(s, &steady));
                assert!(!bad, "{} in\n{}", function.name, render(&program));
            }
        }
        assert!(hidden < 500, "most functions are looked at");
    }
}

fn declares_twice(function: &Function) -> bool {
    let mut seen = HashSet::new();
    let mut pending = vec![&function.body];
    while let Some(body) = pending.pop() {
        for statement in body {
            if let Statement::Let { name, .. } | Statement::Var { name, .. } = statement
                && !seen.insert(*name)
            {
                return true;
            }
            pending.extend(statement.bodies());
        }
    }
    function
        .parameters
        .iter()
        .any(|(name, _)| seen.contains(name))
}
