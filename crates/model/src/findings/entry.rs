//! Converts records of the findings file to JSON, and parsed JSON to records.
//!
//! [`record`] defines a struct and both conversions from one list of fields. [`tagged`] does the
//! same for an enumeration, whose field `kind` names the variant. Records do not contain
//! themselves, so neither conversion recurses deeper than the definitions.

use crate::detector::Detector;
use crate::kinds::rayon::{Division, FirstHalf};
use crate::kinds::{
    ConflictClass, NativeAccessKind, NativeFinishKind, NativeTaskKind, SynchroniserKind, WaitKind,
};
use std::fmt::{self, Write};

/// A value of a parsed JSON file.
pub trait Parsed: Copy {
    /// The field of an object.
    fn field(self, name: &str) -> Option<Self>;
    /// The items of an array.
    fn items(self) -> Option<Vec<Self>>;
    fn number(self) -> Option<u64>;
    fn text(&self) -> Option<&str>;
    fn flag(self) -> Option<bool>;
    fn is_null(self) -> bool;
}

/// Why a parsed file is not a findings file: the problem, and the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The path to the field, such as `races[0].first.kind`; empty for the whole file.
    path: String,
    why: String,
}

impl Malformed {
    pub(super) fn new(why: impl Into<String>) -> Malformed {
        Malformed {
            path: String::new(),
            why: why.into(),
        }
    }

    pub(super) fn inside(self, outer: &str) -> Malformed {
        let path = match self.path.as_str() {
            "" => outer.to_owned(),
            item if item.starts_with('[') => format!("{outer}{item}"),
            inner => format!("{outer}.{inner}"),
        };
        Malformed { path, ..self }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.why),
            path => write!(f, "{path}: {}", self.why),
        }
    }
}

impl std::error::Error for Malformed {}

/// Something that a findings file contains.
pub(super) trait Entry: Sized {
    fn write(&self, to: &mut String);
    fn read(from: impl Parsed) -> Result<Self, Malformed>;
}

/// A field of an object.
pub(super) fn member<T: Entry>(object: impl Parsed, name: &str) -> Result<T, Malformed> {
    let value = object.field(name);
    let value = value.ok_or_else(|| Malformed::new("missing").inside(name))?;
    T::read(value).map_err(|malformed| malformed.inside(name))
}

macro_rules! record {
    ($(#[$attribute:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$about])* pub $field: $type,)*
        }

        impl $crate::findings::entry::Entry for $name {
            fn write(&self, to: &mut String) {
                let mut before = '{';
                $(
                    to.push(before);
                    to.push_str(concat!('"', stringify!($field), "\":"));
                    self.$field.write(to);
                    before = ',';
                )*
                debug_assert_eq!(before, ',', "a record has a field");
                to.push('}');
            }

            fn read(
                from: impl $crate::findings::Parsed,
            ) -> Result<Self, $crate::findings::Malformed> {
                Ok($name {
                    $($field: $crate::findings::entry::member(from, stringify!($field))?,)*
                })
            }
        }
    };
}
pub(super) use record;

macro_rules! tagged {
    (
        $(#[$attribute:meta])* $name:ident:
        $($(#[$about:meta])* $variant:ident $word:literal { $($field:ident: $type:ty,)* })*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$about])* $variant { $($field: $type,)* },)*
        }

        impl $crate::findings::entry::Entry for $name {
            fn write(&self, to: &mut String) {
                match self {
                    $($name::$variant { $($field,)* } => {
                        to.push_str(concat!("{\"kind\":\"", $word, '"'));
                        $(
                            to.push_str(concat!(",\"", stringify!($field), "\":"));
                            $field.write(to);
                        )*
                        to.push('}');
                    })*
                }
            }

            fn read(
                from: impl $crate::findings::Parsed,
            ) -> Result<Self, $crate::findings::Malformed> {
                let kind: String = $crate::findings::entry::member(from, "kind")?;
                match kind.as_str() {
                    $($word => Ok($name::$variant {
                        $($field: $crate::findings::entry::member(from, stringify!($field))?,)*
                    }),)*
                    _ => Err($crate::findings::entry::no_kind(&kind).inside("kind")),
                }
            }
        }
    };
}
pub(super) use tagged;

pub(super) fn no_kind(word: &str) -> Malformed {
    Malformed::new(format!("no kind is called {word:?}"))
}

/// Types that are written as a word.
macro_rules! words {
    ($($type:ty, $word:ident, $from_word:ident;)*) => {$(
        impl Entry for $type {
            fn write(&self, to: &mut String) {
                quote(self.$word(), to);
            }

            fn read(from: impl Parsed) -> Result<Self, Malformed> {
                let word = String::read(from)?;
                <$type>::$from_word(&word).ok_or_else(|| no_kind(&word))
            }
        }
    )*};
}

words! {
    ConflictClass, word, from_word;
    Detector, name, from_name;
    Division, word, from_word;
    FirstHalf, word, from_word;
    NativeAccessKind, word, from_word;
    NativeFinishKind, word, from_word;
    NativeTaskKind, word, from_word;
    SynchroniserKind, word, from_word;
    WaitKind, word, from_word;
}

/// Types that are written as a number.
macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Entry for $type {
            fn write(&self, to: &mut String) {
                to.push_str(&self.to_string());
            }

            fn read(from: impl Parsed) -> Result<Self, Malformed> {
                let number = from.number().and_then(|number| number.try_into().ok());
                number.ok_or_else(|| Malformed::new(concat!("not a number of ", stringify!($type))))
            }
        }
    )*};
}

numbers! { u32 u64 usize }

impl Entry for bool {
    fn write(&self, to: &mut String) {
        to.push_str(if *self { "true" } else { "false" });
    }

    fn read(from: impl Parsed) -> Result<Self, Malformed> {
        let flag = from.flag();
        flag.ok_or_else(|| Malformed::new("neither true nor false"))
    }
}

impl Entry for String {
    fn write(&self, to: &mut String) {
        quote(self, to);
    }

    fn read(from: impl Parsed) -> Result<Self, Malformed> {
        let text = from.text().map(str::to_owned);
        text.ok_or_else(|| Malformed::new("not a string"))
    }
}

impl<T: Entry> Entry for Option<T> {
    fn write(&self, to: &mut String) {
        match self {
            Some(value) => value.write(to),
            None => to.push_str("null"),
        }
    }

    fn read(from: impl Parsed) -> Result<Self, Malformed> {
        match from.is_null() {
            true => Ok(None),
            false => T::read(from).map(Some),
        }
    }
}

impl<T: Entry> Entry for Vec<T> {
    fn write(&self, to: &mut String) {
        to.push('[');
        for (number, item) in self.iter().enumerate() {
            if number > 0 {
                to.push(',');
            }
            item.write(to);
        }
        to.push(']');
    }

    fn read(from: impl Parsed) -> Result<Self, Malformed> {
        let items = from.items().ok_or_else(|| Malformed::new("not a list"))?;
        let items = items.into_iter().enumerate();
        let read = |(number, item)| {
            T::read(item).map_err(|malformed: Malformed| malformed.inside(&format!("[{number}]")))
        };
        items.map(read).collect()
    }
}

/// Appends a JSON string.
fn quote(text: &str, to: &mut String) {
    to.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => to.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(to, "\\u{:04x}", u32::from(control));
            }
            other => to.push(other),
        }
    }
    to.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        let mut quoted = String::new();
        quote("a\"b\\c\n\u{1}é", &mut quoted);
        assert_eq!(quoted, r#""a\"b\\c\u000a\u0001é""#);
    }

    #[test]
    fn an_error_names_the_field_from_the_outside_in() {
        let error = Malformed::new("bad").inside("kind").inside("first");
        let error = error.inside("[2]").inside("races");
        assert_eq!(error.to_string(), "races[2].first.kind: bad");
        assert_eq!(Malformed::new("foreign").to_string(), "foreign");
    }
}
