//! From findings to an answer: each kernel judged, the same pair of accesses told once.

use crate::Options;
use crate::facts::{Facts, Gap};
use crate::kernels::{self, KernelId};
use crate::objects::Objects;
use crate::races::{Finding, conflict};
use crate::sets::{Isl, Result, Stop};
use crate::symbols::{Kind, Symbol};
use crate::walk;
use crate::words::Words;
use finishline_fin::hir::Program;
use finishline_model::proof::{Kernel, Proof, Reason, ReasonKind, StaticRace};
use finishline_model::{AccessId, SiteId, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Everything that was found out.
pub struct Answer {
    pub proof: Proof,
    /// The accesses that were compared with all others.
    compared: BTreeSet<AccessId>,
    /// Pairs that race, or may, with the parameters for which they do.
    conflicts: Vec<Conflict>,
}

/// Two accesses that race for some parameters.
struct Conflict {
    accesses: [AccessId; 2],
    /// The condition in isl's syntax, parameters in order; none: always.
    condition: String,
}

impl Answer {
    /// The accesses that race with nothing when main gets these arguments. An argument that is no integer is `None`.
    pub fn harmless(&self, arguments: &[Option<i64>]) -> BTreeSet<AccessId> {
        /// Beyond this, sums of counters and multiples of parameters may not fit into 64 bits.
        const LARGEST: i64 = 1 << 31;
        let in_range = |value: &Option<i64>| value.is_none_or(|it| it.abs() <= LARGEST);
        if !arguments.iter().all(in_range) {
            return BTreeSet::new();
        }
        let mut harmless = self.compared.clone();
        let isl = Isl::new();
        for conflict in &self.conflicts {
            if harmless.contains(&conflict.accesses[0]) || harmless.contains(&conflict.accesses[1])
            {
                // Whatever goes wrong, a check too many does no harm.
                if conflict.occurs(&isl, arguments).unwrap_or(true) {
                    harmless.remove(&conflict.accesses[0]);
                    harmless.remove(&conflict.accesses[1]);
                }
            }
        }
        harmless
    }
}

impl Conflict {
    fn occurs(&self, isl: &Isl, arguments: &[Option<i64>]) -> Result<bool> {
        let mut set = isl.condition(&self.condition)?;
        for (at, value) in arguments.iter().enumerate() {
            if let Some(value) = value {
                set = set.intersect(&isl.fixed(Symbol::new(Kind::Parameter, at), *value)?)?;
            }
        }
        Ok(!set.is_empty()?)
    }
}

/// Proves what can be proved.
pub(crate) fn answer(program: &Program, options: &Options) -> Answer {
    let start = Instant::now();
    let isl = Isl::new();
    let clock = isl.clock(options.timeout);
    let facts = walk::walk(&isl, program);
    drop(clock);
    let mut judge = Judge {
        program,
        options,
        compared: BTreeSet::new(),
        conflicts: Vec::new(),
    };
    let parameters = &program.functions[program.main.index()];
    let names = parameters.parameters.iter();
    let mut proof = Proof {
        program: program.source.path.clone(),
        verdict: Verdict::Unknown,
        parameters: names
            .map(|local| parameters.locals[local.index()].name.clone())
            .collect(),
        kernels: Vec::new(),
        remarks: Vec::new(),
        sources: Vec::new(),
        time: start.elapsed(),
    };
    match facts {
        Ok(facts) => proof.kernels = judge.kernels(&isl, &facts),
        Err(stop) => proof.kernels = vec![judge.stopped(KernelId::Program, None, &stop)],
    }
    proof.verdict = verdict(proof.kernels.iter().map(|kernel| kernel.verdict));
    proof.time = start.elapsed();
    Answer {
        proof,
        compared: judge.compared,
        conflicts: judge.conflicts,
    }
}

/// What the parts say of the whole.
fn verdict(parts: impl Iterator<Item = Verdict> + Clone) -> Verdict {
    let any = |wanted| parts.clone().any(|verdict| verdict == wanted);
    if any(Verdict::Race) {
        Verdict::Race
    } else if any(Verdict::Unknown) {
        Verdict::Unknown
    } else {
        Verdict::Proved
    }
}

struct Judge<'p> {
    program: &'p Program,
    options: &'p Options,
    compared: BTreeSet<AccessId>,
    conflicts: Vec<Conflict>,
}

impl Judge<'_> {
    fn kernels(&mut self, isl: &Isl, facts: &Facts) -> Vec<Kernel> {
        let objects = Objects::new(isl, facts);
        let words = Words {
            program: self.program,
            objects: &objects,
        };
        let mut kernels = Vec::new();
        let mut undecided = BTreeSet::new();
        self.compared = facts.accesses.iter().map(|access| access.id).collect();
        for (id, accesses) in kernels::divide(facts).list {
            let clock = isl.clock(self.options.timeout);
            let judged = self.kernel(&words, id, &accesses);
            drop(clock);
            kernels.push(match judged {
                Ok(kernel) => kernel,
                Err(stop) => {
                    undecided.extend(accesses.iter().map(|index| facts.accesses[*index].id));
                    self.stopped(id, Some(&words), &stop)
                }
            });
        }
        for gap in facts.gaps.iter().filter(|gap| gap.is_foreign()) {
            self.foreign(&words, gap, &mut kernels, &mut undecided);
        }
        self.compared.retain(|id| !undecided.contains(id));
        kernels
    }

    /// A kernel about which nothing is known.
    fn stopped(&self, id: KernelId, words: Option<&Words>, stop: &Stop) -> Kernel {
        let (construct, site) = self.construct(id, words);
        let place = match words {
            Some(words) => words.place(site),
            None => finishline_model::summary::Place {
                file: self.program.source.path.clone(),
                line: 1,
                column: 1,
                text: String::new(),
            },
        };
        let concerns = match stop {
            Stop::OutOfTime => construct.to_string(),
            Stop::Failed(message) => message.clone(),
        };
        Kernel {
            construct,
            place: place.clone(),
            verdict: Verdict::Unknown,
            races: Vec::new(),
            reasons: vec![Reason {
                kind: ReasonKind::Timeout,
                place,
                concerns,
            }],
            accesses: 0,
            pairs: 0,
            time: self.options.timeout,
        }
    }

    fn construct(&self, id: KernelId, words: Option<&Words>) -> (&'static str, SiteId) {
        match (id, words) {
            (KernelId::Finish(index), Some(words)) => {
                let finish = &words.objects.facts.finishes[index];
                (finish.construct, finish.site)
            }
            _ => (
                "program",
                self.program.functions[self.program.main.index()].site,
            ),
        }
    }

    /// A call that was not unfolded may race with whatever is in its kernel, and inside itself.
    fn foreign(
        &self,
        words: &Words,
        gap: &Gap,
        kernels: &mut Vec<Kernel>,
        undecided: &mut BTreeSet<AccessId>,
    ) {
        let facts = words.objects.facts;
        let reason = Reason {
            kind: gap.reason,
            place: words.place(gap.site),
            concerns: String::new(),
        };
        for access in &self.program.source.accesses {
            // Its accesses were not all seen: which function a name belongs to does not matter then.
            let _ = access;
        }
        undecided.extend(facts.accesses.iter().map(|access| access.id));
        match kernels.iter_mut().find(|kernel| kernel.construct == "call") {
            Some(kernel) => kernel.reasons.push(reason),
            None => kernels.push(Kernel {
                construct: "call",
                place: reason.place.clone(),
                verdict: Verdict::Unknown,
                races: Vec::new(),
                reasons: vec![reason],
                accesses: 0,
                pairs: 0,
                time: std::time::Duration::ZERO,
            }),
        }
    }

    fn kernel(&mut self, words: &Words, id: KernelId, accesses: &[usize]) -> Result<Kernel> {
        let start = Instant::now();
        let facts = words.objects.facts;
        let mut found = Vec::new();
        let mut pairs = 0;
        for (at, first) in accesses.iter().enumerate() {
            for second in &accesses[at..] {
                let (one, other) = (&facts.accesses[*first], &facts.accesses[*second]);
                if !conflict(one, other) || !kernels::belongs(id, &one.path, &other.path) {
                    continue;
                }
                pairs += 1;
                words.objects.races(*first, *second, &mut found)?;
                if first != second {
                    words.objects.races(*second, *first, &mut found)?;
                }
            }
        }
        let doubtful: Vec<Reason> = facts
            .gaps
            .iter()
            .filter(|gap| kernels::concerns(id, &gap.path))
            .map(|gap| Reason {
                kind: gap.reason,
                place: words.place(gap.site),
                concerns: String::new(),
            })
            .collect();
        let (construct, site) = self.construct(id, Some(words));
        let mut kernel = Kernel {
            construct,
            place: words.place(site),
            verdict: Verdict::Proved,
            races: Vec::new(),
            reasons: Vec::new(),
            accesses: accesses.len(),
            pairs,
            time: start.elapsed(),
        };
        self.tell(words, &found, doubtful, &mut kernel)?;
        kernel.time = start.elapsed();
        Ok(kernel)
    }

    fn tell(
        &mut self,
        words: &Words,
        found: &[Finding],
        gaps: Vec<Reason>,
        kernel: &mut Kernel,
    ) -> Result<()> {
        let facts = words.objects.facts;
        let certain = |finding: &&Finding| finding.doubts.is_empty() && gaps.is_empty();
        let command = format!("finishline check {}", self.program.source.path);
        let mut races: BTreeMap<[AccessId; 2], StaticRace> = BTreeMap::new();
        for finding in found.iter().filter(certain) {
            let race = words.race(finding, &command)?;
            let mut ids = [finding.first, finding.second].map(|index| facts.accesses[index].id);
            ids.sort_unstable();
            let smaller = |other: &StaticRace| size(&race) < size(other);
            if races.get(&ids).is_none_or(smaller) {
                races.insert(ids, race);
            }
        }
        let mut reasons: BTreeMap<(ReasonKind, SiteId), String> = BTreeMap::new();
        for finding in found {
            let parameters = finding
                .set
                .exists(|symbol| symbol.kind != Kind::Parameter)?;
            self.conflicts.push(Conflict {
                accesses: [finding.first, finding.second].map(|index| facts.accesses[index].id),
                condition: format!("{parameters:?}"),
            });
            for doubt in &finding.doubts {
                reasons.entry(*doubt).or_insert_with(|| {
                    let access = &facts.accesses[finding.second];
                    let info = self.program.source.access(access.id);
                    let place = words.place(info.site);
                    format!(
                        "the {} of {} at {}:{}",
                        access.kind.word(),
                        self.program.source.snippet(info.place),
                        place.line,
                        place.column
                    )
                });
            }
        }
        kernel.races = races.into_values().collect();
        kernel.races.sort_by_key(size);
        if found.is_empty() && gaps.iter().all(|gap| gap.kind == ReasonKind::DynamicFinish) {
            return Ok(());
        }
        kernel.reasons = gaps;
        for ((kind, site), concerns) in reasons {
            kernel.reasons.push(Reason {
                kind,
                place: words.place(site),
                concerns,
            });
        }
        kernel.verdict = if kernel.races.is_empty() {
            Verdict::Unknown
        } else {
            Verdict::Race
        };
        Ok(())
    }
}

/// How small the smallest case is.
fn size(race: &StaticRace) -> (u64, u32, u32) {
    let largest = race.witness.as_ref().map_or(u64::MAX, |witness| {
        let values = witness.arguments.iter();
        values.map(|value| value.unsigned_abs()).max().unwrap_or(0)
    });
    (largest, race.first.place.line, race.second.place.line)
}
