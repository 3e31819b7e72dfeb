//! A proof as one page to keep or to pass on, in the manner of [`crate::html`]: what was established, the races, what leaves kernels
//! undecided, a table of all kernels, remarks, and producers if asked for.
//!
//! Invariant: text reaches the page only through [`escape`] or as a literal of this file.

use super::{Selection, races, words};
use crate::bench::seconds;
use crate::html::{definition, escape, page, paragraph, source, tone};
use crate::words::{count, position};
use finishline_answer::proof::{
    Dataflow, Kernel, Proof, ReadSources, Reason, Remark, Source, StaticAccess, StaticRace,
};
use std::collections::BTreeSet;
use std::io;

pub(super) fn write(
    proof: &Proof,
    selection: Selection,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut body = header(proof);
    for (_, race) in races(proof).take(selection.max_races) {
        body += &race_card(proof, race);
    }
    let left = races(proof).count().saturating_sub(selection.max_races);
    if left > 0 {
        let more = count(left as u64, "more distinct pair", "more distinct pairs");
        body += &format!("<p class=\"more\">and {more}</p>\n");
    }
    body.extend(proof.kernels.iter().map(reasons_card));
    body += &kernels_card(proof);
    body += &remarks_card(proof);
    if selection.sources {
        body.extend(proof.sources.iter().map(sources_card));
    }
    if proof.dataflow == Dataflow::CutShort {
        body += &format!("<p class=\"more\">{}</p>\n", escape(words::CUT_SHORT));
    }
    body += &format!(
        "<footer>finishline {}: {}, {}</footer>\n",
        env!("CARGO_PKG_VERSION"),
        escape(&words::statistics(proof)),
        seconds(proof.time.as_secs_f64()),
    );
    let title = format!("{}: {}", words::verdict(proof), proof.program);
    out.write_all(page(&title, &body).as_bytes())
}

fn header(proof: &Proof) -> String {
    let verdict = proof.verdict;
    let mut details = definition("guarantee", &escape(&words::guarantee(proof)));
    if let Some(stronger) = words::stronger(proof) {
        details += &definition("stronger", &escape(&stronger));
    }
    format!(
        "<header class=\"{tone}\">\n<h1>{word} <code>{program}</code></h1>\n\
         {meaning}<dl>\n{details}</dl>\n</header>\n",
        tone = tone(verdict),
        word = escape(&words::verdict(proof)),
        program = escape(&proof.program),
        meaning = paragraph(words::meaning(proof)),
    )
}

fn race_card(proof: &Proof, race: &StaticRace) -> String {
    let mut details = String::new();
    if let Some(benign) = race.benign {
        details += &definition("benign", &escape(&words::benign(benign)));
    }
    if let Some(witness) = &race.witness {
        let case = words::case(proof, witness);
        let run = words::confirmation(&witness.confirmation);
        details += &definition(
            words::kind_of_case(witness),
            &escape(&format!("{case}; {run}")),
        );
        let replay = format!("<code>{}</code>", escape(&witness.replay));
        details += &definition("replay", &replay);
    }
    format!(
        "<section class=\"card {tone}\">\n<h2><span class=\"tag\">{kind}</span> {message}</h2>\n\
         <ol class=\"accesses\">\n{first}{second}</ol>\n<dl>\n{details}</dl>\n</section>\n",
        tone = if race.stands() { "bad" } else { "caution" },
        kind = words::race_kind(race),
        message = escape(&words::message(race)),
        first = access(&race.first),
        second = access(&race.second),
    )
}

fn access(access: &StaticAccess) -> String {
    let isolated = match access.isolated {
        true => " <span class=\"isolated\">isolated</span>",
        false => "",
    };
    let instance = match words::instance(&access.instance).as_str() {
        "" => String::new(),
        instance => format!("<div class=\"path\">{}</div>", escape(instance)),
    };
    format!(
        "<li><span class=\"kind\">{}</span>{isolated} {}{instance}</li>\n",
        access.kind.word(),
        source(&access.place, Some(&access.function)),
    )
}

/// Why a kernel is not decided, and what would help.
fn reasons_card(kernel: &Kernel) -> String {
    if kernel.reasons.is_empty() {
        return String::new();
    }
    let why = |reason: &Reason| {
        let at = position(&reason.place);
        definition("why", &escape(&format!("{at}: {}", words::reason(reason))))
    };
    let mut details: String = kernel.reasons.iter().map(why).collect();
    let kinds: BTreeSet<_> = kernel.reasons.iter().map(|reason| reason.kind).collect();
    details.extend(
        kinds
            .into_iter()
            .map(|kind| definition("help", &escape(kind.help()))),
    );
    format!(
        "<section class=\"card caution\">\n<h2><span class=\"tag\">undecided</span> {}</h2>\n\
         <dl>\n{details}</dl>\n</section>\n",
        escape(&words::kernel(kernel)),
    )
}

fn remarks_card(proof: &Proof) -> String {
    if proof.remarks.is_empty() {
        return String::new();
    }
    let remark = |remark: &Remark| {
        format!(
            "<li>{}<div>{}</div></li>\n",
            escape(&words::remark(remark)),
            source(&remark.place, None)
        )
    };
    format!(
        "<section class=\"card\">\n<h2>Remarks</h2>\n<ul class=\"accesses\">\n{}</ul>\n</section>\n",
        proof.remarks.iter().map(remark).collect::<String>(),
    )
}

fn sources_card(read: &ReadSources) -> String {
    let producer = |producer: &Source| {
        let write = match &producer.write {
            Some(place) => source(place, None),
            None => "the starting value".to_owned(),
        };
        let when = [
            words::instance(&producer.instance),
            words::when(&producer.condition),
        ];
        let when = when.join(" ");
        format!(
            "<li>{write}<div class=\"path\">{}</div></li>\n",
            escape(when.trim())
        )
    };
    format!(
        "<section class=\"card\">\n<details>\n<summary>{} at {} reads</summary>\n\
         <ul class=\"accesses\">\n{}</ul>\n</details>\n</section>\n",
        escape(&read.location),
        escape(&position(&read.place)),
        read.sources.iter().map(producer).collect::<String>(),
    )
}

fn kernels_card(proof: &Proof) -> String {
    if proof.kernels.is_empty() {
        return String::new();
    }
    let row = |kernel: &Kernel| {
        format!(
            "<tr class=\"{tone}\"><td><span class=\"tag\">{verdict}</span></td><td>{label}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{time}</td></tr>\n",
            kernel.accesses,
            kernel.pairs,
            tone = tone(kernel.verdict),
            verdict = escape(kernel.verdict.word()),
            label = escape(&words::kernel(kernel)),
            time = seconds(kernel.time.as_secs_f64()),
        )
    };
    format!(
        "<section class=\"card\">\n<h2>Kernels</h2>\n<table>\n\
         <tr><th>verdict</th><th>where</th><th>accesses</th><th>pairs</th><th>time</th></tr>\n\
         {}</table>\n</section>\n",
        proof.kernels.iter().map(row).collect::<String>(),
    )
}
