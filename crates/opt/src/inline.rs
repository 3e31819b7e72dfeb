//! Inlining: a call of a small function that calls nothing, creates no task and has no loop is
//! replaced by its body.
//!
//! [`Op::CallRoom`] stays where the call was, with its site: it fails exactly as the call would for
//! want of call depth or memory, and the callee's frame itself holds nothing that anyone could
//! miss. A room inside the callee, left from an earlier inlining, gets the callee in front of its
//! list. Everything else in the callee keeps its site, so failures and events are the same.
//!
//! Callees come before their callers, so that a function whose calls are all inlined can be inlined
//! in turn. Functions that are not called any more are left: other places may name them.

use crate::edit::{new_block, new_value, target};
use crate::effects::ends_memory;
use finishline_ir::dominators::Dominators;
use finishline_ir::loops::Loops;
use finishline_ir::{
    Block, BlockId, Function, FunctionId, Instruction, Module, Op, Role, Terminator, Value,
};

/// Instructions of a function that is still inlined into a loop, and elsewhere.
const LARGEST_IN_LOOP: usize = 60;
const LARGEST_ELSEWHERE: usize = 24;
/// Instructions that a function may become by inlining.
const LARGEST_CALLER: usize = 2_500;

/// Inlines small leaves everywhere in a module, and tidies every function up: what is clean is
/// small.
pub(crate) fn inline(module: &mut Module) {
    // By function, callers last: its size, if it can be inlined.
    let mut leaves: Vec<Option<usize>> = vec![None; module.functions.len()];
    for id in callees_first(module) {
        inline_into(module, id, &leaves);
        let function = &mut module.functions[id.index()];
        crate::tidy(function);
        leaves[id.index()] = is_leaf(function).then(|| size(function));
    }
}

/// All functions, those that one calls before it, as far as they do not call each other.
fn callees_first(module: &Module) -> Vec<FunctionId> {
    let callees: Vec<Vec<FunctionId>> = module
        .functions
        .iter()
        .map(|function| {
            let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
            let called = instructions.filter_map(|instruction| match instruction.op {
                Op::Call { function, .. } => Some(function),
                _ => None,
            });
            called.collect()
        })
        .collect();
    let mut seen = vec![false; callees.len()];
    let mut order = Vec::new();
    for root in 0..callees.len() {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((at, visited)) = stack.last_mut() {
            match callees[*at].get(*visited) {
                Some(callee) => {
                    *visited += 1;
                    if !std::mem::replace(&mut seen[callee.index()], true) {
                        stack.push((callee.index(), 0));
                    }
                }
                None => {
                    order.push(FunctionId::from_index(*at));
                    stack.pop();
                }
            }
        }
    }
    order
}

fn size(function: &Function) -> usize {
    let blocks = function.blocks.iter();
    blocks.map(|block| block.instructions.len() + 1).sum()
}

/// Calls nothing, creates no task, and does not take long: it has no loop.
fn is_leaf(function: &Function) -> bool {
    let stays_in_its_frame = |op: &Op| !ends_memory(op);
    let instructions = || function.blocks.iter().flat_map(|block| &block.instructions);
    function.role == Role::Function
        && instructions().all(|instruction| stays_in_its_frame(&instruction.op))
        && !blocks_in_loops(function).contains(&true)
}

fn blocks_in_loops(function: &Function) -> Vec<bool> {
    let loops = Loops::of(function, &Dominators::of(function));
    let blocks = (0..function.blocks.len()).map(BlockId::from_index);
    blocks
        .map(|block| loops.innermost(block).is_some())
        .collect()
}

/// A function that is not a leaf yet is not inlined into itself.
fn inline_into(module: &mut Module, id: FunctionId, leaves: &[Option<usize>]) {
    let calls_leaf = |instruction: &Instruction| match instruction.op {
        Op::Call { function, .. } => leaves[function.index()],
        _ => None,
    };
    let blocks = &module.function(id).blocks;
    if !blocks
        .iter()
        .flat_map(|block| &block.instructions)
        .any(|instruction| calls_leaf(instruction).is_some())
    {
        return;
    }
    let mut caller = module.function(id).clone();
    let mut in_loop = blocks_in_loops(&caller);
    let mut size_now = size(&caller);
    let mut index = 0;
    // Blocks behind an inlined call come to the end of the list and are looked at there.
    while index < caller.blocks.len() {
        let largest = if in_loop[index] {
            LARGEST_IN_LOOP
        } else {
            LARGEST_ELSEWHERE
        };
        let call = caller.blocks[index].instructions.iter().position(|i| {
            calls_leaf(i).is_some_and(|size| size <= largest && size_now + size <= LARGEST_CALLER)
        });
        if let Some(at) = call {
            size_now += inline_call(&mut caller, BlockId::from_index(index), at, module);
            in_loop.resize(caller.blocks.len(), in_loop[index]);
        }
        index += 1;
    }
    module.functions[id.index()] = caller;
}

/// Replaces one call; how many instructions that added.
fn inline_call(caller: &mut Function, block: BlockId, at: usize, module: &Module) -> usize {
    let behind = new_block(caller);
    let first = &mut caller.blocks[block.index()];
    let rest = first.instructions.split_off(at + 1);
    let call = first.instructions.pop();
    let Some(Instruction {
        op: Op::Call {
            function: id,
            arguments,
        },
        result,
        site,
    }) = call
    else {
        unreachable!("the instruction is a call");
    };
    first.instructions.push(Instruction {
        op: Op::CallRoom(vec![id]),
        result: None,
        site,
    });
    let terminator = std::mem::replace(&mut first.terminator, Terminator::Return(None));
    caller.blocks[behind.index()] = Block {
        parameters: result.into_iter().collect(),
        instructions: rest,
        terminator,
    };
    let callee = module.function(id);
    let entry = copy_body(caller, callee, id, behind, result.is_some());
    caller.blocks[block.index()].terminator = Terminator::Jump(target(entry, arguments));
    size(callee)
}

/// Adds the blocks of a callee, whose returns lead to `behind`; the copy of its entry.
fn copy_body(
    caller: &mut Function,
    callee: &Function,
    id: FunctionId,
    behind: BlockId,
    with_result: bool,
) -> BlockId {
    let values: Vec<Value> = callee
        .values
        .iter()
        .map(|ty| new_value(caller, *ty))
        .collect();
    let first = caller.blocks.len();
    for block in &callee.blocks {
        let mut block = block.clone();
        let rename = |value: &mut Value| *value = values[value.index()];
        block.parameters.iter_mut().for_each(rename);
        for instruction in &mut block.instructions {
            instruction.result.iter_mut().for_each(rename);
            instruction.op.for_each_use_mut(rename);
            if let Op::CallRoom(nested) = &mut instruction.op {
                nested.insert(0, id);
            }
        }
        block.terminator.for_each_use_mut(rename);
        if let Terminator::Return(value) = &block.terminator {
            let arguments = value.filter(|_| with_result).into_iter().collect();
            block.terminator = Terminator::Jump(target(behind, arguments));
        } else {
            for target in block.terminator.targets_mut() {
                target.block = BlockId::from_index(first + target.block.index());
            }
        }
        caller.blocks.push(block);
    }
    BlockId::from_index(first)
}
