//! Where the code of a parallel run looks at the signals of other workers.
//!
//! A worker that collects the heap waits for all others, so no code may run for long without
//! looking. Looking costs a load and a branch, and what the compiler knew of memory before.
//!
//! Loops look whenever they go around, unless they are short: the innermost loops over a range that
//! call nothing. A range ends by itself, whatever other tasks do, and the loops around look. A
//! recursion need not look: each call asks for room on the stack.
//!
//! Linear in the code.

use finishline_ir::dominators::Dominators;
use finishline_ir::loops::{Loop, Loops};
use finishline_ir::{BinaryOp, BlockId, CompareOp, Const, Function, Op, Terminator, Value};

/// By block, whether the function looks at the signals behind it.
pub(crate) fn after_blocks(function: &Function) -> Vec<bool> {
    let dominators = Dominators::of(function);
    let loops = Loops::of(function, &dominators);
    let definitions = Definitions::of(function);
    let mut polls = goes_back(function, &dominators);
    for (_, found) in loops.iter() {
        if found.height == 0 && definitions.is_short(found) {
            for latch in &found.latches {
                polls[latch.index()] = false;
            }
        }
    }
    polls
}

/// By block, whether it leads to one that comes before it in reverse postorder: every cycle has
/// such a block.
fn goes_back(function: &Function, dominators: &Dominators) -> Vec<bool> {
    let mut places = vec![usize::MAX; function.blocks.len()];
    for (place, block) in dominators.order().iter().enumerate() {
        places[block.index()] = place;
    }
    let goes_back = |(index, block): (usize, &finishline_ir::Block)| {
        let mut targets = block.terminator.targets();
        targets.any(|target| places[target.block.index()] <= places[index])
    };
    function.blocks.iter().enumerate().map(goes_back).collect()
}

/// What defines the values of a function.
struct Definitions<'f> {
    function: &'f Function,
    /// By value.
    made_by: Vec<Made<'f>>,
    /// By block, where control comes from.
    sources: Vec<Vec<BlockId>>,
}

#[derive(Clone, Copy)]
enum Made<'f> {
    Instruction(&'f Op),
    /// A parameter of a block, by its place.
    Parameter(BlockId, usize),
    Nothing,
}

impl<'f> Definitions<'f> {
    fn of(function: &'f Function) -> Self {
        let mut made_by = vec![Made::Nothing; function.values.len()];
        let mut sources = vec![Vec::new(); function.blocks.len()];
        for (index, block) in function.blocks.iter().enumerate() {
            let id = BlockId::from_index(index);
            for (place, parameter) in block.parameters.iter().enumerate() {
                made_by[parameter.index()] = Made::Parameter(id, place);
            }
            for instruction in &block.instructions {
                if let Some(result) = instruction.result {
                    made_by[result.index()] = Made::Instruction(&instruction.op);
                }
            }
            for target in block.terminator.targets() {
                sources[target.block.index()].push(id);
            }
        }
        Definitions {
            function,
            made_by,
            sources,
        }
    }

    /// Whether a loop calls nothing and goes around as often as a range has elements.
    fn is_short(&self, found: &Loop) -> bool {
        let blocks = found.blocks.iter().map(|block| self.function.block(*block));
        let mut instructions = blocks.flat_map(|block| &block.instructions);
        if instructions.any(|instruction| calls(&instruction.op)) {
            return false;
        }
        let parameters = self.function.block(found.header).parameters.iter();
        let mut counters = parameters
            .enumerate()
            .filter(|(place, counter)| self.counts_down(found, *place, **counter));
        counters.any(|(_, counter)| self.ends_at_zero(found, *counter))
    }

    /// Whether a parameter of the header begins as the length of a range, and gets one less each
    /// time.
    fn counts_down(&self, found: &Loop, place: usize, counter: Value) -> bool {
        let mut sources = self.sources[found.header.index()].iter();
        sources.all(|source| {
            let mut arguments = self.arguments(*source, found.header, place);
            match found.latches.contains(source) {
                true => arguments.all(|argument| self.is_one_less(argument, counter)),
                false => arguments.all(|argument| self.is_length(argument, 0)),
            }
        })
    }

    /// What a block passes to a parameter of another one.
    fn arguments(
        &self,
        from: BlockId,
        to: BlockId,
        place: usize,
    ) -> impl Iterator<Item = Value> + use<'f> {
        let targets = self.function.block(from).terminator.targets();
        let targets = targets.filter(move |target| target.block == to);
        targets.filter_map(move |target| target.arguments.get(place).copied())
    }

    fn is_one_less(&self, value: Value, than: Value) -> bool {
        let is_one = |value: Value| match self.made_by[value.index()] {
            Made::Instruction(Op::Const(constant)) => *constant == Const::Int(1),
            _ => false,
        };
        match self.made_by[value.index()] {
            Made::Instruction(Op::Binary(BinaryOp::Subtract, a, b)) => *a == than && is_one(*b),
            _ => false,
        }
    }

    /// Whether a value is the length of a range, or what is left of it.
    fn is_length(&self, value: Value, hops: u32) -> bool {
        /// Rotated and guarded loops pass the length on a few times.
        const MOST_HOPS: u32 = 6;
        match self.made_by[value.index()] {
            Made::Instruction(Op::RangeCount { .. }) => true,
            Made::Instruction(Op::Const(Const::Int(length))) => *length >= 0,
            Made::Parameter(block, place) if hops < MOST_HOPS => {
                let sources = &self.sources[block.index()];
                !sources.is_empty()
                    && sources.iter().all(|source| {
                        let mut arguments = self.arguments(*source, block, place);
                        arguments.all(|argument| self.is_length(argument, hops + 1))
                    })
            }
            _ => false,
        }
    }

    /// Whether the loop is left as soon as the counter, or one less than it, is zero.
    fn ends_at_zero(&self, found: &Loop, counter: Value) -> bool {
        let is_zero = |value: Value| match self.made_by[value.index()] {
            Made::Instruction(Op::Const(constant)) => *constant == Const::Int(0),
            _ => false,
        };
        let tests = |condition: Value| match self.made_by[condition.index()] {
            Made::Instruction(Op::Compare(CompareOp::NotEqual, a, b)) => {
                (*a == counter || self.is_one_less(*a, counter)) && is_zero(*b)
            }
            _ => false,
        };
        let is_test = |block: BlockId| match &self.function.block(block).terminator {
            Terminator::Branch {
                condition,
                otherwise,
                ..
            } => tests(*condition) && !found.blocks.contains(&otherwise.block),
            Terminator::Jump(_) | Terminator::Return(_) => false,
        };
        // Every way around passes the header and a latch.
        is_test(found.header) || found.latches.iter().all(|latch| is_test(*latch))
    }
}

/// Whether an operation may run other code of the program, or wait.
fn calls(op: &Op) -> bool {
    matches!(
        op,
        Op::Call { .. }
            | Op::Spawn { .. }
            | Op::FinishBegin(_)
            | Op::FinishEnd(_)
            | Op::Sync
            | Op::IsolatedBegin
            | Op::IsolatedEnd
            | Op::Acquire(_)
            | Op::Release(_)
            | Op::PromiseSet { .. }
            | Op::PromiseGet(_)
            | Op::NewStruct { .. }
            | Op::NewArray { .. }
            | Op::NewLock { .. }
            | Op::NewPromise { .. }
            | Op::Print(_)
    )
}
