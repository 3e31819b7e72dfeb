//! Tools that passes share to change a function: new values and blocks, renaming, definitions and
//! predecessors.

use finishline_ir::{
    Block, BlockId, Const, Function, Instruction, Op, Target, Terminator, Type, Value,
};
use finishline_model::SiteId;

/// What a pass computes on its own has no place in the source; it can't fail, so nobody asks.
pub(crate) const NO_SITE: SiteId = SiteId(0);

pub(crate) fn new_value(function: &mut Function, ty: Type) -> Value {
    function.values.push(ty);
    Value::from_index(function.values.len() - 1)
}

/// A block that must still get its terminator.
pub(crate) fn new_block(function: &mut Function) -> BlockId {
    function.blocks.push(Block {
        parameters: Vec::new(),
        instructions: Vec::new(),
        terminator: Terminator::Return(None),
    });
    BlockId::from_index(function.blocks.len() - 1)
}

/// Adds an instruction to the end of a block; its result.
pub(crate) fn append(function: &mut Function, block: BlockId, op: Op, ty: Type) -> Value {
    let result = new_value(function, ty);
    function.blocks[block.index()]
        .instructions
        .push(Instruction {
            op,
            result: Some(result),
            site: NO_SITE,
        });
    result
}

pub(crate) fn constant(function: &mut Function, block: BlockId, value: Const) -> Value {
    append(function, block, Op::Const(value), value.ty())
}

pub(crate) fn target(block: BlockId, arguments: Vec<Value>) -> Target {
    Target { block, arguments }
}

/// By block: the sources of the edges to it, one for each edge. Unreachable blocks count too.
pub(crate) struct Predecessors {
    /// Where the sources of each block begin; one more than there are blocks.
    starts: Vec<u32>,
    sources: Vec<BlockId>,
}

impl Predecessors {
    pub(crate) fn of(function: &Function) -> Predecessors {
        let mut starts = vec![0; function.blocks.len() + 1];
        let edges = || {
            let blocks = function.blocks.iter().enumerate();
            blocks.flat_map(|(index, block)| {
                let source = BlockId::from_index(index);
                let targets = block.terminator.targets();
                targets.map(move |target| (source, target.block.index()))
            })
        };
        for (_, to) in edges() {
            starts[to] += 1;
        }
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        let mut sources = vec![Function::ENTRY; total as usize];
        for (source, to) in edges() {
            starts[to] -= 1;
            sources[starts[to] as usize] = source;
        }
        Predecessors { starts, sources }
    }

    pub(crate) fn get(&self, block: BlockId) -> &[BlockId] {
        let index = block.index();
        &self.sources[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Definition {
    Parameter(BlockId, usize),
    Result(BlockId, usize),
}

impl Definition {
    pub(crate) fn block(self) -> BlockId {
        match self {
            Definition::Parameter(block, _) | Definition::Result(block, _) => block,
        }
    }
}

/// By value: its definition. None if it has none any more.
pub(crate) struct Definitions(Vec<Option<Definition>>);

impl Definitions {
    pub(crate) fn of(function: &Function) -> Definitions {
        let mut found = vec![None; function.values.len()];
        for (index, block) in function.blocks.iter().enumerate() {
            let id = BlockId::from_index(index);
            for (at, parameter) in block.parameters.iter().enumerate() {
                found[parameter.index()] = Some(Definition::Parameter(id, at));
            }
            for (at, instruction) in block.instructions.iter().enumerate() {
                if let Some(result) = instruction.result {
                    found[result.index()] = Some(Definition::Result(id, at));
                }
            }
        }
        Definitions(found)
    }

    /// None also for a value made since.
    pub(crate) fn get(&self, value: Value) -> Option<Definition> {
        *self.0.get(value.index())?
    }

    pub(crate) fn op<'f>(&self, function: &'f Function, value: Value) -> Option<&'f Op> {
        match self.get(value)? {
            Definition::Result(block, at) => Some(&function.block(block).instructions[at].op),
            Definition::Parameter(..) => None,
        }
    }

    pub(crate) fn constant(&self, function: &Function, value: Value) -> Option<Const> {
        match self.op(function, value)? {
            Op::Const(constant) => Some(*constant),
            _ => None,
        }
    }

    pub(crate) fn int(&self, function: &Function, value: Value) -> Option<i64> {
        match self.constant(function, value)? {
            Const::Int(int) => Some(int),
            _ => None,
        }
    }
}

/// Values that other values stand for.
pub(crate) struct Renaming(Vec<Value>);

impl Renaming {
    pub(crate) fn new(function: &Function) -> Renaming {
        Renaming((0..function.values.len()).map(Value::from_index).collect())
    }

    /// From now on `new` stands for `old`, which nothing else stands for so far.
    pub(crate) fn set(&mut self, old: Value, new: Value) {
        let new = self.get(new);
        let made_since = self.0.len()..old.index() + 1;
        self.0.extend(made_since.map(Value::from_index));
        self.0[old.index()] = new;
    }

    /// What stands for a value in the end; the way there is shortened.
    pub(crate) fn get(&mut self, value: Value) -> Value {
        let mut end = value;
        while let Some(&next) = self.0.get(end.index())
            && next != end
        {
            end = next;
        }
        let mut at = value;
        while at != end {
            at = std::mem::replace(&mut self.0[at.index()], end);
        }
        end
    }

    pub(crate) fn apply(&mut self, function: &mut Function) {
        for block in &mut function.blocks {
            for instruction in &mut block.instructions {
                instruction
                    .op
                    .for_each_use_mut(|value| *value = self.get(*value));
            }
            block
                .terminator
                .for_each_use_mut(|value| *value = self.get(*value));
        }
    }
}
