//! Where another task may be live.
//!
//! A data-flow analysis of each function with one fact, *another task may be live*, and with what the fact was
//! when each open finish was opened. A creation sets it. The end of a finish, and a `sync`, join what was created inside it, so
//! they restore what was when the finish was opened; with an async outside every finish nothing ever does, as the footnote in the
//! paper says. A call adds what the callee leaves running. A `begin_finish` is followed within its function; where control joins with
//! different ones open, or a callee may open or close one, they are forgotten, and the `end_finish` of a forgotten one restores
//! nothing.
//!
//! Linear in the program, times the depth of the finishes and the number of rounds until summaries of recursive functions settle.

use finishline_ir::{Function, Module, Op, Terminator};
use finishline_model::FinishKind;

/// What is known at a place of a function.
#[derive(Clone, PartialEq, Eq)]
struct State {
    /// Another task may be live.
    live: bool,
    /// The finishes this function has open: the kind, and `live` when it was opened. Of `begin_finish`es there may be more than
    /// these below the listed ones, but never among or above them.
    open: Vec<(FinishKind, bool)>,
}

impl State {
    fn entry(live: bool) -> State {
        State {
            live,
            open: Vec::new(),
        }
    }

    fn follow(&mut self, op: &Op, liveness: &Liveness) {
        match op {
            Op::Spawn { .. } => self.live = true,
            Op::FinishBegin(kind) => self.open.push((*kind, self.live)),
            Op::FinishEnd(FinishKind::Dynamic) => {
                if let Some((_, before)) = self.open.pop_if(|(kind, _)| is_dynamic(kind)) {
                    self.live = before;
                }
            }
            Op::FinishEnd(_) => {
                // A `begin_finish` inside that is open still makes this fail.
                self.forget_dynamic();
                if let Some((_, before)) = self.open.pop() {
                    self.live = before;
                }
            }
            Op::Sync => {
                if let Some((_, before)) = self.open.iter().rfind(|(kind, _)| !is_dynamic(kind)) {
                    self.live = *before;
                }
            }
            Op::Call { function, .. } => {
                self.live |= liveness.leaves_tasks[function.index()];
                if liveness.dynamic[function.index()] {
                    self.forget_dynamic();
                }
            }
            _ => {}
        }
    }

    /// Forgets the `begin_finish`es inside the innermost lexical finish: only these can be closed next.
    fn forget_dynamic(&mut self) {
        while self.open.pop_if(|(kind, _)| is_dynamic(kind)).is_some() {}
    }

    /// What holds if either does; whether that is news.
    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        let kinds = |state: &State| -> Vec<FinishKind> {
            state.open.iter().map(|(kind, _)| *kind).collect()
        };
        let mut other = other.clone();
        if kinds(self) != kinds(&other) {
            // The lexical ones agree, as the verifier demands.
            for state in [&mut *self, &mut other] {
                state.open.retain(|(kind, _)| !is_dynamic(kind));
            }
        }
        self.live |= other.live;
        for ((_, mine), (_, theirs)) in self.open.iter_mut().zip(&other.open) {
            *mine |= *theirs;
        }
        *self != before
    }
}

fn is_dynamic(kind: &FinishKind) -> bool {
    *kind == FinishKind::Dynamic
}

/// By function, what a call of it does.
pub(crate) struct Liveness {
    /// Called with no other task live, it may return with one.
    pub(crate) leaves_tasks: Vec<bool>,
    /// It may open or close a `begin_finish`.
    pub(crate) dynamic: Vec<bool>,
}

impl Liveness {
    pub(crate) fn of(module: &Module) -> Liveness {
        let count = module.functions.len();
        let mut callers = vec![Vec::new(); count];
        let mut dynamic = vec![false; count];
        let mut reached = Vec::new();
        for (index, function) in module.functions.iter().enumerate() {
            for op in operations(function) {
                match op {
                    Op::Call { function, .. } => callers[function.index()].push(index),
                    Op::FinishBegin(FinishKind::Dynamic) | Op::FinishEnd(FinishKind::Dynamic) => {
                        reached.push(index);
                    }
                    _ => {}
                }
            }
        }
        while let Some(index) = reached.pop() {
            if !std::mem::replace(&mut dynamic[index], true) {
                reached.extend(&callers[index]);
            }
        }
        let mut liveness = Liveness {
            leaves_tasks: vec![false; count],
            dynamic,
        };
        let mut waiting: Vec<usize> = (0..count).collect();
        while let Some(index) = waiting.pop() {
            let function = &module.functions[index];
            if !liveness.leaves_tasks[index] && leaves_tasks(function, &liveness) {
                liveness.leaves_tasks[index] = true;
                waiting.extend(&callers[index]);
            }
        }
        liveness
    }
}

pub(super) fn operations(function: &Function) -> impl Iterator<Item = &Op> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.map(|instruction| &instruction.op)
}

fn leaves_tasks(function: &Function, liveness: &Liveness) -> bool {
    let mut leaves = false;
    let states = on_entry(function, liveness);
    for (block, state) in function.blocks.iter().zip(states) {
        if let (Terminator::Return(_), Some(mut state)) = (&block.terminator, state) {
            for instruction in &block.instructions {
                state.follow(&instruction.op, liveness);
            }
            leaves |= state.live;
        }
    }
    leaves
}

/// By block, the state on its entry if the function is called with no other task live. None if control never gets there.
fn on_entry(function: &Function, liveness: &Liveness) -> Vec<Option<State>> {
    let mut states: Vec<Option<State>> = vec![None; function.blocks.len()];
    states[Function::ENTRY.index()] = Some(State::entry(false));
    let mut waiting = vec![Function::ENTRY];
    while let Some(id) = waiting.pop() {
        let block = function.block(id);
        let Some(mut state) = states[id.index()].clone() else {
            continue;
        };
        for instruction in &block.instructions {
            state.follow(&instruction.op, liveness);
        }
        for target in block.terminator.targets() {
            let news = match &mut states[target.block.index()] {
                Some(known) => known.join(&state),
                unknown => {
                    *unknown = Some(state.clone());
                    true
                }
            };
            if news {
                waiting.push(target.block);
            }
        }
    }
    states
}

/// Calls `visit` with every operation that can run, and with whether another task may be live there.
pub(super) fn for_each_op(
    function: &Function,
    parallel: bool,
    liveness: &Liveness,
    mut visit: impl FnMut(&Op, bool),
) {
    if parallel {
        // Nothing in it waits for what was live before it was called.
        operations(function).for_each(|op| visit(op, true));
        return;
    }
    for (block, state) in function.blocks.iter().zip(on_entry(function, liveness)) {
        let Some(mut state) = state else { continue };
        for instruction in &block.instructions {
            visit(&instruction.op, state.live);
            state.follow(&instruction.op, liveness);
        }
    }
}
