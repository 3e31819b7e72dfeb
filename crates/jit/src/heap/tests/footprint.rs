//! How much memory the heap really takes: pages of its range that the system has committed.

use super::*;
use std::cell::Cell;
use std::io::{Read, Seek, SeekFrom};

const PAGE_BYTES: usize = 4096;

/// Bytes of the address range that are committed. Other tests of this process don't disturb it.
fn resident(range: Range<usize>) -> usize {
    const PRESENT_OR_SWAPPED: u64 = 3 << 62;
    let mut pages = std::fs::File::open("/proc/self/pagemap").unwrap();
    let first = range.start / PAGE_BYTES;
    let count = range.end.div_ceil(PAGE_BYTES) - first;
    pages.seek(SeekFrom::Start(8 * first as u64)).unwrap();
    let mut entries = vec![0; 8 * count];
    pages.read_exact(&mut entries).unwrap();
    let present = |entry: &&[u8; 8]| u64::from_ne_bytes(**entry) & PRESENT_OR_SWAPPED != 0;
    entries.as_chunks().0.iter().filter(present).count() * PAGE_BYTES
}

impl Heap {
    fn resident(&self) -> usize {
        let start = self.common.ground().space.address(0);
        resident(start..start + self.end())
    }
}

const MEGABYTE: usize = 1 << 20;

#[test]
fn garbage_in_a_loop_takes_bounded_memory() {
    let node: &[Type] = &[Type::Ref, Type::Int];
    for shadow in [false, true] {
        let mut heap = heap(&[node], 1 << 30, shadow);
        let mut most = 0;
        for round in 0..200_000u32 {
            heap.struct_for(0, &[]);
            heap.array_for(Type::Int, &[i64::from(round % 100)], &[]);
            if round % 1000 == 0 {
                let big = heap.array_for(Type::Byte, &[i64::from(round % 7000) * 100], &[]);
                for address in heap.bytes_of_array(big, Type::Byte, 1).step_by(PAGE_BYTES) {
                    heap.set_word(address & !7, 1);
                }
            }
            if round % 10_000 == 0 {
                most = most.max(heap.resident());
            }
        }
        assert!(most <= 64 * MEGABYTE, "{most}");
        heap.collect_for(&[]);
        assert!(heap.resident() <= 33 * MEGABYTE, "{}", heap.resident());
    }
}

#[test]
fn memory_moves_from_one_kind_to_another() {
    let structs: [&[Type]; 2] = [&[Type::Int; 4], &[Type::Int; 9]];
    let mut heap = heap(&structs, 1 << 30, true);
    let mut alive = Vec::new();
    for layout in [0, 1, 0, 1] {
        alive.clear();
        for _ in 0..500_000 {
            alive.push(heap.struct_for(layout, &alive).address());
        }
        heap.collect_for(&alive);
        let objects = 500_000 * (24 + 2 * 8 * [4, 9][layout as usize]);
        assert!(heap.held() <= objects + objects / 50, "{}", heap.held());
        // All of the other kind's is gone, but for what will be needed again.
        let most = objects + (objects + 8 * alive.len()).max(32 * MEGABYTE) + MEGABYTE;
        assert!(heap.resident() <= most, "{} {most}", heap.resident());
    }
}

#[test]
fn a_big_array_takes_no_memory_until_it_is_used_and_none_when_it_is_dropped() {
    for shadow in [false, true] {
        let mut heap = heap(&[], 1 << 30, shadow);
        let array = heap.array_for(Type::Int, &[50_000_000], &[]);
        assert!(heap.held() >= 400_000_000);
        assert!(heap.resident() <= 4 * MEGABYTE, "{}", heap.resident());
        for address in heap.bytes_of_array(array, Type::Int, 1).step_by(MEGABYTE) {
            heap.set_word(address, 1);
        }
        assert!(heap.resident() >= 100 * PAGE_BYTES);
        heap.collect_for(&[array.address() + 400_000_000]);
        assert!(heap.resident() >= 100 * PAGE_BYTES);
        heap.collect_for(&[]);
        assert!(heap.resident() <= 33 * MEGABYTE, "{}", heap.resident());
        assert!(heap.held() <= MEGABYTE);
    }
}

/// Which location a cell belongs to is asked between any two allocations, while the next object's
/// place is chosen already.
#[test]
fn asking_for_a_location_takes_no_memory() {
    let node: &[Type] = &[Type::Ref, Type::Int];
    let mut heap = heap(&[node], 1 << 30, true);
    let count = 20_000;
    let mut alive = Vec::new();
    for number in 0..count {
        let object = heap.struct_for(0, &alive);
        alive.push(object.address());
        for field in 0..2 {
            let cell = object.at(Cells::Word.of_field(field));
            let location = Location(2 * number + u64::from(field));
            assert_eq!(heap.location_of_cell(cell), location);
        }
    }
    let bytes = count as usize * (HEADER_BYTES + 2 * (WORD_BYTES + Cells::Word.bytes()));
    assert!(
        heap.held() <= bytes + bytes / 50 + MEGABYTE,
        "{}",
        heap.held()
    );
}

#[test]
fn holes_between_big_objects_are_filled() {
    let mut heap = heap(&[], 1 << 30, false);
    let mut alive: Vec<u64> = Vec::new();
    for _ in 0..100 {
        alive.push(heap.array_for(Type::Byte, &[100_000], &alive).address());
    }
    let end = heap.end();
    let kept: Vec<u64> = alive.iter().copied().step_by(2).collect();
    heap.collect_for(&kept);
    alive = kept;
    for _ in 0..50 {
        alive.push(heap.array_for(Type::Byte, &[90_000], &alive).address());
    }
    assert_eq!(heap.end(), end);
}

#[test]
fn a_million_objects_take_what_they_need() {
    let mut heap = heap(&[&[Type::Int; 2]], 1 << 30, false);
    let count: u64 = (1 << 20) + 1;
    let mut alive = Vec::new();
    for number in 0..count {
        let object = heap.struct_for(0, &alive);
        heap.put(object, 8, number);
        alive.push(object.address());
    }
    heap.collect_for(&alive);
    assert_eq!(
        heap.used(),
        cost::OBJECT + count * (cost::OBJECT + 2 * cost::FIELD)
    );
    let bytes = count as usize * 40;
    assert!(
        heap.held() < bytes + bytes / 50 + MEGABYTE,
        "{}",
        heap.held()
    );
    for (number, &address) in (0..).zip(&alive) {
        assert_eq!(heap.get(Reference(address), 8), number);
    }
}

/// Roots that count the collections: each looks at them once.
struct Counted<'a> {
    roots: &'a [u64],
    collections: Cell<u64>,
}

impl<'a> Counted<'a> {
    fn new(roots: &'a [u64]) -> Self {
        Counted {
            roots,
            collections: Cell::new(0),
        }
    }
}

// SAFETY: borrowed words are readable, and nobody writes to them meanwhile.
unsafe impl Roots for Counted<'_> {
    fn visit(&self, visit: &mut dyn FnMut(Range<usize>)) {
        self.collections.update(|count| count + 1);
        self.roots.visit(visit);
    }
}

/// Marking must cost no more than in proportion to what is allocated.
#[test]
fn collections_are_as_rare_as_live_objects_and_roots_are_many() {
    let node: &[Type] = &[Type::Ref, Type::Int];
    let each = cost::OBJECT + 2 * cost::FIELD;
    let count = 500_000;
    let garbage = |heap: &mut Heap, roots: &[u64]| {
        let roots = Counted::new(roots);
        for _ in 0..count {
            heap.new_struct(StructId(0), &roots).unwrap();
        }
        roots.collections.get()
    };
    let mut heap = heap(&[node], 1 << 30, false);
    let with_little_alive = garbage(&mut heap, &[]);
    assert_eq!(with_little_alive, count * each / LEAST_BETWEEN_COLLECTIONS);

    let many_roots = vec![0; 8 * MEGABYTE];
    let with_many_roots = garbage(&mut heap, &many_roots);
    assert_eq!(with_many_roots, 1 + count * each / (64 * MEGABYTE as u64));

    let mut head = 0;
    let mut collections = 0;
    for _ in 0..count {
        let roots = [head];
        let roots = Counted::new(&roots);
        let node = heap.new_struct(StructId(0), &roots).unwrap();
        collections += roots.collections.get();
        heap.put(node, 0, head);
        head = node.address();
    }
    // Each comes when twice as much is alive as at the one before.
    let doublings = (count * each / LEAST_BETWEEN_COLLECTIONS).ilog2();
    assert!(collections <= u64::from(doublings) + 2);
}

/// Arrays of bytes take nine times what they cost.
#[test]
fn collections_are_paced_by_what_is_really_taken_too() {
    let mut heap = heap(&[], 1 << 30, true);
    // 32 + 880 + 8 · 880 bytes, in a slot of 8 KiB.
    let size = [880];
    let each = 8 << 10;
    let count = 10_000;
    let garbage = |heap: &mut Heap, roots: &[u64]| {
        let roots = Counted::new(roots);
        for _ in 0..count {
            heap.new_array(Type::Byte, &size, &roots).unwrap();
        }
        roots.collections.get()
    };
    let with_little_alive = garbage(&mut heap, &[]);
    assert_eq!(with_little_alive, count * each / LEAST_BETWEEN_COLLECTIONS);
    // And by what is really alive: four times as much as in the least case.
    let alive = heap.array_for(
        Type::Byte,
        &[(4 * LEAST_BETWEEN_COLLECTIONS / 9) as i64],
        &[],
    );
    heap.collect_for(&[alive.address()]);
    let with_more_alive = garbage(&mut heap, &[alive.address()]);
    assert_eq!(with_more_alive, with_little_alive / 4);
}

#[test]
fn holes_among_small_objects_are_filled() {
    let mut heap = heap(&[&[Type::Int; 2]], 1 << 30, true);
    let mut alive: Vec<u64> = Vec::new();
    for _ in 0..50_000 {
        alive.push(heap.struct_for(0, &alive).address());
    }
    let kept: Vec<u64> = alive.into_iter().step_by(2).collect();
    heap.collect_for(&kept);
    let held = heap.held();
    for _ in 0..20_000 {
        heap.struct_for(0, &kept);
    }
    assert_eq!(heap.held(), held);
}

#[test]
fn an_address_range_that_is_full_is_collected_before_it_is_given_up() {
    let space = Space::reserve(0).unwrap();
    let node: &[Type] = &[Type::Ref, Type::Int];
    let shapes = Shapes {
        structs: &layouts(&[node]),
        globals: &[],
        arrays: &arrays(),
    };
    let mut heap = Heap::in_space(space, shapes, 1 << 40, Cells::None).unwrap();
    // Big objects, dead at once: the range has no room for three of them.
    for _ in 0..10 {
        heap.array_for(Type::Byte, &[400_000], &[]);
    }
    let alive = heap.array_for(Type::Byte, &[400_000], &[]).address();
    heap.array_for(Type::Byte, &[400_000], &[alive]);
    assert_eq!(
        heap.new_array(Type::Byte, &[600_000], &&[alive][..]),
        Err(TrapKind::SystemMemory {
            request: cost::OBJECT + 600_000,
        })
    );
    // Small ones, until they fill the range; it is still all there for something else.
    let mut head = alive;
    let mut count = 0;
    let refused = loop {
        match heap.new_struct(StructId(0), &&[alive, head][..]) {
            Ok(node) => {
                heap.put(node, 0, head);
                head = node.address();
                count += 1;
            }
            Err(refused) => break refused,
        }
    };
    let request = cost::OBJECT + 2 * cost::FIELD;
    assert_eq!(refused, TrapKind::SystemMemory { request });
    assert!(count * 40 > 500_000, "{count}");
    heap.array_for(Type::Byte, &[600_000], &[]);
}
