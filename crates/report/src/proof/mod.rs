//! What `finishline prove` found out, as text, JSON, SARIF 2.1.0 or HTML.
//!
//! A proof answers for every input, so a race is told with its condition and its smallest case instead of with tasks. As everywhere, whatever
//! is left out of a list is counted, and a race that a run did not confirm says so wherever it is told.

mod html;
mod json;
mod sarif;
mod text;
mod words;

use crate::{Format, Style};
use finishline_answer::proof::{Proof, StaticRace};
use finishline_answer::verdict::Verdict;
use std::io;

/// How much of a proof is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The most races.
    pub max_races: usize,
    /// Whether text and HTML have the producers of every read; JSON always has them, SARIF never.
    pub sources: bool,
}

/// Writes the whole report, with a newline at its end.
pub fn write(
    proof: &Proof,
    format: Format,
    selection: Selection,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::write(proof, selection, style, out),
        Format::Json => json::write(proof, selection, out),
        Format::Sarif => sarif::write(proof, selection, out),
        Format::Html => html::write(proof, selection, out),
    }
}

/// The exit status that belongs to a proof: 66 for a race, 4 for `unknown`, 0 if everything is proved.
pub fn exit_status(proof: &Proof) -> u8 {
    match proof.verdict {
        Verdict::Race => 66,
        Verdict::Proved => 0,
        _ => 4,
    }
}

/// Every race, each with the index of its kernel.
fn races(proof: &Proof) -> impl Iterator<Item = (usize, &StaticRace)> {
    let kernels = proof.kernels.iter().enumerate();
    kernels.flat_map(|(index, kernel)| kernel.races.iter().map(move |race| (index, race)))
}
