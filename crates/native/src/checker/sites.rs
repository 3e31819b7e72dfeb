//! Sites: the different accesses that a program makes, and the latest context of each.
//!
//! An access is remembered by a context of the running step. A step makes one context for each
//! site, so a loop that makes the same access over and over needs one. The latest context of a site
//! is looked up in a small table by place first, and by the whole site only if that fails.

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
    /// The locks that the task had taken.
    pub(super) holding: Holding,
    /// The thread that the task was on.
    pub(super) stay: Stay,
}

/// The length of an access as a site has it.
pub(super) fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// How many places the table of latest contexts has.
const LATEST: usize = 256;

#[derive(Debug)]
pub(super) struct Sites {
    /// By number: the site, and its latest context.
    all: Vec<(Site, Stamp)>,
    numbers: IdMap<Site, u32>,
    /// By place of the access: the latest site there, and its latest context.
    latest: [(Option<Site>, Stamp); LATEST],
}

impl Default for Sites {
    fn default() -> Sites {
        Sites {
            all: Vec::new(),
            numbers: IdMap::default(),
            latest: [(None, 0); LATEST],
        }
    }
}

impl Sites {
    #[inline]
    fn entry(place: u64) -> usize {
        (place ^ place >> 8) as usize % LATEST
    }

    /// The site with a number.
    pub(super) fn site(&self, number: u32) -> Site {
        self.all[number as usize].0
    }

    /// All sites so far.
    pub(super) fn all(&self) -> impl Iterator<Item = &Site> {
        self.all.iter().map(|(site, _)| site)
    }

    /// The site's context of the running step, if the table has it. Contexts of the step begin at
    /// `begun`.
    #[inline]
    pub(super) fn known_context(&self, site: &Site, begun: Stamp) -> Option<Stamp> {
        let (latest, context) = self.latest[Self::entry(site.at.place)];
        (latest == Some(*site) && context >= begun).then_some(context)
    }

    /// The site's context of the running step, made now if there is none.
    pub(super) fn context<O: Order<Strand = Running>>(
        &mut self,
        site: Site,
        contexts: &mut Contexts<O>,
    ) -> Result<Stamp, Failure> {
        let begun = contexts.begun();
        if let Some(context) = self.known_context(&site, begun) {
            return Ok(context);
        }
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(site).or_insert(next);
        if number == next {
            self.all.push((site, 0));
        }
        let latest = &mut self.all[number as usize].1;
        if *latest < begun {
            *latest = contexts.make(number)?;
        }
        self.latest[Self::entry(site.at.place)] = (Some(site), *latest);
        Ok(*latest)
    }
}
