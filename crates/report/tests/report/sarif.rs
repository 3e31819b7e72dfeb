//! The SARIF report against the rules of SARIF 2.1.0 for the part in use. A strict schema beside
//! this file has most rules. Rules that a schema can't express are tested here.

use crate::{assert_valid, render_json, summaries, validator};
use finishline_answer::{Answer, exit_status};
use finishline_report::Format;
use serde_json::{Value, json};

pub(crate) const SCHEMA: &str = include_str!("sarif-subset.schema.json");

fn log(summary: &Answer) -> Value {
    render_json(summary, Format::Sarif)
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[test]
fn every_log_satisfies_the_schema() {
    let validator = validator(SCHEMA);
    for (name, summary) in summaries::all() {
        assert_valid(&validator, name, &log(&summary));
    }
}

#[test]
fn the_schema_rejects_broken_logs() {
    let validator = validator(SCHEMA);
    let region = "/runs/0/results/0/locations/0/physicalLocation/region";
    let broken = [
        ("/version".to_string(), json!("2.0.0")),
        ("/runs/0/columnKind".to_string(), json!("bytes")),
        ("/runs/0/results/0/level".to_string(), json!("fatal")),
        ("/runs/0/results/0/message".to_string(), json!("text")),
        (
            "/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri".to_string(),
            json!("a b"),
        ),
        (format!("{region}/startLine"), json!(0)),
        (region.to_string(), json!({"startColumn": 3})),
    ];
    for (pointer, value) in broken {
        let mut log = log(&summaries::racy());
        *log.pointer_mut(&pointer).expect("the field exists") = value;
        assert!(!validator.is_valid(&log), "{pointer}");
    }
}

#[test]
fn a_race_is_one_result_with_both_accesses() {
    let log = log(&summaries::racy());
    let results = list(&log["runs"][0]["results"]);
    assert_eq!(results.len(), 1);
    let result = &results[0];
    assert_eq!(result["ruleId"], "race");
    assert_eq!(result["level"], "error");
    let text = result["message"]["text"].as_str().expect("a text");
    assert!(
        text.starts_with(
            "write and write to B[0] are not ordered: \
             (1) is here, [(2) is at fig2.fin:14:38](2). async@9 was spawned at 9:13;"
        ),
        "{text}"
    );
    let first = &result["locations"][0];
    assert_eq!(
        first["physicalLocation"],
        json!({"artifactLocation": {"uri": "fig2.fin"}, "region": {"startLine": 10,
        "startColumn": 17}})
    );
    assert_eq!(
        first["logicalLocations"],
        json!([{"name": "main", "kind": "function"}])
    );
    let starts: Vec<_> = list(&result["relatedLocations"])
        .iter()
        .map(|location| {
            let region = &location["physicalLocation"]["region"];
            (region["startLine"].as_u64(), region["startColumn"].as_u64())
        })
        .collect();
    // The second access, the spawn, the join, the allocation.
    let expected = [(14, 38), (9, 13), (16, 5), (5, 13)];
    assert_eq!(
        starts,
        expected.map(|(line, column)| (Some(line), Some(column)))
    );
}

#[test]
fn rules_links_and_exit_codes_are_consistent() {
    for (name, summary) in summaries::all() {
        let log = log(&summary);
        let run = &log["runs"][0];
        let rules = list(&run["tool"]["driver"]["rules"]);
        assert_eq!(
            run["invocations"][0]["exitCode"],
            exit_status(&summary),
            "{name}"
        );
        assert_eq!(
            run["properties"]["verdict"],
            summary.verdict.word(),
            "{name}"
        );
        let results = list(&run["results"]);
        let suppressed = summary
            .suppressed
            .as_ref()
            .map_or(0, |some| some.findings.len());
        let expected = summary.findings.len() + suppressed + usize::from(summary.failure.is_some());
        assert_eq!(results.len(), expected, "{name}");
        for result in results {
            let index = result["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"], "{name}");
            assert_eq!(
                rules[index]["defaultConfiguration"]["level"], result["level"],
                "{name}"
            );
            let linked = result["ruleId"] != "program-failure";
            let target = list(&result["relatedLocations"])
                .iter()
                .filter(|l| l["id"] == 2)
                .count();
            assert_eq!(target, usize::from(linked), "{name}");
        }
    }
}

#[test]
fn either_every_result_says_whether_it_is_suppressed_or_none_does() {
    let suppressions = |summary| {
        let log = log(&summary);
        let results = list(&log["runs"][0]["results"]);
        let all: Vec<_> = results
            .iter()
            .map(|result| result["suppressions"].clone())
            .collect();
        (
            all,
            log["runs"][0]["properties"]["suppressedRaces"].as_u64(),
        )
    };
    let (no, yes) = (json!([]), json!([{"kind": "external"}]));
    assert_eq!(
        suppressions(summaries::partly_suppressed()),
        (vec![no.clone(), yes.clone()], Some(3))
    );
    // The failure comes first, the race is the suppressed one.
    assert_eq!(
        suppressions(summaries::suppressed_then_failed()),
        (vec![no.clone(), yes], Some(1))
    );
    assert_eq!(
        suppressions(summaries::suppressed_in_vain()),
        (vec![no], Some(0))
    );
    assert_eq!(
        suppressions(summaries::race_then_failed()),
        (vec![Value::Null, Value::Null], Some(0))
    );
}

#[test]
fn an_apparent_race_is_a_warning_of_its_own_rule() {
    let log = log(&summaries::apparent());
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "apparent-race");
    assert_eq!(result["level"], "warning");
    assert_eq!(result["occurrenceCount"], 4);
}

#[test]
fn paths_become_uris_and_messages_keep_their_braces() {
    let log = log(&summaries::hostile());
    let result = &log["runs"][0]["results"][0];
    let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(
        uri.as_str().expect("a URI"),
        "c%3Aa%1B%5B31m%3Cscript%3Ealert%28%27x%27%29%3C/script%3E%22%26%0D%0A%E2%80%AE%C2%9B\
         %5B%C3%A9%7B0%7D%5D%281%29/%C3%BC.fin"
    );
    let text = result["message"]["text"].as_str().expect("a text");
    assert!(text.contains("[é{{0}}](1)"), "{text}");
    assert!(text.contains(r"\[é{{0}}\](1)/ü.fin:1:1](2)"), "{text}");

    let mut absolute = summaries::racy();
    let frame = &mut absolute.findings[0].first.stack.frames[0];
    frame.place.as_mut().expect("a place").file = "/home/me/a b.fin".to_string();
    let log = crate::sarif::log(&absolute);
    let location = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(
        location["artifactLocation"]["uri"],
        "file:///home/me/a%20b.fin"
    );
}
