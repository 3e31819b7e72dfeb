//! The first orders of an exploration, for a picture of them.
//!
//! They are explored again, on one thread: so they are the same whoever explored the rest.

use super::order_script::word;
use super::task_names::TaskNames;
use super::{Options, Progress, explore_telling};
use crate::explore::blocks::Block;
use crate::question::Question;
use finishline_answer::answer::RunOrder;
use std::num::NonZero;
use std::sync::Mutex;
use std::time::Duration;

/// The most orders of a picture.
const MOST_SHOWN: u64 = 300;
/// The most blocks of an order in a picture.
const MOST_BLOCKS: usize = 200;
/// The time for them.
const PATIENCE: Duration = Duration::from_secs(5);

/// The first orders that are run. Those that fail come last.
pub fn shown_orders(question: &Question<'_>, options: Options) -> Vec<RunOrder> {
    let options = Options {
        jobs: NonZero::<usize>::MIN,
        max_orders: options.max_orders.min(MOST_SHOWN),
        max_blocks: options.max_blocks.min(MOST_BLOCKS),
        timeout: Some(PATIENCE),
        states: false,
        ..options
    };
    let orders = Mutex::new(Vec::new());
    let tell = |blocks: &[Block], names: &TaskNames| {
        let tasks = blocks.iter().map(|block| word(&names.path(block.task)));
        let order = RunOrder {
            tasks: tasks.collect(),
            fault: None,
        };
        if let Ok(mut orders) = orders.lock() {
            orders.push(order);
        }
    };
    let progress = Progress::default();
    let found = explore_telling(question.program(), options, &progress, &tell);
    let mut orders = orders.into_inner().unwrap_or_default();
    orders.extend(found.faults.iter().map(|it| RunOrder {
        tasks: it.script.words(),
        fault: Some(it.fault.verdict()),
    }));
    orders
}
