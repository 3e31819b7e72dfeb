//! A function under construction: blocks, and the current value of each local.
//!
//! Assignments are logged. So each branch of an `if` can start from the same values, and the join
//! finds what the branches changed. The cost is that of the changes, not of all locals.

use crate::hir::LocalId;
use finishline_ir::{Block, BlockId, Function, Instruction, Role, Target, Terminator, Type, Value};
use finishline_model::SiteId;

pub(super) struct Builder {
    blocks: Vec<(Vec<Value>, Vec<Instruction>, Option<Terminator>)>,
    values: Vec<Type>,
    /// Blocks that some jump or branch leads to.
    targeted: Vec<bool>,
    /// None where control does not arrive.
    current: Option<BlockId>,
    locals: Vec<Option<Value>>,
    /// Each assignment with the value it replaced.
    log: Vec<(LocalId, Option<Value>)>,
}

/// A position in the log to return to.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize);

impl Builder {
    pub(super) fn new(locals: usize) -> Self {
        let mut builder = Builder {
            blocks: Vec::new(),
            values: Vec::new(),
            targeted: Vec::new(),
            current: None,
            locals: vec![None; locals],
            log: Vec::new(),
        };
        let entry = builder.new_block();
        builder.start(entry);
        builder
    }

    pub(super) fn new_block(&mut self) -> BlockId {
        let id = BlockId::from_index(self.blocks.len());
        self.blocks.push((Vec::new(), Vec::new(), None));
        self.targeted.push(false);
        id
    }

    pub(super) fn new_value(&mut self, ty: Type) -> Value {
        let id = Value::from_index(self.values.len());
        self.values.push(ty);
        id
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.values[value.index()]
    }

    pub(super) fn parameter(&mut self, block: BlockId, ty: Type) -> Value {
        let value = self.new_value(ty);
        self.blocks[block.index()].0.push(value);
        value
    }

    /// Sends further instructions to this block.
    pub(super) fn start(&mut self, block: BlockId) {
        self.current = Some(block);
    }

    pub(super) fn reachable(&self) -> bool {
        self.current.is_some()
    }

    pub(super) fn is_targeted(&self, block: BlockId) -> bool {
        self.targeted[block.index()]
    }

    /// Leaves the current block open. It can be started again later.
    pub(super) fn pause(&mut self) -> Option<BlockId> {
        self.current.take()
    }

    pub(super) fn push(&mut self, instruction: Instruction) {
        if let Some(block) = self.current {
            self.blocks[block.index()].1.push(instruction);
        }
    }

    /// Ends the current block.
    pub(super) fn end(&mut self, terminator: Terminator) {
        if let Some(block) = self.current.take() {
            for target in terminator.targets() {
                self.targeted[target.block.index()] = true;
            }
            self.blocks[block.index()].2 = Some(terminator);
        }
    }

    pub(super) fn jump(&mut self, block: BlockId, arguments: Vec<Value>) {
        self.end(Terminator::Jump(Target { block, arguments }));
    }

    pub(super) fn branch(&mut self, condition: Value, then: BlockId, otherwise: BlockId) {
        let to = |block| Target {
            block,
            arguments: Vec::new(),
        };
        self.end(Terminator::Branch {
            condition,
            then: to(then),
            otherwise: to(otherwise),
        });
    }

    pub(super) fn set(&mut self, local: LocalId, value: Value) {
        let before = self.locals[local.index()].replace(value);
        self.log.push((local, before));
    }

    pub(super) fn get(&self, local: LocalId) -> Value {
        self.locals[local.index()].expect("a local is assigned where it is declared")
    }

    pub(super) fn is_set(&self, local: LocalId) -> bool {
        self.locals[local.index()].is_some()
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    /// Undoes the assignments since the mark. Returns the values that they gave, sorted by local,
    /// without locals that were declared since the mark.
    pub(super) fn undo(&mut self, mark: Mark) -> Vec<(LocalId, Value)> {
        let logged = self.log[mark.0..].iter();
        let mut changed: Vec<_> = logged
            .filter_map(|(local, _)| Some((*local, self.locals[local.index()]?)))
            .collect();
        changed.sort_unstable();
        changed.dedup();
        for (local, before) in self.log.drain(mark.0..).rev() {
            self.locals[local.index()] = before;
        }
        changed.retain(|(local, _)| self.is_set(*local));
        changed
    }

    /// The finished function, without blocks that cannot be reached, such as the exit of an endless
    /// loop.
    pub(super) fn finish(
        self,
        name: String,
        role: Role,
        parameters: Vec<String>,
        result: Option<Type>,
        (site, end): (SiteId, SiteId),
    ) -> Function {
        let mut renumbered = vec![None; self.blocks.len()];
        let mut reached = vec![Function::ENTRY];
        renumbered[0] = Some(Function::ENTRY);
        let mut next = 0;
        while let Some(block) = reached.get(next) {
            next += 1;
            for target in self.blocks[block.index()]
                .2
                .iter()
                .flat_map(Terminator::targets)
            {
                if renumbered[target.block.index()].is_none() {
                    renumbered[target.block.index()] = Some(BlockId::from_index(reached.len()));
                    reached.push(target.block);
                }
            }
        }
        let mut unfinished: Vec<_> = self.blocks.into_iter().map(Some).collect();
        let blocks = reached
            .into_iter()
            .filter_map(|block| unfinished[block.index()].take());
        let blocks = blocks
            .map(|(parameters, instructions, terminator)| {
                let mut terminator = terminator.expect("a block that is jumped to was ended");
                for target in terminator.targets_mut() {
                    target.block = renumbered[target.block.index()].unwrap_or(target.block);
                }
                Block {
                    parameters,
                    instructions,
                    terminator,
                }
            })
            .collect();
        Function {
            name,
            role,
            parameters,
            result,
            blocks,
            frame: self.values.len() as u32,
            values: self.values,
            site,
            end,
        }
    }
}
