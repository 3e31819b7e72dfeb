//! A detector whose memory can't grow says so; it takes nobody down with it.
//!
//! The allocator of this test refuses what is bigger than a limit. A table that grew without asking
//! whether it may would end the test with an abort.

use finishline_detect::detectors::Uses;
use finishline_detect::{Failure, LocationSet, first_pass, second_pass};
use finishline_model::event::Record;
use finishline_model::{
    Access, AccessId, AccessKind, Detector, Event, FinishId, FinishKind, Location, SiteId, TaskId,
    TaskKind,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Refusing;

/// The biggest piece of memory that can be had.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

// SAFETY: every piece of memory comes from the system's allocator, and goes back there.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MOST.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        // SAFETY: as promised to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if bytes > MOST.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        // SAFETY: as promised to us.
        unsafe { System.realloc(memory, layout, bytes) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as promised to us.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

const SITE: SiteId = SiteId(0);
const MAIN: TaskId = TaskId::MAIN;
const OTHER: TaskId = TaskId(1);

/// A run of `main` in which a task has ended that nobody has joined.
struct Stream(Vec<Record>);

impl Stream {
    /// The task writes these many locations.
    fn after_writes(count: u64) -> Stream {
        let begin = |task, parent, kind| Event::TaskBegin {
            task,
            parent,
            kind,
            finish: FinishId::ROOT,
            site: SITE,
        };
        let root = Event::FinishBegin {
            task: MAIN,
            finish: FinishId::ROOT,
            kind: FinishKind::Root,
            site: SITE,
        };
        let mut stream = Stream(Vec::new());
        stream.event(begin(MAIN, None, TaskKind::Main));
        stream.event(root);
        stream.event(begin(OTHER, Some(MAIN), TaskKind::Async));
        for location in 0..count {
            stream.write(OTHER, location, 0);
        }
        stream.event(Event::TaskEnd { task: OTHER });
        stream
    }

    fn event(&mut self, event: Event) {
        self.0.push(Record::Event(event));
    }

    fn write(&mut self, task: TaskId, location: u64, id: u32) {
        self.access(AccessKind::Write, task, location, id);
    }

    fn access(&mut self, kind: AccessKind, task: TaskId, location: u64, id: u32) {
        self.0.push(Record::Access(Access {
            task,
            kind,
            first: Location(location),
            count: 1,
            stride: 1,
            id: AccessId(id),
        }));
    }
}

/// What comes of it if no piece of memory may be bigger than 64 KiB.
fn with_little_memory<T>(work: impl FnOnce() -> T) -> T {
    MOST.store(64 << 10, Ordering::Relaxed);
    let result = work();
    MOST.store(usize::MAX, Ordering::Relaxed);
    result
}

/// One test, since the allocator is everybody's.
#[test]
fn every_table_that_cannot_grow_is_a_failure() {
    const MANY: u64 = 10_000;
    let esp_bags = Detector::EspBags;
    let plain = Uses::default();
    let with_isolated = Uses {
        isolated: true,
        ..plain
    };
    let is_memory = |failure: Option<Failure>| matches!(failure, Some(Failure::Memory(_)));

    // More racing locations than there is room for, to find and to follow.
    let mut stream = Stream::after_writes(MANY);
    for location in 0..MANY {
        stream.write(MAIN, location, 1);
    }
    let records = &stream.0[..];
    let failed = with_little_memory(|| first_pass(esp_bags, plain, records).err());
    assert!(is_memory(failed), "racing locations");
    let locations: Vec<Location> = (0..MANY).map(Location).collect();
    let racing = LocationSet::of(&locations).unwrap();
    for uses in [plain, with_isolated] {
        let failed = with_little_memory(|| second_pass(esp_bags, uses, &racing, records).err());
        assert!(is_memory(failed), "watched locations");
    }

    // More distinct pairs of accesses, at one location.
    let one = LocationSet::of(&[Location(0)]).unwrap();
    let mut stream = Stream::after_writes(1);
    for id in 0..MANY {
        stream.access(AccessKind::Read, MAIN, 0, id as u32);
    }
    let records = &stream.0[..];
    let failed = with_little_memory(|| second_pass(esp_bags, plain, &one, records).err());
    assert!(is_memory(failed), "pairs");

    // More steps.
    let mut stream = Stream::after_writes(1);
    for _ in 0..MANY {
        let (task, site) = (MAIN, SITE);
        stream.event(Event::IsolatedBegin { task, site });
        stream.event(Event::IsolatedEnd { task, site });
    }
    let records = &stream.0[..];
    let failed = with_little_memory(|| second_pass(esp_bags, with_isolated, &one, records).err());
    assert!(is_memory(failed), "steps");
}
