//! Where the code of a parallel run looks at the signals of other workers.
//!
//! A worker that collects the heap waits for all others, so no code may run for long without
//! looking. Looking costs a load and a branch, and what the compiler knew of memory before.
//!
//! Loops look whenever they go around, unless they are *simple*: the innermost loops over a range
//! that call nothing. A simple loop has a counter that goes down to 0 and is good for nothing else.
//! It runs in pieces: the counter begins with the length of a piece, and when it is 0, the function
//! looks at the signals and goes on with the next piece. So nothing is done in the loop itself. A
//! recursion need not look: each call asks for room on the stack.
//!
//! Linear in the code.

use finishline_ir::dominators::Dominators;
use finishline_ir::loops::{Loop, Loops};
use finishline_ir::{BinaryOp, BlockId, CompareOp, Const, Function, Op, Terminator, Value};

/// So often a loop goes around in a piece: for less than a millisecond. With assertions pieces are
/// short, so that the loops of tests have several.
pub(crate) const PIECE: i64 = if cfg!(debug_assertions) { 7 } else { 1 << 16 };

/// Where a function looks.
pub(crate) struct Polls {
    /// By block: whether it looks behind it.
    pub(crate) behind: Vec<bool>,
    pub(crate) simple: Vec<Simple>,
}

/// A simple loop, which runs in pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Simple {
    pub(crate) header: BlockId,
    pub(crate) latch: BlockId,
    /// Where it is left when the counter is 0: the header or the latch.
    pub(crate) test: BlockId,
    /// The counter's place among the parameters of the header.
    pub(crate) place: usize,
}

impl Polls {
    pub(crate) fn never(blocks: usize) -> Polls {
        Polls {
            behind: vec![false; blocks],
            simple: Vec::new(),
        }
    }

    pub(crate) fn of(function: &Function) -> Polls {
        let dominators = Dominators::of(function);
        let loops = Loops::of(function, &dominators);
        let definitions = Definitions::of(function);
        let mut behind = goes_back(function, &dominators);
        let mut simple = Vec::new();
        for (_, found) in loops.iter().filter(|(_, found)| found.height == 0) {
            if let Some(counted) = definitions.simple(found) {
                behind[counted.latch.index()] = false;
                if !definitions.is_one_piece(counted) {
                    simple.push(counted);
                }
            }
        }
        Polls { behind, simple }
    }
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
    /// By value, how often it is used.
    uses: Vec<u32>,
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
        let mut uses = vec![0; function.values.len()];
        let mut sources = vec![Vec::new(); function.blocks.len()];
        for (index, block) in function.blocks.iter().enumerate() {
            let id = BlockId::from_index(index);
            for (place, parameter) in block.parameters.iter().enumerate() {
                made_by[parameter.index()] = Made::Parameter(id, place);
            }
            let mut note_use = |value: Value| uses[value.index()] += 1;
            block.terminator.for_each_use(&mut note_use);
            for instruction in &block.instructions {
                instruction.op.for_each_use(&mut note_use);
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
            uses,
            sources,
        }
    }

    /// A loop that is simple: it calls nothing, and goes around as often as a range has elements.
    fn simple(&self, found: &Loop) -> Option<Simple> {
        let blocks = found.blocks.iter().map(|block| self.function.block(*block));
        let mut instructions = blocks.flat_map(|block| &block.instructions);
        let [latch] = found.latches[..] else {
            return None;
        };
        if instructions.any(|instruction| calls(&instruction.op)) || !self.is_entered_once(found) {
            return None;
        }
        let parameters = self.function.block(found.header).parameters.iter();
        let mut counters = parameters.enumerate();
        counters.find_map(|(place, counter)| {
            let test = self.test(found, latch, place, *counter)?;
            let counts = self.counts_down(found, place, *counter);
            counts.then_some(Simple {
                header: found.header,
                latch,
                test,
                place,
            })
        })
    }

    /// Whether no block leads to the header in two ways.
    fn is_entered_once(&self, found: &Loop) -> bool {
        let mut sources = self.sources[found.header.index()].clone();
        let ways = sources.len();
        sources.sort_unstable();
        sources.dedup();
        sources.len() == ways
    }

    /// Whether the loop always ends in its first piece.
    fn is_one_piece(&self, found: Simple) -> bool {
        let sources = self.sources[found.header.index()].iter();
        let mut entries = sources.filter(|source| **source != found.latch);
        entries.all(|source| {
            let mut lengths = self.arguments(*source, found.header, found.place);
            lengths.all(|length| match self.made_by[length.index()] {
                Made::Instruction(Op::Const(Const::Int(length))) => *length <= PIECE,
                _ => false,
            })
        })
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

    /// The block that leaves the loop as soon as the counter is 0: the header, if it does nothing
    /// else, or the latch, which looks at what it passes on. Nobody else uses these numbers.
    fn test(&self, found: &Loop, latch: BlockId, place: usize, counter: Value) -> Option<BlockId> {
        let mut passed_on = self.arguments(latch, found.header, place);
        let next = passed_on.next()?;
        let is_zero = |value: Value| match self.made_by[value.index()] {
            Made::Instruction(Op::Const(constant)) => *constant == Const::Int(0),
            _ => false,
        };
        let tests = |block: BlockId, number: Value| match &self.function.block(block).terminator {
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => match self.made_by[condition.index()] {
                Made::Instruction(Op::Compare(CompareOp::NotEqual, a, b)) => {
                    let stays = found.blocks.contains(&then.block);
                    let leaves = !found.blocks.contains(&otherwise.block);
                    *a == number && is_zero(*b) && stays && leaves
                }
                _ => false,
            },
            Terminator::Jump(_) | Terminator::Return(_) => false,
        };
        match [counter, next].map(|value| self.uses[value.index()]) {
            // It is tested and counted down, and what is left is passed on.
            [2, 1] if self.only_tests(found.header) && tests(found.header, counter) => {
                Some(found.header)
            }
            [1, 2] if tests(latch, next) => Some(latch),
            _ => None,
        }
    }

    /// Whether a block may be run again, for it only compares.
    fn only_tests(&self, block: BlockId) -> bool {
        let mut instructions = self.function.block(block).instructions.iter();
        instructions.all(|it| matches!(it.op, Op::Const(_) | Op::Compare(..)))
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
