//! JSON documents whose objects keep the order in which their fields were added.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::io;

/// A part of a document.
pub(crate) enum Node {
    Value(Value),
    List(Vec<Node>),
    Object(Vec<(&'static str, Node)>),
    /// A field with this value is left out of its object.
    Absent,
}

/// An object with these fields.
macro_rules! object {
    ($($key:literal: $value:expr),* $(,)?) => {
        $crate::node::Node::Object(vec![$(($key, $crate::node::Node::from($value))),*])
    };
}
pub(crate) use object;

impl Node {
    pub(crate) const NULL: Node = Node::Value(Value::Null);

    /// An object with more fields at its end.
    pub(crate) fn with(self, more: Node) -> Node {
        match (self, more) {
            (Node::Object(mut fields), Node::Object(more)) => {
                fields.extend(more);
                Node::Object(fields)
            }
            (node, _) => node,
        }
    }

    /// A list. Absent if it is empty.
    pub(crate) fn unless_empty(list: Vec<Node>) -> Node {
        match list.is_empty() {
            true => Node::Absent,
            false => Node::List(list),
        }
    }

    /// The value. Absent if there is none.
    pub(crate) fn if_any(value: Option<impl Into<Node>>) -> Node {
        value.map_or(Node::Absent, Into::into)
    }

    /// A list of the nodes made from these items.
    pub(crate) fn list<T>(items: impl IntoIterator<Item = T>, node: impl FnMut(T) -> Node) -> Node {
        Node::List(items.into_iter().map(node).collect())
    }

    /// One document, with a newline at its end.
    pub(crate) fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        out.write_all(&text)
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Value(value) => value.serialize(serializer),
            Node::List(list) => list.serialize(serializer),
            Node::Object(fields) => {
                let present = fields
                    .iter()
                    .filter(|(_, node)| !matches!(node, Node::Absent));
                let mut map = serializer.serialize_map(None)?;
                for (key, node) in present {
                    map.serialize_entry(key, node)?;
                }
                map.end()
            }
            Node::Absent => serializer.serialize_unit(),
        }
    }
}

macro_rules! from_value {
    ($($from:ty),*) => {
        $(impl From<$from> for Node {
            fn from(value: $from) -> Node {
                Node::Value(Value::from(value))
            }
        })*
    };
}
from_value!(&str, String, bool, u8, u32, u64, i64, usize, f64);

impl From<&String> for Node {
    fn from(text: &String) -> Node {
        text.as_str().into()
    }
}

impl<T: Into<Node>> From<Option<T>> for Node {
    fn from(value: Option<T>) -> Node {
        value.map_or(Node::NULL, Into::into)
    }
}

impl<T: Into<Node>> From<Vec<T>> for Node {
    fn from(list: Vec<T>) -> Node {
        Node::List(list.into_iter().map(Into::into).collect())
    }
}

impl From<&Vec<String>> for Node {
    fn from(list: &Vec<String>) -> Node {
        Node::list(list, Node::from)
    }
}
