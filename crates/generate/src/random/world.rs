//! The shared memory of a generated program: objects of a few fixed shapes, and their locations.
//!
//! Every kind of object has one shape. So an index that is in bounds for the kind is in bounds for
//! every object that may be passed as an argument. A [`Slot`] is a name for an object in the
//! current scope. The locations of the object, and those of the objects inside it, have consecutive
//! numbers. The numbers are the bits of the masks in [`rights`](super::rights).

use super::rights::ones;
use crate::shape::{Expression, Name, Statement, Struct, Type};

/// Masks have 64 bits.
pub(super) const MOST_LOCATIONS: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scalar {
    Int,
    Float,
    Bool,
    Byte,
}

impl Scalar {
    pub(super) const ALL: [Scalar; 4] = [Scalar::Int, Scalar::Float, Scalar::Bool, Scalar::Byte];

    pub(super) fn ty(self) -> Type {
        match self {
            Scalar::Int => Type::Int,
            Scalar::Float => Type::Float,
            Scalar::Bool => Type::Bool,
            Scalar::Byte => Type::Byte,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Ints,
    Floats,
    Bools,
    Bytes,
    /// `int[,]`
    Grid,
    /// `int[,,]`
    Cube,
    Node,
    /// `int[][]`
    Rows,
    /// `int[,][]`
    Pages,
    /// `Node[]`
    Nodes,
}

pub(super) const NODE: Name = Name::plain("Node");
pub(super) const NEXT: Name = Name::plain("next");
const NODE_FIELDS: [(Name, Scalar); 4] = [
    (Name::plain("x"), Scalar::Int),
    (Name::plain("w"), Scalar::Float),
    (Name::plain("on"), Scalar::Bool),
    (Name::plain("tag"), Scalar::Byte),
];

/// The struct of [`Kind::Node`]. Code that must be free of races never follows its `next`.
pub(super) fn node() -> Struct {
    let scalars = NODE_FIELDS
        .iter()
        .map(|&(name, scalar)| (name, scalar.ty()));
    Struct {
        name: NODE,
        fields: scalars.chain([(NEXT, Type::Struct(NODE))]).collect(),
    }
}

impl Kind {
    pub(super) const FLAT: [Kind; 7] = [
        Kind::Ints,
        Kind::Grid,
        Kind::Floats,
        Kind::Node,
        Kind::Bytes,
        Kind::Bools,
        Kind::Cube,
    ];
    pub(super) const NESTED: [Kind; 3] = [Kind::Rows, Kind::Nodes, Kind::Pages];

    /// The sizes of an array's dimensions. Empty for a struct.
    pub(super) fn sizes(self) -> &'static [i64] {
        match self {
            Kind::Ints | Kind::Floats | Kind::Bytes => &[4],
            Kind::Bools | Kind::Rows | Kind::Nodes => &[2],
            Kind::Pages => &[1],
            Kind::Grid => &[2, 2],
            Kind::Cube => &[2, 1, 2],
            Kind::Node => &[],
        }
    }

    /// The type of the elements of an array of scalars.
    pub(super) fn scalar(self) -> Option<Scalar> {
        match self {
            Kind::Ints | Kind::Grid | Kind::Cube => Some(Scalar::Int),
            Kind::Floats => Some(Scalar::Float),
            Kind::Bools => Some(Scalar::Bool),
            Kind::Bytes => Some(Scalar::Byte),
            Kind::Node | Kind::Rows | Kind::Pages | Kind::Nodes => None,
        }
    }

    /// The kind of object that the elements refer to.
    pub(super) fn inner(self) -> Option<Kind> {
        match self {
            Kind::Rows => Some(Kind::Ints),
            Kind::Pages => Some(Kind::Grid),
            Kind::Nodes => Some(Kind::Node),
            _ => None,
        }
    }

    fn element(self) -> Option<Type> {
        self.scalar()
            .map(Scalar::ty)
            .or_else(|| self.inner().map(Kind::ty))
    }

    pub(super) fn ty(self) -> Type {
        match self.element() {
            Some(element) => Type::array(element, self.sizes().len() as u8),
            None => Type::Struct(NODE),
        }
    }

    /// The expression that allocates one, with `null` for the objects inside.
    pub(super) fn fresh(self) -> Expression {
        match self.element() {
            Some(element) => {
                let sizes = self.sizes().iter().map(|&n| Expression::int(n));
                Expression::NewArray(element, sizes.collect())
            }
            None => Expression::NewStruct(NODE),
        }
    }

    fn elements(self) -> usize {
        self.sizes().iter().product::<i64>() as usize
    }

    /// The number of its locations, including those of the objects inside.
    pub(super) fn count(self) -> usize {
        match self.inner() {
            Some(inner) => self.elements() * (1 + inner.count()),
            None if self == Kind::Node => NODE_FIELDS.len() + 1,
            None => self.elements(),
        }
    }

    /// The statements that allocate the objects inside.
    pub(super) fn fill(self, object: &Expression, counter: Option<Name>) -> Vec<Statement> {
        let Some(inner) = self.inner() else {
            return Vec::new();
        };
        let store = |index| Statement::Assign {
            place: Expression::element(object.clone(), vec![index]),
            op: None,
            value: inner.fresh(),
        };
        match counter {
            Some(counter) => vec![Statement::For {
                parallel: false,
                counter,
                range: crate::shape::Range {
                    start: Expression::int(0),
                    end: Expression::length(object.clone(), None),
                    inclusive: false,
                    step: None,
                },
                body: vec![store(Expression::Name(counter))],
            }],
            None => (0..self.sizes()[0])
                .map(|index| store(Expression::int(index)))
                .collect(),
        }
    }
}

/// How to write a location. It becomes an expression only when it is used.
#[derive(Clone, Copy, Debug)]
enum Written {
    Global(Name),
    /// An element of the object of a slot, by its number in row-major order.
    Element(usize, i64),
    Field(usize, Name),
    /// The element that a counter selects.
    Chosen(usize, Name),
}

/// One shared location, or the element that a loop's counter selects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    place: Written,
    /// None for a reference.
    pub scalar: Option<Scalar>,
    /// The locations that are read on the way there.
    pub path: u64,
    /// The locations that an access may touch: the location itself, or for `a[i]` any element of
    /// `a`.
    pub covers: u64,
}

/// A name for an object, or the location that refers to it. The object's locations are `first ..
/// first + count`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    object: Object,
    pub kind: Kind,
    pub first: usize,
    pub path: u64,
}

#[derive(Clone, Copy, Debug)]
enum Object {
    Named(Name),
    At(usize),
}

impl Slot {
    pub(super) fn mask(&self) -> u64 {
        ones(self.kind.count()) << self.first
    }

    /// Whether the location with this number holds the reference to the object.
    pub(super) fn is_at(&self, location: usize) -> bool {
        matches!(self.object, Object::At(number) if number == location)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub locations: Vec<Location>,
    pub slots: Vec<Slot>,
}

impl World {
    pub(super) fn has_room_for(&self, count: usize) -> bool {
        self.locations.len() + count <= MOST_LOCATIONS
    }

    fn add_location(&mut self, place: Written, scalar: Option<Scalar>, path: u64) -> u64 {
        let bit = 1 << self.locations.len();
        self.locations.push(Location {
            place,
            scalar,
            path,
            covers: bit,
        });
        bit
    }

    pub(super) fn add_global(&mut self, name: Name, scalar: Scalar) -> u64 {
        self.add_location(Written::Global(name), Some(scalar), 0)
    }

    /// Adds a global that refers to an object. There must be room.
    pub(super) fn add_global_object(&mut self, name: Name, kind: Kind) {
        let number = self.locations.len();
        let bit = self.add_location(Written::Global(name), None, 0);
        self.add_slot(Object::At(number), kind, bit);
    }

    /// Adds a local name for an object. There must be room.
    pub(super) fn add_object(&mut self, name: Name, kind: Kind) {
        self.add_slot(Object::Named(name), kind, 0);
    }

    /// Adds the element of an array that a counter selects.
    pub(super) fn add_chosen(&mut self, slot: usize, counter: Name) -> u64 {
        let Slot { kind, path, .. } = self.slots[slot];
        let bit = self.add_location(Written::Chosen(slot, counter), kind.scalar(), path);
        let covers = self.slots[slot].mask();
        if let Some(location) = self.locations.last_mut() {
            location.covers = covers;
        }
        bit
    }

    /// Adds the locations of an object and the objects inside.
    fn add_slot(&mut self, object: Object, kind: Kind, path: u64) {
        let slot = self.slots.len();
        self.slots.push(Slot {
            object,
            kind,
            first: self.locations.len(),
            path,
        });
        if kind == Kind::Node {
            for (field, scalar) in NODE_FIELDS {
                self.add_location(Written::Field(slot, field), Some(scalar), path);
            }
            self.add_location(Written::Field(slot, NEXT), None, path);
            return;
        }
        for element in 0..kind.elements() as i64 {
            let number = self.locations.len();
            let bit = self.add_location(Written::Element(slot, element), kind.scalar(), path);
            if let Some(inner) = kind.inner() {
                self.add_slot(Object::At(number), inner, path | bit);
            }
        }
    }

    pub(super) fn place(&self, location: usize) -> Expression {
        match self.locations[location].place {
            Written::Global(name) => Expression::Name(name),
            Written::Field(slot, field) => Expression::field(self.object(&self.slots[slot]), field),
            Written::Chosen(slot, counter) => {
                let object = self.object(&self.slots[slot]);
                Expression::element(object, vec![Expression::Name(counter)])
            }
            Written::Element(slot, number) => {
                let slot = &self.slots[slot];
                let mut after = slot.kind.elements() as i64;
                let indices = slot.kind.sizes().iter().map(|size| {
                    after /= size;
                    Expression::int(number / after % size)
                });
                let indices = indices.collect();
                Expression::element(self.object(slot), indices)
            }
        }
    }

    /// The expression for the object of a slot.
    pub(super) fn object(&self, slot: &Slot) -> Expression {
        match slot.object {
            Object::Named(name) => Expression::Name(name),
            Object::At(location) => self.place(location),
        }
    }

    /// The locations of one type. None means references.
    pub(super) fn of_type(&self, scalar: Option<Scalar>) -> u64 {
        self.locations
            .iter()
            .enumerate()
            .filter(|(_, location)| location.scalar == scalar)
            .fold(0, |mask, (index, _)| mask | 1 << index)
    }

    pub(super) fn all(&self) -> u64 {
        ones(self.locations.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_as_many_locations_as_its_kind_says() {
        for kind in Kind::FLAT.into_iter().chain(Kind::NESTED) {
            let mut world = World::default();
            world.add_object(Name::plain("a"), kind);
            assert_eq!(world.locations.len(), kind.count(), "{kind:?}");
            for slot in &world.slots {
                assert_eq!(slot.mask() & !world.all(), 0, "{kind:?}");
            }
        }
    }

    #[test]
    fn the_path_to_an_inner_element_is_the_reference_before_it() {
        let mut world = World::default();
        world.add_object(Name::plain("a"), Kind::Rows);
        // a[0], a[0][0..4], a[1], a[1][0..4]
        let paths: Vec<u64> = world.locations.iter().map(|l| l.path).collect();
        assert_eq!(paths, [0, 1, 1, 1, 1, 0, 32, 32, 32, 32]);
    }

    #[test]
    fn places_are_written_as_their_numbers_say() {
        let mut world = World::default();
        world.add_object(Name::plain("m"), Kind::Cube);
        world.add_object(Name::plain("p"), Kind::Pages);
        let int = Expression::int;
        let name = |stem| Expression::Name(Name::plain(stem));
        assert_eq!(
            world.place(2),
            Expression::element(name("m"), vec![int(1), int(0), int(0)])
        );
        let page = Expression::element(name("p"), vec![int(0)]);
        assert_eq!(world.place(4), page);
        assert_eq!(
            world.place(6),
            Expression::element(page, vec![int(0), int(1)])
        );
    }
}
