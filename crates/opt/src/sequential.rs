//! Main-task check elimination [ESP-bags §6.1]: no check where no other task can be running.
//!
//! **What is removed.** An access is *sequential* if it is made by the main task when every task created so far has ended and has been
//! waited for by the main task. Its check is removed if that holds wherever its id occurs in code that can run.
//!
//! **Why that is exact.** Let s be a sequential access. Everything any task did before s in the run happens before it: by the program's
//! order in the main task, or through the finish that the main task waited for. Everything after s happens after it: it is the
//! main task itself or created by it, directly or not, later. So s races with nothing, and removing it from the stream of events takes
//! no pair of racing accesses away, adds none and reorders none. By the definition of a race the set of racing locations
//! stays the same, and so does every detector's that is exact.
//! A detector that remembers a few accesses a location does not err for having forgotten s either: what it remembers instead is older,
//! hence before s and before everything that comes after s, so it is ordered before any later access as s is.
//!
//! **How it is found.** A data-flow analysis of each function with one fact, *another task may be live*, and with what the fact was
//! when each open finish was opened. A creation sets it. The end of a finish, and a `sync`, join what was created inside it, so
//! they restore what was when the finish was opened; with an async outside every finish nothing ever does, as the footnote in the
//! paper says. A call adds what the callee leaves running. A `begin_finish` is followed within its function; where control joins with
//! different ones open, or a callee may open or close one, they are forgotten, and the `end_finish` of a forgotten one restores
//! nothing. A function starts with the fact of all places it is called from; the body of a task always starts with another task live.
//!
//! Linear in the program, times the depth of the finishes and the number of rounds until summaries of recursive functions settle.

use finishline_ir::{Function, FunctionId, Module, Op, Terminator};
use finishline_model::{AccessId, FinishKind};
use std::collections::BTreeMap;

/// The reason noted in [`Module::unchecked`].
pub const REASON: &str = "no other task can be running here";

/// Removes the checks of sequential accesses.
pub fn sequential(module: &Module) -> Module {
    let summaries = Summaries::of(module);
    let sequential = sequential_accesses(module, &summaries);
    let mut module = module.clone();
    for block in module.functions.iter_mut().flat_map(|f| &mut f.blocks) {
        block.instructions.retain(|instruction| {
            !matches!(&instruction.op, Op::Check { access, .. } if sequential.get(access) == Some(&true))
        });
    }
    let removed = sequential.into_iter().filter(|(_, everywhere)| *everywhere);
    module
        .unchecked
        .extend(removed.map(|(access, _)| (access, REASON)));
    module
}

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

    fn follow(&mut self, op: &Op, summaries: &Summaries) {
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
                self.live |= summaries.leaves_tasks[function.index()];
                if summaries.dynamic[function.index()] {
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
struct Summaries {
    /// Called with no other task live, it may return with one.
    leaves_tasks: Vec<bool>,
    /// It may open or close a `begin_finish`.
    dynamic: Vec<bool>,
}

impl Summaries {
    fn of(module: &Module) -> Summaries {
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
        let mut summaries = Summaries {
            leaves_tasks: vec![false; count],
            dynamic,
        };
        let mut waiting: Vec<usize> = (0..count).collect();
        while let Some(index) = waiting.pop() {
            let function = &module.functions[index];
            if !summaries.leaves_tasks[index] && leaves_tasks(function, &summaries) {
                summaries.leaves_tasks[index] = true;
                waiting.extend(&callers[index]);
            }
        }
        summaries
    }
}

fn operations(function: &Function) -> impl Iterator<Item = &Op> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.map(|instruction| &instruction.op)
}

fn leaves_tasks(function: &Function, summaries: &Summaries) -> bool {
    let mut leaves = false;
    let states = on_entry(function, summaries);
    for (block, state) in function.blocks.iter().zip(states) {
        if let (Terminator::Return(_), Some(mut state)) = (&block.terminator, state) {
            for instruction in &block.instructions {
                state.follow(&instruction.op, summaries);
            }
            leaves |= state.live;
        }
    }
    leaves
}

/// By block, the state on its entry if the function is called with no other task live. None if control never gets there.
fn on_entry(function: &Function, summaries: &Summaries) -> Vec<Option<State>> {
    let mut states: Vec<Option<State>> = vec![None; function.blocks.len()];
    states[Function::ENTRY.index()] = Some(State::entry(false));
    let mut waiting = vec![Function::ENTRY];
    while let Some(id) = waiting.pop() {
        let block = function.block(id);
        let Some(mut state) = states[id.index()].clone() else {
            continue;
        };
        for instruction in &block.instructions {
            state.follow(&instruction.op, summaries);
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

/// The accesses in code that can run, each with whether it is sequential everywhere.
fn sequential_accesses(module: &Module, summaries: &Summaries) -> BTreeMap<AccessId, bool> {
    // By function: whether another task may be live where it starts, if it can run at all.
    let mut starts: Vec<Option<bool>> = vec![None; module.functions.len()];
    starts[module.main.index()] = Some(false);
    let mut waiting = vec![module.main];
    while let Some(id) = waiting.pop() {
        let parallel = starts[id.index()] == Some(true);
        for_each_op(module.function(id), parallel, summaries, |op, live| {
            let (callee, live): (FunctionId, bool) = match op {
                Op::Call { function, .. } => (*function, live),
                Op::Spawn { function, .. } => (*function, true),
                _ => return,
            };
            let start = &mut starts[callee.index()];
            let joined = start.unwrap_or(false) | live;
            if *start != Some(joined) {
                *start = Some(joined);
                waiting.push(callee);
            }
        });
    }
    let mut found = BTreeMap::new();
    for (function, start) in module.functions.iter().zip(starts) {
        let Some(parallel) = start else { continue };
        for_each_op(function, parallel, summaries, |op, live| {
            if let Op::Check { access, .. } | Op::Load { access, .. } | Op::Store { access, .. } =
                op
            {
                *found.entry(*access).or_insert(true) &= !live;
            }
        });
    }
    found
}

/// Calls `visit` with every operation that can run, and with whether another task may be live there.
fn for_each_op(
    function: &Function,
    parallel: bool,
    summaries: &Summaries,
    mut visit: impl FnMut(&Op, bool),
) {
    if parallel {
        // Nothing in it waits for what was live before it was called.
        operations(function).for_each(|op| visit(op, true));
        return;
    }
    for (block, state) in function.blocks.iter().zip(on_entry(function, summaries)) {
        let Some(mut state) = state else { continue };
        for instruction in &block.instructions {
            visit(&instruction.op, state.live);
            state.follow(&instruction.op, summaries);
        }
    }
}
