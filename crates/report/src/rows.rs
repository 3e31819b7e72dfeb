//! Accesses one below the other: the place, the access, and a detail of each, in aligned columns.

use crate::page::{FRAME, LINE, Page, fold};

pub(crate) struct Row {
    /// The text before the row, and before its second line if it needs one.
    pub(crate) lead: String,
    pub(crate) below: &'static str,
    pub(crate) position: String,
    pub(crate) what: String,
    /// The task that made the access, the values of counters, and the like.
    pub(crate) detail: String,
    /// What is said on a line of its own.
    pub(crate) further: Option<String>,
}

impl Page {
    /// The lines that connect the two accesses of a race: beside the first, below it, beside the
    /// second.
    pub(crate) fn frame(&self) -> [&'static str; 3] {
        match self.style.unicode {
            true => ["┌─", "│", "└─"],
            false => [",-", "|", "`-"],
        }
    }

    /// Rows with aligned columns. If one would be too long, all details go on lines of their own.
    /// If that is not enough, so do all accesses.
    pub(crate) fn rows(&mut self, rows: &[Row]) {
        let cleaned: Vec<[String; 3]> = rows
            .iter()
            .map(|row| [&row.position, &row.what, &row.detail].map(|text| self.clean(text)))
            .collect();
        let widest = |column: usize| {
            let widths = cleaned.iter().map(|texts| texts[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let (positions, whats, details) = (widest(0), widest(1), widest(2));
        let leads = rows
            .iter()
            .map(|row| row.lead.chars().count())
            .max()
            .unwrap_or(0);
        let access_fits = 2 + leads + 1 + positions + 3 + whats <= LINE;
        let detail_fits = 2 + leads + 1 + positions + 3 + whats + 4 + details <= LINE;
        for (row, [position, what, detail]) in rows.iter().zip(&cleaned) {
            let mut line = format!(
                "  {} {position:<positions$}",
                self.painted(FRAME, &row.lead)
            );
            let mut below = Vec::new();
            if access_fits {
                line += &format!("   {what:<whats$}");
            } else {
                below.push(what);
            }
            if detail_fits {
                line += &format!("    {detail}");
            } else {
                below.push(detail);
            }
            self.line(&line);
            let frame = self.painted(FRAME, &format!("{:<leads$}", row.below));
            let further = row.further.as_ref().map(|text| self.clean(text));
            let below = below.into_iter().chain(&further);
            for text in below.filter(|text| !text.is_empty()) {
                for (number, line) in fold(text, 2 + leads + 7).into_iter().enumerate() {
                    let inset = if number == 0 { "   " } else { "       " };
                    self.line(&format!("  {frame}{inset}{line}"));
                }
            }
        }
    }
}
