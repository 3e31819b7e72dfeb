//! `finishline graph`, as a user calls it: formats, races, collapsed graphs, what is refused.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FIG2: &str = "programs/esp-bags/figures/fig2.fin";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn finishline(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("the binary starts")
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("not ended by a signal")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn scratch(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.display().to_string()
}

fn program(name: &str, source: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, source).expect("the scratch file");
    path
}

/// The picture in a file of this name.
fn picture(name: &str, arguments: &[&str]) -> String {
    let file = scratch(name);
    let output = finishline(&[&["graph", "-o", &file], arguments].concat());
    assert!([0, 3].contains(&status(&output)), "{}", stderr(&output));
    std::fs::read_to_string(file).expect("the picture")
}

/// The picture as JSON. It matches its schema, ids are indices, and counts add up.
fn json(name: &str, arguments: &[&str]) -> Value {
    let picture: Value = serde_json::from_str(&picture(name, arguments)).expect("JSON");
    let schema = std::fs::read(root().join("docs/graph.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_slice(&schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> = (validator.iter_errors(&picture))
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    let nodes = list(&picture["nodes"]);
    let counts: u64 = nodes.iter().map(|node| number(&node["count"])).sum();
    let all = number(&picture["nodes_of_graph"]);
    assert_eq!(counts + number(&picture["left_out"]), all);
    for (index, node) in nodes.iter().enumerate() {
        assert_eq!(node["id"], index);
    }
    for edge in list(&picture["edges"]) {
        assert!(number(&edge["from"]) < nodes.len() as u64);
        assert!(number(&edge["to"]) < nodes.len() as u64);
        let is_whole = nodes.len() as u64 == all;
        assert!(!is_whole || number(&edge["from"]) < number(&edge["to"]));
    }
    picture
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// The programs of the papers and lessons, with the arguments that they are tested with.
fn programs() -> Vec<(PathBuf, Vec<String>)> {
    let mut programs = Vec::new();
    for folder in ["zipper", "zipper/figures", "esp-bags/figures", "lessons"] {
        for entry in root()
            .join("programs")
            .join(folder)
            .read_dir()
            .expect("a folder")
        {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "fin") {
                let source = std::fs::read_to_string(&path).expect("the program");
                let line = source
                    .lines()
                    .find_map(|line| line.strip_prefix("//@ args: "));
                let words = line.unwrap_or_default().split_whitespace();
                programs.push((path, words.map(str::to_owned).collect()));
            }
        }
    }
    programs
}

/// A race of a report of `check`, or of a picture.
fn race(race: &Value, is_apparent: bool, line: impl Fn(&Value) -> Value) -> String {
    let end = |end: &Value| format!("{} {} {}", end["kind"], line(end), end["isolated"]);
    let ends = [&race["first"], &race["second"]].map(end).join(" ");
    format!("{} {is_apparent} {ends}", race["location"])
}

#[test]
fn the_races_are_those_of_check_and_no_path_connects_their_nodes() {
    let mut races = 0;
    for (path, words) in programs() {
        let path = path.display().to_string();
        let mut arguments = vec![path.as_str(), "-q"];
        arguments.extend(words.iter().map(String::as_str));
        let drawn = json(
            "races.json",
            &[&arguments[..], &["--max-nodes", "100000"]].concat(),
        );
        let report = finishline(&[&["check", "--format", "json"], &arguments[..]].concat());
        let report: Value = serde_json::from_slice(&report.stdout).expect("a report");
        assert_eq!(drawn["verdict"], report["verdict"], "{path}");
        assert_eq!(
            drawn["nodes_of_graph"],
            list(&drawn["nodes"]).len(),
            "{path}"
        );
        let of_check: Vec<String> = (list(&report["races"]).iter())
            .map(|it| {
                race(it, it["apparent"] == true, |end| {
                    end["place"]["line"].clone()
                })
            })
            .collect();
        let in_picture: Vec<String> = (list(&drawn["races"]).iter())
            .map(|it| {
                race(it, it["class"] == "apparent race", |end| {
                    end["line"].clone()
                })
            })
            .collect();
        assert_eq!(of_check, in_picture, "{path}");
        for race in list(&drawn["races"]) {
            let [first, second] =
                ["first", "second"].map(|end| number(&race[end]["node"]) as usize);
            for (node, end) in [(first, &race["first"]), (second, &race["second"])] {
                let races = |access: &Value| {
                    access["races"] == true
                        && access["location"] == race["location"]
                        && access["kind"] == end["kind"]
                };
                let node = &drawn["nodes"][node];
                assert!(list(&node["accesses"]).iter().any(races), "{path}: {node}");
            }
            let by_isolation = race["class"] == "race";
            assert!(
                !connected(&drawn, first, second, by_isolation),
                "{path}: {race}"
            );
            assert!(
                !connected(&drawn, second, first, by_isolation),
                "{path}: {race}"
            );
            races += 1;
        }
    }
    assert!(races > 50, "{races}");
}

fn connected(picture: &Value, from: usize, to: usize, by_isolation: bool) -> bool {
    let mut reached = vec![false; list(&picture["nodes"]).len()];
    reached[from] = true;
    // Edges are sorted by where they begin, and lead to greater numbers.
    for edge in list(&picture["edges"]) {
        let counts = by_isolation || edge["kind"] != "isolation";
        if counts && reached[number(&edge["from"]) as usize] {
            reached[number(&edge["to"]) as usize] = true;
        }
    }
    reached[to]
}

#[test]
fn every_format_is_told_by_the_extension() {
    for view in [&[][..], &["--tree"]] {
        let of = |name: &str| picture(name, &[&[FIG2, "3"], view].concat());
        let svg = of("fig2.svg");
        well_formed(&svg);
        assert!(svg.contains("no path") && svg.contains("writes B[0]@17"));
        let page = of("fig2.html");
        assert!(page.starts_with("<!doctype html>") && page.contains("id=\"search\""));
        let picture = page.find("<svg").expect("a drawing");
        let end = page.find("</svg>").expect("its end") + "</svg>".len();
        well_formed(&page[picture..end]);
        assert!(!page.contains("http://") && !page.contains("https://"));
        let dot = of("fig2.dot");
        assert!(dot.starts_with("digraph") && dot.ends_with("}\n"));
        assert_eq!(dot.matches("no path").count(), 2);
    }
}

/// Every element is closed, and names of entities are those of XML.
fn well_formed(svg: &str) {
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').expect("the tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        for entity in text.split('&').skip(1).chain(tag.split('&').skip(1)) {
            let (name, _) = entity.split_once(';').expect("an entity ends");
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "{name}");
        }
        let name = tag.split_whitespace().next().expect("a name");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn many_tasks_are_drawn_as_one_with_a_count() {
    let source = "var total = 0;
fn main(n: int) {
    let A = new int[n + 1];
    finish for i in 0..n {
        async { A[i] = i; isolated { total += 1; } }
    }
    finish for i in 0..n {
        async { A[i] = A[i + 1]; }
    }
}
";
    let many = program("many.fin", source);
    let picture = json("many.json", &[&many, "100000"]);
    assert_eq!(picture["nodes_of_graph"], 600_007);
    assert_eq!(picture["left_out"], 0);
    let nodes = list(&picture["nodes"]);
    assert!(nodes.len() <= 30, "{}", nodes.len());
    let of_task = |node: &&Value| node["label"] == "async@5";
    assert_eq!(
        nodes.iter().find(of_task).expect("a node")["count"],
        100_000
    );
    // The two tasks that race are not among the others.
    let race = &picture["races"][0];
    for end in ["first", "second"] {
        assert_eq!(nodes[number(&race[end]["node"]) as usize]["count"], 1);
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("many.json");
    assert!(file.metadata().expect("the file").len() < 100_000);
}

#[test]
fn a_deep_recursion_is_folded_and_a_long_task_is_cut_with_a_note() {
    let source = "fn fib(n: int, r: int[], at: int) {
    if n < 2 { r[at] = n; return; }
    let s = new int[2];
    finish { async fib(n - 1, s, 0); async fib(n - 2, s, 1); }
    r[at] = s[0] + s[1];
}
fn main(n: int) { let r = new int[1]; fib(n, r, 0); }
";
    let deep = program("deep.fin", source);
    let picture = json("deep.json", &[&deep, "18"]);
    assert_eq!(picture["left_out"], 0);
    let nodes = list(&picture["nodes"]);
    assert!(nodes.len() <= 200);
    assert!(
        nodes
            .iter()
            .any(|node| node["folded_tasks"].as_u64() > Some(100))
    );

    // No step is like the one before or after it.
    let steps: String = (0..300)
        .map(|step| format!("    isolated {{ x{} = {step}; }}\n", step % 17))
        .collect();
    let globals: String = (0..17).map(|at| format!("var x{at} = 0;\n")).collect();
    let long = program("long.fin", &format!("{globals}fn main() {{\n{steps}}}\n"));
    let picture = json("long.json", &[&long]);
    assert_eq!(list(&picture["nodes"]).len(), 200);
    assert_eq!(
        number(&picture["left_out"]) + 200,
        number(&picture["nodes_of_graph"])
    );
    let notes = picture["notes"].to_string();
    assert!(notes.contains("left out"), "{notes}");
    assert!(self::picture("long.svg", &[&long]).contains("left out"));
}

#[test]
fn promises_have_edges() {
    let picture = json(
        "futures.json",
        &["programs/zipper/pipeline_with_futures.fin"],
    );
    let edges = list(&picture["edges"]);
    assert!(edges.iter().any(|edge| edge["kind"] == "promise"));
}

#[test]
fn a_trace_has_the_races_of_its_program() {
    let trace = scratch("drawn.trace");
    let record = finishline(&["record", "--checks", "full", FIG2, "3", "-o", &trace]);
    assert_eq!(status(&record), 0);
    let (of_trace, of_program) = (json("t.json", &[&trace]), json("p.json", &[FIG2, "3"]));
    assert_eq!(of_trace["races"], of_program["races"]);
    assert_eq!(of_trace["nodes"], of_program["nodes"]);
    let refused = finishline(&["graph", &trace, "3", "-o", &scratch("t.svg")]);
    assert_eq!(status(&refused), 2);
    assert!(stderr(&refused).contains("has its arguments in it"));
}

#[test]
fn a_run_that_fails_is_drawn_up_to_there() {
    let fails = program(
        "fails.fin",
        "fn main() { let a = new int[1]; finish { async { a[0] = 1; } a[1] = 2; } }\n",
    );
    let file = scratch("fails.json");
    let output = finishline(&["graph", &fails, "-o", &file]);
    assert_eq!(status(&output), 3);
    let picture = json("fails.json", &[&fails]);
    assert_eq!(picture["verdict"], "trap");
    assert!(picture["notes"].to_string().contains("ended early"));
}

#[test]
fn names_can_not_break_out_of_the_picture() {
    let odd = program("odd <b> & \"c\".fin", "fn main() { finish async { } }\n");
    for name in ["odd.svg", "odd.html"] {
        let picture = picture(name, &[&odd]);
        assert!(!picture.contains("<b>"), "{name}");
        assert!(picture.contains("odd &lt;b&gt; &amp; &quot;c&quot;.fin"));
    }
    well_formed(&picture("odd.svg", &[&odd]));
    assert!(picture("odd.dot", &[&odd]).contains("\\\"c\\\""));
}

#[test]
fn bad_arguments_are_refused_with_the_reason() {
    let nowhere = scratch("no/such/folder/x.svg");
    for (arguments, reason) in [
        (&["graph", FIG2, "3"][..], "--output"),
        (
            &["graph", FIG2, "3", "-o", "x.png"],
            "must end in .svg, .dot, .json, .html",
        ),
        (&["graph", FIG2, "3", "-o", "x"], "must end in .svg"),
        (&["graph", FIG2, "3", "-o", &nowhere], "can't write"),
        (&["graph", FIG2, "-o", "x.svg"], "argument"),
        (&["graph", "no.fin", "-o", "x.svg"], "can't read no.fin"),
        (&["graph", "no.trace", "-o", "x.svg"], "can't read no.trace"),
        (
            &["graph", FIG2, "3", "-o", "x.svg", "--max-nodes", "many"],
            "whole number",
        ),
    ] {
        let output = finishline(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
        assert!(!root().join("x.svg").exists());
    }
}
