//! Kernels (§5.4 of the paper): the parts of a program that can be judged by themselves.
//!
//! An outermost finish that is no part of a task orders all inside it after all before it and before all after it, so races
//! inside it are its own affair. What is parallel to anything outside such a finish belongs to the program as a whole.

use crate::facts::{AccessIndex, Facts};
use crate::order::Step;

/// A part of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum KernelId {
    /// The index of a finish.
    Finish(usize),
    Program,
}

/// The kernel that a path belongs to, if it is inside of one.
fn outermost(path: &[Step]) -> Option<usize> {
    path.iter().find_map(|step| match step {
        Step::Finish(index) => Some(Some(*index)),
        Step::Task => Some(None),
        Step::Nth(_) | Step::Loop { .. } => None,
    })?
}

fn has_task(path: &[Step]) -> bool {
    path.contains(&Step::Task)
}

pub(crate) struct Kernels {
    /// Each with the accesses that it compares.
    pub(crate) list: Vec<(KernelId, Vec<AccessIndex>)>,
}

/// Divides the accesses of a program.
pub(crate) fn divide(facts: &Facts) -> Kernels {
    let mut list: Vec<(KernelId, Vec<AccessIndex>)> = Vec::new();
    let mut escapes = false;
    for (index, access) in facts.accesses.iter().enumerate() {
        match outermost(&access.path) {
            Some(finish) => match list
                .iter_mut()
                .find(|(id, _)| *id == KernelId::Finish(finish))
            {
                Some((_, accesses)) => accesses.push(index),
                None => list.push((KernelId::Finish(finish), vec![index])),
            },
            None => escapes |= has_task(&access.path),
        }
    }
    list.retain(|(_, accesses)| {
        let mut paths = accesses.iter().map(|index| &facts.accesses[*index].path);
        paths.any(|path| has_task(path))
    });
    if escapes {
        list.push((KernelId::Program, (0..facts.accesses.len()).collect()));
    }
    Kernels { list }
}

/// Whether a pair of paths is judged by this kernel.
pub(crate) fn belongs(id: KernelId, first: &[Step], second: &[Step]) -> bool {
    match id {
        KernelId::Finish(_) => true,
        KernelId::Program => {
            let (one, other) = (outermost(first), outermost(second));
            one.is_none() || one != other
        }
    }
}

/// Whether something at this path concerns a kernel.
pub(crate) fn concerns(id: KernelId, path: &[Step]) -> bool {
    match id {
        KernelId::Finish(finish) => outermost(path) == Some(finish),
        KernelId::Program => true,
    }
}
