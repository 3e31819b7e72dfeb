//! The heap as its users see it: what objects look like, what keeps them, what they cost.

mod footprint;
mod random_graphs;
mod reachability;

use super::layout::*;
use super::*;
use finishline_ir::StructLayout;
use std::ops::Range;

/// Structs with fields of these types, and no more to them.
fn layouts(structs: &[&[Type]]) -> Vec<StructLayout> {
    let layout = |types: &&[Type]| StructLayout {
        name: String::new(),
        fields: types.iter().map(|&ty| (String::new(), ty)).collect(),
    };
    structs.iter().map(layout).collect()
}

fn cells_if(shadow: bool) -> Cells {
    match shadow {
        true => Cells::Word,
        false => Cells::None,
    }
}

fn heap(structs: &[&[Type]], budget: u64, shadow: bool) -> Heap {
    heap_with(&layouts(structs), &[], budget, shadow)
}

fn bytes(object: Reference, extent: Extent) -> Range<usize> {
    let start = object.address() as usize - extent.prefix;
    start..start + extent.bytes
}

impl Reference {
    fn at(self, offset: i32) -> usize {
        (self.0 as usize).wrapping_add_signed(offset as isize)
    }
}

/// All arrays of up to five dimensions.
fn arrays() -> Vec<(Type, usize)> {
    let of = |element| (1..=5).map(move |dimensions| (element, dimensions));
    Type::ALL.into_iter().flat_map(of).collect()
}

fn heap_with(structs: &[StructLayout], globals: &[Type], budget: u64, shadow: bool) -> Heap {
    try_heap_with(structs, globals, budget, shadow).unwrap()
}

fn try_heap_with(
    structs: &[StructLayout],
    globals: &[Type],
    budget: u64,
    shadow: bool,
) -> Result<Heap, TrapKind> {
    let shapes = Shapes {
        structs,
        globals,
        arrays: &arrays(),
    };
    Heap::new(shapes, budget, cells_if(shadow))
}

impl Heap {
    fn word(&self, address: usize) -> u64 {
        self.common.ground().space.word(address)
    }

    fn set_word(&mut self, address: usize, word: u64) {
        self.common.ground().space.words_mut(address, 8)[0] = word;
    }

    /// By the budget's count.
    fn used(&self) -> u64 {
        // SAFETY: no other worker is there.
        let own = unsafe { &*self.own };
        self.common.ground().used - own.used_left
    }

    fn next_location(&self) -> u64 {
        // SAFETY: as above.
        unsafe { &*self.own }.locations.start
    }

    /// Bytes from the start of the address range to the end of all that was ever used of it.
    fn end(&self) -> usize {
        self.common.ground().spans.end()
    }

    fn try_collect(&mut self, roots: &dyn Roots) -> Result<(), TrapKind> {
        self.common.ground().collect(&self.common, roots)
    }

    fn get(&self, object: Reference, offset: i32) -> u64 {
        self.word(object.at(offset))
    }

    /// Bytes of the address range that objects are in; what of it was never touched takes no
    /// memory.
    fn held(&self) -> usize {
        self.common.ground().spans.bytes()
    }

    fn put(&mut self, object: Reference, offset: i32, word: u64) {
        self.set_word(object.at(offset), word);
    }

    fn struct_for(&mut self, layout: u32, roots: &[u64]) -> Reference {
        self.new_struct(StructId(layout), &roots).unwrap()
    }

    fn array_for(&mut self, element: Type, sizes: &[i64], roots: &[u64]) -> Reference {
        self.new_array(element, sizes, &roots).unwrap()
    }

    fn collect_for(&mut self, roots: &[u64]) {
        self.try_collect(&roots).unwrap();
    }

    /// The whole of a struct, from its first byte to right behind its last.
    fn bytes_of_struct(&self, object: Reference) -> Range<usize> {
        let count = self.get(object, COUNT_OFFSET) as usize;
        bytes(object, Extent::of_fields(count, self.common.cells).unwrap())
    }

    /// The whole of an array.
    fn bytes_of_array(&self, array: Reference, element: Type, dimensions: usize) -> Range<usize> {
        let count = self.get(array, COUNT_OFFSET);
        let extent = Extent::of_array(element, dimensions, count, self.common.cells);
        bytes(array, extent.unwrap())
    }
}

#[test]
fn structs_look_as_the_layout_says() {
    for shadow in [false, true] {
        let mut heap = heap(&[&[], &[Type::Int, Type::Ref, Type::Byte]], 1 << 20, shadow);
        let empty = heap.struct_for(0, &[]);
        let first = heap.struct_for(1, &[]);
        let second = heap.struct_for(1, &[]);
        for (object, location, count) in [(empty, 0, 0), (first, 0, 3), (second, 3, 3)] {
            assert_eq!(object.address() % 8, 0);
            assert_eq!(heap.get(object, -8), location);
            assert_eq!(heap.get(object, -16), 0);
            assert_eq!(heap.get(object, -24), count);
            for field in 0..count as i32 {
                assert_eq!(heap.get(object, 8 * field), 0);
                if shadow {
                    assert_eq!(heap.get(object, -32 - 8 * field), 0);
                }
            }
        }
        let distance = if shadow { 24 + 2 * 24 } else { 24 + 24 };
        assert_eq!(second.address() - first.address(), distance);
    }
    assert_eq!(
        (
            field_offset(2),
            Cells::Word.of_field(0),
            Cells::Word.of_field(2)
        ),
        (16, -32, -48)
    );
}

#[test]
fn arrays_look_as_the_layout_says() {
    for shadow in [false, true] {
        let mut heap = heap(&[], 1 << 20, shadow);
        for (element, dimensions, size) in [
            (Type::Int, &[5][..], 8),
            (Type::Float, &[2, 3], 8),
            (Type::Bool, &[13], 1),
            (Type::Byte, &[3, 1, 5], 1),
            (Type::Ref, &[1, 2, 3, 4, 5], 8),
            (Type::Int, &[7, 0], 8),
        ] {
            let first = heap.next_location();
            let array = heap.array_for(element, dimensions, &[]);
            let count: i64 = dimensions.iter().product();
            assert_eq!(heap.get(array, FIRST_LOCATION_OFFSET), first);
            assert_eq!(heap.get(array, COUNT_OFFSET), count as u64);
            assert_eq!(heap.next_location(), first + count as u64);
            for (dimension, &size) in (0..).zip(dimensions) {
                assert_eq!(heap.get(array, -32 - 8 * dimension), size as u64);
                assert_eq!(size_offset(dimension as u32), -32 - 8 * dimension);
            }
            let cells = heap.get(array, CELLS_OFFSET);
            if shadow {
                let data = (count as u64 * size).next_multiple_of(8).max(8);
                assert_eq!(cells, array.address() + data);
                let bytes = heap.bytes_of_array(array, element, dimensions.len());
                assert_eq!(bytes.end as u64, cells + 8 * count as u64);
            } else {
                assert_eq!(cells, 0);
            }
        }
    }
}

#[test]
fn the_globals_are_the_first_object() {
    let types = [Type::Ref, Type::Int];
    let heap = heap_with(&[], &types, 1 << 20, true);
    let globals = heap.globals();
    assert_eq!(heap.get(globals, FIRST_LOCATION_OFFSET), 0);
    assert_eq!(heap.get(globals, COUNT_OFFSET), 2);
    assert_eq!(heap.next_location(), 2);
    assert_eq!(heap.used(), cost::OBJECT + 2 * cost::FIELD);
    let budget = cost::OBJECT + 2 * cost::FIELD - 1;
    assert_eq!(
        try_heap_with(&[], &types, budget, true).err(),
        Some(TrapKind::Memory {
            request: Some(budget + 1),
            used: 0,
            budget,
        })
    );
}

/// The interpreter's own test of its budget, with its numbers, and garbage besides.
#[test]
fn the_budget_is_exact_and_refuses_only_after_a_collection() {
    let globals = cost::OBJECT;
    let mut heap = heap(&[], globals + 2 * cost::OBJECT + 10 * 8 + 3, false);
    let ints = heap.array_for(Type::Int, &[10], &[]);
    assert_eq!(heap.used(), globals + cost::OBJECT + 80);
    let roots = [ints.address()];
    let over = |request| TrapKind::Memory {
        request,
        used: globals + cost::OBJECT + 80,
        budget: globals + 2 * cost::OBJECT + 83,
    };
    let refused = heap.new_array(Type::Byte, &[4], &&roots[..]).unwrap_err();
    assert_eq!(refused, over(Some(cost::OBJECT + 4)));
    for _ in 0..3 {
        // The one before is garbage.
        heap.array_for(Type::Bool, &[3], &roots);
        assert_eq!(heap.used(), globals + 2 * cost::OBJECT + 83);
    }
    let refused = heap.new_array(Type::Byte, &[4], &&roots[..]).unwrap_err();
    assert_eq!(refused, over(Some(cost::OBJECT + 4)));
    for absurd in [&[i64::MAX, 3][..], &[1 << 32, 1 << 32], &[i64::MAX]] {
        let refused = heap.new_array(Type::Int, absurd, &&roots[..]).unwrap_err();
        assert_eq!(refused, over(None), "{absurd:?}");
    }
    let refused = heap.new_array(Type::Byte, &[i64::MAX], &&roots[..]);
    assert_eq!(refused, Err(over(Some(i64::MAX as u64 + cost::OBJECT))));
}

#[test]
fn sizes_are_judged_as_the_interpreter_judges_them() {
    for shadow in [false, true] {
        let mut heap = heap(&[], u64::MAX, shadow);
        for (sizes, size) in [
            (&[-1][..], -1),
            (&[0, -7, -8], -7),
            (&[i64::MAX, i64::MAX, -3], -3),
        ] {
            let refused = heap.new_array(Type::Int, sizes, &NO_ROOTS);
            assert_eq!(refused, Err(TrapKind::NegativeSize { size }));
        }
        let system = |request| Err(TrapKind::SystemMemory { request });
        let bytes = heap.new_array(Type::Byte, &[i64::MAX], &NO_ROOTS);
        assert_eq!(bytes, system(i64::MAX as u64 + cost::OBJECT));
        let ints = heap.new_array(Type::Int, &[1 << 30, 1 << 29], &NO_ROOTS);
        assert_eq!(ints, system((1 << 62) + cost::OBJECT));
        let empty = heap.array_for(Type::Int, &[i64::MAX, i64::MAX, 0], &[]);
        assert_eq!(heap.get(empty, COUNT_OFFSET), 0);
        assert_eq!(heap.get(empty, size_offset(1)), i64::MAX as u64);
        assert_eq!(heap.used(), 2 * cost::OBJECT);
    }
}

#[test]
fn locations_are_never_used_again() {
    let mut heap = heap(&[&[Type::Int, Type::Int]], 1 << 20, true);
    for round in 0..10 {
        let object = heap.struct_for(0, &[]);
        assert_eq!(heap.get(object, FIRST_LOCATION_OFFSET), 2 * round);
        heap.collect_for(&[]);
        assert_eq!(heap.used(), cost::OBJECT);
    }
}
