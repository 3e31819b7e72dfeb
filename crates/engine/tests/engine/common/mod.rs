//! Shared by tests of whole programs: a compiled program, its recorded run, and the judge that
//! compares the detectors with the oracle.

pub(crate) mod comparison;

use finishline_detect::any_order::AnyOrder;
use finishline_detect::detectors::{MakeShared, Uses, on_threads};
use finishline_detect::history::{Isolated, LastWriterOneReader};
use finishline_detect::listed::Listed;
use finishline_detect::lock_chains::LockChains;
use finishline_detect::named::Named;
use finishline_detect::oracle::{Mode, Oracle, Recorded};
use finishline_detect::order::{self, Drdp, EspBags, Labelled, Order, SpBags};
use finishline_detect::parallel::{InTurn, SharedHistory, SharedOrder};
use finishline_detect::serial::Serial;
use finishline_detect::sited::Sited;
use finishline_detect::{Failure, Findings, LocationSet, RacePairs};
use finishline_engine::cooperative::Cooperative;
use finishline_engine::depth_first::DepthFirst;
use finishline_engine::run::{End, Program, run_for};
use finishline_generate::{Program as Generated, render};
use finishline_ir::listener::Listener;
use finishline_ir::machine::{Limits, Trap};
use finishline_ir::{Construct, Module};
use finishline_model::event::{Record, replay};
use finishline_model::{AccessPoint, Detector, Event, Location, Race, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::atomic::AtomicU64;

/// Compiles a program that must be accepted.
pub(crate) fn compile(source: &str) -> Result<Module, String> {
    match finishline_fin::compile("test.fin", source.as_bytes()) {
        Ok(program) => Ok(program.module),
        Err(errors) => Err(errors.render(false)),
    }
}

/// Runs a program as a check does; what it told.
pub(crate) fn record(module: &Module, fuel: u64) -> Result<Vec<Record>, String> {
    let mut records: Vec<Record> = Vec::new();
    run(module, fuel, &mut records)?;
    Ok(records)
}

/// Runs a program as a check does: depth-first, or in turns if tasks may wait for each other. Its
/// failure, if it failed.
pub(crate) fn run(
    module: &Module,
    fuel: u64,
    listener: &mut impl Listener,
) -> Result<Option<Trap>, String> {
    run_printing(module, fuel, listener, &mut std::io::sink())
}

/// The same, and what it prints goes to `output`.
fn run_printing(
    module: &Module,
    fuel: u64,
    listener: &mut impl Listener,
    output: &mut (dyn Write + Send),
) -> Result<Option<Trap>, String> {
    let program = Program {
        module,
        arguments: &[],
        limits: Limits::default(),
    };
    let progress = AtomicU64::new(0);
    let outcome = if takes_turns(module) {
        let mut schedule = Cooperative::default();
        run_for(fuel, program, &mut schedule, listener, output, &progress)
    } else {
        let mut schedule = DepthFirst::default();
        run_for(fuel, program, &mut schedule, listener, output, &progress)
    };
    match outcome.result {
        End::Finished => Ok(None),
        End::Trapped(trap) => Ok(Some(trap)),
        other => Err(format!("{other:?}")),
    }
}

pub(crate) fn takes_turns(module: &Module) -> bool {
    [Construct::Promise, Construct::Future, Construct::Lock]
        .iter()
        .any(|construct| module.uses(*construct).is_some())
}

/// A program, what the detectors say about its run, and its failure.
pub(crate) struct Checked {
    pub(crate) module: Module,
    pub(crate) judged: Judged,
    pub(crate) trap: Option<Trap>,
}

/// Compiles and runs a generated program, and judges the run.
pub(crate) fn check(judge: &mut Judge, program: &Generated, fuel: u64) -> Result<Checked, String> {
    let module = compile(&render(program))?;
    let (judged, trap) = check_printing(judge, &module, fuel, &mut std::io::sink())?;
    Ok(Checked {
        module,
        judged,
        trap,
    })
}

/// Runs a program, and judges the run. What it prints goes to `output`.
pub(crate) fn check_printing(
    judge: &mut Judge,
    module: &Module,
    fuel: u64,
    output: &mut (dyn Write + Send),
) -> Result<(Judged, Option<Trap>), String> {
    let mut records: Vec<Record> = Vec::new();
    let trap = run_printing(module, fuel, &mut records, output)?;
    let judged = judge.judge(module, &records)?;
    Ok((judged, trap))
}

/// Detectors and the oracle, kept from program to program.
pub(crate) struct Judge {
    oracle: Oracle,
    plain: Serial<EspBags, LastWriterOneReader>,
    isolated: Serial<EspBags, Isolated>,
    sp_bags: Serial<SpBags, LastWriterOneReader>,
}

/// What the detectors, agreeing with the oracle, said about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) racing: BTreeSet<Location>,
    /// Locations with a race that is not only apparent.
    pub(crate) real: BTreeSet<Location>,
    /// Isolated or locked blocks conflict.
    pub(crate) conflict: bool,
    pub(crate) lock_cycle: bool,
}

impl Judge {
    pub(crate) fn new() -> Judge {
        Judge {
            oracle: Oracle::new(20_000),
            plain: Serial::new().expect("memory for a detector"),
            isolated: Serial::new().expect("memory for a detector"),
            sp_bags: Serial::new().expect("memory for a detector"),
        }
    }

    /// Compares every detector that applies with the oracle; the first disagreement, in words.
    pub(crate) fn judge(&mut self, module: &Module, records: &[Record]) -> Result<Judged, String> {
        let judged = self.judge_in_any_order(module, records)?;
        let constructs = || module.constructs.iter().map(|used| used.construct);
        if !takes_turns(module) {
            self.depth_first(module, records, &judged)?;
        } else if constructs().all(|it| Detector::EspBags.judges(it)) {
            under_locks::<order::DepthFirst<EspBags>>("esp-bags", records, &judged)?;
            if constructs().all(|it| Detector::SpBags.judges(it)) {
                under_locks::<order::DepthFirst<SpBags>>("sp-bags", records, &judged)?;
            }
        }
        Ok(judged)
    }

    /// The same for the detectors that can judge a run in any order.
    pub(crate) fn judge_in_any_order(
        &mut self,
        module: &Module,
        records: &[Record],
    ) -> Result<Judged, String> {
        self.oracle.clear();
        replay(records, &mut LockChains(&mut self.oracle));
        if self.oracle.gave_up() {
            return Err("the program is too large for the oracle".to_owned());
        }
        let racing = self.oracle.racing_locations(Mode::Structure);
        let used = |construct| module.uses(construct).is_some();
        let excludes = used(Construct::Isolated) || used(Construct::Lock);
        let conflict = !self.oracle.overlapping_locations().is_empty();
        let real = self.in_any_order(module, records, excludes, &racing)?;
        Ok(Judged {
            racing,
            real,
            conflict,
            lock_cycle: self.oracle.locks_form_a_cycle(),
        })
    }

    /// Compares the detectors that can judge any order of execution with the oracle. The locations
    /// with a race that is not apparent.
    fn in_any_order(
        &self,
        module: &Module,
        records: &[Record],
        excludes: bool,
        racing: &BTreeSet<Location>,
    ) -> Result<BTreeSet<Location>, String> {
        let failed = |failure: Failure| failure.to_string();
        let mut ours = AnyOrder::<Labelled>::new().map_err(failed)?;
        replay(records, &mut ours);
        let ours = ours.finish().map_err(failed)?;
        same("finishline", &ours.racing, racing)?;
        let conflict = ours.isolated_conflict || ours.overlap;
        if conflict == self.oracle.overlapping_locations().is_empty() {
            return Err("finishline denies that blocks conflict, or not".to_owned());
        }
        if ours.lock_cycle != self.oracle.locks_form_a_cycle() {
            return Err("finishline denies that locks are taken in a cycle, or not".to_owned());
        }
        for detector in Detector::ALL {
            let mut constructs = module.constructs.iter();
            if !constructs.all(|used| detector.judges(used.construct)) {
                continue;
            }
            let uses = Uses::of(|construct| module.uses(construct).is_some());
            if let Some(found) = on_threads(detector, InAnyOrder(uses, records)) {
                let found = found.map_err(failed)?;
                if detector.orders_by_locks() && excludes {
                    let found = found.racing.in_order().iter();
                    match found.copied().find(|it| !racing.contains(it)) {
                        Some(it) => return Err(format!("fasttrack invents a race at {it:?}")),
                        None => continue,
                    }
                }
                same(detector.name(), &found.racing, racing)?;
                let overlaps = found.isolated_conflict || found.overlap;
                if racing.is_empty() && overlaps != conflict {
                    return Err(format!("{detector} denies that blocks conflict, or not"));
                }
                if found.lock_cycle != ours.lock_cycle {
                    return Err(format!("{detector} denies that locks form a cycle, or not"));
                }
            }
        }
        if !excludes {
            let mut drdp = Listed::<Drdp>::new().map_err(failed)?;
            replay(records, &mut drdp);
            let drdp = drdp.finish().map_err(failed)?;
            same("drdp", &drdp.racing, racing)?;
        }
        let mut named = Named::<Labelled>::new(&ours.racing, excludes).map_err(failed)?;
        replay(records, &mut named);
        let real = self.named(&named.finish().map_err(failed)?, &ours.racing)?;
        if real != self.oracle.racing_locations(Mode::Observed) {
            return Err("finishline finds other races in the observed order".to_owned());
        }
        Ok(real)
    }

    /// Compares the detectors of depth-first runs with the oracle.
    fn depth_first(
        &mut self,
        module: &Module,
        records: &[Record],
        judged: &Judged,
    ) -> Result<(), String> {
        let racing = &judged.racing;
        let uses_isolated = module.uses(Construct::Isolated).is_some();
        self.isolated.clear();
        replay(records, &mut self.isolated);
        same(
            "esp-bags with isolated cells",
            self.isolated.racing(),
            racing,
        )?;
        let conflict = judged.conflict;
        if self.isolated.isolated_conflict() != conflict {
            return Err(format!(
                "esp-bags denies: isolated blocks conflict = {conflict}"
            ));
        }
        if !uses_isolated {
            self.plain.clear();
            replay(records, &mut self.plain);
            same("esp-bags with plain cells", self.plain.racing(), racing)?;
        }
        let cilk = |construct| matches!(construct, Construct::Spawn | Construct::Sync);
        if module.constructs.iter().all(|used| cilk(used.construct)) {
            self.sp_bags.clear();
            replay(records, &mut self.sp_bags);
            same("sp-bags", self.sp_bags.racing(), racing)?;
        }
        if self.pairs(records, uses_isolated)? != judged.real {
            return Err("the observed order of isolated blocks gives other races".to_owned());
        }
        Ok(())
    }

    /// The second pass of depth-first runs. The locations with a pair that is not apparent.
    fn pairs(&self, records: &[Record], isolated: bool) -> Result<BTreeSet<Location>, String> {
        let racing = self.isolated.racing();
        let pairs = if isolated {
            let mut sited = Sited::<EspBags, Isolated>::new(racing).map_err(|e| e.to_string())?;
            replay(records, &mut sited);
            sited.finish().map_err(|e| e.to_string())?
        } else {
            let mut sited =
                Sited::<EspBags, LastWriterOneReader>::new(racing).map_err(|e| e.to_string())?;
            replay(records, &mut sited);
            sited.finish().map_err(|e| e.to_string())?
        };
        self.named(&pairs, racing)
    }

    /// Every pair that a second pass names must be unordered in the oracle's graph, in the mode it
    /// claims, and every racing location must have one. The locations with a pair that is not
    /// apparent.
    fn named(&self, pairs: &RacePairs, racing: &LocationSet) -> Result<BTreeSet<Location>, String> {
        let mut covered: BTreeSet<Location> = BTreeSet::new();
        let mut real: BTreeSet<Location> = BTreeSet::new();
        for pair in pairs.as_slice() {
            if !self.exists(&pair.race) {
                return Err(format!("no such race in the graph: {:?}", pair.race));
            }
            covered.extend(&pair.locations);
            if !pair.race.ordered_by_isolation {
                real.extend(&pair.locations);
            }
        }
        if !covered.iter().eq(sorted(racing).iter()) {
            return Err("a racing location without a pair of accesses".to_owned());
        }
        Ok(real)
    }

    /// Whether two steps of the graph made these accesses and are unordered as claimed.
    fn exists(&self, race: &Race) -> bool {
        let made = |recorded: &Recorded, point: &AccessPoint| {
            recorded.task == point.task
                && recorded.access == point.access
                && recorded.isolated == point.isolated
        };
        // In the order of the run.
        let accesses = self.oracle.accesses(race.location);
        accesses.iter().enumerate().any(|(at, second)| {
            made(second, &race.second)
                && accesses[..at].iter().any(|first| {
                    let ordered = |mode| self.oracle.ordered(mode, first, second);
                    made(first, &race.first)
                        && !ordered(Mode::Structure)
                        && ordered(Mode::Observed) == race.ordered_by_isolation
                })
        })
    }
}

/// An order of depth-first runs agrees with the oracle, or refuses because the run is none.
fn under_locks<O: Order>(who: &str, records: &[Record], judged: &Judged) -> Result<(), String> {
    let mut detector = AnyOrder::<O>::new().map_err(|failure| failure.to_string())?;
    replay(records, &mut detector);
    match (detector.finish(), is_depth_first(records)) {
        (Err(Failure::Unsupported(_)), false) => Ok(()),
        (Ok(findings), true) => {
            same(who, &findings.racing, &judged.racing)?;
            let conflict = findings.isolated_conflict || findings.overlap;
            match (conflict, findings.lock_cycle) == (judged.conflict, judged.lock_cycle) {
                true => Ok(()),
                false => Err(format!("{who} sees other conflicts or cycles of locks")),
            }
        }
        (Ok(_), false) => Err(format!("{who} judges a run that is not depth-first")),
        (Err(failure), _) => Err(format!("{who} refuses a run: {failure}")),
    }
}

/// Whether a task does nothing while one that began later has not ended.
pub(crate) fn is_depth_first(records: &[Record]) -> bool {
    let mut began: BTreeMap<TaskId, usize> = BTreeMap::new();
    let mut ended: BTreeMap<TaskId, usize> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        match record {
            Record::Event(Event::TaskBegin { task, .. }) => _ = began.insert(*task, at),
            Record::Event(Event::TaskEnd { task }) => _ = ended.insert(*task, at),
            _ => {}
        }
    }
    records.iter().enumerate().all(|(at, record)| {
        let task = match record {
            Record::Event(Event::Alloc { .. }) => return true,
            Record::Event(Event::TaskBegin { parent, .. }) => match parent {
                Some(parent) => *parent,
                None => return true,
            },
            Record::Event(event) => event.task(),
            Record::Access(access) => access.task,
        };
        began.iter().all(|(other, began_at)| {
            let is_later = (began[&task] + 1..at).contains(began_at);
            !is_later || ended.get(other).is_some_and(|ended| *ended < at)
        })
    })
}

fn sorted(locations: &LocationSet) -> BTreeSet<Location> {
    locations.in_order().iter().copied().collect()
}

fn same(who: &str, found: &LocationSet, expected: &BTreeSet<Location>) -> Result<(), String> {
    let found = sorted(found);
    if found == *expected {
        return Ok(());
    }
    Err(format!("{who} finds {found:?}, the oracle {expected:?}"))
}

/// What a detector of parallel runs finds in a recorded run.
struct InAnyOrder<'a>(Uses, &'a [Record]);

impl MakeShared for InAnyOrder<'_> {
    type Output = Result<Findings, Failure>;

    fn shared<O: SharedOrder, H: SharedHistory<O>>(self) -> Self::Output {
        let InAnyOrder(uses, records) = self;
        let mut detector = InTurn::<O, H>::new(uses)?;
        replay(records, &mut detector);
        detector.finish()
    }
}
