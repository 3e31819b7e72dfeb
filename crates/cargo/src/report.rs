//! What runs amount to: the verdict of each, and the report over all of them.

use crate::Problem;
use crate::findings::{Findings, Run};
use crate::options::Options;
use std::fmt::Write;

/// What is known after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Races(usize),
    /// The drop-in ran, and nothing was found.
    NothingFound,
    /// The drop-in never ran.
    NotParallel,
    /// No findings were written, or not all of them.
    Unchecked,
}

pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    /// Empty, or ends with a newline.
    pub(crate) text: String,
}

pub(crate) fn judge(run: &Run, options: &Options) -> Result<Judgement, Problem> {
    let mut races = 0;
    let mut parallel = false;
    let mut complete = !run.findings.is_empty();
    for path in &run.findings {
        let findings = Findings::read(path)?;
        parallel |= findings.drop_in;
        complete &= findings.complete;
        let counted = |class: &str| class == "race" || options.determinacy;
        races += findings
            .races
            .iter()
            .filter(|race| counted(&race.class))
            .count();
    }
    let verdict = match races {
        0 if !complete => Verdict::Unchecked,
        0 if !parallel => Verdict::NotParallel,
        0 => Verdict::NothingFound,
        _ => Verdict::Races(races),
    };
    let mut text = String::new();
    let said = match verdict {
        Verdict::Races(1) => writeln!(text, "1 race"),
        Verdict::Races(races) => writeln!(text, "{races} races"),
        Verdict::NothingFound => writeln!(text, "no race in any schedule of this input"),
        Verdict::NotParallel => writeln!(text, "nothing was parallel: rayon was not used"),
        Verdict::Unchecked => writeln!(
            text,
            "nothing is known: the program ended before all findings were written"
        ),
    };
    said.map_err(|error| Problem::new(format!("can't put the report into words: {error}")))?;
    Ok(Judgement { verdict, text })
}
