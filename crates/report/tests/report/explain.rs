//! Explanations of checks made by hand: the text, the JSON against its schema, and the page of the
//! guide about both.

use crate::{assert_valid, validator};
use finishline_answer::explain::{ExplainedAccess, Explanation, Fate};
use finishline_model::{AccessKind, Pass, Passes, Site};
use finishline_report::Style;
use finishline_report::explain::{Format, write};
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../../../../docs/checks.schema.json");
const GUIDE: &str = include_str!("../../../../docs/checks.md");

const ASCII: Style = Style {
    color: false,
    unicode: false,
};

fn render(explanation: &Explanation, format: Format, style: Style) -> String {
    let mut out = Vec::new();
    write(explanation, format, style, &mut out).expect("a Vec takes everything");
    String::from_utf8(out).expect("UTF-8")
}

/// The program of the guide.
const SOURCE: &str = "\
var limit = 10;

fn main(n: int) {
    let A = new float[n];
    let B = new float[n];
    for i in 0..n { A[i] = float(i); }
    forall k in 0..4 {
        let mine = new int[2];
        for i in k..n step 4 {
            B[i] = A[i] + A[0];
            mine[0] += 1;
        }
        B[k] += float(mine[0] + limit);
    }
}

fn forgotten() { limit = 0; }
";

/// Adds accesses to the line with this text, from left to right.
struct Line<'a>(&'a mut Explanation, &'static str);

impl Line<'_> {
    fn access(self, kind: AccessKind, place: &str, fate: Fate, by: &[Pass]) -> Self {
        let Line(explanation, line) = &self;
        let start = explanation.source.find(line).expect("the line is there");
        let at = match kind {
            // The written place comes first, the read place last.
            AccessKind::Write => line.find(place),
            AccessKind::Read => line.rfind(place),
        };
        let start = start + at.expect("the place is on the line");
        let before = &explanation.source[..start];
        let site = Site {
            start: start as u32,
            end: (start + place.len()) as u32,
            line: before.matches('\n').count() as u32 + 1,
            column: before.chars().rev().take_while(|c| *c != '\n').count() as u32 + 1,
        };
        let (checks, range_checks) = match fate {
            Fate::Kept | Fate::Partly | Fate::Moved => (1, 0),
            Fate::Merged => (0, 1),
            Fate::Removed | Fate::Unreachable => (0, 0),
        };
        self.0.accesses.push(ExplainedAccess {
            kind,
            site,
            place: place.split_whitespace().collect::<Vec<_>>().join(" "),
            function: "main".to_owned(),
            fate,
            by: by.iter().copied().collect(),
            checks,
            range_checks,
            wraps: false,
        });
        self
    }
}

fn example() -> Explanation {
    use AccessKind::{Read, Write};
    use Fate::{Kept, Merged, Removed, Unreachable};
    let mut example = Explanation {
        program: "quarters.fin".to_owned(),
        source: SOURCE.to_owned(),
        passes: Passes::ALL,
        accesses: Vec::new(),
    };
    let line = |example: &mut Explanation, text, accesses: &[(_, &str, _, &[Pass])]| {
        accesses
            .iter()
            .fold(Line(example, text), |line, (kind, place, fate, by)| {
                line.access(*kind, place, *fate, by)
            });
    };
    let one = &mut example;
    line(
        one,
        "A[i] = float(i)",
        &[(Write, "A[i]", Removed, &[Pass::Sequential])],
    );
    line(
        one,
        "B[i] = A[i] + A[0]",
        &[
            (Write, "B[i]", Merged, &[Pass::Ranges]),
            (Read, "A[i]", Removed, &[Pass::ReadOnly]),
            (Read, "A[0]", Removed, &[Pass::ReadOnly]),
        ],
    );
    line(
        one,
        "mine[0] += 1",
        &[
            (Read, "mine[0]", Removed, &[Pass::TaskLocal]),
            (Write, "mine[0]", Removed, &[Pass::TaskLocal]),
        ],
    );
    line(
        one,
        "B[k] += float(mine[0] + limit)",
        &[
            (Read, "B[k]", Removed, &[Pass::Dominated]),
            (Write, "B[k]", Kept, &[]),
            (Read, "mine[0]", Removed, &[Pass::TaskLocal]),
            (Read, "limit", Removed, &[Pass::ReadOnly]),
        ],
    );
    line(one, "limit = 0;", &[(Write, "limit", Unreachable, &[])]);
    example
}

/// Everything that can be said of an access, in a program with text that is hostile to terminals.
fn hostile() -> Explanation {
    use AccessKind::{Read, Write};
    let mut hostile = Explanation {
        program: "a\u{1b}[31m.fin".to_owned(),
        source: "fn main() {\r\n\tx[y[1]] += \u{7}é; // \u{202e}\n\n\ttwo\n lines;\n}".to_owned(),
        passes: Passes::NONE
            .with(Pass::Ranges)
            .with(Pass::LoopInvariant)
            .with(Pass::Contexts),
        accesses: Vec::new(),
    };
    Line(&mut hostile, "x[y[1]] += ")
        .access(Read, "x[y[1]]", Fate::Moved, &[Pass::LoopInvariant])
        .access(Write, "x[y[1]]", Fate::Kept, &[])
        .access(Read, "y[1]", Fate::Kept, &[]);
    Line(&mut hostile, "two\n lines").access(
        Read,
        "two\n lines",
        Fate::Partly,
        &[Pass::Contexts, Pass::Ranges],
    );
    hostile
}

#[test]
fn the_guide_shows_the_example_as_it_is() {
    let text = render(&example(), Format::Text, Style::default());
    assert!(
        GUIDE.contains(&format!(
            "```\n$ finishline explain-checks quarters.fin\n{text}```\n"
        )),
        "put this into docs/checks.md:\n{text}"
    );
}

#[test]
fn the_source_can_not_drive_the_terminal() {
    let expected = r"a\u{1b}[31m.fin with --checks contexts,ranges,loop-invariant

1 | fn main() {
2 |     x[y[1]] += \u{7}\u{e9}; // \u{202e}
  |     ^^^^^^^ read x[y[1]]: moved by loop-invariant
  |     ^^^^^^^ write x[y[1]]: kept
  |       ^^^^ read y[1]: kept
3 |
4 |     two
  |     ^^^ read two lines: partly by contexts, ranges
5 |  lines;
6 | }

4 shared accesses, a run pays for 4, marked ^
  2 kept: checked each time
  1 partly: checked each time in some copies of its code, not in others
    1 contexts: called in several contexts, each with a copy of its own
    1 ranges: checked with the other elements of the loop, all at once
  1 moved: checked elsewhere, less often
    1 loop-invariant: checked once for all iterations of the loop
";
    assert_eq!(render(&hostile(), Format::Text, ASCII), expected);
}

#[test]
fn colours_only_paint() {
    let color = Style {
        color: true,
        unicode: true,
    };
    for explanation in [example(), hostile()] {
        let painted = render(&explanation, Format::Text, color);
        assert!(painted.contains("\u{1b}["));
        let mut plain = String::new();
        for (index, part) in painted.split("\u{1b}[").enumerate() {
            plain += match index {
                0 => part,
                _ => part.split_once('m').expect("a colour ends").1,
            };
        }
        let expected = render(&explanation, Format::Text, Style::default());
        assert_eq!(plain, expected);
    }
}

#[test]
fn a_program_without_accesses_is_shown_too() {
    let nothing = Explanation {
        program: "nothing.fin".to_owned(),
        source: "fn main() {}\n".to_owned(),
        passes: Passes::SEQUENTIAL,
        accesses: Vec::new(),
    };
    assert_eq!(
        render(&nothing, Format::Text, ASCII),
        "nothing.fin with --checks sequential\n\n1 | fn main() {}\n\n\
         0 shared accesses, a run pays for none of them\n"
    );
}

fn report(explanation: &Explanation) -> Value {
    let text = render(explanation, Format::Json, Style::default());
    assert!(text.ends_with("}\n"));
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn the_json_keeps_to_its_schema() {
    let validator = validator(SCHEMA);
    for explanation in [example(), hostile()] {
        assert_valid(&validator, &explanation.program, &report(&explanation));
    }
}

#[test]
fn the_json_has_every_figure() {
    let report = report(&example());
    assert_eq!(report["checks"], "optimised");
    assert_eq!(
        report["counts"],
        json!({
            "accesses": 11, "kept": 1, "partly": 0, "moved": 0, "merged": 1, "removed": 8, "unreachable": 1,
        })
    );
    assert_eq!(
        report["passes"][3],
        json!({"name": "read-only", "reason": Pass::ReadOnly.reason(), "accesses": 3})
    );
    assert_eq!(
        report["accesses"][1],
        json!({
            "line": 10, "column": 13, "kind": "write", "place": "B[i]", "function": "main",
            "fate": "merged", "by": ["ranges"], "checks": 0,  "range_checks": 1, "wraps": false,
        })
    );
}

#[test]
fn the_schema_rejects_what_is_missing_added_or_unknown() {
    let validator = validator(SCHEMA);
    let good = report(&example());
    for at in ["", "/tool", "/passes/0", "/counts", "/accesses/0"] {
        let object = good.pointer(at).and_then(Value::as_object);
        let names: Vec<String> = object.expect("an object").keys().cloned().collect();
        let fields = |bad: &mut Value, change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
            let object = bad.pointer_mut(at).and_then(Value::as_object_mut);
            change(object.expect("an object"));
        };
        for name in names {
            let mut bad = good.clone();
            fields(&mut bad, &|fields| drop(fields.remove(&name)));
            assert!(!validator.is_valid(&bad), "without {at}/{name}");
            let mut bad = good.clone();
            fields(&mut bad, &|fields| {
                fields.insert(name.clone(), json!({"another": "type"}));
            });
            assert!(!validator.is_valid(&bad), "{at}/{name} of another type");
        }
        let mut bad = good.clone();
        fields(&mut bad, &|fields| {
            fields.insert("more".to_owned(), json!(1));
        });
        assert!(!validator.is_valid(&bad), "more in {at}");
    }
    for (at, word) in [
        ("/accesses/0/fate", "gone"),
        ("/accesses/0/kind", "copy"),
        ("/accesses/0/by/0", "magic"),
        ("/passes/0/name", "magic"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(at).expect("a field") = json!(word);
        assert!(!validator.is_valid(&bad), "{at}: {word}");
    }
}

#[test]
fn the_guide_knows_every_fate_every_pass_and_every_field() {
    for fate in Fate::ALL {
        let row = format!("| `{}` | {}", fate.word(), fate.meaning());
        assert!(GUIDE.contains(&row), "docs/checks.md lacks {row}");
    }
    for pass in Pass::ALL {
        let row = format!("| `{pass}` | {}", pass.reason());
        assert!(GUIDE.contains(&row), "docs/checks.md lacks {row}");
    }
    fn fields(value: &Value) {
        match value {
            Value::Object(object) => object.iter().for_each(|(name, value)| {
                let named = GUIDE.contains(&format!("`{name}`"));
                assert!(named, "docs/checks.md lacks {name}");
                fields(value);
            }),
            Value::Array(values) => values.iter().for_each(fields),
            _ => {}
        }
    }
    fields(&report(&example()));
}
