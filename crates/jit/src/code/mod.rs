//! From the IR to machine code, one function at a time.
//!
//! A compiled function has three parameters before its own: the
//! [`Context`](crate::runtime::context::Context), its call depth, and the bytes of live frames and
//! tasks as the budget counts them, itself included. The last two travel in registers. So a call is
//! checked against the limits with two comparisons, and nothing has to be undone at its end.
//!
//! Ints are 64-bit, floats 64-bit, bools and bytes 8-bit values. A reference is the address of an
//! object's data; null is 0. An operation that can fail branches to a cold block, which calls the
//! runtime with the values and never comes back.
//!
//! Memory is divided into alias regions: elements and fields by type, cells, headers (which never
//! change) and the context. So the compiler keeps a loaded value for as long as nothing can have
//! changed its region.

mod arithmetic;
mod checks;
mod locks;
mod memory;
mod pieces;
mod promises;
mod regions;
mod tasks;

use crate::checker::Style;
use crate::compile::Registers;
use crate::heard::has_checks;
use crate::polls::Polls;
use crate::runtime::helpers::Helper;
use crate::runtime::schedule::Manner;
use crate::runtime::tasks::SpawnSite;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I8, I32, I64};
use cranelift_codegen::ir::{
    self as clif, AbiParam, InstBuilder, MemFlagsData, Signature, StackSlotData, StackSlotKind,
    TrapCode,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module as _};
use finishline_ir::machine::Limits;
use finishline_ir::{
    BlockId, Const, Function, FunctionId, Instruction, Module, Op, Operand, PrintPart, Terminator,
    Type, Value,
};
use finishline_model::SiteId;
use pieces::Pieces;
use regions::Regions;

/// What the code of all functions of a module has in common.
pub(crate) struct Compilation<'m> {
    pub(crate) module: &'m Module,
    pub(crate) limits: Limits,
    pub(crate) style: Style,
    /// By function, whether a call of it can make a check.
    pub(crate) checking: Vec<bool>,
    pub(crate) manner: Manner,
    /// By function, whether a task that runs it may wait. None in a depth-first run.
    pub(crate) waiting: Option<Vec<bool>>,
    /// The address of the signals of a parallel run.
    pub(crate) signals: usize,
    /// By function.
    pub(crate) ids: Vec<FuncId>,
    /// By helper.
    pub(crate) addresses: [usize; Helper::COUNT],
    /// The creations of tasks; the code calls each by its number.
    pub(crate) spawns: Vec<SpawnSite>,
    /// How the function that is being compiled will get its registers.
    pub(crate) registers: Registers,
}

/// The type of a value in a register.
pub(crate) fn register(ty: Type) -> clif::Type {
    match ty {
        Type::Int | Type::Ref => I64,
        Type::Float => F64,
        Type::Bool | Type::Byte => I8,
    }
}

/// How many parameters come before a function's own.
const HIDDEN: usize = 3;

pub(crate) fn signature(function: &Function) -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    let own = function.block(Function::ENTRY).parameters.iter();
    let own = own.map(|parameter| register(function.ty(*parameter)));
    let parameters = [I64; HIDDEN].into_iter().chain(own);
    signature.params.extend(parameters.map(AbiParam::new));
    let result = function.result.map(register);
    signature.returns.extend(result.map(AbiParam::new));
    signature
}

/// A function in the making.
pub(crate) struct Code<'a, 'm> {
    program: &'a mut Compilation<'m>,
    jit: &'a mut JITModule,
    function: &'m Function,
    builder: FunctionBuilder<'a>,
    regions: Regions,
    /// By block of the IR.
    blocks: Vec<clif::Block>,
    /// By value of the IR; none before its definition is compiled.
    values: Vec<Option<clif::Value>>,
    /// Constants of the IR, for code that is better with an immediate.
    constants: Vec<Option<i64>>,
    context: clif::Value,
    depth: clif::Value,
    stack: clif::Value,
    /// Checked accesses that are not yet added to the context's; only where checks are inline, and
    /// there are any.
    accesses: Option<Variable>,
    pieces: Pieces,
    /// The place of the next read in the memo of the fast path.
    next_slot: usize,
    signatures: [Option<clif::SigRef>; Helper::COUNT],
    callees: Vec<Option<clif::FuncRef>>,
}

/// Compiles the body of a function into `into`.
pub(crate) fn compile<'m>(
    program: &mut Compilation<'m>,
    jit: &mut JITModule,
    scratch: &mut FunctionBuilderContext,
    into: &mut clif::Function,
    id: FunctionId,
) {
    let function = program.module.function(id);
    let functions = program.module.functions.len();
    into.signature = signature(function);
    let regions = Regions::declare(into);
    let mut builder = FunctionBuilder::new(into, scratch);
    let blocks: Vec<clif::Block> = function
        .blocks
        .iter()
        .map(|_| builder.create_block())
        .collect();
    let entry = blocks[Function::ENTRY.index()];
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let [context, depth, stack] = std::array::from_fn(|k| builder.block_params(entry)[k]);
    let counts = program.style.has_cells() && has_checks(function);
    let accesses = counts.then(|| builder.declare_var(I64));
    let config = jit.target_config();
    let mut code = Code {
        function,
        builder,
        regions,
        blocks,
        values: vec![None; function.values.len()],
        constants: vec![None; function.values.len()],
        context,
        depth,
        stack,
        accesses,
        pieces: Pieces::none(),
        next_slot: 0,
        signatures: [None; Helper::COUNT],
        callees: vec![None; functions],
        program,
        jit,
    };
    code.body();
    code.builder.seal_all_blocks();
    code.builder.finalize(config);
}

impl<'m> Code<'_, 'm> {
    fn body(&mut self) {
        for (index, block) in self.function.blocks.iter().enumerate() {
            let own = self.blocks[index];
            if index == Function::ENTRY.index() {
                let parameters = self.builder.block_params(own)[HIDDEN..].to_vec();
                for (parameter, value) in block.parameters.iter().zip(parameters) {
                    self.values[parameter.index()] = Some(value);
                }
            } else {
                for parameter in &block.parameters {
                    let ty = register(self.function.ty(*parameter));
                    let value = self.builder.append_block_param(own, ty);
                    self.values[parameter.index()] = Some(value);
                }
            }
        }
        if let Some(accesses) = self.accesses {
            let zero = self.int(0);
            self.builder.def_var(accesses, zero);
        }
        let polls = match self.program.manner {
            Manner::Parallel => Polls::of(self.function),
            Manner::DepthFirst | Manner::Cooperative => Polls::never(self.blocks.len()),
        };
        self.loops_in_pieces(&polls.simple);
        // A value is compiled before its uses if blocks are taken in an order in which dominators
        // come first.
        for block in self.dominators_first() {
            if block != Function::ENTRY {
                self.builder.switch_to_block(self.blocks[block.index()]);
            }
            self.block(block, polls.behind[block.index()]);
        }
    }

    /// Heeds the signals of other workers, if there are any.
    fn poll(&mut self) {
        let signals = self.int(self.program.signals as i64);
        let flags = self.regions.plain();
        let signals = self.builder.ins().load(I32, flags, signals, 0);
        let none = self.builder.ins().icmp_imm_u(IntCC::Equal, signals, 0);
        self.go_on_after(none, |code| {
            code.call_helper(Helper::Poll, &[code.context]);
        });
    }

    /// The blocks that can be reached, each behind those that dominate it.
    fn dominators_first(&self) -> Vec<BlockId> {
        let mut seen = vec![false; self.function.blocks.len()];
        let mut order = Vec::with_capacity(self.function.blocks.len());
        let mut stack = vec![(Function::ENTRY, 0)];
        seen[Function::ENTRY.index()] = true;
        while let Some((block, next)) = stack.last_mut() {
            let target = self.function.block(*block).terminator.targets().nth(*next);
            *next += 1;
            match target {
                Some(target) if seen[target.block.index()] => {}
                Some(target) => {
                    seen[target.block.index()] = true;
                    stack.push((target.block, 0));
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// Compiles a block. The function may look for signals behind it.
    fn block(&mut self, id: BlockId, polls: bool) {
        let block = self.function.block(id);
        for instruction in &block.instructions {
            let result = self.instruction(instruction);
            if let Some(value) = instruction.result {
                self.values[value.index()] = result;
            }
        }
        if polls {
            self.poll();
        }
        match &block.terminator {
            Terminator::Jump(target) => {
                let arguments = self.arguments_from(id, target);
                let to = self.blocks[target.block.index()];
                self.builder.ins().jump(to, &arguments);
            }
            Terminator::Branch {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.get(*condition);
                let a = self.arguments_from(id, then);
                let into = self.blocks[then.block.index()];
                if self.is_end_of_piece(id) {
                    let between = self.builder.create_block();
                    self.builder.ins().brif(condition, into, &a, between, &[]);
                    self.builder.switch_to_block(between);
                    self.next_piece(id, then, otherwise);
                } else {
                    let b = self.arguments_from(id, otherwise);
                    let otherwise = self.blocks[otherwise.block.index()];
                    self.builder.ins().brif(condition, into, &a, otherwise, &b);
                }
            }
            Terminator::Return(value) => {
                self.add_accesses();
                let value = value.map(|value| self.get(value));
                self.builder.ins().return_(value.as_slice());
            }
        }
    }

    fn instruction(&mut self, instruction: &'m Instruction) -> Option<clif::Value> {
        let site = instruction.site;
        match &instruction.op {
            Op::Const(constant) => {
                if let (Const::Int(int), Some(result)) = (constant, instruction.result) {
                    self.constants[result.index()] = Some(*int);
                }
                Some(self.constant(*constant))
            }
            Op::Unary(op, a) => Some(self.unary(*op, *a)),
            Op::Binary(op, a, b) => Some(self.binary(*op, *a, *b, site)),
            Op::Compare(op, a, b) => Some(self.compare(*op, *a, *b)),
            Op::Convert(a, to) => Some(self.convert(*a, *to)),
            Op::Math(function, operands) => Some(self.math(*function, operands)),
            Op::RangeCount {
                start,
                end,
                step,
                inclusive,
            } => Some(self.range_count([*start, *end, *step], *inclusive, site)),

            Op::NewStruct { layout, allocation } => {
                self.add_accesses();
                let [layout, allocation] = [layout.0, allocation.0].map(|n| self.number(n));
                let site = self.number(site.0);
                self.call_helper(Helper::NewStruct, &[self.context, layout, allocation, site])
            }
            Op::NewArray {
                element,
                sizes,
                allocation,
            } => {
                self.add_accesses();
                let sizes: Vec<clif::Value> = sizes.iter().map(|size| self.get(*size)).collect();
                let address = self.on_stack(&sizes);
                let count = self.int(sizes.len() as i64);
                let [element, allocation] =
                    [element.index() as u32, allocation.0].map(|n| self.number(n));
                let site = self.number(site.0);
                let arguments = [self.context, element, address, count, allocation, site];
                self.call_helper(Helper::NewArray, &arguments)
            }
            Op::NewLock { allocation } => self.new_lock(*allocation, site),
            Op::Acquire(lock) => {
                self.acquire(*lock, site);
                None
            }
            Op::Release(lock) => {
                self.release(*lock, site);
                None
            }
            Op::NewPromise {
                carried,
                allocation,
            } => self.new_promise(*carried, *allocation, site),
            Op::PromiseSet { promise, value, .. } => {
                self.set_promise(*promise, *value, site);
                None
            }
            Op::PromiseGet(promise) => {
                let result = instruction.result.expect("the verifier demands a result");
                Some(self.get_promise(*promise, self.function.ty(result), site))
            }
            Op::Globals => Some(self.globals()),
            Op::NonNull(a) => {
                self.non_null(*a, site);
                None
            }
            Op::Index { array, indices } => Some(self.index(*array, indices, site)),
            Op::Length { array, dimension } => {
                self.non_null(*array, site);
                Some(self.length(*array, *dimension))
            }
            Op::SizeOrZero { array, dimension } => Some(self.size_or_zero(*array, *dimension)),

            Op::Check {
                kind,
                base,
                first,
                count,
                stride,
                access,
            } => {
                self.check(*kind, *base, [*first, *count, *stride], *access);
                None
            }
            Op::Load { base, offset, .. } => {
                let result = instruction.result;
                result.map(|value| self.load(*base, *offset, self.function.ty(value)))
            }
            Op::Store {
                base,
                offset,
                value,
                ..
            } => {
                self.store(*base, *offset, *value);
                None
            }

            Op::Call {
                function,
                arguments,
            } => self.call(*function, arguments, site),
            Op::CallRoom(nested) => {
                self.call_room(nested, site);
                None
            }
            Op::Print(parts) => {
                self.parts(parts);
                self.call_helper(Helper::EndLine, &[self.context]);
                None
            }
            Op::Assert { condition, message } => {
                let condition = self.get(*condition);
                self.go_on_if(condition, |code| {
                    code.parts(message);
                    code.fail(Helper::AssertFailed, site, &[]);
                });
                None
            }

            Op::Spawn {
                kind,
                construct,
                function,
                arguments,
            } => {
                let spawn = SpawnSite {
                    kind: *kind,
                    construct: *construct,
                    function: *function,
                    site,
                    end: self.program.module.function(*function).end,
                    bytes: 0,
                    heard: !self.program.style.counts_idle_tasks()
                        || self.program.checking[function.index()],
                    words: arguments.len() as u32,
                };
                self.spawn(spawn, arguments);
                None
            }
            Op::FinishBegin(kind) => {
                self.begin_finish(*kind, site);
                None
            }
            Op::FinishEnd(kind) => {
                self.end_finish(*kind, site);
                None
            }
            Op::Sync => {
                self.sync(site);
                None
            }
            Op::IsolatedBegin => self.task_operation(Helper::BeginIsolated, site),
            Op::IsolatedEnd => self.end_isolated(site),
        }
    }

    fn get(&self, value: Value) -> clif::Value {
        self.values[value.index()].expect("the verifier demands a definition before a use")
    }

    /// An offset or a count, as a 64-bit value.
    fn operand(&mut self, operand: Operand) -> clif::Value {
        match operand {
            Operand::Value(value) => self.get(value),
            Operand::Constant(constant) => self.int(constant),
        }
    }

    fn int(&mut self, value: i64) -> clif::Value {
        self.builder.ins().iconst(I64, value)
    }

    /// An id for the runtime.
    fn number(&mut self, value: u32) -> clif::Value {
        self.builder.ins().iconst(I32, i64::from(value))
    }

    fn constant(&mut self, constant: Const) -> clif::Value {
        match constant {
            Const::Int(value) => self.int(value),
            Const::Float(value) => self.builder.ins().f64const(value),
            Const::Bool(value) => self.builder.ins().iconst(I8, i64::from(value)),
            Const::Byte(value) => self.builder.ins().iconst(I8, i64::from(value)),
            Const::Null => self.int(0),
        }
    }

    /// Values in memory, one after the other; their address.
    fn on_stack(&mut self, values: &[clif::Value]) -> clif::Value {
        let bytes = (values.len() * 8) as u32;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3);
        let slot = self.builder.create_sized_stack_slot(slot);
        for (index, value) in values.iter().enumerate() {
            self.builder
                .ins()
                .stack_store(I64, *value, slot, (index * 8) as i32);
        }
        self.builder.ins().stack_addr(I64, slot, 0)
    }

    /// A value as a word.
    fn word(&mut self, value: Value) -> clif::Value {
        let word = self.get(value);
        match self.function.ty(value) {
            Type::Int | Type::Ref => word,
            Type::Float => self.builder.ins().bitcast(I64, MemFlagsData::new(), word),
            Type::Bool | Type::Byte => self.builder.ins().uextend(I64, word),
        }
    }

    fn parts(&mut self, parts: &'m [PrintPart]) {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.text(" ");
            }
            match part {
                PrintPart::Text(text) => self.text(text),
                PrintPart::Value(value) => {
                    let word = self.word(*value);
                    let ty = self.number(self.function.ty(*value).index() as u32);
                    self.call_helper(Helper::AddValue, &[self.context, ty, word]);
                }
            }
        }
    }

    /// A text of the module, which outlives the code.
    fn text(&mut self, text: &'m str) {
        let address = self.int(text.as_ptr() as i64);
        let length = self.int(text.len() as i64);
        self.call_helper(Helper::AddText, &[self.context, address, length]);
    }

    fn call_helper(&mut self, helper: Helper, arguments: &[clif::Value]) -> Option<clif::Value> {
        let signature = match self.signatures[helper as usize] {
            Some(signature) => signature,
            None => {
                let signature = self.builder.import_signature(helper.signature());
                self.signatures[helper as usize] = Some(signature);
                signature
            }
        };
        let address = self.program.addresses[helper as usize];
        let callee = self.int(address as i64);
        let call = self
            .builder
            .ins()
            .call_indirect(signature, callee, arguments);
        self.builder.inst_results(call).first().copied()
    }

    fn callee(&mut self, function: FunctionId) -> clif::FuncRef {
        match self.callees[function.index()] {
            Some(callee) => callee,
            None => {
                let id = self.program.ids[function.index()];
                let callee = self.jit.declare_func_in_func(id, self.builder.func);
                self.callees[function.index()] = Some(callee);
                callee
            }
        }
    }

    /// Goes on if the condition holds; otherwise does `cold`, which must not fall through, in a
    /// block apart.
    fn go_on_if(&mut self, condition: clif::Value, cold: impl FnOnce(&mut Self)) {
        let (apart, next) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(apart);
        // Blocks get registers in this order: the second way of a branch at once, the first way
        // behind all that the second leads to. As the first way, a block that leads nowhere comes
        // behind the whole function. There it is out of the way of a thorough allocation. For one
        // in one go it must be near: its operands would be alive until there.
        let ins = self.builder.ins();
        match self.program.registers {
            Registers::Quick => ins.brif(condition, next, &[], apart, &[]),
            Registers::Thorough => {
                let stop = ins.icmp_imm_u(IntCC::Equal, condition, 0);
                self.builder.ins().brif(stop, apart, &[], next, &[])
            }
        };
        self.builder.switch_to_block(apart);
        cold(self);
        self.builder.switch_to_block(next);
    }

    /// Goes on if the condition holds; otherwise does `cold` before that, in a block apart.
    fn go_on_after(&mut self, condition: clif::Value, cold: impl FnOnce(&mut Self)) {
        let (apart, next) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(apart);
        self.builder.ins().brif(condition, next, &[], apart, &[]);
        self.builder.switch_to_block(apart);
        cold(self);
        self.builder.ins().jump(next, &[]);
        self.builder.switch_to_block(next);
    }

    /// Ends the block by a failure of the program.
    fn fail(&mut self, helper: Helper, site: SiteId, values: &[clif::Value]) {
        self.add_accesses();
        let site = self.number(site.0);
        let arguments: Vec<_> = [self.context, site]
            .into_iter()
            .chain(values.iter().copied())
            .collect();
        self.call_helper(helper, &arguments);
        self.builder.ins().trap(TrapCode::unwrap_user(1));
    }
}
