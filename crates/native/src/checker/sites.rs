//! Sites: the different accesses that a program makes, and the latest context of each.
//!
//! An access is remembered by a context of the running step. A step makes one context for each
//! site, so a loop that makes the same access over and over needs one. The latest context of a site
//! is looked up in a small table by place first, and by the whole site only if that fails.
//!
//! **The situation** in which accesses are made, the locks and the thread of the task, changes more
//! seldom than sites do, and is not part of them. It is noted whenever it has changed, with the
//! first context that was made in it, and found by a search when a conflict is named. The contexts
//! of a step that were made before are not used any more from then on.

use super::stays::Stay;
use crate::facts::holding::Holding;
use crate::facts::races::Manner;
use crate::facts::structure::Position;
use finishline_detect::Failure;
use finishline_detect::order::{Contexts, Order, Running, Stamp};
use finishline_model::AccessKind;
use finishline_model::hash::IdMap;

/// An access as a context remembers it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Site {
    pub(super) kind: AccessKind,
    pub(super) at: Position,
    pub(super) bytes: u32,
    pub(super) manner: Manner,
}

/// What an access is made in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Situation {
    /// The locks that the task has taken.
    pub(super) holding: Holding,
    /// The thread that the task is on.
    pub(super) stay: Stay,
}

/// The length of an access as a site has it.
pub(super) fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// How many places the table of latest contexts has.
const LATEST: usize = 1024;

#[derive(Debug)]
pub(super) struct Sites {
    /// By number: the site, and its latest context.
    all: Vec<(Site, Stamp)>,
    numbers: IdMap<Site, u32>,
    /// By place of the access: the latest site there.
    latest: [Option<LatestSite>; LATEST],
    /// Each with the first context made in it.
    situations: Vec<(Stamp, Situation)>,
}

#[derive(Clone, Copy, Debug)]
struct LatestSite {
    site: Site,
    number: u32,
    /// Its latest context.
    context: Stamp,
}

impl Default for Sites {
    fn default() -> Sites {
        Sites {
            all: Vec::new(),
            numbers: IdMap::default(),
            latest: [None; LATEST],
            situations: Vec::new(),
        }
    }
}

impl Sites {
    #[inline]
    fn entry(Position { place, calls }: Position) -> usize {
        let calls = u64::from(calls.0).wrapping_mul(0x9e37_79b1);
        (place ^ place >> 10 ^ calls) as usize % LATEST
    }

    /// The site with a number.
    pub(super) fn site(&self, number: u32) -> Site {
        self.all[number as usize].0
    }

    /// Whether contexts are made in this situation now.
    #[inline]
    pub(super) fn is_in(&self, situation: Situation) -> bool {
        self.situations
            .last()
            .is_some_and(|(_, latest)| *latest == situation)
    }

    /// The contexts from `first` on are made in this situation.
    pub(super) fn begin_situation(&mut self, first: Stamp, situation: Situation) {
        match self.situations.last_mut() {
            Some((begun, latest)) if *begun == first => *latest = situation,
            _ => self.situations.push((first, situation)),
        }
    }

    /// What a context was made in.
    pub(super) fn situation(&self, context: Stamp) -> Situation {
        let after = self
            .situations
            .partition_point(|(first, _)| *first <= context);
        self.situations[after - 1].1
    }

    /// All sites so far.
    pub(super) fn all(&self) -> impl Iterator<Item = &Site> {
        self.all.iter().map(|(site, _)| site)
    }

    /// The latest site at its place, if it is this one.
    #[inline]
    fn latest(&self, site: &Site) -> Option<&LatestSite> {
        let latest = self.latest[Self::entry(site.at)].as_ref();
        latest.filter(|latest| latest.site == *site)
    }

    /// The site's context of the running step, made now if there is none.
    pub(super) fn context<O: Order<Strand = Running>>(
        &mut self,
        site: Site,
        contexts: &mut Contexts<O>,
    ) -> Result<Stamp, Failure> {
        let begun = contexts.begun();
        let number = match self.latest(&site) {
            Some(latest) if latest.context >= begun => return Ok(latest.context),
            Some(latest) => latest.number,
            None => self.number(site),
        };
        let context = &mut self.all[number as usize].1;
        if *context < begun {
            *context = contexts.make(number)?;
        }
        self.latest[Self::entry(site.at)] = Some(LatestSite {
            site,
            number,
            context: *context,
        });
        Ok(*context)
    }

    fn number(&mut self, site: Site) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(site).or_insert(next);
        if number == next {
            self.all.push((site, 0));
        }
        number
    }
}
