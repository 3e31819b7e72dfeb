//! The dominator tree of a function, by the algorithm of Cooper, Harvey and Kennedy.
//!
//! Block a dominates block b if every path from the entry to b goes through a. Immediate dominators
//! are found by intersecting those of the predecessors in reverse postorder until nothing changes:
//! quadratic at worst, two rounds on the graphs that structured programs give. Intervals of a walk
//! over the tree then answer [`Dominators::dominates`] in constant time.

use crate::module::{BlockId, Function};

pub struct Dominators {
    /// Reachable blocks in reverse postorder; the entry is first.
    order: Vec<BlockId>,
    /// By block: its immediate dominator, the entry's being itself. None if unreachable.
    immediate: Vec<Option<BlockId>>,
    /// By block: when a walk over the tree enters and leaves it.
    interval: Vec<(u32, u32)>,
}

impl Dominators {
    pub fn of(function: &Function) -> Dominators {
        let order = reverse_postorder(function);
        let immediate = immediate_dominators(function, &order);
        let interval = intervals(&order, &immediate);
        Dominators {
            order,
            immediate,
            interval,
        }
    }

    /// Reachable blocks, every block before those it dominates.
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.immediate[block.index()].is_some()
    }

    /// None for the entry and for unreachable blocks.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.immediate[block.index()].filter(|_| block != Function::ENTRY)
    }

    /// Whether every path from the entry to `b` goes through `a`. Every block dominates itself; an
    /// unreachable block is dominated by all, for there is no path to it.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        if !self.is_reachable(b) {
            return true;
        }
        let ((a_enter, a_leave), (b_enter, b_leave)) =
            (self.interval[a.index()], self.interval[b.index()]);
        self.is_reachable(a) && a_enter <= b_enter && b_leave <= a_leave
    }
}

fn reverse_postorder(function: &Function) -> Vec<BlockId> {
    let mut seen = vec![false; function.blocks.len()];
    let mut order = Vec::new();
    // A block with the number of its successors already visited.
    let mut stack = vec![(Function::ENTRY, 0)];
    seen[Function::ENTRY.index()] = true;
    while let Some((block, visited)) = stack.last_mut() {
        match function.block(*block).terminator.targets().nth(*visited) {
            Some(target) => {
                *visited += 1;
                if !std::mem::replace(&mut seen[target.block.index()], true) {
                    stack.push((target.block, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

fn immediate_dominators(function: &Function, order: &[BlockId]) -> Vec<Option<BlockId>> {
    let count = function.blocks.len();
    let mut position = vec![usize::MAX; count];
    for (index, block) in order.iter().enumerate() {
        position[block.index()] = index;
    }
    let mut predecessors = vec![Vec::new(); count];
    for &block in order {
        for target in function.block(block).terminator.targets() {
            predecessors[target.block.index()].push(block);
        }
    }
    let mut immediate: Vec<Option<BlockId>> = vec![None; count];
    immediate[Function::ENTRY.index()] = Some(Function::ENTRY);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().skip(1) {
            let known = predecessors[block.index()]
                .iter()
                .copied()
                .filter(|predecessor| immediate[predecessor.index()].is_some())
                .reduce(|a, b| common_dominator(a, b, &immediate, &position));
            if immediate[block.index()] != known {
                immediate[block.index()] = known;
                changed = true;
            }
        }
    }
    immediate
}

/// The nearest block that dominates both: the one later in the order climbs until they meet.
fn common_dominator(
    mut a: BlockId,
    mut b: BlockId,
    immediate: &[Option<BlockId>],
    position: &[usize],
) -> BlockId {
    let climb = |block: BlockId| immediate[block.index()].expect("a block already reached");
    while a != b {
        if position[a.index()] > position[b.index()] {
            a = climb(a);
        } else {
            b = climb(b);
        }
    }
    a
}

fn intervals(order: &[BlockId], immediate: &[Option<BlockId>]) -> Vec<(u32, u32)> {
    let mut children = vec![Vec::new(); immediate.len()];
    for &block in order.iter().skip(1) {
        if let Some(parent) = immediate[block.index()] {
            children[parent.index()].push(block);
        }
    }
    let mut interval = vec![(0, 0); immediate.len()];
    let mut clock = 0;
    let mut stack = vec![(Function::ENTRY, 0)];
    while let Some((block, visited)) = stack.last_mut() {
        clock += 1;
        if *visited == 0 {
            interval[block.index()].0 = clock;
        }
        match children[block.index()].get(*visited) {
            Some(&child) => {
                *visited += 1;
                stack.push((child, 0));
            }
            None => {
                interval[block.index()].1 = clock;
                stack.pop();
            }
        }
    }
    interval
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::module::{Block, Role, Target, Terminator, Type, Value};
    use finishline_model::SiteId;

    /// A function of blocks with the given successors, none to two each.
    pub(crate) fn graph(successors: &[&[u32]]) -> Function {
        let target = |b: u32| Target {
            block: BlockId(b),
            arguments: Vec::new(),
        };
        let blocks = successors.iter().map(|successors| Block {
            parameters: Vec::new(),
            instructions: Vec::new(),
            terminator: match **successors {
                [] => Terminator::Return(None),
                [a] => Terminator::Jump(target(a)),
                [a, b] => Terminator::Branch {
                    condition: Value(0),
                    then: target(a),
                    otherwise: target(b),
                },
                _ => panic!("at most two successors"),
            },
        });
        Function {
            name: "graph".into(),
            role: Role::Function,
            parameters: Vec::new(),
            result: None,
            blocks: blocks.collect(),
            values: vec![Type::Bool],
            frame: 1,
            site: SiteId(0),
            end: SiteId(0),
        }
    }

    /// By the definition: b can't be reached from the entry without a.
    fn dominates_by_definition(function: &Function, a: BlockId, b: BlockId) -> bool {
        let mut seen = vec![false; function.blocks.len()];
        let mut stack = vec![Function::ENTRY];
        while let Some(block) = stack.pop() {
            if block == a || std::mem::replace(&mut seen[block.index()], true) {
                continue;
            }
            stack.extend(function.block(block).terminator.targets().map(|t| t.block));
        }
        !seen[b.index()]
    }

    fn check(function: &Function) {
        let dominators = Dominators::of(function);
        let blocks = || (0..function.blocks.len()).map(BlockId::from_index);
        for a in blocks() {
            for b in blocks().filter(|b| dominators.is_reachable(*b)) {
                assert_eq!(
                    dominators.dominates(a, b),
                    dominates_by_definition(function, a, b),
                    "{a} {b}"
                );
            }
            if let Some(immediate) = dominators.immediate(a) {
                assert!(immediate != a && dominators.dominates(immediate, a));
                let strict = blocks().filter(|b| *b != a && dominators.dominates(*b, a));
                assert!(
                    strict
                        .into_iter()
                        .all(|b| dominators.dominates(b, immediate))
                );
            }
        }
    }

    #[test]
    fn a_diamond_and_a_loop() {
        let function = graph(&[&[1, 2], &[3], &[3], &[4, 5], &[3], &[]]);
        let dominators = Dominators::of(&function);
        assert_eq!(dominators.immediate(BlockId(3)), Some(BlockId(0)));
        assert_eq!(dominators.immediate(BlockId(4)), Some(BlockId(3)));
        assert_eq!(dominators.immediate(BlockId(0)), None);
        check(&function);
    }

    #[test]
    fn unreachable_blocks_are_dominated_by_all() {
        let function = graph(&[&[2], &[2], &[]]);
        let dominators = Dominators::of(&function);
        assert!(!dominators.is_reachable(BlockId(1)));
        assert!(dominators.dominates(BlockId(2), BlockId(1)));
        assert!(!dominators.dominates(BlockId(1), BlockId(2)));
        check(&function);
    }

    /// Every graph of four blocks: each has none, one or two successors among those that are not
    /// the entry.
    pub(crate) fn every_graph_of_four_blocks(check: impl Fn(&Function)) {
        let mut choices: Vec<Vec<u32>> = vec![vec![]];
        choices.extend((1..4).map(|a| vec![a]));
        choices.extend((1..4).flat_map(|a| (a + 1..4).map(move |b| vec![a, b])));
        for index in 0..choices.len().pow(4) {
            let pick = |k: u32| &choices[index / choices.len().pow(k) % choices.len()][..];
            check(&graph(&[pick(0), pick(1), pick(2), pick(3)]));
        }
    }

    #[test]
    fn agrees_with_the_definition_on_every_graph_of_four_blocks() {
        every_graph_of_four_blocks(check);
    }
}
