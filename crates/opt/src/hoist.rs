//! Loop-invariant code motion: what every iteration would compute alike is computed before the
//! loop.
//!
//! An instruction moves to the block in front of a loop, and on from there, as long as all its
//! operands are defined outside the loop it leaves and it can do no harm there, where it may run
//! although the loop would not have got to it:
//!
//! - an operation that can't fail; a costly one only if every iteration makes it;
//! - a length, where the array is known not to be null: the sizes of an array never change;
//! - a load, if nothing in the loop can change its location ([`Changes`]), of a field or element
//!   whose object is known not to be null, the offset of an element having passed its bounds check
//!   before the loop. Its race check stays: it is an event.
//!
//! Nothing that fails, tells an event or writes moves. One walk over the function decides where
//! each instruction goes, the operands before the users; a second one moves them. Linear, times the
//! depth of nesting.

use crate::changes::{Calls, Changes};
use crate::edit::Definitions;
use crate::effects::{is_costly, is_pure, region};
use crate::evolution::{Context, is_unconditional};
use crate::loop_form::Nest;
use crate::not_null::NotNull;
use finishline_ir::loops::LoopId;
use finishline_ir::{BlockId, Function, Instruction, Op, Operand, Value};
use finishline_model::AccessId;

/// Moves invariant instructions out of loops. Loads that were moved away from their checks are
/// noted.
pub(crate) fn hoist(
    function: &mut Function,
    nest: &Nest,
    calls: &Calls,
    moved: &mut Vec<AccessId>,
) {
    let definitions = Definitions::of(function);
    let Nest {
        dominators, loops, ..
    } = nest;
    let context = Context {
        function,
        definitions: &definitions,
        dominators,
        loops,
        id: LoopId(0),
    };
    let changes = loops
        .iter()
        .map(|(id, _)| Changes::of(Context { id, ..context }, calls));
    let mover = Mover {
        not_null: NotNull::of(function, &definitions, dominators),
        changes: changes.collect(),
        nest,
        context,
    };
    let mut homes: Vec<Option<BlockId>> = (0..function.values.len())
        .map(|value| {
            let definition = definitions.get(Value::from_index(value))?;
            Some(definition.block())
        })
        .collect();
    for &block in dominators.order() {
        for instruction in &function.block(block).instructions {
            if let Some(result) = instruction.result {
                homes[result.index()] = Some(mover.home(&homes, block, instruction));
            }
        }
    }
    move_home(function, dominators.order(), &homes, moved);
}

struct Mover<'a> {
    not_null: NotNull,
    /// By loop.
    changes: Vec<Changes>,
    nest: &'a Nest,
    /// Of no loop in particular.
    context: Context<'a>,
}

impl Mover<'_> {
    /// The block an instruction goes to.
    fn home(
        &self,
        homes: &[Option<BlockId>],
        block: BlockId,
        instruction: &Instruction,
    ) -> BlockId {
        let loops = self.context.loops;
        let mut home = block;
        loop {
            let Some(id) = loops.innermost(home) else {
                return home;
            };
            let mut free = true;
            instruction.op.for_each_use(|operand| {
                free &= homes[operand.index()].is_some_and(|home| !loops.contains(id, home));
            });
            if !free || !self.may_leave(id, block, instruction) {
                return home;
            }
            home = self.nest.entry(id);
        }
    }

    /// Whether an instruction of a block may run in front of a loop, its operands being there.
    fn may_leave(&self, id: LoopId, block: BlockId, instruction: &Instruction) -> bool {
        let context = Context { id, ..self.context };
        let Context {
            function,
            definitions,
            dominators,
            ..
        } = context;
        let entry = self.nest.entry(id);
        let is_object = |reference| self.not_null.holds(reference, entry, dominators);
        match &instruction.op {
            Op::Length { array, .. } => is_object(*array),
            Op::Load { base, offset, .. } => {
                let Some(result) = instruction.result else {
                    return false;
                };
                let exists = match offset {
                    Operand::Constant(_) => is_object(*base),
                    Operand::Value(offset) => matches!(
                        definitions.op(function, *offset),
                        Some(Op::Index { array, .. }) if array == base
                    ),
                };
                let of = region(function, definitions, *base, *offset, function.ty(result));
                exists && !self.changes[id.index()].may_change(of)
            }
            op => {
                is_pure(function, definitions, op)
                    && (!is_costly(op) || is_unconditional(context, block))
            }
        }
    }
}

/// Moves every instruction to the end of its home, in the order in which they were met.
fn move_home(
    function: &mut Function,
    order: &[BlockId],
    homes: &[Option<BlockId>],
    moved: &mut Vec<AccessId>,
) {
    let mut arrived: Vec<Vec<Instruction>> = vec![Vec::new(); function.blocks.len()];
    for block in order {
        let instructions = std::mem::take(&mut function.blocks[block.index()].instructions);
        for instruction in instructions {
            let home = instruction
                .result
                .and_then(|result| homes[result.index()])
                .unwrap_or(*block);
            if let Op::Load { access, .. } = instruction.op
                && home != *block
            {
                moved.push(access);
            }
            if home == *block {
                function.blocks[block.index()]
                    .instructions
                    .push(instruction);
            } else {
                arrived[home.index()].push(instruction);
            }
        }
    }
    for (block, arrived) in function.blocks.iter_mut().zip(arrived) {
        block.instructions.extend(arrived);
    }
}
