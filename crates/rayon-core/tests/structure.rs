//! The task structure that the runtime hears for each construct.

mod recorder;

use rayon_core::{
    broadcast, in_place_scope, in_place_scope_fifo, join, join_context, scope, scope_fifo,
    scope_in_turn, spawn, spawn_broadcast, spawn_fifo, ThreadPoolBuilder,
};
use recorder::{note, structure};
use std::sync::Mutex;

#[test]
fn join_is_two_tasks_in_a_finish() {
    let text = structure(|| {
        let both = join(
            || {
                note("a");
                1
            },
            || {
                note("b");
                "two"
            },
        );
        assert_eq!(both, (1, "two"));
        note("after");
    });
    assert_eq!(text, "join1(left1{a} right1{b}) after");
}

#[test]
fn joins_nest() {
    fn sum(numbers: &[u32]) -> u32 {
        match numbers {
            [number] => {
                note(number);
                *number
            }
            _ => {
                let (left, right) = numbers.split_at(numbers.len() / 2);
                let (left, right) = join(|| sum(left), || sum(right));
                left + right
            }
        }
    }
    let text = structure(|| assert_eq!(sum(&[1, 2, 3]), 6));
    assert_eq!(text, "join1(left1{1} right1{join2(left2{2} right2{3})})");
}

#[test]
fn the_right_half_runs_first_if_the_runtime_says_so() {
    recorder::run_right_first();
    let text = structure(|| {
        assert_eq!(join(|| note("a"), || note("b")), ((), ()));
        assert_eq!(join_context(|_| 1, |_| 2), (1, 2));
    });
    assert_eq!(text, "join1(right1{b} left1{a}) join2(right2{} left2{})");
}

#[test]
fn halves_have_migrated_if_they_come_from_outside_of_the_pool() {
    let migrated = || join_context(|left| left.migrated(), |right| right.migrated());
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    assert_eq!(migrated(), (true, true));
    assert_eq!(pool.install(migrated), (false, false));
    let nested = join_context(|_| migrated(), |_| migrated());
    assert_eq!(nested, ((false, false), (false, false)));
    assert_eq!(recorder::division(), "threads");
}

#[test]
fn a_broadcast_runs_backwards_if_the_right_half_runs_first() {
    recorder::run_right_first();
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let text = structure(|| {
        let indices = pool.broadcast(|context| {
            note(context.index());
            context.index()
        });
        assert_eq!(indices, [0, 1, 2]);
    });
    assert_eq!(text, "broadcast1(each1{2} each1{1} each1{0})");
}

/// The latest first, also of those that tasks spawn; all before the scope ends, also after a panic.
#[test]
fn spawned_tasks_run_behind_the_body_if_the_runtime_says_so() {
    recorder::defer();
    let text = structure(|| {
        scope(|s| {
            s.spawn(|s| {
                s.spawn(|_| note("grandchild"));
                note("first");
            });
            s.spawn(|_| note("second"));
            note("body");
        });
    });
    assert_eq!(
        text,
        "scope1(+1 +2 body -2 spawn-in-scope1{second} -1 spawn-in-scope1{+3 first} \
         -3 spawn-in-scope1{grandchild})"
    );
    let (text, message) = recorder::structure_of_panic(|| {
        scope(|s| {
            s.spawn(|_| note("task"));
            panic!("body");
        });
    });
    assert_eq!(text, "scope1(+4 -4 spawn-in-scope1{task})");
    assert_eq!(message, "body");
}

#[test]
fn tasks_of_a_scope_in_turn_are_never_put_off() {
    recorder::defer();
    let text = structure(|| {
        scope_in_turn(|s| {
            s.spawn(|_| note("task"));
            note("body");
        });
    });
    assert_eq!(text, "scope1(spawn-in-scope1{task} body)");
}

#[test]
fn a_scope_is_a_finish_around_its_body() {
    let text = structure(|| {
        let result = scope(|s| {
            note("before");
            s.spawn(|_| note("task"));
            note("after");
            7
        });
        assert_eq!(result, 7);
        scope_fifo(|s| s.spawn_fifo(|_| note("fifo")));
        in_place_scope(|s| s.spawn(|_| note("here")));
        in_place_scope_fifo(|s| s.spawn_fifo(|_| note("here-fifo")));
    });
    assert_eq!(
        text,
        "scope1(before spawn-in-scope1{task} after) \
         scope-fifo2(spawn-fifo-in-scope2{fifo}) \
         in-place-scope3(spawn-in-scope3{here}) \
         in-place-scope-fifo4(spawn-fifo-in-scope4{here-fifo})"
    );
}

#[test]
fn a_task_spawns_into_its_own_scope() {
    let text = structure(|| {
        scope(|s| {
            s.spawn(|s| {
                s.spawn(|_| note("grandchild"));
                note("child");
            });
        });
    });
    assert_eq!(
        text,
        "scope1(spawn-in-scope1{spawn-in-scope1{grandchild} child})"
    );
}

#[test]
fn an_outer_scope_takes_tasks_from_an_inner_one() {
    let text = structure(|| {
        scope(|outer| {
            scope(|inner| {
                inner.spawn(|_| {
                    outer.spawn(|_| note("outer"));
                    note("inner");
                });
            });
            note("between");
        });
    });
    assert_eq!(
        text,
        "scope1(scope2(spawn-in-scope2{spawn-in-scope1{outer} inner}) between)"
    );
}

#[test]
fn a_spawned_task_belongs_to_the_program() {
    let text = structure(|| {
        spawn(|| {
            join(|| (), || ());
            spawn_fifo(|| note("nested"));
        });
        note("after");
    });
    assert_eq!(
        text,
        "spawn0{join1(left1{} right1{}) spawn-fifo0{nested}} after"
    );
}

#[test]
fn a_broadcast_is_a_task_per_thread() {
    let text = structure(|| {
        let squares = broadcast(|context| {
            assert_eq!(context.num_threads(), 4);
            note(context.index());
            context.index() * context.index()
        });
        assert_eq!(squares, [0, 1, 4, 9]);
    });
    assert_eq!(text, "broadcast1(each1{0} each1{1} each1{2} each1{3})");
}

/// The closure that all tasks of a spawned broadcast share is dropped after all of them.
struct Shared;

impl Drop for Shared {
    fn drop(&mut self) {
        note("dropped");
    }
}

#[test]
fn a_spawned_broadcast_is_a_task_with_a_broadcast_inside() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let text = structure(|| {
        let shared = Shared;
        pool.spawn_broadcast(move |context| {
            let _used = &shared;
            note(context.index());
        });
        note("after");
    });
    assert_eq!(
        text,
        "spawn-broadcast0{broadcast1(each1{0} each1{1}) dropped} after"
    );
    let text = structure(|| spawn_broadcast(|_| ()));
    assert_eq!(
        text,
        "spawn-broadcast0{broadcast1(each1{} each1{} each1{} each1{})}"
    );
}

#[test]
fn a_scope_waits_for_its_broadcasts() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let text = structure(|| {
        pool.scope(|s| {
            s.spawn_broadcast(|s, context| {
                let index = context.index();
                s.spawn(move |_| note(index));
            });
        });
        pool.scope_fifo(|s| s.spawn_broadcast(|_, _| ()));
    });
    assert_eq!(
        text,
        "scope1(spawn-broadcast1{broadcast2(each2{spawn-in-scope1{0}} each2{spawn-in-scope1{1}})}) \
         scope-fifo3(spawn-broadcast3{broadcast4(each4{} each4{})})"
    );
}

#[test]
fn a_pool_adds_no_structure_of_its_own() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let text = structure(|| {
        assert_eq!(pool.install(|| 5), 5);
        pool.join(|| note("a"), || note("b"));
        pool.in_place_scope(|s| s.spawn(|_| note("c")));
        pool.in_place_scope_fifo(|s| s.spawn_fifo(|_| note("d")));
        pool.spawn(|| note("e"));
        pool.spawn_fifo(|| note("f"));
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    });
    assert_eq!(
        text,
        "join1(left1{a} right1{b}) \
         in-place-scope2(spawn-in-scope2{c}) \
         in-place-scope-fifo3(spawn-fifo-in-scope3{d}) \
         spawn0{e} spawn-fifo0{f} \
         broadcast4(each4{} each4{})"
    );
}

#[test]
fn handlers_are_tasks_and_only_those_of_the_start_are_waited_for() {
    let text = structure(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(|index| note(format!("start{index}")))
            .exit_handler(|index| note(format!("exit{index}")))
            .build()
            .unwrap();
        pool.install(|| note("work"));
        drop(pool);
        note("after");
    });
    assert_eq!(
        text,
        "broadcast1(each1{start0} each1{start1}) work spawn-broadcast0{exit0} spawn-broadcast0{exit1} after"
    );
}

#[test]
fn tasks_borrow_from_outside_of_their_scope() {
    let mut numbers = [1, 2, 3];
    let seen = Mutex::new(Vec::new());
    scope(|s| {
        for number in &mut numbers {
            let seen = &seen;
            s.spawn(move |_| {
                *number *= 10;
                seen.lock().unwrap().push(*number);
            });
        }
    });
    assert_eq!(numbers, [10, 20, 30]);
    assert_eq!(seen.into_inner().unwrap(), [10, 20, 30]);
}
