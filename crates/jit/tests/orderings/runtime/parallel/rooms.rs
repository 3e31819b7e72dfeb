//! Signals: whoever takes the room on the stacks that run knows their contexts.

use super::super::context::{Context, Limit};
use super::signals::{STOP, Signals};
use crate::atomics::{AtomicU32, Ordering, explore};
use loom::sync::Arc;
use loom::thread;

const ROOM: u64 = 8;

/// A worker that begins to run code, and one that stops it.
#[test]
fn a_room_that_is_taken_belongs_to_a_context_that_is_made() {
    explore(|| {
        let raised = Box::leak(Box::new(AtomicU32::new(0)));
        let signals = Arc::new(Signals::new(2, raised));
        let others = signals.clone();
        let worker = thread::spawn(move || {
            let context = Box::new(Context {
                stack_limit: Limit::new(ROOM),
            });
            let context = Box::into_raw(context);
            others.runs(1, context);
            context as usize
        });
        signals.raise(STOP);
        signals.take_room();
        assert_eq!(signals.raised(), STOP);
        signals.lower(STOP);
        assert_eq!(signals.raised(), 0);
        // SAFETY: made by the worker, and used by nobody any more.
        let context = unsafe { Box::from_raw(worker.join().unwrap() as *mut Context) };
        assert!([0, ROOM].contains(&context.stack_limit.load(Ordering::Relaxed)));
    });
}
