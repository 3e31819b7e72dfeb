//! A module as machine code in memory.

use crate::CompileError;
use crate::checker::Checker;
use crate::code::{self, Compilation, register, signature};
use crate::heard;
use crate::runtime::helpers::Helper;
use crate::runtime::schedule::{Manner, Schedule};
use crate::runtime::{Entry, Executable};
use crate::waiting;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, Signature};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context as Scratch, ir as clif};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{
    FuncId, Linkage, Module as _, ModuleError, ModuleReloc, default_libcall_names,
};
use finishline_ir::machine::Limits;
use finishline_ir::{Function, FunctionId, Module, Op, Type, cost};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::atomic::AtomicU32;

impl From<ModuleError> for CompileError {
    fn from(error: ModuleError) -> Self {
        // The error of one function says more in its alternate form.
        CompileError(format!("{error:?}"))
    }
}

/// Compiled code, in memory until it is dropped. It knows texts of the module by address.
pub(crate) struct Compiled<'m> {
    pub(crate) code: Executable,
    jit: ManuallyDrop<JITModule>,
    module: PhantomData<&'m Module>,
}

impl Drop for Compiled<'_> {
    fn drop(&mut self) {
        // SAFETY: taken once, here; a run of the code borrows this value, so none is under way.
        unsafe { ManuallyDrop::take(&mut self.jit).free_memory() };
    }
}

/// Compiles a program for runs with this kind of checker.
pub(crate) fn compile<C: Checker, S: Schedule>(
    module: &Module,
    limits: Limits,
) -> Result<Compiled<'_>, CompileError> {
    let mut jit = JITModule::new(builder()?);
    let quick = isa(Registers::Quick)?;
    let mut ids = Vec::with_capacity(module.functions.len());
    for (index, function) in module.functions.iter().enumerate() {
        let name = format!("fn{index}");
        ids.push(jit.declare_function(&name, Linkage::Local, &signature(function))?);
    }
    let signals = Box::new(AtomicU32::new(0));
    let mut program = Compilation {
        module,
        signals: (&raw const *signals).addr(),
        limits,
        style: C::STYLE,
        checking: heard::checking(module),
        manner: S::MANNER,
        waiting: S::MANNER.has_strands().then(|| waiting::may_wait(module)),
        ids,
        addresses: Helper::ALL.map(Helper::address::<C, S>),
        spawns: Vec::new(),
        registers: Registers::Thorough,
    };
    let mut scratch = Scratch::new();
    let mut builder_scratch = FunctionBuilderContext::new();
    let (mut stack_factor, mut checking, mut takes_locks) = (1, false, false);
    for id in reachable(module) {
        let index = id.index();
        program.registers = Registers::for_function::<C>(module.function(id));
        checking |= heard::has_checks(module.function(id));
        takes_locks |= heard::takes_locks(module.function(id));
        code::compile(
            &mut program,
            &mut jit,
            &mut builder_scratch,
            &mut scratch.func,
            id,
        );
        let isa = match program.registers {
            Registers::Thorough => None,
            Registers::Quick => Some(&*quick),
        };
        define(&mut jit, isa, program.ids[index], &mut scratch)?;
        let counted = cost::frame(module.function(id));
        stack_factor = stack_factor.max(frame_bytes(&scratch).div_ceil(counted));
        jit.clear_context(&mut scratch);
    }
    let mut entries = Entries {
        program: &program,
        jit: &mut jit,
        builder_scratch: &mut builder_scratch,
        scratch: &mut scratch,
        stack_factor,
    };
    let entry = entries.define(module.main)?;
    let mut strands = vec![None; module.functions.len()];
    for id in entries.needed_for_strands() {
        strands[id.index()] = Some(entries.define(id)?);
    }
    let stack_factor = entries.stack_factor;
    jit.finalize_definitions()?;
    let finalized = |entry: FuncId| {
        let entry = jit.get_finalized_function(entry);
        // SAFETY: compiled with this signature, in `Entries::define`.
        unsafe { std::mem::transmute::<*const u8, Entry>(entry) }
    };
    let strand_entries = strands.into_iter().map(|id| id.map(finalized)).collect();
    Ok(Compiled {
        code: Executable {
            entry: finalized(entry),
            strand_entries,
            stack_factor,
            spawns: program.spawns,
            checking,
            arrays: arrays(module),
            heard: checking || takes_locks,
            signals,
        },
        jit: ManuallyDrop::new(jit),
        module: PhantomData,
    })
}

/// The elements and the number of dimensions of the arrays that a program makes.
fn arrays(module: &Module) -> Vec<(Type, usize)> {
    let blocks = module
        .functions
        .iter()
        .flat_map(|function| &function.blocks);
    let made = blocks.flat_map(|block| &block.instructions);
    let made = made.filter_map(|instruction| match &instruction.op {
        Op::NewArray { element, sizes, .. } => Some((*element, sizes.len())),
        _ => None,
    });
    let mut arrays: Vec<(Type, usize)> = made.collect();
    arrays.sort_unstable_by_key(|(element, dimensions)| (element.index(), *dimensions));
    arrays.dedup();
    arrays
}

/// The functions that can be called: others are left over when all their calls are inlined.
fn reachable(module: &Module) -> Vec<FunctionId> {
    let mut seen = vec![false; module.functions.len()];
    seen[module.main.index()] = true;
    let mut found = vec![module.main];
    let mut next = 0;
    while let Some(id) = found.get(next) {
        next += 1;
        let blocks = module.function(*id).blocks.iter();
        let instructions = blocks.flat_map(|block| &block.instructions);
        let called = instructions.filter_map(|instruction| match instruction.op {
            Op::Call { function, .. } | Op::Spawn { function, .. } => Some(function),
            _ => None,
        });
        let new: Vec<FunctionId> = called
            .filter(|function| !std::mem::replace(&mut seen[function.index()], true))
            .collect();
        found.extend(new);
    }
    found
}

/// Address space reserved for the code of a program; pages are committed as they are needed. If the
/// system refuses it, ever less is tried. Of what is then granted a part is kept; the rest is for
/// stacks and objects.
const CODE_BYTES: usize = 256 << 20;
const LEAST_CODE_BYTES: usize = 1 << 20;
const AFTER_REFUSAL_DIVIDE_BY: usize = 4;

/// How values get their registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registers {
    /// With second thoughts, for fast code. Takes more than linear time: minutes for thousands of
    /// statements.
    Thorough,
    /// In one go from the end of a function to its beginning.
    Quick,
}

/// The longest function whose registers are allocated thoroughly, in instructions. An inlined check
/// makes several blocks, which weigh as much as some instructions do.
const LONGEST_THOROUGH: usize = 6000;
const WEIGHT_OF_INLINE_CHECK: usize = 5;

impl Registers {
    fn for_function<C: Checker>(function: &Function) -> Registers {
        let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
        let weights = instructions.map(|instruction| match instruction.op {
            Op::Check { .. } if C::STYLE.has_cells() => WEIGHT_OF_INLINE_CHECK,
            _ => 1,
        });
        if weights.sum::<usize>() > LONGEST_THOROUGH {
            Registers::Quick
        } else {
            Registers::Thorough
        }
    }
}

fn isa(registers: Registers) -> Result<OwnedTargetIsa, CompileError> {
    let mut flags = settings::builder();
    let mut set = |name: &str, value: &str| {
        flags
            .set(name, value)
            .map_err(|error| CompileError(error.to_string()))
    };
    set("opt_level", "speed")?;
    set(
        "regalloc_algorithm",
        match registers {
            Registers::Thorough => "backtracking",
            Registers::Quick => "single_pass",
        },
    )?;
    set("use_colocated_libcalls", "false")?;
    set("is_pic", "false")?;
    set("enable_probestack", "false")?;
    set("unwind_info", "false")?;
    // The verifier finds mistakes of ours; the suites run with it.
    let verify = if cfg!(debug_assertions) {
        "true"
    } else {
        "false"
    };
    set("enable_verifier", verify)?;
    let isa = cranelift_native::builder().map_err(|why| CompileError(why.to_owned()))?;
    let isa = isa.finish(settings::Flags::new(flags));
    isa.map_err(|error| CompileError(error.to_string()))
}

fn builder() -> Result<JITBuilder, CompileError> {
    let isa = isa(Registers::Thorough)?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    // A call reaches no further than 2 GiB, so all functions must lie in one piece of memory.
    builder.memory_provider(Box::new(arena()?));
    Ok(builder)
}

fn arena() -> Result<ArenaMemoryProvider, CompileError> {
    let smaller = |bytes: usize| (bytes / AFTER_REFUSAL_DIVIDE_BY).max(LEAST_CODE_BYTES);
    let mut bytes = CODE_BYTES;
    let granted = loop {
        match ArenaMemoryProvider::new_with_size(bytes) {
            Ok(arena) if bytes == CODE_BYTES => return Ok(arena),
            Ok(arena) => break arena,
            Err(_) if bytes > LEAST_CODE_BYTES => bytes = smaller(bytes),
            Err(error) => return Err(CompileError(error.to_string())),
        }
    };
    drop(granted);
    ArenaMemoryProvider::new_with_size(smaller(bytes)).map_err(|it| CompileError(it.to_string()))
}

/// Makes machine code of a function, with other settings than the module's if they are given.
fn define(
    jit: &mut JITModule,
    isa: Option<&dyn TargetIsa>,
    id: FuncId,
    scratch: &mut Scratch,
) -> Result<(), CompileError> {
    let Some(isa) = isa else {
        return Ok(jit.define_function(id, scratch)?);
    };
    if let Err(error) = scratch.compile(isa, &mut ControlPlane::default()) {
        return Err(CompileError(format!("{:?}", error.inner)));
    }
    let Some(code) = scratch.compiled_code() else {
        unreachable!("it was compiled just now")
    };
    let relocations = code.buffer.relocs().iter();
    let relocations: Vec<ModuleReloc> = relocations
        .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &scratch.func, id))
        .collect();
    let alignment = u64::from(code.buffer.alignment);
    jit.define_function_bytes(id, alignment, code.code_buffer(), &relocations)?;
    Ok(())
}

/// Bytes of machine stack that a call of the compiled function takes, its return address and saved
/// registers included.
fn frame_bytes(scratch: &Scratch) -> u64 {
    let code = scratch.compiled_code();
    let layout = code.and_then(|code| code.buffer.frame_layout());
    /// The return address and the frame pointer. Arguments on the stack are part of the caller's
    /// frame.
    const AROUND: u64 = 16;
    AROUND + layout.map_or(0, |layout| u64::from(layout.frame_to_fp_offset))
}

/// Functions that call one of the program with arguments from memory.
struct Entries<'a, 'm> {
    program: &'a Compilation<'m>,
    jit: &'a mut JITModule,
    builder_scratch: &'a mut FunctionBuilderContext,
    scratch: &'a mut Scratch,
    /// The most bytes of machine stack that a frame takes for a byte that the budget counts for it.
    stack_factor: u64,
}

impl Entries<'_, '_> {
    /// The functions of tasks that may wait, or may be handed over.
    fn needed_for_strands(&self) -> Vec<FunctionId> {
        let spawned = self.program.spawns.iter().map(|spawn| spawn.function);
        let waits = |id: &FunctionId| {
            let waiting = self.program.waiting.as_ref();
            self.program.manner == Manner::Parallel
                || waiting.is_some_and(|waiting| waiting[id.index()])
        };
        let needed: BTreeSet<FunctionId> = spawned.filter(waits).collect();
        needed.into_iter().collect()
    }

    /// A function that begins a task.
    fn define(&mut self, of: FunctionId) -> Result<FuncId, CompileError> {
        let Entries {
            program,
            jit,
            scratch,
            ..
        } = self;
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend([I64, I64, I64].map(AbiParam::new));
        let name = format!("entry{}", of.index());
        let id = jit.declare_function(&name, Linkage::Local, &signature)?;
        scratch.func.signature = signature;
        let function = program.module.function(of);
        let config = jit.target_config();
        let callee = jit.declare_func_in_func(program.ids[of.index()], &mut scratch.func);
        let mut builder = FunctionBuilder::new(&mut scratch.func, self.builder_scratch);
        let block = builder.create_block();
        builder.append_block_params_for_function_params(block);
        builder.switch_to_block(block);
        let [context, words, below] = std::array::from_fn(|k| builder.block_params(block)[k]);
        let depth = builder.ins().iconst(I64, 1);
        let bytes = cost::LIVE_TASK + cost::frame(function);
        let stack = builder.ins().iadd_imm_s(below, bytes as i64);
        let mut arguments: Vec<clif::Value> = vec![context, depth, stack];
        let parameters = &function.block(Function::ENTRY).parameters;
        for (index, parameter) in parameters.iter().enumerate() {
            let ty = register(function.ty(*parameter));
            let offset = (index * size_of::<u64>()) as i32;
            let value = builder
                .ins()
                .load(ty, MemFlagsData::trusted(), words, offset);
            arguments.push(value);
        }
        builder.ins().call(callee, &arguments);
        builder.ins().return_(&[]);
        builder.seal_all_blocks();
        builder.finalize(config);
        jit.define_function(id, scratch)?;
        if program.waiting.is_some() {
            // What is counted for a task has to cover this frame and the words, too.
            let words = (parameters.len() * size_of::<u64>()) as u64;
            let around = frame_bytes(scratch) + words + ALIGNMENT;
            let own = cost::frame(function) * self.stack_factor;
            self.stack_factor = self.stack_factor.max((own + around).div_ceil(bytes));
        }
        jit.clear_context(scratch);
        Ok(id)
    }
}

/// What is lost where words are put on an empty stack.
const ALIGNMENT: u64 = 16;
