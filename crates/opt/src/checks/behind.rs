//! Checks of a loop made where control leaves the loop.
//!
//! In front of a loop with an exit in the middle, or with any condition, the number of iterations
//! is not known. Behind the loop it is known: a counter k of iterations goes along. At an
//! [exit](super::ways) where the check has been made in the last iteration, too, it has been made
//! k + 1 times, and else k times. [`super::sweeps`] counts in another way. All of the loop is in
//! one step, so the checks behind the loop are made in the step of the accesses.
//!
//! A *search* compares elements and leaves the loop when it has found one. Most searches are short,
//! so checks of single elements cost less than the check of a range behind the loop: they stay.

use super::loops::Check;
use super::sweeps::{Sweep, Swept};
use super::ways::Exit;
use crate::edit::{Definition, append, constant, new_block, target};
use crate::evolution::{Class, Context, Evolution, is_outside};
use crate::loop_form::add_counter;
use finishline_ir::loops::Loop;
use finishline_ir::{
    BinaryOp, BlockId, CompareOp, Const, Function, Op, Operand, Terminator, Type, Value,
};
use rustc_hash::FxHashSet;

/// Whether an element that the loop reads decides if the loop goes on, another one in each
/// iteration.
pub(super) fn is_search(context: Context<'_>, leaving: &[BlockId], evolution: &Evolution) -> bool {
    let Context {
        function,
        definitions,
        loops,
        id,
        ..
    } = context;
    let this = loops.get(id);
    let changes = |value: Value| evolution.class(context, value) != Class::Invariant;
    let conditions = leaving
        .iter()
        .map(|block| &function.block(*block).terminator);
    let mut waiting: Vec<Value> = conditions
        .filter_map(|terminator| match terminator {
            Terminator::Branch { condition, .. } => Some(*condition),
            _ => None,
        })
        .collect();
    let mut seen = FxHashSet::default();
    while let Some(value) = waiting.pop() {
        if is_outside(context, value) || !seen.insert(value) {
            continue;
        }
        match definitions.get(value) {
            Some(Definition::Result(block, at)) => match &function.block(block).instructions[at].op
            {
                Op::Load {
                    offset: Operand::Value(offset),
                    ..
                } if changes(*offset) => return true,
                Op::Load { .. } => {}
                op => op.for_each_use(|operand| waiting.push(operand)),
            },
            // Where `&&` and `||` end. What comes around the loop is of the iteration before.
            Some(Definition::Parameter(block, at)) if block != this.header => {
                let edges = this
                    .blocks
                    .iter()
                    .flat_map(|from| function.block(*from).terminator.targets());
                let edges = edges.filter(|edge| edge.block == block);
                waiting.extend(edges.map(|edge| edge.arguments[at]));
            }
            _ => {}
        }
    }
    false
}

/// A check that leaves a loop: of what begins at `first` in the first iteration and `step` further
/// on in each later one.
pub(super) struct Moved {
    pub(super) check: Check,
    pub(super) first: Operand,
    pub(super) step: Operand,
    pub(super) count: Operand,
    pub(super) stride: Operand,
    pub(super) exits: Vec<Exit>,
    pub(super) sweep: Option<Sweep>,
}

/// What goes along with the iterations to tell how often a check has been made.
#[derive(Clone, Copy)]
enum Along {
    Iterations(Value),
    Sweep(Swept),
}

/// Adds checks to the exits of a loop.
pub(super) fn add(function: &mut Function, this: &Loop, entry: BlockId, moved: Vec<Moved>) {
    let Some(first) = moved.first() else {
        return;
    };
    let in_each = moved.iter().any(|moved| moved.sweep.is_none());
    let iterations = in_each.then(|| {
        let zero = constant(function, entry, Const::Int(0));
        let one = constant(function, entry, Const::Int(1));
        add_counter(function, this, entry, zero, one)
    });
    let along: Vec<Along> = moved
        .iter()
        .filter_map(|moved| match (moved.sweep, moved.first) {
            (Some(sweep), Operand::Value(first)) => {
                Some(Along::Sweep(sweep.follow(function, this, entry, first)))
            }
            _ => iterations.map(Along::Iterations),
        })
        .collect();
    let sources: Vec<BlockId> = first.exits.iter().map(|exit| exit.from).collect();
    for (index, source) in sources.into_iter().enumerate() {
        let inside = |block: BlockId| this.blocks.contains(&block);
        let mut terminator = function.block(source).terminator.clone();
        for edge in terminator.targets_mut().filter(|edge| !inside(edge.block)) {
            let behind = new_block(function);
            let onward = std::mem::replace(edge, target(behind, Vec::new()));
            function.blocks[behind.index()].terminator = Terminator::Jump(onward);
            for (moved, along) in moved.iter().zip(&along) {
                moved.add_to(function, behind, moved.exits[index].passed, *along);
            }
        }
        function.blocks[source.index()].terminator = terminator;
    }
}

impl Moved {
    /// Adds the check to a block that control passes after some iterations, and perhaps a part of
    /// one.
    fn add_to(&self, function: &mut Function, block: BlockId, passed: bool, along: Along) {
        let (count, stride) = match along {
            Along::Sweep(swept) => {
                let count = swept.count(function, block, passed);
                (Operand::Value(count), self.step)
            }
            Along::Iterations(iterations) => self.of_each(function, block, passed, iterations),
        };
        let check = self.check.of(self.first, count, stride);
        function.blocks[block.index()].instructions.push(check);
    }

    /// The count and the stride of what each of the iterations checks.
    fn of_each(
        &self,
        function: &mut Function,
        block: BlockId,
        passed: bool,
        iterations: Value,
    ) -> (Operand, Operand) {
        let mut compute = |op, ty| append(function, block, op, ty);
        match (self.step, passed) {
            (Operand::Constant(0), true) => (self.count, self.stride),
            (Operand::Constant(0), false) => {
                let zero = compute(Op::Const(Const::Int(0)), Type::Int);
                let any = Op::Compare(CompareOp::NotEqual, iterations, zero);
                let any = compute(any, Type::Bool);
                let any = compute(Op::Convert(any, Type::Int), Type::Int);
                let count = match self.count {
                    Operand::Constant(1) => any,
                    Operand::Constant(count) => {
                        let count = compute(Op::Const(Const::Int(count)), Type::Int);
                        compute(Op::Binary(BinaryOp::Multiply, count, any), Type::Int)
                    }
                    Operand::Value(count) => {
                        compute(Op::Binary(BinaryOp::Multiply, count, any), Type::Int)
                    }
                };
                (Operand::Value(count), self.stride)
            }
            (step, false) => (Operand::Value(iterations), step),
            (step, true) => {
                let one = compute(Op::Const(Const::Int(1)), Type::Int);
                let more = Op::Binary(BinaryOp::Add, iterations, one);
                (Operand::Value(compute(more, Type::Int)), step)
            }
        }
    }
}
