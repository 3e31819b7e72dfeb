//! Loops, and what tasks created in a loop may own.
//!
//! The iterations of a loop can share memory without races in two ways. This task keeps some
//! locations to itself while its tasks only read others. Or each iteration owns the element of an
//! array that its counter selects.

use super::rights::{Rights, ones};
use super::{Generator, Local};
use crate::random::world::Scalar;
use crate::shape::{BinaryOp, Expression, Name, Range, Statement};

impl Generator<'_> {
    /// The body of a loop in this task. [`rights`](super::rights) explains what its tasks may get.
    /// `counter` is the counter's name with a bound on its values, if all values differ.
    fn loop_body(&mut self, trips: i64, counter: Option<(Name, i64)>) -> Vec<Statement> {
        let saved = self.scope;
        let gifts = self.gifts;
        // Rights that the enclosing loop must keep must be kept here too.
        let kept = self.rng.bits() | self.rng.bits() | !saved.givable;
        self.scope.rights.write &= kept;
        let dedicated = match counter {
            Some(counter) => self.dedicate(counter, saved.rights.only(saved.givable)),
            None => Vec::new(),
        };
        let fresh: u64 = dedicated.iter().map(|(element, _)| element).sum();
        self.scope.givable = fresh | !ones(self.world.locations.len());
        self.scope.sync_base = self.scope.sync_base.map(|_| self.scope.rights);
        self.scope.loop_exits = Some(self.scope.rights);
        self.scope.in_loop = true;
        self.scope.weight *= trips;
        let body = self.block();

        let inner = std::mem::replace(&mut self.scope, saved);
        self.scope.syncs = inner.syncs;
        if self.gifts != gifts {
            let exits = inner.loop_exits.unwrap_or(inner.rights).meet(inner.rights);
            self.scope.rights = exits.without(fresh);
            for &(element, array) in &dedicated {
                if exits.write & element != 0 {
                    self.scope.rights = self.scope.rights.join(Rights::all_of(array));
                }
            }
        }
        let outer = self.world.locations.len() - dedicated.len();
        self.world.locations.truncate(outer);
        body
    }

    /// Sets arrays aside so that each iteration owns one element, the one that its counter selects.
    /// Returns for each array the new location `a[i]` and the locations of `a`. The rights to the
    /// arrays leave the scope and those to the elements enter it.
    pub(super) fn dedicate(
        &mut self,
        (counter, bound): (Name, i64),
        held: Rights,
    ) -> Vec<(u64, u64)> {
        let mut dedicated = Vec::new();
        for index in 0..self.world.slots.len() {
            let slot = &self.world.slots[index];
            let mask = slot.mask();
            let fits = slot.kind.scalar().is_some()
                && slot.kind.sizes().len() == 1
                && bound <= slot.kind.sizes()[0]
                && mask & !held.write == 0
                && slot.path & !self.scope.rights.read == 0;
            if !fits || !self.world.has_room_for(1) || !self.rng.percent(60) {
                continue;
            }
            let element = self.world.add_chosen(index, counter);
            let rights = self.scope.rights.without(mask);
            self.scope.rights = rights.join(Rights::all_of(element));
            dedicated.push((element, mask));
        }
        dedicated
    }

    /// Counts up or down in a variable that nothing else assigns.
    pub(super) fn while_loop(&mut self, out: &mut Vec<Statement>) {
        let name = self.name("n");
        let trips = self.trips();
        let up = self.rng.percent(60);
        let (first, last) = if up { (0, trips) } else { (trips, 0) };
        let task = self.scope.task;
        self.locals.push(Local {
            name,
            scalar: Scalar::Int,
            mutable: true,
            task,
            steady: true,
            bound: None,
            reserved: true,
        });
        let counter = Expression::Name(name);
        let compare = if up {
            BinaryOp::Less
        } else {
            BinaryOp::Greater
        };
        let mut condition = Expression::binary(compare, counter.clone(), Expression::int(last));
        if self.rng.percent(20) {
            self.charge(10 * trips);
            // The condition is evaluated in every iteration, in parallel with tasks of earlier
            // ones. So no rights hold there.
            let steady = self.control() || self.slip == 0;
            let weight = self.scope.weight;
            self.scope.weight *= trips + 1;
            let more = self.expression(Scalar::Bool, 1, steady);
            self.scope.weight = weight;
            condition = Expression::binary(BinaryOp::AndAlso, condition, more);
        }
        self.charge(8 * trips + 4);
        let advance = Statement::Assign {
            place: counter,
            op: Some(if up {
                BinaryOp::Add
            } else {
                BinaryOp::Subtract
            }),
            value: Expression::int(1),
        };
        let mut body = vec![advance];
        body.extend(self.loop_body(trips, None));
        out.push(Statement::Var {
            name,
            ty: None,
            value: Some(Expression::int(first)),
        });
        out.push(Statement::While { condition, body });
    }

    pub(super) fn for_loop(&mut self) -> Statement {
        let (counter, range, trips, bound) = self.range();
        self.charge(8 * trips + 12);
        self.add_counter(counter, bound);
        let body = self.loop_body(trips, bound.map(|bound| (counter, bound)));
        self.locals.pop();
        Statement::For {
            parallel: false,
            counter,
            range,
            body,
        }
    }

    pub(super) fn add_counter(&mut self, name: Name, bound: Option<i64>) {
        let task = self.scope.task;
        self.locals.push(Local {
            name,
            scalar: Scalar::Int,
            mutable: false,
            task,
            steady: true,
            bound,
            reserved: true,
        });
    }

    fn trips(&mut self) -> i64 {
        self.rng.pick(&[0, 1, 2, 2, 3, 3, 4])
    }

    /// A counter, its range, the most values it takes, and a bound if all values are in `0..bound`.
    pub(super) fn range(&mut self) -> (Name, Range, i64, Option<i64>) {
        let counter = self.name("i");
        match self.rng.below(10) {
            0 | 1 => {
                let steady = self.control();
                let any = self.expression(Scalar::Int, 1, steady);
                let range = Range {
                    start: Expression::int(0),
                    end: Expression::binary(BinaryOp::And, any, Expression::int(3)),
                    inclusive: self.rng.percent(30),
                    step: None,
                };
                (counter, range, 4, Some(4))
            }
            2 if self.rng.percent(20) => {
                let range = Range {
                    start: Expression::int(i64::MAX - 1),
                    end: Expression::int(i64::MAX),
                    inclusive: true,
                    step: None,
                };
                (counter, range, 2, None)
            }
            2 if self.settings.traps => {
                let steady = self.control();
                let step = self.expression(Scalar::Int, 1, steady);
                let range = Range {
                    start: Expression::int(0),
                    end: Expression::int(4),
                    inclusive: false,
                    step: Some(Expression::binary(BinaryOp::And, step, Expression::int(3))),
                };
                (counter, range, 4, Some(4))
            }
            3..=5 => {
                let trips = self.trips();
                let range = Range {
                    start: Expression::int(0),
                    end: Expression::int(trips),
                    inclusive: false,
                    step: None,
                };
                (counter, range, trips, Some(trips.max(1)))
            }
            _ => self.stepped_range(counter),
        }
    }

    /// A range with any start and step, up or down. Its end lies anywhere between the last value
    /// and the one after it.
    fn stepped_range(&mut self, counter: Name) -> (Name, Range, i64, Option<i64>) {
        let trips = self.trips();
        let step = self.rng.pick(&[1, 1, 2, 3, -1, -1, -2, -3]);
        let inclusive = self.rng.percent(50);
        let start = match self.rng.below(3) {
            0 => self.rng.between(-3, 3),
            _ if step > 0 => 0,
            _ => (trips - 1).max(0) * -step,
        };
        let slack = i64::from(self.rng.below(i64::abs(step) as u32)) * step.signum();
        // The least end with this many values, then some slack towards the next value.
        let end = match (inclusive, trips) {
            (true, 0) => start - step.signum(),
            (true, _) => start + (trips - 1) * step + slack,
            (false, _) => start + trips * step - slack,
        };
        let last = start + (trips - 1).max(0) * step;
        let (least, greatest) = (start.min(last), start.max(last));
        let range = Range {
            start: Expression::int(start),
            end: Expression::int(end),
            inclusive,
            step: (step != 1 || self.rng.percent(20)).then(|| Expression::int(step)),
        };
        (counter, range, trips, (least >= 0).then_some(greatest + 1))
    }
}
