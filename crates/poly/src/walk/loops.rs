//! Loops: a counter each, and the locals that they change.
//!
//! A `for` counts by its own counter. A `while` counts by a variable of its condition that changes
//! by the same amount in every iteration, or else by the number of the iteration from 0. If its
//! condition is affine, the iterations are those up to the first for which it fails. No iteration
//! comes after one that breaks.

use super::induction::{first_value, increment, literal};
use super::references::Turn;
use super::wrapping::{STEPS, TASKS};
use super::{Jumps, Made, Value, Walker};
use crate::facts::Reference;
use crate::order::Step;
use crate::sets::{Affine, Result, Set};
use crate::symbols::{Kind, Symbol};
use finishline_answer::proof::ReasonKind;
use finishline_fin::assigned::assigned;
use finishline_fin::hir::{Expression, ExpressionKind, LocalId, Range, Statement, Type};
use finishline_model::SiteId;

/// A local that a loop changes.
pub(super) struct Carried {
    pub(super) local: LocalId,
    pub(super) before: Value,
    /// By how much, if it is an induction variable.
    increment: Option<i64>,
    /// What stands for it at the start of an iteration, if it is a reference.
    pub(super) placeholder: Option<usize>,
    /// Where it is changed.
    site: SiteId,
}

/// A range, evaluated.
struct Bounds {
    start: Affine,
    end: Affine,
    step: i64,
}

impl Walker<'_> {
    /// Runs the body, a task, for each value of a range. Nothing of what it does to locals outlives
    /// an iteration.
    pub(super) fn counted(
        &mut self,
        counter: LocalId,
        range: &Range,
        site: SiteId,
        body: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        match self.bounds(range)? {
            Some(bounds) => {
                self.iterate((counter, TASKS), &bounds, |walker, _| body(walker))?;
                self.passed((&bounds.start, &bounds.end), bounds.step, TASKS)
            }
            None => self.endlessly(site, |walker| {
                walker.forget(counter, ReasonKind::Unbounded, site)?;
                body(walker)
            }),
        }
    }

    pub(super) fn for_loop(
        &mut self,
        counter: LocalId,
        range: &Range,
        body: &[Statement],
    ) -> Result<()> {
        let site = range.site;
        let carried = self.carried(body)?;
        let bounds = self.bounds(range)?;
        let made = self.made();
        let nothing = self.isl.nothing()?;
        match bounds {
            Some(bounds) => {
                let mut exits = None;
                self.iterate((counter, STEPS), &bounds, |walker, symbol| {
                    let (_, number) = walker.progression(&bounds.start, bounds.step, symbol)?;
                    exits = Some(walker.body(&carried, &number, body)?);
                    Ok(())
                })?;
                let Some(exits) = exits else { return Ok(()) };
                let descending = bounds.step < 0;
                self.end_early(made, &exits, &nothing, descending, site)?;
                if !exits.is_whole()? {
                    return self.after(&carried, &exits, None);
                }
                self.passed((&bounds.start, &bounds.end), bounds.step, STEPS)?;
                let trips = self.trips(&bounds)?;
                self.after(&carried, &exits, Some(&trips))
            }
            None => {
                let mut returns = false;
                self.endlessly(site, |walker| {
                    walker.forget(counter, ReasonKind::Unbounded, site)?;
                    walker.forget_all(&carried)?;
                    let returned = walker.frame().returns.len();
                    walker.jumps.push(Jumps::none(nothing));
                    walker.block(body)?;
                    walker.jumps.pop();
                    returns = walker.frame().returns.len() > returned;
                    Ok(())
                })?;
                if returns {
                    self.domain = self.perhaps(ReasonKind::Unbounded, site)?;
                }
                self.forget_all(&carried)
            }
        }
    }

    pub(super) fn while_loop(&mut self, condition: &Expression, body: &[Statement]) -> Result<()> {
        let site = condition.site;
        let carried = self.carried(body)?;
        let made = self.made();
        let (name, start, step) = match self.counting(&carried, condition) {
            Some(counting) => counting,
            None => ("iteration".to_string(), self.isl.constant(0)?, 1),
        };
        let symbol = self.facts.new_counter(&name);
        self.reaches(symbol, (&start, step), STEPS)?;
        let (reached, number) = self.progression(&start, step, symbol)?;
        let before = self.domain.clone();
        let descending = step < 0;
        let nothing = self.isl.nothing()?;
        let mut holds = nothing.clone();
        let mut exits = None;
        self.loops.push(symbol);
        self.domain = before.intersect(&reached)?;
        let inside = Step::Loop {
            counter: symbol,
            descending,
        };
        self.inside(inside, |walker| {
            walker.start_iteration(&carried, &number)?;
            let whole = walker.domain.clone();
            let mut narrowed = false;
            if walker.may_leave(symbol)? && is_plain(condition) {
                // It is evaluated only if it held before. The first operand that does not fit is
                // evaluated, too, so it is among these iterations.
                let held = walker.condition_if_it_fits(condition)?;
                let fails = reached.subtract(&held)?;
                if walker.is_known(&fails)? {
                    let reachable = walker.before_the_end(symbol, &fails, descending)?;
                    walker.domain = walker.domain.intersect(&reachable)?;
                    narrowed = true;
                }
            }
            let misfits = walker.misfits;
            let mut value = walker.expression(condition)?;
            if narrowed && walker.misfits > misfits {
                // It wraps around, and the loop goes on. What fits in these iterations need not fit
                // in later ones.
                walker.domain = whole;
                value = walker.expression(condition)?;
            }
            holds = walker.condition(value)?;
            // Reached only while it held for all iterations so far, which is said of the whole loop
            // below.
            walker.domain = walker.domain.intersect(&holds)?;
            exits = Some(walker.rest_of_body(&carried, (symbol, &number), body)?);
            Ok(())
        })?;
        self.loops.pop();
        self.domain = before;
        let Some(exits) = exits else { return Ok(()) };
        let fails = reached.subtract(&holds)?;
        self.end_early(made, &exits, &fails, descending, site)?;
        let ends = exits.breaks_or_returns.union(&fails)?;
        if self.is_known(&ends)? {
            // Control comes past it only if it ends. One that depends on data is taken to end.
            let ended = self.in_some_iteration(&ends)?;
            self.stay(&self.domain.subtract(&ended)?)?;
        } else {
            self.facts.may_stop = true;
        }
        let trips = if self.is_known(&fails)? && exits.is_whole()? {
            let fails = self.in_full(&fails)?;
            let least = if descending {
                fails.greatest(symbol)?
            } else {
                fails.least(symbol)?
            };
            // Values are total: sets that mention one must not lose the inputs for which the loop
            // is not reached, or never ends.
            let ends = fails.exists(|it| it == symbol)?;
            let first = Affine::select(&ends, &least, &start)?;
            Some(
                first
                    .sub(&start)?
                    .scale(step.signum())?
                    .floor_divide(step.abs())?,
            )
        } else {
            None
        };
        self.after(&carried, &exits, trips.as_ref())
    }

    /// The induction variable by which a `while` counts: its name, first value and increment.
    fn counting(
        &self,
        carried: &[Carried],
        condition: &Expression,
    ) -> Option<(String, Affine, i64)> {
        let frame = self.frames.last()?;
        let locals = &self.program.functions[frame.function.index()].locals;
        carried
            .iter()
            .find_map(|it| match (&it.before, it.increment) {
                (Value::Int(start), Some(step)) if step != 0 && mentions(condition, it.local) => {
                    Some((locals[it.local.index()].name.clone(), start.clone(), step))
                }
                _ => None,
            })
    }

    /// The values of an arithmetic progression that may go on for ever, and the number of each,
    /// from 0.
    fn progression(&self, start: &Affine, step: i64, symbol: Symbol) -> Result<(Set, Affine)> {
        let value = self.isl.symbol(symbol)?;
        let (reached, distance) = if step < 0 {
            (value.at_most(start)?, start.sub(&value)?)
        } else {
            (start.at_most(&value)?, value.sub(start)?)
        };
        let step = step.abs();
        if step == 1 {
            return Ok((reached, distance));
        }
        let remainder = distance.modulo(step)?.equals(&self.isl.constant(0)?)?;
        Ok((reached.intersect(&remainder)?, distance.floor_divide(step)?))
    }

    /// Evaluates a range; none if it counts by an unknown step.
    fn bounds(&mut self, range: &Range) -> Result<Option<Bounds>> {
        let start = self.expression(&range.start)?;
        let start = self.int(start)?;
        let start = self.exact(start, range.site)?;
        let end = self.expression(&range.end)?;
        let end = self.int(end)?;
        let end = self.exact(end, range.site)?;
        let step = match &range.step {
            Some(step) => {
                let step = self.expression(step)?;
                self.int(step)?.as_constant()?
            }
            None => Some(1),
        };
        let Some(step) = step.filter(|step| *step != 0 && step.unsigned_abs() < 1 << 31) else {
            return Ok(None);
        };
        let one = self.isl.constant(step.signum())?;
        let end = if range.inclusive { end.add(&one)? } else { end };
        Ok(Some(Bounds { start, end, step }))
    }

    /// How often a counted loop runs.
    fn trips(&self, bounds: &Bounds) -> Result<Affine> {
        let (distance, step) = if bounds.step > 0 {
            (bounds.end.sub(&bounds.start)?, bounds.step)
        } else {
            (bounds.start.sub(&bounds.end)?, -bounds.step)
        };
        let rounded = distance.add(&self.isl.constant(step - 1)?)?;
        rounded.floor_divide(step)?.max(&self.isl.constant(0)?)
    }

    /// Does something in every iteration of a counted loop, its counter set. It iterates at most so
    /// often.
    fn iterate(
        &mut self,
        (counter, most): (LocalId, i128),
        bounds: &Bounds,
        run: impl FnOnce(&mut Self, Symbol) -> Result<()>,
    ) -> Result<()> {
        let function = self.frame().function;
        let local = &self.program.functions[function.index()].locals[counter.index()];
        let symbol = self.facts.new_counter(&local.name);
        self.reaches(symbol, (&bounds.start, bounds.step), most)?;
        let value = self.isl.symbol(symbol)?;
        let descending = bounds.step < 0;
        let (reached, _) = self.progression(&bounds.start, bounds.step, symbol)?;
        let in_time = if descending {
            bounds.end.less(&value)?
        } else {
            value.less(&bounds.end)?
        };
        let inside = reached.intersect(&in_time)?;
        let before = self.domain.clone();
        self.domain = before.intersect(&inside)?;
        self.loops.push(symbol);
        let step = Step::Loop {
            counter: symbol,
            descending,
        };
        self.inside(step, |walker| {
            walker.set_local(counter, Value::Int(value));
            run(walker, symbol)
        })?;
        self.loops.pop();
        self.domain = before;
        Ok(())
    }

    /// Does something in every iteration of a loop that runs an unknown number of times.
    fn endlessly(&mut self, site: SiteId, run: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let symbol = self.facts.new_counter("iteration");
        self.reaches(symbol, (&self.isl.constant(0)?, 1), STEPS)?;
        let number = self.isl.symbol(symbol)?;
        let before = self.domain.clone();
        let step = Step::Loop {
            counter: symbol,
            descending: false,
        };
        self.loops.push(symbol);
        self.domain = before.intersect(&self.isl.constant(0)?.at_most(&number)?)?;
        self.domain = self.perhaps(ReasonKind::Unbounded, site)?;
        self.inside(step, run)?;
        self.loops.pop();
        self.domain = before;
        Ok(())
    }

    /// The domain, under an unknown condition: control may come here or not.
    fn perhaps(&mut self, reason: ReasonKind, site: SiteId) -> Result<Set> {
        let reached = self.unknown(reason, site)?;
        (self.domain).intersect(&self.isl.constant(1)?.at_most(&reached)?)
    }

    /// The locals that a loop changes and that exist before it.
    fn carried(&mut self, body: &[Statement]) -> Result<Vec<Carried>> {
        let mut carried = Vec::new();
        let changed = assigned(body);
        for local in changed.iter().copied() {
            let Some(before) = self.frame().locals[local.index()].clone() else {
                continue;
            };
            let frame = self.frames.last().expect("main is being unfolded");
            let constant = |expression: &Expression| {
                let value = literal(expression).or_else(|| match &expression.kind {
                    // Of one that the loop changes, this is not what it stays.
                    ExpressionKind::Local(it) if !changed.contains(it) => {
                        match &frame.locals[it.index()] {
                            Some(Value::Int(value)) => value.as_constant().ok().flatten(),
                            _ => None,
                        }
                    }
                    _ => None,
                });
                value.filter(|value| value.unsigned_abs() < 1 << 31)
            };
            let ty = &self.program.functions[frame.function.index()].locals[local.index()].ty;
            let increment = match before {
                Value::Int(_) => increment(body, local, constant),
                _ => None,
            };
            let placeholder = (ty.is_reference()).then(|| {
                let reference = Reference::Any(Vec::new());
                self.facts.references.push(reference);
                self.facts.references.len() - 1
            });
            carried.push(Carried {
                local,
                before,
                increment,
                placeholder,
                site: first_value(body, local).map_or(SiteId(0), |value| value.site),
            });
        }
        Ok(carried)
    }

    /// The whole body of a loop, in the iteration of this number.
    fn body(&mut self, carried: &[Carried], number: &Affine, body: &[Statement]) -> Result<Left> {
        self.start_iteration(carried, number)?;
        let symbol = *self.loops.last().expect("control is in a loop");
        self.rest_of_body(carried, (symbol, number), body)
    }

    /// Begins an iteration: the locals that the loop changes are set to what they are there, and
    /// control has not left it in any way. [`Self::rest_of_body`] ends it.
    fn start_iteration(&mut self, carried: &[Carried], number: &Affine) -> Result<()> {
        self.jumps.push(Jumps::none(self.isl.nothing()?));
        for Carried {
            local,
            before,
            increment,
            placeholder,
            site,
        } in carried
        {
            match (before, increment, placeholder) {
                (Value::Int(before), Some(by), _) => {
                    let value = before.add(&number.scale(*by)?)?;
                    self.set_local(*local, Value::Int(value));
                }
                (_, _, Some(placeholder)) => {
                    self.set_local(*local, Value::Reference(*placeholder));
                }
                _ => self.forget(*local, ReasonKind::Carried, *site)?,
            }
        }
        Ok(())
    }

    fn rest_of_body(
        &mut self,
        carried: &[Carried],
        (symbol, number): (Symbol, &Affine),
        body: &[Statement],
    ) -> Result<Left> {
        let nothing = self.isl.nothing()?;
        let returned = self.frame().returns.len();
        self.block(body)?;
        let jumps = self.jumps.pop().expect("it was pushed");
        let mut returns = nothing;
        for (domain, _, _) in &self.frames.last().expect("main").returns[returned..] {
            returns = returns.union(&self.in_some_iteration(domain)?)?;
        }
        let turns = self.exchange(carried, number, &jumps)?;
        Ok(Left {
            symbol,
            breaks_or_returns: jumps.breaks.union(&returns)?,
            stays: jumps.stays.clone(),
            returns,
            returned,
            turns,
            jumps,
        })
    }

    /// That a condition held in some iteration of loops that have been left. Values that were
    /// computed in these are put in first: what they were depends on the iteration.
    pub(super) fn in_some_iteration(&self, condition: &Set) -> Result<Set> {
        let left = |it: Symbol| it.kind == Kind::Counter && !self.loops.contains(&it);
        self.in_full(condition)?.exists(left)
    }

    /// The locals after a loop that ran `trips` times, if that is known.
    fn after(&mut self, carried: &[Carried], left: &Left, trips: Option<&Affine>) -> Result<()> {
        for it in carried {
            match (&it.before, it.increment, trips, it.placeholder) {
                (Value::Int(before), Some(by), Some(trips), _) => {
                    let value = Value::Int(before.add(&trips.scale(by)?)?);
                    let value = self.keep(value, &Type::Int)?;
                    self.set_local(it.local, value);
                }
                (_, _, Some(trips), Some(_)) if left.turn(it.local).is_some() => {
                    let turn = left.turn(it.local).expect("it was asked for");
                    let held = self.in_turn(turn, trips)?;
                    self.set_local(it.local, Value::Reference(held));
                }
                (_, _, _, Some(placeholder)) => {
                    let last = match self.frame().locals[it.local.index()] {
                        Some(Value::Reference(last)) => last,
                        _ => placeholder,
                    };
                    let outer = self.loops.clone();
                    let first = match it.before {
                        Value::Reference(first) => first,
                        _ => placeholder,
                    };
                    let Jumps {
                        at_breaks,
                        at_continues,
                        ..
                    } = &left.jumps;
                    let where_left = [at_breaks.as_slice(), at_continues].concat();
                    let mut any = vec![first];
                    any.extend(self.held_at(it.local, last, &where_left, &outer));
                    let any = self.facts.new_reference(Reference::Any(any));
                    self.set_local(it.local, Value::Reference(any));
                }
                _ => self.forget(it.local, ReasonKind::Carried, it.site)?,
            }
        }
        Ok(())
    }

    fn forget_all(&mut self, carried: &[Carried]) -> Result<()> {
        for it in carried {
            self.forget(it.local, ReasonKind::Carried, it.site)?;
        }
        Ok(())
    }

    /// The iterations of a loop that come before those that end it, or are the first of these.
    fn before_the_end(&self, symbol: Symbol, ends: &Set, descending: bool) -> Result<Set> {
        let earlier = self.in_full(ends)?;
        let earlier = earlier.rename(|it: Symbol| if it == symbol { it.in_copy(1) } else { it })?;
        let (now, then) = (
            self.isl.symbol(symbol)?,
            self.isl.symbol(symbol.in_copy(1))?,
        );
        let before = if descending {
            now.less(&then)?
        } else {
            then.less(&now)?
        };
        let over = earlier.intersect(&before)?;
        over.exists(|it| it == symbol.in_copy(1))?.complement()
    }

    /// Takes the iterations out that come after one that ended the loop: one that broke out of it
    /// or returned, or the first for which its condition failed.
    fn end_early(
        &mut self,
        made: Made,
        left: &Left,
        fails: &Set,
        descending: bool,
        site: SiteId,
    ) -> Result<()> {
        let ends = left.breaks_or_returns.union(fails)?.union(&left.stays)?;
        if ends.is_empty()? {
            return Ok(());
        }
        let symbol = left.symbol;
        self.loops.push(symbol);
        let going_on = if self.is_known(&ends)? {
            self.before_the_end(symbol, &ends, descending)?
        } else {
            self.doubt_barriers(made, site);
            let reached = self.unknown(ReasonKind::Unbounded, site)?;
            self.isl.constant(1)?.at_most(&reached)?
        };
        self.loops.pop();
        self.narrow(made, &going_on)?;
        for (domain, _, _) in &mut self.frame().returns[left.returned..] {
            *domain = domain.intersect(&going_on)?;
        }
        if !left.returns.is_empty()? {
            self.domain = if self.is_known(&left.returns)? {
                let returned = self.in_full(&left.returns)?.intersect(&going_on)?;
                let returned = returned.exists(|it| it == symbol)?;
                self.domain.subtract(&returned)?
            } else {
                self.perhaps(ReasonKind::DataDependent, site)?
            };
        }
        // Those that an earlier iteration does not keep from being reached.
        let stays = self.in_full(&left.stays)?.intersect(&going_on)?;
        self.stay(&stays.exists(|it| it == symbol)?)
    }
}

/// How a loop was left other than by its end.
struct Left {
    symbol: Symbol,
    breaks_or_returns: Set,
    /// The instances that stay in an iteration for ever.
    stays: Set,
    returns: Set,
    /// How many returns there were before the loop.
    returned: usize,
    turns: Vec<Turn>,
    jumps: Jumps,
}

impl Jumps {
    fn none(nothing: Set) -> Jumps {
        Jumps {
            stays: nothing.clone(),
            breaks: nothing,
            at_breaks: Vec::new(),
            at_continues: Vec::new(),
        }
    }
}

impl Left {
    fn turn(&self, local: LocalId) -> Option<&[usize]> {
        let mut turns = self.turns.iter();
        turns.find_map(|(it, turn)| (*it == local).then_some(turn.as_slice()))
    }

    /// It never was.
    fn is_whole(&self) -> Result<bool> {
        self.breaks_or_returns.is_empty()
    }
}

/// Whether evaluating an expression computes and does nothing else.
fn is_plain(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Const(_) | ExpressionKind::Local(_) => true,
        ExpressionKind::Unary(_, operand) | ExpressionKind::Convert(operand) => is_plain(operand),
        ExpressionKind::Binary(_, left, right)
        | ExpressionKind::Compare(_, left, right)
        | ExpressionKind::And(left, right)
        | ExpressionKind::Or(left, right) => is_plain(left) && is_plain(right),
        _ => false,
    }
}

/// Whether a local occurs in an expression.
fn mentions(expression: &Expression, local: LocalId) -> bool {
    match &expression.kind {
        ExpressionKind::Local(it) => *it == local,
        ExpressionKind::Unary(_, operand) | ExpressionKind::Convert(operand) => {
            mentions(operand, local)
        }
        ExpressionKind::Binary(_, left, right)
        | ExpressionKind::Compare(_, left, right)
        | ExpressionKind::And(left, right)
        | ExpressionKind::Or(left, right) => mentions(left, local) || mentions(right, local),
        _ => false,
    }
}
