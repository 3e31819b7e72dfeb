//! The tables for a person at a terminal.

use super::{DrdpTable, Ours, Twin};
use crate::bench::grid::Grid;
use crate::bench::text::{heading, maybe, not_measured, spread, targets};
use crate::bench::{bytes, grouped, seconds, times};

pub(super) fn render(table: &DrdpTable) -> String {
    let mut text = heading(
        "Tables 2 to 5 of the DRDP paper",
        table.size,
        table.rounds,
        table.optimised,
    );
    if !table.programs.is_empty() {
        text += &format!("\nTable 2: slowdowns\n\n{}", slowdowns(table).render());
        text += "\nunder drdp the default checks are made; paper is the paper's slowdown, at its own size\n";
        text += &format!("\nTable 2: memory\n\n{}", memory(table).render());
        text +=
            "\nmemory is what the run added to the process; a ratio is to that without checks\n";
        text += &format!("\nTable 2: what DRDP counts\n\n{}", counts(table).render());
        for row in &table.programs {
            if let Err(why) = &row.drdp {
                text += &format!("{} under drdp: {why}\n", row.program);
            }
        }
        text += &format!(
            "\nTable 4: redundant checks\n\n{}",
            redundant(table).render()
        );
        text += "\nquestions are those about order that no limit answered; each takes so many comparisons of two steps\n";
    }
    if !table.traversals.is_empty() {
        text += &format!(
            "\nTable 3: tasks that a walk of DRDP visits\n\n{}",
            traversals(table).render()
        );
    }
    text += "\nTable 5: matmul beside ThreadSanitizer";
    text += &match &table.twin {
        Twin::Missing(why) => format!("\n\nnot measured: {why}\n"),
        Twin::Measured { arguments, .. } => {
            format!(", {arguments}\n\n{}", twin(table).render())
        }
    };
    if !table.targets.is_empty() {
        let of = match (table.programs.len(), table.suite) {
            (all, suite) if all == suite => String::new(),
            (some, suite) => format!(", of {some} of the {suite} programs"),
        };
        text += &format!("\nTargets{of}\n\n{}", targets(&table.targets).render());
    }
    text += &not_measured(&table.failures);
    text
}

fn slowdowns(table: &DrdpTable) -> Grid {
    let heading = [
        "program",
        "arguments",
        "tasks",
        "time",
        "all checks",
        "spread",
        "default",
        "spread",
        "drdp",
        "paper",
    ];
    let mut grid = Grid::headed(&heading, &[0, 1]);
    for row in &table.programs {
        let mut cells = vec![
            row.program.to_owned(),
            row.arguments.clone(),
            grouped(row.tasks),
            seconds(row.baseline.seconds.median),
        ];
        for Ours { checked, .. } in [&row.all_checks, &row.default] {
            cells.extend([times(checked.slowdown.median), spread(&checked.slowdown)]);
        }
        let drdp = row.drdp.as_ref().ok();
        cells.push(maybe(drdp, |drdp| times(drdp.checked.slowdown.median)));
        cells.push(times(row.paper_slowdown));
        grid.rows.push(cells);
    }
    if let Some(overall) = &table.overall {
        grid.rule();
        let mut mean: Vec<String> = ["geometric mean", "", "", ""].map(str::to_owned).into();
        let mut worst: Vec<String> = ["worst", "", "", ""].map(str::to_owned).into();
        for one in overall {
            mean.extend([times(one.geometric_mean), String::new()]);
            worst.extend([times(one.worst.value), one.worst.program.to_owned()]);
        }
        grid.rows.extend([mean, worst]);
    }
    grid
}

fn memory(table: &DrdpTable) -> Grid {
    let heading = [
        "program",
        "memory",
        "all checks",
        "ratio",
        "default",
        "ratio",
        "drdp",
        "ratio",
        "paper",
    ];
    let mut grid = Grid::headed(&heading, &[0]);
    for row in &table.programs {
        let mut cells = vec![
            row.program.to_owned(),
            bytes(row.baseline.memory_bytes as f64),
        ];
        let drdp = row.drdp.as_ref().ok().map(|drdp| &drdp.checked);
        for checked in [
            Some(&row.all_checks.checked),
            Some(&row.default.checked),
            drdp,
        ] {
            cells.push(maybe(checked, |one| bytes(one.cost.memory_bytes as f64)));
            cells.push(maybe(checked.and_then(|one| one.memory_ratio), times));
        }
        cells.push(times(row.paper_memory_ratio));
        grid.rows.push(cells);
    }
    grid
}

fn counts(table: &DrdpTable) -> Grid {
    let heading = [
        "program",
        "height",
        "write checks",
        "read checks",
        "tree joins",
        "non-tree joins",
    ];
    let mut grid = Grid::headed(&heading, &[0]);
    for row in &table.programs {
        let drdp = row.drdp.as_ref().ok();
        let mut cells = vec![row.program.to_owned()];
        cells.push(maybe(drdp, |drdp| drdp.height.to_string()));
        let figures = drdp.map(|drdp| {
            [
                drdp.writes,
                drdp.reads,
                drdp.tree_joins,
                drdp.non_tree_joins,
            ]
        });
        for index in 0..4 {
            cells.push(maybe(figures, |figures| grouped(figures[index])));
        }
        grid.rows.push(cells);
    }
    grid
}

fn redundant(table: &DrdpTable) -> Grid {
    let heading = [
        "program",
        "checks",
        "time",
        "memory",
        "single",
        "ranges",
        "in ranges",
        "questions",
        "comparisons each",
    ];
    let mut grid = Grid::headed(&heading, &[0, 1]);
    for row in &table.programs {
        for (which, ours) in [("all", &row.all_checks), ("default", &row.default)] {
            let made = ours.checked.made;
            grid.rows.push(vec![
                row.program.to_owned(),
                which.to_owned(),
                seconds(ours.checked.cost.seconds.median),
                bytes(ours.checked.cost.memory_bytes as f64),
                grouped(made.single),
                grouped(made.ranges),
                grouped(made.in_ranges),
                grouped(ours.questions),
                maybe(ours.comparisons_each(), |each| format!("{each:.2}")),
            ]);
        }
    }
    grid
}

fn traversals(table: &DrdpTable) -> Grid {
    let heading = [
        "program",
        "arguments",
        "order",
        "walks",
        "least",
        "most",
        "average",
        "paper",
    ];
    let mut grid = Grid::headed(&heading, &[0, 1, 2]);
    for row in &table.traversals {
        grid.rows.push(vec![
            row.program.to_owned(),
            row.arguments.clone(),
            row.traversal.to_owned(),
            grouped(row.walks),
            grouped(row.least),
            grouped(row.most),
            format!("{:.2}", row.average),
            format!("{:.2}", row.paper_average),
        ]);
    }
    grid
}

fn twin(table: &DrdpTable) -> Grid {
    let heading = [
        "tool",
        "time",
        "memory",
        "slowdown",
        "spread",
        "memory ratio",
    ];
    let mut grid = Grid::headed(&heading, &[0]);
    let Twin::Measured { rows, .. } = &table.twin else {
        return grid;
    };
    for row in rows {
        grid.rows.push(vec![
            row.tool.to_owned(),
            seconds(row.seconds.median),
            bytes(row.memory_bytes as f64),
            maybe(row.slowdown, |slowdown| times(slowdown.median)),
            maybe(row.slowdown, |slowdown| spread(&slowdown)),
            maybe(row.memory_ratio, times),
        ]);
    }
    grid
}
