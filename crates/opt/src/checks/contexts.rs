//! Functions specialised by calling context: a function that is called in sequential code and in a
//! parallel region, or in several regions, has a copy for each, so that the passes behind this one
//! need not find a reason that holds in all of them.
//!
//! **What it does.** A *context* is whether another task may be live where the function is called
//! or created, and in which region ([`super::regions`]). Regions are told apart by the instruction
//! that opens them in the original function, so there are finitely many contexts, also with
//! recursion. If no other task is live at a call, and the function leaves none behind, the region
//! does not matter. Starting with `main`, every call and creation gets the copy of its callee for
//! the context it makes. No check is removed here. After the other passes, copies that came out
//! alike become one function again: what did not pay is undone.
//!
//! **Why that changes nothing.** A copy is the same function: the same sites, access and allocation
//! ids, name, role and frame. Only which of several equal functions is called differs, and no event
//! or failure tells that. What the other passes may rely on they find out from the copies
//! themselves.
//!
//! **Cost.** The program at most triples on the way; a context beyond that shares the first one's
//! copy. Functions from which no check can be reached are never copied.

use super::liveness::{Enclosing, Flow, Liveness, Position, operations};
use finishline_ir::{Construct, Function, FunctionId, Module, Op};
use rustc_hash::FxHashMap;

/// How many times the instructions of the program may be added to it, and how many instructions in
/// any case.
const GROWTH: usize = 2;
const MOST: usize = 100_000;

/// Where a function is called or created.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Context {
    live: bool,
    /// The original function that opens the region, and where. None: the region of `main`, or it
    /// does not matter.
    region: Option<(FunctionId, Position)>,
}

/// A call or creation in an original function, and what is known there.
#[derive(Clone, Copy)]
struct Call {
    at: Position,
    callee: FunctionId,
    live: bool,
    enclosing: Enclosing,
}

/// The original of every function: itself, or what it is a copy of.
pub(super) struct Copies(Vec<FunctionId>);

/// Gives every function a copy for each of its contexts.
pub(super) fn specialise(module: &mut Module) -> Copies {
    let originals = module.functions.clone();
    let liveness = Liveness::of(module);
    let checked = reach_checks(module);
    let one_region = module.uses(Construct::BeginFinish).is_some();
    let mut copies = Specialised {
        room: MOST.min(GROWTH * originals.iter().map(size).sum::<usize>()),
        taken: vec![false; originals.len()],
        by_context: FxHashMap::default(),
        waiting: Vec::new(),
        originals: &originals,
        module,
        copies: (0..originals.len()).map(FunctionId::from_index).collect(),
    };
    let start = Context {
        live: false,
        region: None,
    };
    copies.of(copies.module.main, start);
    let mut calls_of: FxHashMap<(FunctionId, bool), Vec<Call>> = FxHashMap::default();
    while let Some((original, context, copy)) = copies.waiting.pop() {
        let calls = (calls_of.entry((original, context.live)))
            .or_insert_with(|| calls(&originals[original.index()], context.live, &liveness));
        for call in calls.iter().filter(|call| checked[call.callee.index()]) {
            let region = match call.enclosing {
                _ if one_region => None,
                Enclosing::Own(opening) => Some((original, opening)),
                Enclosing::Callers => context.region,
                Enclosing::Unclear => None,
            };
            let matters = call.live || liveness.leaves_tasks[call.callee.index()];
            let context = Context {
                live: call.live,
                region: region.filter(|_| matters),
            };
            let callee = copies.of(call.callee, context);
            let block = &mut copies.module.functions[copy.index()].blocks[call.at.block.index()];
            let op = &mut block.instructions[call.at.instruction as usize].op;
            if let Some(function) = callee_mut(op) {
                *function = callee;
            }
        }
    }
    Copies(copies.copies)
}

struct Specialised<'a> {
    originals: &'a [Function],
    module: &'a mut Module,
    /// By function, its original.
    copies: Vec<FunctionId>,
    /// By original function: the place of the original is given to the first context.
    taken: Vec<bool>,
    by_context: FxHashMap<(FunctionId, Context), FunctionId>,
    /// Copies whose calls still lead to the originals.
    waiting: Vec<(FunctionId, Context, FunctionId)>,
    /// Instructions that may still be added.
    room: usize,
}

impl Specialised<'_> {
    /// The copy of a function for a context.
    fn of(&mut self, original: FunctionId, context: Context) -> FunctionId {
        if let Some(copy) = self.by_context.get(&(original, context)) {
            return *copy;
        }
        let function = &self.originals[original.index()];
        let copy = if !std::mem::replace(&mut self.taken[original.index()], true) {
            self.waiting.push((original, context, original));
            original
        } else if let Some(room) = self.room.checked_sub(size(function)) {
            self.room = room;
            let copy = FunctionId::from_index(self.module.functions.len());
            self.module.functions.push(function.clone());
            self.copies.push(original);
            self.waiting.push((original, context, copy));
            copy
        } else {
            original
        };
        self.by_context.insert((original, context), copy);
        copy
    }
}

impl Copies {
    /// Makes copies that are alike one function again.
    pub(super) fn merge(&self, module: &mut Module) {
        let classes = self.classes(module);
        // Those that stay move up. A copy has a higher number than the one it is like, so the
        // number of that is known.
        let mut numbers: Vec<FunctionId> = Vec::with_capacity(classes.len());
        let mut count = 0;
        for (index, like) in classes.iter().enumerate() {
            if like.index() == index {
                numbers.push(FunctionId::from_index(count));
                count += 1;
            } else {
                numbers.push(numbers[like.index()]);
            }
        }
        let mut index = 0;
        module.functions.retain(|_| {
            index += 1;
            classes[index - 1].index() == index - 1
        });
        let blocks = module.functions.iter_mut().flat_map(|f| &mut f.blocks);
        for instruction in blocks.flat_map(|block| &mut block.instructions) {
            if let Some(function) = callee_mut(&mut instruction.op) {
                *function = numbers[function.index()];
            }
        }
    }

    /// By function, the first that is like it. At first all copies with the same checks count as
    /// alike; those that call functions that are not alike are separated until nothing changes.
    fn classes(&self, module: &Module) -> Vec<FunctionId> {
        let functions = || (0..self.0.len()).map(FunctionId::from_index);
        let mut of_original = vec![Vec::new(); self.0.len()];
        let mut callers = vec![Vec::new(); self.0.len()];
        let mut callees = Vec::with_capacity(self.0.len());
        for id in functions() {
            of_original[self.0[id.index()].index()].push(id);
            let called: Vec<FunctionId> =
                operations(module.function(id)).filter_map(callee).collect();
            for callee in &called {
                callers[callee.index()].push(id);
            }
            callees.push(called);
        }
        let mut classes: Vec<FunctionId> = Vec::with_capacity(self.0.len());
        for id in functions() {
            let copies = of_original[self.0[id.index()].index()].iter();
            let alike = copies.take_while(|other| **other != id).find(|other| {
                classes[other.index()] == **other
                    && alike(module.function(id), module.function(**other))
            });
            classes.push(*alike.unwrap_or(&id));
        }
        let mut waiting: Vec<FunctionId> = functions().collect();
        while let Some(original) = waiting.pop() {
            let mut first = FxHashMap::default();
            for copy in &of_original[original.index()] {
                let called = callees[copy.index()].iter();
                let called: Vec<FunctionId> = called.map(|id| classes[id.index()]).collect();
                let class = *first
                    .entry((classes[copy.index()], called))
                    .or_insert(*copy);
                if std::mem::replace(&mut classes[copy.index()], class) != class {
                    let callers = callers[copy.index()].iter();
                    waiting.extend(callers.map(|caller| self.0[caller.index()]));
                }
            }
        }
        classes
    }
}

/// Whether two copies of a function are the same up to what they call.
fn alike(a: &Function, b: &Function) -> bool {
    a.blocks.iter().zip(&b.blocks).all(|(a, b)| {
        let mut pairs = a.instructions.iter().zip(&b.instructions);
        a.instructions.len() == b.instructions.len()
            && pairs.all(|(a, b)| callee(&a.op).is_some() || a.op == b.op)
    })
}

fn callee(op: &Op) -> Option<FunctionId> {
    match op {
        Op::Call { function, .. } | Op::Spawn { function, .. } => Some(*function),
        _ => None,
    }
}

fn callee_mut(op: &mut Op) -> Option<&mut FunctionId> {
    match op {
        Op::Call { function, .. } | Op::Spawn { function, .. } => Some(function),
        _ => None,
    }
}

fn size(function: &Function) -> usize {
    function.blocks.iter().map(|b| b.instructions.len()).sum()
}

/// What a function calls and creates if another task is, or is not, live where it starts.
fn calls(function: &Function, live: bool, liveness: &Liveness) -> Vec<Call> {
    let mut calls = Vec::new();
    let flow = Flow::of(function, live, liveness);
    flow.for_each_op(function, liveness, |op, at, state| {
        if let Some(callee) = callee(op) {
            calls.push(Call {
                at,
                callee,
                live: state.live || matches!(op, Op::Spawn { .. }),
                enclosing: state.enclosing(),
            });
        }
    });
    calls
}

/// By function: whether a check can be reached from it.
fn reach_checks(module: &Module) -> Vec<bool> {
    let mut callers = vec![Vec::new(); module.functions.len()];
    let mut reached = Vec::new();
    for (index, function) in module.functions.iter().enumerate() {
        for op in operations(function) {
            if let Op::Check { .. } = op {
                reached.push(index);
            } else if let Some(callee) = callee(op) {
                callers[callee.index()].push(index);
            }
        }
    }
    let mut checked = vec![false; module.functions.len()];
    while let Some(index) = reached.pop() {
        if !std::mem::replace(&mut checked[index], true) {
            reached.extend(&callers[index]);
        }
    }
    checked
}
