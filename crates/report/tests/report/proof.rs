//! Reports of proofs: snapshots of the text, JSON against its schema, SARIF against the rules for
//! the part in use, and the page of the guide against the words.

use crate::json::{DAMAGES, SCHEMA, damaged, words};
use crate::sarif::{self, list};
use crate::text::{check_snapshots, without_colors};
use crate::{assert_valid, html, proofs, validator};
use finishline_answer::claim::{Benign, Confirmation};
use finishline_answer::finding::Rule;
use finishline_answer::proof::{ReasonKind, RemarkKind};
use finishline_answer::verdict::{PROOF_GUARANTEE, Verdict};
use finishline_answer::{Answer, exit_status};
use finishline_report::{Format, Selection, Style, write};
use serde_json::{Value, json};

const GUIDE: &str = include_str!("../../../../docs/prove.md");
const REPORT_GUIDE: &str = include_str!("../../../../docs/report.md");

const ALL: Selection = Selection {
    max_findings: usize::MAX,
    sources: true,
};

fn render(proof: &Answer, format: Format, selection: Selection, style: Style) -> String {
    let mut out = Vec::new();
    write(proof, format, selection, style, &mut out).expect("a Vec takes everything");
    String::from_utf8(out).expect("reports are UTF-8")
}

fn text(proof: &Answer) -> String {
    render(proof, Format::Text, ALL, Style::default())
}

fn report(proof: &Answer, format: Format) -> Value {
    let text = render(proof, format, ALL, Style::default());
    assert!(text.ends_with("}\n"));
    serde_json::from_str(&text).expect("well-formed JSON")
}

#[test]
fn snapshots() {
    for (name, proof, _) in proofs::all() {
        check_snapshots(name, |style| render(&proof, Format::Text, ALL, style));
    }
}

#[test]
fn a_race_has_its_condition_its_smallest_case_and_what_a_run_said() {
    let expected = "\
race: write and write to B[N] are not ordered, for N ≥ 1
  ┌─ x.fin:5:13   (1) write B[i] = C[i]        at i = N
  └─ x.fin:7:13   (2) write B[j] = C[2 * j]    at j = N
  smallest case: N = 1: B[1], (1) at i = 1, (2) at j = 1; confirmed by a run
  replay: finishline check x.fin 1 --watch 'B[1]'

race    finish@4:5    6 accesses, 9 pairs, 1.20 ms
proved  forall@12:5   6 accesses, 9 pairs, 1.20 ms

race: two conflicting accesses that nothing orders: the result may depend on the schedule
";
    let actual = text(&proofs::racy());
    assert!(actual.starts_with(expected), "{actual}");
}

#[test]
fn a_range_is_part_of_the_verdict_everywhere() {
    let verdict = "proved for n from -4611686018427387904 to 4611686018427387904 \
                   and m at most 9 and k at least 0";
    let proof = proofs::ranged();
    let told = text(&proof);
    let told: Vec<&str> = told.split_whitespace().collect();
    let told = told.join(" ");
    let meaning = Verdict::Proved.ranged_proof_meaning();
    assert!(told.contains(&format!("{verdict}: {meaning}")), "{told}");
    let range = verdict.trim_start_matches("proved ");
    let guarantee = format!("guarantee: {range}: {PROOF_GUARANTEE}");
    assert!(told.contains(&guarantee), "{told}");
    let page = render(&proof, Format::Html, ALL, Style::default());
    assert!(page.contains(&format!("<h1>{verdict} <code>")), "{page}");
    let bounds = json!([
        { "parameter": "n", "least": -(1_i64 << 62), "greatest": 1_i64 << 62 },
        { "parameter": "m", "least": null, "greatest": 9 },
        { "parameter": "k", "least": 0, "greatest": null },
        { "parameter": "l", "least": null, "greatest": null },
    ]);
    let report_of = |format| report(&proof, format);
    assert_eq!(report_of(Format::Json)["range"], bounds);
    assert_eq!(report_of(Format::Json)["meaning"], meaning);
    let log = report_of(Format::Sarif);
    assert_eq!(log["runs"][0]["properties"]["range"], bounds);
    // For an undecided program nothing is known in any range.
    let mut undecided = proofs::unknown();
    proofs::part(&mut undecided).range = proof.proof().expect("a proof").range.clone();
    assert!(text(&undecided).contains("\nunknown: "));
    assert!(text(&undecided).ends_with(&text(&proofs::unknown())));
}

#[test]
fn only_the_smallest_case_is_called_so() {
    let mut proof = proofs::racy();
    let witness = proofs::claim(&mut proof.findings[0]).witness.as_mut();
    witness.expect("a case").smallest = false;
    assert!(text(&proof).contains("\n  case: N = 1: B[1]"));
    let log = report(&proof, Format::Sarif).to_string();
    assert!(log.contains(". The case: N = 1: B[1]"), "{log}");
}

#[test]
fn a_counter_that_stands_for_itself_is_not_explained() {
    let mut proof = proofs::racy();
    let race = &mut proof.findings[0];
    race.first.instance = vec![
        ("i".to_owned(), "i".to_owned()),
        ("k".to_owned(), "1".to_owned()),
    ];
    race.second.instance = vec![("j".to_owned(), "j".to_owned())];
    let told = text(&proof);
    assert!(told.contains("C[i]        at k = 1\n"), "{told}");
    assert!(told.contains("C[2 * j]\n"), "{told}");
}

#[test]
fn a_race_that_a_run_does_not_have_is_never_called_one() {
    for (confirmation, why) in [
        (proofs::failed_run(), "not confirmed: a run "),
        (Confirmation::NotRun, "no run was made to confirm it"),
        (Confirmation::Apparent, "not confirmed: isolated blocks "),
        (Confirmation::Contradicted, "not confirmed: a run "),
    ] {
        let proof = proofs::refuted(confirmation.clone());
        assert_eq!(proof.findings[0].rule, Rule::Unconfirmed);
        let told = text(&proof);
        assert!(told.starts_with("unconfirmed race: "), "{told}");
        assert!(!told.contains("\nrace"), "{told}");
        assert!(told.contains(why), "{told}");
        let log = report(&proof, Format::Sarif);
        assert_eq!(log["runs"][0]["results"][0]["ruleId"], "unconfirmed-race");
        let confirmed = &report(&proof, Format::Json)["races"][0]["witness"]["confirmation"];
        assert_eq!(confirmed["kind"], confirmation.word());
    }
    for stands in [Confirmation::TooCostly, Confirmation::Confirmed] {
        assert_eq!(proofs::refuted(stands).findings[0].rule, Rule::Race);
    }
}

#[test]
fn every_proof_closes_with_verdict_and_guarantee() {
    let last_words = |proof: &Answer| {
        let text = text(proof).replace("\n           ", " ");
        let at = text.rfind("\nguarantee: ").expect("a guarantee");
        text[at + 1..].lines().next().expect("a line").to_owned()
    };
    let whole = format!("guarantee: {PROOF_GUARANTEE}");
    assert_eq!(last_words(&proofs::proved()), whole);
    assert_eq!(last_words(&proofs::racy()), whole);
    assert_eq!(last_words(&proofs::unknown()), "guarantee: none");
    let partly = format!("guarantee: for the proved kernels, {PROOF_GUARANTEE}");
    assert_eq!(last_words(&proofs::partly()), partly);
    for (name, proof, _) in proofs::all() {
        let part = proof.proof().expect("a proof");
        let line = match part.range.is_empty() {
            true => format!("{}: {}", proof.verdict, proof.verdict.proof_meaning()),
            false => proof.verdict.ranged_proof_meaning().to_owned(),
        };
        let told = text(&proof);
        let flowing: Vec<&str> = told.split_whitespace().collect();
        assert!(flowing.join(" ").contains(&line), "{name}: {told}");
        let undecided =
            |kernel: &finishline_answer::proof::Kernel| kernel.verdict == Verdict::Unknown;
        assert_eq!(
            told.contains("\nstronger: "),
            part.kernels.iter().any(undecided),
            "{name}"
        );
    }
}

#[test]
fn lists_say_how_much_was_left_out() {
    let selection = Selection {
        max_findings: 2,
        sources: false,
    };
    let cut = render(&proofs::many(), Format::Text, selection, Style::default());
    assert_eq!(cut.matches("are not ordered").count(), 2);
    assert!(cut.contains("\nand 4 more distinct pairs\n"), "{cut}");
    let json = render(&proofs::many(), Format::Json, selection, Style::default());
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(list(&json["races"]).len(), 2);
    assert_eq!(json["distinct_races"], 6);
    let told = report(&proofs::many(), Format::Json);
    assert_eq!(told["races"][4]["kernel"], 0);
    assert_eq!(told["races"][5]["kernel"], 1);
    let partly = text(&proofs::partly());
    assert!(partly.contains("\n  and 2 more reasons\n"), "{partly}");
    assert!(partly.contains("\nand 1 more remark\n"), "{partly}");
    assert_eq!(partly.matches("help:").count(), 1, "one for each kind");
}

#[test]
fn producers_are_told_on_demand() {
    let asked = text(&proofs::proved());
    let expected = "\
sources: B[k] at x.fin:9:20 reads
  - x.fin:5:13           B[i] = C[i] at i = k               for 1 ≤ k ≤ N
  - x.fin:9:13           B[k + 1] = B[k] at k' = -1 + 2k    for k > N
  - the starting value                                      for k = 0
";
    assert!(asked.contains(expected), "{asked}");
    let selection = Selection {
        sources: false,
        ..ALL
    };
    let unasked = render(&proofs::proved(), Format::Text, selection, Style::default());
    assert!(!unasked.contains("sources"), "{unasked}");
    let json = render(&proofs::proved(), Format::Json, selection, Style::default());
    assert!(json.contains("\"producers\""));
}

#[test]
fn the_exit_status_is_that_of_the_verdict() {
    for (name, proof, expected) in proofs::all() {
        assert_eq!(exit_status(&proof), expected, "{name}");
        assert_eq!(report(&proof, Format::Json)["exit_status"], expected);
        let log = report(&proof, Format::Sarif);
        assert_eq!(log["runs"][0]["invocations"][0]["exitCode"], expected);
    }
}

#[test]
fn every_json_satisfies_the_schema() {
    let validator = validator(SCHEMA);
    for (name, proof, _) in proofs::all() {
        assert_valid(&validator, name, &report(&proof, Format::Json));
    }
}

#[test]
fn the_schema_rejects_every_missing_additional_or_ill_typed_field() {
    let validator = validator(SCHEMA);
    for proof in [proofs::racy(), proofs::proved(), proofs::unknown()] {
        let report = report(&proof, Format::Json);
        for (kind, damage) in DAMAGES {
            for (place, broken) in damaged(&report, damage) {
                assert!(!validator.is_valid(&broken), "{kind} {place} is accepted");
            }
        }
    }
}

#[test]
fn the_schema_rejects_contradictions() {
    let validator = validator(SCHEMA);
    for (proof, pointer, value) in [
        (proofs::racy(), "/verdict", json!("proved")),
        (proofs::racy(), "/verdict", json!("certified")),
        (proofs::racy(), "/exit_status", json!(0)),
        (proofs::racy(), "/exit_status", json!(4)),
        (proofs::racy(), "/distinct_races", json!(0)),
        (proofs::racy(), "/kernels/0/verdict", json!("proved")),
        (proofs::racy(), "/kernels/0/distinct_races", json!(0)),
        (proofs::racy(), "/races/0/benign", json!("harmless")),
        (proofs::proved(), "/exit_status", json!(66)),
        (proofs::proved(), "/kernels/1/verdict", json!("unknown")),
        (proofs::unknown(), "/exit_status", json!(0)),
        (proofs::unknown(), "/kernels/0/verdict", json!("proved")),
        (
            proofs::unknown(),
            "/kernels/0/reasons/0/kind",
            json!("because"),
        ),
    ] {
        let mut report = report(&proof, Format::Json);
        assert!(validator.is_valid(&report));
        *report.pointer_mut(pointer).expect("the field exists") = value.clone();
        assert!(
            !validator.is_valid(&report),
            "{pointer} = {value} is accepted"
        );
    }
}

#[test]
fn the_schema_knows_exactly_the_words_of_the_model() {
    let reasons = "/$defs/kernel/properties/reasons/items/properties/kind/enum";
    let known = ReasonKind::ALL.map(|kind| kind.word().to_owned());
    assert_eq!(words(reasons), known.into());
    let remarks = "/$defs/proof/properties/remarks/items/properties/kind/enum";
    let known = RemarkKind::ALL.map(|kind| kind.word().to_owned());
    assert_eq!(words(remarks), known.into());
    let benign = [Benign::SameValue, Benign::NeverRead].map(|benign| benign.word().to_owned());
    assert_eq!(
        words("/$defs/static_race/properties/benign/enum"),
        benign.into()
    );
    let confirmations = [
        Confirmation::NotRun,
        Confirmation::TooCostly,
        Confirmation::Confirmed,
        proofs::failed_run(),
        Confirmation::Apparent,
        Confirmation::Contradicted,
    ];
    assert_eq!(
        words(
            "/$defs/static_race/properties/witness/oneOf/1/properties/confirmation/properties/kind/enum"
        ),
        confirmations.map(|one| one.word().to_owned()).into()
    );
}

#[test]
fn every_log_satisfies_the_rules_of_sarif() {
    let validator = validator(sarif::SCHEMA);
    for (name, proof, _) in proofs::all() {
        let log = report(&proof, Format::Sarif);
        assert_valid(&validator, name, &log);
        let rules = list(&log["runs"][0]["tool"]["driver"]["rules"]);
        for result in list(&log["runs"][0]["results"]) {
            let index = result["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"], "{name}");
            let level = &rules[index]["defaultConfiguration"]["level"];
            assert_eq!(*level, result["level"], "{name}");
        }
    }
}

#[test]
fn a_log_has_races_reasons_and_remarks() {
    let log = report(&proofs::racy(), Format::Sarif);
    let result = &log["runs"][0]["results"][0];
    assert_eq!(
        result["message"]["text"],
        "write and write to B[N] are not ordered, for N ≥ 1: (1) is here, [(2) is at x.fin:7:13](2). The smallest case: N = 1: B[1], \
         (1) at i = 1, (2) at j = 1; confirmed by a run. Replay: finishline check x.fin 1 --watch 'B[1]'"
    );
    assert_eq!(result["relatedLocations"][0]["id"], 2);
    let unknown = report(&proofs::unknown(), Format::Sarif);
    let results = list(&unknown["runs"][0]["results"]);
    assert_eq!(results.len(), ReasonKind::ALL.len());
    assert!(results.iter().all(|one| one["ruleId"] == "unproved"));
    let proved = report(&proofs::proved(), Format::Sarif);
    let results = list(&proved["runs"][0]["results"]);
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["ruleId"], "dead-write");
    assert_eq!(results[0]["level"], "note");
}

#[test]
fn text_is_safe_folded_and_the_same_in_colour() {
    let ascii = Style {
        color: false,
        unicode: false,
    };
    let color = Style {
        color: true,
        unicode: true,
    };
    for (name, proof, _) in proofs::all() {
        let plain = text(&proof);
        let bad = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!plain.contains(bad), "{name}: {plain:?}");
        assert!(
            render(&proof, Format::Text, ALL, ascii).is_ascii(),
            "{name}"
        );
        let colored = render(&proof, Format::Text, ALL, color);
        assert_eq!(without_colors(&colored), plain, "{name}");
        for line in plain.lines() {
            assert_eq!(line, line.trim_end(), "{name}");
            let in_one_piece = line.starts_with("  replay: ") || name == "proof-hostile";
            assert!(in_one_piece || line.chars().count() <= 102, "{line}");
        }
    }
}

#[test]
fn a_page_has_all_that_the_text_has() {
    let page = |proof: &Answer| render(proof, Format::Html, ALL, Style::default());
    for (name, proof) in [
        ("proof-racy", proofs::racy()),
        ("proof-proved", proofs::proved()),
    ] {
        let page = page(&proof);
        for expected in match name {
            "proof-racy" => [
                "<header class=\"bad\">\n<h1>race <code>x.fin</code></h1>",
                "write and write to B[N] are not ordered, for N ≥ 1",
                "<code>B[i] = C[i]</code> <span class=\"place\">x.fin:5:13 in main</span><div class=\"path\">at i = N</div>",
                "<dt>smallest case</dt><dd>N = 1: B[1], (1) at i = 1, (2) at j = 1; confirmed by a run</dd>",
                "<code>finishline check x.fin 1 --watch &#39;B[1]&#39;</code>",
                "<tr class=\"good\"><td><span class=\"tag\">proved</span></td><td>forall@12:5</td>",
            ],
            _ => [
                "<header class=\"good\">\n<h1>proved <code>x.fin</code></h1>",
                "<dt>guarantee</dt><dd>every input and every schedule",
                "no read can see what is written here (dead-write): B[N], for N ≥ 1",
                "<summary>B[k] at x.fin:9:20 reads</summary>",
                "<div class=\"path\">at k&#39; = -1 + 2k for k &gt; N</div>",
                "the starting value<div class=\"path\">for k = 0</div>",
            ],
        } {
            assert!(page.contains(expected), "{name}: {expected}\n{page}");
        }
    }
    let unknown = page(&proofs::unknown());
    assert!(unknown.contains("<span class=\"tag\">undecided</span>"));
    assert!(unknown.contains("<dt>help</dt>"));
    let selection = Selection {
        max_findings: 0,
        sources: false,
    };
    let short = render(&proofs::racy(), Format::Html, selection, Style::default());
    assert!(short.contains("and 1 more distinct pair</p>"), "{short}");
}

#[test]
fn pages_are_sound() {
    for (name, proof, _) in proofs::all() {
        let page = render(&proof, Format::Html, ALL, Style::default());
        html::assert_well_formed(name, &page);
        html::assert_self_contained(name, &page);
        html::assert_escaped(name, &page);
    }
}

#[test]
fn the_chapter_has_every_reason_and_every_remark() {
    for kind in ReasonKind::ALL {
        let row = format!("| `{}` | {} |", kind.word(), kind.meaning());
        assert!(GUIDE.contains(&row), "docs/prove.md lacks {row}");
    }
    for kind in RemarkKind::ALL {
        let row = format!("| `{}` | {} |", kind.word(), kind.meaning());
        assert!(GUIDE.contains(&row), "docs/prove.md lacks {row}");
    }
    for benign in [Benign::SameValue, Benign::NeverRead] {
        let row = format!("| `{}` | {} |", benign.word(), benign.meaning());
        assert!(REPORT_GUIDE.contains(&row), "docs/report.md lacks {row}");
    }
    let words: Vec<&str> = GUIDE.split_whitespace().collect();
    assert!(
        words.join(" ").contains(PROOF_GUARANTEE),
        "docs/prove.md lacks the guarantee"
    );
}
