//! The computation graph of a run in the user's words.
//!
//! The run was judged before, so its races are known: a task and an access each. It is repeated
//! twice. The first repetition gives the graph. There the nodes of the races are found, and like
//! nodes become one if there are too many ([`finishline_graph::collapse`]). The second repetition
//! names the locations and tasks of the nodes that are left. The memory is that of the graph: some
//! bytes for each node, and for each access.

use crate::check::Judged;
use crate::names::{Names, place};
use crate::question::{Question, Subject};
use crate::rerun::Rerun;
use crate::story::Story;
use finishline_answer::picture::{
    Accessed, Begins, Edge, EdgeKind, Kind, Node, NodeAccess, Picture,
};
use finishline_detect::{Failure, steps};
use finishline_graph::collapse::{Collapsed, Group, collapse};
use finishline_graph::graph::NodeAccess as Entry;
use finishline_graph::{Graph, GraphBuilder, NodeId, NodeKind};
use finishline_ir::listener::EventsAlone;
use finishline_model::{AccessPoint, Event, FinishKind, Location, Race, SiteId, TaskId};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::fmt;

/// The most accesses that are shown of a node.
const MOST_ACCESSES: usize = 24;

/// Why a run can't be drawn.
#[derive(Debug)]
pub enum NoPicture {
    /// The graph could not be made.
    Graph(Failure),
    /// The run is not the one that was judged.
    Differs,
}

impl fmt::Display for NoPicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPicture::Graph(failure) => failure.fmt(f),
            NoPicture::Differs => {
                f.write_str("the program did not do the same when it was run again")
            }
        }
    }
}

impl std::error::Error for NoPicture {}

/// The computation graph of a program's run.
pub fn graph(question: &Question) -> Result<Graph, Failure> {
    Graph::of(|builder| {
        question.again(&mut EventsAlone(builder));
    })
}

/// The graph of a judged run, with at most `most` nodes and those that race.
pub(crate) fn of<'m, S: Subject<'m>>(
    judged: &Judged<'_, S>,
    most: usize,
) -> Result<Picture, NoPicture> {
    let subject = judged.subject;
    let (answer, races) = judged.answer_with_races();
    let mut builder = GraphBuilder::new();
    let ending = subject.whole(&mut EventsAlone(&mut builder));
    if judged.findings.is_ok() && ending != judged.ending {
        return Err(NoPicture::Differs);
    }
    let graph = builder.finish().map_err(NoPicture::Graph)?;
    let racing: Vec<Option<[NodeId; 2]>> = races.iter().map(|race| locate(&graph, race)).collect();
    let keep: Vec<NodeId> = racing.iter().flatten().flatten().copied().collect();
    let collapsed = collapse(&graph, &keep, most);

    let shown: Vec<Shown> = (collapsed.groups.iter())
        .map(|group| Shown::of(&graph, group, &races, &racing))
        .collect();
    let locations: Vec<Location> = (shown.iter().flat_map(|shown| &shown.entries))
        .map(|(entry, _)| entry.location)
        .collect();
    let mut rerun = Rerun::new(subject.module(), &locations, None);
    subject.whole(&mut rerun);
    let tasks = collapsed.groups.iter().map(|group| graph.task(group.node));
    let painter = Painter {
        graph: &graph,
        collapsed: &collapsed,
        names: &rerun.names,
        story: &Story::of(subject, tasks, None),
    };
    let group_of = |node: NodeId| collapsed.group_of(node);
    Ok(Picture {
        answer,
        nodes: (collapsed.groups.iter().zip(&shown))
            .map(|(group, shown)| painter.node(group, shown))
            .collect(),
        edges: edges(&graph, &collapsed),
        races: (racing.iter())
            .map(|race| {
                let [first, second] = (*race)?;
                Some([group_of(first)?, group_of(second)?])
            })
            .collect(),
        nodes_of_graph: graph.len() as u64,
        left_out: collapsed.left_out as u64,
    })
}

/// The nodes of a race: two of its tasks that make its accesses and that no path connects.
///
/// If a path leads from a node of a task to a later node of another one, so do paths from all
/// earlier nodes of the task, and to all later nodes of the other. So only neighbours in the order
/// of the run need to be looked at.
fn locate(graph: &Graph, race: &Race) -> Option<[NodeId; 2]> {
    let makes = |node: NodeId, point: &AccessPoint| {
        graph.task(node) == point.task
            && graph.block(node).is_some() == point.isolated
            && (graph.accesses(node).iter())
                .any(|entry| (entry.location, entry.kind) == (race.location, point.kind))
    };
    let mut latest: [Option<NodeId>; 2] = [None; 2];
    for node in graph.nodes() {
        for (side, point) in [&race.first, &race.second].into_iter().enumerate() {
            if !makes(node, point) {
                continue;
            }
            if let Some(other) = latest[1 - side]
                && latest[side] < Some(other)
                && !graph.precedes(other, node, !race.ordered_by_isolation)
            {
                let mut nodes = [other, node];
                // The first access of the race comes first.
                nodes.rotate_left(1 - side);
                return Some(nodes);
            }
            latest[side] = Some(node);
        }
    }
    None
}

fn edges(graph: &Graph, collapsed: &Collapsed) -> Vec<Edge> {
    let mut edges: FxHashSet<(usize, usize, EdgeKind)> = FxHashSet::default();
    let mut add = |from: NodeId, to: NodeId, kind: EdgeKind| {
        let ends = (collapsed.group_of(from), collapsed.group_of(to));
        if let (Some(from), Some(to)) = ends
            && from != to
        {
            edges.insert((from, to, kind));
        }
    };
    for node in graph.nodes() {
        let begins = graph.begins(node);
        let first = match begins {
            steps::Begins::Task => EdgeKind::Create,
            _ => EdgeKind::Continue,
        };
        let others = match begins {
            steps::Begins::Get => EdgeKind::Promise,
            _ => EdgeKind::Join,
        };
        for (index, before) in graph.predecessors(node).iter().enumerate() {
            add(*before, node, if index == 0 { first } else { others });
        }
        if let Some(before) = graph.isolation_edge_to(node) {
            add(before, node, EdgeKind::Isolation);
        }
    }
    let edge = |(from, to, kind)| Edge { from, to, kind };
    let mut edges: Vec<Edge> = edges.into_iter().map(edge).collect();
    edges.sort_unstable();
    edges
}

/// The part of a group's access set that is shown, each entry with whether it races.
struct Shown {
    entries: Vec<(Entry, bool)>,
    count: usize,
}

impl Shown {
    fn of(graph: &Graph, group: &Group, races: &[Race], racing: &[Option<[NodeId; 2]>]) -> Shown {
        if group.folded {
            let (entries, count) = (Vec::new(), 0);
            return Shown { entries, count };
        }
        let entries = graph.accesses(group.node);
        let races_at = |entry: &Entry| {
            races.iter().zip(racing).any(|(race, nodes)| {
                let points = [&race.first, &race.second];
                let mut sides = nodes.iter().flatten().zip(points);
                sides.any(|(node, point)| {
                    *node == group.node
                        && (race.location, point.kind) == (entry.location, entry.kind)
                })
            })
        };
        let mut entries: Vec<(Entry, bool)> = (entries.iter())
            .map(|entry| (*entry, races_at(entry)))
            .collect();
        if group.nodes > 1 {
            // Its nodes access different locations at the same places of the source.
            let mut seen = BTreeSet::new();
            entries.retain(|(entry, _)| seen.insert(entry.id));
        }
        let count = entries.len();
        entries.sort_by_key(|(_, races)| !races);
        entries.truncate(MOST_ACCESSES);
        Shown { entries, count }
    }
}

struct Painter<'a, 'm> {
    graph: &'a Graph,
    collapsed: &'a Collapsed,
    names: &'a Names<'m>,
    story: &'a Story<'m>,
}

impl Painter<'_, '_> {
    fn node(&self, group: &Group, shown: &Shown) -> Node {
        let (graph, node) = (self.graph, group.node);
        let source = self.names.source();
        let site = graph.event(node).site();
        let access = |(entry, races): &(Entry, bool)| {
            let info = source.access(entry.id);
            NodeAccess {
                kind: entry.kind,
                location: match group.nodes {
                    1 => Accessed::One(self.names.location(entry.location)),
                    _ => Accessed::Each(source.snippet(info.place)),
                },
                line: source.site(info.site).line,
                races: *races,
            }
        };
        let inside = graph.inside(node);
        Node {
            kind: match graph.kind(node) {
                NodeKind::Async => Kind::Async,
                NodeKind::Wait => Kind::Wait,
                NodeKind::Isolated => Kind::Isolated,
                NodeKind::Step => Kind::Step,
            },
            begins: self.begins(node),
            place: site.map(|site| place(source, site)),
            task: self.story.step(graph.task(node)),
            accesses: shown.entries.iter().map(access).collect(),
            access_count: shown.count as u64,
            count: group.nodes as u64,
            folded_tasks: group.folded.then_some(group.tasks as u64),
            inside: inside.and_then(|inside| self.collapsed.group_of(inside)),
        }
    }

    fn begins(&self, node: NodeId) -> Begins {
        let source = self.names.source();
        let word = |site: SiteId| source.snippet(site);
        match *self.graph.event(node) {
            Event::TaskBegin { task, .. } if task == TaskId::MAIN => Begins::Main,
            Event::TaskBegin { task, .. } if task == self.graph.task(node) => Begins::Task,
            Event::TaskBegin { .. } => Begins::AfterCreation,
            Event::FinishBegin { kind, site, .. } => match kind {
                FinishKind::Root => Begins::Root,
                FinishKind::Lexical | FinishKind::Dynamic => Begins::Finish(word(site)),
                FinishKind::SyncScope => Begins::SyncScope,
            },
            Event::FinishJoin { .. } => Begins::Sync,
            Event::FinishEnd { .. } => match self.ended_finish(node) {
                Some((FinishKind::Lexical | FinishKind::Dynamic, site)) => {
                    Begins::FinishEnd(word(site), source.site(site).line)
                }
                Some((FinishKind::SyncScope, _)) => Begins::EndOfSyncScope,
                Some((FinishKind::Root, _)) | None => Begins::EndOfMain,
            },
            Event::IsolatedBegin { .. } => Begins::Isolated,
            Event::IsolatedEnd { .. } => Begins::AfterIsolated,
            Event::PromiseSet { .. } => Begins::AfterSet,
            Event::PromiseGet { .. } => Begins::Get,
            _ => Begins::Other,
        }
    }

    /// The finish that ended before this node: the one that the task's previous node was in.
    fn ended_finish(&self, node: NodeId) -> Option<(FinishKind, SiteId)> {
        let previous = *self.graph.predecessors(node).first()?;
        let begun = match self.graph.begins(previous) {
            steps::Begins::Finish => previous,
            _ => self.graph.inside(previous)?,
        };
        match *self.graph.event(begun) {
            Event::FinishBegin { kind, site, .. } => Some((kind, site)),
            _ => None,
        }
    }
}
