//! Promises and futures: local names that tasks capture.
//!
//! Most gets are of promises that a statement before has set, so that most programs go on. The rest
//! may deadlock. A promise is set where it is reached as often as made, most often once.

use super::rights::Rights;
use super::{Generator, Local, Scope};
use crate::random::world::Scalar;
use crate::shape::{Expression, Name, Statement, Type};

/// A promise or future that can be named here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    name: Name,
    carried: Scalar,
    is_future: bool,
    /// A statement before sets it.
    is_set: bool,
    /// How often at most the place is reached where it is made.
    weight: i64,
}

impl Generator<'_> {
    fn declared(&mut self, stem: &'static str, value: Expression, awaited: Awaited) -> Statement {
        let name = self.name(stem);
        self.promises.push(Awaited { name, ..awaited });
        Statement::Let {
            name,
            ty: None,
            value,
        }
    }

    /// `let p = new promise<T>();`
    pub(super) fn new_promise(&mut self) -> Option<Statement> {
        let carried = self
            .rng
            .pick(&[Scalar::Int, Scalar::Int, Scalar::Float, Scalar::Bool]);
        self.charge(4);
        let awaited = Awaited {
            name: Name::MAIN,
            carried,
            is_future: false,
            is_set: false,
            weight: self.scope.weight,
        };
        Some(self.declared("p", Expression::NewPromise(carried.ty()), awaited))
    }

    /// `let f = future { value };`
    pub(super) fn future(&mut self) -> Option<Statement> {
        self.charge_tasks(1)?;
        self.tasks += 1;
        let inner = Scope {
            task: self.tasks,
            weight: self.scope.weight,
            depth: self.scope.depth,
            in_loop: self.scope.in_loop,
            may_return: false,
            ..Scope::with(Rights::default())
        };
        let outer = std::mem::replace(&mut self.scope, inner);
        let carried = self.scalar();
        let value = self.expression(carried, 3, false);
        self.scope = outer;
        let awaited = Awaited {
            name: Name::MAIN,
            carried,
            is_future: true,
            is_set: true,
            weight: self.scope.weight,
        };
        Some(self.declared("f", Expression::Future(Box::new(value)), awaited))
    }

    /// `p.set(value);`
    pub(super) fn set(&mut self) -> Option<Statement> {
        let again = self.rng.percent(4);
        let weight = self.scope.weight;
        let settable = |it: &Awaited| !it.is_future && it.weight == weight && (again || !it.is_set);
        let chosen = self.choose_promise(settable)?;
        let Awaited { name, carried, .. } = self.promises[chosen];
        let value = self.expression(carried, 2, false);
        self.promises[chosen].is_set = true;
        self.charge(4);
        let object = Box::new(Expression::Name(name));
        Some(Statement::Call(Expression::Method(
            object,
            "set",
            vec![value],
        )))
    }

    /// `let v = p.get();`
    pub(super) fn get(&mut self) -> Option<Statement> {
        let bold = self.rng.percent(12);
        let chosen = self.choose_promise(|it| bold || it.is_set)?;
        let Awaited { name, carried, .. } = self.promises[chosen];
        self.charge(4);
        self.contains_parallel = true;
        let object = Box::new(Expression::Name(name));
        let value = Expression::Method(object, "get", Vec::new());
        let name = self.name("v");
        let task = self.scope.task;
        self.locals.push(Local {
            name,
            scalar: carried,
            mutable: false,
            task,
            steady: false,
            bound: None,
            reserved: false,
        });
        Some(Statement::Let {
            name,
            ty: None,
            value,
        })
    }

    fn choose_promise(&mut self, suits: impl Fn(&Awaited) -> bool) -> Option<usize> {
        let suitable: Vec<usize> = (0..self.promises.len())
            .filter(|&index| suits(&self.promises[index]))
            .collect();
        (!suitable.is_empty()).then(|| suitable[self.rng.index(suitable.len())])
    }
}

impl Type {
    /// `promise<T>`.
    pub fn promise(carried: Type) -> Type {
        Type::Promise(Box::new(carried))
    }
}
