//! The user's names for locations, places in the source and captured values.
//!
//! An object is named after what it was first bound to, such as `B`. The second object of that name
//! is `B#2`. So a name stands for one location in every run with the same input.
//!
//! Objects are counted as a run reports them. Only objects with a location to be named are
//! remembered. The location is given from the start, or searched by its name. Memory is
//! proportional to these objects and to the distinct names of the source. An allocation costs one
//! binary search.

use finishline_answer::{Location as Told, Place};
use finishline_ir::listener::{Allocated, Shape};
use finishline_ir::machine::Datum;
use finishline_ir::{Function, Module, Type};
use finishline_model::source::SourceMap;
use finishline_model::{AllocationId, Location, LockId, SiteId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The names of some locations of a run.
pub(crate) struct Names<'m> {
    module: &'m Module,
    /// The locations to be named, in ascending order.
    wanted: Vec<Location>,
    searched: Option<Search>,
    counts: Counts,
    /// The locks to be named, and where those are that have been made; and how many have been.
    wanted_locks: FxHashMap<LockId, Option<Location>>,
    locks_made: usize,
    /// The latest array. The locks that follow may be its elements.
    latest_array: Option<LockArray>,
    /// The objects with a location to be named, by their first location.
    objects: BTreeMap<Location, Object>,
}

/// An array, and how many locks were made since.
#[derive(Clone)]
struct LockArray {
    allocation: AllocationId,
    earlier: u64,
    sizes: Box<[u64]>,
    locks: u64,
}

/// An object that has a location to be named.
struct Object {
    allocation: AllocationId,
    /// The number of earlier objects with the same name.
    earlier: u64,
    count: u64,
    shape: Shape<Box<[u64]>>,
    /// Of a lock: the array that it is an element of.
    element_of: Option<LockArray>,
}

impl<'m> Names<'m> {
    /// Prepares to hear of a run's objects.
    pub(crate) fn new(module: &'m Module, wanted: &[Location], searched: Option<&str>) -> Self {
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        Names {
            module,
            wanted,
            searched: searched.map(|name| Search::new(name, &module.source)),
            counts: Counts::new(&module.source),
            wanted_locks: FxHashMap::default(),
            locks_made: 0,
            latest_array: None,
            objects: BTreeMap::new(),
        }
    }

    /// Names these locks, too.
    pub(crate) fn want_locks(&mut self, locks: impl Iterator<Item = LockId>) {
        self.wanted_locks.extend(locks.map(|lock| (lock, None)));
    }

    /// The location of a lock that is to be named.
    pub(crate) fn lock(&self, lock: LockId) -> Option<Location> {
        self.wanted_locks.get(&lock).copied().flatten()
    }

    /// Counts a new object, and remembers it if one of its locations is to be named.
    pub(crate) fn allocated(&mut self, object: &Allocated<'_>) {
        let count = self.counts.of(object.allocation);
        let earlier = object.earlier.unwrap_or(*count);
        *count = earlier + 1;
        let Allocated {
            allocation,
            first,
            count,
            shape,
            ..
        } = *object;
        let next = self.wanted.partition_point(|wanted| *wanted < first);
        let wanted = self.wanted.get(next).copied();
        let element_of = self.element_of(object, earlier);
        let mut is_wanted = wanted.is_some_and(|wanted| wanted < first.offset(count));
        if shape == Shape::Lock {
            let lock = LockId::from_index(self.locks_made);
            self.locks_made += 1;
            if let Some(place) = self.wanted_locks.get_mut(&lock) {
                *place = Some(first);
                is_wanted = true;
            }
        }
        let searched = self.searched.as_mut();
        let is_searched = searched.is_some_and(|search| search.finds(self.module, object, earlier));
        if is_wanted || is_searched {
            let shape = shape.kept();
            let object = Object {
                allocation,
                earlier,
                count,
                shape,
                element_of,
            };
            self.objects.insert(first, object);
        }
    }

    /// Notes an array, or finds the array that a new lock is an element of. The locks of an array
    /// are made right after it, and their allocation follows that of the array.
    fn element_of(&mut self, object: &Allocated<'_>, earlier: u64) -> Option<LockArray> {
        match object.shape {
            Shape::Array(sizes) => {
                self.latest_array = Some(LockArray {
                    allocation: object.allocation,
                    earlier,
                    sizes: sizes.into(),
                    locks: 0,
                });
                None
            }
            Shape::Lock => {
                let array = self.latest_array.as_mut()?;
                let is_element = array.allocation.0 + 1 == object.allocation.0;
                array.locks += 1;
                is_element.then(|| array.clone())
            }
            _ => None,
        }
    }

    /// Adds the names of more locations, found in another run.
    pub(crate) fn add(&mut self, more: Names) {
        self.objects.extend(more.objects);
    }

    /// The location with the searched name, if its object has been created.
    pub(crate) fn found(&self) -> Option<Location> {
        self.searched.as_ref()?.found
    }

    pub(crate) fn source(&self) -> &'m SourceMap {
        &self.module.source
    }

    /// The object that contains a location, and the location's offset in it.
    fn locate(&self, location: Location) -> Option<(&Object, u64)> {
        let (first, object) = self.objects.range(..=location).next_back()?;
        let offset = location.0 - first.0;
        (offset < object.count).then_some((object, offset))
    }

    /// `B[3]`, `p.x`, `total`, a promise `p`, a lock `m`.
    pub(crate) fn location(&self, location: Location) -> Told {
        let Some((object, offset)) = self.locate(location) else {
            return Told::Unnamed(format!("{location:?}"));
        };
        match &object.shape {
            Shape::Globals => Told::Global(self.module.globals[offset as usize].name.clone()),
            Shape::Struct(layout) => Told::Field {
                object: self.object(object),
                field: self.module.structs[layout.index()].fields[offset as usize]
                    .0
                    .clone(),
            },
            Shape::Promise => Told::Promise(self.object(object)),
            Shape::Lock => Told::Lock(self.object(object)),
            Shape::Array(sizes) => Told::Element {
                object: self.object(object),
                indices: indices(sizes, offset),
            },
        }
    }

    /// `B`, or `B#2`; of a lock in an array, `locks[3]`.
    fn object(&self, object: &Object) -> String {
        let named = |allocation, earlier| {
            let name = &self.source().allocation(allocation).name;
            match earlier {
                0 => name.clone(),
                earlier => format!("{name}#{}", earlier + 1),
            }
        };
        match &object.element_of {
            Some(array) => {
                let indices = indices(&array.sizes, array.locks - 1);
                let array = named(array.allocation, array.earlier);
                format!("{array}[{}]", indices.join(", "))
            }
            None => named(object.allocation, object.earlier),
        }
    }

    /// The object that contains a location. None for globals.
    fn owning(&self, location: Location) -> Option<&Object> {
        let (object, _) = self.locate(location)?;
        (object.shape != Shape::Globals).then_some(object)
    }

    /// Where the object of a location was allocated. None for globals.
    pub(crate) fn allocated_at(&self, location: Location) -> Option<Place> {
        let object = self.owning(location)?;
        let site = self.source().allocation(object.allocation).site;
        Some(place(self.source(), site))
    }
}

/// The numbers of objects that have had the same name so far.
pub(crate) struct Counts {
    /// The index of each allocation's name, by allocation of the source.
    numbers: Vec<usize>,
    /// By index of the name.
    counts: Vec<u64>,
}

impl Counts {
    pub(crate) fn new(source: &SourceMap) -> Counts {
        let mut distinct: FxHashMap<&str, usize> = FxHashMap::default();
        let allocations = source.allocations.iter();
        let numbers = allocations
            .map(|allocation| {
                let next = distinct.len();
                *distinct.entry(&allocation.name).or_insert(next)
            })
            .collect();
        Counts {
            numbers,
            counts: vec![0; distinct.len()],
        }
    }

    /// How many objects have had the name of this allocation.
    #[inline]
    pub(crate) fn of(&mut self, allocation: AllocationId) -> &mut u64 {
        &mut self.counts[self.numbers[allocation.index()]]
    }
}

/// A location searched by its name.
struct Search {
    /// The name without white space.
    name: String,
    /// By allocation of the source, the rest of the name after the allocation's name, if it fits.
    rests: Vec<Option<Rest>>,
    found: Option<Location>,
}

/// The part after an object's name. For `B#2[3]`: one earlier object, and `[3]`.
#[derive(Clone)]
struct Rest {
    earlier: u64,
    part: String,
}

impl Search {
    fn new(name: &str, source: &SourceMap) -> Search {
        let name = without_space(name);
        let allocations = source.allocations.iter();
        let rests = allocations
            .map(|allocation| Rest::new(name.strip_prefix(&without_space(&allocation.name))?))
            .collect();
        Search {
            name,
            rests,
            found: None,
        }
    }

    /// Whether this is the first object with a location of the searched name. `earlier` objects had
    /// the same name before.
    fn finds(&mut self, module: &Module, object: &Allocated<'_>, earlier: u64) -> bool {
        if self.found.is_some() {
            return false;
        }
        let offset = match object.shape {
            Shape::Globals => position(module.globals.iter().map(|g| &g.name), &self.name),
            Shape::Struct(layout) => self.part(object, earlier).and_then(|part| {
                let fields = &module.structs[layout.index()].fields;
                position(fields.iter().map(|(name, _)| name), part.strip_prefix('.')?)
            }),
            Shape::Promise | Shape::Lock => {
                let part = self.part(object, earlier);
                part.filter(|part| part.is_empty()).map(|_| 0)
            }
            Shape::Array(sizes) => {
                let part = self.part(object, earlier);
                part.and_then(|part| element(sizes, part))
            }
        };
        self.found = offset.map(|offset| object.first.offset(offset));
        self.found.is_some()
    }

    /// The part of the searched name after the name of this object.
    fn part(&self, object: &Allocated<'_>, earlier: u64) -> Option<&str> {
        let rest = self.rests[object.allocation.index()].as_ref()?;
        (rest.earlier == earlier).then_some(&rest.part)
    }
}

impl Rest {
    /// Reads the part after the name of an allocation.
    fn new(rest: &str) -> Option<Rest> {
        let Some(numbered) = rest.strip_prefix('#') else {
            let part = rest.to_owned();
            return Some(Rest { earlier: 0, part });
        };
        let end = numbered.find(|c: char| !c.is_ascii_digit());
        let end = end.unwrap_or(numbered.len());
        let (number, part) = numbered.split_at(end);
        let earlier = number.parse::<u64>().ok()?.checked_sub(1)?;
        // Numbers have the form that reports use. The first object is `B`, not `B#1`.
        (earlier > 0 && !number.starts_with('0')).then(|| Rest {
            earlier,
            part: part.to_owned(),
        })
    }
}

/// The indices of an element of an array of these sizes.
fn indices(sizes: &[u64], offset: u64) -> Vec<String> {
    let mut rest = offset;
    let mut indices: Vec<String> = (sizes.iter().rev())
        .map(|size| {
            let index = rest % size;
            rest /= size;
            index.to_string()
        })
        .collect();
    indices.reverse();
    indices
}

fn position<'n>(mut names: impl Iterator<Item = &'n String>, name: &str) -> Option<u64> {
    names.position(|n| n == name).map(|index| index as u64)
}

/// The offset that `[i,j]` names in an array of these sizes.
fn element(sizes: &[u64], part: &str) -> Option<u64> {
    let inner = part.strip_prefix('[')?.strip_suffix(']')?;
    let indices: Vec<u64> = inner
        .split(',')
        .map(|index| index.parse().ok())
        .collect::<Option<_>>()?;
    if indices.len() != sizes.len() {
        return None;
    }
    indices
        .iter()
        .zip(sizes)
        .try_fold(0, |offset, (index, size)| {
            (index < size).then(|| offset * size + index)
        })
}

pub(crate) fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

pub(crate) fn place(source: &SourceMap, site: SiteId) -> Place {
    let found = source.site(site);
    Place {
        file: source.path.clone(),
        line: found.line,
        column: found.column,
        width: source.width(site),
        text: source.snippet(site),
    }
}

/// The captured values that reports show for a task of this function: named numbers, which tell
/// tasks apart.
pub(crate) fn shown_captures(function: &Function, values: &[Datum]) -> Vec<(String, String)> {
    let captures = function.parameters.iter().zip(values);
    captures
        .filter(|(name, value)| !name.is_empty() && value.ty() != Type::Ref)
        .map(|(name, value)| (name.clone(), value.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use finishline_ir::{Const, FunctionId, Global, StructId, StructLayout};
    use finishline_model::source::AllocationInfo;

    /// Globals `n` and `total`, a struct with the fields `x` and `y`, and allocations called `B`,
    /// `p`, and `B` again.
    fn module() -> Module {
        let allocation = |name: &&str| AllocationInfo {
            site: SiteId(0),
            name: (*name).to_owned(),
        };
        let global = |name: &str| Global {
            name: name.to_owned(),
            initial: Const::Int(0),
        };
        let field = |name: &str| (name.to_owned(), Type::Int);
        Module {
            source: SourceMap {
                allocations: ["globals", "B", "p", "B"].iter().map(allocation).collect(),
                ..SourceMap::default()
            },
            structs: vec![StructLayout {
                name: "Pair".to_owned(),
                fields: vec![field("x"), field("y")],
            }],
            globals: vec![global("n"), global("total")],
            functions: Vec::new(),
            main: FunctionId(0),
            constructs: Vec::new(),
            unchecked: BTreeMap::new(),
        }
    }

    const PAIR: Shape<&[u64]> = Shape::Struct(StructId(0));

    /// Reports the globals and then these objects, in order.
    fn tell(names: &mut Names, objects: &[(u32, Shape<&[u64]>)]) {
        let mut next = Location(0);
        for (allocation, shape) in [(0, Shape::Globals)].iter().chain(objects) {
            let count = match shape {
                Shape::Globals | Shape::Struct(_) | Shape::Promise | Shape::Lock => 2,
                Shape::Array(sizes) => sizes.iter().product(),
            };
            names.allocated(&Allocated {
                allocation: AllocationId(*allocation),
                first: next,
                count,
                shape: *shape,
                earlier: None,
            });
            next = next.offset(count);
        }
    }

    /// Locations 2 to 7 are `B`, 8 and 9 are `p`. Then comes an empty `B`. 10 to 13 are the third
    /// `B`, 14 and 15 are `p#2`.
    const OBJECTS: [(u32, Shape<&[u64]>); 5] = [
        (1, Shape::Array(&[2, 3])),
        (2, PAIR),
        (3, Shape::Array(&[0])),
        (1, Shape::Array(&[4])),
        (2, PAIR),
    ];

    #[test]
    fn objects_of_one_name_are_numbered_in_the_order_they_were_made() {
        let module = module();
        let wanted = [15, 1, 2, 7, 8, 10, 13].map(Location);
        let mut names = Names::new(&module, &wanted, None);
        tell(&mut names, &OBJECTS);
        let told = wanted.map(|location| names.location(location));
        let found = told.each_ref().map(ToString::to_string);
        let expected = [
            "p#2.y", "total", "B[0, 0]", "B[1, 2]", "p.x", "B#3[0]", "B#3[3]",
        ];
        assert_eq!(found, expected);
        let owners = told.each_ref().map(Told::object);
        let expected = [
            Some("p#2"),
            None,
            Some("B"),
            Some("B"),
            Some("p"),
            Some("B#3"),
            Some("B#3"),
        ];
        assert_eq!(owners, expected);
    }

    #[test]
    fn only_objects_with_a_location_to_be_named_are_remembered() {
        let module = module();
        let mut names = Names::new(&module, &[Location(9), Location(100)], Some("B#3[1]"));
        tell(&mut names, &OBJECTS);
        let first: Vec<u64> = names.objects.keys().map(|first| first.0).collect();
        assert_eq!(first, [8, 10]);
        assert_eq!(names.location(Location(14)).to_string(), "loc14");
    }

    #[test]
    fn a_name_leads_to_its_location() {
        let module = module();
        let find = |name: &str| {
            let mut names = Names::new(&module, &[], Some(name));
            tell(&mut names, &OBJECTS);
            let found = names.found()?;
            // As written there, except for white space.
            assert_eq!(
                without_space(&names.location(found).to_string()),
                without_space(name)
            );
            Some(found.0)
        };
        for (name, location) in [
            ("n", 0),
            ("total", 1),
            ("B[0,0]", 2),
            ("B[ 1, 2 ]", 7),
            ("p.x", 8),
            ("B#3[3]", 13),
            ("p#2.y", 15),
        ] {
            assert_eq!(find(name), Some(location), "{name}");
        }
        for name in [
            "",
            "x",
            "globals",
            "globals.n",
            "B",
            "B[2,0]",
            "B[0]",
            "B[0,3]",
            "B[0,0",
            "B[0,0]x",
            "B#1[0,0]",
            "B#03[3]",
            "B#2[0]",
            "B#3[4]",
            "B#4[0]",
            "B#",
            "B#3",
            "p",
            "p.",
            "p.z",
            "p.x.x",
            "p#3.x",
            "pp.x",
            "B#99999999999999999999[0]",
        ] {
            assert_eq!(find(name), None, "{name}");
        }
    }
}
