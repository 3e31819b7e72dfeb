//! Phrases about deadlocks. Tasks are numbered as a report lists them, from 1.

use super::position_in;
use finishline_answer::answer::{Failure, FailurePoint, Tasks, WaitsFor};
use finishline_answer::{Location, Place};

/// Every task of a failure, in the order of their numbers.
pub(crate) fn points(failure: &Failure) -> impl Iterator<Item = &FailurePoint> {
    failure.at.iter().chain(&failure.waiting)
}

/// `(2)`.
pub(crate) fn number(index: usize) -> String {
    format!("({})", index + 1)
}

/// `waits for found, made at 16:17; nobody is left to set it`. None if the task does not wait.
pub(crate) fn waits(point: &FailurePoint, index: usize) -> Option<String> {
    Some(match point.waits_for.as_ref()? {
        WaitsFor::Promise(promise) => {
            let promised = made(point, &promise.name, promise.made.as_ref());
            let setters = match &promise.setters {
                Some(Tasks { count: 0, .. }) => "nobody is left to set it".to_owned(),
                Some(Tasks { shown, count: 1 }) if *shown == [index] => {
                    "only this task may set it, or one that it would create".to_owned()
                }
                Some(setters) if setters.count == 1 => {
                    format!("{} may set it, and waits itself", listed(setters))
                }
                Some(setters) => format!("{} may set it, and wait themselves", listed(setters)),
                None => "who may set it was not found out".to_owned(),
            };
            format!("waits for {promised}; {setters}")
        }
        WaitsFor::Lock(lock) => {
            let name = made(point, &lock.name, lock.made.as_ref());
            let holder = match &lock.holder {
                Some(Tasks { shown, .. }) if *shown == [index] => {
                    ", which it holds itself".to_owned()
                }
                Some(holder) if holder.count > 0 => format!(", which {} holds", listed(holder)),
                _ => String::new(),
            };
            format!("waits for the lock {name}{holder}")
        }
        WaitsFor::Tasks(Some(tasks)) => format!("waits for the end of {}", listed(tasks)),
        WaitsFor::Tasks(None) => "waits for the end of its tasks".to_owned(),
    })
}

/// `(1) waits for a, which (2) may set; (2) waits for the end of (1)`.
pub(crate) fn cycle(failure: &Failure) -> Option<String> {
    let cycle = failure.cycle.as_ref()?;
    let points: Vec<&FailurePoint> = points(failure).collect();
    let shown = &cycle.shown;
    let whole = shown.len() == cycle.count;
    let links = (shown.iter().enumerate()).map(|(place, &index)| {
        let next = match shown.get(place + 1) {
            None if whole => shown.first(),
            next => next,
        };
        let next = next.map_or("another task".to_owned(), |next| number(*next));
        let waits_for = match points.get(index).map(|point| &point.waits_for) {
            Some(Some(WaitsFor::Promise(promise))) => {
                format!("{}, which {next} may set", promise.name)
            }
            Some(Some(WaitsFor::Lock(lock))) => format!("{}, which {next} holds", lock.name),
            _ => format!("the end of {next}"),
        };
        format!("{} waits for {waits_for}", number(index))
    });
    let mut text = links.collect::<Vec<String>>().join("; ");
    if !whole {
        text += &format!("; and so on, through {} tasks", cycle.count);
    }
    Some(text)
}

/// `found, made at 16:17`.
fn made(point: &FailurePoint, name: &Location, made: Option<&Place>) -> String {
    match made {
        Some(made) => format!("{name}, made at {}", position_in(made, &point.place.file)),
        None => name.to_string(),
    }
}

/// `(1), (3) and 7 more`.
fn listed(tasks: &Tasks) -> String {
    let mut names: Vec<String> = tasks.shown.iter().map(|index| number(*index)).collect();
    match tasks.count.saturating_sub(names.len()) {
        0 => {}
        more if names.is_empty() => names.push(format!("{more} tasks that are not listed")),
        more => names.push(format!("{more} more")),
    }
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => "no task".to_owned(),
    }
}
