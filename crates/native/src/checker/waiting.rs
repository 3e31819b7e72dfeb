//! Tasks that wait for what only another task could do, and none runs beside them.

use super::Checker;
use crate::structure::Position;
use finishline_model::TaskId;

/// What a task waits by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// The system call behind locks, channels and condition variables.
    Futex,
    /// It looks at an atomic variable over and over.
    Spin,
    /// By one of these in a thread, for what the thread's creator would do.
    Creator,
}

/// A task waited for something that only another task could do, and none runs beside it.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    pub waits: Waits,
    pub address: u64,
    pub at: Position,
    pub task: TaskId,
}

/// The same look at an atomic variable, so many times in a row.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Spin {
    /// The address, the value, the place, and the number of tasks that there were.
    look: (u64, u64, u64, usize),
    times: u64,
}

/// Some tenths of a second. Whoever means to wait for a bounded time looks at a clock, or gives up after some thousands.
const SPINS: u64 = 2_000_000;

impl Checker {
    /// An atomic variable was read, or tried to be changed in vain. Whether that happened so often in a row that nothing else can be
    /// meant than to wait for another value.
    pub fn looks_at(&mut self, address: u64, value: u64, place: u64) -> bool {
        let look = (address, value, place, self.structure.tasks());
        if self.spin.look != look {
            self.spin = Spin { look, times: 0 };
        }
        self.spin.times += 1;
        self.spin.times >= SPINS
    }

    /// The running task waits for ever.
    pub fn stop(&mut self, waits: Waits, address: u64, place: u64) {
        self.stopped = Some(Stopped {
            waits,
            address,
            at: self.position(place),
            task: self.structure.running(),
        });
    }
}
