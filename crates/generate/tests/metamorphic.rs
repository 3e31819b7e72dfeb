//! Changed programs without a front end. Each change is made, is the same for the same seed, and is
//! refused where it would not keep the answer. The tests of the prover check that answers are kept.

use finishline_generate::affine::{self, Settings};
use finishline_generate::metamorphic::Change;
use finishline_generate::rng::Rng;
use finishline_generate::shape::{
    Expression, Function, Name, Program, Range, ScopeKind, Statement,
};
use finishline_generate::{render, shape};

#[test]
fn every_change_is_made_and_repeatable() {
    let mut made = Change::ALL.map(|_| 0);
    for seed in 0..300 {
        let program = affine::program(seed, &Settings::of_seed(seed));
        for (change, made) in Change::ALL.iter().zip(&mut made) {
            let apply = || change.apply(&program, &mut Rng::new(seed));
            let (Some(one), Some(other)) = (apply(), apply()) else {
                continue;
            };
            assert_eq!(render(&one.program), render(&other.program));
            assert_ne!(render(&one.program), render(&program), "{change:?}");
            *made += 1;
        }
    }
    assert!(made.iter().all(|count| *count > 2), "{made:?}");
}

const X: Name = Name::plain("x");

fn write() -> Statement {
    Statement::Assign {
        place: Expression::Name(X),
        op: None,
        value: Expression::int(1),
    }
}

fn task() -> Statement {
    Statement::scope(ScopeKind::Async, vec![write()])
}

fn function(name: Name, body: Vec<Statement>) -> Function {
    Function {
        name,
        parameters: Vec::new(),
        result: None,
        body,
    }
}

fn program(functions: Vec<Function>) -> Program {
    Program {
        structs: Vec::new(),
        globals: vec![shape::Global {
            name: X,
            ty: Some(shape::Type::Int),
            initial: None,
            constant: false,
        }],
        functions,
    }
}

fn main_of(body: Vec<Statement>) -> Program {
    program(vec![function(Name::MAIN, body)])
}

/// The text of `main` after a change, without the line of the global.
fn changed(change: Change, program: &Program) -> Option<String> {
    let changed = change.apply(program, &mut Rng::new(0))?;
    let text = render(&changed.program);
    Some(text.replace("var x: int;\n", ""))
}

/// A text of these lines.
fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_async_of_main_is_spawned_but_not_one_that_outlives_its_function() {
    let spawned = "fn main() {\n    spawn task1();\n}\nfn task1() {\n    x = 1;\n}\n";
    let of_main = main_of(vec![task()]);
    assert_eq!(
        changed(Change::AsyncBecomesSpawn, &of_main).as_deref(),
        Some(spawned)
    );
    let helper = Name::plain("f");
    let call = Statement::Call(Expression::Call(helper, Vec::new()));
    let of_helper = program(vec![
        function(helper, vec![task()]),
        function(Name::MAIN, vec![call, write()]),
    ]);
    assert_eq!(changed(Change::AsyncBecomesSpawn, &of_helper), None);
}

#[test]
fn a_spawn_that_becomes_async_keeps_its_sync_scope() {
    let helper = Name::plain("f");
    let spawn = Statement::Spawn {
        place: None,
        function: helper,
        arguments: Vec::new(),
    };
    let before = program(vec![
        function(helper, vec![write()]),
        function(Name::MAIN, vec![spawn]),
    ]);
    let after = lines(&[
        "fn f() {",
        "    x = 1;",
        "}",
        "fn main() {",
        "    sync;",
        "    {",
        "        async {",
        "            f();",
        "        }",
        "    }",
        "}",
    ]);
    assert_eq!(changed(Change::SpawnBecomesAsync, &before), Some(after));
}

#[test]
fn asyncs_beside_isolated_blocks_stay_in_order() {
    let isolated = Statement::scope(ScopeKind::Isolated, vec![write()]);
    let two = vec![task(), Statement::scope(ScopeKind::Async, Vec::new())];
    let after = "fn main() {\n    async {}\n    async {\n        x = 1;\n    }\n}\n";
    assert_eq!(
        changed(Change::ExchangeAsyncs, &main_of(two.clone())).as_deref(),
        Some(after)
    );
    let with_isolated = main_of([two, vec![isolated]].concat());
    assert_eq!(changed(Change::ExchangeAsyncs, &with_isolated), None);
}

#[test]
fn what_returns_or_joins_is_not_wrapped() {
    let wrapped = "fn main() {\n    finish {\n        x = 1;\n    }\n}\n";
    assert_eq!(
        changed(Change::WrapInFinish, &main_of(vec![write()])).as_deref(),
        Some(wrapped)
    );
    for last in [
        Statement::Return(None),
        Statement::Sync,
        Statement::EndFinish,
    ] {
        assert_eq!(
            changed(Change::WrapInFinish, &main_of(vec![write(), last])),
            None
        );
    }
}

#[test]
fn a_peeled_loop_adds_one_only_where_that_fits() {
    let counter = Name::plain("i");
    let counted = |inclusive, body| Statement::For {
        parallel: false,
        counter,
        range: Range {
            start: Expression::int(2),
            end: Expression::int(9),
            inclusive,
            step: None,
        },
        body,
    };
    let after = lines(&[
        "fn main() {",
        "    {",
        "        let from1 = 2;",
        "        let to1 = 9;",
        "        if from1 <= to1 {",
        "            {",
        "                let i = from1;",
        "                {",
        "                    x = 1;",
        "                }",
        "            }",
        "            if from1 < to1 {",
        "                for i in from1 + 1..=to1 {",
        "                    x = 1;",
        "                }",
        "            }",
        "        }",
        "    }",
        "}",
    ]);
    let inclusive = main_of(vec![counted(true, vec![write()])]);
    assert_eq!(changed(Change::PeelLoop, &inclusive), Some(after));
    let left = main_of(vec![counted(false, vec![Statement::Break])]);
    assert_eq!(changed(Change::PeelLoop, &left), None);
    assert_eq!(changed(Change::SplitLoop, &left), None);
}

#[test]
fn what_declares_for_later_is_not_outlined() {
    let name = Name::plain("v");
    let declare = Statement::Let {
        name,
        ty: None,
        value: Expression::int(1),
    };
    let use_it = Statement::Assign {
        place: Expression::Name(X),
        op: None,
        value: Expression::Name(name),
    };
    let both = main_of(vec![declare, use_it]);
    for seed in 0..20 {
        let Some(changed) = Change::Outline.apply(&both, &mut Rng::new(seed)) else {
            continue;
        };
        let main = &changed.program.functions[0].body;
        let text = render(&changed.program);
        assert!(
            main.len() == 1 || matches!(main[0], Statement::Let { .. }),
            "{text}"
        );
    }
}
