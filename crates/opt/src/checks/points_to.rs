//! Which objects a reference can refer to: an inclusion-based points-to analysis of the whole
//! program.
//!
//! **What it computes.** An *abstract object* stands for all objects that one instruction makes;
//! one more is the object of globals. Its *abstract locations* are its fields or global variables,
//! one for all elements of an array, and one for the value of a promise. For each value, and for
//! each abstract location that holds a reference, there is a set of abstract objects: the least
//! sets such that an allocation is in the set of its result, and along every way a reference can
//! take (a block argument, a call, a return, a creation, a load, a store, the set and the get of a
//! promise) the set at the end includes the one at the start. So whatever a value refers to in any
//! run, its abstract object is in the value's set. The order of instructions and the values of
//! conditions play no role.
//!
//! **How.** Each way is an edge between sets, and an object that is new in a set goes along the
//! edges once. Loads and stores add edges as objects arrive at their bases. [Andersen's analysis,
//! with difference propagation.]
//!
//! **Cost.** Cubic at worst, near linear in programs that people write. Beyond a [`Budget`] there
//! is no result.

use super::budget::Budget;
use super::regions::Regions;
use super::sparse_set::SparseSet;
use finishline_ir::{Function, FunctionId, Module, Op, Operand, Terminator, Type, Value};
use finishline_model::AllocationId;
use std::ops::Range;

/// The object of globals.
pub(super) const GLOBALS: u32 = 0;

const NONE: u32 = u32::MAX;

/// The value of a promise.
const VALUE: Part = Part::Field(0);

/// What a union of sets costs at least, in words that it looks at.
const WORDS_OF_A_UNION: usize = 16;

/// What every value of the functions that run can refer to.
pub(super) struct PointsTo {
    objects: Vec<Object>,
    /// By abstract location: its node, if it holds references.
    location_nodes: Vec<u32>,
    /// By function: the number of its first value in `value_nodes`.
    first_values: Vec<usize>,
    /// By value: its node, if it is a reference.
    value_nodes: Vec<u32>,
    /// By node: the abstract objects.
    sets: Vec<SparseSet>,
}

#[derive(Clone)]
struct Object {
    allocation: AllocationId,
    locations: Range<u32>,
    is_array: bool,
}

impl PointsTo {
    /// None if that is too much work.
    pub(super) fn of(module: &Module, regions: &Regions) -> Option<PointsTo> {
        let mut solver = Solver::new(module);
        let functions = (0..module.functions.len()).map(FunctionId::from_index);
        for id in functions.filter(|id| regions.runs(*id)) {
            solver.read(module, id);
        }
        solver.solve()
    }

    /// What a value can refer to.
    pub(super) fn objects(&self, function: FunctionId, value: Value) -> &SparseSet {
        &self.sets[self.value_nodes[self.first_values[function.index()] + value.index()] as usize]
    }

    /// Where the objects are made that an abstract object stands for.
    pub(super) fn allocation(&self, object: u32) -> AllocationId {
        self.objects[object as usize].allocation
    }

    /// The locations of an object.
    pub(super) fn locations(&self, object: u32) -> Range<u32> {
        self.objects[object as usize].locations.clone()
    }

    /// A part of the locations of an object.
    pub(super) fn part(&self, object: u32, part: Part) -> Range<u32> {
        self.objects[object as usize].part(part)
    }

    /// What can be stored in a location, if it holds references.
    pub(super) fn stored(&self, location: u32) -> Option<&SparseSet> {
        let node = self.location_nodes[location as usize];
        (node != NONE).then(|| &self.sets[node as usize])
    }
}

/// Which locations of an object an access means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// A field or a global variable.
    Field(u32),
    /// Any; of an array, its elements.
    Any,
}

impl Part {
    pub(super) fn of(offset: Operand) -> Part {
        match offset {
            Operand::Constant(field) => u32::try_from(field).map_or(Part::Any, Part::Field),
            Operand::Value(_) => Part::Any,
        }
    }

    /// Of a check.
    pub(super) fn checked(first: Operand, count: Operand) -> Part {
        match count {
            Operand::Constant(1) => Part::of(first),
            _ => Part::Any,
        }
    }
}

impl Object {
    fn part(&self, part: Part) -> Range<u32> {
        let Range { start, end } = self.locations;
        match part {
            Part::Field(field) if !self.is_array && field < end - start => {
                start + field..start + field + 1
            }
            _ => start..end,
        }
    }
}

/// The sets and what leads from one to another.
struct Solver {
    result: PointsTo,
    /// By function: the node of what it returns.
    results: Vec<u32>,
    nodes: Vec<Node>,
    /// Nodes with objects that have not gone on yet.
    waiting: Vec<u32>,
    budget: Budget,
}

#[derive(Default)]
struct Node {
    /// Objects that have not gone on yet; some if and only if the node is waiting.
    new: SparseSet,
    /// Nodes whose sets include this one's.
    flows_to: Vec<u32>,
    /// As a base: which part of it, and where what is loaded goes.
    loads: Vec<(Part, u32)>,
    /// As a base: which part of it, and where what is stored comes from.
    stores: Vec<(Part, u32)>,
}

impl Solver {
    /// Makes a node for every reference.
    fn new(module: &Module) -> Solver {
        let mut solver = Solver {
            result: PointsTo {
                objects: Vec::new(),
                location_nodes: Vec::new(),
                first_values: Vec::new(),
                value_nodes: Vec::new(),
                sets: Vec::new(),
            },
            results: Vec::new(),
            nodes: Vec::new(),
            waiting: Vec::new(),
            budget: Budget::of(module),
        };
        for function in &module.functions {
            let first = solver.result.value_nodes.len();
            solver.result.first_values.push(first);
            for ty in &function.values {
                let node = solver.node_of(*ty);
                solver.result.value_nodes.push(node);
            }
            let result = function.result.map_or(NONE, |ty| solver.node_of(ty));
            solver.results.push(result);
        }
        let globals: Vec<Type> = module.globals.iter().map(|g| g.initial.ty()).collect();
        solver.object(AllocationId(0), globals, false);
        solver
    }

    fn node_of(&mut self, ty: Type) -> u32 {
        if ty != Type::Ref {
            return NONE;
        }
        self.nodes.push(Node::default());
        self.result.sets.push(SparseSet::default());
        u32::try_from(self.nodes.len() - 1).expect("fewer values than 2^32")
    }

    fn object(
        &mut self,
        allocation: AllocationId,
        locations: impl IntoIterator<Item = Type>,
        is_array: bool,
    ) -> u32 {
        let here = |solver: &Solver| {
            u32::try_from(solver.result.location_nodes.len()).expect("fewer fields than 2^32")
        };
        let start = here(self);
        for ty in locations {
            let node = self.node_of(ty);
            self.result.location_nodes.push(node);
        }
        let locations = start..here(self);
        self.result.objects.push(Object {
            allocation,
            locations,
            is_array,
        });
        u32::try_from(self.result.objects.len() - 1).expect("fewer instructions than 2^32")
    }

    fn value(&self, function: FunctionId, value: Value) -> u32 {
        self.result.value_nodes[self.result.first_values[function.index()] + value.index()]
    }

    /// Makes the edges of a function and its abstract objects.
    fn read(&mut self, module: &Module, id: FunctionId) {
        let function = module.function(id);
        for block in &function.blocks {
            for instruction in &block.instructions {
                let result = instruction
                    .result
                    .map_or(NONE, |value| self.value(id, value));
                self.read_op(module, id, &instruction.op, result);
            }
            for target in block.terminator.targets() {
                let parameters = &function.block(target.block).parameters;
                for (argument, parameter) in target.arguments.iter().zip(parameters) {
                    self.flow(self.value(id, *argument), self.value(id, *parameter));
                }
            }
            if let Terminator::Return(Some(value)) = block.terminator {
                self.flow(self.value(id, value), self.results[id.index()]);
            }
        }
    }

    fn read_op(&mut self, module: &Module, id: FunctionId, op: &Op, result: u32) {
        match op {
            Op::Globals => self.arrive(result, &SparseSet::of(GLOBALS)),
            Op::NewStruct { layout, allocation } => {
                let fields = &module.structs[layout.index()].fields;
                let fields = fields.iter().map(|(_, ty)| *ty);
                let object = self.object(*allocation, fields, false);
                self.arrive(result, &SparseSet::of(object));
            }
            Op::NewArray {
                element,
                allocation,
                ..
            } => {
                let object = self.object(*allocation, [*element], true);
                self.arrive(result, &SparseSet::of(object));
            }
            Op::NewLock { allocation } => {
                let object = self.object(*allocation, [], false);
                self.arrive(result, &SparseSet::of(object));
            }
            Op::NewPromise {
                carried,
                allocation,
            } => {
                let object = self.object(*allocation, [*carried], false);
                self.arrive(result, &SparseSet::of(object));
            }
            Op::PromiseSet { promise, value, .. } => {
                let (promise, value) = (self.value(id, *promise), self.value(id, *value));
                if value != NONE {
                    self.nodes[promise as usize].stores.push((VALUE, value));
                }
            }
            Op::PromiseGet(promise) if result != NONE => {
                let promise = self.value(id, *promise);
                self.nodes[promise as usize].loads.push((VALUE, result));
            }
            Op::Load { base, offset, .. } if result != NONE => {
                let base = self.value(id, *base);
                self.nodes[base as usize]
                    .loads
                    .push((Part::of(*offset), result));
            }
            Op::Store {
                base,
                offset,
                value,
                ..
            } => {
                let (base, value) = (self.value(id, *base), self.value(id, *value));
                if value != NONE {
                    self.nodes[base as usize]
                        .stores
                        .push((Part::of(*offset), value));
                }
            }
            Op::Call {
                function,
                arguments,
            }
            | Op::Spawn {
                function,
                arguments,
                ..
            } => {
                let parameters = &module.function(*function).block(Function::ENTRY).parameters;
                for (argument, parameter) in arguments.iter().zip(parameters) {
                    self.flow(self.value(id, *argument), self.value(*function, *parameter));
                }
                if result != NONE {
                    self.flow(self.results[function.index()], result);
                }
            }
            _ => {}
        }
    }

    /// An edge, if references go along it.
    fn flow(&mut self, from: u32, to: u32) {
        if from == NONE || to == NONE || from == to {
            return;
        }
        self.nodes[from as usize].flows_to.push(to);
        let known = std::mem::take(&mut self.result.sets[from as usize]);
        self.arrive(to, &known);
        self.result.sets[from as usize] = known;
    }

    fn arrive(&mut self, node: u32, objects: &SparseSet) {
        let set = &mut self.result.sets[node as usize];
        let cost = WORDS_OF_A_UNION + objects.words() + set.words();
        self.budget.spend(cost);
        let new = set.add(objects);
        if new.is_empty() {
            return;
        }
        let pending = &mut self.nodes[node as usize].new;
        if pending.is_empty() {
            self.waiting.push(node);
        }
        pending.add(&new);
    }

    fn solve(mut self) -> Option<PointsTo> {
        while let Some(id) = self.waiting.pop() {
            let node = &mut self.nodes[id as usize];
            let new = std::mem::take(&mut node.new);
            let loads = std::mem::take(&mut node.loads);
            let stores = std::mem::take(&mut node.stores);
            for object in new.iter() {
                for &(part, to) in &loads {
                    for location in self.result.part(object, part) {
                        self.flow(self.result.location_nodes[location as usize], to);
                    }
                }
                for &(part, from) in &stores {
                    for location in self.result.part(object, part) {
                        self.flow(from, self.result.location_nodes[location as usize]);
                    }
                }
            }
            let node = &mut self.nodes[id as usize];
            (node.loads, node.stores) = (loads, stores);
            let flows_to = std::mem::take(&mut node.flows_to);
            for &to in &flows_to {
                self.arrive(to, &new);
            }
            self.nodes[id as usize].flows_to = flows_to;
            self.budget.rest()?;
        }
        Some(self.result)
    }
}
