//! Checks that a loop makes in every iteration, made in front of it or behind it.
//!
//! Looked for are checks of objects known before the loop, in loops that stay within one step
//! ([`super::steps`]): then it does not matter at which moment of the step a check is made, only
//! that it is made if and only if the access is. In iteration k the locations are those from
//! `start + k · step` on ([`crate::evolution`]). [`super::loop_invariant`] is about a step of 0,
//! [`super::ranges`] about others.
//!
//! **In front**, if it is known there how often the check will be made. A check in a block that
//! every way around passes is made in each of the n iterations, unless one of them leaves the loop
//! before. So a check that is made once needs that the only exit from which it has not been made is
//! the header's ([`Made::Once`]); a range, that the header's is the only exit ([`Made::Always`]). n
//! is known from the count that a `for` has, or from a counter and its bound. With a bound, n is
//! too small if the counter passes the largest int before it. After that, with a step of at most
//! 2²⁰, the loop would go on for 2⁴³ iterations and each of these would access another element, for
//! which no array is large enough; if all access the same one, once is enough.
//!
//! **Behind** otherwise ([`super::behind`]), also those of a location that goes on now and then
//! ([`super::sweeps`]).
//!
//! **Groups.** Equal checks on several ways of an iteration, as in both branches of an `if`, are
//! one check that is made wherever one of them is ([`super::ways`]).
//!
//! **Null.** In front of the loop the array may still be null. So the sizes of its dimensions are
//! asked for by [`Op::SizeOrZero`], which never fails. A check of null covers nothing.
//!
//! **Wrapping.** Locations are computed in wrapping arithmetic. If no bounds check of the loop
//! fails, consecutive locations, which differ by the step, both lie in the object, so the step is
//! small, and no sum of them wraps without passing through locations outside. If one fails, see
//! [`super`].
//!
//! All loops of one height are done before those around them, for which what stands in front of an
//! inner loop is a check of its own. Linear, times the depth of nesting.

use super::loop_front::LoopFront;
use super::steps::Steps;
use super::sweeps::Sweep;
use super::ways::{Exit, Ways};
use super::{Notes, behind, loop_invariant, ranges};
use crate::changes::Changes;
use crate::edit::Definitions;
use crate::effects::is_pure;
use crate::evolution::{Class, Context, Evolution, Trips, is_outside};
use crate::loop_form::Nest;
use finishline_ir::loops::{Loop, LoopId};
use finishline_ir::{BlockId, Function, Instruction, Op, Operand, Type, Value};
use finishline_model::{AccessId, AccessKind, Pass, Passes, SiteId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest step of a counter that is compared with a bound.
const LARGEST_STEP: u64 = 1 << 20;

/// What may be done about the checks of the loops of a function.
pub(crate) struct Round {
    /// Whether a check may go behind its loop.
    behind: bool,
    /// Accesses whose rows an earlier round has joined. What is left of such a row is a range only
    /// if the rows are apart, so to join it again is no use.
    joined: FxHashSet<AccessId>,
}

impl Round {
    /// Before loops are versioned. Later more may be known in front of a loop, so nothing goes
    /// behind one yet.
    pub(crate) fn first() -> Round {
        Round {
            behind: false,
            joined: FxHashSet::default(),
        }
    }

    pub(crate) fn last(earlier: Round) -> Round {
        Round {
            behind: true,
            ..earlier
        }
    }
}

/// Moves checks out of the loops of a function. Whether there were any.
pub(super) fn move_out(
    function: &mut Function,
    steps: &Steps,
    passes: Passes,
    round: &mut Round,
    notes: &mut Notes,
) -> bool {
    let mut height = 0;
    let mut any = false;
    let mut joined = Vec::new();
    while let Some(nest) = Nest::of(function).filter(|nest| height < nest.heights()) {
        let definitions = Definitions::of(function);
        let found = nest.of_height(height).into_iter();
        let plans: Vec<(LoopId, Plan)> = found
            .filter_map(|id| {
                let context = Context {
                    function,
                    definitions: &definitions,
                    dominators: &nest.dominators,
                    loops: &nest.loops,
                    id,
                };
                Some((id, Plan::of(context, steps, passes, round)?))
            })
            .collect();
        any |= !plans.is_empty();
        for (id, plan) in plans {
            joined.extend(plan.rows.iter().map(|row| row.check.access));
            plan.carry_out(function, nest.loops.get(id), nest.entry(id), notes);
        }
        height += 1;
    }
    round.joined.extend(joined);
    any
}

/// How often a check is made if its loop is entered, as far as that is known in front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Made {
    /// In every iteration and once more, as the header is.
    InHeader,
    /// In the first iteration, if there is one; then perhaps not.
    Once,
    /// In every iteration, and the loop ends by its header alone.
    Always,
    Unknown,
}

/// A check, and where it stands.
pub(super) struct Candidate {
    pub(super) check: Check,
    pub(super) first: Offset,
    pub(super) made: Made,
    places: Vec<Place>,
}

impl Candidate {
    /// The blocks that make it.
    pub(super) fn blocks(&self) -> Vec<BlockId> {
        self.places.iter().map(|place| place.block).collect()
    }
}

/// One of the equal checks of a group.
#[derive(Clone, Copy)]
struct Place {
    block: BlockId,
    at: usize,
    access: AccessId,
}

/// A check but for its first location. The access and the site are those of one of the group.
#[derive(Clone, Copy)]
pub(super) struct Check {
    pub(super) kind: AccessKind,
    pub(super) base: Value,
    pub(super) count: Operand,
    pub(super) stride: Operand,
    access: AccessId,
    site: SiteId,
}

impl Check {
    /// The check of other locations of the same object.
    pub(super) fn of(self, first: Operand, count: Operand, stride: Operand) -> Instruction {
        Instruction {
            op: Op::Check {
                kind: self.kind,
                base: self.base,
                first,
                count,
                stride,
                access: self.access,
            },
            result: None,
            site: self.site,
        }
    }
}

/// The first location of a check.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Offset {
    Operand(Operand),
    /// An element by its indices, behind a bounds check in the loop.
    Element(Vec<Value>),
}

impl Offset {
    fn values(&self) -> &[Value] {
        match self {
            Offset::Operand(Operand::Value(value)) => std::slice::from_ref(value),
            Offset::Operand(Operand::Constant(_)) => &[],
            Offset::Element(indices) => indices,
        }
    }
}

/// What is done about the checks of a loop.
struct Plan {
    in_front: Vec<(Candidate, Pass)>,
    behind: Vec<Behind>,
    /// Ranges that inner loops had.
    rows: Vec<Candidate>,
    trips: Option<Trips>,
    /// What these are made of, in the order of the loop.
    needed: Vec<(Value, Op, Type)>,
    /// Header parameters that grow: which, by what, whether it is subtracted.
    counters: Vec<(Value, usize, Value, bool)>,
    constants: FxHashMap<Value, i64>,
}

/// A check that goes behind its loop.
struct Behind {
    candidate: Candidate,
    pass: Pass,
    exits: Vec<Exit>,
    /// If its location goes on now and then, and not in each iteration.
    sweep: Option<Sweep>,
}

impl Plan {
    fn of(context: Context<'_>, steps: &Steps, passes: Passes, round: &Round) -> Option<Plan> {
        let blocks = context.loops.get(context.id).blocks.iter();
        let mut instructions = blocks.flat_map(|b| &context.function.block(*b).instructions);
        if instructions.any(|instruction| steps.may_end(&instruction.op)) {
            return None;
        }
        let evolution = Evolution::of(context, &Changes::everything());
        let computable = computable(context, &evolution);
        let class = |value: Value| match is_outside(context, value) {
            true => Class::Invariant,
            false if computable.contains(&value) => evolution.class(context, value),
            false => Class::Varying,
        };
        let trips = evolution.trips.filter(|trips| match trips {
            Trips::Count { .. } => true,
            Trips::Bound { step, bound, .. } => {
                step.unsigned_abs() <= LARGEST_STEP && class(*bound) == Class::Invariant
            }
        });
        let mut plan = Plan {
            in_front: Vec::new(),
            behind: Vec::new(),
            rows: Vec::new(),
            trips,
            needed: Vec::new(),
            counters: Vec::new(),
            constants: FxHashMap::default(),
        };
        let ways = Ways::of(context);
        let is_search = behind::is_search(context, ways.leaving(), &evolution);
        for candidate in candidates(context, &ways, trips.is_some()) {
            let first = candidate.first.values().iter().map(|value| class(*value));
            let first = first.fold(Class::Invariant, changes_more);
            let rest = [candidate.check.count, candidate.check.stride];
            let rest = rest.into_iter().filter_map(Operand::value);
            if rest.map(class).any(|class| class != Class::Invariant) {
                continue;
            }
            let blocks = candidate.blocks();
            let sweep = match first {
                Class::Invariant => None,
                _ => Sweep::of(context, &ways, &blocks, &candidate.first),
            };
            let is_known = match first {
                Class::Varying => sweep.is_some(),
                _ => ways.always_pass(&blocks),
            };
            if !is_known {
                continue;
            }
            let (pass, in_front) = match first {
                Class::Invariant => (Pass::LoopInvariant, candidate.made != Made::Unknown),
                Class::Linear => (Pass::Ranges, candidate.made == Made::Always),
                Class::Varying => (Pass::Ranges, false),
            };
            if !passes.contains(pass) {
                continue;
            }
            let count = match candidate.check.count {
                Operand::Constant(count) => Some(count),
                Operand::Value(value) => context.definitions.int(context.function, value),
            };
            if pass == Pass::Ranges && count != Some(1) {
                if in_front && !round.joined.contains(&candidate.check.access) {
                    plan.rows.push(candidate);
                }
                continue;
            }
            if in_front {
                plan.in_front.push((candidate, pass));
            } else if round.behind
                && !(is_search && pass == Pass::Ranges)
                && let Some(exits) = ways.exits(&blocks)
            {
                plan.behind.push(Behind {
                    candidate,
                    pass,
                    exits,
                    sweep,
                });
            }
        }
        if plan.in_front.is_empty() && plan.behind.is_empty() && plan.rows.is_empty() {
            return None;
        }
        plan.find_needed(context, &evolution);
        Some(plan)
    }

    fn candidates(&self) -> impl Iterator<Item = (&Candidate, Pass)> {
        let behind = self
            .behind
            .iter()
            .map(|behind| (&behind.candidate, behind.pass));
        let in_front = self
            .in_front
            .iter()
            .map(|(candidate, pass)| (candidate, *pass));
        in_front.chain(behind)
    }

    /// What the checks are made of, back to what is known before the loop.
    fn find_needed(&mut self, context: Context<'_>, evolution: &Evolution) {
        let function = context.function;
        let this = context.loops.get(context.id);
        let mut wanted: FxHashSet<Value> = FxHashSet::default();
        let moved = self.candidates().map(|(candidate, _)| candidate);
        for Candidate { first, check, .. } in moved.chain(&self.rows) {
            wanted.extend(first.values());
            wanted.extend(
                [check.count, check.stride]
                    .into_iter()
                    .filter_map(Operand::value),
            );
        }
        if let Some(Trips::Bound { bound, .. }) = self.trips {
            wanted.insert(bound);
        }
        let blocks = this.blocks.iter().rev();
        for instruction in blocks.flat_map(|b| function.block(*b).instructions.iter().rev()) {
            if let Some(result) = instruction.result
                && wanted.contains(&result)
            {
                instruction.op.for_each_use(|value| {
                    wanted.insert(value);
                });
                let needed = (result, instruction.op.clone(), function.ty(result));
                self.needed.push(needed);
            }
        }
        self.needed.reverse();
        for parameter in &function.block(this.header).parameters {
            if let Some(counter) = evolution.counters.get(parameter) {
                wanted.insert(counter.step);
                let counter = (*parameter, counter.at, counter.step, counter.shrinks);
                self.counters.push(counter);
            }
        }
        wanted.extend(entry_arguments(context));
        for value in wanted {
            if let Some(int) = context.definitions.int(function, value) {
                self.constants.insert(value, int);
            }
        }
    }

    fn carry_out(self, function: &mut Function, this: &Loop, entry: BlockId, notes: &mut Notes) {
        let mut place = LoopFront::new(function, entry, &self.constants);
        place.follow(&self.counters, &self.needed);
        place.find_trips(self.trips);
        let mut ranges = Vec::new();
        for (candidate, pass) in &self.in_front {
            match pass {
                Pass::LoopInvariant => loop_invariant::add_in_front(candidate, &mut place),
                _ => ranges.push(candidate),
            }
        }
        ranges::add_in_front(&ranges, &mut place);
        let rows = self.rows.iter();
        let left: Vec<Operand> = rows.map(|row| ranges::join_rows(row, &mut place)).collect();
        let behind = self.behind.iter().map(|behind| {
            let candidate = &behind.candidate;
            let (first, step) = match behind.sweep {
                Some(sweep) => (place.argument(sweep.at), Operand::Constant(sweep.step)),
                None => {
                    let step = place.line_of(candidate).step;
                    (place.first(candidate), place.sum(step))
                }
            };
            behind::Moved {
                check: candidate.check,
                first,
                step,
                count: place.operand(candidate.check.count),
                stride: place.operand(candidate.check.stride),
                exits: behind.exits.clone(),
                sweep: behind.sweep,
            }
        });
        let behind: Vec<behind::Moved> = behind.collect();

        let mut gone: Vec<(BlockId, usize)> = Vec::new();
        for (candidate, pass) in self.candidates() {
            for place in &candidate.places {
                gone.push((place.block, place.at));
                notes.push((place.access, pass));
            }
        }
        for (row, left) in self.rows.iter().zip(left) {
            for place in &row.places {
                if left == Operand::Constant(0) {
                    gone.push((place.block, place.at));
                }
                let instruction = &mut function.blocks[place.block.index()].instructions[place.at];
                if let Op::Check { count, .. } = &mut instruction.op {
                    *count = left;
                }
            }
        }
        // From the last on, so that the positions of the others stay what they are.
        gone.sort_unstable();
        for (block, at) in gone.into_iter().rev() {
            function.blocks[block.index()].instructions.remove(at);
        }
        behind::add(function, this, entry, behind);
    }
}

fn changes_more(a: Class, b: Class) -> Class {
    match (a, b) {
        (Class::Varying, _) | (_, Class::Varying) => Class::Varying,
        (Class::Linear, _) | (_, Class::Linear) => Class::Linear,
        _ => Class::Invariant,
    }
}

/// The values of a loop that can be computed in front of it whatever the loop does: counters, and
/// what operations that can't fail make of them.
fn computable(context: Context<'_>, evolution: &Evolution) -> FxHashSet<Value> {
    let Context {
        function,
        definitions,
        loops,
        id,
        ..
    } = context;
    let mut found: FxHashSet<Value> = evolution.counters.keys().copied().collect();
    for block in &loops.get(id).blocks {
        for instruction in &function.block(*block).instructions {
            let Some(result) = instruction.result else {
                continue;
            };
            let mut known = is_pure(function, definitions, &instruction.op);
            instruction.op.for_each_use(|value| {
                known &= is_outside(context, value) || found.contains(&value);
            });
            if known {
                found.insert(result);
            }
        }
    }
    found
}

/// The arguments that the loop is entered with.
fn entry_arguments(context: Context<'_>) -> Vec<Value> {
    let header = context.loops.get(context.id).header;
    let outside = |(index, _): &(usize, _)| {
        !context
            .loops
            .contains(context.id, BlockId::from_index(*index))
    };
    let blocks = context.function.blocks.iter().enumerate().filter(outside);
    let edges = blocks.flat_map(|(_, block)| block.terminator.targets());
    let edges = edges.filter(|target| target.block == header);
    edges.flat_map(|target| target.arguments.clone()).collect()
}

/// The checks of objects known before the loop, equal ones together.
fn candidates(context: Context<'_>, ways: &Ways<'_>, trips_are_known: bool) -> Vec<Candidate> {
    let Context {
        function,
        definitions,
        loops,
        id,
        ..
    } = context;
    let mut found: Vec<Candidate> = Vec::new();
    let mut known: FxHashMap<_, usize> = FxHashMap::default();
    for &block in &loops.get(id).blocks {
        for (at, instruction) in function.block(block).instructions.iter().enumerate() {
            let Op::Check {
                kind,
                base,
                first,
                count,
                stride,
                access,
            } = instruction.op
            else {
                continue;
            };
            if !is_outside(context, base) {
                continue;
            }
            let index = first.value().filter(|v| !is_outside(context, *v));
            let first = match index.and_then(|value| definitions.op(function, value)) {
                Some(Op::Index { array, indices }) if *array == base => {
                    Offset::Element(indices.clone())
                }
                _ => Offset::Operand(first),
            };
            let place = Place { block, at, access };
            let alike = (kind as u8, base, first.clone(), count, stride);
            if let Some(&one) = known.get(&alike) {
                found[one].places.push(place);
                continue;
            }
            known.insert(alike, found.len());
            found.push(Candidate {
                check: Check {
                    kind,
                    base,
                    count,
                    stride,
                    access,
                    site: instruction.site,
                },
                first,
                made: Made::Unknown,
                places: vec![place],
            });
        }
    }
    if trips_are_known {
        for candidate in &mut found {
            candidate.made = made(context, ways, &candidate.blocks());
        }
    }
    found
}

/// How often a check of these blocks is made, if it is made in every iteration and their number is
/// known.
fn made(context: Context<'_>, ways: &Ways<'_>, blocks: &[BlockId]) -> Made {
    let header = context.loops.get(context.id).header;
    let others = || ways.leaving().iter().filter(|block| **block != header);
    if blocks.contains(&header) {
        Made::InHeader
    } else if others().next().is_none() {
        Made::Always
    } else if others().all(|other| ways.has_passed(blocks, *other)) {
        Made::Once
    } else {
        Made::Unknown
    }
}
