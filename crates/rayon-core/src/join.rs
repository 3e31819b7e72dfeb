//! `join`: two tasks in a finish of their own.
//!
//! The left half runs first, or the right half if the runtime asks for it. The second half may
//! begin in the midst of the first ([`crate::awaiting`]). Both always run. As in rayon, a panic of
//! the left half wins over one of the right half, and the other half's result is dropped.

use crate::awaiting::Awaiting;
use crate::division::Halves;
use crate::place;
use crate::pool::PoolRef;
use crate::runtime::{Finish, FinishKind, JoinOrder, TaskKind};
use crate::task::Joined;
use std::marker::PhantomData;
use std::panic;
use std::thread;

/// Tells a half of [`join_context`] how it came to run.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// The context belongs to one thread. It can't be sent or shared.
    _marker: PhantomData<*mut ()>,
}

impl FnContext {
    /// Whether the closure runs on another thread than the one that called [`join_context`].
    ///
    /// Parallel iterators use this to decide how far to divide themselves. Pieces that moved to
    /// another thread are divided further. Others stop after a number of levels that depends on the
    /// size of the pool. As in rayon, the answer is true for both halves if the caller is outside
    /// of all pools. Inside a pool it says nothing about threads: see `division.rs`.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs both closures as tasks that may be parallel to each other, and returns both results.
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let pool = PoolRef::current();
    results(place::inside(&pool, |_| both(&pool, oper_a, oper_b)))
}

/// Like [`join`], for closures that want to know how they came to run.
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let pool = PoolRef::current();
    results(place::inside(&pool, |from_outside| {
        let halves = Halves::divide();
        let migrated = from_outside || halves.migrate;
        let context = || FnContext {
            migrated,
            _marker: PhantomData,
        };
        let (context_a, context_b) = (context(), context());
        both(&pool, || oper_a(context_a), || oper_b(context_b))
    }))
}

type Outcomes<RA, RB> = (thread::Result<RA>, thread::Result<RB>);

fn results<RA, RB>(outcomes: Outcomes<RA, RB>) -> (RA, RB) {
    match outcomes {
        (Ok(result_a), Ok(result_b)) => (result_a, result_b),
        (Err(payload), _) | (_, Err(payload)) => panic::resume_unwind(payload),
    }
}

fn both<A, B, RA, RB>(pool: &PoolRef, oper_a: A, oper_b: B) -> Outcomes<RA, RB>
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB,
{
    let mut left = Joined::new(oper_a);
    let mut right = Joined::new(oper_b);

    let finish = Finish::begin(FinishKind::Join);
    // The only thread of a pool begins with the left half in every schedule.
    let order = match pool.num_threads() {
        1 => JoinOrder::LEFT_FIRST,
        _ => JoinOrder::ask(),
    };
    let run_right_first = order.right_first();
    let second = order.interrupts().then(|| match run_right_first {
        false => Awaiting::create(pool, finish, TaskKind::JoinRight, right.body()),
        true => Awaiting::create(pool, finish, TaskKind::JoinLeft, left.body()),
    });
    let second = second.flatten();
    if let Some(second) = &second {
        second.offer();
    }
    if !run_right_first {
        left.run(TaskKind::JoinLeft, finish);
    }
    if run_right_first || second.is_none() {
        place::on_another_thread(pool, || right.run(TaskKind::JoinRight, finish));
    }
    match second {
        Some(second) => second.run(),
        None if run_right_first => left.run(TaskKind::JoinLeft, finish),
        None => {}
    }
    finish.end();

    (left.into_outcome(), right.into_outcome())
}
