//! Pipelines and wavefronts: tasks that wait for their neighbours by an array of promises.
//!
//! There is a task for each point of a line or a grid, or for each row of a grid. A task gets the
//! promises of points before its own, accesses shared arrays and sets its own promise. Other tasks
//! and main may get promises too. Many programs have a mistake or two: a `get` of another point,
//! after the access, under a condition or nowhere; a `set` before the access, of another point or
//! twice; a promise that two points have in common, or that is replaced. So some of them race, and
//! some wait for ever. For arguments in [`ARGUMENTS`](super::ARGUMENTS) no index is out of bounds.

use crate::rng::Rng;
use crate::shape::{
    BinaryOp, Expression, Function, Global, Name, Program, Range, ScopeKind, Statement, Type,
};

/// An index is a counter plus an offset. This one leads to the first point.
const ORIGIN: i64 = 3;
/// The length of all arrays, in each direction.
const SIDE: i64 = 15;

const PARAMETER: Name = Name::plain("n");
const COUNTERS: [Name; 2] = [Name::plain("i"), Name::plain("j")];
const DATA: [Name; 2] = [Name::plain("a"), Name::plain("b")];
const DONE: Name = Name::plain("done");
const OTHER: Name = Name::plain("other");
const SUM: Name = Name::plain("sum");
const HELD: Name = Name::plain("p");

/// How far a point is from that of the task.
type Distance = [i64; 2];

/// What a point of a line or a grid waits for.
const LINES: [&[Distance]; 5] = [
    &[[-1, 0]],
    &[[-1, 0]],
    &[[-2, 0]],
    &[[-1, 0], [-2, 0]],
    &[[1, 0]],
];
const GRIDS: [&[Distance]; 6] = [
    &[[-1, 0], [0, -1]],
    &[[-1, 0], [0, -1]],
    &[[-1, 0], [0, -1], [-1, -1]],
    &[[-1, 0]],
    &[[0, -1]],
    &[[-1, 1], [0, -1]],
];

/// A pipeline from a seed.
pub fn pipeline(seed: u64) -> Program {
    let mut generator = Generator {
        rng: Rng::new(seed),
        dimensions: 1,
        mistakes: 0,
        names: 0,
    };
    generator.program()
}

struct Generator {
    rng: Rng,
    dimensions: usize,
    /// In percent: how often something is not as it should be.
    mistakes: u32,
    names: u32,
}

fn name(name: Name) -> Expression {
    Expression::Name(name)
}

fn assign(place: Expression, op: Option<BinaryOp>, value: Expression) -> Statement {
    Statement::Assign { place, op, value }
}

fn method(object: Expression, word: &'static str, arguments: Vec<Expression>) -> Expression {
    Expression::Method(Box::new(object), word, arguments)
}

fn only_if(condition: Expression, then: Vec<Statement>) -> Statement {
    Statement::If {
        condition,
        then,
        otherwise: None,
    }
}

impl Generator {
    fn errs(&mut self) -> bool {
        let mistakes = self.mistakes;
        self.rng.percent(mistakes)
    }

    fn program(&mut self) -> Program {
        self.dimensions = self.rng.pick(&[1, 1, 2]);
        self.mistakes = self.rng.pick(&[0, 0, 4, 8, 16]);
        let mut body = Vec::new();
        for array in DATA {
            body.push(self.array(array, Type::Int));
        }
        body.push(self.array(DONE, Type::promise(Type::Int)));
        let other = self.errs() || self.rng.percent(10);
        if other {
            body.push(self.array(OTHER, Type::promise(Type::Int)));
        }
        let is_set_before = self.rng.percent(50);
        let filled = self.filled(other, is_set_before);
        body.push(self.over_all(filled));
        let mut tasks = self.tasks(other, !is_set_before);
        if self.rng.percent(30) {
            let consumer = self.consumer();
            let at = self.rng.index(tasks.len() + 1);
            tasks.insert(at, consumer);
        }
        if self.rng.percent(30) {
            tasks.extend(self.last_point());
        }
        body.push(Statement::scope(ScopeKind::Finish, tasks));
        if self.rng.percent(30) {
            body.push(Statement::Print(Vec::new()));
        }
        Program {
            structs: Vec::new(),
            globals: vec![Global {
                name: SUM,
                ty: Some(Type::Int),
                initial: None,
                constant: false,
            }],
            functions: vec![Function {
                name: Name::MAIN,
                parameters: vec![(PARAMETER, Type::Int)],
                result: None,
                body,
            }],
        }
    }

    fn array(&self, array: Name, element: Type) -> Statement {
        let sizes = vec![Expression::int(SIDE); self.dimensions];
        Statement::Let {
            name: array,
            ty: None,
            value: Expression::NewArray(element, sizes),
        }
    }

    /// A loop in each direction, from the first element to the last.
    fn over_all(&self, body: Vec<Statement>) -> Statement {
        let bounds = (Expression::int(0), Expression::int(SIDE));
        self.nested(&COUNTERS[..self.dimensions], &bounds, false, body)
    }

    fn nested(
        &self,
        counters: &[Name],
        (start, end): &(Expression, Expression),
        parallel: bool,
        mut body: Vec<Statement>,
    ) -> Statement {
        for (at, counter) in counters.iter().enumerate().rev() {
            body = vec![Statement::For {
                parallel: parallel && at == 0,
                counter: *counter,
                range: Range {
                    start: start.clone(),
                    end: end.clone(),
                    inclusive: false,
                    step: None,
                },
                body,
            }];
        }
        body.remove(0)
    }

    /// An element of an array at a distance from the counters plus an offset.
    fn at(&self, array: Name, offset: i64, distance: Distance) -> Expression {
        let counters = COUNTERS[..self.dimensions].iter().zip(distance);
        let indices = counters.map(|(counter, distance)| match offset + distance {
            0 => name(*counter),
            by => Expression::binary(BinaryOp::Add, name(*counter), Expression::int(by)),
        });
        Expression::element(name(array), indices.collect())
    }

    /// Makes the promises of an element. Those before the first point may be set at once.
    fn filled(&mut self, other: bool, is_set_before: bool) -> Vec<Statement> {
        let here = self.at(DONE, 0, [0, 0]);
        let promise = || Expression::NewPromise(Type::Int);
        let mut body = vec![assign(here.clone(), None, promise())];
        if self.errs() {
            // Two points have one promise.
            let before = Expression::binary(
                BinaryOp::Greater,
                name(COUNTERS[0]),
                Expression::int(self.rng.between(0, ORIGIN + 2)),
            );
            let shared = assign(here.clone(), None, self.at(DONE, 0, [-1, 0]));
            body.push(only_if(before, vec![shared]));
        }
        if other {
            let theirs = match self.rng.percent(50) {
                true => here.clone(),
                false => promise(),
            };
            body.push(assign(self.at(OTHER, 0, [0, 0]), None, theirs));
        }
        if is_set_before {
            let before = |counter: &Name| {
                Expression::binary(BinaryOp::Less, name(*counter), Expression::int(ORIGIN))
            };
            let mut outside = before(&COUNTERS[0]);
            if self.dimensions == 2 {
                outside = Expression::binary(BinaryOp::OrElse, outside, before(&COUNTERS[1]));
            }
            let set = method(here, "set", vec![Expression::int(0)]);
            body.push(only_if(outside, vec![Statement::Call(set)]));
        }
        body
    }

    /// The loops that create the tasks.
    fn tasks(&mut self, other: bool, guarded: bool) -> Vec<Statement> {
        let mut body = self.point(other, guarded);
        if self.errs() {
            body.insert(0, self.replaced());
        }
        let bounds = (Expression::int(0), name(PARAMETER));
        let counters = &COUNTERS[..self.dimensions];
        // A task for each row goes through its points in order.
        let rows = self.dimensions == 2 && self.rng.percent(35);
        if rows {
            body = vec![self.nested(&counters[1..], &bounds, false, body)];
        }
        let counters = if rows { &counters[..1] } else { counters };
        if counters.len() == 1 && self.rng.percent(15) {
            return vec![self.nested(counters, &bounds, true, body)];
        }
        let task = Statement::scope(ScopeKind::Async, body);
        vec![self.nested(counters, &bounds, false, vec![task])]
    }

    /// What a task does for a point.
    fn point(&mut self, other: bool, guarded: bool) -> Vec<Statement> {
        let waits: &[Distance] = match self.dimensions {
            1 => self.rng.pick(&LINES),
            _ => self.rng.pick(&GRIDS),
        };
        let mut body = Vec::new();
        // Neighbours exchange: a task writes and sets first, then it waits and reads.
        let exchanges = self.rng.percent(20);
        if exchanges {
            let own = self.at(DATA[0], ORIGIN, [0, 0]);
            body.push(assign(own, None, name(COUNTERS[0])));
            body.push(self.set(other));
        }
        for distance in waits {
            if !self.errs() {
                let get = self.get(other, guarded, *distance);
                body.extend(get);
            }
        }
        if exchanges {
            let far = self.far(waits);
            let seen = self.at(DATA[0], ORIGIN, far);
            body.push(assign(self.at(DATA[1], ORIGIN, [0, 0]), None, seen));
            return body;
        }
        for _ in 0..self.rng.between(1, 2) {
            body.push(self.access(waits));
        }
        if !self.errs() {
            let set = self.set(other);
            body.push(set);
        }
        if self.errs() && self.rng.percent(40) {
            let set = self.set(other);
            body.push(set);
        }
        if self.errs() {
            let at = self.rng.index(body.len().max(2) - 1);
            if at + 1 < body.len() && !matches!(body[at], Statement::Let { .. }) {
                body.swap(at, at + 1);
            }
        }
        body
    }

    fn promises(&mut self, other: bool) -> Name {
        match other && self.rng.percent(40) {
            true => OTHER,
            false => DONE,
        }
    }

    /// Waits for a point at a distance.
    fn get(&mut self, other: bool, guarded: bool, mut distance: Distance) -> Vec<Statement> {
        if self.errs() {
            distance[0] += self.rng.pick(&[-1, 1]);
        }
        let array = self.promises(other);
        let promise = self.at(array, ORIGIN, distance);
        if self.rng.percent(15) && !guarded {
            // The same by a name.
            self.names += 1;
            let held = Name::numbered(HELD.stem, self.names);
            let bound = Statement::Let {
                name: held,
                ty: None,
                value: promise,
            };
            let get = method(name(held), "get", Vec::new());
            return vec![bound, Statement::Call(get)];
        }
        let get = Statement::Call(method(promise, "get", Vec::new()));
        let mut condition = None;
        if guarded {
            let inside = (COUNTERS.iter().zip(distance)).filter(|(_, distance)| *distance != 0);
            for (counter, distance) in inside {
                let wrong = i64::from(self.errs());
                let (op, limit) = match distance < 0 {
                    true => (BinaryOp::GreaterEqual, Expression::int(wrong - distance)),
                    false => {
                        let limit = Expression::int(distance - wrong);
                        (
                            BinaryOp::Less,
                            Expression::binary(BinaryOp::Subtract, name(PARAMETER), limit),
                        )
                    }
                };
                let one = Expression::binary(op, name(*counter), limit);
                condition = Some(match condition {
                    Some(all) => Expression::binary(BinaryOp::AndAlso, all, one),
                    None => one,
                });
            }
        } else if self.errs() {
            let value = match self.rng.percent(50) {
                true => self.at(DATA[0], ORIGIN, [0, 0]),
                false => {
                    Expression::binary(BinaryOp::Remainder, name(COUNTERS[0]), Expression::int(2))
                }
            };
            condition = Some(Expression::binary(
                BinaryOp::Equal,
                value,
                Expression::int(0),
            ));
        }
        vec![match condition {
            Some(condition) => only_if(condition, vec![get]),
            None => get,
        }]
    }

    /// Accesses the point of a task, and one at a distance.
    fn access(&mut self, waits: &[Distance]) -> Statement {
        let array = self.rng.pick(&DATA);
        if self.rng.percent(20) {
            return assign(name(SUM), Some(BinaryOp::Add), name(COUNTERS[0]));
        }
        let far = self.far(waits);
        let (mut place, mut seen) = (self.at(array, ORIGIN, [0, 0]), self.at(array, ORIGIN, far));
        if self.rng.percent(15) {
            std::mem::swap(&mut place, &mut seen);
        }
        let value = Expression::binary(BinaryOp::Add, seen, Expression::int(1));
        assign(place, None, value)
    }

    /// Where a task may look: mostly where it has waited for somebody.
    fn far(&mut self, waits: &[Distance]) -> Distance {
        let mut far = waits[self.rng.index(waits.len())];
        if self.rng.percent(20) {
            // Two steps away.
            let more = waits[self.rng.index(waits.len())];
            far = [far[0] + more[0], far[1] + more[1]];
        }
        if self.errs() {
            far[0] += self.rng.pick(&[-2, -1, 1, 2]);
        }
        far.map(|it| it.clamp(-ORIGIN, ORIGIN))
    }

    /// Sets the promise of a task.
    fn set(&mut self, other: bool) -> Statement {
        let distance = match self.errs() {
            true => [self.rng.pick(&[-1, 1]), 0],
            false => [0, 0],
        };
        let array = self.promises(other);
        let promise = self.at(array, ORIGIN, distance);
        let value = match self.rng.percent(30) {
            true => self.at(DATA[0], ORIGIN, [0, 0]),
            false => Expression::int(1),
        };
        let set = Statement::Call(method(promise, "set", vec![value]));
        if self.rng.percent(10) {
            // What comes before is before a new task as well.
            return Statement::scope(ScopeKind::Async, vec![set]);
        }
        match self.errs() && self.rng.percent(40) {
            true => Statement::scope(ScopeKind::Isolated, vec![set]),
            false => set,
        }
    }

    /// Another promise for a point, or that of a neighbour.
    fn replaced(&mut self) -> Statement {
        let value = match self.rng.percent(50) {
            true => Expression::NewPromise(Type::Int),
            false => self.at(DONE, ORIGIN, [1, 0]),
        };
        let replaced = assign(self.at(DONE, ORIGIN, [0, 0]), None, value);
        let some = Expression::binary(
            BinaryOp::Equal,
            name(COUNTERS[0]),
            Expression::int(self.rng.between(0, 2)),
        );
        match self.rng.percent(50) {
            true => only_if(some, vec![replaced]),
            false => replaced,
        }
    }

    /// A task that waits for all points in turn.
    fn consumer(&mut self) -> Statement {
        let get = method(self.at(DONE, ORIGIN, [0, 0]), "get", Vec::new());
        let seen = self.at(DATA[0], ORIGIN, [0, 0]);
        let mut body = vec![
            Statement::Call(get),
            assign(self.at(DATA[1], ORIGIN, [0, 0]), None, seen),
        ];
        if self.errs() {
            body.swap(0, 1);
        }
        let bounds = (Expression::int(0), name(PARAMETER));
        let all = self.nested(&COUNTERS[..self.dimensions], &bounds, false, body);
        Statement::scope(ScopeKind::Async, vec![all])
    }

    /// Main waits for the last point, and accesses what the tasks do.
    fn last_point(&mut self) -> Vec<Statement> {
        let back = 1 + i64::from(self.errs());
        let index = Expression::binary(
            BinaryOp::Add,
            name(PARAMETER),
            Expression::int(ORIGIN - back),
        );
        let indices = vec![index; self.dimensions];
        let last = |array| Expression::element(name(array), indices.clone());
        let get = Statement::Call(method(last(DONE), "get", Vec::new()));
        let access = match self.rng.percent(50) {
            true => assign(name(SUM), Some(BinaryOp::Add), Expression::int(1)),
            false => assign(last(DATA[0]), None, Expression::int(7)),
        };
        let some = Expression::binary(BinaryOp::Greater, name(PARAMETER), Expression::int(0));
        vec![only_if(some, vec![get, access])]
    }
}
