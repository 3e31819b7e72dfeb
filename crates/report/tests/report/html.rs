//! The HTML report: self-contained, well-formed, and nothing of the user's text is markup.

use crate::{render, summaries};
use finishline_answer::summary::Summary;
use finishline_report::{Format, Style};

fn page(summary: &Summary) -> String {
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
    let page = page.to_lowercase();
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
    // The paths are main.0.1.… both; let them part below the third creation.
    summary.races[0].second.task.creations[3].index = 7;
    summary.races[0].second.task.creations.truncate(5);
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
