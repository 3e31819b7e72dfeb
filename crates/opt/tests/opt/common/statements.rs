//! Random programs as trees of lines: how they are printed, and made smaller when one is a
//! counter-example.

use std::fmt::Write;

/// A statement or declaration: its first line, and what is inside its braces.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) head: String,
    pub(crate) inside: Option<Vec<Node>>,
}

pub(crate) fn line(head: String) -> Node {
    Node { head, inside: None }
}

pub(crate) fn write_nodes(into: &mut String, nodes: &[Node], depth: usize) {
    for Node { head, inside } in nodes {
        let indent = "    ".repeat(depth);
        match inside {
            None => writeln!(into, "{indent}{head}").unwrap(),
            Some(inside) => {
                writeln!(into, "{indent}{head} {{").unwrap();
                write_nodes(into, inside, depth + 1);
                writeln!(into, "{indent}}}").unwrap();
            }
        }
    }
}

/// Every tree with one node less, or with a node replaced by what is inside it.
pub(crate) fn smaller(nodes: &[Node]) -> Vec<Vec<Node>> {
    let mut found = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let with = |replacement: Vec<Node>| {
            let mut nodes = nodes.to_vec();
            nodes.splice(at..=at, replacement);
            nodes
        };
        found.push(with(Vec::new()));
        if let Some(inside) = &node.inside {
            found.push(with(inside.clone()));
            for inside in smaller(inside) {
                found.push(with(vec![Node {
                    head: node.head.clone(),
                    inside: Some(inside),
                }]));
            }
        }
    }
    found
}
