//! Arithmetic modulo 2⁶⁴.
//!
//! The walker describes an `int` by an expression over endless integers. The program computes with
//! 64 bits, so the expression is *congruent* to the value modulo 2⁶⁴, and no more. Sums,
//! differences, constant multiples, shifts to the left and low bits (`x & 7`) of congruent operands
//! are congruent.
//!
//! All other operations depend on the value itself, so their operands must *fit*: an expression
//! between −2⁶³ and 2⁶³ − 1 is equal to its value. These operations are comparisons, `/`, `%`,
//! `>>`, `abs`, `min`, `max`, and the bounds of loops.
//!
//! An index needs less. Arrays have fewer than 2⁴⁸ elements. An expression from −2⁶⁴ + 2⁴⁸ to 2⁶⁴ −
//! 1 is congruent to a number from 0 to 2⁴⁸ − 1 only if it is that number. So in this range the
//! index is in bounds exactly if the expression is. The same holds for the size of an array.
//!
//! An operand may leave its range in some instances, as far as is known where control is:
//!
//! - for no input: the operand is exact;
//! - only for inputs far from 0: these are [excluded](crate::range), and the operand is exact for
//!   the others;
//! - else it is an unknown, with the reason `wraps`.
//!
//! **Why that is right.** Take an input that is not excluded, and a run of the program. Suppose
//! that operands that were taken to be exact don't fit in that run. Take one of them that happens
//! after no other. All conditions that control depended on so far were evaluated right, so this
//! instance is in the domain that the walker had here. But for no instance in that domain and no
//! input that is left does the operand leave its range: a contradiction.
//!
//! **What is taken for granted of a run**, and named in the guarantee: it makes fewer than
//! [`STEPS`] steps and creates at most [`TASKS`] tasks. So counters don't get further than that
//! from where they start.

use super::{Value, Walker};
use crate::facts::{AccessIndex, Definition, Facts, Stored};
use crate::range::between;
use crate::sets::{Affine, Isl, Result, Set};
use crate::symbols::{Kind, Naming, Symbol};
use finishline_answer::proof::ReasonKind;
use finishline_fin::hir::{Expression, Type};
use finishline_model::SiteId;

/// Runs make fewer steps.
pub(super) const STEPS: i128 = 1 << 56;
/// Runs create no more tasks: a limit of the executors.
pub(super) const TASKS: i128 = 1 << 30;
/// Arrays have fewer elements: a limit of the address space.
const ELEMENTS: i128 = 1 << 48;

/// The most values whose size is remembered because a loop came past them. Each makes all further
/// questions more costly.
const MOST_VALUES: usize = 8;

const INT: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);
/// What is congruent to a number of elements and in here is that number.
const NUMBER: (i128, i128) = (ELEMENTS - (1 << 64), (1 << 64) - 1);

impl Walker<'_> {
    /// An operand of something that depends on its value.
    pub(super) fn exact(&mut self, operand: Affine, site: SiteId) -> Result<Affine> {
        self.exact_within(operand, INT, site)
    }

    /// An index, or the number of elements of an array.
    pub(super) fn exact_number(&mut self, operand: Affine, site: SiteId) -> Result<Affine> {
        self.exact_within(operand, NUMBER, site)
    }

    fn exact_within(
        &mut self,
        operand: Affine,
        range: (i128, i128),
        site: SiteId,
    ) -> Result<Affine> {
        if self.fits {
            return Ok(operand);
        }
        let here = [&self.domain, &self.sized];
        let Some(outside) = self.facts.outside(self.isl, &operand, range, here)? else {
            return Ok(operand);
        };
        let inputs = outside.exists(|symbol| symbol.kind != Kind::Parameter)?;
        if self.facts.excluded.add(self.isl, &inputs)? {
            Ok(operand)
        } else {
            self.misfits += 1;
            self.unknown(ReasonKind::Wraps, site)
        }
    }

    /// Whether a counter may leave 64 bits, as far as is known where control is.
    pub(super) fn may_leave(&self, counter: Symbol) -> Result<bool> {
        let here = [&self.domain, &self.sized];
        let value = self.isl.symbol(counter)?;
        let outside = self.facts.outside(self.isl, &value, INT, here)?;
        Ok(outside.is_some())
    }

    /// A condition without accesses or calls, as if its operands fitted.
    pub(super) fn condition_if_it_fits(&mut self, condition: &Expression) -> Result<Set> {
        self.fits = true;
        let value = self.expression(condition);
        self.fits = false;
        self.condition(value?)
    }

    /// Notes how far a counter gets that starts at a value and changes by a step, at most so often.
    pub(super) fn reaches(
        &mut self,
        counter: Symbol,
        (start, step): (&Affine, i64),
        most: i128,
    ) -> Result<()> {
        let distance = self.isl.symbol(counter)?.sub(start)?;
        let farthest = i128::from(step) * most;
        let reachable = between(self.isl, &distance, farthest.min(0), farthest.max(0))?;
        self.facts.counters[counter.index as usize].reachable = Some(reachable);
        Ok(())
    }

    /// Notes that control came past a whole loop over a range, which iterates at most so often.
    pub(super) fn passed(
        &mut self,
        (start, end): (&Affine, &Affine),
        step: i64,
        most: i128,
    ) -> Result<()> {
        let distance = match step < 0 {
            true => start.sub(end)?,
            false => end.sub(start)?,
        };
        let farthest = self.isl.constant(i128::from(step.abs()) * most)?;
        let few = distance.at_most(&farthest)?;
        // Most loops are short for any values, which says nothing about these.
        if few.complement()?.is_empty()? {
            return Ok(());
        }
        self.sized = self.sized.intersect(&few)?;
        let mut values = self.sized.symbols()?;
        values.retain(|symbol| symbol.kind == Kind::Value);
        values.sort_unstable_by_key(|symbol| symbol.index);
        if let Some(oldest) = values.len().checked_sub(MOST_VALUES) {
            let kept = values.get(oldest).map_or(0, |symbol| symbol.index);
            self.forget_sizes(|value| value < kept)?;
        }
        Ok(())
    }

    /// Forgets how large some values are, given by index.
    pub(super) fn forget_sizes(&mut self, forgotten: impl Fn(u32) -> bool) -> Result<()> {
        let forgotten = |symbol: Symbol| symbol.kind == Kind::Value && forgotten(symbol.index);
        self.sized = self.sized.exists(forgotten)?;
        Ok(())
    }

    /// Notes that control came past the allocation of an array with these sizes.
    pub(super) fn allocated(&mut self, sizes: &[Affine]) -> Result<()> {
        let mut small = self.isl.everything()?;
        let mut empty = self.isl.nothing()?;
        for size in sizes {
            let at_least = self.isl.constant(0)?.at_most(size)?;
            self.sized = self.sized.intersect(&at_least)?;
            small = small.intersect(&size.less(&self.isl.constant(ELEMENTS)?)?)?;
            empty = empty.union(&size.equals(&self.isl.constant(0)?)?)?;
        }
        // The product is limited: one size may be large where another is 0.
        let limited = match sizes {
            [_] => small,
            _ => small.union(&empty)?,
        };
        self.sized = self.sized.intersect(&limited)?;
        Ok(())
    }

    /// What a write of this value leaves behind.
    pub(super) fn stored(&self, value: &Value) -> Result<Stored> {
        Ok(match value {
            Value::Int(value) => Stored::Number(value.clone()),
            Value::Reference(reference) => Stored::Reference(*reference),
            Value::Literal(text) => Stored::Literal(text.clone()),
            Value::Bool(condition) if condition.is_empty()? => Stored::Literal("false".to_string()),
            Value::Bool(condition) if condition.complement()?.is_empty()? => {
                Stored::Literal("true".to_string())
            }
            Value::Bool(_) | Value::Unknown(..) => Stored::Unknown,
        })
    }
}

impl Facts {
    /// The instances of a write for which what it stores may not fit 64 bits; none if it always
    /// does.
    pub(crate) fn stores_misfit(&self, isl: &Isl, write: AccessIndex) -> Result<Option<Set>> {
        let access = &self.accesses[write];
        match &access.stored {
            Stored::Number(value) => self.outside(isl, value, INT, [&access.domain, &access.sized]),
            _ => Ok(None),
        }
    }

    /// The instances for which an expression may leave a range at a place of the program, of which
    /// the domain and the sizes of arrays are given; none if it never does.
    fn outside(
        &self,
        isl: &Isl,
        operand: &Affine,
        (least, greatest): (i128, i128),
        here: [&Set; 2],
    ) -> Result<Option<Set>> {
        // Every range has all integers of 64 bits.
        if operand.as_constant()?.is_some() {
            return Ok(None);
        }
        let below = operand.less(&isl.constant(least)?)?;
        let above = isl.constant(greatest)?.less(operand)?;
        let outside = below.union(&above)?;
        let outside = outside.intersect(here[0])?.intersect(here[1])?;
        let one_instance = |symbol: Symbol| symbol;
        let outside = self.possible(isl, &outside, &one_instance)?;
        if outside.is_empty()? {
            return Ok(None);
        }
        let outside = self.possible(isl, &self.in_full(&outside)?, &one_instance)?;
        Ok((!outside.is_empty()?).then_some(outside))
    }

    /// A condition without the points that no run can reach. If it is about two instances, the
    /// naming tells what the symbols of the second one are called.
    pub(crate) fn possible(
        &self,
        isl: &Isl,
        condition: &Set,
        second: &(impl Naming + Clone),
    ) -> Result<Set> {
        let mut set = condition.clone();
        let mut seen: Vec<Symbol> = Vec::new();
        loop {
            let symbols = set.symbols()?;
            let Some(symbol) = symbols.into_iter().find(|it| !seen.contains(it)) else {
                return Ok(set);
            };
            seen.push(symbol);
            // The range of a counter is in terms of where it starts, in the same instance.
            let range = match symbol.copy {
                0 => self.range_of(isl, symbol)?,
                _ => match self.range_of(isl, symbol.in_copy(0))? {
                    Some(range) => Some(range.rename(second.clone())?),
                    None => None,
                },
            };
            if let Some(range) = range {
                set = set.intersect(&range)?;
            }
        }
    }

    /// What is known of a symbol in every run.
    fn range_of(&self, isl: &Isl, symbol: Symbol) -> Result<Option<Set>> {
        let (least, greatest) = match symbol.kind {
            Kind::Parameter => INT,
            Kind::Counter => {
                let counter = &self.counters[symbol.index as usize];
                return Ok(counter.reachable.clone());
            }
            Kind::Value => match &self.value(symbol).definition {
                Definition::Free | Definition::Read(_) => INT,
                Definition::Length(_, ty, _) if is_list(ty) => (0, ELEMENTS - 1),
                Definition::Length(..) => (0, INT.1),
                Definition::Is(_) => return Ok(None),
            },
            Kind::Location | Kind::Object => return Ok(None),
        };
        between(isl, &isl.symbol(symbol)?, least, greatest).map(Some)
    }
}

/// Whether arrays of a type have one dimension.
fn is_list(ty: &Type) -> bool {
    matches!(ty, Type::Array { dimensions: 1, .. })
}
