//! Why no task of a deadlock goes on: for each task that waits, the tasks that it waits for.
//!
//! A task at a finish waits for the tasks of the finish. A task at an `acquire` waits for the task
//! that holds the lock. A task at a `get` waits for the tasks that may set the promise
//! ([`crate::remaining`]). If there are none, nobody is left to set it. A cycle is looked for among
//! these links. If a promise is among them, it is a cycle that may be, like each of its sets.
//!
//! The interpreter runs the program once more, because it alone knows where each call of a task
//! goes on. It is slow. So it gives up after [`FUEL`] steps, and then nothing is said about who may
//! set a promise. A run that does not end in the same deadlock is not believed.

use crate::cooperative::Cooperative;
use crate::explore::scheduled;
use crate::question::Question;
use crate::remaining::Remaining;
use crate::run::until_all_wait;
use finishline_answer::answer::Tasks;
use finishline_ir::machine::{Datum, Handle, Machine, Trap, TrapKind, Waiting, WaitsFor};
use finishline_ir::{Module, Op};
use finishline_model::TaskId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The most tasks of a deadlock that are shown besides the first.
const MOST_WAITING: usize = 20;
/// The most steps of the interpreter's run.
const FUEL: u64 = 50_000_000;
/// The most tasks among which links are looked for.
const MOST_LINKED: usize = 1000;

/// A deadlock, explained.
pub(crate) struct Deadlock {
    /// Every task that waits, by task.
    pub(crate) waiting: Vec<Waiting>,
    /// By waiting task: those that it waits for. Each is in ascending order.
    links: Option<Vec<Vec<usize>>>,
    /// Each waits for the next one, and the last for the first.
    cycle: Option<Vec<usize>>,
    /// Those that the report shows: first the task of the failure, then the others by task.
    pub(crate) shown: Vec<usize>,
}

impl Deadlock {
    /// None if the program failed in another way.
    pub(crate) fn of(question: &Question<'_>, trap: &Trap) -> Option<Deadlock> {
        let TrapKind::Deadlock { waiting } = &trap.kind else {
            return None;
        };
        let first = waiting.iter().position(|it| it.task == trap.task)?;
        let links = links(question, trap, waiting);
        let cycle = links.as_ref().and_then(|links| cycle(links, first));
        let cycle = cycle.map(|cycle| from_a_cause(cycle, waiting));
        let mut deadlock = Deadlock {
            waiting: waiting.clone(),
            links,
            cycle,
            shown: Vec::new(),
        };
        deadlock.shown = deadlock.to_show(first);
        Some(deadlock)
    }

    /// The first task, the others of the cycle, and then as many of the rest as there is room for.
    fn to_show(&self, first: usize) -> Vec<usize> {
        let mut chosen = vec![false; self.waiting.len()];
        let in_cycle = self.cycle.iter().flatten().copied();
        let mut room = MOST_WAITING;
        for task in in_cycle.chain(0..self.waiting.len()) {
            if task != first && !chosen[task] && room > 0 {
                chosen[task] = true;
                room -= 1;
            }
        }
        let others = (0..self.waiting.len()).filter(|task| chosen[*task]);
        std::iter::once(first).chain(others).collect()
    }

    /// The tasks that a task waits for, as a report numbers them.
    pub(crate) fn awaited(&self, task: usize) -> Option<Tasks> {
        let links = self.links.as_ref()?;
        Some(self.numbered(&links[task]))
    }

    pub(crate) fn cycle(&self) -> Option<Tasks> {
        self.cycle.as_ref().map(|cycle| self.numbered(cycle))
    }

    fn numbered(&self, tasks: &[usize]) -> Tasks {
        let number = |task: &usize| self.shown.iter().position(|shown| shown == task);
        Tasks {
            shown: tasks.iter().filter_map(number).collect(),
            count: tasks.len(),
        }
    }
}

/// Which tasks each one waits for. None if that is not known.
fn links(question: &Question<'_>, trap: &Trap, waiting: &[Waiting]) -> Option<Vec<Vec<usize>>> {
    if waiting.len() > MOST_LINKED {
        return None;
    }
    let module = question.module;
    let machine = match &question.schedule {
        Some(script) => scheduled::deadlock(question.program(), script)?,
        None => until_all_wait(
            FUEL,
            module,
            &question.arguments,
            question.limits,
            &mut Cooperative::default(),
        )?,
    };
    if machine.deadlock().as_ref() != Some(trap) {
        return None;
    }
    let tasks = waiting.iter().map(|waiting| waiting.task);
    let mut remaining = Remaining::of(module, &machine, tasks.clone())?;
    let sets = tasks.map(|task| remaining.sets(task));
    let sets = sets.collect::<Option<Vec<_>>>()?;
    let number: FxHashMap<TaskId, usize> = (waiting.iter().map(|it| it.task)).zip(0..).collect();
    let links = waiting.iter().map(|waiting| match waiting.waits_for {
        WaitsFor::Promise(_) => {
            let promise = awaited_promise(module, &machine, waiting.task)?;
            let may_set = |task: &usize| sets[*task].contain(promise, &machine);
            Some((0..sets.len()).filter(may_set).collect())
        }
        WaitsFor::Lock { holder, .. } => Some(number.get(&holder).copied().into_iter().collect()),
        WaitsFor::Finish(finish) => {
            let tasks = machine.tasks_in(finish);
            let tasks = tasks.map(|task| number.get(&task).copied());
            let mut tasks = tasks.collect::<Option<Vec<usize>>>()?;
            tasks.sort_unstable();
            Some(tasks)
        }
    });
    links.collect()
}

/// The promise that a task is about to get.
fn awaited_promise(module: &Module, machine: &Machine<'_>, task: TaskId) -> Option<Handle> {
    let frame = machine.suspended(task).last()?;
    let block = module.function(frame.function).block(frame.block);
    let Op::PromiseGet(promise) = block.instructions.get(frame.next)?.op else {
        return None;
    };
    match frame.registers[promise.index()] {
        Datum::Ref(promise) => promise,
        _ => None,
    }
}

/// A shortest cycle through `first`, or else one that `first` leads to, or else any.
fn cycle(links: &[Vec<usize>], first: usize) -> Option<Vec<usize>> {
    let through = |task| shortest_cycle(links, task);
    through(first).or_else(|| through(on_a_cycle(links, first)?))
}

/// Some task on a cycle, one that `first` leads to if there is one.
fn on_a_cycle(links: &[Vec<usize>], first: usize) -> Option<usize> {
    // Those that lead to no cycle go, the last ones first.
    let mut leads_on: Vec<usize> = links.iter().map(Vec::len).collect();
    let mut led_from: Vec<Vec<usize>> = vec![Vec::new(); links.len()];
    for (from, links) in links.iter().enumerate() {
        links.iter().for_each(|to| led_from[*to].push(from));
    }
    let mut ends: Vec<usize> = (0..links.len()).filter(|it| leads_on[*it] == 0).collect();
    while let Some(end) = ends.pop() {
        for from in &led_from[end] {
            leads_on[*from] -= 1;
            if leads_on[*from] == 0 {
                ends.push(*from);
            }
        }
    }
    let all = std::iter::once(first).chain(0..links.len());
    let mut at = all.into_iter().find(|task| leads_on[*task] > 0)?;
    // Every task that is left leads to another one that is left: sooner or later to one again.
    let mut seen = vec![false; links.len()];
    while !std::mem::replace(&mut seen[at], true) {
        at = *links[at].iter().find(|task| leads_on[**task] > 0)?;
    }
    Some(at)
}

/// A shortest cycle through a task, which is its first.
fn shortest_cycle(links: &[Vec<usize>], task: usize) -> Option<Vec<usize>> {
    let mut from: Vec<Option<usize>> = vec![None; links.len()];
    let mut queue = VecDeque::from([task]);
    while let Some(at) = queue.pop_front() {
        for &next in &links[at] {
            if next == task {
                let back = |at: &usize| if *at == task { None } else { from[*at] };
                let mut cycle: Vec<usize> = std::iter::successors(Some(at), back).collect();
                cycle.reverse();
                return Some(cycle);
            }
            if from[next].is_none() {
                from[next] = Some(at);
                queue.push_back(next);
            }
        }
    }
    None
}

/// The same cycle, from its first task at a `get` or an `acquire` on. There is one: tasks wait for
/// those that they created, not the other way round, unless a promise or a lock is between them.
fn from_a_cause(mut cycle: Vec<usize>, waiting: &[Waiting]) -> Vec<usize> {
    let causes = |task: &&usize| !matches!(waiting[**task].waits_for, WaitsFor::Finish(_));
    let first = cycle.iter().filter(causes).min();
    let place = first.and_then(|first| cycle.iter().position(|task| task == first));
    cycle.rotate_left(place.unwrap_or_default());
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_shortest_and_through_the_first_if_they_can() {
        let found = |links: &[&[usize]]| {
            let links: Vec<Vec<usize>> = links.iter().map(|it| it.to_vec()).collect();
            cycle(&links, 0)
        };
        assert_eq!(found(&[&[]]), None);
        assert_eq!(found(&[&[0]]), Some(vec![0]));
        assert_eq!(found(&[&[1], &[2], &[]]), None);
        assert_eq!(found(&[&[1], &[2, 0], &[2]]), Some(vec![0, 1]));
        assert_eq!(found(&[&[1, 2], &[2], &[0]]), Some(vec![0, 2]));
        // The first one only leads to a cycle, behind a way that ends.
        assert_eq!(found(&[&[1, 2], &[], &[3], &[4], &[3]]), Some(vec![3, 4]));
        // It leads to none.
        assert_eq!(found(&[&[], &[2], &[1, 0]]), Some(vec![1, 2]));
    }
}
