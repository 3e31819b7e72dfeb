//! Builds modules by hand, for tests. Every instruction gets a site of its own, every load and
//! store its check.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses a part of it"
)]

use finishline_ir::*;
use finishline_model::source::{AccessInfo, AllocationInfo, Site, SourceMap};
use finishline_model::{AccessId, AccessKind, AllocationId, FinishKind, SiteId, TaskKind};
use std::collections::BTreeMap;

pub struct Builder {
    pub module: Module,
}

impl Builder {
    pub fn new() -> Builder {
        let mut builder = Builder {
            module: Module {
                source: SourceMap {
                    path: "built.fin".into(),
                    ..SourceMap::default()
                },
                structs: Vec::new(),
                globals: Vec::new(),
                functions: Vec::new(),
                main: FunctionId(0),
                constructs: Vec::new(),
                unchecked: BTreeMap::new(),
            },
        };
        builder.allocation("globals");
        builder
    }

    /// A new site, on a line of its own.
    pub fn site(&mut self) -> SiteId {
        let sites = &mut self.module.source.sites;
        sites.push(Site {
            start: 0,
            end: 0,
            line: sites.len() as u32 + 1,
            column: 1,
        });
        SiteId::from_index(sites.len() - 1)
    }

    pub fn allocation(&mut self, name: &str) -> AllocationId {
        let site = self.site();
        let allocations = &mut self.module.source.allocations;
        allocations.push(AllocationInfo {
            site,
            name: name.into(),
        });
        AllocationId::from_index(allocations.len() - 1)
    }

    pub fn access(&mut self, kind: AccessKind) -> AccessId {
        let site = self.site();
        let accesses = &mut self.module.source.accesses;
        accesses.push(AccessInfo {
            site,
            place: site,
            kind,
            function: "built".into(),
        });
        AccessId::from_index(accesses.len() - 1)
    }

    /// A global variable; its offset.
    pub fn global(&mut self, name: &str, initial: Const) -> Operand {
        self.module.globals.push(Global {
            name: name.into(),
            initial,
        });
        Operand::Constant(self.module.globals.len() as i64 - 1)
    }

    pub fn structure(&mut self, name: &str, fields: &[(&str, Type)]) -> StructId {
        let fields = fields
            .iter()
            .map(|(name, ty)| ((*name).into(), *ty))
            .collect();
        self.module.structs.push(StructLayout {
            name: name.into(),
            fields,
        });
        StructId::from_index(self.module.structs.len() - 1)
    }

    /// A number for a function that is defined later.
    pub fn declare(&mut self, role: Role, parameters: &[Type], result: Option<Type>) -> FunctionId {
        let site = self.site();
        let entry = Block {
            parameters: (0..parameters.len()).map(Value::from_index).collect(),
            instructions: Vec::new(),
            terminator: Terminator::Return(None),
        };
        self.module.functions.push(Function {
            name: format!("f{}", self.module.functions.len()),
            role,
            parameters: (0..parameters.len())
                .map(|index| format!("p{index}"))
                .collect(),
            result,
            blocks: vec![entry],
            values: parameters.to_vec(),
            frame: parameters.len() as u32,
            site,
            end: site,
        });
        FunctionId::from_index(self.module.functions.len() - 1)
    }

    /// Fills in a function that was declared.
    pub fn define(&mut self, function: FunctionId, build: impl FnOnce(&mut Body<'_>)) {
        let mut body = Body {
            builder: self,
            function,
            block: Function::ENTRY,
        };
        build(&mut body);
    }

    pub fn function(
        &mut self,
        role: Role,
        parameters: &[Type],
        result: Option<Type>,
        build: impl FnOnce(&mut Body<'_>),
    ) -> FunctionId {
        let function = self.declare(role, parameters, result);
        self.define(function, build);
        function
    }

    pub fn async_body(
        &mut self,
        parameters: &[Type],
        build: impl FnOnce(&mut Body<'_>),
    ) -> FunctionId {
        self.function(Role::AsyncBody, parameters, None, build)
    }

    /// `main`, and with it the module.
    pub fn main(mut self, parameters: &[Type], build: impl FnOnce(&mut Body<'_>)) -> Module {
        self.module.main = self.function(Role::Function, parameters, None, build);
        self.module
    }

    fn uses(&mut self, construct: Construct, site: SiteId) {
        if self.module.uses(construct).is_none() {
            self.module
                .constructs
                .push(ConstructUse { construct, site });
        }
    }
}

/// A function under construction.
pub struct Body<'b> {
    pub builder: &'b mut Builder,
    function: FunctionId,
    block: BlockId,
}

impl Body<'_> {
    fn body(&mut self) -> &mut Function {
        &mut self.builder.module.functions[self.function.index()]
    }

    pub fn parameter(&self, index: u32) -> Value {
        Value(index)
    }

    fn value(&mut self, ty: Type) -> Value {
        self.body().values.push(ty);
        self.body().frame += 1;
        Value::from_index(self.body().values.len() - 1)
    }

    pub fn push(&mut self, op: Op, result: Option<Value>) -> SiteId {
        let site = self.builder.site();
        let block = self.block;
        self.body().blocks[block.index()]
            .instructions
            .push(Instruction { op, result, site });
        site
    }

    /// An instruction with a result.
    pub fn get(&mut self, ty: Type, op: Op) -> Value {
        let result = self.value(ty);
        self.push(op, Some(result));
        result
    }

    /// An instruction without one; its site.
    pub fn run(&mut self, op: Op) -> SiteId {
        self.push(op, None)
    }

    pub fn constant(&mut self, constant: Const) -> Value {
        self.get(constant.ty(), Op::Const(constant))
    }

    pub fn int(&mut self, value: i64) -> Value {
        self.constant(Const::Int(value))
    }

    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let ty = self.body().ty(a);
        self.get(ty, Op::Binary(op, a, b))
    }

    pub fn compare(&mut self, op: CompareOp, a: Value, b: Value) -> Value {
        self.get(Type::Bool, Op::Compare(op, a, b))
    }

    pub fn array(&mut self, element: Type, sizes: &[Value]) -> Value {
        let allocation = self.builder.allocation("array");
        self.get(
            Type::Ref,
            Op::NewArray {
                element,
                sizes: sizes.to_vec(),
                allocation,
            },
        )
    }

    pub fn check(&mut self, kind: AccessKind, base: Value, first: Operand) -> AccessId {
        let access = self.builder.access(kind);
        let one = Operand::Constant(1);
        self.run(Op::Check {
            kind,
            base,
            first,
            count: one,
            stride: one,
            access,
        });
        access
    }

    /// A check and a load.
    pub fn load(&mut self, ty: Type, base: Value, offset: Operand) -> Value {
        let access = self.check(AccessKind::Read, base, offset);
        self.get(
            ty,
            Op::Load {
                base,
                offset,
                access,
            },
        )
    }

    /// A check and a store.
    pub fn store(&mut self, base: Value, offset: Operand, value: Value) {
        let access = self.check(AccessKind::Write, base, offset);
        self.run(Op::Store {
            base,
            offset,
            value,
            access,
        });
    }

    pub fn load_global(&mut self, ty: Type, global: Operand) -> Value {
        let globals = self.get(Type::Ref, Op::Globals);
        self.load(ty, globals, global)
    }

    pub fn store_global(&mut self, global: Operand, value: Value) {
        let globals = self.get(Type::Ref, Op::Globals);
        self.store(globals, global, value);
    }

    /// `global = value`
    pub fn set_global(&mut self, global: Operand, value: i64) {
        let value = self.int(value);
        self.store_global(global, value);
    }

    /// `global op= value`
    pub fn update_global(&mut self, op: BinaryOp, global: Operand, value: i64) {
        let old = self.load_global(Type::Int, global);
        let value = self.int(value);
        let new = self.binary(op, old, value);
        self.store_global(global, new);
    }

    pub fn print(&mut self, value: Value) {
        self.run(Op::Print(vec![PrintPart::Value(value)]));
    }

    pub fn say(&mut self, text: &str) {
        self.run(Op::Print(vec![PrintPart::Text(text.into())]));
    }

    pub fn async_(&mut self, function: FunctionId, arguments: &[Value]) -> SiteId {
        self.create(TaskKind::Async, Construct::Async, function, arguments)
    }

    pub fn spawn(&mut self, function: FunctionId, arguments: &[Value]) -> SiteId {
        self.create(TaskKind::Spawn, Construct::Spawn, function, arguments)
    }

    pub fn create(
        &mut self,
        kind: TaskKind,
        construct: Construct,
        function: FunctionId,
        arguments: &[Value],
    ) -> SiteId {
        let arguments = arguments.to_vec();
        let site = self.run(Op::Spawn {
            kind,
            construct,
            function,
            arguments,
        });
        self.builder.uses(construct, site);
        site
    }

    pub fn begin(&mut self, kind: FinishKind) -> SiteId {
        let site = self.run(Op::FinishBegin(kind));
        let construct = match kind {
            FinishKind::Dynamic => Construct::BeginFinish,
            FinishKind::SyncScope => Construct::Sync,
            FinishKind::Root | FinishKind::Lexical => Construct::Finish,
        };
        self.builder.uses(construct, site);
        site
    }

    pub fn end(&mut self, kind: FinishKind) -> SiteId {
        self.run(Op::FinishEnd(kind))
    }

    pub fn finish(&mut self, build: impl FnOnce(&mut Self)) {
        self.begin(FinishKind::Lexical);
        build(self);
        self.end(FinishKind::Lexical);
    }

    pub fn sync(&mut self) -> SiteId {
        let site = self.run(Op::Sync);
        self.builder.uses(Construct::Sync, site);
        site
    }

    pub fn isolated(&mut self, build: impl FnOnce(&mut Self)) {
        let site = self.run(Op::IsolatedBegin);
        self.builder.uses(Construct::Isolated, site);
        build(self);
        self.run(Op::IsolatedEnd);
    }

    /// A new block and its parameters; the current block stays.
    pub fn block(&mut self, parameters: &[Type]) -> (BlockId, Vec<Value>) {
        let parameters: Vec<Value> = parameters.iter().map(|ty| self.value(*ty)).collect();
        self.body().blocks.push(Block {
            parameters: parameters.clone(),
            instructions: Vec::new(),
            terminator: Terminator::Return(None),
        });
        (
            BlockId::from_index(self.body().blocks.len() - 1),
            parameters,
        )
    }

    /// Goes on in another block.
    pub fn switch(&mut self, block: BlockId) {
        self.block = block;
    }

    pub fn terminate(&mut self, terminator: Terminator) {
        let block = self.block;
        self.body().blocks[block.index()].terminator = terminator;
    }

    pub fn jump(&mut self, block: BlockId, arguments: &[Value]) {
        self.terminate(Terminator::Jump(target(block, arguments)));
    }

    pub fn branch(&mut self, condition: Value, then: BlockId, otherwise: BlockId) {
        let (then, otherwise) = (target(then, &[]), target(otherwise, &[]));
        self.terminate(Terminator::Branch {
            condition,
            then,
            otherwise,
        });
    }

    pub fn give(&mut self, value: Value) {
        self.terminate(Terminator::Return(Some(value)));
    }

    /// `for i in 0..count { … }`
    pub fn count_to(&mut self, count: Value, build: impl FnOnce(&mut Self, Value)) {
        let zero = self.int(0);
        let (head, head_parameters) = self.block(&[Type::Int]);
        let (inside, _) = self.block(&[]);
        let (after, _) = self.block(&[]);
        self.jump(head, &[zero]);
        self.switch(head);
        let i = head_parameters[0];
        let more = self.compare(CompareOp::Less, i, count);
        self.branch(more, inside, after);
        self.switch(inside);
        build(self, i);
        let one = self.int(1);
        let next = self.binary(BinaryOp::Add, i, one);
        self.jump(head, &[next]);
        self.switch(after);
    }
}

pub fn target(block: BlockId, arguments: &[Value]) -> Target {
    Target {
        block,
        arguments: arguments.to_vec(),
    }
}
