//! Races and failures in the user's words, once names and stories are known.

use crate::names::{Names, place};
use crate::question::Question;
use crate::story::Story;
use finishline_detect::RacePair;
use finishline_ir::machine::{Trap, TrapKind};
use finishline_model::summary::{
    self, AccessSummary, Failure, Place, RaceSummary, TaskPath, WhyParallel, shell_word,
};
use finishline_model::{AccessPoint, Location, TaskId};

/// How many names of locations a report carries at most, of each race and in all.
const MOST_NAMES: usize = 1000;

/// A race whose location has its names, so that the heap it refers to can go.
pub(crate) struct NamedRace<'p> {
    pair: &'p RacePair,
    /// Its number among the races of the run.
    number: usize,
    location: String,
    locations: summary::Names,
    allocated: Option<Place>,
}

impl<'p> NamedRace<'p> {
    pub(crate) fn new(names: &Names, number: usize, pair: &'p RacePair) -> Self {
        NamedRace {
            pair,
            number,
            location: names.location(pair.race.location),
            locations: named(names, &pair.locations),
            allocated: names.allocated(pair.race.location),
        }
    }
}

pub(crate) fn named(names: &Names, locations: &[Location]) -> summary::Names {
    let shown = locations.iter().take(MOST_NAMES);
    summary::Names {
        shown: shown.map(|location| names.location(*location)).collect(),
        count: locations.len() as u64,
    }
}

pub(crate) struct Teller<'a, 'm> {
    pub(crate) question: &'a Question<'m>,
    pub(crate) story: &'a Story,
    /// The number of the first race that is not only apparent: the one that is surely possible.
    pub(crate) first_real: Option<usize>,
}

impl Teller<'_, '_> {
    pub(crate) fn race(&self, named: &NamedRace) -> RaceSummary {
        let race = &named.pair.race;
        let mut first = self.access(&race.first);
        let mut second = self.access(&race.second);
        tell_apart(&mut first.task, &mut second.task);
        RaceSummary {
            apparent: race.ordered_by_isolation,
            location: named.location.clone(),
            locations: named.locations.clone(),
            occurrences: named.pair.occurrences,
            first,
            second,
            why: self.why(race.first.task, race.second.task),
            allocated: named.allocated.clone(),
            may_follow: named.number > 0 && self.first_real != Some(named.number),
            replay: self.replay(&named.location),
        }
    }

    pub(crate) fn access(&self, point: &AccessPoint) -> AccessSummary {
        let source = &self.question.module.source;
        let info = source.access(point.access);
        AccessSummary {
            kind: point.kind,
            isolated: point.isolated,
            place: place(source, info.site),
            function: info.function.clone(),
            task: self.task(point.task),
        }
    }

    fn task(&self, task: TaskId) -> TaskPath {
        self.story.path(&self.question.module.source, task)
    }

    /// The task of the first access, or the ancestor of it, that branched off from the path to the second: its join comes too
    /// late. The first task is never an ancestor of the second: what it did before creating it is ordered.
    fn why(&self, first: TaskId, second: TaskId) -> WhyParallel {
        let source = &self.question.module.source;
        let tasks = &self.story.tasks;
        let (first_path, second_path) = (tasks.ancestry(first), tasks.ancestry(second));
        let paths = first_path.iter().zip(&second_path);
        let common = paths.take_while(|(a, b)| a == b).count();
        let branch = first_path.get(common).copied().unwrap_or(first);
        WhyParallel {
            task: self.task(branch),
            spawned: place(source, tasks.site(branch)),
            join: self.story.join(source, branch),
        }
    }

    /// The command that lists every access to the location.
    fn replay(&self, location: &str) -> String {
        let path = &self.question.module.source.path;
        let words = self.question.words.iter();
        let program: Vec<String> = std::iter::once(path)
            .chain(words)
            .map(|word| shell_word(word))
            .collect();
        let (program, watch) = (program.join(" "), shell_word(location));
        // A word with a dash is an option to the command line, unless it is a number.
        let words = std::iter::once(path).chain(&self.question.words);
        let like_option = |word: &String| {
            let rest = word.strip_prefix('-');
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        if words.into_iter().any(like_option) {
            return format!("finishline check --watch {watch} -- {program}");
        }
        format!("finishline check {program} --watch {watch}")
    }

    pub(crate) fn failure(&self, trap: &Trap) -> Failure {
        let source = &self.question.module.source;
        let mut message = trap.kind.message();
        if let TrapKind::SyncInsideBeginFinish { begin } = trap.kind {
            let begin = source.site(begin);
            message.push_str(&format!(", opened at {}:{}", begin.line, begin.column));
        }
        Failure {
            kind: trap.kind.word(),
            message,
            place: place(source, trap.site),
            task: self.task(trap.task),
        }
    }
}

/// Tasks of one loop that captured the same read the same, though they are two.
fn tell_apart(first: &mut TaskPath, second: &mut TaskPath) {
    let mut steps = first.creations.iter_mut().zip(&mut second.creations);
    let Some((a, b)) = steps.find(|(a, b)| a.index != b.index) else {
        return;
    };
    if (a.line, a.construct, &a.captures) == (b.line, b.construct, &b.captures) {
        (a.told_by_index, b.told_by_index) = (true, true);
    }
}
