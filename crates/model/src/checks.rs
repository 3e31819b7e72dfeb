//! The names of the passes that remove checks. `--checks` takes them, and reports use them for
//! accesses without a check.

use std::fmt;

/// A pass that removes checks. None changes which locations race.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Pass {
    Proved,
    Sequential,
    Contexts,
    ReadOnly,
    TaskLocal,
    Ranges,
    LoopInvariant,
    Dominated,
}

impl Pass {
    /// All passes, in the order in which they run.
    pub const ALL: [Pass; 8] = [
        Pass::Proved,
        Pass::Contexts,
        Pass::Sequential,
        Pass::ReadOnly,
        Pass::TaskLocal,
        Pass::Ranges,
        Pass::LoopInvariant,
        Pass::Dominated,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Pass::Proved => "proved",
            Pass::Sequential => "sequential",
            Pass::Contexts => "contexts",
            Pass::ReadOnly => "read-only",
            Pass::TaskLocal => "task-local",
            Pass::Ranges => "ranges",
            Pass::LoopInvariant => "loop-invariant",
            Pass::Dominated => "dominated",
        }
    }

    /// Why an access has no check of its own.
    pub const fn reason(self) -> &'static str {
        match self {
            Pass::Proved => "proved free of races for these arguments",
            Pass::Sequential => "no other task can be running here",
            Pass::Contexts => "called in several contexts, each with a copy of its own",
            Pass::ReadOnly => "no task writes to it while others can be running",
            Pass::TaskLocal => "no other task can reach the object",
            Pass::Ranges => "checked with the other elements of the loop, all at once",
            Pass::LoopInvariant => "checked once for all iterations of the loop",
            Pass::Dominated => "another check in the same step covers it",
        }
    }

    pub fn from_name(name: &str) -> Option<Pass> {
        Pass::ALL.into_iter().find(|pass| pass.name() == name)
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Some of the passes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Passes(u8);

impl Passes {
    /// Every access is checked.
    pub const NONE: Passes = Passes(0);
    /// Accesses of sequential code are not checked.
    pub const SEQUENTIAL: Passes = Passes::NONE.with(Pass::Sequential);
    pub const ALL: Passes = {
        let (mut all, mut index) = (Passes::NONE, 0);
        while index < Pass::ALL.len() {
            all = all.with(Pass::ALL[index]);
            index += 1;
        }
        all
    };

    /// All passes except those that need proofs.
    pub const UNPROVED: Passes = Passes::ALL.without(Pass::Proved);

    #[must_use]
    pub const fn with(self, pass: Pass) -> Passes {
        Passes(self.0 | 1 << pass as u8)
    }

    #[must_use]
    pub const fn without(self, pass: Pass) -> Passes {
        Passes(self.0 & !(1 << pass as u8))
    }

    pub const fn contains(self, pass: Pass) -> bool {
        self.0 & 1 << pass as u8 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[must_use]
    pub const fn intersection(self, other: Passes) -> Passes {
        Passes(self.0 & other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Pass> {
        Pass::ALL
            .into_iter()
            .filter(move |pass| self.contains(*pass))
    }

    /// Every set of passes, the empty one first.
    pub fn subsets() -> impl Iterator<Item = Passes> {
        (0..=Passes::ALL.0).map(Passes)
    }
}

impl FromIterator<Pass> for Passes {
    fn from_iter<I: IntoIterator<Item = Pass>>(passes: I) -> Passes {
        passes.into_iter().fold(Passes::NONE, Passes::with)
    }
}

/// The names that `--checks` takes for this set.
impl fmt::Display for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Passes::NONE => f.write_str("full"),
            Passes::ALL => f.write_str("optimised"),
            Passes::UNPROVED => f.write_str("unproved"),
            some => {
                let names: Vec<&str> = some.iter().map(Pass::name).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

impl fmt::Debug for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passes({self})")
    }
}

/// Why a word is neither a set of passes nor a list of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoSuchPass(pub String);

impl fmt::Display for NoSuchPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Pass::ALL.map(Pass::name).join(", ");
        write!(
            f,
            "there is no pass `{}`; give full, sequential, unproved, optimised, or some of {names} with commas between",
            self.0
        )
    }
}

impl std::error::Error for NoSuchPass {}

impl std::str::FromStr for Passes {
    type Err = NoSuchPass;

    fn from_str(words: &str) -> Result<Passes, NoSuchPass> {
        match words {
            "full" => Ok(Passes::NONE),
            "optimised" => Ok(Passes::ALL),
            "unproved" => Ok(Passes::UNPROVED),
            list => (list.split(','))
                .map(|name| Pass::from_name(name).ok_or_else(|| NoSuchPass(name.to_owned())))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_read_back_from_its_words() {
        assert_eq!(Passes::subsets().count(), 1 << Pass::ALL.len());
        for passes in Passes::subsets() {
            assert_eq!(passes.to_string().parse(), Ok(passes));
        }
    }

    #[test]
    fn a_list_is_read_in_any_order() {
        let both = Passes::NONE.with(Pass::Ranges).with(Pass::ReadOnly);
        assert_eq!("ranges,read-only".parse(), Ok(both));
        assert_eq!("read-only,ranges".parse(), Ok(both));
        assert!(both.contains(Pass::Ranges) && !both.contains(Pass::Dominated));
        assert_eq!(both.without(Pass::Ranges).to_string(), "read-only");
    }

    #[test]
    fn an_unknown_word_is_named() {
        assert_eq!("ranges,x".parse::<Passes>(), Err(NoSuchPass("x".into())));
        assert_eq!("".parse::<Passes>(), Err(NoSuchPass(String::new())));
    }
}
