//! The conflicts of a run that only isolated blocks or locks keep apart, in the user's words: they
//! are no races, but the result may depend on which access comes first.

use crate::question::{Again, Question, Subject};
use crate::rerun::Rerun;
use crate::second_pass::Pairs;
use crate::story::Story;
use crate::teller::RaceTeller;
use finishline_answer::finding::{Finding, OrderedBy, Rule};
use finishline_detect::detectors::overlaps;
use finishline_model::{Location, LockId};

/// Conflicts that are no races.
pub struct Conflicts {
    /// At most as many as races are shown.
    pub findings: Vec<Finding>,
    /// How many there are in all.
    pub count: usize,
}

/// Runs the program again and lists its conflicts under common locks. The error is a sentence.
pub fn conflicts(question: &Question<'_>) -> Result<Conflicts, String> {
    let (_, found) = overlaps(Again::new(question, ()))
        .map_err(|failure| format!("the conflicts under locks could not be found: {failure}"))?;
    let pairs = Pairs {
        pairs: found.into_vec(),
        ..Pairs::default()
    };
    let shown = &pairs.pairs[..pairs.pairs.len().min(question.max_races)];
    let locations: Vec<Location> = shown.iter().flat_map(|it| it.locations.clone()).collect();
    let locks = shown.iter().filter_map(|pair| pair.race.excluded_by);
    let mut rerun = Rerun::new(question.module, &locations, None);
    rerun.names.want_locks(locks);
    question.again(&mut rerun);
    let tasks = shown
        .iter()
        .flat_map(|pair| [pair.race.first.task, pair.race.second.task]);
    let teller = RaceTeller {
        subject: question,
        names: &rerun.names,
        story: &Story::of(question, tasks, None),
        pairs: &pairs,
    };
    let told = |(number, pair)| {
        let finding = teller.race((number, pair));
        let (rule, ordered_by) = match pair.race.excluded_by {
            Some(LockId::ISOLATED) | None => (Rule::IsolationOrdered, OrderedBy::Isolation),
            Some(lock) => {
                let at = rerun.names.lock(lock);
                let by = OrderedBy::Lock {
                    name: at.map(|at| rerun.names.location(at)),
                    made: at.and_then(|at| rerun.names.allocated_at(at)),
                };
                (Rule::LockOrdered, by)
            }
        };
        Finding {
            rule,
            ordered_by: Some(ordered_by),
            may_follow: false,
            ..finding
        }
    };
    Ok(Conflicts {
        findings: shown.iter().enumerate().map(told).collect(),
        count: pairs.pairs.len(),
    })
}
