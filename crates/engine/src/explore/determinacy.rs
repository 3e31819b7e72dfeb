//! Whether the order of isolated and locked blocks decides in which state the program ends, and by
//! what.
//!
//! Two orders whose final states differ are run again. The first variable that differs is named, in
//! the order of the tasks that made the objects; what was printed comes last, its lines in any
//! order. The blocks that *decide* it are the first two of one order that conflict, and that come
//! the other way round in the other order: up to there both do the same.

use super::blocks::{Block, Blocks, Roles};
use super::order_run::{OrderEnd, OrderRun};
use super::order_script::{Follow, OrderScript};
use super::task_names::TaskNames;
use super::{Exploration, order_script};
use crate::names::Names;
use crate::question::Question;
use finishline_answer::answer::{Determinacy, Differing, OrderedBlock, StateOfOrder};
use finishline_answer::place::Place;
use finishline_ir::listener::{Allocated, Listener};
use finishline_ir::machine::{Datum, Machine, ObjectName};
use finishline_model::{Access, Event, Location, Observer, SiteId};
use std::collections::BTreeMap;

/// What the final states of the orders say.
pub(super) fn determinacy(question: &Question<'_>, found: &Exploration) -> Determinacy {
    let mut scripts: Vec<&OrderScript> = found.states.values().collect();
    scripts.sort_unstable();
    let differ = match scripts[..] {
        [a, b, ..] => differing(question, [a, b]),
        _ => None,
    };
    Determinacy {
        states: found.states.len() as u64,
        differ,
    }
}

/// A run in one order, to its end.
struct Ended<'m> {
    machine: Box<Machine<'m>>,
    blocks: Vec<Block>,
    location: Option<String>,
}

fn run<'m>(
    question: &'m Question<'_>,
    script: &OrderScript,
    names: &mut TaskNames,
    to_name: Option<Location>,
) -> Option<Ended<'m>> {
    let mut chooser = Follow::new(script, names);
    let roles = Roles::of(question.module);
    let to_name: Vec<Location> = to_name.into_iter().collect();
    let mut named = Named(Names::new(question.module, &to_name, None));
    let mut blocks = Blocks::new(names, &roles, &mut named);
    let order = OrderRun {
        program: question.program(),
        keep_dead: true,
    };
    let end = order.run(&mut blocks, &mut chooser, |_| false, None);
    let (blocks, Named(names)) = blocks.into_parts();
    let OrderEnd::Finished(machine) = end else {
        return None;
    };
    let location = to_name.first().map(|it| names.location(*it).to_string());
    Some(Ended {
        machine,
        blocks,
        location,
    })
}

/// Names a location.
struct Named<'m>(Names<'m>);

impl Observer for Named<'_> {
    fn event(&mut self, _: &Event) {}

    fn access(&mut self, _: &Access) {}
}

impl Listener for Named<'_> {
    fn allocated(&mut self, object: &Allocated<'_>) {
        self.0.allocated(object);
    }
}

fn differing(question: &Question<'_>, scripts: [&OrderScript; 2]) -> Option<Differing> {
    let names = &mut TaskNames::default();
    let a = run(question, scripts[0], names, None)?;
    let b = run(question, scripts[1], names, None)?;
    let (what, values) = match first_variable(&a.machine, &b.machine) {
        Some((location, values)) => {
            let named = run(question, scripts[0], names, Some(location))?;
            (named.location?, values)
        }
        None => match first_lines(&a.machine, &b.machine) {
            Some(lines) => ("the output".to_owned(), lines),
            // Nothing that both have differs, so one has something that the other has not.
            None => (
                "the number of objects".to_owned(),
                [&a, &b].map(|it| it.machine.heap().objects().count().to_string()),
            ),
        },
    };
    let pair = reversed(&a.blocks, &b.blocks);
    let told = |number: usize| OrderedBlock {
        task: order_script::word(&names.path(a.blocks[number].task)),
        place: Some(place(question, a.blocks[number].site)),
    };
    let [first, second] = values;
    let order = |script: &OrderScript, value| StateOfOrder {
        value,
        schedule: script.to_string(),
    };
    Some(Differing {
        what,
        orders: [order(scripts[0], first), order(scripts[1], second)],
        decided_by: pair.map(|(earlier, later)| [told(earlier), told(later)]),
    })
}

fn place(question: &Question<'_>, site: SiteId) -> Place {
    crate::names::place(&question.module.source, site)
}

/// The contents of a location, in words that mean the same in every order.
#[derive(PartialEq)]
enum Value {
    Plain(&'static str, u64),
    Object(Option<ObjectName>),
}

fn value(machine: &Machine<'_>, datum: Datum) -> Value {
    match datum {
        Datum::Int(value) => Value::Plain("int", value as u64),
        Datum::Float(value) => Value::Plain("float", value.to_bits()),
        Datum::Bool(value) => Value::Plain("bool", value.into()),
        Datum::Byte(value) => Value::Plain("byte", value.into()),
        Datum::Ref(object) => Value::Object(object.map(|it| machine.object_name(it))),
    }
}

fn shown(datum: Datum) -> String {
    match datum {
        Datum::Int(value) => value.to_string(),
        Datum::Float(value) => format!("{value:?}"),
        Datum::Bool(value) => value.to_string(),
        Datum::Byte(value) => value.to_string(),
        Datum::Ref(None) => "null".to_owned(),
        Datum::Ref(Some(_)) => "an object".to_owned(),
    }
}

/// The first variable of an object of both runs that differs: where it is in the first run, and
/// what it holds in both.
fn first_variable(a: &Machine<'_>, b: &Machine<'_>) -> Option<(Location, [String; 2])> {
    let objects = |machine: &Machine<'_>| -> BTreeMap<ObjectName, _> {
        let objects = machine.heap().objects();
        objects
            .map(|(id, _)| (machine.object_name(id), id))
            .collect()
    };
    let others = objects(b);
    for (name, id) in objects(a) {
        let Some(other) = others.get(&name) else {
            continue;
        };
        let (mine, theirs) = (a.heap().object(id), b.heap().object(*other));
        for offset in 0..mine.count().min(theirs.count()) {
            let (x, y) = (mine.get(offset), theirs.get(offset));
            if value(a, x) != value(b, y) {
                return Some((mine.first().offset(offset), [shown(x), shown(y)]));
            }
        }
    }
    None
}

/// The first line that only one of the runs has printed, for each.
fn first_lines(a: &Machine<'_>, b: &Machine<'_>) -> Option<[String; 2]> {
    let lines = |machine: &Machine<'_>| -> Vec<String> {
        let text = String::from_utf8_lossy(&machine.output);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let (mut a, mut b) = (lines(a).into_iter(), lines(b).into_iter());
    loop {
        match (a.next(), b.next()) {
            (None, None) => return None,
            (x, y) if x == y => {}
            (x, y) => return Some([x, y].map(|line| line.unwrap_or("nothing".to_owned()))),
        }
    }
}

/// The first blocks of one run that conflict, and that come the other way round in the other run.
fn reversed(blocks: &[Block], others: &[Block]) -> Option<(usize, usize)> {
    let place = |number: usize| {
        let block = &blocks[number];
        let same = |it: &Block| (it.task, it.ordinal) == (block.task, block.ordinal);
        others.iter().position(same)
    };
    let pairs = blocks.iter().enumerate().flat_map(|(later, block)| {
        let earlier = block.reversible.iter();
        earlier.map(move |earlier| (*earlier, later))
    });
    let is_reversed = |&(earlier, later): &(usize, usize)| match (place(earlier), place(later)) {
        (Some(earlier), Some(later)) => later < earlier,
        // The earlier one does not come in the other run at all.
        (None, Some(_)) => true,
        _ => false,
    };
    pairs.into_iter().find(is_reversed)
}
