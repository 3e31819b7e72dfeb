//! The source with its accesses marked, for a person who wants to know which of them still cost
//! something.
//!
//! Accesses in the same line with the same fate share a line of marks below it: `^^^^` where a run
//! pays for checks, `----` where it does not. So the two differ without colours too. Places that
//! overlap, as in `A[B[i]]`, have lines of their own. The reasons stand once, at the end, each with
//! its number of accesses. The cost is linear in the source, except for lines with very many fates.

use crate::Style;
use crate::page::{BOLD, DIM, FRAME, GREEN, Page, RED, YELLOW};
use crate::words::count;
use anstyle::Style as Paint;
use finishline_answer::explain::{ExplainedAccess, Explanation, Fate, WRAPS};
use finishline_model::{AccessKind, Pass, Passes};

pub(super) fn render(explanation: &Explanation, style: Style) -> String {
    let mut page = Page::new(style);
    let program = page.clean(&explanation.program);
    let program = page.painted(BOLD, &program);
    page.line(&format!("{program} with --checks {}", explanation.passes));
    page.blank();
    listing(&mut page, explanation);
    page.blank();
    summary(&mut page, explanation);
    page.text
}

/// The spaces that stand for a tab.
const TAB: &str = "    ";

fn listing(page: &mut Page, explanation: &Explanation) {
    let numbers = explanation.source.lines().count().to_string().len();
    let bar = if page.style.unicode { "│" } else { "|" };
    let below = page.painted(FRAME, &format!("{:numbers$} {bar}", ""));
    let mut accesses = &explanation.accesses[..];
    let mut start = 0;
    for (number, line) in (1_usize..).zip(explanation.source.split_inclusive('\n')) {
        let shown = Shown::new(page, line.trim_end_matches(['\n', '\r']), start);
        start += line.len();
        let beside = page.painted(FRAME, &format!("{number:numbers$} {bar}"));
        page.line(&format!("{beside} {}", shown.text));
        let here = accesses.partition_point(|access| (access.site.start as usize) < start);
        for marks in marks(&accesses[..here], &shown) {
            let text = marks.render(page);
            page.line(&format!("{below} {text}"));
        }
        accesses = &accesses[here..];
    }
}

/// A line of the source as it is shown.
struct Shown {
    text: String,
    /// The offset of its start in the source, in bytes.
    start: usize,
    /// The column of each byte and of the end.
    columns: Vec<usize>,
}

impl Shown {
    fn new(page: &Page, line: &str, start: usize) -> Shown {
        let mut text = String::new();
        let mut columns = Vec::with_capacity(line.len() + 1);
        let mut column = 0;
        for character in line.chars() {
            columns.resize(columns.len() + character.len_utf8(), column);
            let shown = match character {
                '\t' => TAB.to_owned(),
                other => page.clean(other.encode_utf8(&mut [0; 4])),
            };
            column += shown.chars().count();
            text += &shown;
        }
        columns.push(column);
        Shown {
            text,
            start,
            columns,
        }
    }

    /// The columns of a place, as far as it is on this line. At least one.
    fn span(&self, access: &ExplainedAccess) -> Span {
        let column = |offset: u32| {
            let byte = (offset as usize).saturating_sub(self.start);
            self.columns[byte.min(self.columns.len() - 1)]
        };
        let (from, to) = (column(access.site.start), column(access.site.end));
        Span {
            from,
            to: to.max(from + 1),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
struct Span {
    from: usize,
    to: usize,
}

/// Accesses with the same fate that are marked on one line.
struct Marks<'a> {
    fate: Fate,
    by: Passes,
    spans: Vec<Span>,
    accesses: Vec<&'a ExplainedAccess>,
}

fn marks<'a>(accesses: &'a [ExplainedAccess], line: &Shown) -> Vec<Marks<'a>> {
    let mut rows: Vec<Marks> = Vec::new();
    for access in accesses {
        let span = line.span(access);
        let fits = |row: &Marks| {
            let last = row.spans.last();
            let free = last.is_none_or(|last| last.to < span.from || *last == span);
            free && row.fate == access.fate && row.by == access.by
        };
        let index = rows.iter().position(fits).unwrap_or(rows.len());
        if index == rows.len() {
            rows.push(Marks {
                fate: access.fate,
                by: access.by,
                spans: Vec::new(),
                accesses: Vec::new(),
            });
        }
        let row = &mut rows[index];
        row.accesses.push(access);
        if row.spans.last() != Some(&span) {
            row.spans.push(span);
        }
    }
    rows
}

impl Marks<'_> {
    /// `     ^^^^ read and write B[i]: kept`.
    fn render(&self, page: &Page) -> String {
        let mark = if self.fate.is_paid_for() { "^" } else { "-" };
        let mut drawn = String::new();
        let mut column = 0;
        for span in &self.spans {
            drawn += &" ".repeat(span.from - column);
            drawn += &mark.repeat(span.to - span.from);
            column = span.to;
        }
        let fate = self.fate.word();
        let passes: Vec<&str> = self.by.iter().map(Pass::name).collect();
        let outcome = match passes.is_empty() || self.fate == Fate::Unreachable {
            true => fate.to_owned(),
            false => format!("{fate} by {}", passes.join(", ")),
        };
        let what = page.clean(&self.what());
        page.painted(paint(self.fate), &format!("{drawn} {what}: {outcome}"))
    }

    /// `read and write B[i]` for one place, `1 write and 5 reads` for more.
    fn what(&self) -> String {
        if let [_] = self.spans[..] {
            let kinds: Vec<&str> = self.accesses.iter().map(|one| one.kind.word()).collect();
            return format!("{} {}", kinds.join(" and "), self.accesses[0].place);
        }
        let of_kind = |kind| {
            let with = self.accesses.iter().filter(|one| one.kind == kind);
            with.count() as u64
        };
        let writes = count(of_kind(AccessKind::Write), "write", "writes");
        let reads = count(of_kind(AccessKind::Read), "read", "reads");
        match (of_kind(AccessKind::Write), of_kind(AccessKind::Read)) {
            (0, _) => reads,
            (_, 0) => writes,
            _ => format!("{writes} and {reads}"),
        }
    }
}

fn paint(fate: Fate) -> Paint {
    match fate {
        Fate::Kept => RED,
        Fate::Partly | Fate::Moved | Fate::Merged => YELLOW,
        Fate::Removed => GREEN.dimmed(),
        Fate::Unreachable => DIM,
    }
}

/// The number of accesses with each fate, and the reasons.
fn summary(page: &mut Page, explanation: &Explanation) {
    let accesses = &explanation.accesses;
    let all = count(accesses.len() as u64, "shared access", "shared accesses");
    let paid = accesses.iter().filter(|access| access.fate.is_paid_for());
    let paid = match paid.count() {
        0 => "a run pays for none of them".to_owned(),
        paid => format!("a run pays for {paid}, marked ^"),
    };
    let all = page.painted(BOLD, &all);
    page.line(&format!("{all}, {paid}"));
    let numbers = accesses.len().to_string().len();
    for fate in Fate::ALL {
        let of_these = accesses.iter().filter(|access| access.fate == fate);
        let (number, meaning) = (explanation.count(fate), fate.meaning());
        if number == 0 {
            continue;
        }
        let word = page.painted(paint(fate), fate.word());
        page.line(&format!("  {number:numbers$} {word}: {meaning}"));
        if fate == Fate::Unreachable {
            continue;
        }
        let wrapping = of_these.clone().filter(|access| access.wraps).count();
        if wrapping > 0 && fate.is_paid_for() {
            page.line(&format!("    {wrapping:numbers$} {WRAPS}"));
        }
        for pass in Pass::ALL {
            let by = of_these.clone().filter(|access| access.by.contains(pass));
            let number = by.count();
            if number > 0 {
                let reason = pass.reason();
                page.line(&format!("    {number:numbers$} {pass}: {reason}"));
            }
        }
    }
}
