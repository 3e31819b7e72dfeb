//! Every id is in range: of values, blocks, functions, structs, sites, accesses, allocations. Later
//! rounds index without checks.

use super::{CodePosition, Violations};
use crate::module::*;
use std::fmt::Display;

pub(super) fn check(module: &Module, violations: &mut Violations) {
    let mut ids = Ids { module, violations };
    let nowhere = CodePosition::default();
    ids.in_range(
        module.main,
        module.main.index(),
        module.functions.len(),
        nowhere,
    );
    for access in &module.source.accesses {
        ids.site(access.site, nowhere);
        ids.site(access.place, nowhere);
    }
    for allocation in &module.source.allocations {
        ids.site(allocation.site, nowhere);
    }
    for access in module.unchecked.keys() {
        ids.access(*access, nowhere);
    }
    for used in &module.constructs {
        ids.site(used.site, nowhere);
    }
    for (index, function) in module.functions.iter().enumerate() {
        ids.function_body(function, CodePosition::function(index));
    }
}

struct Ids<'a> {
    module: &'a Module,
    violations: &'a mut Violations,
}

impl Ids<'_> {
    fn in_range(&mut self, id: impl Display, index: usize, count: usize, place: CodePosition) {
        self.violations.require(index < count, place, || {
            format!("{id} does not exist: there are {count}")
        });
    }

    fn site(&mut self, id: finishline_model::SiteId, place: CodePosition) {
        self.in_range(id, id.index(), self.module.source.sites.len(), place);
    }

    fn access(&mut self, id: finishline_model::AccessId, place: CodePosition) {
        self.in_range(id, id.index(), self.module.source.accesses.len(), place);
    }

    fn function_body(&mut self, function: &Function, place: CodePosition) {
        self.site(function.site, place);
        self.site(function.end, place);
        if function.blocks.is_empty() {
            self.violations.add(place, "has no entry block");
        }
        let values = function.values.len();
        for (index, block) in function.blocks.iter().enumerate() {
            let place = place.block(index);
            for value in &block.parameters {
                self.in_range(value, value.index(), values, place);
            }
            for (index, instruction) in block.instructions.iter().enumerate() {
                let place = place.instruction(index);
                self.site(instruction.site, place);
                if let Some(result) = instruction.result {
                    self.in_range(result, result.index(), values, place);
                }
                instruction.op.for_each_use(|value| {
                    self.in_range(value, value.index(), values, place);
                });
                self.named_by(&instruction.op, place);
            }
            let place = place.instruction(block.instructions.len());
            block.terminator.for_each_use(|value| {
                self.in_range(value, value.index(), values, place);
            });
            for target in block.terminator.targets() {
                self.in_range(
                    target.block,
                    target.block.index(),
                    function.blocks.len(),
                    place,
                );
            }
        }
    }

    /// The ids an operation carries besides values.
    fn named_by(&mut self, op: &Op, place: CodePosition) {
        match op {
            Op::NewStruct { layout, allocation } => {
                self.in_range(layout, layout.index(), self.module.structs.len(), place);
                self.allocation(*allocation, place);
            }
            Op::NewArray { allocation, .. }
            | Op::NewLock { allocation }
            | Op::NewPromise { allocation, .. } => {
                self.allocation(*allocation, place);
            }
            Op::Check { access, .. }
            | Op::Load { access, .. }
            | Op::Store { access, .. }
            | Op::PromiseSet {
                access: Some(access),
                ..
            } => {
                self.access(*access, place);
            }
            Op::Call { function, .. } | Op::Spawn { function, .. } => {
                self.function(*function, place);
            }
            Op::CallRoom(nested) => {
                self.violations
                    .require(!nested.is_empty(), place, || "names no function".to_owned());
                nested.iter().for_each(|id| self.function(*id, place));
            }
            _ => {}
        }
    }

    fn function(&mut self, id: FunctionId, place: CodePosition) {
        self.in_range(id, id.index(), self.module.functions.len(), place);
    }

    fn allocation(&mut self, id: finishline_model::AllocationId, place: CodePosition) {
        self.in_range(id, id.index(), self.module.source.allocations.len(), place);
    }
}
