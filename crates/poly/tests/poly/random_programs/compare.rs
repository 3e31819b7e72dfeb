//! Holds the prover's answers to runs, and the runs to the language.

use super::Judged;
use super::graph::Graph;
use super::run;
use super::subject::{Subject, Wrong, wrong};
use finishline_answer::Verdict;
use finishline_answer::claim::{Benign, Witness};
use finishline_answer::finding::{Finding, FoundAccess};
use finishline_answer::proof::RemarkKind;
use finishline_detect::oracle::{Mode, Oracle};
use finishline_engine::depth_first::{self, End};
use finishline_ir::machine::{Datum, Limits};
use finishline_model::event::{Record, replay};
use finishline_poly::{Answer, Instance, Instances, Seen, relation};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::sync::atomic::AtomicU64;

impl Subject<'_> {
    /// What is in one set only.
    fn difference<T: Ord + Debug>(
        &self,
        kind: &'static str,
        arguments: &[i64],
        (proved, run): (&BTreeSet<T>, &BTreeSet<T>),
        words: impl Fn(&T) -> String,
    ) -> Result<(), Wrong> {
        let only =
            |one: &BTreeSet<T>, other: &BTreeSet<T>| one.difference(other).next().map(&words);
        match (only(proved, run), only(run, proved)) {
            (None, None) => Ok(()),
            (Some(one), _) => wrong(kind, format!("{arguments:?}: only the prover has {one}")),
            (_, Some(one)) => wrong(kind, format!("{arguments:?}: the prover lacks {one}")),
        }
    }

    pub(crate) fn compare(
        &self,
        arguments: &[i64],
        proved: &Instances,
        found: &Instances,
    ) -> Result<(), Wrong> {
        let one = |instance: &Instance| self.words(instance);
        let accesses = (&proved.accesses, &found.accesses);
        self.difference("accesses", arguments, accesses, one)?;
        let races = (&proved.races, &found.races);
        self.difference("races", arguments, races, |(first, second)| {
            format!("{} with {}", self.words(first), self.words(second))
        })?;
        for (read, seen) in &found.sources {
            self.compare_sources(arguments, &proved.sources, (read, seen))?;
        }
        Ok(())
    }

    fn compare_sources(
        &self,
        arguments: &[i64],
        proved: &BTreeMap<Instance, Seen>,
        (read, seen): (&Instance, &Seen),
    ) -> Result<(), Wrong> {
        let one = |instance: &Instance| self.words(instance);
        let Some(sources) = proved.get(read) else {
            return wrong("sources", format!("{arguments:?}: none of {}", one(read)));
        };
        let writes = (&sources.writes, &seen.writes);
        self.difference("sources", arguments, writes, |write| {
            format!("{} for {}", one(write), one(read))
        })?;
        if sources.initial != seen.initial {
            let message = format!(
                "{arguments:?}: it is {} that {} sees the starting value",
                seen.initial,
                one(read)
            );
            return wrong("sources", message);
        }
        Ok(())
    }

    /// The order of all accesses, in runs that have not too many.
    pub(crate) fn compare_order(&self, graphs: &[(Vec<i64>, Graph)]) -> Result<(), Wrong> {
        /// More than these are not compared with each other.
        const MOST: usize = 60;
        let relation = match relation(&self.hir) {
            Ok(relation) => relation,
            Err(message) => return wrong("prover", message),
        };
        for (arguments, graph) in graphs {
            let accesses = graph.run.accesses.iter();
            let accesses: Vec<Instance> = accesses.map(|it| self.instance(it)).collect();
            if accesses.len() > MOST {
                continue;
            }
            let (mut before, mut beside) = (BTreeSet::new(), BTreeSet::new());
            for (first, one) in accesses.iter().enumerate() {
                for (later, other) in accesses.iter().enumerate().skip(first + 1) {
                    let pair = [one.clone(), other.clone()];
                    match graph.precedes(first, later) {
                        true => before.insert(pair),
                        false => beside.insert(pair),
                    };
                }
            }
            let (Some(proved), Some(parallel)) =
                (relation.before(arguments), relation.beside(arguments))
            else {
                return wrong("infinite", format!("{arguments:?}: the order"));
            };
            let words = |pair: &[Instance; 2]| {
                let [one, other] = pair.each_ref().map(|it| self.words(it));
                format!("{one} and {other}")
            };
            self.difference("before", arguments, (&proved, &before), words)?;
            self.difference("parallel", arguments, (&parallel, &beside), words)?;
        }
        Ok(())
    }

    /// Where something is unknown, nothing that happens is left out, and what is called known is
    /// exact. The prover takes for granted that no task is stuck: then what is called known may be
    /// too much.
    pub(crate) fn compare_claims(
        &self,
        arguments: &[i64],
        graph: &Graph,
        found: &Instances,
    ) -> Result<(), Wrong> {
        let is_stuck = graph.run.stuck_after.is_some();
        let families = &self.families;
        let (Some(accesses), Some(sources)) =
            (families.accesses(arguments), families.sources(arguments))
        else {
            return Ok(());
        };
        if let Some(other) = found.accesses.difference(&accesses).next() {
            let message = format!("{arguments:?}: the prover lacks {}", self.words(other));
            return wrong("accesses", message);
        }
        for (read, seen) in &found.sources {
            if families.is_sure_of(read) && !is_stuck {
                self.compare_sources(arguments, &sources, (read, seen))?;
                continue;
            }
            let may = sources.get(read).is_some_and(|may| {
                seen.writes.is_subset(&may.writes) && (may.initial || !seen.initial)
            });
            if !may {
                let message = format!("{arguments:?}: not all of {}", self.words(read));
                return wrong("sources", message);
            }
        }
        Ok(())
    }

    /// Writes that no read sees, and reads of unwritten locations, by definition.
    fn questionable(&self, found: &Instances) -> BTreeSet<(RemarkKind, Instance)> {
        let seen: BTreeSet<&Instance> = found.sources.values().flat_map(|it| &it.writes).collect();
        let remark = |instance: &Instance| match found.sources.get(instance) {
            Some(seen) => (seen.writes.is_empty()).then_some(RemarkKind::NeverWritten),
            None => (!seen.contains(instance)).then_some(RemarkKind::DeadWrite),
        };
        (found.accesses.iter())
            .filter_map(|instance| Some((remark(instance)?, instance.clone())))
            .collect()
    }

    /// What is remarked is so. If nothing is unknown, all is remarked that is so.
    pub(crate) fn judge_remarks(
        &self,
        arguments: &[i64],
        graph: &Graph,
        found: &Instances,
        is_exact: bool,
    ) -> Result<Judged, Wrong> {
        let races = !found.races.is_empty();
        let Some(mut remarks) = self.families.remarks(arguments) else {
            return match is_exact {
                true => wrong("infinite", format!("{arguments:?}: remarks")),
                false => Ok(Judged {
                    races,
                    benign: false,
                }),
            };
        };
        let mut questionable = self.questionable(found);
        if !is_exact {
            let happens = |instance: &Instance| found.accesses.contains(instance);
            (remarks.questionable).retain(|(_, instance)| happens(instance));
            (remarks.benign).retain(|(_, pair)| pair.iter().all(happens));
            questionable.retain(|it| remarks.questionable.contains(it));
        }
        let sets = (&remarks.questionable, &questionable);
        self.difference("remarks", arguments, sets, |(kind, instance)| {
            format!("{} of {}", kind.word(), self.words(instance))
        })?;
        let accesses = graph.run.accesses.iter();
        let values: BTreeMap<Instance, run::Value> =
            accesses.map(|it| (self.instance(it), it.value)).collect();
        for (benign, pair) in &remarks.benign {
            let holds = match benign {
                Benign::SameValue => values[&pair[0]] == values[&pair[1]],
                Benign::NeverRead => pair.iter().all(|instance| {
                    questionable.contains(&(RemarkKind::DeadWrite, instance.clone()))
                }),
            };
            if !holds {
                let words = pair.each_ref().map(|instance| self.words(instance));
                let message = format!("{arguments:?}: not {}: {words:?}", benign.word());
                return wrong("benign", message);
            }
        }
        let benign = (remarks.benign.iter()).any(|(benign, _)| *benign == Benign::SameValue);
        Ok(Judged { races, benign })
    }

    /// Holds the brute force to the reference interpreter and the oracle, up to where a task is
    /// stuck.
    pub(crate) fn hold_to_the_language(
        &self,
        arguments: &[i64],
        graph: &Graph,
    ) -> Result<(), Wrong> {
        let module = match finishline_fin::compile("random.fin", self.text.as_bytes()) {
            Ok(program) => program.module,
            Err(errors) => return wrong("refused", errors.render(false)),
        };
        let data: Vec<Datum> = arguments.iter().map(|value| Datum::Int(*value)).collect();
        let program = depth_first::Program {
            module: &module,
            arguments: &data,
            limits: Limits::default(),
        };
        let mut records: Vec<Record> = Vec::new();
        let output = &mut std::io::sink();
        let outcome =
            depth_first::run_for(1_000_000, program, &mut records, output, &AtomicU64::new(0));
        let is_stuck = !matches!(outcome.result, End::Finished);
        if is_stuck != graph.run.stuck_after.is_some() {
            return wrong(
                "interpreter",
                format!("{arguments:?}: {:?}", outcome.result),
            );
        }
        let first = graph.run.stuck_after.unwrap_or(graph.run.accesses.len());
        let told = records.iter().filter_map(|record| match record {
            Record::Access(access) => Some(access),
            Record::Event(_) => None,
        });
        let told: Vec<_> = told.collect();
        if told.len() != first {
            return wrong(
                "interpreter",
                format!("{arguments:?}: another number of accesses"),
            );
        }
        let mut locations = HashMap::new();
        let mut back = HashMap::new();
        for (theirs, ours) in told.iter().zip(&graph.run.accesses) {
            let same = *locations.entry(theirs.first).or_insert(ours.location) == ours.location
                && *back.entry(ours.location).or_insert(theirs.first) == theirs.first;
            if !same || theirs.id != self.id(ours) {
                return wrong(
                    "interpreter",
                    format!("{arguments:?}: {theirs:?} is {ours:?}"),
                );
            }
        }
        if is_stuck {
            return Ok(());
        }
        let mut oracle = Oracle::new(10_000);
        replay(&records, &mut oracle);
        let theirs = oracle.racing_locations(Mode::Structure);
        let races = graph.races();
        let ours = races
            .iter()
            .map(|(first, _)| back[&graph.run.accesses[*first].location]);
        if theirs != ours.collect() {
            return wrong("oracle", format!("{arguments:?}: other racing locations"));
        }
        Ok(())
    }

    /// What users are told, against runs.
    pub(crate) fn judge_answer(
        &self,
        answer: &Answer,
        graphs: &[(Vec<i64>, Graph)],
    ) -> Result<(), Wrong> {
        for (arguments, graph) in graphs {
            let data: Vec<Option<i64>> = arguments.iter().copied().map(Some).collect();
            let harmless = answer.harmless(&data);
            for (first, second) in graph.races() {
                if answer.proof.verdict == Verdict::Proved
                    && answer.proof.proof().is_some_and(|it| it.covers(arguments))
                {
                    return wrong("verdict", format!("{arguments:?}: proved, but it races"));
                }
                for index in [first, second] {
                    let access = &graph.run.accesses[index];
                    if harmless.contains(&self.id(access)) {
                        let words = self.words(&self.instance(access));
                        return wrong("harmless", format!("{arguments:?}: {words}"));
                    }
                }
            }
        }
        for race in &answer.proof.findings {
            if let Some(witness) = race.witness() {
                self.confirm(race, witness)?;
            }
        }
        Ok(())
    }

    /// Whether a witness is a race of a run.
    fn confirm(&self, race: &Finding, witness: &Witness) -> Result<(), Wrong> {
        // Far away from 0 the program may fail before.
        let Ok(graph) = self.run(&witness.arguments) else {
            return Ok(());
        };
        let is = |instance: &Instance, told: &FoundAccess, counters: &[(String, i64)]| {
            let values = counters.iter().map(|(_, value)| *value);
            told.id == Some(instance.access) && values.eq(instance.counters.iter().copied())
        };
        let found = self
            .instances(&graph)
            .races
            .into_iter()
            .any(|(one, other)| {
                let either = [(&one, &other), (&other, &one)];
                either.into_iter().any(|(first, second)| {
                    is(first, &race.first, &witness.first)
                        && is(second, &race.second, &witness.second)
                })
            });
        match found || graph.run.stuck_after.is_some() {
            true => Ok(()),
            false => wrong("witness", format!("{witness:?} is no race")),
        }
    }
}
