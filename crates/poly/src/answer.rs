//! Judges each kernel by its findings and puts the answer together.
//!
//! A pair of accesses that races at one location in several ways is told once.

use crate::facts::{Gap, Touched};
use crate::kernels::{self, KernelId};
use crate::objects::Objects;
use crate::races::{Finding, conflict};
use crate::reach::reach;
use crate::sets::{Clock, Isl, Result, Set, Stop};
use crate::symbols::{Kind, Symbol};
use crate::walk;
use crate::words::{Words, place};
use crate::{Budget, Detail, Options};
use finishline_answer::About;
use finishline_answer::Verdict;
use finishline_answer::claim::Claim;
use finishline_answer::finding::{Finding as Told, FoundAccess};
use finishline_answer::place::{Place, SourceLines};
use finishline_answer::proof::{Dataflow, Kernel, Proof, Reason, ReasonKind, RemarkKind};
use finishline_answer::rules::{self, KernelFacts};
use finishline_answer::shell_word;
use finishline_fin::hir::Program;
use finishline_model::{AccessId, AccessKind, SiteId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Everything that was found out.
pub struct Answer {
    pub proof: finishline_answer::Answer,
    /// The accesses that were compared with all others.
    compared: BTreeSet<AccessId>,
    /// Pairs that race, or may, with the parameters for which they do.
    conflicts: Vec<Conflict>,
    /// Inputs of which nothing is claimed, in isl's syntax; none: no input.
    excluded: Option<String>,
}

/// Two accesses that race for some parameters.
struct Conflict {
    accesses: [AccessId; 2],
    /// The condition in isl's syntax, parameters in order; none: always.
    condition: String,
    /// It is in doubt, because integers may wrap around.
    wraps: bool,
}

/// What is known of the accesses for certain arguments of main.
#[derive(Clone, Debug, Default)]
pub struct Harmless {
    /// Those that race with nothing.
    pub accesses: BTreeSet<AccessId>,
    /// Those of which that is not known only because integers may wrap around.
    pub wrapping: BTreeSet<AccessId>,
}

impl Answer {
    /// The accesses that race with nothing when main gets these arguments. An argument that is no
    /// integer is `None`.
    pub fn harmless(&self, arguments: &[Option<i64>]) -> BTreeSet<AccessId> {
        self.for_arguments(arguments).accesses
    }

    /// The same, with those that only wrapping around leaves in doubt.
    pub fn for_arguments(&self, arguments: &[Option<i64>]) -> Harmless {
        let isl = Isl::new();
        let mut harmless = self.compared.clone();
        let mut wrapping = BTreeSet::new();
        // Those that other doubts are about come first.
        let others = self.conflicts.iter().filter(|it| !it.wraps);
        for conflict in others.chain(self.conflicts.iter().filter(|it| it.wraps)) {
            let concerned = conflict.accesses.iter().filter(|it| harmless.contains(it));
            let concerned: Vec<AccessId> = concerned.copied().collect();
            // Whatever goes wrong, a check too many does no harm.
            if !concerned.is_empty() && may_be(&isl, &conflict.condition, arguments).unwrap_or(true)
            {
                harmless.retain(|it| !concerned.contains(it));
                if conflict.wraps {
                    wrapping.extend(concerned);
                }
            }
        }
        if !self.covers(&isl, arguments) {
            wrapping.append(&mut harmless);
        }
        Harmless {
            accesses: harmless,
            wrapping,
        }
    }

    /// Whether anything is claimed of these arguments of main.
    fn covers(&self, isl: &Isl, arguments: &[Option<i64>]) -> bool {
        let excluded = self.excluded.as_ref();
        !excluded.is_some_and(|inputs| may_be(isl, inputs, arguments).unwrap_or(true))
    }
}

/// Whether a condition may hold for these arguments of main.
fn may_be(isl: &Isl, condition: &str, arguments: &[Option<i64>]) -> Result<bool> {
    let mut set = isl.condition(condition)?;
    for (at, value) in arguments.iter().enumerate() {
        if let Some(value) = value {
            set = set.intersect(&isl.fixed(Symbol::new(Kind::Parameter, at), *value)?)?;
        }
    }
    Ok(!set.is_empty()?)
}

impl Budget {
    /// Limits the time for what comes next, if time is limited.
    fn clock<'i>(&self, isl: &'i Isl) -> Option<Clock<'i>> {
        match self {
            Budget::Time(limit) => Some(isl.clock(*limit)),
            Budget::Operations(_) => None,
        }
    }
}

/// Proves what can be proved.
pub(crate) fn answer(program: &Program, options: &Options) -> Answer {
    let start = Instant::now();
    let isl = Isl::new();
    let _for_all = match options.budget {
        Budget::Operations(operations) => Some(isl.allow(operations)),
        Budget::Time(_) => None,
    };
    let clock = options.budget.clock(&isl);
    let facts = walk::walk(&isl, program);
    drop(clock);
    let mut judge = Judge {
        program,
        options,
        compared: BTreeSet::new(),
        undecided: BTreeSet::new(),
        conflicts: Vec::new(),
        races: Vec::new(),
    };
    let mut excluded = None;
    let main = &program.functions[program.main.index()];
    let names = main.parameters.iter();
    let mut proof = Proof {
        parameters: names
            .map(|local| main.locals[local.index()].name.clone())
            .collect(),
        range: Vec::new(),
        may_stop: false,
        kernels: Vec::new(),
        remarks: Vec::new(),
        sources: Vec::new(),
        dataflow: Dataflow::NotAsked,
        time: start.elapsed(),
    };
    match facts {
        Ok(facts) => {
            let objects = Objects::new(&isl, program, &facts);
            let words = Words {
                program,
                objects: &objects,
            };
            proof.may_stop = facts.may_stop;
            proof.kernels = judge.kernels(&words);
            if options.detail >= Detail::Dataflow {
                let _clock = options.budget.clock(&isl);
                proof.dataflow = match dataflow(&words, &mut proof) {
                    Ok(()) => Dataflow::Complete,
                    Err(_) => Dataflow::CutShort,
                };
            }
            let inputs = objects.excluded.borrow();
            excluded = inputs.set().map(|inputs| format!("{inputs:?}"));
            match inputs.ranges(&isl) {
                Ok(ranges) => proof.range = words.ranges(&ranges),
                Err(stop) => {
                    let reason = reason_of(&stop, place(program, main.site));
                    proof.kernels.push(unknown_kernel("program", reason));
                }
            }
        }
        Err(stop) => {
            let reason = reason_of(&stop, place(program, main.site));
            proof.kernels = vec![unknown_kernel("program", reason)];
        }
    }
    proof.time = start.elapsed();
    let source = &program.source;
    let proof = finishline_answer::Answer {
        program: source.path.clone(),
        arguments: Vec::new(),
        verdict: rules::proof(proof.kernels.iter().map(|kernel| kernel.verdict)),
        distinct: judge.races.len() as u64,
        findings: judge.races,
        suppressed: None,
        failure: None,
        lines: SourceLines::of_file(&source.path, &source.text),
        about: About::Proof(proof),
    };
    Answer {
        proof,
        compared: judge.compared,
        conflicts: judge.conflicts,
        excluded,
    }
}

/// The producers of all reads, and what is questionable about writes and reads.
fn dataflow(words: &Words, proof: &mut Proof) -> Result<()> {
    let facts = words.objects.facts;
    for (index, access) in facts.accesses.iter().enumerate() {
        let others = facts.accesses.iter().filter(|other| other.id == access.id);
        if access.kind == AccessKind::Read {
            proof.sources.extend(words.sources(index)?);
        }
        let (kind, set) = words.objects.questionable(index)?;
        let Some(set) = set else { continue };
        // What is true of one call of a function may not be of another.
        let globals = &words.program.globals;
        let is_meant = kind == RemarkKind::NeverWritten
            && matches!(access.place, Touched::Global(it) if globals[it.index()].is_given);
        if !set.is_empty()? && others.count() == 1 && !is_meant {
            proof.remarks.push(words.remark(kind, index, &set)?);
        }
    }
    Ok(())
}

struct Judge<'p> {
    program: &'p Program,
    options: &'p Options,
    compared: BTreeSet<AccessId>,
    /// Those that may race with something that was not looked at.
    undecided: BTreeSet<AccessId>,
    conflicts: Vec<Conflict>,
    /// Pairs that race for some input, by kernel.
    races: Vec<Told>,
}

impl Judge<'_> {
    fn kernels(&mut self, words: &Words) -> Vec<Kernel> {
        let Objects { isl, facts, .. } = words.objects;
        let mut kernels = Vec::new();
        let mut sites = Vec::new();
        self.compared = facts.accesses.iter().map(|access| access.id).collect();
        for (id, accesses) in kernels::divide(facts).list {
            let start = Instant::now();
            let clock = self.options.budget.clock(isl);
            let judged = self.kernel(words, (id, kernels.len()), &accesses);
            sites.push(self.construct(id, words).1);
            drop(clock);
            kernels.push(match judged {
                Ok(kernel) => kernel,
                Err(stop) => {
                    self.undecided
                        .extend(accesses.iter().map(|index| facts.accesses[*index].id));
                    Kernel {
                        time: start.elapsed(),
                        ..self.stopped(id, words, &stop)
                    }
                }
            });
        }
        for gap in facts.gaps.iter().filter(|gap| gap.is_foreign()) {
            let theirs = self.foreign(words, gap, (&sites, &mut kernels));
            self.undecided.extend(theirs);
        }
        self.compared.retain(|id| !self.undecided.contains(id));
        kernels
    }

    /// A kernel that there was no time for.
    fn stopped(&self, id: KernelId, words: &Words, stop: &Stop) -> Kernel {
        let (construct, site) = self.construct(id, words);
        unknown_kernel(construct, reason_of(stop, words.place(site)))
    }

    fn construct(&self, id: KernelId, words: &Words) -> (&'static str, SiteId) {
        match id {
            KernelId::Finish(index) => {
                let finish = &words.objects.facts.finishes[index];
                (finish.construct, finish.site)
            }
            KernelId::Program => {
                let main = &self.program.functions[self.program.main.index()];
                ("program", main.site)
            }
        }
    }

    /// Something that was not taken apart: its tasks may race with each other, and whatever goes on
    /// after it with those that it leaves behind. (What runs beside it is in the same kernel, which
    /// knows of it.) A kernel in a function that it calls has executions that were not looked at.
    /// `sites` has the places of the first kernels. Returns the accesses that may be part of it.
    fn foreign(
        &self,
        words: &Words,
        gap: &Gap,
        (sites, kernels): (&[SiteId], &mut Vec<Kernel>),
    ) -> BTreeSet<AccessId> {
        let source = &self.program.source;
        let all = (0..source.accesses.len()).map(AccessId::from_index);
        let reason = words.reason(gap);
        let reach = gap.callee.map(|callee| reach(self.program, callee));
        let Some(reach) = reach else {
            kernels.push(unknown_kernel("program", reason));
            return all.collect();
        };
        let functions = &self.program.functions;
        let is_inside = |site: SiteId| {
            let at = source.site(site).start;
            reach.functions.iter().any(|id| {
                let function = &functions[id.index()];
                let ends = [function.site, function.body.end].map(|end| source.site(end).start);
                (ends[0]..=ends[1]).contains(&at)
            })
        };
        for (index, kernel) in kernels.iter_mut().enumerate() {
            let again = sites.get(index).is_some_and(|site| is_inside(*site));
            if kernel.verdict == Verdict::Proved && (reach.leaves_tasks || again) {
                kernel.verdict = Verdict::Unknown;
                kernel.reasons.push(reason.clone());
            }
        }
        if reach.creates_tasks && !kernels.iter().any(|it| it.reasons.contains(&reason)) {
            kernels.push(unknown_kernel("call", reason));
        }
        if reach.leaves_tasks {
            return all.collect();
        }
        let names: BTreeSet<&str> = (reach.functions.iter())
            .map(|id| functions[id.index()].name.as_str())
            .collect();
        all.filter(|id| names.contains(source.access(*id).function.as_str()))
            .collect()
    }

    /// Judges a kernel, given with its index.
    fn kernel(
        &mut self,
        words: &Words,
        (id, index): (KernelId, usize),
        accesses: &[usize],
    ) -> Result<Kernel> {
        let start = Instant::now();
        let facts = words.objects.facts;
        let gaps = facts.gaps.iter();
        let gaps: Vec<&Gap> = gaps
            .filter(|gap| kernels::concerns(id, &gap.path))
            .collect();
        let (construct, site) = self.construct(id, words);
        let mut kernel = Kernel {
            construct,
            place: words.place(site),
            verdict: Verdict::Proved,
            reasons: words.reasons(&gaps),
            accesses: accesses.len(),
            pairs: 0,
            time: start.elapsed(),
        };
        // Beside something that may access anything nothing is known.
        if gaps.iter().any(|gap| gap.is_foreign()) {
            kernel.verdict = rules::kernel(KernelFacts {
                undecided: true,
                ..KernelFacts::default()
            });
            let ids = accesses.iter().map(|index| facts.accesses[*index].id);
            self.undecided.extend(ids);
            return Ok(kernel);
        }
        let mut found = Vec::new();
        for (at, first) in accesses.iter().enumerate() {
            for second in &accesses[at..] {
                let (one, other) = (&facts.accesses[*first], &facts.accesses[*second]);
                if !conflict(one, other) || !kernels::belongs(id, &one.path, &other.path) {
                    continue;
                }
                kernel.pairs += 1;
                words.objects.races(*first, *second, &mut found)?;
                if first != second {
                    words.objects.races(*second, *first, &mut found)?;
                }
            }
        }
        if let Some(excluded) = words.objects.excluded.borrow().set() {
            for finding in std::mem::take(&mut found) {
                let inputs = of_inputs(&finding.set)?;
                if !facts
                    .possible(words.objects.isl, &inputs, &finding.naming)?
                    .is_subset(excluded)?
                {
                    found.push(finding);
                }
            }
        }
        self.tell(words, index, &found, &mut kernel)?;
        kernel.time = start.elapsed();
        Ok(kernel)
    }

    /// What the findings say of a kernel.
    fn tell(
        &mut self,
        words: &Words,
        index: usize,
        found: &[Finding],
        kernel: &mut Kernel,
    ) -> Result<()> {
        // What may wait was taken to wait for nothing: enough for a proof, but no race is certain
        // then.
        if found.is_empty() {
            kernel.reasons.clear();
            return Ok(());
        }
        let is_ordered = kernel.reasons.is_empty();
        let facts = words.objects.facts;
        for finding in found {
            let parameters = of_inputs(&finding.set)?;
            self.conflicts.push(Conflict {
                accesses: [finding.first, finding.second].map(|index| facts.accesses[index].id),
                condition: format!("{parameters:?}"),
                wraps: finding
                    .doubts
                    .iter()
                    .any(|doubt| doubt.0 == ReasonKind::Wraps),
            });
        }
        let certain = |finding: &&Finding| finding.doubts.is_empty() && is_ordered;
        let certain: Vec<&Finding> = found.iter().filter(certain).collect();
        kernel.verdict = rules::kernel(KernelFacts {
            may_race: true,
            races: !certain.is_empty(),
            ..KernelFacts::default()
        });
        if self.options.detail >= Detail::Races {
            let races = self.races(words, index, &certain)?;
            self.races.extend(races);
        }
        kernel.reasons.extend(self.reasons(words, found));
        Ok(())
    }

    /// The races in words. Two accesses that race at one location in several ways, as in several
    /// calls or iterations of several loops, are told once: by the smallest case, a harmful one if
    /// there is any, and for the inputs of all of them.
    fn races(&self, words: &Words, kernel: usize, found: &[&Finding]) -> Result<Vec<Told>> {
        let facts = words.objects.facts;
        let command = format!("finishline check {}", shell_word(&self.program.source.path));
        let mut ways: BTreeMap<([AccessId; 2], String), Vec<Way>> = BTreeMap::new();
        for finding in found {
            let (race, claim) = words.race(finding, kernel, &command)?;
            let mut ids = [finding.first, finding.second].map(|index| facts.accesses[index].id);
            ids.sort_unstable();
            let way = (ids, race.location.to_string());
            ways.entry(way).or_default().push((race, claim, finding));
        }
        let mut races = Vec::new();
        for ways in ways.into_values() {
            let mut inputs = words.objects.isl.nothing()?;
            for (_, _, finding) in &ways {
                inputs = inputs.union(&of_inputs(&finding.set)?)?;
            }
            let told = (ways.into_iter())
                .min_by_key(|(race, claim, _)| (claim.benign.is_some(), size(race, claim)));
            let Some((race, mut claim, finding)) = told else {
                continue;
            };
            if !inputs.is_subset(&of_inputs(&finding.set)?)? {
                claim.condition = words.condition(&inputs.coalesce()?)?;
            }
            races.push((race, claim, finding));
        }
        races.sort_by_key(|(race, claim, _)| size(race, claim));
        let mut told = Vec::new();
        for (mut race, mut claim, finding) in races {
            // If the budget is spent by now, the race is known all the same.
            claim.larger = words.larger(finding, &command).unwrap_or_default();
            race.claim = Some(claim);
            told.push(race);
        }
        Ok(told)
    }

    /// What leaves findings in doubt, each with an access that it concerns.
    fn reasons(&self, words: &Words, found: &[Finding]) -> Vec<Reason> {
        let mut reasons: BTreeMap<(ReasonKind, SiteId), &Finding> = BTreeMap::new();
        for finding in found {
            for doubt in &finding.doubts {
                reasons.entry(*doubt).or_insert(finding);
            }
        }
        let source = &self.program.source;
        let reasons = reasons.into_iter().map(|((kind, site), finding)| {
            let access = &words.objects.facts.accesses[finding.second];
            let info = source.access(access.id);
            let place = words.place(info.site);
            Reason {
                kind,
                place: words.place(site),
                concerns: format!(
                    "the {} of {} at {}:{}",
                    access.kind.word(),
                    source.snippet(info.place),
                    place.line,
                    place.column
                ),
            }
        });
        reasons.collect()
    }
}

/// A finding and the race that it is.
type Way<'f> = (Told, Claim, &'f Finding<'f>);

/// The parameters for which there is something in a set.
fn of_inputs(set: &Set) -> Result<Set> {
    set.exists(|symbol| symbol.kind != Kind::Parameter)
}

/// That a kernel was not decided in time.
fn reason_of(stop: &Stop, place: Place) -> Reason {
    let (kind, concerns) = match stop {
        Stop::OutOfTime => (ReasonKind::Timeout, String::new()),
        Stop::Failed(message) => (ReasonKind::Timeout, message.clone()),
    };
    Reason {
        kind,
        place,
        concerns,
    }
}

/// A part of which nothing is known but why.
fn unknown_kernel(construct: &'static str, reason: Reason) -> Kernel {
    Kernel {
        construct,
        place: reason.place.clone(),
        verdict: Verdict::Unknown,
        reasons: vec![reason],
        accesses: 0,
        pairs: 0,
        time: Duration::ZERO,
    }
}

/// How small the smallest case is.
fn size(race: &Told, claim: &Claim) -> (u64, u32, u32) {
    let largest = claim.witness.as_ref().map_or(u64::MAX, |witness| {
        let values = witness.arguments.iter();
        values.map(|value| value.unsigned_abs()).max().unwrap_or(0)
    });
    let line = |access: &FoundAccess| access.place().map_or(0, |place| place.line);
    (largest, line(&race.first), line(&race.second))
}
