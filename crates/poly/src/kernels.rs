//! Kernels (§5.4 of the paper): the parts of a program that can be judged by themselves.
//!
//! Take an outermost finish that is not part of a task. What is before the finish happens before
//! everything inside, and everything inside before what is after. So the finish is a kernel of its
//! own. What is parallel to something outside belongs to the kernel of the whole program.

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

/// Divides the accesses of a program. What was not taken apart may access anything, so it counts as
/// well.
pub(crate) fn divide(facts: &Facts) -> Kernels {
    let mut parts: Vec<Part> = Vec::new();
    let mut escapes = false;
    let accesses = facts.accesses.iter().enumerate();
    let accesses = accesses.map(|(index, access)| (&access.path, Some(index)));
    let foreign = facts.gaps.iter().filter(|gap| gap.is_foreign());
    for (path, access) in accesses.chain(foreign.map(|gap| (&gap.path, None))) {
        let Some(finish) = outermost(path) else {
            escapes |= has_task(path);
            continue;
        };
        let at = parts.iter().position(|part| part.finish == finish);
        let at = at.unwrap_or_else(|| {
            parts.push(Part {
                finish,
                accesses: Vec::new(),
                is_parallel: false,
            });
            parts.len() - 1
        });
        parts[at].accesses.extend(access);
        parts[at].is_parallel |= has_task(path);
    }
    let parallel = parts.into_iter().filter(|part| part.is_parallel);
    let mut list: Vec<_> = parallel
        .map(|part| (KernelId::Finish(part.finish), part.accesses))
        .collect();
    if escapes {
        list.push((KernelId::Program, (0..facts.accesses.len()).collect()));
    }
    Kernels { list }
}

/// What is inside of an outermost finish.
struct Part {
    finish: usize,
    accesses: Vec<AccessIndex>,
    /// Some of it is in a task.
    is_parallel: bool,
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
