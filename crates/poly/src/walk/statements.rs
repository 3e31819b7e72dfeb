//! Statements other than loops.

use super::{Value, Walker};
use crate::order::Step;
use crate::sets::{Result, Set};
use finishline_answer::proof::ReasonKind;
use finishline_fin::assigned::assigned;
use finishline_fin::hir::{Argument, Block, Expression, LocalId, Statement, Task};
use finishline_model::{AccessKind, SiteId};

impl Walker<'_> {
    pub(super) fn block(&mut self, block: &[Statement]) -> Result<()> {
        let mut at = 0;
        while let Some(statement) = block.get(at) {
            at += 1;
            if let Statement::BeginFinish(site) = statement
                && self.lexical
            {
                let length = ending(&block[at..]);
                let inner = &block[at..at + length];
                self.inside_finish("begin_finish", *site, |walker| walker.block(inner))?;
                at += length + 1;
            } else {
                self.statement(statement)?;
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Block(block) => self.block(block),
            Statement::Set {
                promise,
                value,
                access,
                ..
            } => self.set(promise, value, *access),
            Statement::SetLocal { local, value } => {
                let value = self.expression(value)?;
                let frame = self.frames.last().expect("main is being unfolded");
                let function = &self.program.functions[frame.function.index()];
                let value = self.keep(value, &function.locals[local.index()].ty)?;
                self.set_local(*local, value);
                Ok(())
            }
            Statement::Store {
                place,
                access,
                value,
                ..
            } => {
                let touched = self.place(place)?;
                let value = self.expression(value)?;
                let stored = self.stored(&value)?;
                self.access(*access, AccessKind::Write, touched, stored)?;
                Ok(())
            }
            Statement::Update {
                place,
                read,
                write,
                op,
                value,
                site,
            } => {
                let touched = self.place(place)?;
                let again = touched.clone();
                let before = self.load(touched, *read, &place.ty)?;
                let operand = self.expression(value)?;
                let after = self.binary(*op, before, operand, &place.ty, *site)?;
                let stored = self.stored(&after)?;
                self.access(*write, AccessKind::Write, again, stored)?;
                Ok(())
            }
            Statement::Call(call) => self.expression(call).map(drop),
            Statement::If { arms, otherwise } => self.branches(arms, otherwise),
            Statement::While { condition, body } => self.while_loop(condition, body),
            Statement::For {
                counter,
                range,
                body,
            } => self.for_loop(*counter, range, body),
            Statement::Break => {
                let locals = self.frame().locals.clone();
                let domain = self.leave()?;
                let jumps = self.jumps.last_mut().expect("control is in a loop");
                jumps.breaks = jumps.breaks.union(&domain)?;
                jumps.at_breaks.push(locals);
                Ok(())
            }
            Statement::Continue => {
                let locals = self.frame().locals.clone();
                let jumps = self.jumps.last_mut().expect("control is in a loop");
                jumps.at_continues.push(locals);
                self.leave().map(drop)
            }
            Statement::Return { value, .. } => {
                let value = match value {
                    Some(value) => Some(self.expression(value)?),
                    None => None,
                };
                // The end of a sync scope waits.
                let scope = self.frame().scope;
                if scope > 0 {
                    self.wait(scope)?;
                }
                let domain = self.leave()?;
                let loops = self.loops.len();
                self.frame().returns.push((domain, value, loops));
                let sized = self.sized.clone();
                self.frame().sized_at_returns.push(sized);
                Ok(())
            }
            Statement::Print(arguments) => self.message(arguments),
            Statement::Assert {
                condition, message, ..
            } => {
                let value = self.expression(condition)?;
                let holds = self.condition(value)?;
                self.aside(&holds.complement()?, |walker| walker.message(message))?;
                // That a condition on data holds is not a fact to reason from, but nothing runs
                // where it does not.
                if self.is_known(&holds)? {
                    self.domain = self.domain.intersect(&holds)?;
                } else {
                    self.facts.may_stop = true;
                }
                Ok(())
            }
            Statement::Async(task) => self.task(task),
            Statement::Forall {
                counter,
                range,
                task,
                ..
            } => self.inside_finish("forall", task.site, |walker| {
                walker.counted(*counter, range, task.site, |walker| walker.task(task))
            }),
            Statement::Finish { block, site, .. } => {
                self.inside_finish("finish", *site, |walker| {
                    let inner = walker.path.len() - 1;
                    let scope = std::mem::replace(&mut walker.frame().scope, inner);
                    walker.block(block)?;
                    walker.frame().scope = scope;
                    Ok(())
                })
            }
            Statement::Isolated { block, .. } => {
                let before = std::mem::replace(&mut self.isolated, true);
                self.block(block)?;
                self.isolated = before;
                Ok(())
            }
            // What locks keep apart is not looked at.
            Statement::Locked {
                lock, block, site, ..
            } => {
                self.expression(lock)?;
                self.gap(ReasonKind::Locks, *site);
                self.block(block)
            }
            Statement::Acquire { lock, site } | Statement::Release { lock, site } => {
                self.expression(lock)?;
                self.gap(ReasonKind::Locks, *site);
                Ok(())
            }
            // Nobody knows what it is paired with, so it is taken to wait for nothing.
            Statement::BeginFinish(site) | Statement::EndFinish(site) => {
                self.gap(ReasonKind::DynamicFinish, *site);
                Ok(())
            }
            Statement::Spawn {
                function,
                arguments,
                target,
                site,
            } => {
                let place = match target {
                    Some((place, access)) => Some((self.place(place)?, *access)),
                    None => None,
                };
                let arguments = self.arguments(arguments)?;
                self.inside(Step::Task, |walker| {
                    walker.detached(|walker| {
                        let result = walker.unfold(*function, arguments, *site)?;
                        if let Some((touched, access)) = place {
                            let stored = walker.stored(&result)?;
                            walker.access(access, AccessKind::Write, touched, stored)?;
                        }
                        Ok(())
                    })
                })
            }
            Statement::Sync(site) => self.barrier(*site),
        }
    }

    fn message(&mut self, arguments: &[Argument]) -> Result<()> {
        for argument in arguments {
            if let Argument::Value(value) = argument {
                self.expression(value)?;
            }
        }
        Ok(())
    }

    /// Control goes elsewhere: what comes next is not reached from here.
    fn leave(&mut self) -> Result<Set> {
        let nothing = self.isl.nothing()?;
        Ok(std::mem::replace(&mut self.domain, nothing))
    }

    /// The body of a task. It can't change a local of its creator, or end a loop around it.
    fn task(&mut self, task: &Task) -> Result<()> {
        let run = |walker: &mut Self| {
            let scope = walker.frame().scope;
            if task.body.sync_scope {
                walker.inside_finish("sync scope", task.site, |walker| {
                    let inner = walker.path.len() - 1;
                    walker.frame().scope = inner;
                    walker.block(&task.body.block)
                })?;
            } else {
                walker.block(&task.body.block)?;
            }
            walker.frame().scope = scope;
            Ok(())
        };
        self.inside(Step::Task, |walker| walker.detached(run))
    }

    fn branches(&mut self, arms: &[(Expression, Block)], otherwise: &Block) -> Result<()> {
        let Some(((condition, block), rest)) = arms.split_first() else {
            return self.block(otherwise);
        };
        let value = self.expression(condition)?;
        let holds = self.condition(value)?;
        let before = self.frame().locals.clone();
        let after_yes = self.under(&holds, |walker| walker.block(block))?;
        let yes = std::mem::replace(&mut self.frame().locals, before);
        let after_no = self.under(&holds.complement()?, |walker| {
            walker.branches(rest, otherwise)
        })?;
        let mut changed = assigned(block);
        for (_, block) in rest {
            changed.extend(assigned(block));
        }
        changed.extend(assigned(otherwise));
        changed.sort_unstable();
        changed.dedup();
        if after_no.is_empty()? {
            self.frame().locals = yes;
        } else if !after_yes.is_empty()? {
            self.join(&holds, yes, &changed)?;
        }
        self.domain = after_yes.union(&after_no)?.coalesce()?;
        Ok(())
    }

    /// The locals after a branch: now they are as the second arm left them.
    fn join(&mut self, holds: &Set, yes: Vec<Option<Value>>, changed: &[LocalId]) -> Result<()> {
        for local in changed {
            let (Some(yes), Some(no)) = (
                yes[local.index()].clone(),
                self.frame().locals[local.index()].clone(),
            ) else {
                continue;
            };
            let function = self.frame().function;
            let ty = &self.program.functions[function.index()].locals[local.index()].ty;
            let chosen = self.choose(holds, yes, no)?;
            let chosen = self.keep(chosen, ty)?;
            self.set_local(*local, chosen);
        }
        Ok(())
    }

    /// A fresh unknown of a local's type.
    pub(super) fn forget(
        &mut self,
        local: LocalId,
        reason: ReasonKind,
        site: SiteId,
    ) -> Result<()> {
        let function = self.frame().function;
        let ty = &self.program.functions[function.index()].locals[local.index()].ty;
        let unknown = Value::Unknown(reason, site);
        let unknown = self.keep(unknown, ty)?;
        self.set_local(local, unknown);
        Ok(())
    }
}

/// How many statements there are before the `end_finish` of a `begin_finish` that they follow.
fn ending(block: &[Statement]) -> usize {
    let mut open = 0;
    for (at, statement) in block.iter().enumerate() {
        match statement {
            Statement::BeginFinish(_) => open += 1,
            Statement::EndFinish(_) if open == 0 => return at,
            Statement::EndFinish(_) => open -= 1,
            _ => {}
        }
    }
    unreachable!("all are paired where they stand")
}
