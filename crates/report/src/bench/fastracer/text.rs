//! The tables for a person at a terminal.

use super::{
    DetectorColumn, FastRacerRow, FastRacerTable, Means, Missing, NoFigures, UnderDetector,
    threads_in_words,
};
use crate::bench::grid::Grid;
use crate::bench::text::{heading, maybe, not_measured, spread};
use crate::bench::{bytes, grouped, seconds, times};
use std::collections::BTreeSet;

pub(super) fn render(table: &FastRacerTable) -> String {
    let mut text = heading(
        "Figures 5 and 6 and Tables 1 and 2 of the FastRacer paper",
        table.size,
        table.rounds,
        table.optimised,
    );
    text += "times are wall-clock times; every detector makes all checks, unless the heading says default\n";
    if !table.programs.is_empty() {
        text += &format!("\nWithout checks\n\n{}", unchecked(table).render());
        text += "\naccesses are those that all checks are for; speedup is over 1 thread\n";
        // The figure of the paper is the one for all threads, so it comes first.
        for index in (0..table.threads.len()).rev() {
            let threads = threads_in_words(table.threads[index]);
            let grid = slowdowns(table, index).render();
            text += &format!("\nSlowdowns on {threads}\n\n{grid}");
        }
        text += "\na slowdown is over the run without checks on as many threads; a mean is over the programs that\n\
                 have figures\n";
        if has_paper_slowdown(table) {
            text += "paper is the paper's mean, on 16 threads\n";
        }
        if let [_, .., threads] = table.threads[..] {
            let grid = speedups(table).render();
            text += &format!("\nSpeedups of {threads} threads over 1, with checks\n\n{grid}");
        }
        let last = table.threads.len() - 1;
        let threads = threads_in_words(table.threads[last]);
        let grid = memory(table, last).render();
        text += &format!("\nMemory on {threads}\n\n{grid}");
        text +=
            "\nmemory is what the run added to the process; a ratio is to that without checks\n";
    }
    if !table.racy.is_empty() {
        text += &format!("\nLocations that race\n\n{}", races(table).render());
        text += "\nserial is finishline check on one thread; distinct are its races, as pairs of places in the source;\n\
                 paper is the number of races in the paper, on its input\n";
    }
    text += &reasons(table);
    text += &not_measured(&table.failures);
    text
}

/// A cell, or the word for why there is none.
fn cell<T>(value: &Result<T, NoFigures>, form: impl Fn(&T) -> String) -> String {
    match value {
        Ok(value) => form(value),
        Err(why) => why.kind.word().to_owned(),
    }
}

fn unchecked(table: &FastRacerTable) -> Grid {
    let mut heading: Vec<String> = ["program", "tasks", "accesses"].map(str::to_owned).into();
    for threads in &table.threads {
        heading.push(threads_in_words(*threads));
        if *threads > 1 {
            heading.extend(["speedup", "spread"].map(str::to_owned));
        }
    }
    heading.push("memory".to_owned());
    let mut grid = Grid::headed(&heading, &[0]);
    for row in &table.programs {
        let mut cells = vec![
            row.program.to_owned(),
            maybe(row.tasks, grouped),
            maybe(row.accesses, grouped),
        ];
        for (threads, on) in table.threads.iter().zip(&row.on) {
            cells.push(seconds(on.unchecked.seconds.median));
            if *threads > 1 {
                cells.extend([times(on.speedup.median), spread(&on.speedup)]);
            }
        }
        let last = row.on.last();
        cells.push(maybe(last, |on| bytes(on.unchecked.memory_bytes as f64)));
        grid.rows.push(cells);
    }
    grid
}

/// A grid with two cells for each column.
fn by_column(
    table: &FastRacerTable,
    second: &str,
    cells: impl Fn(&FastRacerRow, usize) -> [String; 2],
) -> Grid {
    let mut heading = vec!["program".to_owned()];
    for column in &table.columns {
        heading.extend([column.title.clone(), second.to_owned()]);
    }
    let mut grid = Grid::headed(&heading, &[0]);
    for row in &table.programs {
        let mut line = vec![row.program.to_owned()];
        line.extend((0..table.columns.len()).flat_map(|column| cells(row, column)));
        grid.rows.push(line);
    }
    grid.rule();
    grid
}

/// Adds a line about all programs to such a grid.
fn line(
    grid: &mut Grid,
    table: &FastRacerTable,
    what: &str,
    cells: impl Fn(&DetectorColumn) -> [String; 2],
) {
    let mut line = vec![what.to_owned()];
    line.extend(table.columns.iter().flat_map(cells));
    grid.rows.push(line);
}

fn has_paper_slowdown(table: &FastRacerTable) -> bool {
    let mut columns = table.columns.iter();
    columns.any(|column| column.paper_slowdown.is_some())
}

fn slowdowns(table: &FastRacerTable, threads: usize) -> Grid {
    let mut grid = by_column(table, "spread", |row, column| {
        let one = &row.on[threads].checked[column];
        [
            cell(one, |under| times(under.checked.slowdown.median)),
            one.as_ref()
                .map_or(String::new(), |under| spread(&under.checked.slowdown)),
        ]
    });
    line(&mut grid, table, "geometric mean", |column| {
        let form = |means: Means| times(means.slowdown.geometric_mean);
        let of = |means: Means| format!("of {}", means.programs);
        [
            maybe(column.means[threads], form),
            column.means[threads].map_or(String::new(), of),
        ]
    });
    line(&mut grid, table, "worst", |column| {
        let worst = column.means[threads].map(|means| means.slowdown.worst);
        [
            maybe(worst, |worst| times(worst.value)),
            worst.map_or(String::new(), |worst| worst.program.to_owned()),
        ]
    });
    // The paper has figures for many threads only.
    let all = threads + 1 == table.threads.len();
    if all && has_paper_slowdown(table) {
        line(&mut grid, table, "paper", |column| {
            [maybe(column.paper_slowdown, times), String::new()]
        });
    }
    grid
}

fn speedups(table: &FastRacerTable) -> Grid {
    let last = table.threads.len() - 1;
    let mut grid = by_column(table, "spread", |row, column| {
        let one = &row.on[last].checked[column];
        let known = one.as_ref().ok().and_then(|under| under.speedup);
        [
            cell(one, |under| {
                maybe(under.speedup, |speedup| times(speedup.median))
            }),
            known.map_or(String::new(), |speedup| spread(&speedup)),
        ]
    });
    line(&mut grid, table, "geometric mean", |column| {
        let speedup = column.means[last].and_then(|means| means.speedup);
        [maybe(speedup, times), String::new()]
    });
    grid
}

fn memory(table: &FastRacerTable, threads: usize) -> Grid {
    let ratio = |under: &UnderDetector| maybe(under.checked.memory_ratio, times);
    let of_paper = |under: &UnderDetector| {
        let paper = under.paper_memory_ratio;
        paper.map_or(String::new(), |paper| format!(" ({})", times(paper)))
    };
    let on = table.programs.iter().map(|row| &row.on[threads]);
    let mut known = on.flat_map(|on| on.checked.iter().flatten());
    let any_paper = known.any(|under| under.paper_memory_ratio.is_some());
    let ratio_heading = if any_paper { "ratio (paper)" } else { "ratio" };
    let mut grid = by_column(table, ratio_heading, |row, column| {
        let one = &row.on[threads].checked[column];
        [
            cell(one, |under| bytes(under.checked.cost.memory_bytes as f64)),
            one.as_ref().map_or(String::new(), |under| {
                format!("{}{}", ratio(under), of_paper(under))
            }),
        ]
    });
    line(&mut grid, table, "geometric mean", |column| {
        let means = column.means[threads].and_then(|means| means.memory_ratio);
        [String::new(), maybe(means, times)]
    });
    grid
}

fn races(table: &FastRacerTable) -> Grid {
    let mut heading = vec!["program".to_owned()];
    for column in &table.columns {
        let threads = table.threads.iter();
        heading
            .extend(threads.map(|count| format!("{}, {}", column.title, threads_in_words(*count))));
    }
    heading.extend(["serial", "distinct", "paper"].map(str::to_owned));
    let mut grid = Grid::headed(&heading, &[0]);
    for row in &table.racy {
        let mut cells = vec![row.program.to_owned()];
        for column in 0..table.columns.len() {
            let found = row.locations.iter().map(|on| &on[column]);
            cells.extend(found.map(|found| cell(found, |count| grouped(*count))));
        }
        cells.extend([
            cell(&row.serial, |races| grouped(races.locations)),
            cell(&row.serial, |races| grouped(races.distinct)),
            maybe(row.paper_races, grouped),
        ]);
        grid.rows.push(cells);
    }
    grid
}

/// The reasons behind the words that stand in place of figures, each once.
fn reasons(table: &FastRacerTable) -> String {
    let mut lines: Vec<String> = Vec::new();
    for row in &table.programs {
        for (threads, on) in table.threads.iter().zip(&row.on) {
            let found = on.checked.iter().map(|one| one.as_ref().err());
            lines.extend(reasons_of(table, row.program, *threads, found));
        }
    }
    for row in &table.racy {
        for (threads, on) in table.threads.iter().zip(&row.locations) {
            let found = on.iter().map(|one| one.as_ref().err());
            lines.extend(reasons_of(table, row.program, *threads, found));
        }
        let serial = row.serial.as_ref().err();
        lines.extend(serial.map(|why| format!("{}, serial: {}\n", row.program, why.message)));
    }
    let mut told = BTreeSet::new();
    lines.retain(|line| told.insert(line.clone()));
    match lines.is_empty() {
        true => String::new(),
        false => format!("\nWithout figures\n\n{}", lines.concat()),
    }
}

/// A line for each column that has no figure.
fn reasons_of<'a>(
    table: &FastRacerTable,
    program: &str,
    threads: usize,
    found: impl Iterator<Item = Option<&'a NoFigures>>,
) -> Vec<String> {
    let columns = table.columns.iter().zip(found);
    let missing = columns.filter_map(|(column, why)| Some((column, why?)));
    let line = |(column, why): (&DetectorColumn, &NoFigures)| {
        let (title, message) = (&column.title, &why.message);
        match why.kind {
            // That is so on any number of threads.
            Missing::Unsupported => format!("{program}, {title}: {message}\n"),
            _ => {
                let threads = threads_in_words(threads);
                format!("{program}, {title}, {threads}: {message}\n")
            }
        }
    };
    missing.map(line).collect()
}
