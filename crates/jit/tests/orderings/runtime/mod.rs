//! The part of `runtime` that the files under test need.

mod parallel;

mod schedule {
    pub(crate) struct OpenFinish;
}
