//! From the typed tree to the IR.
//!
//! Control flow becomes blocks, and locals become SSA values. The language is structured, so no
//! general SSA algorithm is needed. A join has a block parameter for each variable assigned on the
//! way to it. A loop has one for each variable that its body assigns
//! ([`assigned`](crate::assigned)). The body of a task becomes a function, and its captures become
//! parameters.
//!
//! Each shared access becomes a null or bounds check, a race check, and a load or store, in this
//! order.

mod builder;
mod expressions;
mod locks;
mod promises;
mod statements;

use crate::hir;
use builder::Builder;
use finishline_ir::{
    BlockId, Function, FunctionId, Global, Instruction, Module, Op, Role, StructLayout, Terminator,
    Type, Value,
};
use finishline_model::{FinishKind, SiteId};
use std::collections::BTreeMap;

/// Lowers a program that has passed all checks.
pub(crate) fn lower(program: &hir::Program) -> Module {
    let mut functions: Vec<Option<Function>> = program.functions.iter().map(|_| None).collect();
    for (at, function) in program.functions.iter().enumerate() {
        let mut lowering = FunctionLowering {
            program,
            function,
            functions: &mut functions,
            builder: Builder::new(function.locals.len()),
            sync_scope: function.body.sync_scope,
            exclusive: Vec::new(),
            loops: Vec::new(),
        };
        for parameter in &function.parameters {
            lowering.parameter(*parameter);
        }
        let names = function
            .parameters
            .iter()
            .map(|id| function.locals[id.index()].name.clone());
        let lowered = lowering.body(
            &function.body,
            Role::Function,
            names.collect(),
            function.site,
        );
        functions[at] = Some(lowered);
    }
    let module = Module {
        source: program.source.clone(),
        structs: program.structs.iter().map(layout).collect(),
        globals: program
            .globals
            .iter()
            .map(|global| Global {
                name: global.name.clone(),
                initial: global.initial,
            })
            .collect(),
        functions: functions.into_iter().flatten().collect(),
        main: program.main,
        constructs: program.constructs.clone(),
        unchecked: BTreeMap::new(),
    };
    debug_assert_eq!(finishline_ir::verify::verify(&module), Ok(()));
    module
}

fn layout(declared: &hir::Struct) -> StructLayout {
    let fields = declared
        .fields
        .iter()
        .map(|(name, ty)| (name.clone(), ty.ir()))
        .collect();
    StructLayout {
        name: declared.name.clone(),
        fields,
    }
}

/// A block that excludes others until it is left.
#[derive(Clone, Copy)]
enum Exclusive {
    Isolated,
    Locked(Value),
}

/// A loop that is being lowered: where `break` and `continue` go.
struct Loop {
    exit: BlockId,
    next: BlockId,
    /// The variables that its body assigns. They are the parameters of both blocks.
    carried: Vec<hir::LocalId>,
    /// How many exclusive blocks are around the loop.
    exclusive: usize,
}

/// The lowering of one function or task body.
struct FunctionLowering<'p> {
    program: &'p hir::Program,
    /// The function in the source. A task body belongs to the function it is written in.
    function: &'p hir::Function,
    /// All functions so far. Those of tasks are appended.
    functions: &'p mut Vec<Option<Function>>,
    builder: Builder,
    sync_scope: bool,
    /// The isolated and locked blocks of this body around the current place, innermost last.
    exclusive: Vec<Exclusive>,
    loops: Vec<Loop>,
}

impl FunctionLowering<'_> {
    fn local_type(&self, local: hir::LocalId) -> Type {
        self.function.locals[local.index()].ty.ir()
    }

    /// Adds a parameter to the entry block and binds it to a local.
    fn parameter(&mut self, local: hir::LocalId) -> Value {
        let value = self
            .builder
            .parameter(Function::ENTRY, self.local_type(local));
        self.builder.set(local, value);
        value
    }

    fn emit(&mut self, op: Op, site: SiteId) {
        self.builder.push(Instruction {
            op,
            result: None,
            site,
        });
    }

    fn value(&mut self, op: Op, ty: Type, site: SiteId) -> Value {
        let result = self.builder.new_value(ty);
        self.builder.push(Instruction {
            op,
            result: Some(result),
            site,
        });
        result
    }

    /// Lowers a whole body. The entry block has its parameters already.
    fn body(
        mut self,
        body: &hir::Body,
        role: Role,
        parameters: Vec<String>,
        site: SiteId,
    ) -> Function {
        if self.sync_scope {
            self.emit(Op::FinishBegin(FinishKind::SyncScope), site);
        }
        self.block(&body.block);
        if self.builder.reachable() {
            self.leave_sync_scope(body.end);
            self.builder.end(Terminator::Return(None));
        }
        let result = match role {
            Role::Function => self.function.result.as_ref().map(hir::Type::ir),
            Role::AsyncBody | Role::SpawnBody => None,
        };
        self.builder.finish(
            self.function.name.clone(),
            role,
            parameters,
            result,
            (site, body.end),
        )
    }

    /// Every function that spawns has an implicit sync at its end.
    fn leave_sync_scope(&mut self, site: SiteId) {
        if self.sync_scope {
            self.emit(Op::FinishEnd(FinishKind::SyncScope), site);
        }
    }

    /// A lowering for a task created here. The task's body becomes a function of its own.
    fn task_lowering(&mut self, sync_scope: bool) -> FunctionLowering<'_> {
        FunctionLowering {
            program: self.program,
            function: self.function,
            functions: self.functions,
            builder: Builder::new(self.function.locals.len()),
            sync_scope,
            exclusive: Vec::new(),
            loops: Vec::new(),
        }
    }

    fn add_function(&mut self, function: Function) -> FunctionId {
        let id = FunctionId::from_index(self.functions.len());
        self.functions.push(Some(function));
        id
    }
}
