//! The picture for scripts. `docs/graph.schema.json` defines the format.

use super::words;
use crate::node::{Node as Json, object};
use finishline_answer::finding::{Finding, FoundAccess};
use finishline_answer::picture::{Edge, Node, NodeAccess, Picture};
use std::io;

const SCHEMA_VERSION: u32 = 1;

pub(super) fn write(picture: &Picture, out: &mut dyn io::Write) -> io::Result<()> {
    let answer = &picture.answer;
    let document = object! {
        "schema_version": SCHEMA_VERSION,
        "tool": object! { "name": "finishline", "version": env!("CARGO_PKG_VERSION") },
        "program": answer.program.as_str(),
        "arguments": Json::list(&answer.arguments, Json::from),
        "verdict": answer.verdict.word(),
        "nodes_of_graph": picture.nodes_of_graph,
        "left_out": picture.left_out,
        "distinct_races": answer.distinct,
        "notes": words::notes(picture),
        "nodes": Json::list(picture.nodes.iter().enumerate(), node),
        "edges": Json::list(&picture.edges, edge),
        "races": Json::list(answer.findings.iter().zip(&picture.races), race),
    };
    document.write(out)
}

fn node((id, node): (usize, &Node)) -> Json {
    object! {
        "id": id,
        "kind": node.kind.word(),
        "begins": node.begins.word(),
        "label": words::heading(node),
        "line": node.place.as_ref().map(|place| place.line),
        "task": words::task(node),
        "inside": node.inside,
        "count": node.count,
        "folded_tasks": Json::if_any(node.folded_tasks),
        "accesses": Json::list(&node.accesses, access),
        "access_count": node.access_count,
    }
}

fn access(access: &NodeAccess) -> Json {
    object! {
        "kind": access.kind.word(),
        "location": words::accessed(access),
        "line": access.line,
        "races": access.races,
    }
}

fn edge(edge: &Edge) -> Json {
    object! {
        "from": edge.from,
        "to": edge.to,
        "kind": edge.kind.word(),
    }
}

fn race((finding, nodes): (&Finding, &Option<[usize; 2]>)) -> Json {
    object! {
        "class": finding.rule.word(),
        "location": finding.location.to_string(),
        "first": end(&finding.first, nodes.map(|[first, _]| first)),
        "second": end(&finding.second, nodes.map(|[_, second]| second)),
    }
}

fn end(access: &FoundAccess, node: Option<usize>) -> Json {
    object! {
        "node": node,
        "kind": access.kind.word(),
        "line": access.place().map(|place| place.line),
        "column": access.place().map(|place| place.column),
        "isolated": access.isolated,
    }
}
