//! Runs a program again in other orders of its tasks, where its answer rests on one.
//!
//! One run covers every schedule with its structure, but for what locks, atomics and threads
//! ordered in that run. If they ordered something, other runs take other orders
//! (`crates/native/src/checker/orders.rs` has the list). The first order that shows a race or a
//! failure is told. If none does, the usual one is, with how many there were.
//!
//! Parallel iterators are divided down to single items, so that no two items seem to be in order.
//! But then each item has a state of its own in `fold` and `map_init`. In order 2 iterators are
//! divided as rayon does for its threads, and items share a state. So that order is run wherever
//! iterators were divided, also if the answer rests on no order.
//!
//! In another order a task may wait for one that runs later, and be stopped. Or the system may have
//! no memory for what runs beside, and kill the process. That says nothing about the program, so
//! such a run counts for nothing. But that the usual order is stopped is told: with few threads the
//! program itself may get no further.

use crate::Problem;
use crate::options::Subcommand;
use crate::run;
use crate::session::Session;
use finishline_answer::process::OrdersRun;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// How many orders are run of a test if nobody chooses. A program may have effects, and is run
/// once.
const ORDERS_OF_TESTS: NonZeroU32 = NonZeroU32::new(4).unwrap();

/// The order in which parallel iterators are divided as rayon does for its threads.
const DIVIDED_FOR_THREADS: u32 = 2;

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    One(u32),
    UpTo(NonZeroU32),
}

impl Asked {
    /// The setting of the package is for its tests.
    pub(crate) fn of(session: &Session) -> Asked {
        let of_package = || session.settings(&run::package())?.orders;
        let usual = match session.subcommand {
            Subcommand::Test | Subcommand::Nextest => of_package().unwrap_or(ORDERS_OF_TESTS),
            _ => NonZeroU32::MIN,
        };
        match session.options.order {
            Some(order) => Asked::One(order),
            None => Asked::UpTo(session.options.orders.unwrap_or(usual)),
        }
    }
}

/// The orders that were run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ran {
    /// The one that is told.
    pub(crate) told: u32,
    pub(crate) ended: u32,
    pub(crate) stopped: u32,
}

impl Ran {
    pub(crate) fn only(order: u32) -> Option<Ran> {
        (order > 0).then_some(Ran {
            told: order,
            ended: 1,
            stopped: 0,
        })
    }
}

impl From<Ran> for OrdersRun {
    fn from(ran: Ran) -> OrdersRun {
        OrdersRun {
            told: ran.told,
            ended: ran.ended,
            stopped: ran.stopped,
        }
    }
}

/// What a run in some order shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shown {
    /// A race or a failure, or that nothing can be known.
    Enough,
    /// Nothing, and no other order could show more.
    Nothing,
    /// Nothing, with parallel iterators divided further than rayon would for its threads.
    NothingDivided,
    /// Nothing, in this order of locks, atomics or threads.
    NothingInThisOrder,
    /// It was ended before it could show anything.
    Stopped,
}

/// Runs the orders that were asked for, as far as needed.
pub(crate) fn in_orders<T>(
    asked: Asked,
    mut run: impl FnMut(u32) -> Result<(T, Shown), Problem>,
) -> Result<(T, Option<Ran>), Problem> {
    let most = match asked {
        Asked::One(order) => {
            let (only, _) = run(order)?;
            return Ok((only, Ran::only(order)));
        }
        Asked::UpTo(most) => most.get(),
    };
    let (usual, shown) = run(0)?;
    let others = |order: &u32| match shown {
        Shown::NothingInThisOrder => true,
        Shown::NothingDivided => *order == DIVIDED_FOR_THREADS,
        Shown::Enough | Shown::Nothing | Shown::Stopped => false,
    };
    let mut others = (1..most).filter(others).peekable();
    if others.peek().is_none() {
        return Ok((usual, None));
    }
    let mut orders = Ran {
        told: 0,
        ended: 1,
        stopped: 0,
    };
    for order in others {
        let (other, shown) = run(order)?;
        match shown {
            Shown::Enough => {
                (orders.told, orders.ended) = (order, orders.ended + 1);
                return Ok((other, Some(orders)));
            }
            Shown::Nothing | Shown::NothingDivided | Shown::NothingInThisOrder => orders.ended += 1,
            Shown::Stopped => orders.stopped += 1,
        }
    }
    Ok((usual, Some(orders)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Shown::{Enough, Nothing, NothingDivided, NothingInThisOrder, Stopped};

    /// Which orders were run, and what was told.
    fn told(asked: Asked, shown: &[Shown]) -> (Vec<u32>, u32, Option<Ran>) {
        let mut ran = Vec::new();
        let told = in_orders(asked, |order| {
            ran.push(order);
            Ok((order, shown[order as usize]))
        });
        let Ok((told, orders)) = told else {
            panic!("nothing goes wrong here")
        };
        (ran, told, orders)
    }

    fn orders(told: u32, ended: u32, stopped: u32) -> Option<Ran> {
        Some(Ran {
            told,
            ended,
            stopped,
        })
    }

    #[test]
    fn other_orders_are_run_where_the_answer_rests_on_one() {
        let up_to = |most| Asked::UpTo(NonZeroU32::new(most).expect("not none"));
        let clean = NothingInThisOrder;
        for (most, shown, expected) in [
            (4, &[Nothing][..], (vec![0], 0, None)),
            (4, &[Enough], (vec![0], 0, None)),
            (4, &[Stopped], (vec![0], 0, None)),
            (1, &[clean], (vec![0], 0, None)),
            (2, &[NothingDivided], (vec![0], 0, None)),
            (
                4,
                &[NothingDivided, clean, Nothing],
                (vec![0, 2], 0, orders(0, 2, 0)),
            ),
            (
                4,
                &[NothingDivided, clean, Enough],
                (vec![0, 2], 2, orders(2, 2, 0)),
            ),
            (4, &[clean; 4], (vec![0, 1, 2, 3], 0, orders(0, 4, 0))),
            (
                4,
                &[clean, clean, Enough],
                (vec![0, 1, 2], 2, orders(2, 3, 0)),
            ),
            (
                3,
                &[clean, Stopped, Nothing],
                (vec![0, 1, 2], 0, orders(0, 2, 1)),
            ),
            (
                3,
                &[clean, Stopped, Enough],
                (vec![0, 1, 2], 2, orders(2, 2, 1)),
            ),
        ] {
            assert_eq!(told(up_to(most), shown), expected, "{shown:?}");
        }
        let shown = [Enough, clean, clean, clean];
        assert_eq!(told(Asked::One(3), &shown), (vec![3], 3, orders(3, 1, 0)));
        assert_eq!(told(Asked::One(0), &shown), (vec![0], 0, None));
    }
}
