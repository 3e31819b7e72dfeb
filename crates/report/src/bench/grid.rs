//! A table of text with aligned columns and lines between some rows.

/// Cells in columns. A column is as wide as its widest cell.
pub(super) struct Grid {
    pub(super) rows: Vec<Vec<String>>,
    /// Rows above which a line is drawn.
    pub(super) rules: Vec<usize>,
    /// The columns of words. Numbers are aligned to the right.
    pub(super) flush_left: &'static [usize],
}

impl Default for Grid {
    fn default() -> Self {
        Grid {
            rows: Vec::new(),
            rules: Vec::new(),
            flush_left: &[0],
        }
    }
}

impl Grid {
    /// A grid with a row of headings and a line below it.
    pub(super) fn headed<S: AsRef<str>>(heading: &[S], flush_left: &'static [usize]) -> Grid {
        let heading = heading.iter().map(|cell| cell.as_ref().to_owned());
        Grid {
            rows: vec![heading.collect()],
            rules: vec![1],
            flush_left,
        }
    }

    /// Draws a line below the rows so far.
    pub(super) fn rule(&mut self) {
        self.rules.push(self.rows.len());
    }

    pub(super) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let total = widths.iter().sum::<usize>() + GAP.len() * columns.saturating_sub(1);
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            if self.rules.contains(&index) {
                text += &"-".repeat(total);
                text.push('\n');
            }
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column > 0 {
                    line += GAP;
                }
                line += &match self.flush_left.contains(&column) {
                    true => format!("{cell:<width$}"),
                    false => format!("{cell:>width$}"),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// The gap between columns.
const GAP: &str = "  ";
