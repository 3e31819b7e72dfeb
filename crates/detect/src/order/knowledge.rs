//! Immutable sets of small numbers. Thousands of similar sets take little room.
//!
//! A set is a binary trie over the upper bits of its numbers, without nodes that have only one
//! child. A leaf has 64 numbers in the bits of a word. Adding a number copies the path to it, 24
//! bytes for each doubling of the set. A union shares the parts that only one of the two sets has.
//! Parts that they share already cost one comparison.

use crate::table::{TableError, make_room};

/// The handle of a set. Equal sets may have different handles, except for the empty one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Known(u32);

impl Known {
    pub(super) const NOTHING: Known = Known(u32::MAX);
}

/// Numbers in a leaf.
const LEAF: u32 = u64::BITS;

#[derive(Clone, Copy, Debug)]
enum Node {
    /// The numbers 64 × prefix + i for each bit i that is set.
    Leaf { prefix: u32, bits: u64 },
    /// All prefixes below agree with this one except for the lowest `level` bits. The highest of
    /// these bits tells left from right.
    Branch {
        prefix: u32,
        level: u32,
        children: [Known; 2],
    },
}

impl Node {
    fn prefix(self) -> u32 {
        match self {
            Node::Leaf { prefix, .. } | Node::Branch { prefix, .. } => prefix,
        }
    }

    fn level(self) -> u32 {
        match self {
            Node::Leaf { .. } => 0,
            Node::Branch { level, .. } => level,
        }
    }

    /// The child that contains a prefix.
    fn side(level: u32, prefix: u32) -> usize {
        (prefix >> (level - 1) & 1) as usize
    }
}

#[derive(Debug, Default)]
pub(super) struct Knowledge {
    nodes: Vec<Node>,
}

impl Knowledge {
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }

    pub(super) fn with(&mut self, set: Known, number: u32) -> Result<Known, TableError> {
        if self.next(set, number) == Some(number) {
            return Ok(set);
        }
        let single = self.add(Node::Leaf {
            prefix: number / LEAF,
            bits: 1 << (number % LEAF),
        })?;
        self.union(set, single)
    }

    pub(super) fn union(&mut self, a: Known, b: Known) -> Result<Known, TableError> {
        match (a, b) {
            (Known::NOTHING, other) | (other, Known::NOTHING) => return Ok(other),
            _ if a == b => return Ok(a),
            _ => {}
        }
        let [node_a, node_b] = [a, b].map(|set| self.nodes[set.0 as usize]);
        // Only the node of the higher level can contain the other.
        let ((above, node_above), (below, node_below)) = if node_a.level() >= node_b.level() {
            ((a, node_a), (b, node_b))
        } else {
            ((b, node_b), (a, node_a))
        };
        let (level, prefix) = (node_above.level(), node_above.prefix());
        let differ = prefix ^ node_below.prefix();
        if u64::from(differ) >> level != 0 {
            let level = u32::BITS - differ.leading_zeros();
            let mut children = [below; 2];
            children[Node::side(level, prefix)] = above;
            return self.add(Node::Branch {
                prefix,
                level,
                children,
            });
        }
        match (node_above, node_below) {
            (Node::Leaf { bits, .. }, Node::Leaf { bits: others, .. }) => {
                let bits = bits | others;
                for (set, node) in [(above, node_above), (below, node_below)] {
                    if matches!(node, Node::Leaf { bits: own, .. } if own == bits) {
                        return Ok(set);
                    }
                }
                self.add(Node::Leaf { prefix, bits })
            }
            (Node::Branch { children, .. }, _) => {
                let others = match node_below {
                    Node::Branch {
                        level: same,
                        children,
                        ..
                    } if same == level => children,
                    _ => {
                        let mut alone = [Known::NOTHING; 2];
                        alone[Node::side(level, node_below.prefix())] = below;
                        alone
                    }
                };
                let both = [
                    self.union(children[0], others[0])?,
                    self.union(children[1], others[1])?,
                ];
                if both == children {
                    Ok(above)
                } else if both == others {
                    Ok(below)
                } else {
                    self.add(Node::Branch {
                        prefix,
                        level,
                        children: both,
                    })
                }
            }
            (Node::Leaf { .. }, Node::Branch { .. }) => unreachable!("a leaf is above nothing"),
        }
    }

    /// The least number of the set that is at least `from`.
    pub(super) fn next(&self, set: Known, from: u32) -> Option<u32> {
        if set == Known::NOTHING {
            return None;
        }
        match self.nodes[set.0 as usize] {
            Node::Leaf { prefix, bits } => {
                let start = prefix * LEAF;
                let rest = match from.checked_sub(start) {
                    None => bits,
                    Some(skipped) if skipped < LEAF => bits & u64::MAX << skipped,
                    Some(_) => 0,
                };
                (rest != 0).then(|| start + rest.trailing_zeros())
            }
            Node::Branch {
                prefix,
                level,
                children,
            } => {
                let middle = (prefix >> (level - 1) | 1) << (level - 1);
                let left = if from / LEAF < middle {
                    self.next(children[0], from)
                } else {
                    None
                };
                left.or_else(|| self.next(children[1], from))
            }
        }
    }

    fn add(&mut self, node: Node) -> Result<Known, TableError> {
        const TABLE: &str = "what is known";
        let index = self.nodes.len() as u32;
        if index == Known::NOTHING.0 {
            return Err(TableError::Exhausted {
                table: TABLE,
                capacity: self.nodes.len(),
            });
        }
        make_room(&mut self.nodes, 1, TABLE)?;
        self.nodes.push(node);
        Ok(Known(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Unions and additions of random sets, near and far apart, compared with plain sets.
    #[test]
    fn sets_agree_with_plain_ones() {
        let mut random = 3u64;
        let mut below = |n: u64| {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (random >> 33) % n
        };
        let mut knowledge = Knowledge::default();
        let mut sets = vec![(Known::NOTHING, BTreeSet::new())];
        for _ in 0..5000 {
            let (a, b) = (below(sets.len() as u64), below(sets.len() as u64));
            let (mut set, mut plain) = sets[a as usize].clone();
            if below(3) == 0 {
                let (other, plain_other) = &sets[b as usize];
                set = knowledge.union(set, *other).unwrap();
                plain.extend(plain_other);
            } else {
                let widest = [70, 1000, 1 << 31][below(3) as usize];
                let number = below(widest) as u32;
                set = knowledge.with(set, number).unwrap();
                plain.insert(number);
            }
            let from = match plain.iter().nth(below(1 + plain.len() as u64) as usize) {
                Some(number) => number + below(2) as u32,
                None => below(1 << 31) as u32,
            };
            assert_eq!(
                knowledge.next(set, from),
                plain.range(from..).next().copied()
            );
            let mut all = Vec::new();
            let mut next = knowledge.next(set, 0);
            while let Some(number) = next {
                all.push(number);
                next = knowledge.next(set, number + 1);
            }
            assert!(all.iter().eq(&plain));
            sets.push((set, plain));
            if sets.len() > 40 {
                sets.remove(1 + below(39) as usize);
            }
        }
    }

    #[test]
    fn what_is_known_already_costs_nothing() {
        let mut knowledge = Knowledge::default();
        let mut all = Known::NOTHING;
        for number in 0..1000 {
            all = knowledge.with(all, number).unwrap();
        }
        let some = knowledge.with(Known::NOTHING, 700).unwrap();
        let before = knowledge.nodes.len();
        assert_eq!(knowledge.union(all, some), Ok(all));
        assert_eq!(knowledge.union(some, all), Ok(all));
        assert_eq!(knowledge.with(all, 3), Ok(all));
        assert_eq!(knowledge.nodes.len(), before);
    }
}
