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
    /// For the end of a thread.
    Join,
    /// By one of these, for what a thread would do that can't go on before this one does.
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

/// Whoever only waits makes fewer accesses before it lets others run.
const OTHERS_ONLY_WAIT: u64 = 1000;

impl Spin {
    /// Other threads ran and made so many accesses.
    pub(super) fn others_did(&mut self, accesses: u64) {
        if accesses > OTHERS_ONLY_WAIT {
            self.times = 0;
        }
    }
}

/// So many looks in a row, and others may run.
const PATIENCE: u64 = 1000;

/// What looking at an atomic variable over and over may mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looking {
    Perhaps,
    /// Others may run meanwhile.
    Waiting,
    /// Nothing else can be meant than to wait for another value.
    WaitingForEver,
}

impl Checker {
    /// An atomic variable was read, or tried to be changed in vain.
    pub fn looks_at(&mut self, address: u64, value: u64, place: u64) -> Looking {
        let look = (address, value, place, self.structure.tasks());
        if self.spin.look != look {
            self.spin = Spin { look, times: 0 };
        }
        self.spin.times += 1;
        match self.spin.times {
            SPINS.. => {
                self.spin.times = 0;
                Looking::WaitingForEver
            }
            times if times.is_multiple_of(PATIENCE) => Looking::Waiting,
            _ => Looking::Perhaps,
        }
    }

    /// What is to be told if the running task waits for ever.
    pub fn would_stop(&mut self, waits: Waits, address: u64, place: u64) -> Stopped {
        Stopped {
            waits,
            address,
            at: self.position(place),
            task: self.structure.running(),
        }
    }
}
