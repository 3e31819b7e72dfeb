//! Event streams written as little programs, and the comparison of every detector with the oracle
//! on one of them.
//!
//! The notation, words separated by blanks: `ra` and `wb` read a and write b; `ra+3*2` reads three
//! locations two apart; `async{ … }`, `finish{ … }`, `begin{ … }` (begin_finish), `scope{ … }` (a
//! sync scope), `spawn{ … }`, `isolated{ … }`; `sync` joins the innermost scope of its task.
//! `escape1{ … }` is a task that the finish around the innermost one waits for, and so on; `lock0{
//! … }` and `shared0{ … }` hold lock 0 exclusively and shared, `atomic{ … }` makes accesses atomic;
//! `release0`, `update0` and `acquire0` release object 0, release it and keep its earlier releases
//! in effect, and acquire it; `glimpse0` acquires it until `forget` or, for good, `keep`. `thread{
//! … }` is a task of the root finish that is suspended at each `pause` that is in no task and
//! finish inside it; `resume0` resumes the suspended one that has waited longest, `resume1` the
//! next one, and in the end all are. Locations are the letters, small ones first.

pub(crate) mod inline;

pub(crate) use inline::{InlineChecks, RangeChecks};

use finishline_detect::LocationSet;
use finishline_detect::history::{Isolated, LastWriterOneReader, ObservedOrder, WriteCoversReads};
use finishline_detect::oracle::{Mode, Oracle, Recorded};
use finishline_detect::order::isolation::{IsolationOrder, StepId};
use finishline_detect::order::{EspBags, Order, Running, SpBags, Stamp};
use finishline_detect::pairs::{RacePair, RacePairs};
use finishline_detect::serial::Serial;
use finishline_detect::sited::Sited;
use finishline_model::{
    Access, AccessId, AccessKind, AllocationId, Event, FinishId, FinishKind, Location, LockId,
    LockMode, ObjectId, Observer, Race, SiteId, TaskId, TaskKind,
};
use std::collections::BTreeSet;
use std::fmt::Write;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Open {
    Async,
    Spawn,
    Finish(FinishKind),
    Isolated,
    /// A task that a finish so much further out than the innermost one waits for.
    Escape(u32),
    /// A task of the root finish that may be suspended.
    Thread,
    Lock(LockId, LockMode),
}

impl Open {
    const ALL: [(Open, &str); 14] = [
        (Open::Thread, "thread{"),
        (Open::Async, "async{"),
        (Open::Spawn, "spawn{"),
        (Open::Finish(FinishKind::Lexical), "finish{"),
        (Open::Finish(FinishKind::Dynamic), "begin{"),
        (Open::Finish(FinishKind::SyncScope), "scope{"),
        (Open::Isolated, "isolated{"),
        (Open::Escape(1), "escape1{"),
        (Open::Escape(2), "escape2{"),
        (Open::Lock(LockId(0), LockMode::Exclusive), "lock0{"),
        (Open::Lock(LockId(0), LockMode::Shared), "shared0{"),
        (Open::Lock(LockId(1), LockMode::Exclusive), "lock1{"),
        (Open::Lock(LockId(1), LockMode::Shared), "shared1{"),
        (Open::Lock(LockId::ATOMIC, LockMode::Exclusive), "atomic{"),
    ];
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    Open(Open),
    Close,
    Sync,
    Release {
        object: ObjectId,
        continues: bool,
    },
    Acquire(ObjectId),
    Relay {
        from: ObjectId,
        to: ObjectId,
        continues: bool,
    },
    Glimpse(ObjectId),
    GlimpseEnd {
        keep: bool,
    },
    Pause,
    Resume(usize),
    Access {
        kind: AccessKind,
        first: u64,
        count: u64,
        stride: u64,
    },
}

impl Word {
    pub(crate) fn access(kind: AccessKind, location: u64) -> Word {
        Word::Access {
            kind,
            first: location,
            count: 1,
            stride: 1,
        }
    }

    pub(crate) fn uses(words: &[Word], open: Open) -> bool {
        words.contains(&Word::Open(open))
    }
}

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

pub(crate) fn parse(text: &str) -> Vec<Word> {
    let word = |word: &str| {
        if let Some((open, _)) = Open::ALL.iter().find(|(_, name)| *name == word) {
            return Word::Open(*open);
        }
        match word {
            "}" => return Word::Close,
            "sync" => return Word::Sync,
            "pause" => return Word::Pause,
            "forget" => return Word::GlimpseEnd { keep: false },
            "keep" => return Word::GlimpseEnd { keep: true },
            _ => {}
        }
        for (name, continues) in [("release", false), ("update", true)] {
            if let Some(object) = word.strip_prefix(name) {
                let object = ObjectId(object.parse().unwrap());
                return Word::Release { object, continues };
            }
        }
        for (name, continues) in [("relay", false), ("add", true)] {
            if let Some(objects) = word.strip_prefix(name) {
                let (from, to) = objects.split_once("to").unwrap();
                return Word::Relay {
                    from: ObjectId(from.parse().unwrap()),
                    to: ObjectId(to.parse().unwrap()),
                    continues,
                };
            }
        }
        if let Some(object) = word.strip_prefix("acquire") {
            return Word::Acquire(ObjectId(object.parse().unwrap()));
        }
        if let Some(object) = word.strip_prefix("glimpse") {
            return Word::Glimpse(ObjectId(object.parse().unwrap()));
        }
        if let Some(which) = word.strip_prefix("resume") {
            return Word::Resume(which.parse().unwrap());
        }
        let kind = match &word[..1] {
            "r" => AccessKind::Read,
            "w" => AccessKind::Write,
            _ => panic!("not a word: {word}"),
        };
        let first = LETTERS.find(&word[1..2]).expect("a letter") as u64;
        let range = word[2..]
            .strip_prefix('+')
            .and_then(|range| range.split_once('*'));
        let (count, stride) = range.map_or((1, 1), |(count, stride)| {
            (count.parse().unwrap(), stride.parse().unwrap())
        });
        Word::Access {
            kind,
            first,
            count,
            stride,
        }
    };
    text.split_whitespace().map(word).collect()
}

pub(crate) fn show(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        match *word {
            Word::Open(open) => {
                text += Open::ALL
                    .iter()
                    .find(|(other, _)| *other == open)
                    .unwrap()
                    .1;
            }
            Word::Close => text += "}",
            Word::Sync => text += "sync",
            Word::Release { object, continues } => {
                let name = if continues { "update" } else { "release" };
                write!(text, "{name}{}", object.0).unwrap();
            }
            Word::Acquire(object) => write!(text, "acquire{}", object.0).unwrap(),
            Word::Relay {
                from,
                to,
                continues,
            } => {
                let name = if continues { "add" } else { "relay" };
                write!(text, "{name}{}to{}", from.0, to.0).unwrap();
            }
            Word::Glimpse(object) => write!(text, "glimpse{}", object.0).unwrap(),
            Word::GlimpseEnd { keep: true } => text += "keep",
            Word::GlimpseEnd { keep: false } => text += "forget",
            Word::Pause => text += "pause",
            Word::Resume(which) => write!(text, "resume{which}").unwrap(),
            Word::Access {
                kind,
                first,
                count,
                stride,
            } => {
                let place = first as usize;
                let place = LETTERS.get(place..=place).unwrap_or("?");
                let letter = &kind.word()[..1];
                write!(text, "{letter}{place}").unwrap();
                if (count, stride) != (1, 1) {
                    write!(text, "+{count}*{stride}").unwrap();
                }
            }
        }
        text += " ";
    }
    text
}

const SITE: SiteId = SiteId(0);

/// Tells the depth-first run of a program; every access of it has an id of its own.
struct ProgramRun<'a, O> {
    observer: &'a mut O,
    tasks: u32,
    finishes: u32,
    accesses: u32,
    /// The live tasks and their open finishes, the running one last.
    live: Vec<LiveTask>,
    /// By finish: the one around it that is in reach.
    around: Vec<FinishId>,
    suspended: Vec<(LiveTask, Body<'a>)>,
}

/// What is left to tell of the program, or of a thread.
struct Body<'a> {
    words: &'a [Word],
    open: Vec<Open>,
}

struct LiveTask {
    id: TaskId,
    enclosing: FinishId,
    open: Vec<(FinishId, FinishKind)>,
}

impl<'a, O: Observer> ProgramRun<'a, O> {
    fn running(&mut self) -> &mut LiveTask {
        self.live.last_mut().expect("main is live")
    }

    /// The innermost finish in reach.
    fn innermost(&self) -> FinishId {
        self.live.last().map_or(FinishId::ROOT, |running| {
            let innermost = running.open.last();
            innermost.map_or(running.enclosing, |innermost| innermost.0)
        })
    }

    fn begin_task(&mut self, kind: TaskKind, further_out: u32) {
        let mut finish = self.innermost();
        for _ in 0..further_out {
            finish = self.around[finish.index()];
        }
        self.begin_task_of(kind, finish);
    }

    fn begin_task_of(&mut self, kind: TaskKind, finish: FinishId) {
        let task = TaskId(self.tasks);
        self.tasks += 1;
        let parent = self.live.last().map(|parent| parent.id);
        let site = SITE;
        self.observer.event(&Event::TaskBegin {
            task,
            parent,
            kind,
            finish,
            site,
        });
        self.live.push(LiveTask {
            id: task,
            enclosing: finish,
            open: Vec::new(),
        });
    }

    fn end_task(&mut self) {
        let task = self.running().id;
        self.live.pop();
        self.observer.event(&Event::TaskEnd { task });
    }

    fn begin_finish(&mut self, kind: FinishKind) {
        let (task, finish) = (self.running().id, FinishId(self.finishes));
        self.finishes += 1;
        self.around.push(self.innermost());
        self.running().open.push((finish, kind));
        self.observer.event(&Event::FinishBegin {
            task,
            finish,
            kind,
            site: SITE,
        });
    }

    fn end_finish(&mut self) {
        let task = self.running().id;
        let (finish, _) = self.running().open.pop().expect("balanced");
        self.observer.event(&Event::FinishEnd {
            task,
            finish,
            site: SITE,
        });
    }

    fn sync(&mut self) {
        let task = self.running().id;
        let mut open = self.running().open.iter();
        if let Some(&(finish, _)) = open.rfind(|(_, kind)| *kind == FinishKind::SyncScope) {
            self.observer.event(&Event::FinishJoin {
                task,
                finish,
                site: SITE,
            });
        }
    }

    /// Tells a body up to its end, or to where its thread pauses. Whether it is the end.
    fn tell(&mut self, body: &mut Body<'a>, is_thread: bool) -> bool {
        while let [word, rest @ ..] = body.words {
            if *word == Word::Open(Open::Thread) {
                let end = closing(body.words, 0);
                let thread = Body {
                    words: &body.words[1..end],
                    open: Vec::new(),
                };
                body.words = &body.words[end + 1..];
                self.begin_task_of(TaskKind::Async, FinishId::ROOT);
                self.go_on(thread);
                continue;
            }
            body.words = rest;
            match *word {
                Word::Open(construct) => {
                    body.open.push(construct);
                    match construct {
                        Open::Async => self.begin_task(TaskKind::Async, 0),
                        Open::Spawn => self.begin_task(TaskKind::Spawn, 0),
                        Open::Thread => unreachable!("told above"),
                        Open::Escape(further_out) => self.begin_task(TaskKind::Async, further_out),
                        Open::Finish(kind) => self.begin_finish(kind),
                        Open::Lock(lock, mode) => {
                            let task = self.running().id;
                            self.observer.event(&Event::Lock { task, lock, mode });
                        }
                        Open::Isolated => {
                            let event = Event::IsolatedBegin {
                                task: self.running().id,
                                site: SITE,
                            };
                            self.observer.event(&event);
                        }
                    }
                }
                Word::Close => match body.open.pop().expect("balanced") {
                    Open::Async | Open::Spawn | Open::Escape(_) | Open::Thread => self.end_task(),
                    Open::Lock(lock, _) => {
                        let task = self.running().id;
                        self.observer.event(&Event::Unlock { task, lock });
                    }
                    Open::Finish(_) => self.end_finish(),
                    Open::Isolated => {
                        let event = Event::IsolatedEnd {
                            task: self.running().id,
                            site: SITE,
                        };
                        self.observer.event(&event);
                    }
                },
                Word::Sync => self.sync(),
                Word::Release { object, continues } => {
                    let task = self.running().id;
                    self.observer.event(&Event::Release {
                        task,
                        object,
                        continues,
                    });
                }
                Word::Acquire(object) => {
                    let task = self.running().id;
                    self.observer.event(&Event::Acquire { task, object });
                }
                Word::Relay {
                    from,
                    to,
                    continues,
                } => {
                    let task = self.running().id;
                    self.observer.event(&Event::Relay {
                        task,
                        from,
                        to,
                        continues,
                    });
                }
                Word::Glimpse(object) => {
                    let task = self.running().id;
                    self.observer.event(&Event::Glimpse { task, object });
                }
                Word::GlimpseEnd { keep } => {
                    let task = self.running().id;
                    self.observer.event(&Event::GlimpseEnd { task, keep });
                }
                Word::Pause => {
                    let atomic = LockId::ATOMIC;
                    let holds =
                        |open: &Open| matches!(open, Open::Lock(lock, _) if *lock != atomic);
                    if is_thread && body.open.iter().all(holds) {
                        return false;
                    }
                }
                Word::Resume(which) => self.resume(which),
                Word::Access {
                    kind,
                    first,
                    count,
                    stride,
                } => {
                    let (task, id) = (self.running().id, AccessId(self.accesses));
                    self.accesses += 1;
                    self.observer.access(&Access {
                        task,
                        kind,
                        first: Location(first),
                        count,
                        stride,
                        id,
                    });
                }
            }
        }
        true
    }

    /// The running thread goes on with this.
    fn go_on(&mut self, mut body: Body<'a>) {
        if self.tell(&mut body, true) {
            self.end_task();
        } else if let Some(thread) = self.live.pop() {
            self.observer.event(&Event::Suspend { task: thread.id });
            self.suspended.push((thread, body));
        }
    }

    fn resume(&mut self, which: usize) {
        if !self.suspended.is_empty() {
            let which = which % self.suspended.len();
            let (thread, body) = self.suspended.remove(which);
            self.observer.event(&Event::Resume { task: thread.id });
            self.live.push(thread);
            self.go_on(body);
        }
    }
}

pub(crate) fn tell(words: &[Word], locations: u64, observer: &mut impl Observer) {
    let mut teller = ProgramRun {
        observer,
        tasks: 0,
        finishes: 0,
        accesses: 0,
        live: Vec::new(),
        around: Vec::new(),
        suspended: Vec::new(),
    };
    teller.begin_task(TaskKind::Main, 0);
    teller.begin_finish(FinishKind::Root);
    teller.observer.event(&Event::Alloc {
        task: TaskId::MAIN,
        allocation: AllocationId(0),
        first: Location(0),
        count: locations,
    });
    let mut program = Body {
        words,
        open: Vec::new(),
    };
    teller.tell(&mut program, false);
    while !teller.suspended.is_empty() {
        teller.resume(0);
    }
    teller.end_finish();
    teller.end_task();
}

/// Removes single words, constructs with and without what is in them, while the program still
/// fails.
pub(crate) fn shrink(mut words: Vec<Word>, fails: &mut impl FnMut(&[Word]) -> bool) -> Vec<Word> {
    'again: loop {
        for start in 0..words.len() {
            let mut smaller = Vec::new();
            match words[start] {
                Word::Close => continue,
                Word::Open(_) => {
                    let end = closing(&words, start);
                    smaller.push([&words[..start], &words[end + 1..]].concat());
                    smaller.push(
                        [&words[..start], &words[start + 1..end], &words[end + 1..]].concat(),
                    );
                }
                _ => {
                    smaller.push([&words[..start], &words[start + 1..]].concat());
                }
            }
            if let Some(found) = smaller.into_iter().find(|candidate| fails(candidate)) {
                words = found;
                continue 'again;
            }
        }
        return words;
    }
}

pub(crate) fn closing(words: &[Word], open: usize) -> usize {
    let mut depth = 0;
    for (index, word) in words.iter().enumerate().skip(open) {
        match word {
            Word::Open(_) => depth += 1,
            Word::Close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    unreachable!("balanced")
}

pub(crate) fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

/// The observed order and its history alone, without the structural history that the second pass
/// has beside them.
#[derive(Debug)]
struct ObservedAlone {
    structure: EspBags,
    isolation: IsolationOrder,
    cells: Vec<ObservedOrder<(Stamp, StepId)>>,
    racing: BTreeSet<Location>,
}

impl ObservedAlone {
    fn new(locations: u64) -> Self {
        ObservedAlone {
            structure: EspBags::new().unwrap(),
            isolation: IsolationOrder::new(),
            cells: vec![ObservedOrder::default(); locations as usize],
            racing: BTreeSet::new(),
        }
    }

    fn clear(&mut self) {
        self.structure.clear();
        self.isolation.clear();
        self.cells.fill(ObservedOrder::default());
        self.racing.clear();
    }
}

impl Observer for ObservedAlone {
    fn event(&mut self, event: &Event) {
        self.structure.event(event).unwrap();
        self.isolation.event(event).unwrap();
    }

    fn access(&mut self, access: &Access) {
        let step = self.isolation.now(access.task).unwrap();
        let stamp = self.structure.stamp(Running);
        for location in access.locations() {
            let races = self.cells[location.0 as usize].access(
                (stamp, step.id),
                access.kind,
                |&(stamp, earlier)| {
                    !self.structure.parallel(Running, stamp) || self.isolation.before(earlier, step)
                },
                |&(_, earlier)| self.isolation.first_block_after(earlier),
            );
            if races.iter().any(Option::is_some) {
                self.racing.insert(location);
            }
        }
    }
}

/// All detectors and the oracle, used again for one program after another.
pub(crate) struct Comparison {
    locations: u64,
    pub(crate) oracle: Oracle,
    pub(crate) esp_bags: Serial<EspBags, LastWriterOneReader>,
    covering: Serial<EspBags, WriteCoversReads>,
    covering_cilk: Serial<SpBags, WriteCoversReads>,
    inline: InlineChecks<EspBags>,
    inline_cilk: InlineChecks<SpBags>,
    ranges: RangeChecks<EspBags>,
    ranges_cilk: RangeChecks<SpBags>,
    pub(crate) esp_bags_isolated: Serial<EspBags, Isolated>,
    pub(crate) sp_bags: Serial<SpBags, LastWriterOneReader>,
    pub(crate) sited: Sited<'static, EspBags, Isolated>,
    observed_alone: ObservedAlone,
    sited_plain: Sited<'static, EspBags, LastWriterOneReader>,
    sited_cilk: Sited<'static, SpBags, LastWriterOneReader>,
}

impl Comparison {
    pub(crate) fn new(locations: u64) -> Self {
        let mut all = LocationSet::new().unwrap();
        for location in 0..locations {
            all.insert(Location(location)).unwrap();
        }
        let all: &'static LocationSet = Box::leak(Box::new(all));
        Comparison {
            locations,
            oracle: Oracle::new(1000),
            esp_bags: Serial::new().unwrap(),
            covering: Serial::new().unwrap(),
            covering_cilk: Serial::new().unwrap(),
            inline: InlineChecks::new(locations),
            inline_cilk: InlineChecks::new(locations),
            ranges: RangeChecks::new(locations, false),
            ranges_cilk: RangeChecks::new(locations, true),
            esp_bags_isolated: Serial::new().unwrap(),
            sp_bags: Serial::new().unwrap(),
            sited: Sited::new(all).unwrap(),
            observed_alone: ObservedAlone::new(locations),
            sited_plain: Sited::new(all).unwrap(),
            sited_cilk: Sited::new(all).unwrap(),
        }
    }

    /// Whether every detector agrees with the oracle within its guarantee; else the first
    /// disagreement.
    pub(crate) fn run(&mut self, words: &[Word]) -> Result<(), String> {
        self.oracle.clear();
        tell(words, self.locations, &mut self.oracle);
        if self.oracle.gave_up() {
            return Err("the oracle gave up".into());
        }
        let racing = self.oracle.racing_locations(Mode::Structure);

        self.esp_bags_isolated.clear();
        tell(words, self.locations, &mut self.esp_bags_isolated);
        same(
            "esp-bags, isolated",
            &racing,
            self.esp_bags_isolated.racing(),
        )?;
        let overlap = self.oracle.isolated_blocks_conflict();
        if self.esp_bags_isolated.isolated_conflict() != overlap {
            return Err(format!(
                "isolated blocks conflict: {overlap} says the oracle"
            ));
        }
        self.inline.clear();
        tell(words, self.locations, &mut self.inline);
        let inline = &self.inline.detector;
        same("esp-bags, inline", &racing, inline.racing())?;
        if inline.isolated_conflict() != overlap {
            return Err(format!(
                "inline denies: isolated blocks conflict = {overlap}"
            ));
        }
        self.ranges.clear();
        tell(words, self.locations, &mut self.ranges);
        self.ranges.agrees(&self.inline)?;
        if !Word::uses(words, Open::Isolated) {
            self.covering.clear();
            tell(words, self.locations, &mut self.covering);
            same("esp-bags, covering", &racing, self.covering.racing())?;
            self.esp_bags.clear();
            tell(words, self.locations, &mut self.esp_bags);
            same("esp-bags", &racing, self.esp_bags.racing())?;
            self.sited_plain.clear();
            tell(words, self.locations, &mut self.sited_plain);
            self.pairs_agree(self.sited_plain.pairs(), &racing)?;
        }
        let beyond_cilk = [
            Open::Async,
            Open::Isolated,
            Open::Finish(FinishKind::Lexical),
            Open::Finish(FinishKind::Dynamic),
        ];
        if !beyond_cilk.iter().any(|&open| Word::uses(words, open)) {
            self.covering_cilk.clear();
            tell(words, self.locations, &mut self.covering_cilk);
            same("sp-bags, covering", &racing, self.covering_cilk.racing())?;
            self.inline_cilk.clear();
            tell(words, self.locations, &mut self.inline_cilk);
            same(
                "sp-bags, inline",
                &racing,
                self.inline_cilk.detector.racing(),
            )?;
            self.ranges_cilk.clear();
            tell(words, self.locations, &mut self.ranges_cilk);
            self.ranges_cilk.agrees(&self.inline_cilk)?;
            self.sp_bags.clear();
            tell(words, self.locations, &mut self.sp_bags);
            same("sp-bags", &racing, self.sp_bags.racing())?;
            self.sited_cilk.clear();
            tell(words, self.locations, &mut self.sited_cilk);
            self.pairs_agree(self.sited_cilk.pairs(), &racing)?;
        }
        self.sited.clear();
        tell(words, self.locations, &mut self.sited);
        self.pairs_agree(self.sited.pairs(), &racing)?;

        self.observed_alone.clear();
        tell(words, self.locations, &mut self.observed_alone);
        let (alone, observed) = (
            &self.observed_alone.racing,
            self.oracle.racing_locations(Mode::Observed),
        );
        if *alone != observed {
            return Err(format!(
                "the observed order alone races at {alone:?}, not {observed:?}"
            ));
        }
        Ok(())
    }

    fn pairs_agree(&self, pairs: &RacePairs, racing: &BTreeSet<Location>) -> Result<(), String> {
        let pairs = pairs.as_slice();
        for pair in pairs {
            for &location in &pair.locations {
                self.pair_agrees(&Race {
                    location,
                    ..pair.race
                })?;
            }
        }
        let places = |pairs: &mut dyn Iterator<Item = &RacePair>| -> BTreeSet<Location> {
            pairs
                .flat_map(|pair| pair.locations.iter().copied())
                .collect()
        };
        let named = places(&mut pairs.iter());
        if named != *racing {
            return Err(format!("pairs at {named:?}, races at {racing:?}"));
        }
        let real = places(&mut pairs.iter().filter(|pair| !pair.race.ordered_by_isolation));
        let observed = self.oracle.racing_locations(Mode::Observed);
        if real != observed {
            return Err(format!(
                "pairs that are not apparent at {real:?}, such races at {observed:?}"
            ));
        }
        Ok(())
    }

    fn pair_agrees(&self, race: &Race) -> Result<(), String> {
        let find = |id: AccessId| -> Result<&Recorded, String> {
            let accesses = self.oracle.accesses(race.location);
            let found = accesses.iter().find(|recorded| recorded.access == id);
            found.ok_or(format!("{race:?}: no such access"))
        };
        let (first, second) = (find(race.first.access)?, find(race.second.access)?);
        for (recorded, point) in [(first, race.first), (second, race.second)] {
            if (recorded.task, recorded.kind, recorded.isolated)
                != (point.task, point.kind, point.isolated)
            {
                return Err(format!("{race:?}: the oracle recorded {recorded:?}"));
            }
        }
        if first.kind == AccessKind::Read && second.kind == AccessKind::Read
            || first.isolated && second.isolated
            || self.oracle.ordered(Mode::Structure, first, second)
        {
            return Err(format!("{race:?} is no race"));
        }
        if self.oracle.ordered(Mode::Observed, first, second) != race.ordered_by_isolation {
            return Err(format!("{race:?}: not so by the order of isolated blocks"));
        }
        Ok(())
    }
}

fn same(detector: &str, expected: &BTreeSet<Location>, found: &LocationSet) -> Result<(), String> {
    let found: BTreeSet<Location> = found.in_order().iter().copied().collect();
    if found == *expected {
        return Ok(());
    }
    Err(format!(
        "{detector} finds races at {found:?}, the oracle at {expected:?}"
    ))
}
