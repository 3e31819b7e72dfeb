//! What keeps an object, and what does not.

use super::*;

const NODE: u32 = 0;
const PAIR: u32 = 1;
/// A node is a reference and an int, a pair has two references between ints.
const STRUCTS: [&[Type]; 2] = [
    &[Type::Ref, Type::Int],
    &[Type::Int, Type::Ref, Type::Int, Type::Ref],
];

const NODE_COST: u64 = cost::OBJECT + 2 * cost::FIELD;

fn nodes(shadow: bool) -> Heap {
    heap(&STRUCTS, 1 << 30, shadow)
}

struct Made {
    object: Reference,
    bytes: Range<usize>,
    cost: u64,
}

/// Every object: small and big, of each sort.
fn make(heap: &mut Heap, which: u32) -> Option<Made> {
    let array = |heap: &mut Heap, element: Type, sizes: &[i64]| {
        let count = sizes.iter().product::<i64>() as u64;
        let object = heap.array_for(element, sizes, &[]);
        Some(Made {
            object,
            bytes: heap.bytes_of_array(object, element, sizes.len()),
            cost: cost::OBJECT + count * element.size(),
        })
    };
    match which {
        0 => {
            let object = heap.struct_for(NODE, &[]);
            Some(Made {
                object,
                bytes: heap.bytes_of_struct(object),
                cost: NODE_COST,
            })
        }
        1 => array(heap, Type::Int, &[3]),
        2 => array(heap, Type::Byte, &[2, 7]),
        3 => array(heap, Type::Ref, &[0]),
        4 => array(heap, Type::Bool, &[1000]),
        5 => array(heap, Type::Float, &[30, 100]),
        // Without cells, this one ends where its units do.
        6 => array(heap, Type::Int, &[(3 * 8192 - 32) / 8]),
        _ => None,
    }
}

#[test]
fn every_pointer_into_an_object_or_right_behind_it_keeps_it_and_no_other_does() {
    for shadow in [false, true] {
        for which in 0.. {
            let mut heap = nodes(shadow);
            let Some(made) = make(&mut heap, which) else {
                break;
            };
            let count = heap.get(made.object, COUNT_OFFSET);
            // All of a small one, and the edges of a big one.
            let (start, len) = (made.bytes.start, made.bytes.len());
            let edge = |offset: &usize| *offset < 600 || *offset + 600 > len;
            for offset in (0..=len).filter(edge) {
                heap.collect_for(&[(start + offset) as u64]);
                assert_eq!(
                    heap.used(),
                    cost::OBJECT + made.cost,
                    "{which}, {offset} of {len}"
                );
                assert_eq!(heap.get(made.object, COUNT_OFFSET), count);
            }
            for elsewhere in [start - 1, 0, 1, usize::MAX, start ^ (1 << 63)] {
                let mut heap = nodes(shadow);
                make(&mut heap, which);
                heap.collect_for(&[elsewhere as u64]);
                assert_eq!(heap.used(), cost::OBJECT, "{which}, {elsewhere:#x}");
            }
        }
    }
}

#[test]
fn the_end_of_one_object_may_be_the_start_of_the_next() {
    let mut heap = nodes(false);
    let (left, right) = (heap.struct_for(NODE, &[]), heap.struct_for(NODE, &[]));
    let boundary = heap.bytes_of_struct(left).end;
    assert_eq!(boundary, heap.bytes_of_struct(right).start);
    heap.collect_for(&[boundary as u64]);
    assert_eq!(heap.used(), cost::OBJECT + 2 * NODE_COST);
    heap.collect_for(&[boundary as u64 - 1]);
    assert_eq!(heap.used(), cost::OBJECT + NODE_COST);
    heap.collect_for(&[boundary as u64 + 1]);
    assert_eq!(heap.used(), cost::OBJECT);
}

#[test]
fn the_end_of_an_object_may_lie_in_the_next_span() {
    let mut heap = nodes(false);
    let sizes = [(3 * 8192 - 32) / 8];
    let left = heap.array_for(Type::Int, &sizes, &[]);
    let right = heap.array_for(Type::Int, &sizes, &[left.address()]);
    let [left_end, right_start] = [
        heap.bytes_of_array(left, Type::Int, 1).end as u64,
        heap.bytes_of_array(right, Type::Int, 1).start as u64,
    ];
    assert_eq!(left_end, right_start);
    let cost = cost::OBJECT + 8 * sizes[0] as u64;
    heap.collect_for(&[left_end]);
    assert_eq!(heap.used(), cost::OBJECT + 2 * cost);
    heap.collect_for(&[right.address()]);
    assert_eq!(heap.used(), cost::OBJECT + cost);
    heap.collect_for(&[left_end - 1]);
    assert_eq!(
        heap.used(),
        cost::OBJECT,
        "left is dead already, and right is not at fault"
    );
}

#[test]
fn places_without_an_object_keep_nothing() {
    let mut heap = nodes(false);
    let node = heap.struct_for(NODE, &[]);
    let behind = heap.bytes_of_struct(node).end as u64 + 8;
    heap.collect_for(&[behind]);
    assert_eq!(heap.used(), cost::OBJECT, "the next slot is free");

    // Where a big object was, while another one elsewhere has taken over its place in the tables.
    let first = heap.array_for(Type::Byte, &[20_000], &[]).address();
    let barrier = heap.array_for(Type::Byte, &[20_000], &[first]).address();
    heap.collect_for(&[barrier]);
    let elsewhere = heap.array_for(Type::Byte, &[50_000], &[barrier]).address();
    assert!(elsewhere > barrier);
    heap.collect_for(&[barrier, first]);
    assert_eq!(heap.used(), 2 * cost::OBJECT + 20_000);
}

#[test]
fn structs_and_arrays_of_references_keep_what_they_refer_to() {
    for shadow in [false, true] {
        let mut heap = nodes(shadow);
        let pair = heap.struct_for(PAIR, &[]);
        let (left, right) = (heap.struct_for(NODE, &[]), heap.struct_for(NODE, &[]));
        heap.put(pair, field_offset(1), left.address());
        heap.put(pair, field_offset(3), right.address());
        let array = heap.array_for(Type::Ref, &[2, 2], &[]);
        heap.put(array, 24, pair.address());
        let dead = heap.struct_for(NODE, &[]);
        heap.put(left, field_offset(1), dead.address());
        heap.put(pair, field_offset(0), dead.address());
        heap.put(pair, field_offset(2), dead.address() + 8);
        if shadow {
            heap.put(pair, Cells::Word.of_field(1), dead.address());
            heap.put(array, 4 * 8, dead.address());
        }
        heap.collect_for(&[array.address()]);
        let pair_cost = cost::OBJECT + 4 * cost::FIELD;
        let all = 2 * cost::OBJECT + 32 + pair_cost + 2 * NODE_COST;
        assert_eq!(heap.used(), all, "ints and cells are not followed");
        assert_eq!(heap.get(pair, field_offset(3)), right.address());
        heap.put(pair, field_offset(1), 0);
        heap.collect_for(&[array.address()]);
        assert_eq!(heap.used(), all - NODE_COST);
        heap.put(array, 24, 0);
        heap.collect_for(&[array.address()]);
        assert_eq!(heap.used(), 2 * cost::OBJECT + 32);
    }
}

#[test]
fn arrays_of_numbers_are_not_followed() {
    let mut heap = nodes(true);
    let ints = heap.array_for(Type::Int, &[1], &[]);
    let floats = heap.array_for(Type::Float, &[1], &[]);
    let node = heap.struct_for(NODE, &[]);
    heap.put(ints, 0, node.address());
    heap.put(floats, 0, node.address());
    heap.collect_for(&[ints.address(), floats.address()]);
    assert_eq!(heap.used(), 3 * cost::OBJECT + 2 * 8);
}

#[test]
fn globals_keep_what_they_refer_to_and_a_cycle_keeps_nobody() {
    let types = [Type::Int, Type::Ref];
    let mut heap = heap_with(&layouts(&STRUCTS), &types, 1 << 20, true);
    let empty = heap.used();
    let (a, b) = (heap.struct_for(NODE, &[]), heap.struct_for(NODE, &[]));
    heap.put(a, field_offset(0), b.address());
    heap.put(b, field_offset(0), a.address());
    heap.put(heap.globals(), field_offset(1), a.address());
    heap.collect_for(&[]);
    assert_eq!(heap.used(), empty + 2 * NODE_COST);
    heap.put(heap.globals(), field_offset(1), 0);
    heap.put(heap.globals(), field_offset(0), a.address());
    heap.collect_for(&[]);
    assert_eq!(heap.used(), empty);
}

#[test]
fn freed_memory_is_used_again_and_is_zero() {
    for shadow in [false, true] {
        for which in 0.. {
            let mut heap = nodes(shadow);
            let Some(first) = make(&mut heap, which) else {
                break;
            };
            for address in first.bytes.clone().step_by(8) {
                heap.set_word(address, u64::MAX);
            }
            heap.collect_for(&[]);
            assert_eq!(heap.used(), cost::OBJECT);
            let second = make(&mut heap, which).unwrap();
            assert_eq!(second.bytes, first.bytes);
            let data = second.object.address() as usize;
            for address in (data..second.bytes.end).step_by(8) {
                assert_eq!(heap.word(address), 0, "{which}");
            }
            if which == 0 && shadow {
                assert_eq!(heap.get(second.object, Cells::Word.of_field(1)), 0);
            }
        }
    }
}

/// A list as long as this would overflow the stack of a marker that calls itself.
#[test]
fn a_long_list_is_kept_to_its_end() {
    const LENGTH: u64 = 2_000_000;
    let mut heap = heap(&STRUCTS, LENGTH * NODE_COST * 2, false);
    let mut head = 0;
    for number in 0..LENGTH {
        let node = heap.struct_for(NODE, &[head]);
        heap.put(node, field_offset(0), head);
        heap.put(node, field_offset(1), number);
        head = node.address();
    }
    heap.collect_for(&[head]);
    assert_eq!(heap.used(), cost::OBJECT + LENGTH * NODE_COST);
    let mut at = head;
    for number in (0..LENGTH).rev() {
        assert_eq!(heap.get(Reference(at), field_offset(1)), number);
        at = heap.get(Reference(at), field_offset(0));
    }
    assert_eq!(at, 0);
    heap.collect_for(&[]);
    assert_eq!(heap.used(), cost::OBJECT);
}

#[test]
fn a_long_array_keeps_all_it_refers_to() {
    for count in [0, 1, 255, 256, 257, 511, 512, 513, 10_000] {
        let mut heap = nodes(false);
        let array = heap.array_for(Type::Ref, &[count], &[]);
        for index in 0..count as i32 {
            let node = heap.struct_for(NODE, &[array.address()]);
            heap.put(array, 8 * index, node.address());
        }
        heap.collect_for(&[array.address()]);
        let count = count as u64;
        assert_eq!(heap.used(), 2 * cost::OBJECT + count * (8 + NODE_COST));
    }
}

#[test]
fn roots_are_the_aligned_words_of_their_ranges() {
    struct Ranges(Vec<Range<usize>>);
    // SAFETY: made of borrowed words below.
    unsafe impl Roots for Ranges {
        fn visit(&self, visit: &mut dyn FnMut(Range<usize>)) {
            self.0.iter().cloned().for_each(visit);
        }
    }
    let mut heap = nodes(true);
    let objects: Vec<Reference> = (0..4).map(|_| heap.struct_for(NODE, &[])).collect();
    let words: Vec<u64> = objects.iter().map(|object| object.address()).collect();
    let start = words.as_ptr().expose_provenance();
    // The first two, cut in the middle of the third; the last; nothing; less than nothing.
    let ranges = [
        start..start + 20,
        start + 20..start + 32,
        start..start,
        start + 8..start,
    ];
    heap.try_collect(&Ranges(ranges.to_vec())).unwrap();
    assert_eq!(heap.used(), cost::OBJECT + 3 * NODE_COST);
    assert_eq!(heap.get(objects[3], COUNT_OFFSET), 2);
}
