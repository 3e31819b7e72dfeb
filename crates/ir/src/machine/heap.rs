//! Objects and their locations.
//!
//! Every object owns a range of consecutive locations from a counter that only grows, so objects are ordered by their
//! locations and a location leads back to its object by binary search. Nothing is ever freed: a location means one thing for
//! the whole run. Arrays keep their elements flat and typed, in row-major order.
//!
//! The budget counts objects as [`cost`] says. It is checked before anything is allocated, and sizes that overflow exceed it
//! by definition.

use super::datum::{Datum, mistyped};
use super::trap::TrapKind;
use crate::cost;
use crate::module::{Const, Type};
use finishline_model::{AllocationId, Location, ObjectId, TaskId};
use std::fmt;

// The budget counts at least what is really taken: an object's place in a table that may be half empty, and what the
// allocator keeps for itself.
const _: () = {
    assert!(2 * size_of::<Object>() as u64 + 32 <= cost::OBJECT);
    assert!(size_of::<Datum>() as u64 <= cost::FIELD);
};

#[derive(Clone)]
pub struct Heap {
    objects: Vec<Object>,
    next: Location,
    used: u64,
    budget: u64,
}

/// A struct, an array, or the global variables.
#[derive(Clone)]
pub struct Object {
    first: Location,
    pub allocation: AllocationId,
    /// The task that made it, and how many objects that task had made before: the same in every schedule
    /// in which the task does the same.
    pub creator: TaskId,
    pub ordinal: u32,
    sizes: Box<[u64]>,
    storage: Storage,
}

#[derive(Clone)]
enum Storage {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
    Bytes(Vec<u8>),
    Refs(Vec<Option<ObjectId>>),
    /// Fields and global variables.
    Mixed(Vec<Datum>),
}

/// What an object is to be.
pub(crate) struct Request {
    pub allocation: AllocationId,
    pub creator: TaskId,
    pub ordinal: u32,
}

impl Heap {
    pub(crate) fn new(budget: u64) -> Heap {
        Heap {
            objects: Vec::new(),
            next: Location(0),
            used: 0,
            budget,
        }
    }

    /// Bytes in use, as the budget counts them.
    pub fn used(&self) -> u64 {
        self.used
    }

    pub fn len(&self) -> usize {
        self.objects.len()
    }

    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// How many locations there are; they are numbered from 0.
    pub fn locations(&self) -> u64 {
        self.next.0
    }

    #[inline]
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.index()]
    }

    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, &Object)> {
        self.objects
            .iter()
            .enumerate()
            .map(|(index, object)| (ObjectId::from_index(index), object))
    }

    /// The object a location belongs to, and its offset there.
    pub fn locate(&self, location: Location) -> Option<(ObjectId, u64)> {
        // Of objects that begin at one location all but the last are empty.
        let index = self
            .objects
            .partition_point(|o| o.first <= location)
            .checked_sub(1)?;
        let offset = location.0 - self.objects[index].first.0;
        (offset < self.objects[index].count()).then(|| (ObjectId::from_index(index), offset))
    }

    /// Makes a struct or the object of globals.
    pub(crate) fn new_record(
        &mut self,
        request: Request,
        initial: impl ExactSizeIterator<Item = Const> + Clone,
    ) -> Result<ObjectId, TrapKind> {
        let cost = self.admit(Some(initial.len() as u64 * cost::FIELD))?;
        let mut fields = Vec::new();
        self.reserve(&mut fields, initial.len(), cost)?;
        fields.extend(initial.map(Datum::from));
        self.add(request, Box::default(), Storage::Mixed(fields), cost)
    }

    /// Makes an array with every element at its type's starting value.
    pub(crate) fn new_array(
        &mut self,
        element: Type,
        sizes: &[i64],
        request: Request,
    ) -> Result<ObjectId, TrapKind> {
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
        let cost = self.admit(count.and_then(|count| cost::elements(element, count)))?;
        // The cost is at least the count, and both fit in the budget.
        let count = count
            .and_then(|count| usize::try_from(count).ok())
            .ok_or(self.over(None))?;
        let storage = match element {
            Type::Int => Storage::Ints(self.filled(count, 0, cost)?),
            Type::Float => Storage::Floats(self.filled(count, 0.0, cost)?),
            Type::Bool => Storage::Bools(self.filled(count, false, cost)?),
            Type::Byte => Storage::Bytes(self.filled(count, 0, cost)?),
            Type::Ref => Storage::Refs(self.filled(count, None, cost)?),
        };
        self.add(request, shape.into_boxed_slice(), storage, cost)
    }

    /// What an object of that many bytes costs, if the budget allows it.
    fn admit(&self, bytes: Option<u64>) -> Result<u64, TrapKind> {
        let cost = bytes
            .and_then(|bytes| bytes.checked_add(cost::OBJECT))
            .ok_or(self.over(None))?;
        match self.used.checked_add(cost) {
            Some(total) if total <= self.budget => Ok(cost),
            _ => Err(self.over(Some(cost))),
        }
    }

    fn over(&self, request: Option<u64>) -> TrapKind {
        TrapKind::Memory {
            request,
            used: self.used,
            budget: self.budget,
        }
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
    ) -> Result<ObjectId, TrapKind> {
        let index = u32::try_from(self.objects.len()).map_err(|_| self.over(Some(cost)))?;
        if self.objects.try_reserve(1).is_err() {
            return Err(TrapKind::SystemMemory { request: cost });
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
        self.objects.push(object);
        Ok(ObjectId(index))
    }

    #[inline]
    pub(crate) fn store(&mut self, id: ObjectId, offset: u64, value: Datum) {
        let offset = offset as usize;
        match (&mut self.objects[id.index()].storage, value) {
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
        };
        count as u64
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

    const REQUEST: Request = Request {
        allocation: AllocationId(0),
        creator: TaskId::MAIN,
        ordinal: 0,
    };

    #[test]
    fn locations_are_dense_and_lead_back() {
        let mut heap = Heap::new(1 << 20);
        let a = heap.new_array(Type::Int, &[3], REQUEST).unwrap();
        let empty = heap.new_array(Type::Float, &[0], REQUEST).unwrap();
        let b = heap.new_array(Type::Byte, &[2, 2], REQUEST).unwrap();
        assert_eq!(heap.locations(), 7);
        let found: Vec<_> = (0..8).map(|l| heap.locate(Location(l))).collect();
        let (a, b) = (|o| Some((a, o)), |o| Some((b, o)));
        assert_eq!(found, [a(0), a(1), a(2), b(0), b(1), b(2), b(3), None]);
        assert_eq!(heap.object(empty).count(), 0);
    }

    #[test]
    fn elements_are_in_row_major_order_and_bounds_hold_in_each_dimension() {
        let mut heap = Heap::new(1 << 20);
        let id = heap.new_array(Type::Int, &[2, 3, 4], REQUEST).unwrap();
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
        heap.new_array(Type::Int, &[10], REQUEST).unwrap();
        assert_eq!(heap.used(), cost::OBJECT + 80);
        let over = heap.new_array(Type::Byte, &[4], REQUEST).unwrap_err();
        assert_eq!(
            over,
            TrapKind::Memory {
                request: Some(cost::OBJECT + 4),
                used: cost::OBJECT + 80,
                budget: 2 * cost::OBJECT + 83
            }
        );
        assert_eq!(heap.len(), 1);
        heap.new_array(Type::Bool, &[3], REQUEST).unwrap();
        assert_eq!(heap.used(), 2 * cost::OBJECT + 83);
    }

    #[test]
    fn absurd_sizes_are_refused_and_empty_ones_are_not() {
        let mut heap = Heap::new(u64::MAX);
        for sizes in [&[i64::MAX][..], &[i64::MAX, i64::MAX], &[1 << 32, 1 << 32]] {
            for element in [Type::Int, Type::Byte] {
                let refused = heap.new_array(element, sizes, REQUEST);
                // By the budget, or by the system where the budget allows it.
                assert_eq!(refused.unwrap_err().word(), "memory", "{sizes:?}");
            }
        }
        assert_eq!(
            heap.new_array(Type::Int, &[3, -1], REQUEST).unwrap_err(),
            TrapKind::NegativeSize { size: -1 }
        );
        let empty = heap
            .new_array(Type::Int, &[i64::MAX, i64::MAX, 0], REQUEST)
            .unwrap();
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
            Datum::Ref(Some(ObjectId(0))),
        ];
        for value in values {
            let id = heap.new_array(value.ty(), &[2], REQUEST).unwrap();
            assert_eq!(heap.object(id).get(1), Datum::from(Const::zero(value.ty())));
            heap.store(id, 1, value);
            assert_eq!(heap.object(id).get(1), value);
            assert_eq!(heap.object(id).get(0), Datum::from(Const::zero(value.ty())));
        }
    }
}
