//! A memo of contexts that precede the running step, for tasks that nest.
//!
//! What precedes a step of nested tasks is not all below one stamp: a task that was created to the
//! right of others comes after what its ancestors did in between. In a recursive program most cells
//! of a task name such contexts, the same few over and over, one for each ancestor and place. So a
//! context that was looked up and found to precede is remembered as long as the step lasts.
//!
//! Steps are told apart by their first context. Two steps have the same first context only if the
//! earlier one made none. So only steps that have made a context remember anything.

use crate::history::StampSets;
use crate::order::{NOBODY, Order, Stamp};

const PLACES: usize = 128;

#[derive(Debug)]
pub(super) struct Preceding {
    /// The first context of the step that this was found for.
    step: Stamp,
    /// Where nothing is known, nobody, who precedes everyone. No other stamp would do: a cell may
    /// hold any that is not a context.
    known: [Stamp; PLACES],
}

impl Preceding {
    pub(super) fn new() -> Preceding {
        Preceding {
            step: Stamp::MAX,
            known: [NOBODY; PLACES],
        }
    }

    /// Whether this is a context that precedes the running step, which has made one itself, by
    /// structure.
    #[inline]
    pub(super) fn contains(&mut self, context: Stamp, order: &mut impl Order) -> bool {
        if self.step != order.now() {
            *self = Preceding {
                step: order.now(),
                ..Preceding::new()
            };
        }
        let place = context as usize % PLACES;
        if self.known[place] == context {
            return true;
        }
        if StampSets::is_set(context) || order.structurally_parallel(context) {
            return false;
        }
        self.known[place] = context;
        true
    }
}
