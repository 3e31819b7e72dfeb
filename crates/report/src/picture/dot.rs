//! The graph in the language of Graphviz, for other tools that lay out graphs.

use super::{View, words};
use crate::words::printable;
use finishline_answer::finding::Rule;
use finishline_answer::picture::{EdgeKind, Node, Picture};

pub(super) fn render(picture: &Picture, view: View) -> String {
    let mut dot = String::from("digraph finishline {\n");
    let mut title = words::title(picture);
    for note in words::notes(picture) {
        title += "\n";
        title += &note;
    }
    dot += &format!("  label={};\n  labelloc=t;\n", quoted(&title));
    dot += "  node [shape=box, style=rounded, fontname=monospace];\n";
    for (index, node) in picture.nodes.iter().enumerate() {
        let races = picture
            .races
            .iter()
            .flatten()
            .flatten()
            .any(|at| *at == index);
        let color = if races { ", color=red, penwidth=2" } else { "" };
        dot += &format!("  n{index} [label={}{color}];\n", quoted(&label(node)));
    }
    match view {
        View::Graph => {
            for edge in &picture.edges {
                let style = match edge.kind {
                    EdgeKind::Continue => "weight=4",
                    EdgeKind::Create | EdgeKind::Join => "weight=1",
                    EdgeKind::Promise => "color=darkgreen",
                    EdgeKind::Isolation => "style=dashed, color=orange",
                };
                let (from, to) = (edge.from, edge.to);
                dot += &format!("  n{from} -> n{to} [{style}];\n");
            }
        }
        View::Tree => {
            for (index, node) in picture.nodes.iter().enumerate() {
                if let Some(inside) = node.inside {
                    dot += &format!("  n{inside} -> n{index} [arrowhead=none];\n");
                }
            }
        }
    }
    for (nodes, finding) in picture.races.iter().zip(&picture.answer.findings) {
        if let Some([first, second]) = nodes {
            let color = match finding.rule {
                Rule::Apparent => "orange",
                _ => "red",
            };
            dot += &format!(
                "  n{first} -> n{second} [dir=none, style=dashed, color={color}, \
                 constraint=false, label={}];\n",
                quoted(words::no_path(finding.rule)),
            );
        }
    }
    dot + "}\n"
}

fn label(node: &Node) -> String {
    let mut lines = vec![words::heading(node)];
    if let Some(count) = words::count(node) {
        lines[0] += &format!(" {count}");
    }
    lines.push(words::task(node));
    lines.extend(words::folded(node));
    lines.extend(words::accesses(node).into_iter().map(|access| access.text));
    lines.join("\n")
}

/// A string of DOT. Only quotes, backslashes and line ends mean anything there.
fn quoted(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = printable(line);
        line.replace('\\', "\\\\").replace('"', "\\\"")
    });
    format!("\"{}\"", lines.collect::<Vec<_>>().join("\\n"))
}
