//! A layered layout of a graph: time goes down.
//!
//! [Sugiyama, Tagawa, Toda 1981] Four steps:
//!
//! 1. The layer of a node is the length of the longest path to it.
//! 2. An edge that passes layers gets a *bend* in each of them. Nodes and bends are vertices.
//! 3. Vertices of a layer are sorted by the mean position of their neighbours in the layer above,
//!    then in the layer below, and so on. The order with the fewest crossings wins.
//! 4. Vertices move to the mean of their neighbours, as far as order and distance allow. The layer
//!    as a whole then minimises the sum of squares, by pooling neighbours that would overlap.
//!
//! Edges may lead back to an earlier node. They are laid out as if reversed.
//!
//! The cost of a round is near-linear in vertices. There can be many more bends than nodes. If
//! there would be more than [`MOST_BENDS`], edges go straight.

/// The centre of a vertex, or its size.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// An edge, and how much it wants to be straight.
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) weight: f64,
}

/// Where everything is.
pub(super) struct Layout {
    /// The centres of the nodes.
    pub(super) centres: Vec<Point>,
    /// For each edge the points that it passes, from its start to its end.
    pub(super) paths: Vec<Vec<Point>>,
    pub(super) size: Point,
}

const MOST_BENDS: usize = 100_000;
/// Rounds of sorting and of moving, down and up.
const SORTINGS: usize = 12;
const MOVES: usize = 24;

/// Between nodes of a layer, between edges, and between layers.
const GAP: f64 = 26.0;
const EDGE_GAP: f64 = 12.0;
const LAYER_GAP: f64 = 34.0;
/// Between the ends of two edges at one side of a node.
const END_GAP: f64 = 12.0;

/// Lays out nodes of these sizes.
pub(super) fn layout(sizes: &[Point], lines: &[Line]) -> Layout {
    let mut layers = Layers::new(sizes, lines);
    layers.sort();
    layers.move_to_neighbours();
    layers.layout(sizes, lines)
}

struct Layers {
    /// The vertices of each layer in their order. The nodes come first in numbering, then bends.
    layers: Vec<Vec<usize>>,
    widths: Vec<f64>,
    nodes: usize,
    /// Vertices in the layer above and in the layer below, with weights.
    above: Vec<Vec<(usize, f64)>>,
    below: Vec<Vec<(usize, f64)>>,
    /// The vertices that each edge passes, from the upper to the lower end.
    chains: Vec<Vec<usize>>,
    x: Vec<f64>,
}

impl Layers {
    fn new(sizes: &[Point], lines: &[Line]) -> Layers {
        let layer_of = layers_of(sizes.len(), lines);
        let spans = lines
            .iter()
            .map(|line| layer_of[line.from].abs_diff(layer_of[line.to]));
        let has_bends = spans.map(|span| span.saturating_sub(1)).sum::<usize>() <= MOST_BENDS;
        let mut layers = Layers {
            layers: vec![Vec::new(); layer_of.iter().max().map_or(0, |last| last + 1)],
            widths: sizes.iter().map(|size| size.x).collect(),
            nodes: sizes.len(),
            above: vec![Vec::new(); sizes.len()],
            below: vec![Vec::new(); sizes.len()],
            chains: Vec::new(),
            x: Vec::new(),
        };
        let mut layer_of_vertex = layer_of.clone();
        for line in lines {
            let (upper, lower) = (line.from.min(line.to), line.from.max(line.to));
            let between = match has_bends {
                true => layer_of[upper] + 1..layer_of[lower],
                false => 0..0,
            };
            let mut chain = vec![upper];
            for layer in between {
                chain.push(layers.widths.len());
                layers.widths.push(0.0);
                layer_of_vertex.push(layer);
                layers.above.push(Vec::new());
                layers.below.push(Vec::new());
            }
            chain.push(lower);
            for pair in chain.windows(2) {
                if layer_of_vertex[pair[0]] + 1 == layer_of_vertex[pair[1]] {
                    // A long edge is better straight in its middle than at its ends.
                    let bends = pair
                        .iter()
                        .filter(|vertex| **vertex >= layers.nodes)
                        .count();
                    let weight = line.weight * [1.0, 2.0, 6.0][bends];
                    layers.below[pair[0]].push((pair[1], weight));
                    layers.above[pair[1]].push((pair[0], weight));
                }
            }
            layers.chains.push(chain);
        }
        layers.place_depth_first(&layer_of_vertex);
        layers
    }

    /// The order to start with: each vertex beside those that it leads to.
    fn place_depth_first(&mut self, layer_of: &[usize]) {
        let mut is_placed = vec![false; self.widths.len()];
        for root in 0..self.widths.len() {
            let mut to_place = vec![root];
            while let Some(vertex) = to_place.pop() {
                if !std::mem::replace(&mut is_placed[vertex], true) {
                    self.layers[layer_of[vertex]].push(vertex);
                    to_place.extend(self.below[vertex].iter().rev().map(|(below, _)| *below));
                }
            }
        }
    }

    /// Sorts each layer to reduce crossings.
    fn sort(&mut self) {
        let mut fewest = (self.crossings(), self.layers.clone());
        for round in 0..SORTINGS {
            let mut position = self.positions();
            let downwards = round % 2 == 0;
            let beside = if downwards { &self.above } else { &self.below };
            let mut order: Vec<usize> = (0..self.layers.len()).collect();
            if !downwards {
                order.reverse();
            }
            for layer in order {
                let vertices = &mut self.layers[layer];
                let wanted = |vertex: usize| {
                    let beside = &beside[vertex];
                    match beside.is_empty() {
                        true => position[vertex],
                        false => {
                            let sum: f64 = beside.iter().map(|(other, _)| position[*other]).sum();
                            sum / beside.len() as f64
                        }
                    }
                };
                let mut sorted: Vec<(f64, usize)> = vertices
                    .iter()
                    .map(|vertex| (wanted(*vertex), *vertex))
                    .collect();
                sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
                for (at, (_, vertex)) in sorted.into_iter().enumerate() {
                    vertices[at] = vertex;
                    position[vertex] = at as f64;
                }
            }
            let crossings = self.crossings();
            if crossings < fewest.0 {
                fewest = (crossings, self.layers.clone());
            }
        }
        self.layers = fewest.1;
    }

    /// The index of each vertex in its layer.
    fn positions(&self) -> Vec<f64> {
        let mut position = vec![0.0; self.widths.len()];
        for layer in &self.layers {
            for (at, vertex) in layer.iter().enumerate() {
                position[*vertex] = at as f64;
            }
        }
        position
    }

    /// The number of pairs of edges that cross.
    fn crossings(&self) -> usize {
        let position = self.positions();
        let mut crossings = 0;
        for (upper, lower) in self.layers.iter().zip(self.layers.iter().skip(1)) {
            // Edges from left to right by their upper ends. Two cross if their lower ends are in
            // the other order. The tree counts the lower ends so far, by position.
            let mut tree = vec![0; lower.len() + 1];
            let mut edges = 0;
            for vertex in upper {
                let ends = self.below[*vertex].iter();
                let mut ends: Vec<usize> = ends.map(|(end, _)| position[*end] as usize).collect();
                ends.sort_unstable();
                for end in &ends {
                    crossings += edges - count_up_to(&tree, end + 1);
                }
                edges += ends.len();
                for end in ends {
                    add(&mut tree, end + 1);
                }
            }
        }
        crossings
    }

    /// The least distance of the centres of two vertices in a row.
    fn distance(&self, left: usize, right: usize) -> f64 {
        let gap = match left < self.nodes && right < self.nodes {
            true => GAP,
            false => EDGE_GAP,
        };
        (self.widths[left] + self.widths[right]) / 2.0 + gap
    }

    /// Finds the horizontal positions of all vertices.
    fn move_to_neighbours(&mut self) {
        self.x = vec![0.0; self.widths.len()];
        for layer in &self.layers {
            for pair in layer.windows(2) {
                self.x[pair[1]] = self.x[pair[0]] + self.distance(pair[0], pair[1]);
            }
        }
        for round in 0..MOVES {
            // At last both neighbours count, so that nothing is pulled to one side.
            let both = round + 4 >= MOVES;
            let downwards = round % 2 == 0;
            let mut order: Vec<usize> = (0..self.layers.len()).collect();
            if !downwards {
                order.reverse();
            }
            for layer in order {
                let wanted: Vec<(f64, f64)> = (self.layers[layer].iter())
                    .map(|vertex| self.wanted(*vertex, both || downwards, both || !downwards))
                    .collect();
                self.settle(layer, &wanted);
            }
        }
    }

    /// Where a vertex wants to be, and how much.
    fn wanted(&self, vertex: usize, above: bool, below: bool) -> (f64, f64) {
        let above = self.above[vertex].iter().filter(|_| above);
        let beside = above.chain(self.below[vertex].iter().filter(|_| below));
        let (mut sum, mut weights) = (0.0, 0.0);
        for (other, weight) in beside {
            sum += self.x[*other] * weight;
            weights += weight;
        }
        match weights > 0.0 {
            true => (sum / weights, weights),
            false => (self.x[vertex], 0.1),
        }
    }

    /// Moves the vertices of a layer as close as possible to where they want to be. Without the
    /// distances between them that is isotonic regression.
    fn settle(&mut self, layer: usize, wanted: &[(f64, f64)]) {
        struct Pool {
            sum: f64,
            weight: f64,
            vertices: usize,
        }
        let mut offsets = vec![0.0; wanted.len()];
        for (at, pair) in self.layers[layer].windows(2).enumerate() {
            offsets[at + 1] = offsets[at] + self.distance(pair[0], pair[1]);
        }
        let mut pools: Vec<Pool> = Vec::new();
        for ((at, weight), offset) in wanted.iter().zip(&offsets) {
            let mut pool = Pool {
                sum: (at - offset) * weight,
                weight: *weight,
                vertices: 1,
            };
            while let Some(left) = pools.last()
                && left.sum / left.weight > pool.sum / pool.weight
            {
                pool.sum += left.sum;
                pool.weight += left.weight;
                pool.vertices += left.vertices;
                pools.pop();
            }
            pools.push(pool);
        }
        let settled = (pools.iter())
            .flat_map(|pool| std::iter::repeat_n(pool.sum / pool.weight, pool.vertices));
        for ((vertex, at), offset) in self.layers[layer].iter().zip(settled).zip(&offsets) {
            self.x[*vertex] = at + offset;
        }
    }

    fn layout(self, sizes: &[Point], lines: &[Line]) -> Layout {
        let left = (0..self.widths.len()).map(|vertex| self.x[vertex] - self.widths[vertex] / 2.0);
        let left = left.fold(f64::INFINITY, f64::min);
        let x: Vec<f64> = self.x.iter().map(|x| x - left).collect();
        // The top and the height of the layer of each vertex.
        let mut rows = vec![Point::default(); self.widths.len()];
        let mut top = 0.0;
        for layer in &self.layers {
            let heights = layer.iter().filter(|vertex| **vertex < self.nodes);
            let height = heights.map(|node| sizes[*node].y).fold(0.0, f64::max);
            for vertex in layer {
                rows[*vertex] = Point { x: top, y: height };
            }
            top += height + LAYER_GAP;
        }
        // The ends of edges at a node have the order of what they come from or lead to.
        let mut starts: Vec<Vec<(f64, usize)>> = vec![Vec::new(); self.nodes];
        let mut ends = starts.clone();
        for (edge, chain) in self.chains.iter().enumerate() {
            let last = chain.len() - 1;
            starts[chain[0]].push((x[chain[1]], edge));
            ends[chain[last]].push((x[chain[last - 1]], edge));
        }
        let (starts, ends) = (spread(starts, sizes), spread(ends, sizes));
        let paths = self.chains.iter().zip(lines).enumerate();
        let path = |(edge, (chain, line)): (usize, (&Vec<usize>, &Line))| {
            let last = chain.len() - 1;
            let (start, row) = (x[chain[0]] + starts[edge], rows[chain[0]]);
            // First down to where no box of the layer is in the way.
            let mut path: Vec<Point> = [row.x + sizes[chain[0]].y, row.x + row.y]
                .map(|y| Point { x: start, y })
                .to_vec();
            for vertex in &chain[1..last] {
                let (x, Point { x: top, y: height }) = (x[*vertex], rows[*vertex]);
                path.extend([top, top + height].map(|y| Point { x, y }));
            }
            path.push(Point {
                x: x[chain[last]] + ends[edge],
                y: rows[chain[last]].x,
            });
            if line.from > line.to {
                path.reverse();
            }
            path
        };
        let right = (0..self.widths.len()).map(|vertex| x[vertex] + self.widths[vertex] / 2.0);
        Layout {
            paths: paths.map(path).collect(),
            size: Point {
                x: right.fold(0.0, f64::max),
                y: top - LAYER_GAP,
            },
            centres: (0..self.nodes)
                .map(|node| Point {
                    x: x[node],
                    y: rows[node].x + sizes[node].y / 2.0,
                })
                .collect(),
        }
    }
}

/// The length of the longest path to each node, if all edges lead to greater numbers.
fn layers_of(nodes: usize, lines: &[Line]) -> Vec<usize> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for line in lines {
        before[line.from.max(line.to)].push(line.from.min(line.to));
    }
    let mut layers = vec![0; nodes];
    for node in 0..nodes {
        let above = before[node].iter().map(|other| layers[*other] + 1);
        layers[node] = above.max().unwrap_or(0);
    }
    layers
}

/// For each edge the distance of its end from the centre of its node.
fn spread(mut ends: Vec<Vec<(f64, usize)>>, sizes: &[Point]) -> Vec<f64> {
    let mut distances = vec![0.0; ends.iter().map(Vec::len).sum()];
    for (node, ends) in ends.iter_mut().enumerate() {
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let count = ends.len() as f64;
        let gap = END_GAP.min((sizes[node].x - END_GAP).max(0.0) / count);
        for (at, (_, edge)) in ends.iter().enumerate() {
            distances[*edge] = (at as f64 - (count - 1.0) / 2.0) * gap;
        }
    }
    distances
}

/// Adds one at a position from 1 on, in a tree of sums.
fn add(tree: &mut [usize], mut position: usize) {
    while position < tree.len() {
        tree[position] += 1;
        position += position & position.wrapping_neg();
    }
}

/// The sum of the positions from 1 to this one.
fn count_up_to(tree: &[usize], mut position: usize) -> usize {
    let mut sum = 0;
    while position > 0 {
        sum += tree[position];
        position &= position - 1;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Point = Point { x: 100.0, y: 40.0 };

    fn lines(ends: &[(usize, usize)]) -> Vec<Line> {
        let line = |(from, to): &(usize, usize)| Line {
            from: *from,
            to: *to,
            weight: 1.0,
        };
        ends.iter().map(line).collect()
    }

    /// Random graphs: nodes do not overlap, edges go down, and paths meet the nodes.
    #[test]
    fn nodes_are_apart_and_edges_go_down() {
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % below
        };
        for nodes in 2..40 {
            let ends: Vec<(usize, usize)> = (1..nodes)
                .flat_map(|node| [(random(node), node), (random(node), node)])
                .collect();
            let lines = lines(&ends);
            let layout = layout(&vec![SIZE; nodes], &lines);
            for one in 0..nodes {
                for other in 0..one {
                    let (a, b) = (layout.centres[one], layout.centres[other]);
                    assert!((a.x - b.x).abs() >= SIZE.x || (a.y - b.y).abs() >= SIZE.y);
                }
            }
            for (path, line) in layout.paths.iter().zip(&lines) {
                assert!(path.windows(2).all(|pair| pair[0].y <= pair[1].y));
                let (start, end) = (path[0], path[path.len() - 1]);
                let (from, to) = (layout.centres[line.from], layout.centres[line.to]);
                assert_eq!((start.y, end.y), (from.y + 20.0, to.y - 20.0));
                assert!((start.x - from.x).abs() <= 50.0 && (end.x - to.x).abs() <= 50.0);
            }
        }
    }

    #[test]
    fn a_tree_has_no_crossings_and_a_chain_is_straight() {
        let tree = lines(&[(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]);
        let mut layers = Layers::new(&[SIZE; 7], &tree);
        layers.sort();
        assert_eq!(layers.crossings(), 0);
        let chain = layout(&[SIZE; 4], &lines(&[(0, 1), (1, 2), (2, 3)]));
        let first = chain.centres[0].x;
        assert!(chain.centres.iter().all(|centre| centre.x == first));
    }

    #[test]
    fn an_edge_that_leads_back_goes_up() {
        let chain = layout(&[SIZE; 4], &lines(&[(0, 1), (1, 2), (2, 3), (3, 1)]));
        let back = &chain.paths[3];
        assert!(back.windows(2).all(|pair| pair[0].y >= pair[1].y));
        assert_eq!(back[0].y, chain.centres[3].y - 20.0);
        assert_eq!(back[back.len() - 1].y, chain.centres[1].y + 20.0);
    }

    #[test]
    fn crossings_are_counted() {
        let mut layers = Layers::new(&[SIZE; 4], &lines(&[(0, 3), (1, 2)]));
        assert_eq!(layers.crossings(), 0);
        layers.layers[1].reverse();
        assert_eq!(layers.crossings(), 1);
        layers.sort();
        assert_eq!(layers.crossings(), 0);
    }
}
