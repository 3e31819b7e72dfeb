//! Explores every interleaving of a small program. This oracle knows nothing of task structure or
//! race checks.
//!
//! It answers two questions by brute force that the detectors answer by inference. At which
//! locations can two tasks be about to make conflicting accesses at the same time? In which ways
//! can the program end? A state in which both accesses come next is a race by definition. Mutual
//! exclusion keeps two isolated accesses from racing. Race checks are ignored: only loads and
//! stores count, and each is one indivisible access.
//!
//! **What is a choice.** With [`Granularity::Instruction`] the next instruction of any task is a
//! choice. This is the definition. With [`Granularity::Visible`] only loads, stores and the entry
//! of an isolated block are choices. All other instructions run at once. That loses nothing:
//! - Arithmetic, control, calls and allocation touch nothing that another task sees. Names of
//!   objects do not depend on the order.
//! - Some operations only ever enable other tasks: creating a task, ending one, opening, leaving or
//!   waiting for a finish, leaving an isolated block, and waiting for a promise. While the creator
//!   is alive its finish can't close. Once the last task of a finish has ended no task can join it.
//! - Prints commute, because an outcome has the lines of the output as a multiset.
//! - A failure ends the program and stops the other tasks. So it **is** a choice: the others may
//!   come first.
//!
//! States are compared by names that do not depend on the schedule. They are remembered by a
//! 128-bit hash, so each is explored once. The cost is still exponential. Over the budget the
//! answer is marked incomplete. Unreachable objects are kept, because their contents tell schedules
//! apart. If they exceed the memory limit, the answer is incomplete too.

use finishline_ir::Module;
use finishline_ir::machine::{
    Datum, Limits, Machine, Next, ObjectName, Progress, Status, Trap, TrapKind,
};
use finishline_model::{AccessKind, Location, SiteId, TaskId};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granularity {
    Instruction,
    Visible,
}

/// The limits of the exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Distinct states.
    pub states: u64,
    /// Instructions executed, over all states.
    pub steps: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            states: 1_000_000,
            steps: 100_000_000,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interleavings {
    /// Locations that two tasks can be about to access at once, with at least one write.
    pub conflicts: BTreeSet<LocationName>,
    pub outcomes: BTreeSet<Outcome>,
    pub states: u64,
    /// The budget ran out: there may be more conflicts and outcomes.
    pub gave_up: bool,
}

/// A location in words that have the same meaning in every schedule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocationName {
    pub object: ObjectName,
    pub offset: u64,
}

/// A way in which the program can end.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    Finished {
        /// The lines in sorted order, because their order depends on the schedule.
        output: Vec<Vec<u8>>,
        /// A digest of the contents of all objects, including unreachable ones.
        heap: u128,
    },
    /// No task can go on. The tasks that wait, each with the place.
    Deadlock { waiting: Vec<(Vec<u32>, SiteId)> },
    Trapped {
        word: &'static str,
        message: String,
        site: SiteId,
        task: Vec<u32>,
    },
}

impl Outcome {
    /// How a program has ended that did not fail.
    pub(crate) fn of(machine: &Machine<'_>) -> Outcome {
        Outcome::Finished {
            output: sorted_lines(machine),
            heap: digest(&machine.canonical_heap()),
        }
    }

    /// Tells outcomes apart. The chance that two have the same is negligible.
    pub fn digest(&self) -> u128 {
        digest(self)
    }
}

/// Explores every interleaving of a verified program. A state is copied for each choice, so the
/// memory limit should be small.
pub fn explore(
    module: &Module,
    arguments: &[Datum],
    limits: Limits,
    granularity: Granularity,
    budget: Budget,
) -> Interleavings {
    let mut exploration = Exploration {
        granularity,
        budget,
        memory: limits.memory,
        steps: 0,
        seen: HashSet::new(),
        found: Interleavings::default(),
    };
    match Machine::new(module, arguments, limits, &mut ()) {
        Ok(mut machine) => {
            machine.keep_dead_objects();
            exploration.run(machine);
        }
        Err(trap) => exploration.fail(&trap, Vec::new()),
    }
    exploration.found
}

struct Exploration {
    granularity: Granularity,
    budget: Budget,
    memory: u64,
    steps: u64,
    seen: HashSet<u128>,
    found: Interleavings,
}

impl Exploration {
    fn run(&mut self, start: Machine<'_>) {
        let mut unexplored = vec![start];
        while let Some(mut machine) = unexplored.pop() {
            if self.granularity == Granularity::Visible {
                self.settle(&mut machine);
            }
            if self.is_exhausted(&machine) {
                self.found.gave_up = true;
                return;
            }
            if !self.seen.insert(state_digest(&machine)) {
                continue;
            }
            if self.found.states == self.budget.states {
                self.found.gave_up = true;
                return;
            }
            self.found.states += 1;
            self.note_conflicts(&machine);
            if machine.status(TaskId::MAIN) == Status::Done {
                self.found.outcomes.insert(Outcome::of(&machine));
            }
            self.note_deadlock(&machine);
            for task in tasks(&machine) {
                if machine.status(task) == Status::Runnable {
                    let mut next = machine.clone();
                    self.steps += 1;
                    match next.step(task, &mut ()) {
                        Ok(_) => unexplored.push(next),
                        Err(trap) => self.fail(&trap, machine.path(task)),
                    }
                }
            }
        }
    }

    /// Lets every task run until it ends, waits, reaches a choice, or is about to fail.
    fn settle(&mut self, machine: &mut Machine<'_>) {
        let mut moved = true;
        while moved {
            moved = false;
            for task in tasks(machine) {
                while machine.next(task) == Next::Local && !self.is_exhausted(machine) {
                    self.steps += 1;
                    match machine.step(task, &mut ()) {
                        Ok(Progress::Blocked) | Err(_) => break,
                        Ok(_) => moved = true,
                    }
                }
            }
        }
    }

    fn is_exhausted(&self, machine: &Machine<'_>) -> bool {
        self.steps > self.budget.steps || machine.heap().used() > self.memory
    }

    fn note_conflicts(&mut self, machine: &Machine<'_>) {
        // For each location, whether some task is about to write it.
        let mut pending: HashMap<Location, bool> = HashMap::new();
        for task in tasks(machine) {
            let Next::Access {
                kind,
                object,
                offset,
                location,
                ..
            } = machine.next(task)
            else {
                continue;
            };
            let writes = kind == AccessKind::Write;
            match pending.entry(location) {
                Entry::Vacant(entry) => {
                    entry.insert(writes);
                }
                Entry::Occupied(mut entry) => {
                    *entry.get_mut() |= writes;
                    if *entry.get() {
                        let object = machine.object_name(object);
                        let name = LocationName { object, offset };
                        self.found.conflicts.insert(name);
                    }
                }
            }
        }
    }

    fn note_deadlock(&mut self, machine: &Machine<'_>) {
        if let Some(trap) = machine.deadlock()
            && let TrapKind::Deadlock { waiting } = trap.kind
        {
            let waiting = waiting.iter();
            let mut waiting: Vec<_> = waiting
                .map(|waiting| (machine.path(waiting.task), waiting.site))
                .collect();
            waiting.sort_unstable();
            self.found.outcomes.insert(Outcome::Deadlock { waiting });
        }
    }

    fn fail(&mut self, trap: &Trap, task: Vec<u32>) {
        let Trap { kind, site, .. } = trap;
        let (word, message) = (TrapKind::word(kind), kind.message());
        self.found.outcomes.insert(Outcome::Trapped {
            word,
            message,
            site: *site,
            task,
        });
    }
}

fn tasks(machine: &Machine<'_>) -> impl Iterator<Item = TaskId> + use<> {
    (0..machine.tasks_created()).map(TaskId::from_index)
}

fn sorted_lines(machine: &Machine<'_>) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = machine
        .output
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    lines.sort_unstable();
    lines
}

fn state_digest(machine: &Machine<'_>) -> u128 {
    digest(&(machine.canonical_state(), sorted_lines(machine)))
}

/// Two 64-bit hashes: among a million states a collision has a chance below 10⁻²⁶.
fn digest(of: &impl Hash) -> u128 {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        of.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}
