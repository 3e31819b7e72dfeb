//! Reports of answers built by hand: each format against its contract.

mod bench;
mod bench_drdp;
mod bench_fastracer;
mod bench_zipper;
mod exit_status;
mod explain;
mod html;
mod json;
mod native;
mod native_runs;
mod parts;
mod proof;
mod proofs;
mod sarif;
mod summaries;
mod text;

use finishline_answer::Answer;
use finishline_report::{Format, Selection, Style};

fn render(summary: &Answer, format: Format, style: Style) -> String {
    let mut out = Vec::new();
    let all = Selection::default();
    finishline_report::write(summary, format, all, style, &mut out)
        .expect("a Vec takes everything");
    String::from_utf8(out).expect("reports are UTF-8")
}

fn render_json(summary: &Answer, format: Format) -> serde_json::Value {
    let text = render(summary, format, Style::default());
    assert!(text.ends_with("}\n"));
    serde_json::from_str(&text).expect("well-formed JSON")
}

/// A validator for a schema. The schema itself must be valid.
fn validator(schema: &str) -> jsonschema::Validator {
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("the schema is a 2020-12 schema");
    jsonschema::draft202012::new(&schema).expect("the schema is usable")
}

fn assert_valid(validator: &jsonschema::Validator, name: &str, report: &serde_json::Value) {
    let errors: Vec<String> = validator
        .iter_errors(report)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
}
