//! A [`BenchTable`] as text, CSV, JSON or an SVG chart, with one file for each format; a
//! [`ProverTable`]; the tables of promises, [`drdp`]; that of checkers of graphs, [`zipper`]; and
//! those of detectors on several threads, [`fastracer`]. This file formats numbers for people.

mod breakdown;
mod csv;
pub mod drdp;
pub mod fastracer;
mod grid;
mod json;
mod prover;
mod svg;
pub mod table;
mod text;
pub mod zipper;

use crate::bench::table::{BenchTable, ProverTable, Target, Unit};
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a person at a terminal.
    Text,
    /// For spreadsheets: a line for each program.
    Csv,
    /// For scripts.
    Json,
    /// A chart of the slowdowns.
    Svg,
}

/// Writes the whole table, with a newline at its end.
pub fn write(table: &BenchTable, format: Format, out: &mut dyn io::Write) -> io::Result<()> {
    let text = match format {
        Format::Text => text::render(table),
        Format::Csv => csv::render(table),
        Format::Json => json::render(table)?,
        Format::Svg => svg::render(table),
    };
    out.write_all(text.as_bytes())
}

/// Writes the whole table of the prover. SVG gives an error of kind `Unsupported`: there is no
/// chart.
pub fn write_prover(
    table: &ProverTable,
    format: Format,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let text = match format {
        Format::Text => prover::text(table),
        Format::Csv => prover::csv(table),
        Format::Json => prover::json(table)?,
        Format::Svg => return Err(io::ErrorKind::Unsupported.into()),
    };
    out.write_all(text.as_bytes())
}

/// `2.41x`.
fn times(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

/// A time with three digits, in the unit that suits: `213 ms`.
pub(crate) fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    format!("{} {unit}", three_digits(value))
}

/// `81.2 MiB`.
fn bytes(bytes: f64) -> String {
    let (value, unit) = match bytes {
        b if b >= GIB => (b / GIB, "GiB"),
        b if b >= MIB => (b / MIB, "MiB"),
        b => (b / 1024.0, "KiB"),
    };
    format!("{} {unit}", three_digits(value))
}

const MIB: f64 = (1_u64 << 20) as f64;
const GIB: f64 = (1_u64 << 30) as f64;

/// At least three digits, without needless ones after the point.
fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// `12,500,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value of a target.
fn quantity(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Times => times(value),
        Unit::Seconds => seconds(value),
        Unit::Bytes => bytes(value),
        Unit::Number => format!("{value:.2}"),
    }
}

/// `met`, or how far the target is missed.
fn judgement(target: &Target) -> String {
    if target.met() {
        return "met".to_owned();
    }
    let by = quantity(target.unit, target.measured - target.limit);
    let percent = (target.measured / target.limit - 1.0) * 100.0;
    format!("missed by {by}, {percent:.0} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(times(2.414), "2.41x");
        assert_eq!(seconds(15.24), "15.2 s");
        assert_eq!(seconds(0.2131), "213 ms");
        assert_eq!(seconds(0.00001234), "12.3 µs");
        assert_eq!(bytes(1536.0), "1.50 KiB");
        assert_eq!(bytes(2.5 * GIB), "2.50 GiB");
        assert_eq!(grouped(12_500_000), "12,500,000");
        assert_eq!(grouped(100), "100");
        assert_eq!(grouped(1000), "1,000");
    }

    #[test]
    fn a_target_at_its_limit_is_met() {
        let target = |measured| Target {
            key: "k",
            what: "w",
            unit: Unit::Times,
            limit: 2.5,
            measured,
            program: None,
        };
        assert_eq!(judgement(&target(2.5)), "met");
        assert_eq!(judgement(&target(3.0)), "missed by 0.50x, 20 %");
    }
}
