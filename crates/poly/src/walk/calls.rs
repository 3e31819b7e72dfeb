//! Calls are unfolded where they stand. A recursive call is a gap: it may do anything.

use super::{DEEPEST, Frame, MOST_CALLS, Value, Walker};
use crate::sets::{Result, Set};
use finishline_answer::proof::ReasonKind;
use finishline_fin::hir::{FunctionId, Type};
use finishline_model::SiteId;

impl Walker<'_> {
    pub(super) fn unfold(
        &mut self,
        id: FunctionId,
        arguments: Vec<Value>,
        site: SiteId,
    ) -> Result<Value> {
        let function = &self.program.functions[id.index()];
        let is_recursive = self.frames.iter().any(|frame| frame.function == id);
        let reason = match is_recursive {
            true => ReasonKind::Recursive,
            false => ReasonKind::TooLarge,
        };
        let nothing = Value::Unknown(reason, site);
        if is_recursive || self.frames.len() > DEEPEST {
            self.gap(reason, site);
            if let Some(gap) = self.facts.gaps.last_mut() {
                gap.callee = Some(id);
            }
            return Ok(nothing);
        }
        self.unfolded += 1;
        if self.unfolded > MOST_CALLS {
            self.cut_short(site);
        }
        if self.too_large {
            return Ok(nothing);
        }
        let mut locals = vec![None; function.locals.len()];
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let ty = &function.locals[parameter.index()].ty;
            locals[parameter.index()] = Some(self.keep(argument, ty)?);
        }
        self.frames.push(Frame {
            function: id,
            locals,
            returns: Vec::new(),
            loops: self.loops.len(),
            scope: 0,
            sized_at_returns: Vec::new(),
        });
        let before = self.domain.clone();
        let sized = self.sized.clone();
        let values = self.facts.values.len();
        let ended = if function.body.sync_scope {
            self.inside_finish("sync scope", function.site, |walker| {
                let scope = walker.path.len() - 1;
                walker.frame().scope = scope;
                walker.block(&function.body.block)
            })
        } else {
            self.block(&function.body.block)
        };
        let frame = self.frames.pop().expect("it was pushed");
        ended?;
        match frame.sized_at_returns.as_slice() {
            [] => {}
            [only] if self.domain.is_empty()? => self.sized = only.clone(),
            // Control came back in several ways.
            _ => self.sized = sized,
        }
        // A caller seldom needs them, and there may be many calls.
        self.forget_sizes(|value| value as usize >= values)?;
        self.domain = self.returned(&frame, before)?;
        match &function.result {
            Some(ty) => self.result(frame, ty, site),
            None => Ok(nothing),
        }
    }

    /// Under which condition control comes back from a call: not where an assertion in it failed.
    fn returned(&self, frame: &Frame, before: Set) -> Result<Set> {
        let mut after = self.domain.clone();
        for (domain, _, loops) in &frame.returns {
            let in_loop = *loops > frame.loops;
            if in_loop && !self.is_known(domain)? {
                return Ok(before);
            }
            after = match in_loop {
                true => after.union(&self.in_some_iteration(domain)?)?,
                false => after.union(domain)?,
            };
        }
        // Mostly everything comes back, and then the condition of before is the simpler one.
        if before.is_subset(&after)? {
            Ok(before)
        } else {
            after.coalesce()
        }
    }

    /// What a call gives: the value of its return, or a choice between several.
    fn result(&mut self, frame: Frame, ty: &Type, site: SiteId) -> Result<Value> {
        let unknown = Value::Unknown(ReasonKind::DataDependent, site);
        let in_loop = |loops: &usize| *loops > frame.loops;
        if frame.returns.iter().any(|(_, _, loops)| in_loop(loops)) {
            return self.keep(unknown, ty);
        }
        let mut returns = frame.returns.into_iter().rev();
        let Some((_, Some(mut result), _)) = returns.next() else {
            return self.keep(unknown, ty);
        };
        for (domain, value, _) in returns {
            let condition = domain.gist(&self.domain)?;
            result = self.choose(&condition, value.unwrap_or(unknown.clone()), result)?;
        }
        self.keep(result, ty)
    }
}
