//! Objects and their locations.
//!
//! Every object owns a range of consecutive locations from a counter that only grows: a location
//! means one thing for the whole run. The place of an object in the table is its [`Handle`]. A
//! handle is used again when its object is gone ([`super::collector`]). Arrays keep their elements
//! flat and typed, in row-major order.
//!
//! The budget counts the objects that can still be reached, each with its [`cost`]. It is checked
//! before anything is allocated. Sizes that overflow exceed it by definition.

use super::datum::{Datum, mistyped};
use super::trap::TrapKind;
use crate::cost;
use crate::module::{Const, Type};
use finishline_model::{AllocationId, Location, LockId, TaskId, entity};
use std::fmt;

entity! {
    /// The place of an object. It means that object as long as anything refers to it.
    Handle, "object";
}

impl Handle {
    /// The global variables. They are never given back.
    pub const GLOBALS: Handle = Handle(0);
}

// The budget counts at least what is really taken: an object's place in a table that may be half
// empty, and what the allocator keeps for itself.
const _: () = {
    assert!(2 * size_of::<Option<Object>>() as u64 + 32 <= cost::OBJECT);
    assert!(size_of::<Datum>() as u64 <= cost::FIELD);
};

/// A lock takes as much as a promise: compiled code keeps its number there, and a word for later.
const LOCK_LOCATIONS: u64 = 2;

#[derive(Clone)]
pub struct Heap {
    pub(super) objects: Vec<Option<Object>>,
    /// Places without an object, the next one to be filled last.
    pub(super) vacant: Vec<Handle>,
    next: Location,
    /// What the objects cost that are there, dead or alive.
    pub(super) used: u64,
    /// A collection comes before `used` gets past this.
    pub(super) limit: u64,
    pub(super) budget: u64,
    /// Collections only count.
    pub(super) keeps_dead: bool,
}

/// A struct, an array, or the global variables.
#[derive(Clone)]
pub struct Object {
    first: Location,
    pub allocation: AllocationId,
    /// The task that made it, and how many objects that task had made before: the same in every
    /// schedule in which the task does the same.
    pub creator: TaskId,
    pub ordinal: u32,
    sizes: Box<[u64]>,
    pub(super) storage: Storage,
}

#[derive(Clone)]
pub(super) enum Storage {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    Bytes(Vec<u8>),
    Refs(Vec<Option<Handle>>),
    /// Fields and global variables.
    Mixed(Vec<Datum>),
    Lock(LockId),
}

/// What an object is to be.
pub(crate) struct Request {
    pub allocation: AllocationId,
    pub creator: TaskId,
    pub ordinal: u32,
}

impl Heap {
    pub(crate) fn new(budget: u64) -> Heap {
        let mut heap = Heap {
            objects: Vec::new(),
            vacant: Vec::new(),
            next: Location(0),
            used: 0,
            limit: 0,
            budget,
            keeps_dead: false,
        };
        heap.pace();
        heap
    }

    /// From now on nothing is given back.
    pub(super) fn keep_dead(&mut self) {
        self.keeps_dead = true;
        self.limit = self.budget;
    }

    /// What the objects cost that are there, those included that can't be reached and are not yet
    /// given back.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The number of locations that all objects together had so far, those included that are gone.
    #[inline]
    pub fn allocated(&self) -> u64 {
        self.next.0
    }

    /// # Panics
    ///
    /// If the object is gone.
    #[inline]
    pub fn object(&self, handle: Handle) -> &Object {
        match &self.objects[handle.index()] {
            Some(object) => object,
            None => gone(handle),
        }
    }

    /// The size of a dimension of an array, 0 for null.
    pub(super) fn size_or_zero(&self, array: Option<Handle>, dimension: u32) -> i64 {
        array.map_or(0, |array| {
            self.object(array).sizes()[dimension as usize] as i64
        })
    }

    pub fn objects(&self) -> impl Iterator<Item = (Handle, &Object)> {
        let places = self.objects.iter().enumerate();
        places.filter_map(|(index, object)| Some((Handle::from_index(index), object.as_ref()?)))
    }

    /// Makes a struct or the object of globals.
    pub(crate) fn new_record(
        &mut self,
        request: Request,
        initial: impl ExactSizeIterator<Item = Const>,
        roots: impl Iterator<Item = Handle>,
    ) -> Result<Handle, TrapKind> {
        let cost = self.admit(Some(initial.len() as u64 * cost::FIELD), roots)?;
        let mut fields = Vec::new();
        self.reserve(&mut fields, initial.len(), cost)?;
        fields.extend(initial.map(Datum::from));
        self.add(request, Box::default(), Storage::Mixed(fields), cost)
    }

    /// Makes a lock with this number.
    pub(crate) fn new_lock(
        &mut self,
        request: Request,
        number: LockId,
        roots: impl Iterator<Item = Handle>,
    ) -> Result<Handle, TrapKind> {
        let cost = self.admit(Some(LOCK_LOCATIONS * cost::FIELD), roots)?;
        self.add(request, Box::default(), Storage::Lock(number), cost)
    }

    /// Makes an array with every element at its type's starting value.
    pub(crate) fn new_array(
        &mut self,
        element: Type,
        sizes: &[i64],
        request: Request,
        roots: impl Iterator<Item = Handle>,
    ) -> Result<Handle, TrapKind> {
        let mut shape = Vec::with_capacity(sizes.len());
        for &size in sizes {
            shape.push(u64::try_from(size).map_err(|_| TrapKind::NegativeSize { size })?);
        }
        let count = if shape.contains(&0) {
            Some(0)
        } else {
            shape
                .iter()
                .try_fold(1u64, |product, &size| product.checked_mul(size))
        };
        let cost = self.admit(
            count.and_then(|count| cost::elements(element, count)),
            roots,
        )?;
        // The cost is at least the count, and both fit in the budget.
        let count = count
            .and_then(|count| usize::try_from(count).ok())
            .ok_or(TrapKind::SystemMemory { request: cost })?;
        let storage = match element {
            Type::Int => Storage::Ints(self.filled(count, 0, cost)?),
            Type::Float => Storage::Floats(self.filled(count, 0.0, cost)?),
            Type::Bool => Storage::Bools(self.filled(count, false, cost)?),
            Type::Byte => Storage::Bytes(self.filled(count, 0, cost)?),
            Type::Ref => Storage::Refs(self.filled(count, None, cost)?),
        };
        self.add(request, shape.into_boxed_slice(), storage, cost)
    }

    /// What an object of that many bytes costs, if the budget allows it. What can't be reached
    /// gives way.
    #[inline]
    fn admit(
        &mut self,
        bytes: Option<u64>,
        roots: impl Iterator<Item = Handle>,
    ) -> Result<u64, TrapKind> {
        let cost = bytes.and_then(|bytes| bytes.checked_add(cost::OBJECT));
        let fits = |used: u64, limit: u64| {
            let total = cost.and_then(|cost| used.checked_add(cost));
            cost.filter(|_| total.is_some_and(|total| total <= limit))
        };
        if let Some(cost) = fits(self.used, self.limit) {
            return Ok(cost);
        }
        let live = self.collect(roots)?;
        fits(live, self.budget).ok_or(TrapKind::Memory {
            request: cost,
            used: live,
            budget: self.budget,
        })
    }

    /// The system may refuse what the budget allows: a failure of the program, not of ours.
    fn reserve<T>(&self, into: &mut Vec<T>, count: usize, cost: u64) -> Result<(), TrapKind> {
        into.try_reserve_exact(count)
            .map_err(|_| TrapKind::SystemMemory { request: cost })
    }

    fn filled<T: Clone>(&self, count: usize, with: T, cost: u64) -> Result<Vec<T>, TrapKind> {
        let mut elements = Vec::new();
        self.reserve(&mut elements, count, cost)?;
        elements.resize(count, with);
        Ok(elements)
    }

    fn add(
        &mut self,
        request: Request,
        sizes: Box<[u64]>,
        storage: Storage,
        cost: u64,
    ) -> Result<Handle, TrapKind> {
        if self.vacant.is_empty() {
            let numbered = u32::try_from(self.objects.len()).is_ok();
            if !numbered || self.objects.try_reserve(1).is_err() {
                return Err(TrapKind::SystemMemory { request: cost });
            }
        }
        let Request {
            allocation,
            creator,
            ordinal,
        } = request;
        let object = Object {
            first: self.next,
            allocation,
            creator,
            ordinal,
            sizes,
            storage,
        };
        self.next = self.next.offset(object.count());
        self.used += cost;
        let handle = self.vacant.pop().unwrap_or_else(|| {
            self.objects.push(None);
            Handle::from_index(self.objects.len() - 1)
        });
        self.objects[handle.index()] = Some(object);
        Ok(handle)
    }

    #[inline]
    pub(crate) fn store(&mut self, handle: Handle, offset: u64, value: Datum) {
        let offset = offset as usize;
        let Some(object) = &mut self.objects[handle.index()] else {
            gone(handle)
        };
        match (&mut object.storage, value) {
            (Storage::Ints(elements), Datum::Int(value)) => elements[offset] = value,
            (Storage::Floats(elements), Datum::Float(value)) => elements[offset] = value,
            (Storage::Bools(elements), Datum::Bool(value)) => elements[offset] = value,
            (Storage::Bytes(elements), Datum::Byte(value)) => elements[offset] = value,
            (Storage::Refs(elements), Datum::Ref(value)) => elements[offset] = value,
            (Storage::Mixed(fields), value) if fields[offset].ty() == value.ty() => {
                fields[offset] = value;
            }
            (_, value) => mistyped("a value of the location's type", value),
        }
    }
}

/// Only a collection that misses a root gets here.
#[cold]
fn gone(handle: Handle) -> ! {
    panic!("{handle} is gone, though something refers to it")
}

impl Object {
    #[inline]
    pub fn first(&self) -> Location {
        self.first
    }

    /// How many locations it has.
    #[inline]
    pub fn count(&self) -> u64 {
        let count = match &self.storage {
            Storage::Ints(elements) => elements.len(),
            Storage::Floats(elements) => elements.len(),
            Storage::Bools(elements) => elements.len(),
            Storage::Bytes(elements) => elements.len(),
            Storage::Refs(elements) => elements.len(),
            Storage::Mixed(fields) => fields.len(),
            Storage::Lock(_) => LOCK_LOCATIONS as usize,
        };
        count as u64
    }

    /// What the budget counts for it.
    pub(super) fn cost(&self) -> u64 {
        let a_location = match &self.storage {
            Storage::Ints(_) => Type::Int.size(),
            Storage::Floats(_) => Type::Float.size(),
            Storage::Bools(_) => Type::Bool.size(),
            Storage::Bytes(_) => Type::Byte.size(),
            Storage::Refs(_) => Type::Ref.size(),
            Storage::Mixed(_) | Storage::Lock(_) => cost::FIELD,
        };
        cost::OBJECT + self.count() * a_location
    }

    /// The sizes of an array; empty for anything else.
    #[inline]
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// What is stored at an offset below [`Object::count`].
    #[inline]
    pub fn get(&self, offset: u64) -> Datum {
        let offset = offset as usize;
        match &self.storage {
            Storage::Ints(elements) => Datum::Int(elements[offset]),
            Storage::Floats(elements) => Datum::Float(elements[offset]),
            Storage::Bools(elements) => Datum::Bool(elements[offset]),
            Storage::Bytes(elements) => Datum::Byte(elements[offset]),
            Storage::Refs(elements) => Datum::Ref(elements[offset]),
            Storage::Mixed(fields) => fields[offset],
            // Who holds it is not kept here, and its number depends on the schedule.
            Storage::Lock(_) => Datum::Int(0),
        }
    }

    /// The number of a lock.
    ///
    /// # Panics
    ///
    /// If it is something else.
    pub(super) fn lock(&self) -> LockId {
        match self.storage {
            Storage::Lock(number) => number,
            _ => panic!("the module is not verified: not a lock"),
        }
    }

    /// The offset of an element.
    #[inline]
    pub(crate) fn element(
        &self,
        indices: impl ExactSizeIterator<Item = i64>,
    ) -> Result<i64, TrapKind> {
        let sizes = self.sizes();
        assert_eq!(
            sizes.len(),
            indices.len(),
            "the module is not verified: indices of an array"
        );
        let mut offset = 0;
        for (dimension, (index, &size)) in indices.zip(sizes).enumerate() {
            match u64::try_from(index) {
                Ok(index) if index < size => offset = offset * size + index,
                _ => {
                    return Err(TrapKind::OutOfBounds {
                        index,
                        size,
                        dimension: dimension as u32,
                        dimensions: sizes.len() as u32,
                    });
                }
            }
        }
        Ok(offset as i64)
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an object of {} with {} locations from {:?}",
            self.creator,
            self.count(),
            self.first
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of the task `main`; the first objects made are reachable, so many.
    fn array(
        heap: &mut Heap,
        element: Type,
        sizes: &[i64],
        reachable: u32,
    ) -> Result<Handle, TrapKind> {
        let request = Request {
            allocation: AllocationId(0),
            creator: TaskId::MAIN,
            ordinal: 0,
        };
        heap.new_array(element, sizes, request, (0..reachable).map(Handle))
    }

    #[test]
    fn locations_are_dense_and_never_used_again() {
        let mut heap = Heap::new(2 * cost::OBJECT + 8);
        let mut first = |sizes: &[i64]| {
            let object = array(&mut heap, Type::Byte, sizes, 0).unwrap();
            let found = heap.object(object);
            (object.0, found.first().0, found.count())
        };
        // The third one finds room because nothing refers to the others.
        assert_eq!(first(&[3]), (0, 0, 3));
        assert_eq!(first(&[0]), (1, 3, 0));
        assert_eq!(first(&[2, 2]), (0, 3, 4));
        assert_eq!(first(&[1]), (1, 7, 1));
    }

    #[test]
    fn elements_are_in_row_major_order_and_bounds_hold_in_each_dimension() {
        let mut heap = Heap::new(1 << 20);
        let id = array(&mut heap, Type::Int, &[2, 3, 4], 0).unwrap();
        let at = |i, j, k| heap.object(id).element([i, j, k].into_iter());
        assert_eq!(at(0, 0, 0), Ok(0));
        assert_eq!(at(1, 2, 3), Ok(23));
        assert_eq!(at(1, 0, 2), Ok(14));
        let out = |index, size, dimension| {
            Err(TrapKind::OutOfBounds {
                index,
                size,
                dimension,
                dimensions: 3,
            })
        };
        assert_eq!(at(2, 0, 0), out(2, 2, 0));
        assert_eq!(at(0, -1, 9), out(-1, 3, 1));
        assert_eq!(at(0, 0, 4), out(4, 4, 2));
    }

    #[test]
    fn the_budget_is_exact_and_checked_first() {
        let mut heap = Heap::new(2 * cost::OBJECT + 10 * 8 + 3);
        array(&mut heap, Type::Int, &[10], 0).unwrap();
        assert_eq!(heap.used(), cost::OBJECT + 80);
        let over = array(&mut heap, Type::Byte, &[4], 1).unwrap_err();
        assert_eq!(
            over,
            TrapKind::Memory {
                request: Some(cost::OBJECT + 4),
                used: cost::OBJECT + 80,
                budget: 2 * cost::OBJECT + 83
            }
        );
        assert_eq!(heap.objects().count(), 1);
        array(&mut heap, Type::Bool, &[3], 1).unwrap();
        assert_eq!(heap.used(), 2 * cost::OBJECT + 83);
        // Where the first one can't be reached, it gives way.
        array(&mut heap, Type::Int, &[10], 0).unwrap();
        assert_eq!(heap.used(), cost::OBJECT + 80);
    }

    #[test]
    fn absurd_sizes_are_refused_and_empty_ones_are_not() {
        let mut heap = Heap::new(u64::MAX);
        for sizes in [&[i64::MAX][..], &[i64::MAX, i64::MAX], &[1 << 32, 1 << 32]] {
            for element in [Type::Int, Type::Byte] {
                let refused = array(&mut heap, element, sizes, 0);
                // By the budget, or by the system where the budget allows it.
                assert_eq!(refused.unwrap_err().word(), "memory", "{sizes:?}");
            }
        }
        assert_eq!(
            array(&mut heap, Type::Int, &[3, -1], 0).unwrap_err(),
            TrapKind::NegativeSize { size: -1 }
        );
        let empty = array(&mut heap, Type::Int, &[i64::MAX, i64::MAX, 0], 0).unwrap();
        assert_eq!(heap.object(empty).count(), 0);
        assert_eq!(heap.used(), cost::OBJECT);
    }

    #[test]
    fn every_element_type_keeps_its_values() {
        let mut heap = Heap::new(1 << 20);
        let values = [
            Datum::Int(-1),
            Datum::Float(2.5),
            Datum::Bool(true),
            Datum::Byte(9),
            Datum::Ref(Some(Handle(0))),
        ];
        for value in values {
            let id = array(&mut heap, value.ty(), &[2], 0).unwrap();
            assert_eq!(heap.object(id).get(1), Datum::from(Const::zero(value.ty())));
            heap.store(id, 1, value);
            assert_eq!(heap.object(id).get(1), value);
            assert_eq!(heap.object(id).get(0), Datum::from(Const::zero(value.ty())));
        }
    }
}
