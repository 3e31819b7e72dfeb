//! Where another task may be live, and which finishes are open there.
//!
//! A data-flow analysis of each function with one fact, *another task may be live*, and with what
//! the fact was when each open finish was opened. A creation sets it. The end of a finish, and a
//! `sync`, join what was created inside it, so they restore what was when the finish was opened;
//! with an async outside every finish nothing ever does, as the footnote in the paper says. A call
//! adds what the callee leaves running. A `begin_finish` is followed within its function; where
//! control joins with different ones open, or a callee may open or close one, they are forgotten,
//! and the `end_finish` of a forgotten one restores nothing.
//!
//! Linear in the program, times the depth of the finishes and the number of rounds until summaries
//! of recursive functions settle.

use finishline_ir::{BlockId, Function, Module, Op, Terminator};
use finishline_model::FinishKind;

/// An instruction of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Position {
    pub(super) block: BlockId,
    pub(super) instruction: u32,
}

/// An open finish.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Open {
    kind: FinishKind,
    /// Another task may have been live when it was opened.
    beside: bool,
    /// Where it was opened; None if control comes from several such places.
    opening: Option<Position>,
}

/// What is known at a place of a function.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    /// Another task may be live.
    pub(super) live: bool,
    /// The finishes this function has open. Of `begin_finish`es there may be more than these below
    /// the listed ones, but never among or above them.
    open: Vec<Open>,
}

/// Which finish joins all that runs beside an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Enclosing {
    /// The finish opened here in the function itself.
    Own(Position),
    /// That of the place the function was called from.
    Callers,
    /// One of several of the function.
    Unclear,
}

impl State {
    fn entry(live: bool) -> State {
        State {
            live,
            open: Vec::new(),
        }
    }

    /// The innermost finish that was opened when no other task was live.
    pub(super) fn enclosing(&self) -> Enclosing {
        match self.open.iter().rfind(|open| !open.beside) {
            None => Enclosing::Callers,
            Some(open) => open.opening.map_or(Enclosing::Unclear, Enclosing::Own),
        }
    }

    fn follow(&mut self, op: &Op, at: Position, liveness: &Liveness) {
        match op {
            Op::Spawn { .. } => self.live = true,
            Op::FinishBegin(kind) => self.open.push(Open {
                kind: *kind,
                beside: self.live,
                opening: Some(at),
            }),
            Op::FinishEnd(FinishKind::Dynamic) => {
                if let Some(open) = self.open.pop_if(|open| is_dynamic(open)) {
                    self.live = open.beside;
                }
            }
            Op::FinishEnd(_) => {
                // A `begin_finish` inside that is open still makes this fail.
                self.forget_dynamic();
                if let Some(open) = self.open.pop() {
                    self.live = open.beside;
                }
            }
            Op::Sync => {
                if let Some(open) = self.open.iter().rfind(|open| !is_dynamic(open)) {
                    self.live = open.beside;
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

    /// Forgets the `begin_finish`es inside the innermost lexical finish: only these can be closed
    /// next.
    fn forget_dynamic(&mut self) {
        while self.open.pop_if(|open| is_dynamic(open)).is_some() {}
    }

    /// What holds if either does; whether that is news.
    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        let kinds = |state: &State| -> Vec<FinishKind> {
            state.open.iter().map(|open| open.kind).collect()
        };
        let mut other = other.clone();
        if kinds(self) != kinds(&other) {
            // The lexical ones agree, as the verifier demands.
            for state in [&mut *self, &mut other] {
                state.open.retain(|open| !is_dynamic(open));
            }
        }
        self.live |= other.live;
        for (mine, theirs) in self.open.iter_mut().zip(&other.open) {
            mine.beside |= theirs.beside;
            if mine.opening != theirs.opening {
                mine.opening = None;
            }
        }
        *self != before
    }
}

fn is_dynamic(open: &Open) -> bool {
    open.kind == FinishKind::Dynamic
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
    let states = on_entry(function, false, liveness);
    for (block, state) in blocks(function).zip(states) {
        if let (Terminator::Return(_), Some(mut state)) = (&function.block(block).terminator, state)
        {
            state.follow_block(function, block, liveness, |_, _, _| {});
            leaves |= state.live;
        }
    }
    leaves
}

fn blocks(function: &Function) -> impl Iterator<Item = BlockId> {
    (0..function.blocks.len()).map(BlockId::from_index)
}

impl State {
    /// Goes through a block; `visit` gets every operation and the state before it.
    fn follow_block(
        &mut self,
        function: &Function,
        block: BlockId,
        liveness: &Liveness,
        mut visit: impl FnMut(&Op, Position, &State),
    ) {
        for (instruction, at) in function.block(block).instructions.iter().zip(0..) {
            let at = Position {
                block,
                instruction: at,
            };
            visit(&instruction.op, at, self);
            self.follow(&instruction.op, at, liveness);
        }
    }
}

/// By block, the state on its entry. None if control never gets there.
type OnEntry = Vec<Option<State>>;

fn on_entry(function: &Function, live: bool, liveness: &Liveness) -> OnEntry {
    let mut states: Vec<Option<State>> = vec![None; function.blocks.len()];
    states[Function::ENTRY.index()] = Some(State::entry(live));
    let mut waiting = vec![Function::ENTRY];
    while let Some(id) = waiting.pop() {
        let Some(mut state) = states[id.index()].clone() else {
            continue;
        };
        state.follow_block(function, id, liveness, |_, _, _| {});
        for target in function.block(id).terminator.targets() {
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

/// What is known everywhere in a function if another task is, or is not, live where it starts.
pub(super) struct Flow {
    pub(super) live: bool,
    on_entry: OnEntry,
}

impl Flow {
    pub(super) fn of(function: &Function, live: bool, liveness: &Liveness) -> Flow {
        Flow {
            live,
            on_entry: on_entry(function, live, liveness),
        }
    }

    /// Calls `visit` with every operation that can run, in the order of the function's text, and
    /// with what is known there.
    pub(super) fn for_each_op(
        &self,
        function: &Function,
        liveness: &Liveness,
        mut visit: impl FnMut(&Op, Position, &State),
    ) {
        for (block, state) in blocks(function).zip(&self.on_entry) {
            if let Some(mut state) = state.clone() {
                state.follow_block(function, block, liveness, &mut visit);
            }
        }
    }
}
