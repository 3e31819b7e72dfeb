//! From the typed tree to accesses: a symbolic run that takes every branch.
//!
//! The walker goes through main once, in the order of a depth-first run, and unfolds every call. It
//! knows three things. The *path* says where it is. The *domain* is the condition on counters and
//! parameters under which control comes there. Each local holds a piecewise affine value, a
//! condition or a reference. A branch narrows the domain, and a loop adds a counter. After a branch
//! a local is a choice between the values of the arms. A local that a loop changes is an arithmetic
//! progression, if the text shows that, and otherwise a fresh unknown.
//!
//! Nothing is refused. What is not affine becomes an unknown with a reason. So the accesses found
//! are always a superset of those that happen, and exactly those where no unknown is involved.

mod calls;
mod endless;
mod expressions;
mod induction;
mod loops;
mod nesting;
mod promises;
mod references;
mod statements;
mod wrapping;

use crate::facts::{
    AccessFacts, AccessIndex, Barrier, Definition, Facts, FinishFacts, Gap, Reference, Stored,
    Touched, ValueFacts,
};
use crate::order::{Path, Step};
use crate::sets::{Affine, Isl, Result, Set};
use crate::symbols::{Kind, Symbol};
use endless::Endless;
use finishline_answer::proof::ReasonKind;
use finishline_fin::hir::{FunctionId, LocalId, Program, Type};
use finishline_model::{AccessId, AccessKind, SiteId};

/// More accesses than this are not compared with each other.
const MOST_ACCESSES: usize = 20_000;
/// The depth and the number of unfolded calls.
const DEEPEST: usize = 100;
const MOST_CALLS: usize = 100_000;

/// What a local or an expression holds.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Int(Affine),
    Bool(Set),
    Reference(usize),
    /// A constant of another type.
    Literal(String),
    /// Not followed, and why.
    Unknown(ReasonKind, SiteId),
}

/// What belongs to the call that is being unfolded.
struct Frame {
    function: FunctionId,
    locals: Vec<Option<Value>>,
    /// The domain and value of each `return` so far, with the number of loops around it.
    returns: Vec<(Set, Option<Value>, usize)>,
    /// How many loops were around the call.
    loops: usize,
    /// Where its sync scope begins, if control is in one.
    scope: usize,
    /// What was known of the sizes of arrays at each `return`.
    sized_at_returns: Vec<Set>,
}

/// How control left the iterations of a loop before their end.
struct Jumps {
    /// For which instances it left the loop by `break`.
    breaks: Set,
    /// For which instances it stays in the iteration for ever.
    stays: Set,
    /// What the locals were at each `break`, and at each `continue`.
    at_breaks: Vec<Vec<Option<Value>>>,
    at_continues: Vec<Vec<Option<Value>>>,
}

/// How much was made until a point of the walk.
#[derive(Clone, Copy)]
struct Made {
    accesses: usize,
    barriers: usize,
    gets: usize,
    sets: usize,
    /// Groups of tasks of the innermost finish that never end.
    endless: usize,
}

pub(crate) struct Walker<'p> {
    isl: &'p Isl,
    program: &'p Program,
    facts: Facts,
    path: Vec<Step>,
    loops: Vec<Symbol>,
    domain: Set,
    /// What is known of the sizes of the arrays and loops that control came past. It is kept apart
    /// from the domain, which it would make unreadable.
    sized: Set,
    /// Operands are taken to fit 64 bits, for a condition that is only tried.
    fits: bool,
    /// The number of operands so far that are unknown because they may not fit.
    misfits: usize,
    isolated: bool,
    frames: Vec<Frame>,
    /// Of the loops around, how control left their iterations.
    jumps: Vec<Jumps>,
    /// Of the finishes around control in its task, the tasks that never end.
    endless: Vec<Endless>,
    /// Every `begin_finish` has its `end_finish` where the text shows it.
    lexical: bool,
    /// How many calls were unfolded.
    unfolded: usize,
    /// The unfolding was cut short.
    too_large: bool,
}

/// Takes a program apart.
pub(crate) fn walk(isl: &Isl, program: &Program) -> Result<Facts> {
    let main = &program.functions[program.main.index()];
    let mut walker = Walker {
        isl,
        program,
        facts: Facts::default(),
        path: vec![Step::Nth(0)],
        loops: Vec::new(),
        domain: isl.everything()?,
        sized: isl.everything()?,
        fits: false,
        misfits: 0,
        isolated: false,
        frames: Vec::new(),
        jumps: Vec::new(),
        endless: Vec::new(),
        lexical: nesting::is_lexical(program),
        unfolded: 0,
        too_large: false,
    };
    let mut arguments = Vec::new();
    for (index, local) in main.parameters.iter().enumerate() {
        let local = &main.locals[local.index()];
        walker.facts.parameters.push(local.name.clone());
        let symbol = isl.symbol(Symbol::new(Kind::Parameter, index))?;
        arguments.push(match local.ty {
            Type::Int => Value::Int(symbol),
            // 1 for true, 0 for false.
            Type::Bool => {
                let (zero, one) = (isl.constant(0)?, isl.constant(1)?);
                let either = zero.at_most(&symbol)?.intersect(&symbol.at_most(&one)?)?;
                walker.domain = walker.domain.intersect(&either)?;
                Value::Bool(one.at_most(&symbol)?)
            }
            _ => Value::Unknown(ReasonKind::DataDependent, main.site),
        });
    }
    walker.unfold(program.main, arguments, main.site)?;
    Ok(walker.facts)
}

impl Walker<'_> {
    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("main is being unfolded")
    }

    fn local(&self, local: LocalId) -> Value {
        let frame = self.frames.last().expect("main is being unfolded");
        frame.locals[local.index()]
            .clone()
            .expect("a local is set before it is used")
    }

    fn set_local(&mut self, local: LocalId, value: Value) {
        self.frame().locals[local.index()] = Some(value);
    }

    /// Goes on to the next place of the sequence that control is in.
    fn advance(&mut self) {
        if let Some(Step::Nth(place)) = self.path.last_mut() {
            *place += 1;
        }
    }

    /// Does something inside a construct.
    fn inside<T>(&mut self, step: Step, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outside = self.path.len();
        let sized = self.sized.clone();
        self.path.extend([step, Step::Nth(0)]);
        let result = run(self);
        // A loop may not run, and control does not pass what a task does.
        if matches!(step, Step::Loop { .. } | Step::Task) {
            self.sized = sized;
        }
        self.path.truncate(outside);
        self.advance();
        result
    }

    /// Does something inside a finish.
    fn inside_finish<T>(
        &mut self,
        construct: &'static str,
        site: SiteId,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.facts.finishes.push(FinishFacts { construct, site });
        let index = self.facts.finishes.len() - 1;
        self.begin_waiting();
        let result = self.inside(Step::Finish(index), run);
        self.end_waiting()?;
        result
    }

    /// Does something only where a condition holds; returns the domain at its end.
    fn under(&mut self, condition: &Set, run: impl FnOnce(&mut Self) -> Result<()>) -> Result<Set> {
        let before = (self.domain.clone(), self.sized.clone());
        self.domain = before.0.intersect(condition)?;
        run(self)?;
        self.sized = before.1;
        Ok(std::mem::replace(&mut self.domain, before.0))
    }

    /// Does something whose end is not followed by what comes next: a task, a part that only reads.
    fn aside<T>(&mut self, condition: &Set, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = (self.domain.clone(), self.sized.clone());
        self.domain = before.0.intersect(condition)?;
        let result = run(self);
        (self.domain, self.sized) = before;
        result
    }

    fn here(&self) -> Path {
        self.path.as_slice().into()
    }

    fn access(
        &mut self,
        id: AccessId,
        kind: AccessKind,
        place: Touched,
        stored: Stored,
    ) -> Result<AccessIndex> {
        if self.facts.accesses.len() >= MOST_ACCESSES {
            self.cut_short(self.program.source.access(id).site);
        }
        let access = AccessFacts {
            id,
            kind,
            isolated: self.isolated,
            path: self.here(),
            domain: self.domain.clone(),
            sized: self.sized.clone(),
            place,
            stored,
        };
        self.advance();
        if self.facts.accesses.len() < MOST_ACCESSES {
            self.facts.accesses.push(access);
        }
        Ok(self.facts.accesses.len() - 1)
    }

    /// Unfolds nothing more, and notes why.
    fn cut_short(&mut self, site: SiteId) {
        if !std::mem::replace(&mut self.too_large, true) {
            self.gap(ReasonKind::TooLarge, site);
        }
    }

    /// Something that is not taken apart.
    fn gap(&mut self, reason: ReasonKind, site: SiteId) {
        let path = self.here();
        self.facts.gaps.push(Gap {
            path,
            reason,
            site,
            callee: None,
        });
        self.advance();
    }

    /// A fresh unknown of which only its place of computation is known.
    fn unknown(&mut self, reason: ReasonKind, site: SiteId) -> Result<Affine> {
        let symbol = self.new_value(Definition::Free, reason, site);
        self.isl.symbol(symbol)
    }

    fn new_value(&mut self, definition: Definition, reason: ReasonKind, site: SiteId) -> Symbol {
        self.facts.new_value(ValueFacts {
            loops: self.loops.len(),
            definition,
            reason,
            site,
        })
    }

    /// The value as an integer.
    fn int(&mut self, value: Value) -> Result<Affine> {
        match value {
            Value::Int(value) => Ok(value),
            Value::Unknown(reason, site) => self.unknown(reason, site),
            Value::Bool(_) | Value::Reference(_) | Value::Literal(_) => {
                self.unknown(ReasonKind::NonAffine, SiteId(0))
            }
        }
    }

    /// The condition under which the value is true.
    fn condition(&mut self, value: Value) -> Result<Set> {
        match value {
            Value::Bool(condition) => Ok(condition),
            value => {
                let unknown = self.int(value)?;
                self.isl.constant(1)?.at_most(&unknown)
            }
        }
    }

    /// The value as a reference.
    fn reference(&mut self, value: Value) -> usize {
        match value {
            Value::Reference(reference) => reference,
            Value::Unknown(reason, site) => {
                self.facts.new_reference(Reference::Unknown(reason, site))
            }
            Value::Int(_) | Value::Bool(_) | Value::Literal(_) => {
                let unknown = Reference::Unknown(ReasonKind::Aliasing, SiteId(0));
                self.facts.new_reference(unknown)
            }
        }
    }

    /// What a local keeps of a value: an unknown is the same unknown each time the local is used,
    /// and a value of several pieces gets a symbol, its definition apart, because most proofs need
    /// no definition.
    fn keep(&mut self, value: Value, ty: &Type) -> Result<Value> {
        Ok(match (value, ty) {
            (Value::Unknown(reason, site), Type::Int) => Value::Int(self.unknown(reason, site)?),
            (Value::Unknown(reason, site), Type::Bool) => {
                let unknown = self.unknown(reason, site)?;
                Value::Bool(self.isl.constant(1)?.at_most(&unknown)?)
            }
            (Value::Int(value), Type::Int) if value.pieces()? > 1 => {
                Value::Int(self.defined(&value, SiteId(0))?)
            }
            (value, _) => value,
        })
    }

    /// A symbol that stands for a value.
    fn defined(&mut self, value: &Affine, site: SiteId) -> Result<Affine> {
        let symbol = self.new_value(Definition::Free, ReasonKind::NonAffine, site);
        let definition = Definition::Is(value.bind(self.isl, symbol)?);
        self.facts.values[symbol.index as usize].definition = definition;
        self.isl.symbol(symbol)
    }

    /// One value where the condition holds, another elsewhere.
    fn choose(&mut self, condition: &Set, yes: Value, no: Value) -> Result<Value> {
        Ok(match (yes, no) {
            (Value::Int(yes), Value::Int(no)) => {
                if yes.is_equal(&no)? {
                    Value::Int(yes)
                } else {
                    Value::Int(Affine::select(condition, &yes, &no)?)
                }
            }
            (Value::Bool(yes), Value::Bool(no)) => {
                let yes = yes.intersect(condition)?;
                let no = no.intersect(&condition.complement()?)?;
                Value::Bool(yes.union(&no)?.coalesce()?)
            }
            (Value::Reference(yes), Value::Reference(no)) if yes == no => Value::Reference(yes),
            (Value::Reference(yes), Value::Reference(no)) => {
                let condition = condition.clone();
                Value::Reference(
                    self.facts
                        .new_reference(Reference::Select { condition, yes, no }),
                )
            }
            (Value::Literal(yes), Value::Literal(no)) if yes == no => Value::Literal(yes),
            (Value::Unknown(reason, site), _) | (_, Value::Unknown(reason, site)) => {
                Value::Unknown(reason, site)
            }
            _ => Value::Unknown(ReasonKind::DataDependent, SiteId(0)),
        })
    }

    /// Leaves only those instances of what was made since then for which a condition holds.
    fn narrow(&mut self, since: Made, condition: &Set) -> Result<()> {
        for access in &mut self.facts.accesses[since.accesses..] {
            access.domain = access.domain.intersect(condition)?;
        }
        for barrier in &mut self.facts.barriers[since.barriers..] {
            barrier.domain = barrier.domain.intersect(condition)?;
        }
        let gets = self.facts.gets[since.gets..].iter_mut();
        for used in gets.chain(&mut self.facts.sets[since.sets..]) {
            used.domain = used.domain.intersect(condition)?;
        }
        self.narrow_endless(since.endless, condition)
    }

    fn made(&self) -> Made {
        Made {
            accesses: self.facts.accesses.len(),
            barriers: self.facts.barriers.len(),
            gets: self.facts.gets.len(),
            sets: self.facts.sets.len(),
            endless: self.endless_so_far(),
        }
    }

    /// A `sync`. One under a condition on data may wait or not: then it is as if it did not, and a
    /// note of that.
    fn barrier(&mut self, site: SiteId) -> Result<()> {
        if !self.is_known(&self.domain)? {
            self.gap(ReasonKind::DataDependent, site);
            return Ok(());
        }
        let scope = self.frames.last().map_or(0, |frame| frame.scope);
        self.facts.barriers.push(Barrier {
            path: self.here(),
            scope,
            domain: self.in_full(&self.domain)?,
        });
        self.advance();
        self.wait(scope)
    }

    /// Notes that those since then may not be reached after all. Of a `get` that is noted already.
    fn doubt_barriers(&mut self, since: Made, site: SiteId) {
        self.facts.gets.truncate(since.gets);
        for barrier in self.facts.barriers.split_off(since.barriers) {
            self.facts.gaps.push(Gap {
                path: barrier.path,
                reason: ReasonKind::DataDependent,
                site,
                callee: None,
            });
        }
    }

    /// Whether a condition is one on counters and parameters alone, or on values that are defined
    /// by these.
    fn is_known(&self, condition: &Set) -> Result<bool> {
        let condition = self.in_full(condition)?;
        for symbol in condition.symbols()? {
            if symbol.kind == Kind::Value && condition.involves(symbol)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A condition with the definitions of values put in, as far as they are known by now.
    fn in_full(&self, condition: &Set) -> Result<Set> {
        self.facts.in_full(condition)
    }
}
