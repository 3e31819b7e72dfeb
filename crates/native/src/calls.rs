//! The stack of calls, and stacks as small numbers.
//!
//! Entering a function pushes where it was called from and where its frame is; leaving pops. That is all most calls cost. A
//! stack that must be remembered becomes a node of a tree whose edges are call sites: [`Calls::node`] goes down from the
//! innermost call that has a node already, so a loop that remembers the same stack over and over looks up one edge.

use finishline_detect::Failure;
use finishline_detect::hash::IdMap;
use finishline_detect::table::Table;

/// A stack of calls. The empty stack is [`ROOT`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node(pub u32);

pub const ROOT: Node = Node(0);

/// Deeper recursion than any program's stack allows.
const MOST_CALLS: usize = 1 << 28;

/// One call in progress.
const CALLED_FROM: usize = 0;

#[derive(Debug)]
pub struct Calls {
    /// Where each was called from, and the lowest address of its frame.
    active: Table<[u64; 2]>,
    depth: usize,
    /// By active call: its node, as far as it is known.
    nodes: Table<u32>,
    known: usize,
    /// By node: the node of the caller, and the place of the call.
    parents: Vec<Node>,
    places: Vec<u64>,
    children: IdMap<(u32, u64), Node>,
}

impl Calls {
    pub fn new() -> Result<Calls, Failure> {
        let mut active = Table::reserve("active calls", MOST_CALLS)?;
        let mut nodes = Table::reserve("nodes of active calls", MOST_CALLS)?;
        // Pages come when they are touched.
        active.grow_to(active.capacity())?;
        nodes.grow_to(nodes.capacity())?;
        Ok(Calls {
            active,
            depth: 0,
            nodes,
            known: 0,
            parents: vec![ROOT],
            places: vec![0],
            children: IdMap::default(),
        })
    }

    /// A function is entered that was called from `place`; `frame` is the lowest address of its frame.
    #[inline]
    pub fn enter(&mut self, place: u64, frame: u64) {
        // The last entry stands for all deeper calls.
        let at = self.depth.min(self.active.len() - 1);
        self.active[at] = [place, frame];
        self.depth += 1;
    }

    #[inline]
    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.known = self.known.min(self.depth);
    }

    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Back to an earlier depth, past calls that were left without being told.
    pub fn back_to(&mut self, depth: usize) {
        self.depth = depth;
        self.known = self.known.min(depth);
    }

    /// Where the innermost function was called from.
    pub fn innermost(&self) -> Option<u64> {
        let at = self.depth.checked_sub(1)?;
        Some(self.active[at][CALLED_FROM])
    }

    /// The number of the present stack.
    #[inline(always)]
    pub fn node(&mut self) -> Node {
        match self.depth.checked_sub(1) {
            Some(innermost) if self.known == self.depth => Node(self.nodes[innermost]),
            _ => self.number_calls(),
        }
    }

    /// Gives the calls that have none their nodes, and tells the innermost one's.
    fn number_calls(&mut self) -> Node {
        let depth = self.depth.min(self.active.len());
        let mut node = match self.known.min(depth) {
            0 => ROOT,
            known => Node(self.nodes[known - 1]),
        };
        for at in self.known..depth {
            node = self.child(node, self.active[at][CALLED_FROM]);
            self.nodes[at] = node.0;
        }
        self.known = depth;
        node
    }

    fn child(&mut self, parent: Node, place: u64) -> Node {
        *self.children.entry((parent.0, place)).or_insert_with(|| {
            self.parents.push(parent);
            self.places.push(place);
            Node(self.parents.len() as u32 - 1)
        })
    }

    /// The places of the calls of a stack, innermost first.
    pub fn places(&self, node: Node) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(node), |node| Some(self.parents[node.0 as usize]))
            .take_while(|node| *node != ROOT)
            .map(|node| self.places[node.0 as usize])
    }

    /// The active call in whose frame an address of the stack lies: how many calls are outside it.
    pub fn owner_of(&self, address: u64) -> Option<usize> {
        let active = &self.active[..self.depth.min(self.active.len())];
        // Frames get lower with depth.
        let outside = active.partition_point(|[_, frame]| *frame > address);
        (outside < active.len()).then_some(outside)
    }

    /// Where the function of an active call calls on from, if it does.
    pub fn position_in(&self, call: usize) -> Option<u64> {
        let active = &self.active[..self.depth.min(self.active.len())];
        active.get(call + 1).map(|[place, _]| *place)
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
        assert_eq!(calls.owner_of(1000), Some(0));
        assert_eq!(calls.owner_of(999), Some(1));
        assert_eq!(calls.owner_of(800), Some(2));
        assert_eq!(calls.owner_of(799), None);
        assert_eq!(calls.position_in(0), Some(20));
        assert_eq!(calls.position_in(2), None);
    }
}
