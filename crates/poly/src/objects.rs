//! Which locations an access touches: references are followed back to their allocations.
//!
//! A location has coordinates. First come the counters of the loops around the allocation, which
//! tell the objects of one `new` apart, then the indices. The *slot* is the allocation and the
//! field. Two accesses touch the same location if their slots are equal and their sets have common
//! coordinates. A reference that was read from memory is what the read's
//! [producers](crate::sources) stored there.

use crate::facts::{
    AccessIndex, AllocationIndex, Definition, Facts, Reference, ReferenceIndex, Stored, Touched,
};
use crate::order::Order;
use crate::promises::{Exchange, Missed};
use crate::range::Excluded;
use crate::sets::{Isl, Result, Set};
use crate::sources::Sources;
use crate::symbols::{Kind, Symbol};
use finishline_answer::proof::ReasonKind;
use finishline_fin::hir::{GlobalId, Program, Type};
use finishline_ir::Const;
use finishline_model::SiteId;
use std::cell::RefCell;
use std::rc::Rc;

/// A variable, a field of the objects of one allocation, or the elements of its arrays.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Slot {
    Global(GlobalId),
    Field(AllocationIndex, u32),
    Elements(AllocationIndex),
    /// The values of its promises.
    Promise(AllocationIndex),
    /// Objects from code that was not unfolded, by type and field.
    Foreign(String, Option<u32>),
}

/// Some locations that an access touches.
pub(crate) struct Target {
    pub(crate) slot: Slot,
    /// The instances and the coordinates. Values that have a definition are left as they are.
    pub(crate) set: Set,
    /// The same with definitions and the bounds of the array, made when it is first needed.
    refined: RefCell<Option<Rc<Refined>>>,
}

/// All that is known of the instances of an access.
pub(crate) struct Refined {
    pub(crate) set: Set,
    /// The values that are left, and remain unknown.
    pub(crate) free: Vec<Symbol>,
}

/// What a reference may refer to.
pub(crate) struct Held {
    /// Instances and coordinates of objects. Constants keep their symbols.
    pub(crate) objects: Vec<(AllocationIndex, Set)>,
    /// Why it may be something else, or only one of these.
    vague: Option<(ReasonKind, SiteId)>,
}

/// All locations that an access touches.
pub(crate) struct Targets {
    pub(crate) list: Vec<Target>,
    /// Why some of them may not be touched after all.
    pub(crate) vague: Option<(ReasonKind, SiteId)>,
}

/// The place of a doubt that no place of the source is to blame for.
const NOWHERE: SiteId = SiteId(0);

pub(crate) struct Objects<'f> {
    pub(crate) isl: &'f Isl,
    program: &'f Program,
    pub(crate) facts: &'f Facts,
    pub(crate) order: Order<'f>,
    held: RefCell<Vec<State<Held>>>,
    targets: RefCell<Vec<State<Targets>>>,
    definitions: RefCell<Vec<State<Option<Set>>>>,
    constants: RefCell<Vec<State<bool>>>,
    pub(crate) sources: RefCell<Vec<State<Sources>>>,
    pub(crate) missed: RefCell<Vec<State<Missed>>>,
    /// One, for the whole program.
    pub(crate) exchanges: RefCell<Vec<State<Exchange>>>,
    /// Inputs of which nothing is claimed, because integers wrap around there.
    pub(crate) excluded: RefCell<Excluded>,
}

/// Whether something has been worked out.
pub(crate) enum State<T> {
    Unasked,
    /// Being worked out: who asks now goes round in a circle.
    Asked,
    Known(Rc<T>),
}

impl<'f> Objects<'f> {
    pub(crate) fn new(isl: &'f Isl, program: &'f Program, facts: &'f Facts) -> Objects<'f> {
        fn unasked<T>(count: usize) -> RefCell<Vec<State<T>>> {
            RefCell::new((0..count).map(|_| State::Unasked).collect())
        }
        Objects {
            isl,
            program,
            facts,
            order: Order {
                isl,
                barriers: &facts.barriers,
            },
            held: unasked(facts.references.len()),
            targets: unasked(facts.accesses.len()),
            definitions: unasked(facts.values.len()),
            constants: unasked(facts.values.len()),
            sources: unasked(facts.accesses.len()),
            missed: unasked(facts.accesses.len()),
            exchanges: unasked(1),
            excluded: RefCell::new(facts.excluded.clone()),
        }
    }

    /// The symbol in another instance of the same access.
    pub(crate) fn in_copy(&self, symbol: Symbol, copy: u8) -> Symbol {
        match symbol.kind {
            Kind::Counter => symbol.in_copy(copy),
            Kind::Value if self.facts.value(symbol).loops > 0 => symbol.in_copy(copy),
            _ => symbol,
        }
    }

    /// The locations that an access touches.
    pub(crate) fn targets(&self, index: AccessIndex) -> Result<Rc<Targets>> {
        worked_out(
            &self.targets,
            index,
            || self.find_targets(index, |reference, ty| self.held(reference, ty)),
            // A reference that is read from where it is stored itself.
            || {
                let circle = (ReasonKind::Aliasing, NOWHERE);
                self.find_targets(index, |_, ty| self.anything(ty, circle).map(Rc::new))
            },
        )
    }

    /// The locations that an access touches, given what its reference may refer to.
    fn find_targets(
        &self,
        index: AccessIndex,
        held: impl Fn(ReferenceIndex, &Type) -> Result<Rc<Held>>,
    ) -> Result<Targets> {
        let access = &self.facts.accesses[index];
        let target = |slot, set| Target {
            slot,
            set,
            refined: RefCell::new(None),
        };
        // Doubts without a place of their own are about the access.
        let vague = |held: &Held| {
            let place = self.program.source.access(access.id).place;
            held.vague
                .map(|(reason, site)| (reason, if site == NOWHERE { place } else { site }))
        };
        match &access.place {
            Touched::Global(global) => Ok(Targets {
                list: vec![target(Slot::Global(*global), access.domain.clone())],
                vague: None,
            }),
            Touched::Field {
                object,
                layout,
                field,
            } => {
                let held = held(*object, &Type::Struct(*layout))?;
                let mut list = Vec::new();
                for (allocation, set) in &held.objects {
                    let set = access.domain.intersect(&as_location(set)?)?;
                    list.push(target(Slot::Field(*allocation, *field), set));
                }
                if self.is_foreign(&held) {
                    let slot = Slot::Foreign(format!("struct {}", layout.index()), Some(*field));
                    list.push(target(slot, access.domain.clone()));
                }
                let vague = vague(&held);
                Ok(Targets { list, vague })
            }
            Touched::Element { array, ty, indices } => {
                let held = held(*array, ty)?;
                let mut list = Vec::new();
                for (allocation, set) in &held.objects {
                    let loops = self.facts.allocations[*allocation].loops.len();
                    let mut set = access.domain.intersect(&as_location(set)?)?;
                    for (at, index) in indices.iter().enumerate() {
                        let symbol = Symbol::location(loops + at);
                        set = set.intersect(&index.bind(self.isl, symbol)?)?;
                    }
                    list.push(target(Slot::Elements(*allocation), set));
                }
                if self.is_foreign(&held) {
                    let slot = Slot::Foreign(format!("{ty:?}"), None);
                    list.push(target(slot, access.domain.clone()));
                }
                let vague = vague(&held);
                Ok(Targets { list, vague })
            }
            Touched::Promise { promise, ty } => {
                let held = held(*promise, ty)?;
                let mut list = Vec::new();
                for (allocation, set) in &held.objects {
                    let set = access.domain.intersect(&as_location(set)?)?;
                    list.push(target(Slot::Promise(*allocation), set));
                }
                if self.is_foreign(&held) {
                    let slot = Slot::Foreign(format!("{ty:?}"), None);
                    list.push(target(slot, access.domain.clone()));
                }
                let vague = vague(&held);
                Ok(Targets { list, vague })
            }
        }
    }

    /// Whether it may be an object whose allocation was not seen.
    fn is_foreign(&self, held: &Held) -> bool {
        held.vague.is_some() && self.facts.has_foreign()
    }

    /// What a reference may refer to, if it is of this type.
    pub(crate) fn held(&self, reference: ReferenceIndex, ty: &Type) -> Result<Rc<Held>> {
        worked_out(
            &self.held,
            reference,
            || self.find_held(reference, ty),
            || self.anything(ty, (ReasonKind::Aliasing, NOWHERE)),
        )
    }

    /// Any object of a type.
    fn anything(&self, ty: &Type, vague: (ReasonKind, SiteId)) -> Result<Held> {
        let mut objects = Vec::new();
        for (index, allocation) in self.facts.allocations.iter().enumerate() {
            if allocation.ty == *ty {
                objects.push((index, self.isl.everything()?));
            }
        }
        let vague = Some(vague);
        Ok(Held { objects, vague })
    }

    fn find_held(&self, reference: ReferenceIndex, ty: &Type) -> Result<Held> {
        let mut held = Held {
            objects: Vec::new(),
            vague: None,
        };
        match &self.facts.references[reference] {
            Reference::Null => {}
            Reference::New(allocation) => {
                let mut set = self.isl.everything()?;
                let loops = &self.facts.allocations[*allocation].loops;
                for (at, counter) in loops.iter().enumerate() {
                    let same = self.isl.symbol(*counter)?;
                    set = set.intersect(&same.bind(self.isl, Symbol::object(at))?)?;
                }
                held.objects.push((*allocation, set));
            }
            Reference::Select { condition, yes, no } => {
                held.add(&*self.held(*yes, ty)?, |set| set.intersect(condition))?;
                let otherwise = condition.complement()?;
                held.add(&*self.held(*no, ty)?, |set| set.intersect(&otherwise))?;
            }
            Reference::Any(references) => {
                for reference in references {
                    held.add(&*self.held(*reference, ty)?, |set| Ok(set.clone()))?;
                }
                if references.len() > 1 {
                    self.make_sure(&mut held)?;
                }
            }
            Reference::Outside { reference, loops } => {
                let gone = |symbol: Symbol| match symbol.kind {
                    Kind::Counter => !loops.contains(&symbol),
                    Kind::Value => self.facts.value(symbol).loops > loops.len(),
                    _ => false,
                };
                held.add(&*self.held(*reference, ty)?, |set| set.exists(gone))?;
            }
            Reference::Loaded(access) => {
                let sources = self.sources(*access)?;
                if sources.incomplete {
                    return self.anything(ty, (ReasonKind::Aliasing, NOWHERE));
                }
                for (write, pairs) in &sources.writes {
                    let Stored::Reference(stored) = self.facts.accesses[*write].stored else {
                        return self.anything(ty, (ReasonKind::Aliasing, NOWHERE));
                    };
                    let stored = self.held(stored, ty)?;
                    let copied = |symbol| self.in_copy(symbol, 1);
                    held.add(&stored, |set| {
                        let both = pairs.intersect(&set.rename(copied)?)?;
                        both.exists(|symbol| symbol.copy == 1 || symbol.kind == Kind::Location)
                    })?;
                }
                self.make_sure(&mut held)?;
            }
            Reference::Unknown(reason, site) => return self.anything(ty, (*reason, *site)),
        }
        Ok(held)
    }

    /// Notes whether it is at most one object in each instance.
    fn make_sure(&self, held: &mut Held) -> Result<()> {
        if held.vague.is_some() {
            return Ok(());
        }
        let mut seen = self.isl.nothing()?;
        for (_, set) in &held.objects {
            let other = |symbol: Symbol| match symbol.kind {
                Kind::Object => symbol.in_copy(1),
                _ => symbol,
            };
            let mut two = set.intersect(&set.rename(other)?)?;
            let mut differ = self.isl.nothing()?;
            for symbol in set.symbols()? {
                if symbol.kind == Kind::Object {
                    let a = self.isl.symbol(symbol)?;
                    differ = differ.union(&a.differs(&self.isl.symbol(other(symbol))?)?)?;
                }
            }
            two = two.intersect(&differ)?;
            let instances = set.exists(|symbol| symbol.kind == Kind::Object)?;
            if !two.is_empty()? || !instances.intersect(&seen)?.is_empty()? {
                held.vague = Some((ReasonKind::Aliasing, NOWHERE));
                return Ok(());
            }
            seen = seen.union(&instances)?;
        }
        Ok(())
    }

    /// The condition that makes a value what it is, in terms of other symbols; none if it remains
    /// unknown.
    pub(crate) fn definition(&self, symbol: Symbol) -> Result<Rc<Option<Set>>> {
        worked_out(
            &self.definitions,
            symbol.index as usize,
            || self.find_definition(symbol),
            || Ok(None),
        )
    }

    fn find_definition(&self, symbol: Symbol) -> Result<Option<Set>> {
        match &self.facts.value(symbol).definition {
            Definition::Free => Ok(None),
            Definition::Is(set) => Ok(Some(set.clone())),
            Definition::Length(array, ty, dimension) => {
                let held = self.held(*array, ty)?;
                let mut lengths = self.isl.nothing()?;
                for (allocation, set) in &held.objects {
                    let allocation = &self.facts.allocations[*allocation];
                    let Some(size) = allocation.sizes.get(*dimension as usize) else {
                        return Ok(None);
                    };
                    let length = size.bind(self.isl, symbol)?;
                    let length = self.at_allocation(&length, &allocation.loops, Kind::Object)?;
                    let Some(length) = length else {
                        return Ok(None);
                    };
                    let length = set.intersect(&length)?;
                    let length = length.exists(|symbol| symbol.kind == Kind::Object)?;
                    lengths = lengths.union(&length)?;
                }
                if held.vague.is_some() {
                    return Ok(None);
                }
                self.or_anything(symbol, &lengths).map(Some)
            }
            Definition::Read(access) => {
                let sources = self.sources(*access)?;
                if sources.incomplete {
                    return Ok(None);
                }
                let initial = match self.facts.accesses[*access].place {
                    Touched::Global(global) => self.program.globals[global.index()].initial,
                    Touched::Field { .. } | Touched::Element { .. } | Touched::Promise { .. } => {
                        Const::Int(0)
                    }
                };
                let Const::Int(initial) = initial else {
                    return Ok(None);
                };
                let initial = self.isl.constant(initial)?.bind(self.isl, symbol)?;
                let mut values = sources.initial.intersect(&initial)?;
                for (write, pairs) in &sources.writes {
                    let Stored::Number(stored) = &self.facts.accesses[*write].stored else {
                        return Ok(None);
                    };
                    if let Some(inputs) = self.misfits(*write)?
                        && !self.excluded.borrow_mut().add(self.isl, &inputs)?
                    {
                        return Ok(None);
                    }
                    let stored = stored.rename(|symbol| self.in_copy(symbol, 1))?;
                    let both = pairs.intersect(&stored.bind(self.isl, symbol)?)?;
                    let known = both.exists(|it| it.copy == 1 || it.kind == Kind::Location)?;
                    values = values.union(&known)?;
                }
                let mut others = values.clone();
                others =
                    others.rename(|it: Symbol| if it == symbol { it.in_copy(1) } else { it })?;
                let (one, two) = (
                    self.isl.symbol(symbol)?,
                    self.isl.symbol(symbol.in_copy(1))?,
                );
                let differ = values.intersect(&others)?.intersect(&one.differs(&two)?)?;
                if !differ.is_empty()? {
                    return Ok(None);
                }
                self.or_anything(symbol, &values).map(Some)
            }
        }
    }

    /// The inputs for which what a write stores may not fit 64 bits; none if it always does.
    fn misfits(&self, write: AccessIndex) -> Result<Option<Set>> {
        let Some(misfit) = self.facts.stores_misfit(self.isl, write)? else {
            return Ok(None);
        };
        let (misfit, _) = self.defined(&misfit)?;
        let inputs = misfit.exists(|symbol| symbol.kind != Kind::Parameter)?;
        Ok((!inputs.is_empty()?).then_some(inputs))
    }

    /// A definition for all instances: where it says nothing, because control does not come there,
    /// any value will do. A choice that takes the value only in some instances must not lose the
    /// others.
    fn or_anything(&self, symbol: Symbol, definition: &Set) -> Result<Set> {
        let elsewhere = definition.exists(|it| it == symbol)?.complement()?;
        definition.union(&elsewhere)
    }

    /// A condition on the counters of the loops around an allocation as one on the coordinates of
    /// its objects; none if it depends on something that only those who allocated it know.
    fn at_allocation(&self, set: &Set, loops: &[Symbol], kind: Kind) -> Result<Option<Set>> {
        // These loops have other counters where the array is used.
        let set = (self.facts).substituted(set, |value| value.loops > 0)?;
        for symbol in set.symbols()? {
            if symbol.kind == Kind::Value
                && self.facts.value(symbol).loops > 0
                && set.involves(symbol)?
            {
                return Ok(None);
            }
        }
        let renamed = set.rename(|symbol: Symbol| {
            match loops.iter().position(|counter| *counter == symbol) {
                Some(at) => Symbol::new(kind, at),
                None => symbol,
            }
        })?;
        Ok(Some(renamed))
    }

    /// The indices for which an array has elements.
    fn bounds(&self, allocation: AllocationIndex) -> Result<Set> {
        let allocation = &self.facts.allocations[allocation];
        let mut set = self.isl.everything()?;
        let zero = self.isl.constant(0)?;
        for (at, size) in allocation.sizes.iter().enumerate() {
            let index = self
                .isl
                .symbol(Symbol::location(allocation.loops.len() + at))?;
            let inside = zero.at_most(&index)?.intersect(&index.less(size)?)?;
            if let Some(inside) = self.at_allocation(&inside, &allocation.loops, Kind::Location)? {
                // Of an array of unknown length every index may be one.
                let (inside, free) = self.defined(&inside)?;
                if free.is_empty() {
                    set = set.intersect(&inside)?;
                }
            }
        }
        Ok(set)
    }

    /// A target with all that is known of it.
    pub(crate) fn refined(&self, target: &Target) -> Result<Rc<Refined>> {
        if let Some(refined) = &*target.refined.borrow() {
            return Ok(refined.clone());
        }
        let mut set = target.set.clone();
        if let Slot::Elements(allocation) = target.slot {
            set = set.intersect(&self.bounds(allocation)?)?;
        }
        let (set, free) = self.defined(&set)?;
        let refined = Rc::new(Refined { set, free });
        *target.refined.borrow_mut() = Some(refined.clone());
        Ok(refined)
    }

    /// Whether a value is the same everywhere and computed from parameters alone: as good as a
    /// parameter itself.
    fn is_constant(&self, symbol: Symbol) -> Result<bool> {
        let known = worked_out(
            &self.constants,
            symbol.index as usize,
            || {
                let value = self.facts.value(symbol);
                let (0, Definition::Is(set)) = (value.loops, &value.definition) else {
                    return Ok(false);
                };
                for other in set.symbols()? {
                    if other.kind == Kind::Value
                        && other != symbol
                        && set.involves(other)?
                        && !self.is_constant(other)?
                    {
                        return Ok(false);
                    }
                }
                Ok(true)
            },
            || Ok(false),
        )?;
        Ok(*known)
    }

    /// A set with the definitions of its values put in, except for constants, and the values that
    /// have none.
    pub(crate) fn defined(&self, set: &Set) -> Result<(Set, Vec<Symbol>)> {
        self.substituted(set, |symbol| Ok(!self.is_constant(symbol)?))
    }

    /// A set with the definitions of its constants put in.
    pub(crate) fn with_constants(&self, set: &Set) -> Result<Set> {
        let (set, _) = self.substituted(set, |symbol| self.is_constant(symbol))?;
        Ok(set)
    }

    /// The instances for which a condition may hold, whatever the unknown values are.
    pub(crate) fn for_some_value(&self, set: &Set) -> Result<Set> {
        let (set, free) = self.defined(set)?;
        set.exists(|symbol| free.contains(&symbol))
    }

    fn substituted(
        &self,
        set: &Set,
        wanted: impl Fn(Symbol) -> Result<bool>,
    ) -> Result<(Set, Vec<Symbol>)> {
        let mut set = set.clone();
        let mut free = Vec::new();
        loop {
            let mut next = None;
            for symbol in set.symbols()? {
                if symbol.kind == Kind::Value
                    && wanted(symbol)?
                    && !free.contains(&symbol)
                    && set.involves(symbol)?
                {
                    next = Some(symbol);
                    break;
                }
            }
            let Some(symbol) = next else {
                return Ok((set, free));
            };
            match &*self.definition(symbol)? {
                Some(definition) => {
                    set = set.intersect(definition)?.exists(|it| it == symbol)?;
                }
                None => free.push(symbol),
            }
        }
    }
}

impl Held {
    /// Adds what another reference may refer to, in some instances.
    fn add(&mut self, other: &Held, some: impl Fn(&Set) -> Result<Set>) -> Result<()> {
        for (allocation, set) in &other.objects {
            let set = some(set)?;
            match self.objects.iter_mut().find(|(it, _)| it == allocation) {
                Some((_, all)) => *all = all.union(&set)?,
                None => self.objects.push((*allocation, set)),
            }
        }
        self.vague = self.vague.or(other.vague);
        Ok(())
    }
}

/// The coordinates of an object as the first ones of a location in it.
fn as_location(set: &Set) -> Result<Set> {
    set.rename(|symbol: Symbol| match symbol.kind {
        Kind::Object => Symbol::location(symbol.index as usize),
        _ => symbol,
    })
}

/// Works something out once.
pub(crate) fn worked_out<T>(
    states: &RefCell<Vec<State<T>>>,
    index: usize,
    find: impl FnOnce() -> Result<T>,
    in_a_circle: impl FnOnce() -> Result<T>,
) -> Result<Rc<T>> {
    match &states.borrow()[index] {
        State::Known(known) => return Ok(known.clone()),
        State::Asked => return in_a_circle().map(Rc::new),
        State::Unasked => {}
    }
    states.borrow_mut()[index] = State::Asked;
    let found = find();
    let mut states = states.borrow_mut();
    match found {
        Ok(found) => {
            let found = Rc::new(found);
            states[index] = State::Known(found.clone());
            Ok(found)
        }
        Err(stop) => {
            states[index] = State::Unasked;
            Err(stop)
        }
    }
}
