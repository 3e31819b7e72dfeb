//! The unknowns of all sets: every integer in a set has a symbol.
//!
//! The same symbol in two sets is the same integer.

use std::fmt;

/// What an unknown stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// A parameter of main.
    Parameter,
    /// The counter of a loop, in one call of its function.
    Counter,
    /// A value that was not computed from the others, or whose definition is kept apart from the
    /// sets that use it.
    Value,
    /// A coordinate of a memory location: first those of the object, then the indices.
    Location,
    /// A coordinate of an object: the counters of the loops around its allocation.
    Object,
}

impl Kind {
    const LETTERS: [(Kind, char); 5] = [
        (Kind::Parameter, 'p'),
        (Kind::Counter, 'c'),
        (Kind::Value, 'v'),
        (Kind::Location, 'l'),
        (Kind::Object, 'o'),
    ];
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Symbol {
    pub(crate) kind: Kind,
    pub(crate) index: u32,
    /// A relation between two or three instances of one statement needs its counters as often. The
    /// first has copy 0.
    pub(crate) copy: u8,
}

impl Symbol {
    pub(crate) const fn new(kind: Kind, index: usize) -> Symbol {
        Symbol {
            kind,
            index: index as u32,
            copy: 0,
        }
    }

    pub(crate) const fn location(index: usize) -> Symbol {
        Symbol::new(Kind::Location, index)
    }

    pub(crate) const fn object(index: usize) -> Symbol {
        Symbol::new(Kind::Object, index)
    }

    /// The same unknown in another instance.
    pub(crate) const fn in_copy(self, copy: u8) -> Symbol {
        Symbol { copy, ..self }
    }

    /// The inverse of its text.
    pub(crate) fn from_name(name: &str) -> Option<Symbol> {
        let letter = name.chars().next()?;
        let (kind, _) = Kind::LETTERS.into_iter().find(|(_, of)| *of == letter)?;
        let (index, copy) = name[1..].split_once('_').unwrap_or((&name[1..], "0"));
        Some(Symbol {
            kind,
            index: index.parse().ok()?,
            copy: copy.parse().ok()?,
        })
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = Kind::LETTERS
            .into_iter()
            .find_map(|(kind, letter)| (kind == self.kind).then_some(letter))
            .unwrap_or('?');
        write!(f, "{letter}{}", self.index)?;
        if self.copy > 0 {
            write!(f, "_{}", self.copy)?;
        }
        Ok(())
    }
}

/// What a symbol of an access is called in a relation between several instances.
pub(crate) trait Naming {
    fn name(&self, symbol: Symbol) -> Symbol;
}

impl<F: Fn(Symbol) -> Symbol + ?Sized> Naming for F {
    fn name(&self, symbol: Symbol) -> Symbol {
        self(symbol)
    }
}
