//! Zipper as it is printed, and Table 2.
//!
//! The procedures of [Zipper §3.2] are written down here as they stand, on a graph as the paper
//! draws them: async and wait nodes have no accesses. Repairs 1, 2, 3 and 6 of
//! [`finishline_graph::zipper`] are part of it, because without them nothing can be run. Repairs 4,
//! 5, 7 and 8 can be left out one at a time. The others change the algorithm. The procedures
//! recurse, so they are for small graphs.

use std::collections::{BTreeMap, BTreeSet};

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Async { successors: Vec<usize>, join: usize },
    Wait { first_async: Option<usize> },
    Isolated(usize),
    Other,
}

#[derive(Clone, Debug)]
pub(crate) struct PrintedNode {
    pub(crate) name: char,
    pub(crate) kind: Kind,
    pub(crate) child: Option<usize>,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// The repairs that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repair {
    BlocksOfTheBag,
    SkipBehindSliderUp,
    JoinBagsOfTheBranch,
    SliderBeforeCheckUp,
}

type Sets = BTreeMap<usize, BTreeSet<usize>>;

pub(crate) struct Printed {
    nodes: Vec<PrintedNode>,
    blocks: usize,
    without: Option<Repair>,
    down: Sets,
    up: Sets,
    down_lambda: Sets,
    up_lambda: Sets,
    slider_down: Option<usize>,
    slider_up: Option<usize>,
    next_branch: usize,
    next_bag: usize,
    ready: BTreeSet<usize>,
    s: Sets,
    blocks_of: Sets,
    candidates: BTreeMap<usize, BTreeSet<(usize, usize)>>,
    bag_branches: Sets,
    bag_blocks: Sets,
    pub(crate) races: BTreeSet<(usize, usize)>,
    /// The rows of Table 2, without the checks.
    pub(crate) rows: Vec<String>,
}

impl Printed {
    pub(crate) fn new(nodes: Vec<PrintedNode>, without: Option<Repair>) -> Printed {
        let isolated = |node: &&PrintedNode| matches!(node.kind, Kind::Isolated(_));
        let blocks = nodes.iter().filter(isolated).count();
        Printed {
            nodes,
            blocks,
            without,
            down: Sets::new(),
            up: Sets::new(),
            down_lambda: Sets::new(),
            up_lambda: Sets::new(),
            slider_down: None,
            slider_up: None,
            next_branch: 1,
            next_bag: 2,
            ready: BTreeSet::new(),
            s: Sets::new(),
            blocks_of: Sets::new(),
            candidates: BTreeMap::new(),
            bag_branches: Sets::new(),
            bag_blocks: Sets::new(),
            races: BTreeSet::new(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn run(&mut self, entry: usize) {
        self.recursive_analyze(entry, 0, 0, 1);
    }

    fn has(&self, repair: Repair) -> bool {
        self.without != Some(repair)
    }

    fn recursive_analyze(&mut self, n: usize, branch: usize, s_bag: usize, p_bag: usize) {
        match self.nodes[n].kind.clone() {
            Kind::Async { successors, join } => {
                self.async_node(n, &successors, join, branch, s_bag, p_bag);
            }
            Kind::Wait { first_async } => self.wait_node(n, first_async, branch, s_bag, p_bag),
            Kind::Isolated(_) | Kind::Other => self.other_node(n, branch, s_bag, p_bag),
        }
    }

    fn async_node(
        &mut self,
        n: usize,
        successors: &[usize],
        join: usize,
        branch: usize,
        s_bag: usize,
        p_bag: usize,
    ) {
        self.row(n, branch, BTreeSet::new());
        let thread_bag = self.next_bag;
        self.next_bag += 1;
        for bags in [&mut self.bag_branches, &mut self.bag_blocks] {
            let copy = bags.get(&p_bag).cloned().unwrap_or_default();
            bags.insert(thread_bag, copy);
        }
        let (up_0, down_0) = (self.slider_up, self.slider_down);
        let (mut least_up, mut greatest_down) = (self.slider_up, self.slider_down);
        for (index, &successor) in successors.iter().enumerate() {
            if index > 0 {
                self.row_without_sliders(n);
            }
            (self.slider_up, self.slider_down) = (up_0, down_0);
            let id = self.next_branch;
            self.next_branch += 1;
            self.s.insert(id, BTreeSet::new());
            self.candidates.insert(id, BTreeSet::new());
            let new_bag = self.next_bag;
            self.next_bag += 1;
            self.recursive_analyze(successor, id, new_bag, thread_bag);
            let left = self.s.get(&id).cloned().unwrap_or_default();
            self.up_lambda.insert(id, left);
            least_up = match (least_up, self.slider_up) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            greatest_down = greatest_down.max(self.slider_down);
            let mut branches = BTreeSet::from([id]);
            let mut blocks = self.blocks_of.get(&id).cloned().unwrap_or_default();
            if self.has(Repair::JoinBagsOfTheBranch) {
                branches.extend(self.bag_branches.get(&new_bag).into_iter().flatten());
                blocks.extend(self.bag_blocks.get(&new_bag).into_iter().flatten());
            }
            for bag in [s_bag, thread_bag] {
                self.bag_branches.entry(bag).or_default().extend(&branches);
                self.bag_blocks.entry(bag).or_default().extend(&blocks);
            }
        }
        self.slider_down = greatest_down;
        self.row_without_sliders(n);
        self.ready.insert(n);
        self.recursive_analyze(join, branch, s_bag, p_bag);
        self.slider_up = least_up;
    }

    fn wait_node(
        &mut self,
        n: usize,
        first_async: Option<usize>,
        branch: usize,
        s_bag: usize,
        p_bag: usize,
    ) {
        if first_async.is_none_or(|first| self.ready.contains(&first)) {
            if let Some(child) = self.nodes[n].child {
                self.recursive_analyze(child, branch, s_bag, p_bag);
            }
            return;
        }
        let left = std::mem::take(self.s.entry(branch).or_default());
        self.down_lambda.entry(branch).or_default().extend(left);
        self.row(n, branch, BTreeSet::new());
    }

    fn other_node(&mut self, n: usize, branch: usize, s_bag: usize, p_bag: usize) {
        self.s.entry(branch).or_default().insert(n);
        // Table 2 shows S before it is emptied.
        let shown = self.s[&branch].clone();
        let block = match self.nodes[n].kind {
            Kind::Isolated(block) => Some(block),
            _ => None,
        };
        if let Some(i) = block {
            self.slider_down = Some(i);
            if i + 1 < self.blocks {
                let left = std::mem::take(self.s.entry(branch).or_default());
                self.down.entry(i).or_default().extend(left);
                self.blocks_of.entry(branch).or_default().insert(i);
            }
        }
        self.row(n, branch, shown);
        self.check_down(n, branch, p_bag);
        if let Some(child) = self.nodes[n].child {
            self.recursive_analyze(child, branch, s_bag, p_bag);
        }
        let before = self.has(Repair::SliderBeforeCheckUp);
        if let Some(i) = block.filter(|_| before) {
            self.slider_up = Some(i);
        }
        self.check_up(n, branch, p_bag);
        self.s.entry(branch).or_default().insert(n);
        let shown = self.s[&branch].clone();
        if let Some(i) = block {
            self.slider_up = Some(i);
            if i > 0 {
                let left = std::mem::take(self.s.entry(branch).or_default());
                self.up.entry(i).or_default().extend(left);
                self.blocks_of.entry(branch).or_default().insert(i);
            }
        }
        self.row(n, branch, shown);
    }

    /// The blocks that the checks go through.
    fn checked_blocks(&self, branch: usize, p_bag: usize) -> BTreeSet<usize> {
        let blocks = match self.has(Repair::BlocksOfTheBag) {
            true => self.bag_blocks.get(&p_bag),
            false => self.blocks_of.get(&branch),
        };
        blocks.cloned().unwrap_or_default()
    }

    fn check_down(&mut self, n: usize, branch: usize, p_bag: usize) {
        let mut found = BTreeSet::new();
        for other in self.bag_branches.get(&p_bag).into_iter().flatten() {
            found.extend(self.down_lambda.get(other).into_iter().flatten());
        }
        for i in self.checked_blocks(branch, p_bag) {
            if self.slider_down.is_none_or(|slider| i > slider) {
                found.extend(self.down.get(&i).into_iter().flatten());
            }
        }
        let candidates = self.candidates.entry(branch).or_default();
        candidates.extend(found.into_iter().map(|other| (n, other)));
    }

    fn check_up(&mut self, n: usize, branch: usize, p_bag: usize) {
        let mut found = BTreeSet::new();
        for other in self.bag_branches.get(&p_bag).into_iter().flatten() {
            found.extend(self.up_lambda.get(other).into_iter().flatten());
        }
        for i in self.checked_blocks(branch, p_bag) {
            let looks = match self.has(Repair::SkipBehindSliderUp) {
                true => self.slider_up.is_none_or(|slider| i < slider),
                false => self.slider_up.is_none_or(|slider| i > slider),
            };
            if looks {
                found.extend(self.up.get(&i).into_iter().flatten());
            }
        }
        for other in found {
            let [a, b] = [n, other].map(|node| &self.nodes[node]);
            let conflict = a.writes && (b.reads || b.writes) || a.reads && b.writes;
            if conflict && self.candidates[&branch].contains(&(n, other)) {
                self.races.insert((other.min(n), other.max(n)));
            }
        }
    }

    fn names(&self, set: &BTreeSet<usize>) -> String {
        let names: String = set.iter().map(|&node| self.nodes[node].name).collect();
        format!("{{{names}}}")
    }

    fn row(&mut self, n: usize, _branch: usize, s: BTreeSet<usize>) {
        let slider = |slider: Option<usize>| slider.map_or("-".into(), |i| i.to_string());
        let sliders = [self.slider_down, self.slider_up].map(slider).join(" ");
        self.push_row(n, &sliders, &s);
    }

    /// Between two branches the sliders are those of neither.
    fn row_without_sliders(&mut self, n: usize) {
        self.push_row(n, "- -", &BTreeSet::new());
    }

    fn push_row(&mut self, n: usize, sliders: &str, s: &BTreeSet<usize>) {
        let zippers = [&self.down, &self.up, &self.down_lambda, &self.up_lambda];
        let shown = zippers.map(|sets| {
            let filled = sets.iter().filter(|(_, set)| !set.is_empty());
            let sets = filled.map(|(index, set)| format!("{index}:{}", self.names(set)));
            format!("[{}]", sets.collect::<Vec<_>>().join(" "))
        });
        let row = format!(
            "{} {} {sliders} {}",
            self.nodes[n].name,
            shown.join(" "),
            self.names(s)
        );
        self.rows.push(row);
    }
}

/// The graph of [Zipper Fig. 3], from Table 2 and its text: `a` creates both branches, `j` joins
/// them, and c → d → h → g are the isolation edges.
pub(crate) fn figure_3() -> Vec<PrintedNode> {
    let node = |name: char, kind: Kind, child: Option<char>| PrintedNode {
        name,
        kind,
        child: child.map(|child| child as usize - 'a' as usize),
        reads: false,
        writes: false,
    };
    let (successors, join) = (vec![1, 3], 9);
    vec![
        node('a', Kind::Async { successors, join }, None),
        node('b', Kind::Other, Some('c')),
        node('c', Kind::Isolated(0), Some('e')),
        node('d', Kind::Isolated(1), Some('f')),
        node('e', Kind::Other, Some('g')),
        node('f', Kind::Other, Some('h')),
        node('g', Kind::Isolated(3), Some('i')),
        node('h', Kind::Isolated(2), Some('j')),
        node('i', Kind::Other, Some('j')),
        node(
            'j',
            Kind::Wait {
                first_async: Some(0),
            },
            None,
        ),
    ]
}

/// [Zipper Table 2], with sets in alphabetical order.
const TABLE_2: &str = "
a [] [] [] [] - - {}
b [] [] [] [] - - {b}
c [0:{bc}] [] [] [] 0 - {bc}
e [0:{bc}] [] [] [] 0 - {e}
g [0:{bc}] [] [] [] 3 - {eg}
i [0:{bc}] [] [] [] 3 - {egi}
j [0:{bc}] [] [1:{egi}] [] 3 - {}
i [0:{bc}] [] [1:{egi}] [] 3 - {i}
g [0:{bc}] [3:{gi}] [1:{egi}] [] 3 3 {gi}
e [0:{bc}] [3:{gi}] [1:{egi}] [] 3 3 {e}
c [0:{bc}] [3:{gi}] [1:{egi}] [] 3 0 {ce}
b [0:{bc}] [3:{gi}] [1:{egi}] [] 3 0 {bce}
a [0:{bc}] [3:{gi}] [1:{egi}] [1:{bce}] - - {}
d [0:{bc} 1:{d}] [3:{gi}] [1:{egi}] [1:{bce}] 1 - {d}
f [0:{bc} 1:{d}] [3:{gi}] [1:{egi}] [1:{bce}] 1 - {f}
h [0:{bc} 1:{d} 2:{fh}] [3:{gi}] [1:{egi}] [1:{bce}] 2 - {fh}
j [0:{bc} 1:{d} 2:{fh}] [3:{gi}] [1:{egi}] [1:{bce}] 2 - {}
h [0:{bc} 1:{d} 2:{fh}] [2:{h} 3:{gi}] [1:{egi}] [1:{bce}] 2 2 {h}
f [0:{bc} 1:{d} 2:{fh}] [2:{h} 3:{gi}] [1:{egi}] [1:{bce}] 2 2 {f}
d [0:{bc} 1:{d} 2:{fh}] [1:{df} 2:{h} 3:{gi}] [1:{egi}] [1:{bce}] 2 1 {df}
a [0:{bc} 1:{d} 2:{fh}] [1:{df} 2:{h} 3:{gi}] [1:{egi}] [1:{bce}] - - {}
";

#[test]
fn the_printed_procedures_take_the_steps_of_table_2() {
    let mut printed = Printed::new(figure_3(), None);
    printed.run(0);
    let expected: Vec<&str> = TABLE_2.trim().lines().collect();
    assert_eq!(printed.rows, expected);
}
