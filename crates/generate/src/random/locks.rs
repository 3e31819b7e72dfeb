//! Locks: global variables that `main` sets first.
//!
//! Most blocks are well nested. Few take a lock that is held already, wait under a lock, or release
//! what they do not hold. So most programs go on, and the rest fail or deadlock.

use super::Generator;
use crate::shape::{Expression, Global, Name, ScopeKind, Statement, Type};

/// How many locks a program has.
const LOCKS: u32 = 3;

/// Percentage of statements in locked blocks that may wait for tasks all the same.
const WAITS: u32 = 3;

impl Generator<'_> {
    pub(super) fn declare_locks(&mut self) {
        let names = (1..=LOCKS).map(|number| Name::numbered("l", number));
        self.program.globals.extend(names.map(|name| Global {
            name,
            ty: Some(Type::Lock),
            initial: None,
            constant: false,
        }));
    }

    /// The statements by which `main` begins.
    pub(super) fn make_locks(&self) -> impl Iterator<Item = Statement> + use<> {
        (1..=LOCKS).map(|number| Statement::Assign {
            place: Expression::Name(Name::numbered("l", number)),
            op: None,
            value: Expression::NewLock,
        })
    }

    /// A lock to take here. Most often one that is not held.
    fn lock(&mut self) -> u32 {
        let free: Vec<u32> = (1..=LOCKS)
            .filter(|lock| self.scope.held & 1 << lock == 0)
            .collect();
        match free.is_empty() || self.rng.percent(2) {
            true => 1 + self.rng.below(LOCKS),
            false => self.rng.pick(&free),
        }
    }

    /// Whether something that waits for tasks, or may do so, can stand here.
    pub(super) fn may_wait(&mut self) -> bool {
        self.scope.held == 0 || self.rng.percent(WAITS)
    }

    /// `locked (l) { … }`, or the same by `acquire` and `release`.
    pub(super) fn locked(&mut self, out: &mut Vec<Statement>) {
        self.contains_parallel = true;
        self.charge(12);
        let lock = self.lock();
        let name = Name::numbered("l", lock);
        let before = self.scope.held;
        self.scope.held |= 1 << lock;
        if self.rng.percent(60) {
            let body = self.block();
            self.scope.held = before;
            out.push(Statement::Scope {
                kind: ScopeKind::Locked(name),
                body,
                bare: self.rng.percent(40),
            });
            return;
        }
        let call = |word| Statement::Call(Expression::Builtin(word, vec![Expression::Name(name)]));
        // A `return`, `break` or `continue` in between would leave the lock held.
        let (may_return, loop_exits) = (self.scope.may_return, self.scope.loop_exits.take());
        self.scope.may_return = false;
        out.push(call("acquire"));
        self.statements(out);
        if !self.rng.percent(1) {
            out.push(call("release"));
        }
        (self.scope.may_return, self.scope.loop_exits) = (may_return, loop_exits);
        self.scope.held = before;
    }
}
