//! The picture on a page of its own, with search and zoom. It loads nothing from elsewhere; its one
//! script is a literal of this crate.
//!
//! Invariant: text reaches the page only through [`escape`] or as a literal.

use super::drawing;
use super::svg::{STYLE, content, markers, tone};
use super::{View, words};
use crate::html::escape;
use crate::words::finding as pair;
use finishline_answer::finding::Finding;
use finishline_answer::picture::Picture;

const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn page(picture: &Picture, view: View) -> String {
    let drawing = drawing::draw(picture, view);
    let title = escape(&words::title(picture));
    let notes = words::notes(picture).into_iter();
    let notes = notes.map(|note| format!("<p>{}</p>\n", escape(&note)));
    let races: String = (picture.answer.findings.iter().zip(&picture.races))
        .map(|(finding, nodes)| race(finding, *nodes))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n\
         <div class=\"tools\">\n\
         <input id=\"search\" type=\"search\" placeholder=\"search: x, async, @12\" \
         aria-label=\"search nodes\">\n\
         <span id=\"found\" aria-live=\"polite\"></span>\n\
         <button id=\"out\" aria-label=\"smaller\">−</button>\n\
         <button id=\"in\" aria-label=\"larger\">+</button>\n\
         <button id=\"fit\">fit</button>\n</div>\n\
         <div class=\"notes\">\n{notes}</div>\n<ul class=\"races\">\n{races}</ul>\n</header>\n\
         <svg id=\"picture\" role=\"img\" aria-label=\"{title}\" data-width=\"{width:.0}\" \
         data-height=\"{height:.0}\">\n{markers}<g id=\"content\">\n{content}</g>\n</svg>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        notes = notes.collect::<String>(),
        width = drawing.size.x,
        height = drawing.size.y,
        content = content(&drawing),
        markers = markers(),
    )
}

fn race(finding: &Finding, nodes: Option<[usize; 2]>) -> String {
    let data = nodes.map(|[first, second]| format!(" data-nodes=\"{first} {second}\""));
    format!(
        "<li class=\"{}\"><button{}>{}</button></li>\n",
        tone(finding.rule),
        data.unwrap_or_default(),
        escape(&pair::message(finding)),
    )
}
