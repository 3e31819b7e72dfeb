//! Compares a report with the claims.

use super::claims::{Claims, Marks, Site};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// Compares the report of one process, made with `--determinacy`, in both directions. Returns the
/// differences in words.
pub(crate) fn complaints(claims: &Claims, marks: &Marks, report: &Value) -> Vec<String> {
    let mut complaints = Complaints(Vec::new());
    complaints.compare(
        "the verdict",
        &Some(&*claims.verdict),
        &word(&report["verdict"]),
    );
    if claims.class.is_some() {
        let because = &report["because"]["kind"];
        complaints.compare("the reason", &claims.class.as_deref(), &word(because));
    }
    let pairs: Vec<&Value> = report["races"].as_array().into_iter().flatten().collect();
    let is_after_free = |pair: &&Value| pair["class"] == "use-after-free";
    let (after_free, pairs): (Vec<&Value>, Vec<&Value>) =
        pairs.into_iter().partition(is_after_free);
    let is_race = |pair: &&Value| pair["class"] == "race";
    let (races, ordered): (Vec<&Value>, Vec<&Value>) = pairs.into_iter().partition(is_race);

    let used = sites(&after_free);
    complaints.compare("what is used after its free", &marks.after_free, &used);
    let found = sites(&races);
    // Programs with other verdicts have no marks of races.
    let (required, optional) = match claims.verdict.as_str() {
        "race" => (marks.required.clone(), marks.optional.clone()),
        _ => Default::default(),
    };
    for missing in required.difference(&found) {
        complaints.0.push(format!("not found: {missing:?}"));
    }
    for site in found
        .difference(&required)
        .filter(|site| !optional.contains(site))
    {
        complaints
            .0
            .push(format!("found, but not claimed: {site:?}"));
    }
    let objects = words(races.iter().map(|race| &race["object"]["kind"]));
    complaints.compare(
        "the objects",
        &claims.object.iter().map(String::as_str).collect(),
        &objects,
    );
    if claims.verdict != "race" {
        let classes = words(ordered.iter().map(|pair| &pair["class"]));
        let claimed: BTreeSet<&str> = claims.determinacy.iter().map(String::as_str).collect();
        complaints.compare("what `--determinacy` lists", &claimed, &classes);
    }
    let stopped = &report["stopped"]["stack"];
    let waits = own_place(stopped);
    let expected = match &waits {
        Some(place) => marks.waits.contains(place),
        None => marks.waits.is_empty(),
    };
    if !expected {
        complaints.compare("where it waits", &marks.waits, &waits.into_iter().collect());
    }
    let unseen = report["unseen"].as_array().into_iter().flatten();
    let unseen = unseen.map(|atomic| place(&atomic["place"]).unwrap_or_default());
    complaints.compare("what is not seen", &marks.unseen, &unseen.collect());
    complaints.0
}

/// The exit status of `cargo finishline run --determinacy` for these claims. If nothing is found it
/// is the program's own status, which is 0 for all programs here.
pub(crate) fn exit_status(claims: &Claims) -> i32 {
    const RACE_FOUND: i32 = 66;
    const FAILED: i32 = 3;
    const NOTHING_ESTABLISHED: i32 = 4;
    match claims.verdict.as_str() {
        "race" => RACE_FOUND,
        _ if !claims.determinacy.is_empty() => RACE_FOUND,
        "trap" => FAILED,
        "unknown" => NOTHING_ESTABLISHED,
        _ => 0,
    }
}

struct Complaints(Vec<String>);

impl Complaints {
    fn compare<T: Debug + PartialEq>(&mut self, what: &str, claimed: &T, found: &T) {
        if claimed != found {
            self.0
                .push(format!("{what}: claimed {claimed:?}, found {found:?}"));
        }
    }
}

fn word(value: &Value) -> Option<&str> {
    value.as_str()
}

fn words<'a>(values: impl Iterator<Item = &'a Value>) -> BTreeSet<&'a str> {
    values.filter_map(Value::as_str).collect()
}

/// The accesses of pairs.
fn sites(pairs: &[&Value]) -> BTreeSet<Site> {
    let accesses = pairs
        .iter()
        .flat_map(|pair| [&pair["first"], &pair["second"]]);
    accesses.map(site).collect()
}

fn site(access: &Value) -> Site {
    let (file, line) = own_place(&access["stack"]).unwrap_or_default();
    Site {
        file,
        line,
        kind: word(&access["kind"]).unwrap_or_default().to_owned(),
    }
}

/// The innermost place of a stack in a file of the workspace. Only such files have relative paths.
fn own_place(stack: &Value) -> Option<(String, u64)> {
    let frames = stack.as_array().into_iter().flatten();
    let mut own = frames.filter_map(|frame| place(&frame["place"]));
    own.find(|(file, _)| !file.starts_with('/'))
}

fn place(place: &Value) -> Option<(String, u64)> {
    let file = word(&place["file"])?;
    Some((file.to_owned(), place["line"].as_u64()?))
}
