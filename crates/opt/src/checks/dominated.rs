//! Read/write check elimination [ESP-bags §6.5]: of two checks of one location in one task, one is
//! enough where it covers the other.
//!
//! A check *covers* another one if both are of the same locations, both inside isolated blocks or
//! both outside, and it is a write or both are reads. The paper speaks of dominance; asked here is
//! a little more, by two data-flow analyses, as the paper leaves out what may stand in between:
//!
//! 1. **Before.** A check goes if on every way to it a covering check was made and no task has been
//!    created since that may still be running. Let a be the covering access, c the covered one, and
//!    b any access parallel to c that conflicts with it. If b is of a task that the task of a and c
//!    created, directly or not, that task was created before a, for it was not created between, and
//!    it was not waited for before c, hence not before a: b is parallel to a. Otherwise b's
//!    relation to the whole task from a to c is the same. As a covers c, b conflicts with a: the
//!    location races without c. What stands in between may wait for tasks: that takes accesses away
//!    that are parallel to c, none that are parallel to a.
//! 2. **Behind.** A check goes if on every way from it a covering check is made and nothing before
//!    that waits for a task. By the same argument, the other way round: what is parallel to c has
//!    not been waited for at c, so not at a either. What stands in between may create tasks.
//!
//! The first rule is carried out before the second looks, so that no two checks remove each other.
//! A check inside an isolated block says nothing about one outside: two isolated accesses never
//! race. Nor does a check under some locks say anything about one under others, so nothing is known
//! across an operation on locks. Between c and a the program may fail; see [`super`].
//!
//! A check that is made once or not at all, as [`super::loop_invariant`] leaves them, is covered by
//! one of the same location that surely is made, but covers only those that are made if it is.
//!
//! Locations are known by the values that name them. A value in a loop is another one in each
//! iteration, so where a value is defined, what is known by it is forgotten.
//!
//! Linear in blocks times checks, by bit sets; a function in which that is too much is left alone.

use super::Notes;
use super::steps::Steps;
use crate::edit::Predecessors;
use finishline_ir::dominators::Dominators;
use finishline_ir::{BlockId, Const, Function, Op, Operand, Type, Value};
use finishline_model::{AccessKind, Pass};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bits for one fact at the ends of all blocks: a megabyte.
const MOST_BITS: usize = 1 << 23;

/// Removes the checks of a function that others cover, in each direction in turn.
pub(super) fn remove_dominated(
    function: &mut Function,
    steps: &Steps,
    directions: &[Direction],
    notes: &mut Notes,
) {
    for &direction in directions {
        let Some(names) = Names::of(function) else {
            return;
        };
        let covered = Flow {
            function,
            steps,
            names: &names,
            direction,
        }
        .covered();
        remove(function, &covered, notes);
    }
}

/// Where the check is that covers another one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Before,
    Behind,
}

/// What a check is of: the base, first, count and stride, and whether it is made inside an isolated
/// block.
type Name = (Value, Operand, Operand, Operand, bool);

/// The distinct names of a function's checks, numbered.
struct Names {
    numbers: FxHashMap<Name, u32>,
    counts: Counts,
    /// By value: the names that it is part of.
    of_value: FxHashMap<Value, Vec<u32>>,
    /// By block, whether it starts inside an isolated block.
    isolated: Vec<bool>,
}

impl Names {
    /// None if there is nothing to do, or too much.
    fn of(function: &Function) -> Option<Names> {
        let mut names = Names {
            numbers: FxHashMap::default(),
            counts: Counts::of(function),
            of_value: FxHashMap::default(),
            isolated: isolation(function),
        };
        let mut checks = 0;
        for (block, starts_isolated) in function.blocks.iter().zip(names.isolated.clone()) {
            let mut isolated = starts_isolated;
            for instruction in &block.instructions {
                follow_isolation(&mut isolated, &instruction.op);
                if let Some(check) = names.counts.named(&instruction.op, isolated) {
                    checks += 1;
                    names.add(check.name);
                    if let Some(surely) = check.surely {
                        names.add(surely);
                    }
                }
            }
        }
        // As many names as checks, or more: no two of one location.
        let some_meet = names.numbers.len() < checks || !names.counts.at_most_one.is_empty();
        let bits = 2 * names.numbers.len() * function.blocks.len();
        (some_meet && bits <= MOST_BITS).then_some(names)
    }

    fn add(&mut self, name: Name) {
        let number = self.numbers.len() as u32;
        if self.numbers.contains_key(&name) {
            return;
        }
        self.numbers.insert(name, number);
        let (base, first, count, stride, _) = name;
        let operands = [first, count, stride]
            .into_iter()
            .filter_map(Operand::value);
        for value in operands.chain([base]) {
            self.of_value.entry(value).or_default().push(number);
        }
    }
}

/// By block, whether it starts inside an isolated block; the same on every way to it, as the
/// verifier demands.
fn isolation(function: &Function) -> Vec<bool> {
    let mut isolated = vec![false; function.blocks.len()];
    for &id in Dominators::of(function).order() {
        let block = function.block(id);
        let mut inside = isolated[id.index()];
        for instruction in &block.instructions {
            follow_isolation(&mut inside, &instruction.op);
        }
        for target in block.terminator.targets() {
            isolated[target.block.index()] = inside;
        }
    }
    isolated
}

fn follow_isolation(isolated: &mut bool, op: &Op) {
    match op {
        Op::IsolatedBegin => *isolated = true,
        Op::IsolatedEnd => *isolated = false,
        _ => {}
    }
}

/// A check by its name.
struct Named {
    kind: AccessKind,
    name: Name,
    /// If it may not be made at all: the name of one of the same location that is.
    surely: Option<Name>,
}

/// Counts of checks that are values: those known to be 1, and those known to be 0 or 1.
struct Counts {
    one: FxHashSet<Value>,
    at_most_one: FxHashSet<Value>,
}

impl Counts {
    fn of(function: &Function) -> Counts {
        let mut counts = Counts {
            one: FxHashSet::default(),
            at_most_one: FxHashSet::default(),
        };
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            match (&instruction.op, instruction.result) {
                (Op::Const(Const::Int(1)), Some(result)) => {
                    counts.one.insert(result);
                }
                (Op::Convert(from, _), Some(result)) if function.ty(*from) == Type::Bool => {
                    counts.at_most_one.insert(result);
                }
                _ => {}
            }
        }
        counts
    }

    fn named(&self, op: &Op, isolated: bool) -> Option<Named> {
        let Op::Check {
            kind,
            base,
            first,
            count,
            stride,
            ..
        } = *op
        else {
            return None;
        };
        let single = (base, first, ONE, ONE, isolated);
        let (name, surely) = match count {
            Operand::Constant(1) => (single, None),
            Operand::Value(value) if self.one.contains(&value) => (single, None),
            Operand::Value(value) if self.at_most_one.contains(&value) => {
                ((base, first, count, ONE, isolated), Some(single))
            }
            _ => ((base, first, count, stride, isolated), None),
        };
        Some(Named { kind, name, surely })
    }
}

const ONE: Operand = Operand::Constant(1);

/// For each name: whether a read, and whether a write, of it is covered.
#[derive(Clone, PartialEq, Eq)]
struct Covered(Vec<u64>);

impl Covered {
    fn new(names: usize, everything: bool) -> Covered {
        let fill = if everything { u64::MAX } else { 0 };
        Covered(vec![fill; (2 * names).div_ceil(64)])
    }

    fn bit(name: u32, kind: AccessKind) -> (usize, u64) {
        let bit = 2 * name as usize + kind as usize;
        (bit / 64, 1 << (bit % 64))
    }

    fn has(&self, name: u32, kind: AccessKind) -> bool {
        let (word, mask) = Covered::bit(name, kind);
        self.0[word] & mask != 0
    }

    /// A check of this kind is made.
    fn add(&mut self, name: u32, kind: AccessKind) {
        let kinds: &[AccessKind] = match kind {
            AccessKind::Read => &[AccessKind::Read],
            AccessKind::Write => &[AccessKind::Read, AccessKind::Write],
        };
        for kind in kinds {
            let (word, mask) = Covered::bit(name, *kind);
            self.0[word] |= mask;
        }
    }

    fn forget(&mut self, name: u32) {
        for kind in [AccessKind::Read, AccessKind::Write] {
            let (word, mask) = Covered::bit(name, kind);
            self.0[word] &= !mask;
        }
    }

    fn forget_all(&mut self) {
        self.0.fill(0);
    }

    /// Keeps what both have; whether that was less.
    fn meet(&mut self, other: &Covered) -> bool {
        let mut less = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            less |= *mine & !theirs != 0;
            *mine &= theirs;
        }
        less
    }
}

/// One analysis of one function.
struct Flow<'a> {
    function: &'a Function,
    steps: &'a Steps,
    names: &'a Names,
    direction: Direction,
}

impl Flow<'_> {
    /// By block, the positions of the checks that are covered, in rising order.
    fn covered(&self) -> Vec<Vec<usize>> {
        let mut found = vec![Vec::new(); self.function.blocks.len()];
        let mut starts = self.starts();
        for &block in Dominators::of(self.function).order() {
            let (state, found) = (&mut starts[block.index()], &mut found[block.index()]);
            self.walk(block, state, |at| found.push(at));
            found.sort_unstable();
        }
        found
    }

    /// By block: what is covered where the walk through it starts, which is its end if the analysis
    /// looks behind.
    fn starts(&self) -> Vec<Covered> {
        let (function, names) = (self.function, self.names.numbers.len());
        let predecessors = Predecessors::of(function);
        let mut starts = vec![Covered::new(names, true); function.blocks.len()];
        let mut waiting: Vec<BlockId> = Dominators::of(function).order().to_vec();
        match self.direction {
            Direction::Before => {
                starts[Function::ENTRY.index()].forget_all();
                waiting.reverse();
            }
            Direction::Behind => {
                for (block, start) in function.blocks.iter().zip(&mut starts) {
                    if block.terminator.targets().next().is_none() {
                        start.forget_all();
                    }
                }
            }
        }
        let mut is_waiting = vec![false; function.blocks.len()];
        for block in &waiting {
            is_waiting[block.index()] = true;
        }
        while let Some(block) = waiting.pop() {
            is_waiting[block.index()] = false;
            let mut state = starts[block.index()].clone();
            self.walk(block, &mut state, |_| {});
            let mut reach = |next: BlockId| {
                if starts[next.index()].meet(&state)
                    && !std::mem::replace(&mut is_waiting[next.index()], true)
                {
                    waiting.push(next);
                }
            };
            match self.direction {
                Direction::Before => {
                    let targets = function.block(block).terminator.targets();
                    targets.for_each(|target| reach(target.block));
                }
                Direction::Behind => predecessors.get(block).iter().copied().for_each(reach),
            }
        }
        starts
    }

    /// Goes through a block; `found` is called with the position of every check that is covered.
    fn walk(&self, block: BlockId, state: &mut Covered, mut found: impl FnMut(usize)) {
        let starts_isolated = self.names.isolated[block.index()];
        let block = self.function.block(block);
        let mut isolated = starts_isolated;
        match self.direction {
            Direction::Before => {
                for parameter in &block.parameters {
                    self.forget_value(*parameter, state);
                }
                for (at, instruction) in block.instructions.iter().enumerate() {
                    follow_isolation(&mut isolated, &instruction.op);
                    if self.pass(&instruction.op, isolated, state) {
                        found(at);
                    }
                    if self.steps.may_leave_a_task(&instruction.op)
                        || self.steps.may_change_locks(&instruction.op)
                    {
                        state.forget_all();
                    }
                    if let Some(result) = instruction.result {
                        self.forget_value(result, state);
                    }
                }
            }
            Direction::Behind => {
                for instruction in &block.instructions {
                    follow_isolation(&mut isolated, &instruction.op);
                }
                for (at, instruction) in block.instructions.iter().enumerate().rev() {
                    if let Some(result) = instruction.result {
                        self.forget_value(result, state);
                    }
                    if self.steps.may_join(&instruction.op)
                        || self.steps.may_change_locks(&instruction.op)
                    {
                        state.forget_all();
                    }
                    if self.pass(&instruction.op, isolated, state) {
                        found(at);
                    }
                    match instruction.op {
                        Op::IsolatedBegin => isolated = false,
                        Op::IsolatedEnd => isolated = true,
                        _ => {}
                    }
                }
                for parameter in &block.parameters {
                    self.forget_value(*parameter, state);
                }
            }
        }
    }

    /// Whether an operation is a check that is covered; if it is a check, it covers others from now
    /// on.
    fn pass(&self, op: &Op, isolated: bool, state: &mut Covered) -> bool {
        let Some(Named { kind, name, surely }) = self.names.counts.named(op, isolated) else {
            return false;
        };
        let mut names = surely.iter().chain([&name]);
        let covered = names.any(|name| state.has(self.names.numbers[name], kind));
        state.add(self.names.numbers[&name], kind);
        covered
    }

    fn forget_value(&self, value: Value, state: &mut Covered) {
        for name in self.names.of_value.get(&value).into_iter().flatten() {
            state.forget(*name);
        }
    }
}

fn remove(function: &mut Function, covered: &[Vec<usize>], notes: &mut Notes) {
    for (block, covered) in function.blocks.iter_mut().zip(covered) {
        let mut covered = covered.iter().copied().peekable();
        let mut at = 0;
        block.instructions.retain(|instruction| {
            let goes = covered.next_if_eq(&at).is_some();
            at += 1;
            if let (true, Op::Check { access, .. }) = (goes, &instruction.op) {
                notes.push((*access, Pass::Dominated));
            }
            !goes
        });
    }
}
