//! The stacks of calls, one for each thread, and stacks as small numbers.
//!
//! Entering a function pushes the place of the call and the function's frame; leaving pops. Most
//! calls cost no more than that. A stack that must be remembered becomes a node of a tree whose
//! edges are places of calls. [`Calls::node`] goes down from the innermost call that has a node
//! already, so a loop that remembers the same stack over and over looks up one edge.
//!
//! **Each task begins at the root.** A node has the calls since the running task began. The calls
//! outside belong to its creator, whose own node of that moment is known. So the tasks of a
//! recursion share their nodes: there are as many as the program's code has ways from a task's
//! entry, however many tasks there are.
//!
//! **Paths.** A number of 64 bits tells the calls in progress from all others that matter
//! ([`CallStack::path`]): it is mixed from the places and frames of the calls.

use finishline_detect::Failure;
use finishline_detect::table::Table;
use finishline_model::hash::IdMap;

/// The calls of a task. [`ROOT`] is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CallNode(pub u32);

pub const ROOT: CallNode = CallNode(0);

/// Deeper recursion than any program's stack allows.
const MOST_CALLS: usize = 1 << 28;

/// A return address and what keeps the stack aligned.
const LEAST_FRAME: u64 = 16;

/// Odd, with many ones in no order: scatters what it is multiplied with.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// One call in progress.
const CALLED_FROM: usize = 0;

/// The active calls of a thread.
#[derive(Debug)]
pub struct CallStack {
    /// Where each was called from, and the lowest address of its frame.
    active: Table<[u64; 2]>,
    depth: usize,
    path: u64,
    /// By active call: the path outside of it.
    paths: Table<u64>,
    /// How many belong to the creators of the running task: these are not left before it ends.
    outside: usize,
    /// By active call: its node, as far as it is known. Those outside are known.
    nodes: Table<u32>,
    known: usize,
}

#[derive(Debug)]
pub struct Calls {
    /// The running thread's.
    stack: CallStack,
    /// By node: the node of the caller, and the place of the call.
    parents: Vec<CallNode>,
    places: Vec<u64>,
    children: IdMap<(u32, u64), CallNode>,
}

impl CallStack {
    /// For as many calls as have room in a stack of this size.
    pub fn new(bytes: u64) -> Result<CallStack, Failure> {
        let most = (bytes / LEAST_FRAME) as usize;
        let most = most.clamp(1, MOST_CALLS);
        let mut active = Table::reserve("active calls", most)?;
        let mut paths = Table::reserve("paths of active calls", most)?;
        let mut nodes = Table::reserve("nodes of active calls", most)?;
        // Pages come when they are touched.
        active.grow_to(active.capacity())?;
        paths.grow_to(paths.capacity())?;
        nodes.grow_to(nodes.capacity())?;
        Ok(CallStack {
            active,
            depth: 0,
            path: 0,
            paths,
            outside: 0,
            nodes,
            known: 0,
        })
    }

    pub(crate) fn active(&self) -> &[[u64; 2]] {
        &self.active[..self.depth.min(self.active.len())]
    }

    /// The active call in whose frame an address of the stack lies: how many calls are outside it.
    pub fn owner_of(&self, address: u64) -> Option<usize> {
        // Frames get lower with depth.
        let outside = self.active().partition_point(|[_, frame]| *frame > address);
        (outside < self.active().len()).then_some(outside)
    }

    /// Where the function of an active call calls on from, if it does.
    pub fn position_in(&self, call: usize) -> Option<u64> {
        let next = self.active().get(call + 1);
        next.map(|[place, _]| *place)
    }

    /// What tells an active call from all others: where it was called from, and its frame.
    pub fn call(&self, call: usize) -> Option<[u64; 2]> {
        self.active().get(call).copied()
    }

    /// A number for the calls in progress. Two different ones have the same with a probability of
    /// 2⁻⁶⁴.
    pub fn path(&self) -> &u64 {
        &self.path
    }

    /// Back to where so many calls were active.
    fn leave_all_but(&mut self, depth: usize) {
        if depth < self.depth {
            self.path = self.paths[depth.min(self.paths.len() - 1)];
        }
        self.depth = depth;
        self.known = self.known.min(depth);
    }

    /// How many of the calls that were active at the last [`Calls::node`] have been active ever
    /// since.
    pub fn left_since(&self) -> usize {
        self.known
    }

    /// How many of the [active](Self::active) calls belong to the creators of the running task.
    pub fn outside(&self) -> usize {
        self.outside.min(self.active.len())
    }
}

impl Calls {
    pub fn new() -> Result<Calls, Failure> {
        Ok(Calls {
            stack: CallStack::new(u64::MAX)?,
            parents: vec![ROOT],
            places: vec![0],
            children: IdMap::default(),
        })
    }

    /// The running thread's stack.
    pub fn stack(&self) -> &CallStack {
        &self.stack
    }

    /// Exchanges the stack for that of another thread, and returns the stack of the one before.
    pub fn exchange(&mut self, stack: CallStack) -> CallStack {
        std::mem::replace(&mut self.stack, stack)
    }

    /// Enters a function that was called from `place`; `frame` is the lowest address of its frame.
    #[inline]
    pub fn enter(&mut self, place: u64, frame: u64) {
        // The last entry stands for all deeper calls.
        let stack = &mut self.stack;
        let at = stack.depth.min(stack.active.len() - 1);
        stack.active[at] = [place, frame];
        stack.paths[at] = stack.path;
        stack.path = (stack.path ^ place).wrapping_mul(MIX).rotate_left(29) ^ frame;
        stack.depth += 1;
    }

    #[inline]
    pub fn leave(&mut self) {
        if self.stack.depth > self.stack.outside {
            self.stack.leave_all_but(self.stack.depth - 1);
        }
    }

    pub fn depth(&self) -> usize {
        self.stack.depth
    }

    /// Back to an earlier depth of the running task, past calls that were left without being told.
    pub fn back_to(&mut self, depth: usize) {
        self.stack.leave_all_but(depth.max(self.stack.outside));
    }

    /// The running task creates another one, which runs now. Returns what [`Calls::end_task`]
    /// needs.
    pub fn begin_task(&mut self) -> usize {
        self.node();
        std::mem::replace(&mut self.stack.outside, self.stack.depth)
    }

    /// The running task ends. Its creator goes on where it was.
    pub fn end_task(&mut self, outside_of_creator: usize) {
        self.back_to(self.stack.outside);
        self.stack.outside = outside_of_creator;
    }

    /// Where the innermost function was called from.
    pub fn innermost(&self) -> Option<u64> {
        let at = self.stack.depth.checked_sub(1)?;
        Some(self.stack.active[at][CALLED_FROM])
    }

    /// The number of the running task's calls.
    #[inline(always)]
    pub fn node(&mut self) -> CallNode {
        let CallStack { depth, known, .. } = self.stack;
        match known == depth && depth > self.stack.outside {
            true => CallNode(self.stack.nodes[depth - 1]),
            false => self.number_calls(),
        }
    }

    /// Gives every call of the running task a node, and returns the innermost one's.
    fn number_calls(&mut self) -> CallNode {
        let depth = self.stack.depth.min(self.stack.active.len());
        let mut node = match self.stack.known.min(depth) {
            known if known <= self.stack.outside => ROOT,
            known => CallNode(self.stack.nodes[known - 1]),
        };
        for at in self.stack.known..depth {
            node = self.child(node, self.stack.active[at][CALLED_FROM]);
            self.stack.nodes[at] = node.0;
        }
        self.stack.known = depth;
        node
    }

    fn child(&mut self, parent: CallNode, place: u64) -> CallNode {
        *self.children.entry((parent.0, place)).or_insert_with(|| {
            self.parents.push(parent);
            self.places.push(place);
            CallNode(self.parents.len() as u32 - 1)
        })
    }

    /// Whether some calls have this number.
    pub fn has(&self, node: CallNode) -> bool {
        (node.0 as usize) < self.parents.len()
    }

    /// The places of the calls that a node stands for, innermost first.
    pub fn places(&self, node: CallNode) -> impl Iterator<Item = u64> {
        self.outwards(node).map(|(_, place)| place)
    }

    /// The node and those of its callers, each with the place of its innermost call.
    pub fn outwards(&self, node: CallNode) -> impl Iterator<Item = (CallNode, u64)> {
        std::iter::successors(Some(node), |node| Some(self.parents[node.0 as usize]))
            .take_while(|node| *node != ROOT)
            .map(|node| (node, self.places[node.0 as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_stack_has_the_same_node() {
        let mut calls = Calls::new().unwrap();
        assert_eq!(calls.node(), ROOT);
        calls.enter(10, 1000);
        calls.enter(20, 900);
        let inner = calls.node();
        assert_eq!(calls.places(inner).collect::<Vec<_>>(), [20, 10]);
        calls.leave();
        let outer = calls.node();
        calls.enter(30, 900);
        let other = calls.node();
        assert_ne!(inner, other);
        calls.leave();
        assert_eq!(calls.node(), outer);
        calls.enter(20, 900);
        assert_eq!(calls.node(), inner);
        calls.back_to(0);
        assert_eq!(calls.node(), ROOT);
        calls.leave();
        assert_eq!(calls.depth(), 0, "one exit too many is none");
    }

    #[test]
    fn an_address_belongs_to_the_frame_around_it() {
        let mut calls = Calls::new().unwrap();
        calls.enter(10, 1000);
        calls.enter(20, 900);
        calls.enter(30, 800);
        assert_eq!(calls.stack().owner_of(1000), Some(0));
        assert_eq!(calls.stack().owner_of(999), Some(1));
        assert_eq!(calls.stack().owner_of(800), Some(2));
        assert_eq!(calls.stack().owner_of(799), None);
        assert_eq!(calls.stack().position_in(0), Some(20));
        assert_eq!(calls.stack().position_in(2), None);
    }

    #[test]
    fn each_thread_has_its_own() {
        let mut calls = Calls::new().unwrap();
        calls.enter(10, 1000);
        let first = calls.node();
        let other = CallStack::new(1 << 20).unwrap();
        let main = calls.exchange(other);
        assert_eq!((calls.depth(), calls.node()), (0, ROOT));
        calls.enter(10, 5000);
        assert_eq!(calls.node(), first, "the same calls");
        calls.enter(20, 4000);
        let other = calls.exchange(main);
        assert_eq!((calls.depth(), calls.node()), (1, first));
        assert_eq!(other.owner_of(4500), Some(1));
    }

    #[test]
    fn a_path_is_that_of_the_calls_in_progress() {
        let mut calls = Calls::new().unwrap();
        let path = |calls: &Calls| *calls.stack().path();
        let root = path(&calls);
        calls.enter(10, 1000);
        let outer = path(&calls);
        calls.enter(20, 900);
        let inner = path(&calls);
        calls.leave();
        assert_eq!(path(&calls), outer);
        for (place, frame) in [(30, 900), (20, 800), (10, 1000)] {
            calls.enter(place, frame);
            assert!(![root, outer, inner].contains(&path(&calls)));
            calls.leave();
        }
        calls.enter(20, 900);
        assert_eq!(path(&calls), inner);
        calls.back_to(0);
        assert_eq!(path(&calls), root);
    }

    #[test]
    fn it_is_seen_which_calls_have_been_left() {
        let mut calls = Calls::new().unwrap();
        calls.enter(10, 1000);
        calls.enter(20, 900);
        calls.node();
        calls.enter(30, 800);
        assert_eq!(calls.stack().left_since(), 2);
        calls.leave();
        calls.leave();
        calls.enter(20, 900);
        assert_eq!(calls.stack().left_since(), 1);
        assert_eq!(calls.stack().call(1), Some([20, 900]));
        assert_eq!(calls.stack().call(2), None);
    }
}
