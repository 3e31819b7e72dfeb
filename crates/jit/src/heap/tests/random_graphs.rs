//! Random programs on objects, compared with a model that knows what can be reached.
//!
//! The model keeps every object as a vector of values and finds what is reachable by walking. After
//! each collection the heap must cost exactly what the reachable objects cost, and each of them
//! must hold what was stored.

use super::*;
use finishline_generate::rng::Rng;
use std::collections::{BTreeMap, HashMap};

const STRUCTS: [&[Type]; 5] = [
    &[],
    &[Type::Ref],
    &[Type::Int, Type::Ref, Type::Float],
    &[Type::Ref, Type::Byte, Type::Ref, Type::Bool, Type::Int],
    &[Type::Float; 3],
];
const GLOBALS: [Type; 4] = [Type::Ref, Type::Int, Type::Ref, Type::Byte];
const ROOTS: usize = 12;

struct Object {
    reference: Reference,
    types: Types,
    first_location: u64,
    cost: u64,
    values: Vec<u64>,
    cells: Vec<u64>,
    /// Of an array.
    sizes: Vec<i64>,
}

#[derive(Clone, Copy)]
enum Types {
    Fields(&'static [Type]),
    Elements(Type),
}

impl Object {
    fn ty(&self, index: usize) -> Type {
        match self.types {
            Types::Fields(types) => types[index],
            Types::Elements(element) => element,
        }
    }
}

type Id = usize;

struct World {
    heap: Heap,
    objects: HashMap<Id, Object>,
    by_address: HashMap<u64, Id>,
    next: Id,
    next_location: u64,
    /// Addresses, or 0.
    roots: [u64; ROOTS],
    rng: Rng,
}

impl World {
    fn new(seed: u64, budget: u64, shadow: bool) -> World {
        let heap = heap_with(&layouts(&STRUCTS), &GLOBALS, budget, shadow);
        let globals = heap.globals();
        let mut world = World {
            heap,
            objects: HashMap::new(),
            by_address: HashMap::new(),
            next: 0,
            next_location: 0,
            roots: [0; ROOTS],
            rng: Rng::new(seed),
        };
        let cost = cost::OBJECT + GLOBALS.len() as u64 * cost::FIELD;
        world.add(globals, Types::Fields(&GLOBALS), GLOBALS.len(), cost, &[]);
        world
    }

    fn add(&mut self, reference: Reference, types: Types, count: usize, cost: u64, sizes: &[i64]) {
        let object = Object {
            reference,
            types,
            first_location: self.next_location,
            cost,
            values: vec![0; count],
            cells: vec![
                0;
                if self.heap.common.cells != Cells::None {
                    count
                } else {
                    0
                }
            ],
            sizes: sizes.to_vec(),
        };
        self.next_location += count as u64;
        self.check(&object);
        self.by_address.insert(reference.address(), self.next);
        self.objects.insert(self.next, object);
        self.next += 1;
    }

    fn allocate(&mut self) {
        let roots = self.roots;
        let (made, types, count, cost, sizes) = if self.rng.percent(50) {
            let layout = self.rng.index(STRUCTS.len());
            let made = self.heap.new_struct(StructId(layout as u32), &&roots[..]);
            let count = STRUCTS[layout].len();
            let cost = cost::OBJECT + count as u64 * cost::FIELD;
            (made, Types::Fields(STRUCTS[layout]), count, cost, vec![])
        } else {
            let element = self.rng.pick(&Type::ALL);
            let dimensions = self.rng.between(1, 3);
            let largest = self.rng.pick(&[3, 10, 10, 30]);
            let sizes: Vec<i64> = (0..dimensions)
                .map(|_| self.rng.between(0, largest))
                .collect();
            let made = self.heap.new_array(element, &sizes, &&roots[..]);
            let count = sizes.iter().product::<i64>() as usize;
            let cost = cost::OBJECT + count as u64 * element.size();
            (made, Types::Elements(element), count, cost, sizes)
        };
        match made {
            Ok(reference) => {
                // What was there before is garbage that a collection has freed.
                let garbage = self.by_address.remove(&reference.address());
                if let Some(id) = garbage {
                    assert!(!self.reachable().contains_key(&id));
                    self.objects.remove(&id);
                }
                self.add(reference, types, count, cost, &sizes);
                let root = self.rng.index(ROOTS);
                self.roots[root] = reference.address();
            }
            Err(trap) => {
                let used = self.reachable_cost();
                let budget = self.heap.common.budget;
                assert!(used + cost > budget);
                let request = Some(cost);
                assert_eq!(
                    trap,
                    TrapKind::Memory {
                        request,
                        used,
                        budget
                    }
                );
                // Make room.
                self.roots[..ROOTS / 2].fill(0);
                self.store(0, 0, 0);
                self.store(0, 2, 0);
            }
        }
    }

    fn reachable(&self) -> BTreeMap<Id, &Object> {
        let mut found = BTreeMap::new();
        let mut open: Vec<Id> = vec![0];
        open.extend(
            self.roots
                .iter()
                .filter_map(|root| self.by_address.get(root)),
        );
        while let Some(id) = open.pop() {
            let object = &self.objects[&id];
            if found.insert(id, object).is_none() {
                let references = (0..object.values.len()).filter(|&i| object.ty(i) == Type::Ref);
                open.extend(references.filter_map(|i| self.by_address.get(&object.values[i])));
            }
        }
        found
    }

    fn reachable_cost(&self) -> u64 {
        self.reachable().values().map(|object| object.cost).sum()
    }

    fn store(&mut self, id: Id, index: usize, value: u64) {
        let object = self.objects.get_mut(&id).unwrap();
        object.values[index] = value;
        let address = object.reference.address() as usize;
        if let Types::Elements(Type::Bool | Type::Byte) = object.types {
            let (word, shift) = (address + index / 8 * 8, index % 8 * 8);
            let others = self.heap.word(word) & !(0xff << shift);
            self.heap.set_word(word, others | value << shift);
        } else {
            self.heap.set_word(address + 8 * index, value);
        }
    }

    fn cell_address(heap: &Heap, object: &Object, index: usize) -> usize {
        match object.types {
            Types::Fields(_) => object.reference.at(Cells::Word.of_field(index as u32)),
            Types::Elements(_) => heap.get(object.reference, CELLS_OFFSET) as usize + 8 * index,
        }
    }

    /// A root that is no null, as an object.
    fn some_object(&mut self) -> Id {
        let root = self.roots[self.rng.index(ROOTS)];
        self.by_address.get(&root).copied().unwrap_or(0)
    }

    fn mutate(&mut self) {
        let id = self.some_object();
        let count = self.objects[&id].values.len();
        if count == 0 {
            return;
        }
        let index = self.rng.index(count);
        let root = self.roots[self.rng.index(ROOTS)];
        let value = match self.objects[&id].ty(index) {
            Type::Ref => root,
            // What looks like a pointer, and maybe is the only one.
            Type::Int | Type::Float => root + u64::from(8 * self.rng.below(3)),
            Type::Bool | Type::Byte => u64::from(self.rng.below(256)),
        };
        self.store(id, index, value);
        if self.heap.common.cells != Cells::None {
            let object = self.objects.get_mut(&id).unwrap();
            object.cells[index] = root;
            let address = World::cell_address(&self.heap, object, index);
            self.heap.set_word(address, root);
        }
    }

    /// Walks on: a root becomes what one of its references refers to.
    fn load(&mut self) {
        let id = self.some_object();
        let object = &self.objects[&id];
        let count = object.values.len();
        if count > 0 {
            let index = self.rng.index(count);
            if object.ty(index) == Type::Ref {
                let value = object.values[index];
                let root = self.rng.index(ROOTS);
                self.roots[root] = value;
            }
        }
    }

    fn check(&self, object: &Object) {
        let (heap, reference) = (&self.heap, object.reference);
        assert_eq!(
            heap.get(reference, FIRST_LOCATION_OFFSET),
            object.first_location
        );
        assert_eq!(
            heap.get(reference, COUNT_OFFSET),
            object.values.len() as u64
        );
        for (dimension, &size) in (0..).zip(&object.sizes) {
            assert_eq!(heap.get(reference, size_offset(dimension)), size as u64);
        }
        for (index, &value) in object.values.iter().enumerate() {
            let stored = match object.types {
                Types::Elements(Type::Bool | Type::Byte) => {
                    let word = heap.get(reference, index as i32 / 8 * 8);
                    word >> (index % 8 * 8) & 0xff
                }
                _ => heap.get(reference, 8 * index as i32),
            };
            assert_eq!(stored, value, "{index} of {reference:?}");
        }
        for (index, &cell) in object.cells.iter().enumerate() {
            let address = World::cell_address(heap, object, index);
            assert_eq!(heap.word(address), cell);
        }
    }

    fn collect(&mut self) {
        let roots = self.roots;
        self.heap.collect_for(&roots);
        let reachable = self.reachable();
        let cost: u64 = reachable.values().map(|object| object.cost).sum();
        assert_eq!(self.heap.used(), cost);
        reachable.values().for_each(|object| self.check(object));
        let alive: std::collections::HashSet<Id> = reachable.into_keys().collect();
        self.objects.retain(|id, _| alive.contains(id));
        self.by_address.retain(|_, id| alive.contains(id));
    }

    fn step(&mut self) {
        match self.rng.below(1000) {
            0..400 => self.allocate(),
            400..800 => self.mutate(),
            800..960 => self.load(),
            960..998 => {
                let root = self.rng.index(ROOTS);
                self.roots[root] = 0;
            }
            _ => self.collect(),
        }
        assert!(self.heap.used() <= self.heap.common.budget);
    }
}

#[test]
fn what_is_reachable_stays_and_all_else_goes() {
    for shadow in [false, true] {
        for seed in 0..8 {
            // The small budget is met again and again; the big one is not.
            for (budget, steps) in [(40_000, 20_000), (1 << 30, 20_000)] {
                let mut world = World::new(seed, budget, shadow);
                for _ in 0..steps {
                    world.step();
                }
                world.collect();
                world.roots = [0; ROOTS];
                world.store(0, 0, 0);
                world.store(0, 2, 0);
                world.collect();
                assert_eq!(world.objects.len(), 1);
            }
        }
    }
}
