//! What passes over loops need before they can change one: a single way in, values that leave by
//! the front door, and copies.

use crate::edit::{Definitions, Predecessors, Renaming, append, new_block, new_value, target};
use finishline_ir::dominators::Dominators;
use finishline_ir::loops::{Loop, LoopId, Loops};
use finishline_ir::{BinaryOp, Block, BlockId, Function, Op, Terminator, Type, Value};
use rustc_hash::FxHashMap;

/// The loops of a function, each with a block in front of it that jumps to its header and nowhere
/// else and is the only one outside the loop to lead there.
pub(crate) struct Nest {
    pub(crate) dominators: Dominators,
    pub(crate) loops: Loops,
    /// By loop: the block in front of it.
    entries: Vec<BlockId>,
}

impl Nest {
    /// None if there are no loops. Blocks in front of loops are made where there are none.
    pub(crate) fn of(function: &mut Function) -> Option<Nest> {
        let mut dominators = Dominators::of(function);
        let mut loops = Loops::of(function, &dominators);
        loops.iter().next()?;
        let before = function.blocks.len();
        let predecessors = Predecessors::of(function);
        let ids = loops.iter().map(|(id, _)| id);
        let mut entries: Vec<BlockId> = ids
            .map(|id| entry(function, &predecessors, &loops, id))
            .collect();
        if function.blocks.len() > before {
            dominators = Dominators::of(function);
            let again = Loops::of(function, &dominators);
            let entry_of: FxHashMap<BlockId, BlockId> = loops
                .iter()
                .map(|(_, this)| this.header)
                .zip(entries)
                .collect();
            let headers = again.iter().map(|(_, this)| this.header);
            entries = headers.map(|header| entry_of[&header]).collect();
            loops = again;
        }
        Some(Nest {
            dominators,
            loops,
            entries,
        })
    }

    pub(crate) fn entry(&self, id: LoopId) -> BlockId {
        self.entries[id.index()]
    }

    /// The loops with so many loops nested in them; they are disjoint.
    pub(crate) fn of_height(&self, height: u32) -> Vec<LoopId> {
        let found = self.loops.iter().filter(|(_, this)| this.height == height);
        found.map(|(id, _)| id).collect()
    }

    pub(crate) fn heights(&self) -> u32 {
        let heights = self.loops.iter().map(|(_, this)| this.height + 1);
        heights.max().unwrap_or(0)
    }
}

/// The block in front of a loop, made if there is none.
fn entry(
    function: &mut Function,
    predecessors: &Predecessors,
    loops: &Loops,
    id: LoopId,
) -> BlockId {
    let header = loops.get(id).header;
    // The arguments of each edge into the loop, and where the edges come from.
    let (mut arguments, mut sources) = (Vec::new(), Vec::new());
    for &source in predecessors.get(header) {
        if loops.contains(id, source) || sources.last() == Some(&source) {
            continue;
        }
        let terminator = &function.block(source).terminator;
        for edge in terminator.targets().filter(|t| t.block == header) {
            arguments.push(edge.arguments.clone());
            sources.push(source);
        }
    }
    if let [only] = sources[..]
        && matches!(function.block(only).terminator, Terminator::Jump(_))
    {
        return only;
    }
    let new = new_block(function);
    // Several edges with arguments of their own bring them along.
    let passed_on = if let [only] = &mut arguments[..] {
        std::mem::take(only)
    } else {
        let parameters = function.block(header).parameters.clone();
        let types = parameters.iter().map(|p| function.ty(*p));
        let types: Vec<Type> = types.collect();
        let parameters = types.into_iter().map(|ty| new_value(function, ty));
        let parameters: Vec<Value> = parameters.collect();
        function.blocks[new.index()].parameters = parameters.clone();
        parameters
    };
    let takes_arguments = !function.block(new).parameters.is_empty();
    function.blocks[new.index()].terminator = Terminator::Jump(target(header, passed_on));
    for source in sources {
        for edge in function.blocks[source.index()].terminator.targets_mut() {
            if edge.block == header {
                edge.block = new;
                if !takes_arguments {
                    edge.arguments.clear();
                }
            }
        }
    }
    new
}

/// The arguments with which a block that jumps enters the next one.
pub(crate) fn jump_arguments(function: &Function, block: BlockId) -> &[Value] {
    match &function.block(block).terminator {
        Terminator::Jump(target) => &target.arguments,
        _ => &[],
    }
}

/// Gives a loop a parameter that starts as `first` and grows by `by`, both known in front.
pub(crate) fn add_counter(
    function: &mut Function,
    this: &Loop,
    entry: BlockId,
    first: Value,
    by: Value,
) -> Value {
    let grown = |function: &mut Function, latch, parameter| {
        let next = Op::Binary(BinaryOp::Add, parameter, by);
        append(function, latch, next, Type::Int)
    };
    add_parameter(function, this, entry, first, grown)
}

/// Gives a loop a parameter that starts as `first` and is then what a parameter of the header was
/// in the iteration before.
pub(crate) fn add_follower(
    function: &mut Function,
    this: &Loop,
    entry: BlockId,
    first: Value,
    of: Value,
) -> Value {
    add_parameter(function, this, entry, first, |_, _, _| of)
}

/// Gives a loop a parameter that starts as `first`. What comes next is asked for at each latch.
fn add_parameter(
    function: &mut Function,
    this: &Loop,
    entry: BlockId,
    first: Value,
    next: impl Fn(&mut Function, BlockId, Value) -> Value,
) -> Value {
    let parameter = new_value(function, Type::Int);
    function.blocks[this.header.index()]
        .parameters
        .push(parameter);
    for latch in &this.latches {
        let next = next(function, *latch, parameter);
        for target in function.blocks[latch.index()].terminator.targets_mut() {
            if target.block == this.header {
                target.arguments.push(next);
            }
        }
    }
    for target in function.blocks[entry.index()].terminator.targets_mut() {
        target.arguments.push(first);
    }
    parameter
}

/// Makes every value of some disjoint loops that is used behind its loop a parameter of the block
/// by which control leaves, so that the loop can have a second copy. The loops for which that was
/// possible: not if a use can be reached by several exits.
pub(crate) fn close(
    function: &mut Function,
    nest: &Nest,
    definitions: &Definitions,
    ids: Vec<LoopId>,
) -> Vec<LoopId> {
    let mut loop_of: Vec<Option<LoopId>> = vec![None; function.blocks.len()];
    for id in &ids {
        for block in &nest.loops.get(*id).blocks {
            loop_of[block.index()] = Some(*id);
        }
    }
    // Values used outside their loop, with the loop and the block that uses them.
    let mut used: Vec<(LoopId, Value, BlockId)> = Vec::new();
    for (index, block) in function.blocks.iter().enumerate() {
        let mut note = |value: Value| {
            let defined_in = definitions
                .get(value)
                .and_then(|definition| loop_of[definition.block().index()]);
            if let Some(id) = defined_in
                && loop_of[index] != Some(id)
            {
                used.push((id, value, BlockId::from_index(index)));
            }
        };
        for instruction in &block.instructions {
            instruction.op.for_each_use(&mut note);
        }
        block.terminator.for_each_use(&mut note);
    }
    if used.is_empty() {
        return ids;
    }
    used.sort_unstable();
    used.dedup();
    let predecessors = Predecessors::of(function);
    let mut closed = ids;
    for uses in used.chunk_by(|(a, ..), (b, ..)| a == b) {
        let id = uses[0].0;
        if !close_one(function, nest, &predecessors, id, uses) {
            closed.retain(|closed| *closed != id);
        }
    }
    closed
}

fn close_one(
    function: &mut Function,
    nest: &Nest,
    predecessors: &Predecessors,
    id: LoopId,
    uses: &[(LoopId, Value, BlockId)],
) -> bool {
    let exits = exits(function, predecessors, &nest.loops, id);
    let mut through = Vec::new();
    for (_, value, at) in uses {
        let leads_there = |exit: &&BlockId| nest.dominators.dominates(**exit, *at);
        let Some(exit) = exits.iter().find(leads_there) else {
            return false;
        };
        through.push((*value, *at, *exit));
    }
    let mut parameters: FxHashMap<(Value, BlockId), Value> = FxHashMap::default();
    for (value, at, exit) in through {
        let parameter = *parameters.entry((value, exit)).or_insert_with(|| {
            let ty = function.ty(value);
            let parameter = new_value(function, ty);
            function.blocks[exit.index()].parameters.push(parameter);
            let mut sources = predecessors.get(exit).to_vec();
            sources.sort_unstable();
            sources.dedup();
            for source in sources {
                for target in function.blocks[source.index()].terminator.targets_mut() {
                    if target.block == exit {
                        target.arguments.push(value);
                    }
                }
            }
            parameter
        });
        let replace = |used: &mut Value| {
            if *used == value {
                *used = parameter;
            }
        };
        let block = &mut function.blocks[at.index()];
        for instruction in &mut block.instructions {
            instruction.op.for_each_use_mut(replace);
        }
        block.terminator.for_each_use_mut(replace);
    }
    true
}

/// Blocks outside that only blocks of the loop lead to.
fn exits(
    function: &Function,
    predecessors: &Predecessors,
    loops: &Loops,
    id: LoopId,
) -> Vec<BlockId> {
    let mut found: Vec<BlockId> = loops
        .get(id)
        .blocks
        .iter()
        .flat_map(|block| function.block(*block).terminator.targets())
        .map(|target| target.block)
        .filter(|block| {
            let sources = predecessors.get(*block);
            !loops.contains(id, *block) && sources.iter().all(|source| loops.contains(id, *source))
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A second copy of some blocks.
pub(crate) struct Copy {
    blocks: FxHashMap<BlockId, BlockId>,
    values: FxHashMap<Value, Value>,
}

impl Copy {
    pub(crate) fn block(&self, original: BlockId) -> BlockId {
        *self.blocks.get(&original).unwrap_or(&original)
    }

    pub(crate) fn value(&self, original: Value) -> Value {
        *self.values.get(&original).unwrap_or(&original)
    }
}

/// Copies blocks; every value defined in them gets a new one. Edges between them lead to copies,
/// all others where they led.
pub(crate) fn copy(function: &mut Function, blocks: &[BlockId]) -> Copy {
    let mut copy = Copy {
        blocks: FxHashMap::default(),
        values: FxHashMap::default(),
    };
    for &original in blocks {
        let new = new_block(function);
        copy.blocks.insert(original, new);
        let Block {
            parameters,
            instructions,
            ..
        } = &function.blocks[original.index()];
        let results = instructions.iter().filter_map(|i| i.result);
        let defined: Vec<Value> = parameters.iter().copied().chain(results).collect();
        for value in defined {
            let ty = function.ty(value);
            copy.values.insert(value, new_value(function, ty));
        }
    }
    for original in blocks {
        let mut block = function.block(*original).clone();
        let rename = |value: &mut Value| *value = copy.value(*value);
        block.parameters.iter_mut().for_each(rename);
        for instruction in &mut block.instructions {
            instruction.result.iter_mut().for_each(rename);
            instruction.op.for_each_use_mut(rename);
        }
        block.terminator.for_each_use_mut(rename);
        for target in block.terminator.targets_mut() {
            target.block = copy.block(target.block);
        }
        function.blocks[copy.block(*original).index()] = block;
    }
    copy
}

/// Renames uses in some blocks.
pub(crate) fn rename_in(function: &mut Function, blocks: &[BlockId], renaming: &mut Renaming) {
    for block in blocks {
        let block = &mut function.blocks[block.index()];
        for instruction in &mut block.instructions {
            instruction
                .op
                .for_each_use_mut(|value| *value = renaming.get(*value));
        }
        block
            .terminator
            .for_each_use_mut(|value| *value = renaming.get(*value));
    }
}
