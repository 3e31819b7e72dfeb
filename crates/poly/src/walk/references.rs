//! References that a loop changes: their targets in an iteration and after the loop.
//!
//! A loop may exchange references, as one that computes from one array into another and back. Then
//! each local holds the references in turn, by the number of the iteration. For other references
//! only the possible targets are known.

use super::loops::Carried;
use super::{Jumps, Value, Walker};
use crate::facts::Reference;
use crate::sets::{Affine, Result};
use crate::symbols::Symbol;
use finishline_answer::proof::ReasonKind;
use finishline_fin::hir::LocalId;
use finishline_model::SiteId;

/// References that take longer to come back are not followed.
const LONGEST_TURN: usize = 5;

/// A local and the references that it holds in turn.
pub(super) type Turn = (LocalId, Vec<usize>);

impl Walker<'_> {
    /// Says what the references that a loop changes are at the start of an iteration: if each
    /// iteration exchanges them among each other, that depends on its number; otherwise any of what
    /// they were or were set to.
    pub(super) fn exchange(
        &mut self,
        carried: &[Carried],
        number: &Affine,
        jumps: &Jumps,
    ) -> Result<Vec<Turn>> {
        let mut changed = Vec::new();
        for it in carried {
            let last = self.frame().locals[it.local.index()].clone();
            if let (Some(placeholder), Value::Reference(first), Some(Value::Reference(last))) =
                (it.placeholder, &it.before, last)
            {
                changed.push((it.local, placeholder, *first, last));
            } else if let Some(placeholder) = it.placeholder {
                let unknown = Reference::Unknown(ReasonKind::Aliasing, SiteId(0));
                self.facts.references[placeholder] = unknown;
            }
        }
        let mut turns = Vec::new();
        for (local, placeholder, first, last) in &changed {
            let mut turn = vec![*first];
            let mut holder = *last;
            // One that ends before its time may not exchange them.
            let every = jumps.at_continues.is_empty();
            while every && holder != *placeholder && turn.len() < LONGEST_TURN {
                let Some((_, _, first, last)) = changed.iter().find(|it| it.1 == holder) else {
                    break;
                };
                turn.push(*first);
                holder = *last;
            }
            self.facts.references[*placeholder] = if every && holder == *placeholder {
                let held = self.in_turn(&turn, number)?;
                turns.push((*local, turn));
                Reference::Any(vec![held])
            } else {
                let outer = self.loops[..self.loops.len() - 1].to_vec();
                let mut any = vec![*first];
                any.extend(self.held_at(*local, *last, &jumps.at_continues, &outer));
                Reference::Any(any)
            };
        }
        Ok(turns)
    }

    /// What a local may hold when an iteration of a loop has ended: at its end, or where it was
    /// left.
    pub(super) fn held_at(
        &mut self,
        local: LocalId,
        at_end: usize,
        where_left: &[Vec<Option<Value>>],
        outer: &[Symbol],
    ) -> Vec<usize> {
        let mut held = vec![at_end];
        for locals in where_left {
            if let Some(value) = locals[local.index()].clone() {
                held.push(self.reference(value));
            }
        }
        held.sort_unstable();
        held.dedup();
        let outside = |reference| Reference::Outside {
            reference,
            loops: outer.to_vec(),
        };
        let held = held.into_iter().map(outside);
        held.map(|it| self.facts.new_reference(it)).collect()
    }

    /// What a local holds after so many exchanges, if it holds these references in turn.
    pub(super) fn in_turn(&mut self, turn: &[usize], number: &Affine) -> Result<usize> {
        let phase = number.modulo(turn.len() as i64)?;
        let mut held = turn[0];
        for (at, reference) in turn.iter().enumerate().skip(1) {
            held = self.facts.new_reference(Reference::Select {
                condition: phase.equals(&self.isl.constant(at as i64)?)?,
                yes: *reference,
                no: held,
            });
        }
        Ok(held)
    }
}
