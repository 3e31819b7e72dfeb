//! Event streams written as little programs. The tests of the crate `graph` include this file too.
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

use finishline_model::{
    Access, AccessId, AccessKind, AllocationId, Event, FinishId, FinishKind, Location, LockId,
    LockMode, ObjectId, Observer, SiteId, TaskId, TaskKind,
};
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
