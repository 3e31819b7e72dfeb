//! A memo of contexts that precede the running step, for tasks that nest.
//!
//! With nested tasks no single stamp bounds everything that precedes a step. A task that was
//! created to the right of others comes after what its ancestors did in between. In a recursive
//! program most cells of a task name such contexts. They are the same few over and over, one for
//! each ancestor and place. So a context that was found to precede the step is remembered as long
//! as the step lasts.
//!
//! Steps are told apart by their first context. Two steps have the same first context only if the
//! earlier one made none. So only steps that have made a context remember anything.

use crate::history::StampSets;
use crate::order::{NOBODY, Order, Stamp};

const PLACES: usize = 128;

#[derive(Debug)]
pub(super) struct Preceding {
    /// The first context of the step that the memo belongs to.
    step: Stamp,
    /// The contexts. An empty place holds nobody, who precedes everyone. No other value is
    /// possible: a cell may hold any stamp that is not a context.
    known: [Stamp; PLACES],
}

impl Preceding {
    pub(super) fn new() -> Preceding {
        Preceding {
            step: Stamp::MAX,
            known: [NOBODY; PLACES],
        }
    }

    /// Whether this context precedes the running step by structure. The step must have made a
    /// context.
    #[inline]
    pub(super) fn contains<O: Order>(
        &mut self,
        context: Stamp,
        order: &mut O,
        strand: O::Strand,
    ) -> bool {
        if self.step != order.stamp(strand) {
            *self = Preceding {
                step: order.stamp(strand),
                ..Preceding::new()
            };
        }
        let place = context as usize % PLACES;
        if self.known[place] == context {
            return true;
        }
        if StampSets::is_set(context) || order.structurally_parallel(strand, context) {
            return false;
        }
        self.known[place] = context;
        true
    }
}
