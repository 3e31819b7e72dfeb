//! Removes leftovers of other passes and of the front end: unreachable blocks, empty blocks, jumps
//! to the only successor, block parameters that are always the same value, and values that nobody
//! needs.
//!
//! The pass neither changes nor moves an instruction that tells an event, fails or changes memory.
//! The cost is linear, with one more pass over the function for each block parameter that is
//! constant only because another one is. In the worst case these are all parameters, in programs
//! two or three.

use crate::edit::{Definition, Definitions, Predecessors, Renaming};
use crate::effects::is_droppable;
use finishline_ir::{Block, BlockId, Const, Function, Target, Terminator, Value};

/// Rounds after the first one find little.
const ROUNDS: usize = 2;

pub(crate) fn clean(function: &mut Function) {
    for _ in 0..ROUNDS {
        let before = function.blocks.len();
        fold_branches(function);
        drop_unreachable(function);
        replace_constant_parameters(function);
        thread_empty_blocks(function);
        merge_with_only_successor(function);
        drop_unused(function);
        if function.blocks.len() == before {
            break;
        }
    }
    number_values(function);
}

/// A branch on a constant, or to the same place twice, is a jump.
fn fold_branches(function: &mut Function) {
    let definitions = Definitions::of(function);
    for index in 0..function.blocks.len() {
        let Terminator::Branch {
            condition,
            then,
            otherwise,
        } = &function.blocks[index].terminator
        else {
            continue;
        };
        let taken = match definitions.constant(function, *condition) {
            Some(Const::Bool(true)) => then,
            Some(Const::Bool(false)) => otherwise,
            _ if then == otherwise => then,
            _ => continue,
        };
        function.blocks[index].terminator = Terminator::Jump(taken.clone());
    }
}

/// Keeps the blocks that control can reach, in their order.
fn drop_unreachable(function: &mut Function) {
    let mut reached = vec![false; function.blocks.len()];
    reached[Function::ENTRY.index()] = true;
    let mut stack = vec![Function::ENTRY];
    while let Some(block) = stack.pop() {
        for target in function.block(block).terminator.targets() {
            if !std::mem::replace(&mut reached[target.block.index()], true) {
                stack.push(target.block);
            }
        }
    }
    keep_blocks(function, &reached);
}

fn keep_blocks(function: &mut Function, kept: &[bool]) {
    let mut renumbered = Vec::with_capacity(kept.len());
    let mut next = 0;
    for &kept in kept {
        renumbered.push(BlockId(next));
        next += u32::from(kept);
    }
    let mut index = 0;
    function.blocks.retain(|_| {
        index += 1;
        kept[index - 1]
    });
    for block in &mut function.blocks {
        for target in block.terminator.targets_mut() {
            target.block = renumbered[target.block.index()];
        }
    }
}

/// A parameter that gets the same value on every edge, or itself, is that value.
fn replace_constant_parameters(function: &mut Function) {
    let mut renaming = Renaming::new(function);
    loop {
        // By block and parameter: what it gets.
        let mut incoming: Vec<Vec<Incoming>> = function
            .blocks
            .iter()
            .map(|block| vec![Incoming::Nothing; block.parameters.len()])
            .collect();
        for block in &function.blocks {
            for target in block.terminator.targets() {
                let parameters = &function.blocks[target.block.index()].parameters;
                for ((incoming, argument), parameter) in incoming[target.block.index()]
                    .iter_mut()
                    .zip(&target.arguments)
                    .zip(parameters)
                {
                    let argument = renaming.get(*argument);
                    if argument != *parameter {
                        incoming.add(argument);
                    }
                }
            }
        }
        let mut dropped = vec![Vec::new(); function.blocks.len()];
        for (index, incoming) in incoming.iter().enumerate().skip(1) {
            for (at, incoming) in incoming.iter().enumerate() {
                if let Incoming::One(value) = incoming {
                    let parameter = function.blocks[index].parameters[at];
                    // Two parameters may stand for each other: the first one decides.
                    if renaming.get(*value) != parameter {
                        renaming.set(parameter, *value);
                        dropped[index].push(at);
                    }
                }
            }
        }
        if dropped.iter().all(Vec::is_empty) {
            break;
        }
        drop_parameters(function, &dropped);
    }
    renaming.apply(function);
}

#[derive(Clone, Copy)]
enum Incoming {
    Nothing,
    One(Value),
    Several,
}

impl Incoming {
    fn add(&mut self, value: Value) {
        *self = match *self {
            Incoming::Nothing => Incoming::One(value),
            Incoming::One(same) if same == value => Incoming::One(value),
            _ => Incoming::Several,
        };
    }
}

/// Drops parameters, listed by block in ascending order, and the arguments for them.
fn drop_parameters(function: &mut Function, dropped: &[Vec<usize>]) {
    fn keep(values: &mut Vec<Value>, dropped: &[usize]) {
        for at in dropped.iter().rev() {
            values.remove(*at);
        }
    }
    for block in &mut function.blocks {
        for target in block.terminator.targets_mut() {
            keep(&mut target.arguments, &dropped[target.block.index()]);
        }
    }
    for (block, dropped) in function.blocks.iter_mut().zip(dropped) {
        keep(&mut block.parameters, dropped);
    }
}

/// Edges to a block that only jumps on lead to where it jumps.
fn thread_empty_blocks(function: &mut Function) {
    let mut uses = vec![0u32; function.values.len()];
    for block in &function.blocks {
        for instruction in &block.instructions {
            instruction
                .op
                .for_each_use(|value| uses[value.index()] += 1);
        }
        block
            .terminator
            .for_each_use(|value| uses[value.index()] += 1);
    }
    // By block: where it jumps on to, if its parameters are of no other use.
    let mut onward: Vec<Option<Target>> = function
        .blocks
        .iter()
        .enumerate()
        .map(|(index, block)| match &block.terminator {
            Terminator::Jump(next) if index > 0 && block.instructions.is_empty() => {
                let mut left: Vec<u32> = block.parameters.iter().map(|p| uses[p.index()]).collect();
                for argument in &next.arguments {
                    if let Some(at) = block.parameters.iter().position(|p| p == argument) {
                        left[at] -= 1;
                    }
                }
                let private = left.iter().all(|left| *left == 0);
                (private && next.block.index() != index).then(|| next.clone())
            }
            _ => None,
        })
        .collect();
    for index in 0..function.blocks.len() {
        let mut terminator = std::mem::replace(
            &mut function.blocks[index].terminator,
            Terminator::Return(None),
        );
        for target in terminator.targets_mut() {
            // A ring of empty blocks is an endless loop; the number of steps bounds the walk.
            for _ in 0..8 {
                let Some(next) = &onward[target.block.index()] else {
                    break;
                };
                let parameters = &function.blocks[target.block.index()].parameters;
                let through = |argument: &Value| match parameters.iter().position(|p| p == argument)
                {
                    Some(at) => target.arguments[at],
                    None => *argument,
                };
                *target = Target {
                    block: next.block,
                    arguments: next.arguments.iter().map(through).collect(),
                };
            }
        }
        // A block whose own jump was redirected stays where it was for those that pass through it
        // later.
        if let (Terminator::Jump(target), Some(next)) = (&terminator, &mut onward[index]) {
            *next = target.clone();
        }
        function.blocks[index].terminator = terminator;
    }
    drop_unreachable(function);
}

/// Joins a block with the one it jumps to if no other edge leads there.
fn merge_with_only_successor(function: &mut Function) {
    let predecessors = Predecessors::of(function);
    let mut renaming = Renaming::new(function);
    let mut kept = vec![true; function.blocks.len()];
    for index in 0..function.blocks.len() {
        if !kept[index] {
            continue;
        }
        while let Terminator::Jump(target) = &function.blocks[index].terminator {
            let next = target.block;
            if next.index() == index || next == Function::ENTRY || predecessors.get(next).len() != 1
            {
                break;
            }
            let arguments = target.arguments.clone();
            let merged = std::mem::replace(
                &mut function.blocks[next.index()],
                Block {
                    parameters: Vec::new(),
                    instructions: Vec::new(),
                    terminator: Terminator::Return(None),
                },
            );
            kept[next.index()] = false;
            for (parameter, argument) in merged.parameters.into_iter().zip(arguments) {
                renaming.set(parameter, argument);
            }
            let block = &mut function.blocks[index];
            block.instructions.extend(merged.instructions);
            block.terminator = merged.terminator;
        }
    }
    renaming.apply(function);
    keep_blocks(function, &kept);
}

/// Drops instructions and parameters whose values nobody needs, also if they need each other.
fn drop_unused(function: &mut Function) {
    let definitions = Definitions::of(function);
    let predecessors = Predecessors::of(function);
    let mut needed = vec![false; function.values.len()];
    let mut waiting = Vec::new();
    let mut need = |value: Value, waiting: &mut Vec<Value>| {
        if !std::mem::replace(&mut needed[value.index()], true) {
            waiting.push(value);
        }
    };
    for parameter in &function.block(Function::ENTRY).parameters {
        need(*parameter, &mut waiting);
    }
    for block in &function.blocks {
        for instruction in &block.instructions {
            if !is_droppable(function, &definitions, &instruction.op) {
                instruction
                    .op
                    .for_each_use(|value| need(value, &mut waiting));
            }
        }
        match &block.terminator {
            Terminator::Branch { condition, .. } => need(*condition, &mut waiting),
            Terminator::Return(Some(value)) => need(*value, &mut waiting),
            Terminator::Return(None) | Terminator::Jump(_) => {}
        }
    }
    while let Some(value) = waiting.pop() {
        match definitions.get(value) {
            Some(Definition::Result(block, at)) => function.block(block).instructions[at]
                .op
                .for_each_use(|value| need(value, &mut waiting)),
            Some(Definition::Parameter(block, at)) => {
                for predecessor in predecessors.get(block) {
                    for target in function.block(*predecessor).terminator.targets() {
                        if target.block == block {
                            need(target.arguments[at], &mut waiting);
                        }
                    }
                }
            }
            None => {}
        }
    }
    let dropped: Vec<Vec<usize>> = function
        .blocks
        .iter()
        .map(|block| {
            (0..block.parameters.len())
                .filter(|at| !needed[block.parameters[*at].index()])
                .collect()
        })
        .collect();
    let unneeded: Vec<Vec<bool>> = function
        .blocks
        .iter()
        .map(|block| {
            let drop = |i: &finishline_ir::Instruction| {
                i.result.is_some_and(|result| !needed[result.index()])
                    && is_droppable(function, &definitions, &i.op)
            };
            block.instructions.iter().map(drop).collect()
        })
        .collect();
    for (block, unneeded) in function.blocks.iter_mut().zip(unneeded) {
        let mut at = 0;
        block.instructions.retain(|_| {
            at += 1;
            !unneeded[at - 1]
        });
    }
    drop_parameters(function, &dropped);
}

/// Numbers the values anew, in order of their definitions, so that frames are no larger than
/// needed.
fn number_values(function: &mut Function) {
    let mut renumbered = vec![None; function.values.len()];
    let mut types = Vec::new();
    let mut define = |value: &mut Value| {
        types.push(function.values[value.index()]);
        let new = Value::from_index(types.len() - 1);
        renumbered[value.index()] = Some(new);
        *value = new;
    };
    for block in &mut function.blocks {
        block.parameters.iter_mut().for_each(&mut define);
        for instruction in &mut block.instructions {
            instruction.result.iter_mut().for_each(&mut define);
        }
    }
    let rename = |value: &mut Value| {
        *value = renumbered[value.index()].expect("every value in use has a definition");
    };
    for block in &mut function.blocks {
        for instruction in &mut block.instructions {
            instruction.op.for_each_use_mut(rename);
        }
        block.terminator.for_each_use_mut(rename);
    }
    function.values = types;
}
