//! The JSON report against its schema, the schema against broken reports, and the documentation
//! against both.

use crate::summaries;
use crate::{assert_valid, render, render_json, validator};
use finishline_answer::About;
use finishline_answer::verdict::Verdict;
use finishline_model::Detector;
use finishline_report::{Format, Style};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(crate) const SCHEMA: &str = include_str!("../../../../docs/report.schema.json");
const GUIDE: &str = include_str!("../../../../docs/report.md");

fn report(summary: &finishline_answer::Answer) -> Value {
    render_json(summary, Format::Json)
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is JSON")
}

#[test]
fn every_report_satisfies_the_schema() {
    let validator = validator(SCHEMA);
    for (name, mut summary) in summaries::all() {
        for detector in Detector::ALL {
            let About::Check(check) = &mut summary.about else {
                panic!("a check");
            };
            check.detector = detector;
            assert_valid(&validator, name, &report(&summary));
        }
    }
}

/// The words of an `enum` of the schema.
pub(crate) fn words(pointer: &str) -> BTreeSet<String> {
    let schema = schema();
    let words = schema.pointer(pointer).and_then(Value::as_array);
    (words.expect("an enum").iter())
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect()
}

#[test]
fn the_schema_knows_exactly_the_words_of_the_model() {
    let of_checks = words("/$defs/fin/properties/verdict/enum");
    let of_proofs = words("/$defs/proof_verdict/enum");
    assert!(!of_checks.contains(Verdict::Proved.word()));
    assert_eq!(
        &of_checks | &of_proofs,
        Verdict::ALL.map(|v| v.word().to_string()).into()
    );
    assert_eq!(
        words("/$defs/fin/properties/detector/enum"),
        Detector::ALL.map(|d| d.name().to_string()).into()
    );
}

/// A change of one object somewhere inside a report.
pub(crate) type Damage = fn(&mut serde_json::Map<String, Value>, &str);

/// Changes that no report may have.
pub(crate) const DAMAGES: [(&str, Damage); 3] = [
    ("missing", |object, field| {
        object.remove(field);
    }),
    ("additional", |object, field| {
        object.insert(format!("{field}_2"), json!(0));
    }),
    ("ill-typed", |object, field| {
        object.insert(field.to_string(), json!([{}, 1.5]));
    }),
];

/// Applies `damage` to each object of a report in turn, for each of its fields. Returns the damaged
/// reports.
pub(crate) fn damaged(report: &Value, damage: Damage) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    objects(report, String::new(), &mut places);
    let mut all = Vec::new();
    for (pointer, fields) in places {
        for field in fields {
            let mut broken = report.clone();
            let object = broken.pointer_mut(&pointer).and_then(Value::as_object_mut);
            damage(object.expect("the pointer is one of this report"), &field);
            all.push((format!("{pointer}/{field}"), broken));
        }
    }
    all
}

fn objects(value: &Value, pointer: String, found: &mut Vec<(String, Vec<String>)>) {
    match value {
        Value::Object(fields) => {
            found.push((pointer.clone(), fields.keys().cloned().collect()));
            for (name, field) in fields {
                objects(field, format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                objects(item, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_schema_rejects_every_missing_additional_or_ill_typed_field() {
    let validator = validator(SCHEMA);
    for summary in [summaries::watched(), summaries::race_then_failed()] {
        let report = report(&summary);
        for (kind, damage) in DAMAGES {
            let broken = damaged(&report, damage);
            assert!(broken.len() > 100, "the walk reaches the inner objects");
            for (place, broken) in broken {
                assert!(!validator.is_valid(&broken), "{kind} {place} is accepted");
            }
        }
    }
}

#[test]
fn the_schema_rejects_contradictions_and_unknown_words() {
    let validator = validator(SCHEMA);
    let broken = [
        (summaries::racy(), "/verdict", json!("maybe")),
        (summaries::racy(), "/detector", json!("esp bags")),
        (summaries::racy(), "/exit_status", json!(0)),
        (summaries::racy(), "/exit_status", json!(1)),
        (summaries::racy(), "/verdict", json!("certified")),
        (summaries::racy(), "/distinct_races", json!(0)),
        (summaries::racy(), "/schema_version", json!(2)),
        (summaries::racy(), "/races/0/first/kind", json!("touch")),
        (summaries::racy(), "/races/0/first/place/line", json!(0)),
        (summaries::racy(), "/races/0/first/task/path", json!("0.1")),
        (
            summaries::racy(),
            "/races/0/first/task/creations/0/construct",
            json!("fork"),
        ),
        (summaries::racy(), "/races/0/occurrences", json!(0)),
        (summaries::certified(), "/exit_status", json!(66)),
        (summaries::certified(), "/verdict", json!("race")),
        (summaries::certified(), "/distinct_races", json!(1)),
        (summaries::certified(), "/suppressed_races", json!(1)),
        (summaries::all_suppressed(), "/suppressed_races", json!(0)),
        (summaries::all_suppressed(), "/distinct_races", json!(0)),
        (summaries::all_suppressed(), "/verdict", json!("trap")),
        (summaries::all_suppressed(), "/exit_status", json!(3)),
        (summaries::all_suppressed(), "/exit_status", json!(4)),
        (
            summaries::suppressed_then_failed(),
            "/exit_status",
            json!(0),
        ),
        (summaries::partly_suppressed(), "/exit_status", json!(0)),
        (summaries::failed(), "/failure", Value::Null),
        (summaries::failed(), "/exit_status", json!(0)),
        (summaries::unknown(), "/statistics/tasks", json!(-1)),
    ];
    for (summary, pointer, value) in broken {
        let mut report = report(&summary);
        assert!(validator.is_valid(&report));
        *report.pointer_mut(pointer).expect("the field exists") = value.clone();
        assert!(
            !validator.is_valid(&report),
            "{pointer} = {value} is accepted"
        );
    }
}

#[test]
fn the_fields_of_a_race() {
    let report = report(&summaries::racy());
    let race = &report["races"][0];
    assert_eq!(report["arguments"], json!(["1"]));
    assert_eq!(report["verdict"], "race");
    assert_eq!(report["exit_status"], 66);
    assert_eq!(report["stronger"], Value::Null);
    assert_eq!(race["message"], "write and write to B[0] are not ordered");
    assert_eq!(
        race["second"]["task"],
        json!({
            "path": "main.1.0",
            "text": "main › async@14 › async@14 (i = 0)",
            "creations": [
                {"index": 1, "construct": "async", "line": 14,
                 "captures": [{"name": "i", "value": "0"}]},
                {"index": 0, "construct": "async", "line": 14,
                 "captures": [{"name": "i", "value": "0"}]},
            ],
        })
    );
    assert_eq!(
        race["why"]["join"],
        json!({"what": "the end of finish@7",
               "place": {"file": "fig2.fin", "line": 16, "column": 5, "text": "}"}})
    );
    assert_eq!(
        race["allocated"],
        json!({"file": "fig2.fin", "line": 5, "column": 13, "text": "new int[size + 2]"})
    );
}

#[test]
fn lists_say_whether_they_were_cut_short() {
    let cut = report(&summaries::truncated());
    assert_eq!(cut["distinct_races"], 5);
    assert_eq!(cut["racing_locations"]["count"], 1000);
    assert_eq!(cut["racing_locations"]["truncated"], true);
    assert_eq!(
        cut["racing_locations"]["names"].as_array().map(Vec::len),
        Some(20)
    );
    assert_eq!(cut["races"][0]["locations"]["truncated"], false);
    assert_eq!(report(&summaries::watched())["watch"]["truncated"], true);
    assert_eq!(
        report(&summaries::watched_in_vain())["watch"]["truncated"],
        false
    );
}

#[test]
fn suppressed_races_are_counted_but_not_listed() {
    let counts = |summary| {
        let report = report(&summary);
        let listed = report["races"].as_array().map(Vec::len);
        assert_eq!(report["verdict"], "race");
        assert_eq!(report["racing_locations"]["names"], json!(["B[0]"]));
        (
            listed,
            report["distinct_races"].as_u64(),
            report["suppressed_races"].as_u64(),
        )
    };
    assert_eq!(
        counts(summaries::partly_suppressed()),
        (Some(1), Some(5), Some(3))
    );
    assert_eq!(
        counts(summaries::all_suppressed()),
        (Some(0), Some(1), Some(1))
    );
    assert_eq!(
        counts(summaries::suppressed_in_vain()),
        (Some(1), Some(1), Some(0))
    );
    assert_eq!(counts(summaries::racy()), (Some(1), Some(1), Some(0)));
}

#[test]
fn a_deep_task_is_complete_in_its_creations_and_short_in_its_text() {
    let report = report(&summaries::deep());
    let task = &report["races"][0]["first"]["task"];
    assert_eq!(task["creations"].as_array().map(Vec::len), Some(18));
    assert_eq!(task["path"], format!("main{}", ".0.1".repeat(9)));
    let text = task["text"].as_str().expect("a text");
    assert!(text.contains("› … 10 more … ›"), "{text}");
}

#[test]
fn text_of_the_user_survives_unchanged() {
    let report = report(&summaries::hostile());
    assert_eq!(report["program"], summaries::EVIL);
    assert_eq!(report["races"][0]["first"]["function"], summaries::EVIL);
}

#[test]
fn the_example_of_the_guide_is_what_the_tool_writes() {
    let (_, rest) = GUIDE
        .split_once("```json\n")
        .expect("the guide has an example");
    let (example, _) = rest.split_once("```").expect("the example ends");
    assert_eq!(
        example,
        render(&summaries::racy(), Format::Json, Style::default())
    );
}

#[test]
fn the_guide_explains_every_field_and_the_schema_describes_it() {
    fn check(schema: &Value) {
        let Some(fields) = schema.as_object() else {
            return;
        };
        if let Some(properties) = schema["properties"]
            .as_object()
            .filter(|_| fields.contains_key("required"))
        {
            for (name, property) in properties {
                // A condition only constrains a property.
                if schema.get("type").is_some() {
                    assert!(
                        GUIDE.contains(&format!("`{name}`")),
                        "the guide lacks {name}"
                    );
                    let described =
                        property.get("description").is_some() || property.get("$ref").is_some();
                    assert!(described, "{name} has no description");
                }
            }
        }
        fields.values().for_each(check);
    }
    check(&schema());
}
