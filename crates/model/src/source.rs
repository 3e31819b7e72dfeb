//! Tables that turn ids back into the user's words: source text, sites, accesses, allocations.

use crate::event::AccessKind;
use crate::ids::{AccessId, AllocationId, SiteId};

/// A span of the source. Line and column of its start count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    pub start: u32,
    pub end: u32,
    pub line: u32,
    pub column: u32,
}

/// One shared access of the source: `B[i] += i` has two, a read and a write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessInfo {
    /// The statement or expression shown to the user, e.g. `B[i] += i`.
    pub site: SiteId,
    /// The place accessed, e.g. `B[i]`.
    pub place: SiteId,
    pub kind: AccessKind,
    /// The function that contains the access, as the user wrote it.
    pub function: String,
}

/// A `new` of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllocationInfo {
    pub site: SiteId,
    /// The user's name for the object: the variable or field path it is first bound to (`B`,
    /// `p.data`), or else its type (`int[]`).
    pub name: String,
}

/// One source file, and everything in it that ids name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceMap {
    /// The path as the user gave it.
    pub path: String,
    pub text: String,
    pub sites: Vec<Site>,
    pub accesses: Vec<AccessInfo>,
    /// Entry 0 stands for the global variables.
    pub allocations: Vec<AllocationInfo>,
}

impl SourceMap {
    pub fn site(&self, id: SiteId) -> &Site {
        &self.sites[id.index()]
    }

    pub fn access(&self, id: AccessId) -> &AccessInfo {
        &self.accesses[id.index()]
    }

    pub fn allocation(&self, id: AllocationId) -> &AllocationInfo {
        &self.allocations[id.index()]
    }

    /// `path:line:column`. Editors and terminals make this form clickable.
    pub fn position(&self, id: SiteId) -> String {
        let site = self.site(id);
        format!("{}:{}:{}", self.path, site.line, site.column)
    }

    /// The number of characters of a site on its first line.
    pub fn width(&self, id: SiteId) -> u32 {
        let site = self.site(id);
        let text = self.text.get(site.start as usize..site.end as usize);
        let first = text.and_then(|text| text.lines().next());
        first.map_or(0, |line| line.chars().count() as u32)
    }

    /// The source text of a site on one line, white space folded, shortened to about 60 characters.
    pub fn snippet(&self, id: SiteId) -> String {
        const LONGEST: usize = 60;
        let site = self.site(id);
        let text = self
            .text
            .get(site.start as usize..site.end as usize)
            .unwrap_or_default();
        let mut folded = String::new();
        for word in text.split_whitespace() {
            if !folded.is_empty() {
                folded.push(' ');
            }
            folded.push_str(word);
            if folded.chars().count() > LONGEST {
                let mut short: String = folded.chars().take(LONGEST).collect();
                short.push('…');
                return short;
            }
        }
        folded
    }
}
