//! The HTML report is self-contained and well-formed, and no user text becomes markup.

use crate::{render, summaries};
use finishline_answer::Answer;
use finishline_answer::place::SourceLines;
use finishline_answer::task::Created;
use finishline_report::{Format, Style};

fn page(summary: &Answer) -> String {
    render(summary, Format::Html, Style::default())
}

pub(crate) fn assert_well_formed(name: &str, page: &str) {
    assert!(page.starts_with("<!doctype html>\n"), "{name}");
    let mut open = Vec::new();
    for tag in page
        .split('<')
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap_or_default())
    {
        let element = tag.split(' ').next().unwrap_or_default();
        match element.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{name}: {tag}"),
            None if ["!doctype", "meta"].contains(&element) => {}
            None => open.push(element),
        }
    }
    assert_eq!(open, Vec::<&str>::new(), "{name}");
}

pub(crate) fn assert_self_contained(name: &str, page: &str) {
    // A link to another part of the page loads nothing.
    let page = page.to_lowercase().replace(" href=\"#", " ");
    for forbidden in [
        "<script", "<link", "<img", "<iframe", " src=", " href=", "url(", "@import",
    ] {
        assert!(!page.contains(forbidden), "{name}: {forbidden}");
    }
}

pub(crate) fn assert_escaped(name: &str, page: &str) {
    let invisible = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!page.contains(invisible), "{name}");
}

#[test]
fn pages_are_well_formed_and_load_and_run_nothing() {
    for (name, summary) in summaries::all() {
        let page = page(&summary);
        assert_well_formed(name, &page);
        assert_self_contained(name, &page);
    }
}

#[test]
fn text_of_the_user_is_escaped() {
    let page = page(&summaries::hostile());
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;"));
    assert_escaped("hostile", &page);
}

#[test]
fn a_page_has_verdict_accesses_paths_and_reason() {
    let page = page(&summaries::racy());
    for expected in [
        "<header class=\"bad\">\n<h1>race <code>fig2.fin 1</code></h1>",
        "write and write to B[0] are not ordered",
        "<code>B[i] += i</code> <span class=\"place\">fig2.fin:10:17 in main</span>",
        "<code>B[i] = A[i]</code> <span class=\"place\">fig2.fin:14:38 in main</span>",
        "<span class=\"common\">main</span> › <span>async@14</span> › <span>async@14 (i = 0)</span>",
        "<dt>why parallel</dt><dd>async@9 was spawned at 9:13;",
        "B was allocated at fig2.fin:5:13",
        "<code>finishline check fig2.fin 1 --watch &#39;B[0]&#39;</code>",
        "<dt>guarantee</dt><dd>every schedule with this run&#39;s",
    ] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
}

#[test]
fn common_ancestors_are_told_apart_from_the_fork() {
    let mut summary = summaries::deep();
    // Both paths are main.0.1.…. Let them part below the third creation.
    let task = summary.findings[0].second.task.as_mut().expect("a task");
    let Created::One(creation) = &mut task.steps[3].created else {
        panic!("a task of Fin");
    };
    creation.index = 7;
    task.steps.truncate(5);
    let page = page(&summary);
    let path = page
        .split("class=\"path\"")
        .nth(2)
        .expect("the second path");
    let path = path.split("</div>").next().unwrap_or_default();
    assert_eq!(path.matches("class=\"common\"").count(), 1 + 3, "{path}");
    assert_eq!(path.matches("<span>").count(), 2, "{path}");
}

#[test]
fn shortened_lists_say_so() {
    let page = page(&summaries::truncated());
    assert!(page.contains("and 3 more distinct pairs"));
    assert!(page.contains("B[19], … and 980 more"));
    assert!(crate::html::page(&summaries::watched()).contains("… and 1000 more"));
}

#[test]
fn suppressed_races_are_counted_and_not_shown() {
    let page = page(&summaries::partly_suppressed());
    assert!(page.contains(
        "<dt>suppressed</dt><dd>3 more distinct races are suppressed by races.supp</dd>"
    ));
    assert!(page.contains("and 1 more distinct pair"));
    let page = crate::html::page(&summaries::all_suppressed());
    assert!(page.contains("<h1>race "));
    assert!(page.contains("<dd>the only distinct race is suppressed by a"));
    assert!(!page.contains("class=\"accesses\""));
}

/// The source of the paper's second figure, as far as its accesses.
const FIG2: &str = "fn main(size: int) {
    let A = new int[size + 2];


    let B = new int[size + 2];

    finish {
        for i in 0..size {
            async {
                B[i] += i;
            }
            finish {
                async {
\t\t\t\t\tasync { B[i] = A[i]; }
                }
            }
        }
    }
}
";

#[test]
fn an_access_is_marked_in_the_lines_around_it() {
    let mut answer = summaries::racy();
    answer.lines = SourceLines::of_file("fig2.fin", FIG2);
    let page = page(&answer);
    let expected = "\
<pre class=\"excerpt\"><span><i> 8</i> for i in 0..size {</span>
<span><i> 9</i>     async {</span>
<span class=\"hit\"><i>10</i>         <mark>B[i] += i</mark>;</span>
<span><i>11</i>     }</span>
<span><i>12</i>     finish {</span>
</pre>";
    assert!(page.contains(expected), "{page}");
    assert_eq!(page.matches("class=\"hit\"").count(), 2);
    // A place that the file does not have is not invented.
    answer.lines = SourceLines::of_file("fig2.fin", "one line");
    assert!(!self::page(&answer).contains("excerpt\">"));
}

#[test]
fn the_tasks_are_drawn_as_a_tree_that_ends_with_the_join() {
    let page = page(&summaries::racy());
    let drawing = page.split("<svg").nth(1).expect("a drawing");
    let drawing = drawing.split("</svg>").next().unwrap_or_default();
    let texts: Vec<&str> = drawing
        .split("</text>")
        .filter_map(|before| before.rsplit('>').next())
        .filter(|text| !text.trim().is_empty())
        .collect();
    assert_eq!(
        texts,
        [
            "main",
            "async@9 (i = 0)",
            "(1) write B[i] += i",
            "async@14 (i = 0)",
            "async@14 (i = 0)",
            "(2) write B[i] = A[i]",
            "the end of finish@7 comes too late",
        ]
    );
    assert_eq!(drawing.matches("class=\"late\"").count(), 1);
    assert_eq!(drawing.matches("class=\"edge\"").count(), 5);
    let failed = self::page(&summaries::race_then_failed());
    assert!(failed.contains(">no join</text>"), "{failed}");
    let deep = self::page(&summaries::deep());
    assert!(deep.contains("more …</text>"), "{deep}");
}
