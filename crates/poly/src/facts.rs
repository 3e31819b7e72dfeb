//! What the walk found: the shared accesses, each with its path, its domain and its place.
//!
//! All calls are unfolded. One access of the source may occur several times, each time with
//! another path. An *instance* of an access assigns integers to the counters of the loops around
//! it. A value that is not computed from counters and parameters is a symbol of
//! kind [`Value`](Kind::Value). The symbol is unknown, but it is the same integer in all instances
//! that agree in the counters of the loops around the place where it was computed.

use crate::order::Path;
use crate::range::Excluded;
use crate::sets::{Affine, Result, Set};
use crate::symbols::{Kind, Symbol};
use finishline_answer::proof::ReasonKind;
use finishline_fin::hir::{FunctionId, GlobalId, StructId, Type};
use finishline_model::{AccessId, AccessKind, AllocationId, SiteId};

/// An index into [`Facts::accesses`].
pub(crate) type AccessIndex = usize;
/// An index into [`Facts::references`].
pub(crate) type ReferenceIndex = usize;
/// An index into [`Facts::allocations`].
pub(crate) type AllocationIndex = usize;

#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) parameters: Vec<String>,
    pub(crate) counters: Vec<CounterFacts>,
    pub(crate) values: Vec<ValueFacts>,
    pub(crate) accesses: Vec<AccessFacts>,
    pub(crate) allocations: Vec<Allocation>,
    pub(crate) references: Vec<Reference>,
    pub(crate) barriers: Vec<Barrier>,
    /// Those that surely wait.
    pub(crate) gets: Vec<PromiseUse>,
    /// All that may happen.
    pub(crate) sets: Vec<PromiseUse>,
    pub(crate) finishes: Vec<FinishFacts>,
    /// What could not be unfolded or taken apart at all.
    pub(crate) gaps: Vec<Gap>,
    /// Inputs of which nothing is claimed, because integers wrap around there.
    pub(crate) excluded: Excluded,
    /// Control may not come past some loop, join or assertion.
    pub(crate) may_stop: bool,
}

pub(crate) struct CounterFacts {
    /// As the user calls it.
    pub(crate) name: String,
    /// The values that a run can reach, in terms of the counter and its first value.
    pub(crate) reachable: Option<Set>,
}

/// A value that sets know by a symbol.
pub(crate) struct ValueFacts {
    /// How many of the loops around its uses are around its computation too: the first ones.
    pub(crate) loops: usize,
    pub(crate) definition: Definition,
    pub(crate) reason: ReasonKind,
    pub(crate) site: SiteId,
}

pub(crate) enum Definition {
    /// Unknown.
    Free,
    /// A condition on the symbol, exactly one value satisfying it.
    Is(Set),
    /// The length of an array, of this type, in one of its dimensions.
    Length(ReferenceIndex, Type, u32),
    /// What an access read.
    Read(AccessIndex),
}

/// One access of the source in one unfolding of calls.
pub(crate) struct AccessFacts {
    pub(crate) id: AccessId,
    pub(crate) kind: AccessKind,
    pub(crate) isolated: bool,
    pub(crate) path: Path,
    /// For which instances it happens, in terms of the counters of the loops around it.
    pub(crate) domain: Set,
    /// What is known of the sizes of the arrays and loops that control came past.
    pub(crate) sized: Set,
    pub(crate) place: Touched,
    /// What a write writes.
    pub(crate) stored: Stored,
}

/// A shared place, its object not yet decided.
#[derive(Clone)]
pub(crate) enum Touched {
    Global(GlobalId),
    Field {
        object: ReferenceIndex,
        layout: StructId,
        field: u32,
    },
    Element {
        array: ReferenceIndex,
        /// Of the array.
        ty: Type,
        indices: Vec<Affine>,
    },
    /// The value of a promise, which a `set` writes. Nothing counts as a read of it: a `get` waits.
    Promise {
        promise: ReferenceIndex,
        /// Of the promise.
        ty: Type,
    },
}

#[derive(Clone)]
pub(crate) enum Stored {
    Nothing,
    Number(Affine),
    Reference(ReferenceIndex),
    /// A constant of a type whose values are not followed.
    Literal(String),
    Unknown,
}

/// A `new` in one unfolding of calls. Its objects are told apart by the counters of the loops
/// around it.
pub(crate) struct Allocation {
    pub(crate) id: AllocationId,
    pub(crate) loops: Vec<Symbol>,
    pub(crate) ty: Type,
    /// Of an array, in terms of these counters.
    pub(crate) sizes: Vec<Affine>,
}

/// What a variable of reference type may hold, in terms of the counters where it is used.
pub(crate) enum Reference {
    Null,
    /// The object made in the same iterations.
    New(AllocationIndex),
    Loaded(AccessIndex),
    Select {
        condition: Set,
        yes: ReferenceIndex,
        no: ReferenceIndex,
    },
    /// One of several; which one is unknown.
    Any(Vec<ReferenceIndex>),
    /// A value from inside loops that have been left, of some iteration: only the first counters
    /// are still the same. It is always one of several in an `Any`.
    Outside {
        reference: ReferenceIndex,
        loops: Vec<Symbol>,
    },
    Unknown(ReasonKind, SiteId),
}

/// A `sync`: waits for all tasks created before it in its scope.
pub(crate) struct Barrier {
    pub(crate) path: Path,
    /// The number of steps of the path that lead to the scope.
    pub(crate) scope: usize,
    pub(crate) domain: Set,
}

/// A `get` or a `set` of a promise, or the end of a future's task.
pub(crate) struct PromiseUse {
    pub(crate) path: Path,
    pub(crate) domain: Set,
    pub(crate) promise: ReferenceIndex,
    /// Of the promise.
    pub(crate) ty: Type,
}

pub(crate) struct FinishFacts {
    pub(crate) construct: &'static str,
    pub(crate) site: SiteId,
}

/// Something that was not taken apart.
pub(crate) struct Gap {
    pub(crate) path: Path,
    pub(crate) reason: ReasonKind,
    pub(crate) site: SiteId,
    /// The function whose call it is.
    pub(crate) callee: Option<FunctionId>,
}

impl Gap {
    /// It may access anything. Others are about the order alone: something that may wait was taken
    /// to wait for nothing.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self.reason, ReasonKind::Recursive | ReasonKind::TooLarge)
    }
}

impl Facts {
    pub(crate) fn new_counter(&mut self, name: &str) -> Symbol {
        self.counters.push(CounterFacts {
            name: name.to_string(),
            reachable: None,
        });
        Symbol::new(Kind::Counter, self.counters.len() - 1)
    }

    pub(crate) fn new_value(&mut self, facts: ValueFacts) -> Symbol {
        self.values.push(facts);
        Symbol::new(Kind::Value, self.values.len() - 1)
    }

    pub(crate) fn new_reference(&mut self, reference: Reference) -> ReferenceIndex {
        self.references.push(reference);
        self.references.len() - 1
    }

    /// Whether some code was not unfolded: it may access any memory.
    pub(crate) fn has_foreign(&self) -> bool {
        self.gaps.iter().any(Gap::is_foreign)
    }

    /// A condition with the definitions of values put in, as far as these don't depend on what
    /// reads see.
    pub(crate) fn in_full(&self, condition: &Set) -> Result<Set> {
        self.substituted(condition, |_| true)
    }

    /// A condition with the definitions of some values put in.
    pub(crate) fn substituted(
        &self,
        condition: &Set,
        wanted: impl Fn(&ValueFacts) -> bool,
    ) -> Result<Set> {
        let mut full = condition.clone();
        loop {
            let mut defined = None;
            for symbol in full.symbols()? {
                if symbol.kind == Kind::Value
                    && wanted(self.value(symbol))
                    && let Definition::Is(set) = &self.value(symbol).definition
                {
                    defined = Some((symbol, set));
                    break;
                }
            }
            let Some((symbol, set)) = defined else {
                return Ok(full);
            };
            full = full.intersect(set)?.exists(|it| it == symbol)?;
        }
    }

    pub(crate) fn value(&self, symbol: Symbol) -> &ValueFacts {
        &self.values[symbol.index as usize]
    }
}
