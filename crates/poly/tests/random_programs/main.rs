//! Random affine programs: what the prover says of them for every input against what runs of them do, instance by instance.
//!
//! Each program is run by brute force for small arguments, and every access, every racing pair and every source of a read must be
//! what the prover's sets say; so must be what it remarks about dead writes, reads of nothing and benign races. The verdict must follow from that. The brute force itself is held to the
//! language by the reference interpreter and the oracle of the detectors.
//!
//! `FINISHLINE_SEEDS=n` runs n programs, `FINISHLINE_SEED=s` starts at seed s. A program on which something disagrees is
//! shrunk and printed.

mod graph;
mod run;

use finishline_detect::oracle::{Mode, Oracle};
use finishline_engine::depth_first::{self, End};
use finishline_fin::hir;
use finishline_generate::affine::{self, ARGUMENTS, Settings};
use finishline_generate::render::render_with;
use finishline_generate::shape::Name;
use finishline_generate::{Program, render, shrink};
use finishline_ir::machine::{Datum, Limits};
use finishline_model::event::{Record, replay};
use finishline_model::proof::{Benign, RemarkKind, StaticAccess, StaticRace, Witness};
use finishline_model::{AccessId, AccessKind, Verdict};
use finishline_poly::{Answer, Families, Instance, Instances, Options, Seen, families, prove};
use graph::Graph;
use run::{Access, Place, run};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PROGRAMS: u64 = 200;
/// So many are shrunk and printed.
const MOST_FAILURES: usize = 3;
const FIRST_SEED: u64 = 1;
const OPTIONS: Options = Options {
    timeout: Duration::from_secs(60),
    dataflow: false,
};

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| {
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {value}"))
    })
}

/// A program as the prover and as the brute force know it.
struct Subject<'p> {
    tree: &'p Program,
    hir: hir::Program,
    text: String,
    ids: HashMap<(Place, AccessKind), AccessId>,
    families: Families,
}

/// Why a program shows nothing, or what is wrong with it. A disagreement shrinks to one of the same kind.
#[derive(Debug)]
struct Wrong {
    kind: &'static str,
    message: String,
}

fn wrong<T>(kind: &'static str, message: impl Into<String>) -> Result<T, Wrong> {
    let message = message.into();
    Err(Wrong { kind, message })
}

/// What a program was like.
#[derive(Default)]
struct Judged {
    races: bool,
    /// Some of these write the same value.
    benign: bool,
}

impl Judged {
    fn add(&mut self, other: &Judged) {
        self.races |= other.races;
        self.benign |= other.benign;
    }
}

impl<'p> Subject<'p> {
    fn new(tree: &'p Program) -> Result<Subject<'p>, Wrong> {
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
        let families = families(&hir, &OPTIONS).or_else(|message| wrong("prover", message))?;
        Ok(Subject {
            tree,
            hir,
            text,
            ids,
            families,
        })
    }

    fn id(&self, access: &Access) -> AccessId {
        let kind = match access.is_write {
            true => AccessKind::Write,
            false => AccessKind::Read,
        };
        self.ids[&(access.place, kind)]
    }

    fn instance(&self, access: &Access) -> Instance {
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

    fn run(&self, arguments: &[i64]) -> Result<Graph, Wrong> {
        match run(self.tree, arguments) {
            Ok(run) => Ok(Graph::new(run)),
            Err(message) => wrong("does not run", format!("{arguments:?}: {message}")),
        }
    }

    /// Everything of a run, by definition.
    fn instances(&self, graph: &Graph) -> Instances {
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

    fn words(&self, instance: &Instance) -> String {
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

    fn compare(
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

    /// Where something is unknown, nothing that happens is left out, and what is called known is exact.
    fn compare_claims(&self, arguments: &[i64], found: &Instances) -> Result<(), Wrong> {
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
            if families.is_sure_of(read) {
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

    /// Writes that no read sees, and reads of what nobody wrote, by definition.
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
    fn judge_remarks(
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

    /// Holds the brute force to the reference interpreter and the oracle.
    fn hold_to_the_language(&self, arguments: &[i64], graph: &Graph) -> Result<(), Wrong> {
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
        if !matches!(outcome.result, End::Finished) {
            return wrong(
                "interpreter",
                format!("{arguments:?}: {:?}", outcome.result),
            );
        }
        let told = records.iter().filter_map(|record| match record {
            Record::Access(access) => Some(access),
            Record::Event(_) => None,
        });
        let told: Vec<_> = told.collect();
        if told.len() != graph.run.accesses.len() {
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

    fn runs(&self) -> Result<Vec<(Vec<i64>, Graph)>, Wrong> {
        let mut graphs = Vec::new();
        for arguments in some_arguments(parameters(self.tree)) {
            let graph = self.run(&arguments)?;
            graphs.push((arguments, graph));
        }
        Ok(graphs)
    }

    /// What users are told, against runs.
    fn judge_answer(&self, answer: &Answer, graphs: &[(Vec<i64>, Graph)]) -> Result<(), Wrong> {
        for (arguments, graph) in graphs {
            let data: Vec<Option<i64>> = arguments.iter().copied().map(Some).collect();
            let harmless = answer.harmless(&data);
            for (first, second) in graph.races() {
                if answer.proof.verdict == Verdict::Proved {
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
        for race in answer.proof.kernels.iter().flat_map(|kernel| &kernel.races) {
            if let Some(witness) = &race.witness {
                self.confirm(race, witness)?;
            }
        }
        Ok(())
    }

    /// Whether a witness is a race of a run.
    fn confirm(&self, race: &StaticRace, witness: &Witness) -> Result<(), Wrong> {
        // Far away from 0 the program may fail before.
        let Ok(graph) = self.run(&witness.arguments) else {
            return Ok(());
        };
        let is = |instance: &Instance, told: &StaticAccess, counters: &[(String, i64)]| {
            let info = self.hir.source.access(instance.access);
            let site = self.hir.source.site(info.site);
            let values = counters.iter().map(|(_, value)| *value);
            (site.line, site.column) == (told.place.line, told.place.column)
                && info.kind == told.kind
                && values.eq(instance.counters.iter().copied())
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
        match found {
            true => Ok(()),
            false => wrong("witness", format!("{witness:?} is no race")),
        }
    }
}

/// Some arguments for so many parameters: all if there is at most one.
fn some_arguments(parameters: usize) -> Vec<Vec<i64>> {
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

fn parameters(program: &Program) -> usize {
    let main = program.functions.iter().find(|it| it.name == Name::MAIN);
    main.map_or(0, |main| main.parameters.len())
}

/// An affine program: all that is said is exact.
fn judge(tree: &Program) -> Result<Judged, Wrong> {
    let subject = Subject::new(tree)?;
    let graphs = subject.runs()?;
    for (arguments, graph) in graphs.iter().step_by(7) {
        subject.hold_to_the_language(arguments, graph)?;
    }
    let families = &subject.families;
    if families.vague || !families.doubtful.is_empty() {
        return wrong("vague", "something unknown is involved");
    }
    let mut judged = Judged::default();
    for (arguments, graph) in &graphs {
        let found = subject.instances(graph);
        judged.add(&subject.judge_remarks(arguments, graph, &found, true)?);
        match families.at(arguments) {
            Some(proved) => subject.compare(arguments, &proved, &found)?,
            None => return wrong("infinite", format!("{arguments:?}")),
        }
    }
    let answer = prove(&subject.hir, &OPTIONS);
    subject.judge_answer(&answer, &graphs)?;
    match answer.proof.verdict {
        Verdict::Race | Verdict::Proved => Ok(judged),
        _ => wrong("verdict", format!("{:?}", answer.proof.kernels)),
    }
}

/// Any program: what is said holds, and what is not said is left open.
fn judge_claims(tree: &Program) -> Result<Judged, Wrong> {
    let subject = Subject::new(tree)?;
    let graphs = subject.runs()?;
    let families = &subject.families;
    let mut judged = Judged::default();
    for (arguments, graph) in &graphs {
        let found = subject.instances(graph);
        judged.add(&subject.judge_remarks(arguments, graph, &found, false)?);
        subject.compare_claims(arguments, &found)?;
        let found = found.races;
        let Some(certain) = families.races(arguments) else {
            return wrong("infinite", format!("{arguments:?}"));
        };
        if let Some((one, other)) = certain.difference(&found).next() {
            let (one, other) = (subject.words(one), subject.words(other));
            return wrong("false alarm", format!("{arguments:?}: {one} with {other}"));
        }
        let open = |(one, other): &&(Instance, Instance)| {
            !families
                .doubtful
                .contains(&(one.access.min(other.access), one.access.max(other.access)))
        };
        if let Some((one, other)) = found.difference(&certain).find(open) {
            let (one, other) = (subject.words(one), subject.words(other));
            return wrong("missed", format!("{arguments:?}: {one} with {other}"));
        }
    }
    subject.judge_answer(&prove(&subject.hir, &OPTIONS), &graphs)?;
    Ok(judged)
}

/// Runs `work` on the numbers of a range, on all cores.
fn in_parallel(numbers: std::ops::Range<u64>, work: impl Fn(u64) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (numbers, work) = (numbers.clone(), &work);
            scope.spawn(move || {
                let own = numbers.skip(thread as usize).step_by(threads as usize);
                own.for_each(work);
            });
        }
    });
}

/// Judges random programs, of which some shall race.
fn campaign(settings: &Settings, count: u64, judge: fn(&Program) -> Result<Judged, Wrong>) {
    let first = setting("FINISHLINE_SEED", FIRST_SEED);
    let [racy, benign, skipped] = [const { AtomicU64::new(0) }; 3];
    let failures = Mutex::new(Vec::new());
    in_parallel(first..first + count, |seed| {
        let program = affine::program(seed, settings);
        match judge(&program) {
            Ok(judged) => {
                racy.fetch_add(u64::from(judged.races), Ordering::Relaxed);
                benign.fetch_add(u64::from(judged.benign), Ordering::Relaxed);
            }
            Err(wrong) if wrong.kind == "does not run" && wrong.message.contains("too many") => {
                skipped.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) if failures.lock().expect("no panic").len() >= MOST_FAILURES => {}
            Err(Wrong { kind, message }) => {
                let small = shrink(&program, &mut |program| {
                    judge(program).is_err_and(|wrong| wrong.kind == kind)
                });
                let said = judge(&small).err().map(|wrong| wrong.message);
                failures.lock().expect("no panic").push(format!(
                    "seed {seed}: {kind}: {message}\nshrunk: {}\n{}\nrepeat: FINISHLINE_SEED={seed} FINISHLINE_SEEDS=1 \
                     cargo test -p finishline-poly --test random_programs\n",
                    said.unwrap_or_default(),
                    render(&small)
                ));
            }
        }
    });
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let [racy, benign, skipped] = [racy, benign, skipped].map(AtomicU64::into_inner);
    assert!(skipped <= count / 20, "{skipped} of {count} are too large");
    // The programs must not all be of one kind, or the comparison shows little.
    if count >= 200 {
        assert!(
            racy > count / 4 && racy < count * 3 / 4,
            "{racy} of {count} race"
        );
        assert!(
            benign >= count / 100,
            "{benign} of {count} write the same value in a race"
        );
    }
}

#[test]
fn the_prover_agrees_with_runs() {
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    campaign(&Settings { beyond: false }, count, judge);
}

#[test]
fn what_is_not_affine_is_left_open() {
    let count = setting("FINISHLINE_SEEDS", PROGRAMS);
    campaign(&Settings { beyond: true }, count, judge_claims);
}
