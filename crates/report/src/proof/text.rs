//! A proof for a person at a terminal: races, remarks, producers if asked for, then every kernel with its reasons, and at last what was
//! established, with what guarantee, and what would establish more.

use super::{Selection, races, words};
use crate::Style;
use crate::bench::seconds;
use crate::page::{BOLD, DIM, LABEL, Page, RED, YELLOW};
use crate::rows::Row;
use crate::text::paint_of;
use crate::words::{count, position};
use finishline_answer::proof::{
    Dataflow, Kernel, Proof, ReadSources, Remark, StaticAccess, StaticRace,
};
use finishline_answer::summary::Place;
use std::collections::BTreeSet;
use std::io;

/// Reasons of a kernel, and remarks, before a list is cut short.
const LISTED: usize = 12;

pub(super) fn write(
    proof: &Proof,
    selection: Selection,
    style: Style,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut page = Page::new(style);
    for (_, race) in races(proof).take(selection.max_races) {
        page.static_race(proof, race);
        page.blank();
    }
    let left = races(proof).count().saturating_sub(selection.max_races);
    page.left_out(left, "more distinct pair", "more distinct pairs");
    for remark in proof.remarks.iter().take(LISTED) {
        page.remark(remark);
        page.blank();
    }
    let left = proof.remarks.len().saturating_sub(LISTED);
    page.left_out(left, "more remark", "more remarks");
    if selection.sources {
        for read in &proof.sources {
            page.sources(read);
            page.blank();
        }
    }
    if proof.dataflow == Dataflow::CutShort {
        page.labelled("", "cut short", YELLOW, words::CUT_SHORT);
        page.blank();
    }
    page.kernels(proof);
    page.proof_closing(proof);
    out.write_all(page.text.as_bytes())
}

fn row(lead: &str, below: &'static str, place: &Place, what: String, detail: String) -> Row {
    Row {
        lead: lead.to_owned(),
        below,
        position: position(place),
        what,
        detail,
    }
}

impl Page {
    fn left_out(&mut self, number: usize, one: &str, many: &str) {
        if number > 0 {
            self.folded("", &format!("and {}", count(number as u64, one, many)));
            self.blank();
        }
    }

    fn static_race(&mut self, proof: &Proof, race: &StaticRace) {
        let paint = if race.stands() { RED } else { YELLOW };
        self.labelled("", words::race_kind(race), paint, &words::message(race));
        let [top, side, bottom] = self.frame();
        let access = |lead, below, number, access: &StaticAccess| {
            let what = format!("({number}) {}", words::access(access));
            row(
                lead,
                below,
                &access.place,
                what,
                words::instance(&access.instance),
            )
        };
        self.rows(&[
            access(top, side, 1, &race.first),
            access(bottom, "", 2, &race.second),
        ]);
        if let Some(benign) = race.benign {
            self.labelled("  ", "benign", LABEL, &words::benign(benign));
        }
        if let Some(witness) = &race.witness {
            let case = words::case(proof, witness);
            let run = words::confirmation(&witness.confirmation);
            self.labelled(
                "  ",
                words::kind_of_case(witness),
                LABEL,
                &format!("{case}; {run}"),
            );
            let replay = self.clean(&witness.replay);
            let label = self.painted(LABEL, "replay");
            self.line(&format!("  {label}: {replay}"));
        }
    }

    fn remark(&mut self, remark: &Remark) {
        self.labelled("", "remark", BOLD, &words::remark(remark));
        let text = remark.place.text.clone();
        self.rows(&[row("at", "", &remark.place, text, String::new())]);
    }

    fn sources(&mut self, read: &ReadSources) {
        let (location, at) = (&read.location, position(&read.place));
        self.labelled("", "sources", BOLD, &format!("{location} at {at} reads"));
        let rows: Vec<Row> = (read.sources.iter())
            .map(|source| {
                let condition = words::when(&source.condition);
                match &source.write {
                    Some(place) => {
                        let instance = words::instance(&source.instance);
                        let what = format!("{} {instance}", place.text);
                        row("-", "", place, what.trim_end().to_owned(), condition)
                    }
                    None => Row {
                        lead: "-".to_owned(),
                        below: "",
                        position: "the starting value".to_owned(),
                        what: String::new(),
                        detail: condition,
                    },
                }
            })
            .collect();
        self.rows(&rows);
    }

    /// A line for each kernel, in straight columns, and below it why it is not decided.
    fn kernels(&mut self, proof: &Proof) {
        let labels: Vec<String> = (proof.kernels.iter())
            .map(|kernel| self.clean(&words::kernel(kernel)))
            .collect();
        let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
        let labelled = widest(&mut labels.iter().map(|label| label.chars().count()));
        let said = widest(&mut (proof.kernels.iter()).map(|kernel| kernel.verdict.word().len()));
        for (kernel, label) in proof.kernels.iter().zip(&labels) {
            let verdict = format!("{:<said$}", kernel.verdict);
            let verdict = self.painted(paint_of(kernel.verdict), &verdict);
            let compared = words::compared(kernel.accesses as u64, kernel.pairs as u64);
            let time = self.clean(&seconds(kernel.time.as_secs_f64()));
            self.line(&format!(
                "{verdict}  {label:<labelled$}   {compared}, {time}"
            ));
            self.reasons(kernel);
        }
        if !proof.kernels.is_empty() {
            self.blank();
        }
    }

    fn reasons(&mut self, kernel: &Kernel) {
        for reason in kernel.reasons.iter().take(LISTED) {
            let text = format!("{}: {}", position(&reason.place), words::reason(reason));
            self.labelled("  ", "why", LABEL, &text);
        }
        let left = kernel.reasons.len().saturating_sub(LISTED);
        if left > 0 {
            let more = count(left as u64, "more reason", "more reasons");
            self.folded("  ", &format!("and {more}"));
        }
        let kinds: BTreeSet<_> = kernel.reasons.iter().map(|reason| reason.kind).collect();
        for kind in kinds {
            self.labelled("  ", "help", LABEL, kind.help());
        }
    }

    fn proof_closing(&mut self, proof: &Proof) {
        let verdict = proof.verdict;
        let range = words::stated_range(proof);
        self.verdict(
            verdict.word(),
            range.as_deref(),
            paint_of(verdict),
            words::meaning(proof),
        );
        self.labelled("", "guarantee", BOLD, &words::guarantee(proof));
        if let Some(stronger) = words::stronger(proof) {
            self.labelled("", "stronger", BOLD, &stronger);
        }
        let time = seconds(proof.time.as_secs_f64());
        let statistics = words::statistics(proof);
        let line = self.clean(&format!("prove: {}: {statistics}, {time}", proof.program));
        let line = self.painted(DIM, &line);
        self.line(&line);
    }
}
