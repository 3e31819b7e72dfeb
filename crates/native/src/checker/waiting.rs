//! Tasks that wait for something that only another task could do, while no other task runs.

use super::Checker;
use crate::facts::structure::Position;
use finishline_model::TaskId;
use finishline_model::kinds::WaitKind;
use finishline_trace::process::Call;

/// A task waited for something that only another task could do, and none runs beside it.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    pub waits: WaitKind,
    pub at: Position,
    pub task: TaskId,
}

/// How often in a row a thread has read the same value of an atomic variable at the same place.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Spin {
    /// The address, the value, the place, and the number of tasks that there were.
    look: (u64, u64, u64, usize),
    times: u64,
}

/// After this number of looks a task waits for ever. A task that waits for a bounded time reads a
/// clock, or stops after some thousands of looks.
const SPINS: u64 = 2_000_000;

/// A thread that only waits makes fewer accesses than this before it lets others run.
const OTHERS_ONLY_WAIT: u64 = 1000;

impl Spin {
    /// Other threads ran and made this many accesses.
    pub(super) fn others_made(&mut self, accesses: u64) {
        if accesses > OTHERS_ONLY_WAIT {
            self.times = 0;
        }
    }
}

/// After this number of looks in a row others may run.
const PATIENCE: u64 = 1000;

/// What looking at an atomic variable over and over may mean.
#[derive(Clone, Copy, Debug)]
pub enum Looking {
    Perhaps,
    /// Others may run meanwhile.
    Waiting,
    /// The task can only mean to wait for another value, and is told as this.
    WaitingForEver(Stopped),
}

impl Checker {
    /// Notes that an atomic variable was read, or could not be changed.
    pub fn looks_at(&mut self, address: u64, value: u64, place: u64) -> Looking {
        let look = (address, value, place, self.structure.tasks());
        if self.thread.spin.look != look {
            self.thread.spin = Spin { look, times: 0 };
        }
        self.thread.spin.times += 1;
        match self.thread.spin.times {
            SPINS.. => {
                self.thread.spin.times = 0;
                Looking::WaitingForEver(self.would_stop(WaitKind::Spin, place))
            }
            times if times.is_multiple_of(PATIENCE) => Looking::Waiting,
            _ => Looking::Perhaps,
        }
    }

    /// What is reported if the running task waits for ever.
    pub fn would_stop(&mut self, waits: WaitKind, place: u64) -> Stopped {
        self.note(|| Call::Waits { what: waits, place });
        Stopped {
            waits,
            at: self.position(place),
            task: self.structure.running(),
        }
    }
}
