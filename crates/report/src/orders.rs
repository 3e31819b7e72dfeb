//! The orders of isolated blocks that were run, for the HTML page: a tree of the blocks that they
//! begin with, and two orders that end differently, side by side.

use crate::html::escape;
use crate::words;
use finishline_answer::answer::{Differing, Exploration, RunOrder};

/// Branches with more orders than this are closed at first.
const MOST_OPEN: usize = 24;
/// The most blocks of an order side by side.
const MOST_BLOCKS: usize = 60;

/// The tree of the orders. Nothing if none is to be shown.
pub(crate) fn tree(explored: &Exploration) -> Option<String> {
    if explored.shown.is_empty() {
        return None;
    }
    let orders: Vec<&RunOrder> = explored.shown.iter().collect();
    let mut html = String::from(
        "<p>Each word is the task that runs its next isolated block. Orders that begin alike share \
         a branch.</p>\n",
    );
    branches(&orders, 0, &mut html);
    Some(html)
}

/// The heading of the tree.
pub(crate) fn heading(explored: &Exploration) -> String {
    let shown = explored.shown.len() as u64;
    match shown < explored.orders {
        true => format!(
            "The first {shown} of {} orders that were run",
            explored.orders
        ),
        false => "The orders that were run".to_owned(),
    }
}

/// The orders from a block on, as a list. A branch ends where they part, so the lists are nested no
/// deeper than there are orders.
fn branches(orders: &[&RunOrder], from: usize, html: &mut String) {
    let mut groups: Vec<(Option<&String>, Vec<&RunOrder>)> = Vec::new();
    for order in orders {
        let next = order.tasks.get(from);
        match groups.iter_mut().find(|(task, _)| *task == next) {
            Some((_, group)) => group.push(order),
            None => groups.push((next, vec![order])),
        }
    }
    html.push_str("<ul class=\"orders\">\n");
    for (_, group) in groups {
        let end = (from..)
            .find(|place| {
                let next = group[0].tasks.get(*place);
                next.is_none() || group.iter().any(|order| order.tasks.get(*place) != next)
            })
            .unwrap_or(from);
        let words = escape(&group[0].tasks[from..end].join(" "));
        match group[..] {
            [order] => {
                let fault = order.fault.map_or_else(String::new, |fault| {
                    format!(" <span class=\"tag bad\">{}</span>", fault.word())
                });
                *html += &format!("<li><code>{words}</code>{fault}</li>\n");
            }
            _ => {
                let open = match group.len() <= MOST_OPEN {
                    true => " open",
                    false => "",
                };
                let count = group.len();
                *html += &format!(
                    "<li><details{open}><summary><code>{words}</code> {count} orders</summary>\n"
                );
                branches(&group, end, html);
                html.push_str("</details></li>\n");
            }
        }
    }
    html.push_str("</ul>\n");
}

/// Two orders that end differently.
pub(crate) fn side_by_side(differ: &Differing) -> String {
    let orders = differ.orders.each_ref().map(|it| blocks(&it.schedule));
    let [a, b] = &orders;
    let mut html = String::from("<div class=\"pair\">\n");
    for (state, mine, other) in [(&differ.orders[0], a, b), (&differ.orders[1], b, a)] {
        let (what, value) = (escape(&differ.what), escape(&state.value));
        html += &format!("<div>\n<h3>{what} = {value}</h3>\n<ol>\n");
        for (place, task) in mine.iter().enumerate().take(MOST_BLOCKS) {
            let task = escape(task);
            html += &match other.get(place) == mine.get(place) {
                true => format!("<li><code>{task}</code></li>\n"),
                false => format!("<li class=\"hit\"><code>{task}</code></li>\n"),
            };
        }
        html.push_str("</ol>\n");
        if mine.len() > MOST_BLOCKS {
            html += &format!("<p>and {} more</p>\n", mine.len() - MOST_BLOCKS);
        }
        html += &format!(
            "<p><code>--schedule '{}'</code></p>\n</div>\n",
            escape(&state.schedule)
        );
    }
    html.push_str("</div>\n");
    if let Some(decided) = words::decided_by(differ) {
        html += &format!("<p>Decided by {}.</p>\n", escape(&decided));
    }
    html
}

/// The task of each block of a written order.
fn blocks(schedule: &str) -> Vec<&str> {
    let words = schedule.split_whitespace();
    words
        .flat_map(|word| {
            let (task, times) = word.split_once('*').unwrap_or((word, "1"));
            std::iter::repeat_n(task, times.parse().unwrap_or(1).min(MOST_BLOCKS + 1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use finishline_answer::Verdict;

    fn order(tasks: &str, fault: Option<Verdict>) -> RunOrder {
        RunOrder {
            tasks: tasks.split_whitespace().map(str::to_owned).collect(),
            fault,
        }
    }

    #[test]
    fn orders_share_branches() {
        let explored = Exploration {
            orders: 3,
            shown: vec![
                order("0 1 2", None),
                order("0 1 main", None),
                order("2", Some(Verdict::Race)),
            ],
            ..Exploration::default()
        };
        let html = tree(&explored).expect("a tree");
        let lines: Vec<&str> = html
            .lines()
            .filter(|line| line.contains("<code>"))
            .collect();
        assert_eq!(
            lines,
            [
                "<li><details open><summary><code>0 1</code> 2 orders</summary>",
                "<li><code>2</code></li>",
                "<li><code>main</code></li>",
                "<li><code>2</code> <span class=\"tag bad\">race</span></li>",
            ]
        );
        assert_eq!(blocks("0*2 main"), ["0", "0", "main"]);
    }
}
