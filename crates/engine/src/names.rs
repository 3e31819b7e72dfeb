//! What the user calls things: locations, places in the source, tasks.
//!
//! An object has the name of what it was first bound to, `B`; the second object of that name is `B#2`. So a name stands
//! for one location of a run, and of every run with the same input.

use finishline_ir::machine::{Datum, Machine, Shape};
use finishline_ir::{Module, Type};
use finishline_model::source::SourceMap;
use finishline_model::summary::Place;
use finishline_model::{Location, ObjectId, SiteId};
use rustc_hash::FxHashMap;

/// The names of one run's objects.
pub(crate) struct Names<'a, 'm> {
    machine: &'a Machine<'m>,
    /// How many objects of the same name came before, by object.
    earlier: Vec<u32>,
}

impl<'a, 'm> Names<'a, 'm> {
    pub(crate) fn new(machine: &'a Machine<'m>) -> Self {
        let source = &machine.module().source;
        let mut counts: FxHashMap<&str, u32> = FxHashMap::default();
        let objects = machine.heap().objects();
        let earlier = objects
            .map(|(_, object)| {
                let count = counts
                    .entry(&source.allocation(object.allocation).name)
                    .or_default();
                *count += 1;
                *count - 1
            })
            .collect();
        Names { machine, earlier }
    }

    fn module(&self) -> &'m Module {
        self.machine.module()
    }

    pub(crate) fn source(&self) -> &'m SourceMap {
        &self.module().source
    }

    /// `B[3]`, `p.x`, `total`.
    pub(crate) fn location(&self, location: Location) -> String {
        match self.machine.heap().locate(location) {
            Some((object, offset)) => self.part(object, offset),
            None => format!("{location:?}"),
        }
    }

    /// What the location is a part of: `B` of `B[3]`, `p` of `p.x`. A global variable is its own.
    pub(crate) fn owner(&self, location: Location) -> Option<String> {
        let (id, _) = self.machine.heap().locate(location)?;
        (id != ObjectId::GLOBALS).then(|| self.object(id))
    }

    /// `B`, or `B#2`.
    fn object(&self, id: ObjectId) -> String {
        let name = &self
            .module()
            .source
            .allocation(self.machine.heap().object(id).allocation)
            .name;
        match self.earlier[id.index()] {
            0 => name.clone(),
            earlier => format!("{name}#{}", earlier + 1),
        }
    }

    fn part(&self, id: ObjectId, offset: u64) -> String {
        match &self.machine.heap().object(id).shape {
            Shape::Globals => self.module().globals[offset as usize].name.clone(),
            Shape::Struct(layout) => {
                let field = &self.module().structs[layout.index()].fields[offset as usize].0;
                format!("{}.{field}", self.object(id))
            }
            Shape::Array(sizes) => {
                let mut rest = offset;
                let mut indices: Vec<String> = sizes
                    .iter()
                    .rev()
                    .map(|size| {
                        let index = rest % size;
                        rest /= size;
                        index.to_string()
                    })
                    .collect();
                indices.reverse();
                format!("{}[{}]", self.object(id), indices.join(", "))
            }
        }
    }

    /// The location of this name.
    pub(crate) fn find(&self, name: &str) -> Option<Location> {
        let name: String = name.chars().filter(|c| !c.is_whitespace()).collect();
        let heap = self.machine.heap();
        heap.objects().find_map(|(id, object)| {
            let owner = match object.shape {
                Shape::Globals => String::new(),
                _ => self.object(id),
            };
            if !name.starts_with(&owner) {
                return None;
            }
            let parts = (0..object.count()).map(|offset| object.first().offset(offset));
            let matches = |at: &Location| {
                let found = self.location(*at);
                found
                    .chars()
                    .filter(|c| !c.is_whitespace())
                    .eq(name.chars())
            };
            match &object.shape {
                // The element is computed: an array may have very many.
                Shape::Array(sizes) => {
                    element(sizes, name.strip_prefix(&owner)?).map(|at| object.first().offset(at))
                }
                Shape::Globals | Shape::Struct(_) => parts.into_iter().find(matches),
            }
        })
    }

    /// Where an object was allocated; the globals are not.
    pub(crate) fn allocated(&self, location: Location) -> Option<Place> {
        let (id, _) = self.machine.heap().locate(location)?;
        let object = self.machine.heap().object(id);
        let source = &self.module().source;
        (id != ObjectId::GLOBALS).then(|| place(source, source.allocation(object.allocation).site))
    }
}

/// The offset that `[i,j]` names in an array of these sizes.
fn element(sizes: &[u64], suffix: &str) -> Option<u64> {
    let inner = suffix.strip_prefix('[')?.strip_suffix(']')?;
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

pub(crate) fn place(source: &SourceMap, site: SiteId) -> Place {
    let found = source.site(site);
    Place {
        file: source.path.clone(),
        line: found.line,
        column: found.column,
        text: source.snippet(site),
    }
}

/// Captured values that tell tasks apart: numbers with a name.
pub(crate) fn shown_captures(captures: Vec<(&str, Datum)>) -> Vec<(String, String)> {
    captures
        .into_iter()
        .filter(|(name, value)| !name.is_empty() && value.ty() != Type::Ref)
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect()
}
