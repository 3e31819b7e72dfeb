//! Reports of native runs: snapshots of the text, JSON against its schema, SARIF against the rules
//! for the part in use.

use crate::json::{DAMAGES, SCHEMA, damaged};
use crate::sarif::{self, list};
use crate::text::check_snapshots;
use crate::{assert_valid, html, native_runs, validator};
use finishline_answer::answer::{NotRun, WhyNotRun};
use finishline_answer::exit_status::{exit_status, has_findings, suite_exit_status};
use finishline_answer::process::Limit;
use finishline_answer::task::JoinConstruct;
use finishline_answer::verdict::{Extent, Verdict};
use finishline_answer::{Answer, Suite};
use finishline_model::kinds::{ConflictClass, NativeTaskKind, WaitKind};
use finishline_report::{Format, Selection, Style, write, write_junit, write_suite, write_summary};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn render(run: &Answer, format: Format, style: Style) -> String {
    let mut out = Vec::new();
    write(run, format, Selection::default(), style, &mut out).expect("a Vec takes everything");
    String::from_utf8(out).expect("reports are UTF-8")
}

pub(crate) fn render_suite(suite: &Suite, format: Format, style: Style) -> String {
    let mut out = Vec::new();
    write_suite(suite, format, style, &mut out).expect("a Vec takes everything");
    String::from_utf8(out).expect("reports are UTF-8")
}

pub(crate) fn value(text: &str) -> Value {
    serde_json::from_str(text).expect("well-formed JSON")
}

fn report(run: &Answer, format: Format) -> Value {
    value(&render(run, format, Style::default()))
}

#[test]
fn snapshots() {
    for (name, run, _) in native_runs::all() {
        check_snapshots(name, |style| render(&run, Format::Text, style));
    }
    let suite = native_runs::suite();
    check_snapshots("native-suite", |style| {
        render_suite(&suite, Format::Text, style)
    });
}

#[test]
fn a_race_reads_as_in_the_design() {
    let text = render(&native_runs::racy(), Format::Text, Style::default());
    let expected = "\
race: read and write of bytes 8..16 of hist::TABLE are not ordered
  ┌─ src/main.rs:10:5   (1) read of 8 bytes
  │      cell.write(cell.read() + 1);
  │    task main › for_each at src/main.rs:17:14, halves left, left, left
  │      core::ptr::write
  │      hist::bump at src/main.rs:10:5
  │      … 3 frames of rayon, std
  │      hist::fill at src/main.rs:17:14
  │      helper::run
  │      hist::main at src/main.rs:60:5
  │      … 2 frames of std, system
  └─ src/main.rs:10:5   (2) write of 8 bytes
";
    assert!(text.starts_with(expected), "{text}");
    let why = "  why parallel: (1) and (2) are in two parts of the for_each at 17:14, and its parts are not ordered\n";
    assert!(text.contains(why), "{text}");
    assert!(
        text.contains("  hist::TABLE is a static of 32 bytes, defined at src/main.rs:6\n"),
        "{text}"
    );
    assert!(
        text.contains("  replay: cargo finishline run --bin hist -- 8\n"),
        "{text}"
    );
}

#[test]
fn why_names_the_join_that_comes_too_late() {
    let why = |run: &Answer, index: usize| {
        report(run, Format::Json)["races"][index]["why"]["text"].clone()
    };
    let late = "the task spawned at 20:9 is joined only by the end of the scope at 19:5, after (2)";
    assert_eq!(why(&native_runs::scope(), 1), late);
    assert_eq!(
        why(&native_runs::nameless(), 0),
        "the task spawned is joined by nothing but the end of the program"
    );
    let mut join = native_runs::racy();
    let reason = join.findings[0].why.as_mut().expect("a reason");
    reason.join.as_mut().expect("a join").construct = JoinConstruct::Operation("join".to_owned());
    assert_eq!(
        why(&join, 0),
        "the two halves of the join at 17:14 are not ordered"
    );
}

#[test]
fn every_kind_of_run_has_its_exit_status() {
    for (name, run, expected) in native_runs::all() {
        assert_eq!(exit_status(&run), expected, "{name}");
        assert_eq!(
            report(&run, Format::Json)["exit_status"],
            expected,
            "{name}"
        );
    }
    // Found, but not listed.
    let unlisted = Answer {
        distinct: 1,
        ..native_runs::certified()
    };
    assert_eq!(exit_status(&unlisted), 66);
}

/// The program's own exit status is used if there is nothing else to report.
#[test]
fn a_program_keeps_its_own_exit_status() {
    use native_runs::{certified, failed, idle, racy};
    let ending = |status: u8, mut run: Answer| {
        native_runs::process(&mut run).status = status;
        run
    };
    assert_eq!(exit_status(&ending(5, certified())), 5);
    assert_eq!(exit_status(&ending(5, idle())), 4);
    assert_eq!(exit_status(&ending(101, failed())), 3);
    assert_eq!(exit_status(&ending(5, racy())), 66);
    assert!(has_findings(&racy()));
    assert!(!has_findings(&ending(66, certified())));
    let suite = Suite {
        answers: vec![certified(), ending(5, certified()), ending(7, idle())],
        ..Suite::default()
    };
    assert_eq!(suite_exit_status(&suite), 5);
    let text = render_suite(&suite, Format::Text, Style::default());
    assert_eq!(
        text,
        "summary: 3 processes: 2 certified, 1 with nothing parallel\n"
    );
}

#[test]
fn what_is_waited_for_is_told() {
    let text = |what: WaitKind| {
        let mut run = native_runs::stopped();
        let stopped = &mut native_runs::process(&mut run).stopped;
        stopped.as_mut().expect("stopped").what = what;
        let text = render(&run, Format::Text, Style::default());
        text.lines().next().expect("a line").to_owned()
    };
    let at = "src/main.rs:40:9";
    for (what, expected) in [
        (
            WaitKind::Futex,
            format!("stopped: a task waits in vain for a lock, a message or a signal at {at}"),
        ),
        (
            WaitKind::Spin,
            format!("stopped: a task spins in vain, or searches without end, at {at}"),
        ),
        (
            WaitKind::Join,
            format!("stopped: a task waits in vain for the end of a thread at {at}"),
        ),
        (
            WaitKind::Creator,
            format!(
                "stopped: a thread waits at {at} for another one that can't go on before it does"
            ),
        ),
    ] {
        assert_eq!(text(what), expected);
    }
}

/// Whatever was counted: who sees a pair in the report expects the status of a race.
#[test]
fn every_listed_pair_counts() {
    let mut run = native_runs::racy();
    run.distinct = 0;
    assert!(!run.findings.is_empty());
    assert_eq!(exit_status(&run), 66);
}

#[test]
fn a_suite_ends_as_its_worst_process() {
    use native_runs::{certified, failed, idle, racy, stopped, suppressed};
    let failing_idle = || {
        let mut run = failed();
        native_runs::process(&mut run).extent = Extent::Nothing;
        native_runs::process(&mut run).because = Some(Limit::NothingParallel);
        run
    };
    let ending_with = |status| {
        let mut run = certified();
        native_runs::process(&mut run).status = status;
        run
    };
    for (answers, expected) in [
        (vec![], 4),
        (vec![idle()], 4),
        (vec![idle(), certified()], 0),
        (vec![certified(), suppressed()], 0),
        (vec![certified(), stopped()], 4),
        (vec![stopped(), failed()], 3),
        (vec![failed(), racy(), stopped()], 66),
        (vec![failing_idle()], 3),
        // What was found outranks what a program ends with.
        (vec![ending_with(7)], 7),
        (vec![ending_with(7), stopped()], 4),
        (vec![ending_with(7), racy()], 66),
    ] {
        let suite = Suite {
            answers,
            ..Suite::default()
        };
        assert_eq!(suite_exit_status(&suite), expected, "{suite:#?}");
    }
}

/// The cases of a document, each with its element for what is wrong.
fn cases(junit: &str) -> Vec<(String, String)> {
    let cases = junit.split("<testcase ").skip(1);
    let cases = cases.map(|case| {
        let name = case
            .split("name=\"")
            .nth(2)
            .and_then(|rest| rest.split('"').next());
        let (_, wrong) = case.split_once("</properties>\n").unwrap_or(("", case));
        let wrong = wrong.trim_start().trim_start_matches(['<', '/']);
        let wrong = wrong.split([' ', '>']).next().unwrap_or_default();
        (name.unwrap_or_default().to_owned(), wrong.to_owned())
    });
    cases.collect()
}

#[test]
fn junit_has_a_case_for_each_test() {
    let junit = |suite: &Suite| {
        let mut out = Vec::new();
        write_junit(suite, &mut out).expect("a Vec takes everything");
        String::from_utf8(out).expect("reports are UTF-8")
    };
    let suite = native_runs::suite();
    let document = junit(&suite);
    let all = "<testsuites name=\"cargo finishline test\" tests=\"7\" failures=\"2\" errors=\"1\" \
               skipped=\"1\">\n<testsuite ";
    assert!(document.contains(all), "{document}");
    let cases = cases(&document);
    let cases: Vec<(&str, &str)> = cases
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let expected = [
        ("tests::clean", "testcase"),
        ("tests::idle", "testcase"),
        ("tests::bumps", "failure"),
        ("tests::waits", "error"),
        ("tests::sums_up", "failure"),
        ("tests::accepted", "testcase"),
    ];
    assert_eq!(cases[..6], expected);
    let skipped = "name=\"tests::slow\">\n<skipped message=\"ignored\"/>\n";
    assert!(document.contains(skipped), "{document}");
    for shown in [
        "<failure type=\"race\" message=\"read and write of bytes 8..16 of hist::TABLE are not ordered\">race: read",
        "<property name=\"verdict\" value=\"certified\"/>",
        "<property name=\"note\" value=\"3 doc tests were not run\"/>",
    ] {
        assert!(document.contains(shown), "{shown} in {document}");
    }
    // Hostile names, and characters that XML does not have.
    let mut hostile = native_runs::hostile();
    native_runs::process(&mut hostile).test = Some("a\"<&>\u{1b}\u{ffff}".to_owned());
    let document = junit(&Suite {
        answers: vec![hostile],
        ..Suite::default()
    });
    assert!(
        document.contains("&quot;&lt;&amp;&gt;\\u{1b}\\u{ffff}\""),
        "{document}"
    );
    let strange = document.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(strange, None);
    // Without any test it is still a document.
    let empty = junit(&Suite::default());
    assert!(
        empty.contains("tests=\"0\"") && empty.ends_with("</testsuites>\n"),
        "{empty}"
    );
}

/// A result is new, or unchanged against the baseline, or there is no baseline.
#[test]
fn sarif_tells_known_races_from_new_ones() {
    let states = |answers: Vec<Answer>| {
        let suite = Suite {
            answers,
            ..Suite::default()
        };
        let log = value(&render_suite(&suite, Format::Sarif, Style::default()));
        let results = list(&log["runs"][0]["results"]);
        let states = results.iter().map(|result| result["baselineState"].clone());
        states.collect::<Vec<_>>()
    };
    let known = native_runs::known();
    assert_eq!(report(&known, Format::Json)["known_races"], 1);
    assert_eq!(
        states(vec![known.clone(), native_runs::racy()]),
        ["unchanged", "new"]
    );
    assert_eq!(states(vec![native_runs::racy()]), [Value::Null]);
    let both = vec![known, native_runs::suppressed()];
    assert_eq!(states(both), ["unchanged", "unchanged"]);
}

/// Of what was interrupted nothing is certified, whatever its tests did.
#[test]
fn an_interrupted_suite_establishes_nothing() {
    use native_runs::{certified, failed, racy};
    let not_run = |test: String| NotRun {
        program: "hist".to_owned(),
        test: Some(test),
        why: WhyNotRun::Interrupted,
    };
    let mut suite = Suite {
        answers: vec![certified(), certified()],
        not_run: (1..=22)
            .map(|number| not_run(format!("t{number}")))
            .collect(),
        interrupted: true,
        ..Suite::default()
    };
    let text = render_suite(&suite, Format::Text, Style::default());
    let summary = "summary: interrupted after 2 processes, nothing is established: \
                   2 without a finding\nnote: not run: t1, t2, ";
    assert!(text.starts_with(summary), "{text}");
    assert!(text.contains("t20, and 2 more, and what cargo"), "{text}");
    let json = value(&render_suite(&suite, Format::Json, Style::default()));
    assert_valid(&validator(SCHEMA), "interrupted", &json);
    assert_eq!(list(&json["not_run"]).len(), 22);
    for (more, expected) in [(vec![], 4), (vec![failed()], 3), (vec![racy()], 66)] {
        suite.answers.extend(more);
        assert_eq!(suite_exit_status(&suite), expected);
    }
    for format in [Format::Text, Format::Html] {
        let shown = render_suite(&suite, format, Style::default());
        let summary = shown
            .lines()
            .find(|line| line.contains("interrupted after"));
        assert!(
            !summary.expect("a summary").contains("certified"),
            "{shown}"
        );
    }
}

#[test]
fn every_json_report_satisfies_the_schema() {
    let validator = validator(SCHEMA);
    for (name, run, _) in native_runs::all() {
        assert_valid(&validator, name, &report(&run, Format::Json));
    }
    let suite = render_suite(&native_runs::suite(), Format::Json, Style::default());
    let suite = value(&suite);
    assert_valid(&validator, "suite", &suite);
    assert_eq!(
        suite["verdicts"],
        json!({"certified": 1, "race": 2, "trap": 1, "unknown": 2})
    );
    assert_eq!(list(&suite["reports"]).len(), 6);
}

#[test]
fn the_schema_rejects_every_missing_additional_or_ill_typed_field() {
    let validator = validator(SCHEMA);
    let reports = [
        report(&native_runs::scope(), Format::Json),
        report(&native_runs::determinacy(), Format::Json),
        report(&native_runs::stopped(), Format::Json),
        report(&native_runs::unseen(), Format::Json),
        report(&native_runs::failed(), Format::Json),
    ];
    for report in reports {
        for (kind, damage) in DAMAGES {
            for (place, broken) in damaged(&report, damage) {
                assert!(!validator.is_valid(&broken), "{kind} {place} is accepted");
            }
        }
    }
}

#[test]
fn the_schema_knows_exactly_the_words_of_the_model() {
    let schema = value(SCHEMA);
    let words = |pointer: &str| -> BTreeSet<String> {
        let words = list(schema.pointer(pointer).expect("an enum"));
        words
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let expected = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(
        words("/$defs/native_race/properties/class/enum"),
        expected(&ConflictClass::ALL.map(ConflictClass::word))
    );
    assert_eq!(
        words("/$defs/native/properties/because/oneOf/1/properties/kind/enum"),
        expected(&Limit::ALL.map(Limit::word))
    );
    let kinds = NativeTaskKind::all().filter(|kind| *kind != NativeTaskKind::Main);
    let kinds: Vec<&str> = kinds.map(NativeTaskKind::word).collect();
    assert_eq!(
        words(
            "/$defs/native_task/properties/creations/items/properties/parts/items/properties/kind/enum"
        ),
        expected(&kinds)
    );
}

#[test]
fn every_log_satisfies_the_schema_of_sarif() {
    let validator = validator(sarif::SCHEMA);
    for (name, run, status) in native_runs::all() {
        let log = report(&run, Format::Sarif);
        assert_valid(&validator, name, &log);
        let run = &log["runs"][0];
        assert_eq!(run["invocations"][0]["exitCode"], status, "{name}");
        let rules = list(&run["tool"]["driver"]["rules"]);
        for result in list(&run["results"]) {
            let index = result["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"], "{name}");
            assert_eq!(
                rules[index]["defaultConfiguration"]["level"], result["level"],
                "{name}"
            );
        }
    }
}

#[test]
fn a_log_of_many_processes_is_one_run_with_an_invocation_each() {
    let log = value(&render_suite(
        &native_runs::suite(),
        Format::Sarif,
        Style::default(),
    ));
    assert_valid(&validator(sarif::SCHEMA), "suite", &log);
    assert_eq!(list(&log["runs"]).len(), 1);
    let run = &log["runs"][0];
    let tests: Vec<_> = list(&run["invocations"])
        .iter()
        .map(|i| i["properties"]["test"].clone())
        .collect();
    assert_eq!(
        tests,
        [
            "tests::clean",
            "tests::idle",
            "tests::bumps",
            "tests::waits",
            "tests::sums_up",
            "tests::accepted"
        ]
    );
    let results: Vec<_> = list(&run["results"])
        .iter()
        .map(|result| {
            let suppressed = list(&result["suppressions"]).len();
            (
                result["ruleId"].clone(),
                result["provenance"]["invocationIndex"].clone(),
                suppressed,
            )
        })
        .collect();
    let expected = [
        ("race", 2, 0),
        ("stopped", 3, 0),
        ("program-failure", 4, 0),
        ("race", 5, 1),
    ];
    assert_eq!(
        results,
        expected.map(|(rule, index, n)| (json!(rule), json!(index), n))
    );
    assert_eq!(run["properties"]["exitStatus"], 66);
}

#[test]
fn a_result_has_both_stacks_and_the_way_of_both_tasks() {
    let log = report(&native_runs::scope(), Format::Sarif);
    let result = &log["runs"][0]["results"][1];
    let lines = |locations: &Value| -> Vec<Value> {
        let region =
            |holder: &Value| holder["location"]["physicalLocation"]["region"]["startLine"].clone();
        list(locations).iter().map(region).collect()
    };
    let stacks = list(&result["stacks"]);
    assert_eq!(stacks.len(), 3);
    assert_eq!(lines(&stacks[0]["frames"]), [9]);
    assert_eq!(lines(&stacks[2]["frames"]), [Value::Null, json!(18)]);
    let flows = list(&result["codeFlows"][0]["threadFlows"]);
    assert_eq!(lines(&flows[0]["locations"]), [20, 9]);
    assert_eq!(lines(&flows[1]["locations"]), [22]);
    let related = list(&result["relatedLocations"]).iter();
    let related: Vec<_> = related
        .map(|l| l["physicalLocation"]["region"]["startLine"].clone())
        .collect();
    // The second access, the spawn, the scope, the allocation.
    assert_eq!(related, [22, 20, 19, 18]);
}

#[test]
fn other_orders_are_of_use_where_tasks_rest_on_one() {
    let rests = |answer: &Answer| answer.rests_on_an_order();
    assert!(rests(&native_runs::synchronised()));
    assert!(!rests(&native_runs::certified()));
    assert!(!rests(&native_runs::unseen()));
    let mut threads = native_runs::threads();
    assert!(rests(&threads));
    let statistics = &mut native_runs::process(&mut threads).statistics;
    statistics.finishes = 1;
    statistics.tasks = 2 + statistics.threads;
    assert!(!rests(&threads), "threads alone take no other order");
    native_runs::process(&mut threads).statistics.tasks += 1;
    assert!(rests(&threads), "a task was spawned");
}

#[test]
fn what_holds_for_which_schedules_is_always_said() {
    for extent in Extent::ALL {
        let mut run = native_runs::certified();
        native_runs::process(&mut run).extent = extent;
        let guarantee = report(&run, Format::Json)["guarantee"].clone();
        let guarantee = guarantee.as_str().expect("a sentence");
        let divided = ", parallel iterators divided as far as they can be";
        let sentence = extent.guarantee().replace("{division}", divided);
        assert_eq!(guarantee, sentence);
        run.failure = Some(native_runs::failure("killed"));
        run.verdict = Verdict::Trap;
        let guarantee = report(&run, Format::Json)["guarantee"].clone();
        let expected = match extent {
            Extent::Nothing => sentence,
            _ => format!("up to where the run ended, {sentence}"),
        };
        assert_eq!(guarantee, expected);
    }
    assert_eq!(
        report(&native_runs::idle(), Format::Json)["guarantee"],
        "none"
    );
}

#[test]
fn no_control_character_reaches_a_terminal() {
    for style in [true, false] {
        let style = Style {
            color: false,
            unicode: style,
        };
        let text = render(&native_runs::hostile(), Format::Text, style);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
        assert!(style.unicode || text.is_ascii(), "{text}");
    }
}

#[test]
fn a_summary_counts_and_names() {
    let mut out = Vec::new();
    write_summary(&native_runs::suite(), Style::default(), &mut out)
        .expect("a Vec takes everything");
    let expected = "\
summary: 6 processes: 1 certified, 2 race, 1 trap, 1 unknown, 1 with nothing parallel
  race: tests::bumps
  unknown: tests::waits
  trap: tests::sums_up
unsafe: parallel tasks reached 2 of 3 blocks; not seen in: src/main.rs:14:5
note: 3 doc tests were not run
";
    assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
}

fn page(run: &Answer) -> String {
    render(run, Format::Html, Style::default())
}

/// Each piece of code is listed once, with the first process that reached it.
#[test]
fn a_suite_has_one_list_of_unsafe_code() {
    let suite = native_runs::suite();
    let all = value(&render_suite(&suite, Format::Json, Style::default()));
    let code = all["unsafe_code"].as_array().expect("a list").iter();
    let code: Vec<Value> = code
        .map(|it| {
            json!([
                it["place"]["line"],
                it["reached"],
                it["processes"],
                it["first"]
            ])
        })
        .collect();
    let expected = [
        json!([10, true, 1, "tests::bumps"]),
        json!([12, true, 2, "tests::clean"]),
        json!([14, false, 0, null]),
    ];
    assert_eq!(code, expected);
    for report in all["reports"].as_array().expect("reports") {
        assert_eq!(report["unsafe_code"], Value::Null);
    }
    let page = render_suite(&suite, Format::Html, Style::default());
    for shown in [
        "<td>reached by tests::bumps</td>",
        "<td>reached by tests::clean and 1 more</td>",
        "src/main.rs:14:5</span></td><td></td>",
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
}

/// Where nothing was parallel, nothing can have been reached.
#[test]
fn an_idle_process_is_not_asked_for_its_unsafe_code() {
    let mut idle = native_runs::idle();
    let code = native_runs::process(&mut native_runs::unsafe_code())
        .unsafe_code
        .take();
    native_runs::process(&mut idle).unsafe_code = code;
    let text = render(&idle, Format::Text, Style::default());
    assert!(!text.contains("unsafe"), "{text}");
    assert!(!page(&idle).contains("Unsafe code"));
}

#[test]
fn pages_are_sound() {
    for (name, run, _) in native_runs::all() {
        let page = page(&run);
        html::assert_well_formed(name, &page);
        html::assert_self_contained(name, &page);
        html::assert_escaped(name, &page);
    }
    let suite = render_suite(&native_runs::suite(), Format::Html, Style::default());
    html::assert_well_formed("suite", &suite);
    html::assert_self_contained("suite", &suite);
}

#[test]
fn a_page_has_accesses_stacks_tasks_and_the_join() {
    let page = page(&native_runs::scope());
    for expected in [
        "<header class=\"bad\">\n<h1>race <code>target/finishline/debug/hist 8</code></h1>",
        "<span class=\"kind\">write of 1 byte</span> <code>block[64] = 1;</code> \
         <span class=\"place\">src/main.rs:9:5 in hist::fill</span>",
        "<li>hist::fill at src/main.rs:17:14</li>",
        "<dt>why parallel</dt><dd>the task spawned at 20:9 is joined only by the end of the scope",
        "<dt>object</dt><dd>the block was allocated in hist::main at src/main.rs:18:17",
        ">spawn@20</text>",
        ">the end of the scope comes too late</text>",
        "and 3 more distinct pairs",
        "<code>cargo finishline run --bin hist -- 8</code>",
    ] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
    let stopped = self::page(&native_runs::stopped());
    assert!(stopped.contains("<span class=\"tag\">stopped</span> a task spins in vain"));
    let unseen = self::page(&native_runs::unseen());
    assert!(unseen.contains("<dt>unseen</dt><dd>fetch_max at src/main.rs:70:9"));
}

#[test]
fn a_page_of_many_processes_tells_all_verdicts_and_shows_what_is_noteworthy() {
    let page = render_suite(&native_runs::suite(), Format::Html, Style::default());
    for expected in [
        "<header class=\"bad\">\n<h1>6 processes: 1 certified, 2 race,",
        "<dt>note</dt><dd>3 doc tests were not run</dd>",
        "<td><span class=\"tag\">certified</span></td><td>tests::clean</td>",
        "<td>ignored</td><td>tests::slow</td><td>hist</td>",
        "<a href=\"#process-2\">tests::bumps</a>",
        "<h2 class=\"name\" id=\"process-2\">tests::bumps</h2>",
        "<h2 class=\"name\" id=\"process-3\">tests::waits</h2>",
        "<h2 class=\"name\" id=\"process-4\">tests::sums_up</h2>",
    ] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
    assert!(!page.contains("id=\"process-0\""), "{page}");
}
