//! A macro for lists of kinds. Each kind has a number and a word, so all parties to an interface or
//! a file take both from one list.

/// Defines an enumeration. Each variant has a word, and its position is its number.
macro_rules! kinds {
    ($(#[$attribute:meta])* $name:ident: $($(#[$about:meta])* $variant:ident $word:literal)*) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$about])* $variant,)*
        }

        impl $name {
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];

            /// The word in findings files and JSON reports.
            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            pub fn from_word(word: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|kind| kind.word() == word)
            }

            pub const fn number(self) -> u32 {
                self as u32
            }

            pub fn from_number(number: u32) -> Option<$name> {
                $name::ALL.get(number as usize).copied()
            }
        }
    };
}
