//! What a random program may contain, and how much it may execute.

#[derive(Clone, Debug)]
pub struct Settings {
    /// The approximate number of statements of the whole program.
    pub statements: u32,
    /// The most functions besides `main`.
    pub functions: u32,
    /// The most shared objects that `main` makes, besides the globals.
    pub objects: u32,
    /// Whether there are arrays of references.
    pub nested_objects: bool,
    pub constructs: Constructs,
    /// The percentage of statements that must be accesses or parallel statements.
    pub focus: u32,
    /// Whether control flow and indices may depend on shared data.
    pub data_dependent: bool,
    /// Whether a run may fail: indices out of bounds, division by zero, a step of 0.
    pub traps: bool,
    /// Whether many integers are at the ends of 64 bits, so that sums, products and shifts wrap
    /// around.
    pub wrapping: bool,
    /// Whether there are promises and futures. Then ownership must be ignored.
    pub promises: bool,
    /// Whether there are locks. Then ownership must be ignored.
    pub locks: bool,
    /// Whether tasks may fail or never end at conditions that read no shared data.
    pub stops: bool,
    /// The number of integer parameters of `main`.
    pub parameters: u32,
    /// Whether there are `print` statements.
    pub output: bool,
    pub ownership: Ownership,
    pub limits: Limits,
}

/// The parallel statements a program may contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constructs {
    pub asyncs: bool,
    pub finishes: bool,
    pub foralls: bool,
    pub isolated: bool,
    pub dynamic_finishes: bool,
    pub spawns: bool,
}

impl Constructs {
    pub const ALL: Constructs = Constructs {
        asyncs: true,
        finishes: true,
        foralls: true,
        isolated: true,
        dynamic_finishes: true,
        spawns: true,
    };
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ownership {
    /// No program has a race.
    Kept,
    /// Accesses go anywhere.
    Ignored,
    /// Kept in some programs, often broken in others, ignored in the rest. About half of all
    /// programs have a race.
    Mixed,
}

/// The most that one run executes, in any schedule. Steps are roughly IR instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub steps: i64,
    /// Tasks besides `main`.
    pub tasks: i64,
    pub accesses: i64,
}

impl Limits {
    pub(super) const NONE: Limits = Limits {
        steps: 0,
        tasks: 0,
        accesses: 0,
    };

    pub(super) fn minus(self, other: Limits, times: i64) -> Limits {
        Limits {
            steps: self.steps - other.steps * times,
            tasks: self.tasks - other.tasks * times,
            accesses: self.accesses - other.accesses * times,
        }
    }

    pub(super) fn exceeded(self) -> bool {
        self.steps < 0 || self.tasks < 0 || self.accesses < 0
    }
}

impl Default for Settings {
    /// Every construct, steady control flow, no traps.
    fn default() -> Settings {
        Settings {
            statements: 26,
            functions: 3,
            objects: 3,
            nested_objects: true,
            constructs: Constructs::ALL,
            focus: 20,
            data_dependent: false,
            traps: false,
            wrapping: false,
            promises: false,
            locks: false,
            stops: false,
            parameters: 0,
            output: true,
            ownership: Ownership::Mixed,
            limits: Limits {
                steps: 15_000,
                tasks: 250,
                accesses: 4_000,
            },
        }
    }
}

impl Settings {
    /// The settings for a seed: usually all constructs, sometimes corner cases.
    pub fn of_seed(seed: u64) -> Settings {
        match seed % 8 {
            0 => Settings::spawn_sync(),
            1 => Settings::async_finish(),
            2 => Settings {
                data_dependent: true,
                ..Settings::default()
            },
            3 => Settings {
                data_dependent: true,
                traps: true,
                ..Settings::default()
            },
            4 => Settings {
                ownership: Ownership::Ignored,
                focus: 60,
                ..Settings::default()
            },
            5 => Settings {
                ownership: Ownership::Kept,
                ..Settings::default()
            },
            6 => Settings::wrapping(),
            _ => Settings::default(),
        }
    }

    /// The settings for a seed in tests that allow everything. Like [`Settings::of_seed`], but
    /// integers wrap around, `main` has parameters, and in every other program tasks may fail or
    /// never end.
    pub fn wild(seed: u64) -> Settings {
        Settings {
            wrapping: true,
            stops: seed.is_multiple_of(2),
            parameters: 1 + (seed / 8 % 2) as u32,
            ..Settings::of_seed(seed / 2)
        }
    }

    /// With integers that wrap around.
    pub fn wrapping() -> Settings {
        Settings {
            wrapping: true,
            ..Settings::default()
        }
    }

    /// Promises and futures besides all else, in every other program besides `async` and `finish`
    /// alone. A run may deadlock.
    pub fn promises(seed: u64) -> Settings {
        Settings {
            promises: true,
            ownership: Ownership::Ignored,
            focus: 40,
            data_dependent: seed % 8 < 2,
            traps: seed.is_multiple_of(8),
            ..match seed.is_multiple_of(2) {
                true => Settings::default(),
                false => Settings::async_finish(),
            }
        }
    }

    /// Locks besides all else, in some programs with promises, in some with `spawn` and `sync`
    /// alone. A run may fail or deadlock.
    pub fn locks(seed: u64) -> Settings {
        let is_cilk = seed % 8 == 7;
        Settings {
            locks: true,
            promises: seed % 6 == 1 && !is_cilk,
            ownership: Ownership::Ignored,
            focus: 40,
            data_dependent: seed % 8 < 2,
            ..match seed.is_multiple_of(2) {
                true => Settings::default(),
                false if is_cilk => Settings::spawn_sync(),
                false => Settings::async_finish(),
            }
        }
    }

    /// Only `spawn` and `sync`.
    pub fn spawn_sync() -> Settings {
        Settings {
            constructs: Constructs {
                asyncs: false,
                finishes: false,
                foralls: false,
                isolated: false,
                dynamic_finishes: false,
                spawns: true,
            },
            ..Settings::default()
        }
    }

    /// `async`, `finish` and `forall`.
    pub fn async_finish() -> Settings {
        Settings {
            constructs: Constructs {
                isolated: false,
                dynamic_finishes: false,
                spawns: false,
                ..Constructs::ALL
            },
            ..Settings::default()
        }
    }

    /// At most four tasks and eight accesses: few enough to try every interleaving.
    pub fn tiny() -> Settings {
        Settings {
            statements: 16,
            functions: 1,
            objects: 1,
            nested_objects: false,
            focus: 85,
            output: false,
            ownership: Ownership::Ignored,
            limits: Limits {
                steps: 2_000,
                tasks: 3,
                accesses: 8,
            },
            ..Settings::default()
        }
    }
}
