//! What strands have learnt by joins that are no part of the structure, and the search in it.
//!
//! **Chains.** A strand learns of *sets*: a promise orders what its setter did before everything
//! after a get. What it has learnt is a chain that only grows, so an earlier moment of the strand
//! is the same chain from a later entry on, and a task shares the chain that its creator had. A set
//! knows its step and what its setter had learnt.
//!
//! ```text
//! set, own      someone's set, and what the setter had learnt since its task was created
//! set, all      someone's set, and all that the setter had learnt
//! others, own   what a joined task had learnt since it was created
//! others, all   all that it had learnt
//! inherited     here begins what the task has learnt itself; the older entries are the creator's
//! ```
//!
//! A setter's task inherits what its creator had learnt. If the creation precedes the getter, the
//! getter knows that already, and need not be led there once more. Else the futures that one task
//! gets would all lead to everything before, each in its own way. The same is true of tasks that a
//! finish joins.
//!
//! **Structured futures** are got by the task that created them. If a task has joined all tasks
//! that it created, in whatever way, then everything below it precedes its next set. What is below
//! a task lies together in the first list. So such a *closed* set answers for all of it by one
//! comparison, and what the task has learnt from below need not be followed. The task itself
//! forgets it and learns instead of a closed set that it makes for itself. What a task does behind
//! its last set only a finish joins. So the order asks about the end of that finish instead.
//!
//! **The search** for a set after a step goes backwards, the newest entries first. It leaves out
//! entries that can't lead to one: those that lead to older sets alone (sets are numbered as they
//! are made), and those that lead only to steps before it in one of the two lists. For this each
//! entry knows the greatest of what it leads to. Tasks in a tree or in a grid lie so in the lists
//! that hardly anything is left but the way to the set.
//!
//! **Jumps.** A chain may be long. So an entry also has a jump to an older one, and knows the
//! greatest of all that it and those jumped over lead to [Myers 1983, applicative random-access
//! stacks]. A chain in which one entry matters is searched in logarithmic time. Jumps over entries
//! end at the beginning of the task's own. Jumps over beginnings go from task to task, so long
//! chains of creations are no worse.

use super::Effort;
use super::two_lists::{Element, FRONT, List, TwoLists};
use crate::table::{Table, TableError};
use std::ops::ControlFlow;

/// Something learnt: the newest entry of a chain, or [`NOTHING`].
pub(super) type Learnt = u32;
pub(super) const NOTHING: Learnt = 0;

/// The number of a set.
pub(super) type SetNumber = u32;

/// So many entries are looked through one by one.
const FEW: u32 = 8;

/// Sets and entries have numbers of 29 bits.
const MOST_JOINS: usize = 1 << 29;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Set(SetNumber, Extent),
    /// What another task learnt.
    Others(Learnt, Extent),
    /// What follows is the creator's.
    Inherited,
}

/// How far a chain is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// To what was inherited.
    Own,
    All,
}

/// An entry of a chain.
#[derive(Clone, Copy, Debug)]
struct Entry {
    older: Learnt,
    what: What,
    /// An older entry, or the end of the chain.
    jump: Learnt,
    /// The number of entries that the task has up to this one. If this is where they begin, the
    /// number of beginnings.
    length: u32,
    /// What this entry and those before the jump lead to.
    reach: Reach,
    /// The search that has passed here last.
    passed: u32,
}

/// An entry as words of a table.
type Words = [u32; 8];
const PASSED: usize = 7;
/// The kind of an entry, in the word of what it tells.
const KIND: u32 = 7 << 29;
const SET_AND_ALL: u32 = 1 << 29;
const OTHERS: u32 = 2 << 29;
const ALL_OF_OTHERS: u32 = 3 << 29;
const INHERITED: u32 = 4 << 29;

impl Entry {
    fn to_words(self) -> Words {
        let what = match self.what {
            What::Set(number, Extent::Own) => number,
            What::Set(number, Extent::All) => number | SET_AND_ALL,
            What::Others(learnt, Extent::Own) => learnt | OTHERS,
            What::Others(learnt, Extent::All) => learnt | ALL_OF_OTHERS,
            What::Inherited => INHERITED,
        };
        let Reach {
            sets_below,
            last: [first, second],
        } = self.reach;
        let Entry {
            older,
            jump,
            length,
            passed,
            ..
        } = self;
        [older, what, jump, length, sets_below, first, second, passed]
    }

    #[inline]
    fn from_words(words: Words) -> Entry {
        let [older, what, jump, length, sets_below, first, second, passed] = words;
        let number = what & !KIND;
        Entry {
            older,
            what: match what & KIND {
                0 => What::Set(number, Extent::Own),
                SET_AND_ALL => What::Set(number, Extent::All),
                OTHERS => What::Others(number, Extent::Own),
                ALL_OF_OTHERS => What::Others(number, Extent::All),
                _ => What::Inherited,
            },
            jump,
            length,
            reach: Reach {
                sets_below,
                last: [first, second],
            },
            passed,
        }
    }
}

/// How an entry jumps.
#[derive(Clone, Copy, Debug)]
struct Leap {
    /// The number of entries that the task has up to this one.
    length: u32,
    to: Learnt,
    /// The entries whose jumps it joins.
    over: Option<[Learnt; 2]>,
}

/// The sets that something leads to.
#[derive(Clone, Copy, Debug)]
struct Reach {
    /// They have smaller numbers.
    sets_below: SetNumber,
    /// The last of their steps in each list.
    last: [Element; 2],
}

impl Reach {
    const NONE: Reach = Reach {
        sets_below: 0,
        last: [FRONT; 2],
    };

    fn or(self, other: Reach, lists: &TwoLists) -> Reach {
        Reach {
            sets_below: self.sets_below.max(other.sets_below),
            last: lists.last(self.last, other.last),
        }
    }
}

/// What a task has learnt so far.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Chain {
    pub(super) learnt: Learnt,
    /// What it had learnt when it was created.
    inherited: Learnt,
    /// Where what it has learnt itself begins, or else its creator, and so on.
    beginning: Learnt,
}

impl Chain {
    /// One that belongs to no task.
    pub(super) fn of_nobody(learnt: Learnt) -> Chain {
        Chain {
            learnt,
            ..Chain::default()
        }
    }

    /// That of a task which is created by the one with this chain.
    pub(super) fn of_child(self) -> Chain {
        Chain {
            inherited: self.learnt,
            ..self
        }
    }

    pub(super) fn has_learnt(&self) -> bool {
        self.learnt != self.inherited
    }

    /// Without what the task has learnt itself.
    fn forgotten(self) -> Chain {
        let own = self.has_learnt() && self.inherited != NOTHING;
        Chain {
            learnt: if own { self.beginning } else { self.inherited },
            ..self
        }
    }
}

/// A set, by a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    pub(super) step: Element,
    /// What the setter had learnt.
    pub(super) learnt: Learnt,
    /// Whether that leads nowhere but to what the setter had inherited, and below it.
    pub(super) learnt_nothing: bool,
    /// The step that created the setter.
    pub(super) creator: Element,
    /// If everything below the setter precedes the set.
    pub(super) closed: Option<Below>,
}

/// The steps below a task so far: the first one in the first list, and the last one in the second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    pub(super) first: Element,
    pub(super) last: Element,
}

impl Set {
    /// What a set leads to besides its step.
    #[inline]
    fn learnt(&self, extent: Extent) -> Learnt {
        match extent {
            Extent::Own if self.learnt_nothing => NOTHING,
            _ => self.learnt,
        }
    }

    /// The sets and steps that this one leads to by itself.
    fn reach(&self, number: SetNumber) -> Reach {
        Reach {
            sets_below: number + 1,
            last: [self.step, self.closed.map_or(self.step, |below| below.last)],
        }
    }

    /// Whether a step precedes or is that of the set, as far as the set itself tells.
    #[inline]
    fn is_after(&self, earlier: Element, lists: &TwoLists) -> bool {
        let first = self.closed.map_or(self.step, |below| below.first);
        lists.between(List::First, [first, earlier, self.step]) || lists.before(earlier, self.step)
    }
}

/// In the word of what a setter had learnt: it leads nowhere.
const NOTHING_LEARNT: u32 = 1 << 31;

#[derive(Debug)]
pub(super) struct Joins {
    /// The first one stands for nothing learnt.
    entries: Table<Words>,
    sets: Table<[u32; 5]>,
    queue: Vec<(Learnt, Extent)>,
    searches: u32,
    pub(super) effort: Effort,
}

impl Joins {
    pub(super) fn new() -> Result<Joins, TableError> {
        let mut entries = Table::reserve("joins", MOST_JOINS)?;
        entries.push_zero()?;
        Ok(Joins {
            entries,
            sets: Table::reserve("sets", MOST_JOINS)?,
            queue: Vec::new(),
            searches: 0,
            effort: Effort::default(),
        })
    }

    /// The number of sets so far.
    pub(super) fn sets(&self) -> SetNumber {
        self.sets.len() as SetNumber
    }

    pub(super) fn set(&mut self, set: Set) -> Result<SetNumber, TableError> {
        let number = self.sets.push_zero()? as SetNumber;
        self.put(number, set);
        Ok(number)
    }

    /// Puts another set in the place of the latest one, which nobody has learnt of. An object may
    /// hold it as the newest entry of a chain.
    pub(super) fn move_latest(&mut self, set: Set, holds: Option<Learnt>, lists: &TwoLists) {
        self.put(self.sets() - 1, set);
        if let Some(learnt) = holds {
            let entry = self.entry(learnt);
            let reach = self.reach_with_jump(entry.what, self.leap(entry.older), lists);
            self.entries[learnt as usize] = Entry { reach, ..entry }.to_words();
        }
    }

    fn put(&mut self, number: SetNumber, set: Set) {
        let nothing = match set.learnt_nothing {
            true => NOTHING_LEARNT,
            false => 0,
        };
        // The front is below nobody.
        let below = set.closed.unwrap_or(Below {
            first: FRONT,
            last: FRONT,
        });
        self.sets[number as usize] = [
            set.step,
            set.learnt | nothing,
            set.creator,
            below.first,
            below.last,
        ];
    }

    /// A set, by someone in this step.
    pub(super) fn get(
        &mut self,
        chain: Chain,
        number: SetNumber,
        step: Element,
        lists: &TwoLists,
    ) -> Result<Chain, TableError> {
        let extent = match lists.before(self.set_of(number).creator, step) {
            true => Extent::Own,
            false => Extent::All,
        };
        self.learn(chain, What::Set(number, extent), lists)
    }

    /// Whether the set that a task has learnt of last comes after this one.
    pub(super) fn last_is_after(&self, chain: Chain, set: SetNumber, lists: &TwoLists) -> bool {
        match self.entry(chain.learnt).what {
            What::Set(last, _) if chain.learnt != NOTHING && last >= set => {
                self.set_of(last).is_after(self.set_of(set).step, lists)
            }
            _ => false,
        }
    }

    /// Whether a set is among those that the task has learnt of itself. None if these are many.
    pub(super) fn is_among_few(&self, chain: Chain, number: SetNumber) -> Option<bool> {
        let (length, _) = self.own_jump(chain.learnt);
        let few = !chain.has_learnt() || length <= FEW;
        few.then(|| self.own_sets(chain).any(|own| own == number))
    }

    /// The sets that the task has learnt of itself, the latest first.
    pub(super) fn own_sets(&self, chain: Chain) -> impl Iterator<Item = SetNumber> {
        let mut at = chain.learnt;
        let entries = std::iter::from_fn(move || {
            let entry = self.entry(at);
            if at == NOTHING || !chain.has_learnt() || entry.what == What::Inherited {
                return None;
            }
            at = entry.older;
            Some(entry.what)
        });
        entries.filter_map(|what| match what {
            What::Set(number, _) => Some(number),
            What::Others(..) | What::Inherited => None,
        })
    }

    /// A set in place of all that the task has learnt itself.
    pub(super) fn get_alone(
        &mut self,
        chain: Chain,
        number: SetNumber,
        lists: &TwoLists,
    ) -> Result<Chain, TableError> {
        self.learn(chain.forgotten(), What::Set(number, Extent::Own), lists)
    }

    /// The same for a chain that belongs to no task.
    pub(super) fn hold(
        &mut self,
        chain: Chain,
        number: SetNumber,
        lists: &TwoLists,
    ) -> Result<Chain, TableError> {
        self.learn(chain, What::Set(number, Extent::All), lists)
    }

    /// What a joined task has learnt, or a chain that belongs to no task.
    pub(super) fn join(
        &mut self,
        chain: Chain,
        joined: Learnt,
        extent: Extent,
        lists: &TwoLists,
    ) -> Result<Chain, TableError> {
        self.learn(chain, What::Others(joined, extent), lists)
    }

    fn learn(&mut self, chain: Chain, what: What, lists: &TwoLists) -> Result<Chain, TableError> {
        let mut chain = chain;
        if chain.learnt == chain.inherited && chain.inherited != NOTHING {
            chain.beginning = self.begin(chain, lists)?;
            chain.learnt = chain.beginning;
        }
        let older = chain.learnt;
        let leap = self.leap(older);
        chain.learnt = self.add(Entry {
            older,
            what,
            jump: leap.to,
            length: leap.length,
            reach: self.reach_with_jump(what, leap, lists),
            passed: 0,
        })?;
        Ok(chain)
    }

    /// The jump of an entry that comes after this one.
    fn leap(&self, older: Learnt) -> Leap {
        // Two jumps of the same length become one. So the lengths are powers of two less one, and
        // those of a chain grow from its newest entry on.
        let (length, after) = self.own_jump(older);
        let (length_after, behind) = self.own_jump(after);
        let (length_behind, _) = self.own_jump(behind);
        let two_in_one = length > 0 && length - length_after == length_after - length_behind;
        Leap {
            length: length + 1,
            to: if two_in_one { behind } else { older },
            over: two_in_one.then_some([older, after]),
        }
    }

    fn reach_with_jump(&self, what: What, leap: Leap, lists: &TwoLists) -> Reach {
        let passed = leap.over.into_iter().flatten();
        passed.fold(self.reach_of(what, lists), |reach, passed| {
            reach.or(self.entry(passed).reach, lists)
        })
    }

    /// The entry at which a task begins to learn.
    fn begin(&mut self, chain: Chain, lists: &TwoLists) -> Result<Learnt, TableError> {
        let Chain {
            inherited,
            beginning,
            ..
        } = chain;
        let mut reach = self.reach(inherited, Extent::Own, lists);
        // As above, over beginnings.
        let next = self.entry(beginning);
        let after = self.entry(next.jump);
        let behind = self.entry(after.jump);
        let mut jump = beginning;
        if beginning != NOTHING && next.length - after.length == after.length - behind.length {
            jump = after.jump;
            reach = reach.or(next.reach, lists).or(after.reach, lists);
        }
        self.add(Entry {
            older: inherited,
            what: What::Inherited,
            jump,
            length: next.length + 1,
            reach,
            passed: 0,
        })
    }

    fn add(&mut self, entry: Entry) -> Result<Learnt, TableError> {
        let newest = self.entries.push_zero()?;
        self.entries[newest] = entry.to_words();
        Ok(newest as Learnt)
    }

    /// The number of entries up to this one, and its jump. What was inherited is none of them.
    fn own_jump(&self, at: Learnt) -> (u32, Learnt) {
        match self.entry(at) {
            entry if at == NOTHING || entry.what == What::Inherited => (0, at),
            entry => (entry.length, entry.jump),
        }
    }

    #[inline]
    fn entry(&self, at: Learnt) -> Entry {
        Entry::from_words(self.entries[at as usize])
    }

    #[inline]
    pub(super) fn set_of(&self, number: SetNumber) -> Set {
        let [step, learnt, creator, first, last] = self.sets[number as usize];
        Set {
            step,
            learnt: learnt & !NOTHING_LEARNT,
            learnt_nothing: learnt & NOTHING_LEARNT != 0,
            creator,
            closed: (first != FRONT).then_some(Below { first, last }),
        }
    }

    fn reach_of(&self, what: What, lists: &TwoLists) -> Reach {
        match what {
            What::Set(number, extent) => {
                let set = self.set_of(number);
                set.reach(number)
                    .or(self.reach(set.learnt(extent), extent, lists), lists)
            }
            What::Others(learnt, extent) => self.reach(learnt, extent, lists),
            What::Inherited => Reach::NONE,
        }
    }

    /// What a chain leads to.
    fn reach(&self, learnt: Learnt, extent: Extent, lists: &TwoLists) -> Reach {
        let mut reach = Reach::NONE;
        let mut at = learnt;
        while at != NOTHING {
            let entry = self.entry(at);
            if entry.what == What::Inherited && extent == Extent::Own {
                break;
            }
            reach = reach.or(entry.reach, lists);
            at = entry.jump;
        }
        reach
    }

    /// Numbers a search. If the numbers are used up, no entry may keep one.
    fn begin_search(&mut self) {
        if self.searches == u32::MAX {
            for entry in self.entries.iter_mut() {
                entry[PASSED] = 0;
            }
            self.searches = 0;
        }
        self.searches += 1;
    }

    /// Whether a step precedes or is that of a set which can be reached from something learnt. Sets
    /// before `oldest` are older than the step.
    pub(super) fn lead_to(
        &mut self,
        earlier: Element,
        oldest: SetNumber,
        learnt: Learnt,
        lists: &TwoLists,
    ) -> bool {
        learnt != NOTHING && self.search(earlier, oldest, learnt, lists, |_| ControlFlow::Break(()))
    }

    /// The first of these sets.
    pub(super) fn first_of(
        &mut self,
        earlier: Element,
        oldest: SetNumber,
        learnt: Learnt,
        lists: &TwoLists,
    ) -> Option<SetNumber> {
        let mut first = None;
        self.search(earlier, oldest, learnt, lists, |number| {
            first = Some(first.map_or(number, |first: SetNumber| first.min(number)));
            ControlFlow::Continue(())
        });
        first
    }

    /// Visits these sets until it is enough. Whether it was.
    #[inline(always)]
    fn search(
        &mut self,
        earlier: Element,
        oldest: SetNumber,
        learnt: Learnt,
        lists: &TwoLists,
        mut visit: impl FnMut(SetNumber) -> ControlFlow<()>,
    ) -> bool {
        let [first, second] = lists.labels(earlier);
        self.begin_search();
        self.queue.clear();
        self.queue.push((learnt, Extent::All));
        let mut next = 0;
        while let Some(&(newest, extent)) = self.queue.get(next) {
            next += 1;
            let mut at = newest;
            while at != NOTHING {
                let Entry {
                    older,
                    what,
                    jump,
                    reach,
                    passed,
                    ..
                } = self.entry(at);
                // If another way led here that goes no further than what was inherited, then the
                // rest is reached by yet another one.
                if passed == self.searches || extent == Extent::Own && what == What::Inherited {
                    break;
                }
                self.effort.joins += 1;
                let [last_first, last_second] = reach.last;
                if reach.sets_below <= oldest
                    || lists.labels(last_first)[0] < first
                    || lists.labels(last_second)[1] < second
                {
                    at = jump;
                    continue;
                }
                self.entries[at as usize][PASSED] = self.searches;
                match what {
                    What::Set(number, extent) => {
                        let set = self.set_of(number);
                        // What escapes is put between steps that older sets answer for.
                        if number >= oldest {
                            self.effort.comparisons += 1;
                            if set.is_after(earlier, lists) && visit(number).is_break() {
                                return true;
                            }
                        }
                        self.queue.push((set.learnt(extent), extent));
                    }
                    What::Others(learnt, extent) => self.queue.push((learnt, extent)),
                    What::Inherited => {}
                }
                at = older;
            }
        }
        false
    }

    pub(super) fn clear(&mut self) {
        self.entries.truncate(1);
        self.sets.clear();
        self.searches = 0;
        self.effort = Effort::default();
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.entries.used_bytes() + self.sets.used_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::two_lists::{List, Side};

    /// After four billion searches the first number is given out again.
    #[test]
    fn numbers_of_searches_are_used_again() {
        let mut lists = TwoLists::new().unwrap();
        let mut joins = Joins::new().unwrap();
        let step = lists.add().unwrap();
        for list in [List::First, List::Second] {
            lists.insert(list, FRONT, step, Side::Near);
        }
        let set = Set {
            step,
            learnt: NOTHING,
            learnt_nothing: true,
            creator: FRONT,
            closed: None,
        };
        let set = joins.set(set).unwrap();
        let chain = joins.hold(Chain::default(), set, &lists).unwrap();
        let found = |joins: &mut Joins| joins.lead_to(step, 0, chain.learnt, &lists);
        assert!(found(&mut joins), "the first search");
        assert_eq!(joins.searches, 1);
        joins.searches = u32::MAX;
        assert!(found(&mut joins), "the next first search");
        assert_eq!(joins.searches, 1);
    }
}
