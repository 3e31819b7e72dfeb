//! The computation graph of a run as SVG, HTML, DOT or JSON; or its tasks and finishes as a tree.
//!
//! - [`words`]: what a node, an edge and the whole picture are called.
//! - [`drawing`]: boxes and lines, placed by [`layers`] (the graph) or [`outline`] (the tree).
//! - [`svg`]: a drawing as a file of its own. [`html`]: the same on a page with search and zoom.
//! - [`dot`]: the graph for other tools. [`json`]: for scripts, `docs/graph.schema.json`.
//!
//! DOT and JSON have every node of the picture. A drawn tree leaves out steps that access nothing.

mod dot;
mod drawing;
mod html;
mod json;
mod layers;
mod outline;
mod svg;
mod words;

use finishline_answer::picture::Picture;
use std::io;

/// The form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Svg,
    Dot,
    /// For scripts; `docs/graph.schema.json` is its contract.
    Json,
    /// One self-contained page with search and zoom.
    Html,
}

impl Format {
    pub const ALL: [Format; 4] = [Format::Svg, Format::Dot, Format::Json, Format::Html];

    /// The extension of its files.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Dot => "dot",
            Format::Json => "json",
            Format::Html => "html",
        }
    }

    pub fn from_extension(extension: &str) -> Option<Format> {
        let mut all = Format::ALL.into_iter();
        all.find(|format| format.extension() == extension)
    }
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Steps, and what comes before what.
    Graph,
    /// Tasks and finishes, one in another.
    Tree,
}

/// Writes the whole picture, with a newline at its end.
pub fn write(
    picture: &Picture,
    view: View,
    format: Format,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Svg => out.write_all(svg::file(picture, view).as_bytes()),
        Format::Html => out.write_all(html::page(picture, view).as_bytes()),
        Format::Dot => out.write_all(dot::render(picture, view).as_bytes()),
        Format::Json => json::write(picture, out),
    }
}
