//! `finishline detectors`: each row of the table with its guarantee.

use crate::options::DetectorsOptions;
use crate::outcome::{NOTHING_FOUND, Problem};
use finishline_model::Detector;
use serde_json::json;
use std::io::{self, Write};

pub(crate) fn detectors(options: &DetectorsOptions) -> Result<u8, Problem> {
    let text = if options.format == "json" {
        as_json()
    } else {
        as_text()
    };
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(Problem::Output)?;
    Ok(NOTHING_FOUND)
}

fn as_text() -> String {
    let mut text = String::new();
    for detector in Detector::ALL {
        text.push_str(&format!("{detector}\n"));
        let constructs = detector.constructs();
        let rows = [
            ("order", detector.order()),
            ("history", detector.history()),
            ("runs", detector.runs()),
            ("judges", constructs.as_str()),
            ("guarantee", detector.guarantee()),
        ];
        for (label, value) in rows {
            text.push_str(&format!("  {label:<10} {value}\n"));
        }
        text.push('\n');
    }
    text.push_str(
        "auto takes sp-bags for programs of spawn and sync alone, finishline for programs with promises, futures or locks and for checks on several threads, and esp-bags for all others.\n",
    );
    text
}

fn as_json() -> String {
    let rows = Detector::ALL.map(|detector| {
        json!({
            "name": detector.name(),
            "order": detector.order(),
            "history": detector.history(),
            "runs": detector.runs(),
            "constructs": detector.constructs(),
            "guarantee": detector.guarantee(),
        })
    });
    format!("{:#}\n", serde_json::Value::from(rows.to_vec()))
}
