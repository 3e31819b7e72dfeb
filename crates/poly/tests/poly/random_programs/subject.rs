//! A random program, as the prover and as runs see it.

use super::graph::Graph;
use super::run::{self, Access, Place, run};
use finishline_fin::hir;
use finishline_generate::Program;
use finishline_generate::affine::ARGUMENTS;
use finishline_generate::extremes::{argument, extreme};
use finishline_generate::render::render_with;
use finishline_generate::rng::Rng;
use finishline_generate::shape::Name;
use finishline_model::{AccessId, AccessKind};
use finishline_poly::{Families, Instance, Instances, families};
use std::collections::HashMap;

/// A program as the prover and as the brute force know it.
pub(crate) struct Subject<'p> {
    pub(crate) tree: &'p Program,
    pub(crate) hir: hir::Program,
    pub(crate) text: String,
    pub(crate) ids: HashMap<(Place, AccessKind), AccessId>,
    pub(crate) families: Families,
}

/// Why a program shows nothing, or what is wrong with it. A disagreement shrinks to one of the same
/// kind.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

impl Wrong {
    /// It shows nothing, because it would take too long to look at.
    pub(crate) fn is_too_large(&self) -> bool {
        match self.kind {
            "does not run" => self.message.contains("too many"),
            "prover" | "verdict" => {
                let limits = ["OutOfTime", "Timeout", "numerator too large"];
                limits.iter().any(|limit| self.message.contains(limit))
            }
            _ => false,
        }
    }
}

pub(crate) fn wrong<T>(kind: &'static str, message: impl Into<String>) -> Result<T, Wrong> {
    let message = message.into();
    Err(Wrong { kind, message })
}

impl<'p> Subject<'p> {
    pub(crate) fn new(tree: &'p Program) -> Result<Subject<'p>, Wrong> {
        let mut places = Vec::new();
        let text = render_with(tree, &mut |expression, range| {
            places.push((run::place(expression), range.start, range.end));
        });
        let hir = match finishline_fin::analyse("random.fin", text.as_bytes()) {
            Ok(hir) => hir,
            Err(errors) => return wrong("refused", errors.render(false)),
        };
        let mut ids = HashMap::new();
        for (index, access) in hir.source.accesses.iter().enumerate() {
            let site = hir.source.site(access.place);
            let (start, end) = (site.start as usize, site.end as usize);
            for (place, from, to) in &places {
                if (*from, *to) == (start, end) {
                    ids.insert((*place, access.kind), AccessId(index as u32));
                }
            }
        }
        let families = families(&hir).or_else(|message| wrong("prover", message))?;
        Ok(Subject {
            tree,
            hir,
            text,
            ids,
            families,
        })
    }

    pub(crate) fn id(&self, access: &Access) -> AccessId {
        let kind = match access.is_write {
            true => AccessKind::Write,
            false => AccessKind::Read,
        };
        self.ids[&(access.place, kind)]
    }

    pub(crate) fn instance(&self, access: &Access) -> Instance {
        let id = self.id(access);
        let names = self.families.counters(id, access.unfolding);
        let counters = access.counters.iter().zip(names);
        Instance {
            access: id,
            unfolding: access.unfolding,
            counters: counters
                .map(|(counter, name)| counter.value(name))
                .collect(),
        }
    }

    pub(crate) fn run(&self, arguments: &[i64]) -> Result<Graph, Wrong> {
        match run(self.tree, arguments) {
            Ok(run) => Ok(Graph::new(run)),
            Err(message) => wrong("does not run", format!("{arguments:?}: {message}")),
        }
    }

    /// Everything of a run, by definition.
    pub(crate) fn instances(&self, graph: &Graph) -> Instances {
        let accesses: Vec<Instance> = graph
            .run
            .accesses
            .iter()
            .map(|it| self.instance(it))
            .collect();
        let mut instances = Instances::default();
        for (first, second) in graph.races() {
            let (one, other) = (&accesses[first], &accesses[second]);
            let pair = (one.min(other).clone(), one.max(other).clone());
            instances.races.insert(pair);
        }
        for (index, access) in graph.run.accesses.iter().enumerate() {
            if !access.is_write {
                let (writes, initial) = graph.sources(index);
                let seen = instances
                    .sources
                    .entry(accesses[index].clone())
                    .or_default();
                seen.initial = initial;
                seen.writes
                    .extend(writes.iter().map(|it| accesses[*it].clone()));
            }
        }
        instances.accesses = accesses.into_iter().collect();
        instances
    }

    pub(crate) fn words(&self, instance: &Instance) -> String {
        let info = self.hir.source.access(instance.access);
        let site = self.hir.source.site(info.place);
        format!(
            "{:?} of {} at {}:{} in call {}, counters {:?}",
            info.kind,
            self.hir.source.snippet(info.place),
            site.line,
            site.column,
            instance.unfolding,
            instance.counters
        )
    }

    /// Runs that neither fail nor go on for ever.
    pub(crate) fn runs(&self) -> Result<Vec<Run>, Wrong> {
        let mut graphs = Vec::new();
        for arguments in some_arguments(parameters(self.tree)) {
            let graph = self.run(&arguments)?;
            if graph.run.stuck_after.is_some() {
                return wrong("does not run", format!("{arguments:?}: a task is stuck"));
            }
            graphs.push((arguments, graph));
        }
        Ok(graphs)
    }

    /// Runs in which tasks may be stuck; arguments that make a run too long are left out.
    pub(crate) fn any_runs(&self, arguments: Vec<Vec<i64>>) -> Vec<Run> {
        let run = |arguments: Vec<i64>| {
            let graph = self.run(&arguments).ok()?;
            Some((arguments, graph))
        };
        arguments.into_iter().filter_map(run).collect()
    }
}

/// Arguments, and what they make of the program.
pub(crate) type Run = (Vec<i64>, Graph);

/// Some arguments of which at least one is at an end of 64 bits.
pub(crate) fn extreme_arguments(parameters: usize) -> Vec<Vec<i64>> {
    const CASES: usize = 12;
    let mut rng = Rng::new(0);
    let all = |first: i64, rng: &mut Rng| {
        let others = (1..parameters).map(|_| argument(rng));
        std::iter::once(first).chain(others).collect::<Vec<i64>>()
    };
    let cases = match parameters {
        0 => 0,
        _ => CASES,
    };
    (0..cases)
        .map(|case| {
            let first = extreme(&mut rng);
            let mut arguments = all(first, &mut rng);
            arguments.rotate_left(case % parameters);
            arguments
        })
        .collect()
}

/// Some lists of arguments: all if there is at most one parameter.
pub(crate) fn some_arguments(parameters: usize) -> Vec<Vec<i64>> {
    match parameters {
        0 => vec![Vec::new()],
        1 => ARGUMENTS.map(|value| vec![value]).collect(),
        _ => ARGUMENTS
            .flat_map(|one| ARGUMENTS.map(move |other| (one, other)))
            .filter(|(one, other)| one == other || (one + 2 * other) % 5 == 0)
            .map(|(one, other)| {
                let mut arguments = vec![one, other];
                arguments.resize(parameters, 0);
                arguments
            })
            .collect(),
    }
}

pub(crate) fn parameters(program: &Program) -> usize {
    let main = program.functions.iter().find(|it| it.name == Name::MAIN);
    main.map_or(0, |main| main.parameters.len())
}
