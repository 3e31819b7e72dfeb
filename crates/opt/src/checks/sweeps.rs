//! Checks of `a[p]` in a loop that goes on with p in some iterations, and not in others.
//!
//! A merge of two runs reads `from[i]` and `from[j]` in each iteration, and goes on in one of the
//! runs. A filter writes `to[k]` and goes on with k if it keeps something. How far they get is not
//! known in front of the loop, but behind it p says so: the locations from the first one up to some
//! last one were accessed, and all of them can be checked at once.
//!
//! **The rule.** p is a parameter of the header, and each way around leaves it as it is or changes
//! it by the same step, 1 or −1. There are two kinds of sweeps:
//!
//! - Every way around makes the check. Then no value of p is left out, and the last location is
//!   that of the last iteration that made the check. At an exit where the present one has made it,
//!   that is p, and else p as it was in the iteration before. Unless every way around changes p, a
//!   second parameter goes along for that, one iteration behind.
//! - A way around makes the check if and only if it changes p. Then the location before p is the
//!   last one. At an exit where the present iteration has made the check, it is p.
//!
//! Where p comes from is followed back over the joins of the iteration to the edges that bring p or
//! its neighbour along. A way passes one of these edges last. It has made the check before each
//! edge that changes p, and makes none before or behind an edge that leaves p as it is.
//!
//! Locations are computed in wrapping arithmetic. If p leaves the object, a bounds check fails.

use super::loops::Offset;
use super::ways::Ways;
use crate::edit::{Definition, append};
use crate::evolution::{Context, header_parameter};
use crate::loop_form::add_follower;
use finishline_ir::loops::Loop;
use finishline_ir::{BinaryOp, BlockId, Const, Function, Op, Operand, Type, Value};
use rustc_hash::FxHashSet;

/// How the location of a check goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep {
    /// Which parameter of the header it is.
    pub(super) at: usize,
    /// 1 or −1.
    pub(super) step: i64,
    /// Whether p may be the same in the next iteration, after a check.
    may_stay: bool,
}

/// An edge from one block to another.
#[derive(Clone, Copy)]
struct Edge {
    from: BlockId,
    to: BlockId,
}

/// The edges that bring p along, as it is or changed by this.
#[derive(Default)]
struct Edges {
    staying: Vec<Edge>,
    going_on: Vec<Edge>,
    step: Option<i64>,
}

impl Sweep {
    /// The sweep of a check that these blocks make.
    pub(super) fn of(
        context: Context<'_>,
        ways: &Ways<'_>,
        blocks: &[BlockId],
        first: &Offset,
    ) -> Option<Sweep> {
        let p = match first {
            Offset::Operand(Operand::Value(p)) => *p,
            Offset::Element(indices) => match indices[..] {
                [p] => p,
                _ => return None,
            },
            Offset::Operand(Operand::Constant(_)) => return None,
        };
        let at = header_parameter(context, p)?;
        let this = context.loops.get(context.id);
        let mut edges = Edges::default();
        let mut seen = FxHashSet::default();
        for &latch in &this.latches {
            for target in context.function.block(latch).terminator.targets() {
                if target.block == this.header {
                    let edge = Edge {
                        from: latch,
                        to: this.header,
                    };
                    edges.follow(context, p, target.arguments[at], edge, &mut seen)?;
                }
            }
        }
        let sweep = |may_stay| {
            Some(Sweep {
                at,
                step: edges.step?,
                may_stay,
            })
        };
        if ways.always_pass(blocks) {
            return sweep(!edges.staying.is_empty());
        }
        let (without, after) = (ways.without(blocks), ways.after(blocks));
        let leaves_out = edges.going_on.iter().any(|e| without.contains(&e.from));
        let mut staying = edges.staying.iter();
        let stays = staying.any(|e| after.contains(&e.from) || ways.lead_to(e.to, blocks));
        match leaves_out || stays {
            true => None,
            false => sweep(false),
        }
    }

    /// Lets what the sweep needs go along with the loop.
    pub(super) fn follow(
        self,
        function: &mut Function,
        this: &Loop,
        entry: BlockId,
        first: Value,
    ) -> Swept {
        let p = function.block(this.header).parameters[self.at];
        let before = self.may_stay.then(|| {
            let step = append(function, entry, Op::Const(Const::Int(self.step)), Type::Int);
            let before = Op::Binary(BinaryOp::Subtract, first, step);
            let before = append(function, entry, before, Type::Int);
            add_follower(function, this, entry, before, p)
        });
        Swept {
            sweep: self,
            first,
            p,
            before,
        }
    }
}

impl Edges {
    /// Adds the edges that decide about a value, which an edge brings along. None if it may be
    /// something else.
    fn follow(
        &mut self,
        context: Context<'_>,
        p: Value,
        value: Value,
        along: Edge,
        seen: &mut FxHashSet<Value>,
    ) -> Option<()> {
        let Context {
            function,
            definitions,
            loops,
            id,
            ..
        } = context;
        if value == p {
            self.staying.push(along);
            return Some(());
        }
        match definitions.get(value)? {
            Definition::Result(..) => {
                let constant = |value: &Value| definitions.int(function, *value);
                let step = match definitions.op(function, value)? {
                    Op::Binary(BinaryOp::Add, a, b) if *a == p => constant(b)?,
                    Op::Binary(BinaryOp::Add, a, b) if *b == p => constant(a)?,
                    Op::Binary(BinaryOp::Subtract, a, b) if *a == p => {
                        constant(b)?.checked_neg()?
                    }
                    _ => return None,
                };
                let agrees = self.step.is_none_or(|known| known == step);
                if step.unsigned_abs() != 1 || !agrees {
                    return None;
                }
                self.step = Some(step);
                self.going_on.push(along);
            }
            Definition::Parameter(join, at) => {
                let this = loops.get(id);
                if join == this.header || !loops.contains(id, join) {
                    return None;
                }
                if !seen.insert(value) {
                    return Some(());
                }
                for &from in &this.blocks {
                    for target in function.block(from).terminator.targets() {
                        if target.block == join {
                            let edge = Edge { from, to: join };
                            self.follow(context, p, target.arguments[at], edge, seen)?;
                        }
                    }
                }
            }
        }
        Some(())
    }
}

/// A sweep, and the values that tell how far it has got.
#[derive(Clone, Copy)]
pub(super) struct Swept {
    sweep: Sweep,
    first: Value,
    p: Value,
    /// p in the iteration before, and before the first one what would lead to `first`.
    before: Option<Value>,
}

impl Swept {
    /// How many locations were checked, in a block behind an exit.
    pub(super) fn count(&self, function: &mut Function, block: BlockId, passed: bool) -> Value {
        let mut compute = |op| append(function, block, op, Type::Int);
        let (last, one_more) = match self.before {
            Some(before) if !passed => (before, true),
            _ => (self.p, passed),
        };
        let apart = match self.sweep.step > 0 {
            true => compute(Op::Binary(BinaryOp::Subtract, last, self.first)),
            false => compute(Op::Binary(BinaryOp::Subtract, self.first, last)),
        };
        match one_more {
            true => {
                let one = compute(Op::Const(Const::Int(1)));
                compute(Op::Binary(BinaryOp::Add, apart, one))
            }
            false => apart,
        }
    }
}
