//! What passes over loops need before they can change one: a single way in, values that leave by the front door, and copies.

use crate::edit::{Definitions, Renaming, new_block, new_value, target};
use finishline_ir::dominators::Dominators;
use finishline_ir::loops::{LoopId, Loops};
use finishline_ir::{Block, BlockId, Function, Terminator, Type, Value};
use rustc_hash::FxHashMap;

/// The block that jumps to the header and nowhere else, and is the only one outside the loop to lead there. Made if
/// there is none.
pub(crate) fn preheader(function: &mut Function, loops: &Loops, id: LoopId) -> BlockId {
    let header = loops.get(id).header;
    // The arguments of each edge into the loop, and where the edges come from.
    let (mut arguments, mut sources) = (Vec::new(), Vec::new());
    for (index, block) in function.blocks.iter().enumerate() {
        let source = BlockId::from_index(index);
        let edges = block.terminator.targets().filter(|t| t.block == header);
        for edge in edges.filter(|_| !loops.contains(id, source)) {
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

/// Makes every value of the loop that is used behind it a parameter of the block by which control leaves, so that the loop
/// can have a second copy. Whether that was possible: not if the use can be reached by several exits.
pub(crate) fn close(
    function: &mut Function,
    dominators: &Dominators,
    definitions: &Definitions,
    loops: &Loops,
    id: LoopId,
) -> bool {
    let inside = |value: Value| {
        definitions
            .get(value)
            .is_some_and(|definition| loops.contains(id, definition.block()))
    };
    // Values used outside, each with the blocks that use it.
    let mut used: Vec<(Value, BlockId)> = Vec::new();
    for (index, block) in function.blocks.iter().enumerate() {
        let at = BlockId::from_index(index);
        if loops.contains(id, at) {
            continue;
        }
        let mut note = |value: Value| {
            if inside(value) {
                used.push((value, at));
            }
        };
        for instruction in &block.instructions {
            instruction.op.for_each_use(&mut note);
        }
        block.terminator.for_each_use(&mut note);
    }
    if used.is_empty() {
        return true;
    }
    used.sort_unstable();
    used.dedup();
    let exits = exits(function, loops, id);
    let mut through: Vec<(Value, BlockId, BlockId)> = Vec::new();
    for (value, at) in used {
        let exit = exits.iter().find(|exit| dominators.dominates(**exit, at));
        let Some(&exit) = exit else { return false };
        through.push((value, at, exit));
    }
    let mut parameters: FxHashMap<(Value, BlockId), Value> = FxHashMap::default();
    for (value, at, exit) in through {
        let parameter = *parameters.entry((value, exit)).or_insert_with(|| {
            let ty = function.ty(value);
            let parameter = new_value(function, ty);
            function.blocks[exit.index()].parameters.push(parameter);
            for block in &mut function.blocks {
                for target in block.terminator.targets_mut() {
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
fn exits(function: &Function, loops: &Loops, id: LoopId) -> Vec<BlockId> {
    let mut leads = vec![(false, false); function.blocks.len()];
    for (index, block) in function.blocks.iter().enumerate() {
        let inside = loops.contains(id, BlockId::from_index(index));
        for target in block.terminator.targets() {
            let (from_inside, from_outside) = &mut leads[target.block.index()];
            *from_inside |= inside;
            *from_outside |= !inside;
        }
    }
    (0..leads.len())
        .map(BlockId::from_index)
        .filter(|block| leads[block.index()] == (true, false) && !loops.contains(id, *block))
        .collect()
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

/// Copies blocks; every value defined in them gets a new one. Edges between them lead to copies, all others where they led.
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
