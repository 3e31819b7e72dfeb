//! Describes races in the user's words, once names and stories are known.

use crate::executor::uses;
use crate::explore::order_script::OrderScript;
use crate::names::{Names, place};
use crate::question::Subject;
use crate::second_pass::{MOST_FOLLOWED, Pairs};
use crate::story::Story;
use crate::suppressions::Numbered;
use finishline_answer::finding::{Finding, FoundAccess, Names as FoundNames, Rule, Seen};
use finishline_answer::shell_word;
use finishline_answer::task::{Created, Relation, Stack, Task, WhyParallel};
use finishline_model::{AccessPoint, Location, TaskId};

/// The most names of locations in a report, for each race and in all.
const MOST_NAMES: usize = 1000;

pub(crate) struct RaceTeller<'a, 'm, S> {
    pub(crate) subject: &'a S,
    pub(crate) names: &'a Names<'m>,
    pub(crate) story: &'a Story<'m>,
    pub(crate) pairs: &'a Pairs,
}

impl<'m, S: Subject<'m>> RaceTeller<'_, 'm, S> {
    /// Describes the race with this number in the run.
    pub(crate) fn race(&self, (number, pair): Numbered<'_>) -> Finding {
        let race = &pair.race;
        let mut first = self.access(&race.first);
        let mut second = self.access(&race.second);
        if let (Some(first), Some(second)) = (&mut first.task, &mut second.task) {
            tell_apart(first, second);
        }
        let location = self.names.location(race.location);
        let path = &self.names.source().path;
        Finding {
            rule: match race.ordered_by_isolation {
                true => Rule::Apparent,
                false => Rule::Race,
            },
            seen: Seen {
                locations: self.locations(&pair.locations),
                times: pair.occurrences,
            },
            first,
            second,
            why: Some(self.why(race.first.task, race.second.task)),
            allocated: self.names.allocated_at(race.location),
            ordered_by: None,
            claim: None,
            may_follow: self.pairs.may_follow(number),
            schedule: self.subject.schedule().map(OrderScript::to_string),
            replay: replay(
                path,
                self.subject.words(),
                self.subject.schedule(),
                &location.to_string(),
            ),
            location,
        }
    }

    /// The names in the order of allocation. This order does not depend on which checks found them.
    pub(crate) fn locations(&self, racing: &[Location]) -> FoundNames {
        let mut named: Vec<Location> = racing.iter().take(MOST_FOLLOWED).copied().collect();
        named.sort_unstable();
        named.truncate(MOST_NAMES);
        FoundNames {
            shown: named.iter().map(|at| self.names.location(*at)).collect(),
            count: racing.len() as u64,
        }
    }

    pub(crate) fn access(&self, point: &AccessPoint) -> FoundAccess {
        let source = &self.subject.module().source;
        let info = source.access(point.access);
        FoundAccess {
            id: Some(point.access),
            kind: point.kind.into(),
            isolated: point.isolated,
            stack: Stack::of(&info.function, place(source, info.site)),
            task: Some(self.story.path(point.task)),
            instance: Vec::new(),
            machine: None,
        }
    }

    /// Finds the first task or its ancestor that branched off from the path to the second task. Its
    /// join comes too late. In a depth-first run the first task is never an ancestor of the second:
    /// accesses before the creation of the second are ordered. Where tasks wait for promises it may
    /// be one. Then the task that branched off towards the second access is told.
    fn why(&self, first: TaskId, second: TaskId) -> WhyParallel {
        let story = self.story;
        let (first_path, second_path) = (story.ancestry(first), story.ancestry(second));
        let paths = first_path.iter().zip(&second_path);
        let common = paths.take_while(|(a, b)| a == b).count();
        let (relation, branch) = match (first_path.get(common), second_path.get(common)) {
            (None, Some(&branch)) => (Relation::SecondOutlives, branch),
            (branch, _) => (Relation::FirstOutlives, branch.copied().unwrap_or(first)),
        };
        WhyParallel {
            relation,
            task: story.path(branch),
            spawned: Some(place(self.names.source(), story.site(branch))),
            other_spawned: None,
            join: story.join(branch),
            promises: uses(self.subject.module()).promises,
        }
    }
}

/// The command that lists every access to a location, in a run of a program with these arguments.
pub(crate) fn replay(
    path: &str,
    arguments: &[String],
    schedule: Option<&OrderScript>,
    location: &str,
) -> String {
    let words = || std::iter::once(path).chain(arguments.iter().map(String::as_str));
    let program = words().map(shell_word).collect::<Vec<_>>().join(" ");
    let mut watch = shell_word(location);
    if let Some(schedule) = schedule {
        let schedule = schedule.to_string();
        watch = format!("{watch} --schedule {}", shell_word(&schedule));
    }
    // A word that starts with a dash is an option of the command line, unless it is a number.
    let like_option = |word: &str| {
        let rest = word.strip_prefix('-');
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    if words().any(like_option) {
        return format!("finishline check --watch {watch} -- {program}");
    }
    format!("finishline check {program} --watch {watch}")
}

/// Two tasks of one loop with equal captured values look the same. Then indices tell them apart.
fn tell_apart(first: &mut Task, second: &mut Task) {
    let mut steps = first.steps.iter_mut().zip(&mut second.steps);
    let Some((a, b)) = steps.find(|(a, b)| !a.is_same(b)) else {
        return;
    };
    let is_alike = (a.line(), &a.operation) == (b.line(), &b.operation);
    if let (Created::One(a), Created::One(b)) = (&mut a.created, &mut b.created)
        && is_alike
        && a.captures == b.captures
    {
        (a.told_by_index, b.told_by_index) = (true, true);
    }
}
