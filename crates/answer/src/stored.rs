//! How answers about processes are stored in the part of a suite, for `merge`: kinds of the model
//! as their words. The model has no dependencies, so it can't say so itself.
//!
//! Answers about Fin programs are not stored. The fields that only they have are left out.

use crate::answer::Failure;
use finishline_model::Detector;
use finishline_model::kinds::rayon::Division;
use finishline_model::kinds::{NativeAccessKind, NativeTaskKind, SynchroniserKind, WaitKind};

/// A module for `#[serde(with = …)]`: writes the word of a kind, and reads it.
macro_rules! by_word {
    ($($module:ident: $kind:ty, $word:path, $from_word:path;)*) => {
        $(pub(crate) mod $module {
            use super::*;
            use serde::de::{Deserialize, Deserializer, Error};
            use serde::ser::Serializer;

            pub(crate) fn serialize<S: Serializer>(
                kind: &$kind,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($word(*kind))
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$kind, D::Error> {
                let word = String::deserialize(deserializer)?;
                $from_word(&word)
                    .ok_or_else(|| D::Error::custom(format!("there is no `{word}` here")))
            }
        })*
    };
}

by_word! {
    access_kind: NativeAccessKind, NativeAccessKind::word, NativeAccessKind::from_word;
    synchroniser_kind: SynchroniserKind, SynchroniserKind::word, SynchroniserKind::from_word;
    task_kind: NativeTaskKind, NativeTaskKind::word, NativeTaskKind::from_word;
    wait_kind: WaitKind, WaitKind::word, WaitKind::from_word;
    division: Division, Division::word, Division::from_word;
    detector: Detector, Detector::name, Detector::from_name;
}

/// Of all failures only those of processes are stored.
pub(crate) fn process_failure() -> &'static str {
    Failure::PROCESS
}
