//! The dynamic program structure tree: tasks, finishes and steps, in the order of the program.
//!
//! [DRDP §4.1; Raman et al. 2012] Leaves are steps, inner nodes are tasks and finishes. The
//! children of a node are in the order in which its task made them. Let a be to the left of b, and
//! let v be the child of their lowest common ancestor on a's side. a precedes b by structure iff v
//! is not a task.
//!
//! DIVERGENCE: [DRDP Fig. 9] asks this of an earlier access a and a later one b, and takes a to be
//! the left one. A task that was blocked may run its left step after the right one. Then b is on
//! the left, and the tree says nothing of a before b: `async { p.get(); x = 1; } x = 2; p.set(0);`
//! would be judged by the step on the right, which is no task.

use crate::table::{TableError, make_room};

/// A node of the tree. The root is node 0.
pub(crate) type Node = u32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeKind {
    Task,
    Finish,
    Step,
}

#[derive(Clone, Copy, Debug)]
struct TreeNode {
    parent: Node,
    depth: u32,
    /// The number of siblings to the left.
    place: u32,
    children: u32,
    kind: NodeKind,
}

#[derive(Debug)]
pub(crate) struct StructureTree {
    nodes: Vec<TreeNode>,
    height: u32,
}

pub(crate) const ROOT: Node = 0;

impl StructureTree {
    pub(crate) fn new() -> Self {
        let mut tree = StructureTree {
            nodes: Vec::new(),
            height: 0,
        };
        tree.clear();
        tree
    }

    /// Adds a node to the right of the parent's children.
    pub(crate) fn add(&mut self, parent: Node, kind: NodeKind) -> Result<Node, TableError> {
        const TABLE: &str = "the structure tree";
        let node = self.nodes.len();
        if node >= MOST_NODES {
            return Err(TableError::Exhausted {
                table: TABLE,
                capacity: node,
            });
        }
        make_room(&mut self.nodes, 1, TABLE)?;
        let above = &mut self.nodes[parent as usize];
        let (place, depth) = (above.children, above.depth + 1);
        above.children += 1;
        self.height = self.height.max(depth);
        self.nodes.push(TreeNode {
            parent,
            depth,
            place,
            children: 0,
            kind,
        });
        Ok(node as Node)
    }

    /// Whether step a precedes step b by structure.
    pub(crate) fn precedes(&self, a: Node, b: Node) -> bool {
        if a == b {
            return true;
        }
        let node = |node: Node| &self.nodes[node as usize];
        let (mut left, mut right) = (a, b);
        while node(left).depth > node(right).depth {
            left = node(left).parent;
        }
        while node(right).depth > node(left).depth {
            right = node(right).parent;
        }
        while node(left).parent != node(right).parent {
            (left, right) = (node(left).parent, node(right).parent);
        }
        node(left).place < node(right).place && node(left).kind != NodeKind::Task
    }

    /// The number of nodes from the root to the deepest one.
    pub(crate) fn height(&self) -> u32 {
        self.height
    }

    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.nodes.push(TreeNode {
            parent: ROOT,
            depth: 0,
            place: 0,
            children: 0,
            kind: NodeKind::Finish,
        });
        self.height = 0;
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<TreeNode>()
    }
}

/// Nodes are stamps, and the greater half of those is reserved.
const MOST_NODES: usize = 1 << 31;

impl Default for StructureTree {
    fn default() -> Self {
        Self::new()
    }
}
