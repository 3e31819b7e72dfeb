//! Kinds of memory that never overlap, as the compiler's alias analysis is told.

use cranelift_codegen::ir::{AliasRegion, AliasRegionData, Function, MemFlagsData};
use finishline_ir::Type;

pub(super) struct Regions {
    elements: [AliasRegion; Type::ALL.len()],
    fields: [AliasRegion; Type::ALL.len()],
    cells: AliasRegion,
    context: AliasRegion,
}

impl Regions {
    pub(super) fn declare(function: &mut Function) -> Regions {
        let mut next = 0;
        let mut region = |description: &'static str| {
            next += 1;
            function.dfg.alias_regions.push(AliasRegionData {
                user_id: next,
                description: description.into(),
            })
        };
        Regions {
            elements: std::array::from_fn(|_| region("elements")),
            fields: std::array::from_fn(|_| region("fields")),
            cells: region("cells"),
            context: region("context"),
        }
    }

    /// Memory of the program or the runtime is always there and aligned.
    pub(super) fn plain(&self) -> MemFlagsData {
        MemFlagsData::trusted()
    }

    pub(super) fn element(&self, ty: Type) -> MemFlagsData {
        self.plain()
            .with_alias_region(Some(self.elements[ty.index()]))
    }

    pub(super) fn field(&self, ty: Type) -> MemFlagsData {
        self.plain()
            .with_alias_region(Some(self.fields[ty.index()]))
    }

    pub(super) fn cell(&self) -> MemFlagsData {
        self.plain().with_alias_region(Some(self.cells))
    }

    pub(super) fn context(&self) -> MemFlagsData {
        self.plain().with_alias_region(Some(self.context))
    }

    /// Headers of objects never change, but are there only where the reference is known not to be
    /// null.
    pub(super) fn header(&self) -> MemFlagsData {
        self.plain().with_readonly()
    }
}
