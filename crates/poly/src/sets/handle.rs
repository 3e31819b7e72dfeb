//! Handles of isl's objects. A handle may be null, and every operation says whether it failed.

use super::{Result, Stop, is_over};
use finishline_isl as isl;

pub(super) fn stop(context: &isl::Context, error: &isl::LibISLError) -> Stop {
    context.reset_error();
    if is_over(context) {
        Stop::OutOfTime
    } else {
        Stop::Failed(error.to_string())
    }
}

/// What isl hands out: null if it failed, sometimes without telling why.
pub(super) trait Handle {
    fn is_null(&self) -> bool;
}

macro_rules! handles {
    ($($name:ident)*) => { $(
        impl Handle for isl::$name {
            fn is_null(&self) -> bool {
                self.ptr == 0
            }
        }
    )* };
}

handles! { Set SetList PwAff Val Id BasicSet BasicSetList Mat }

pub(super) fn checked<T: Handle>(
    context: &isl::Context,
    result: std::result::Result<T, isl::LibISLError>,
) -> Result<T> {
    match result {
        Ok(made) if !made.is_null() => Ok(made),
        Ok(_) if is_over(context) => Err(Stop::OutOfTime),
        Ok(_) => Err(Stop::Failed("isl gave no result".to_string())),
        Err(error) => Err(stop(context, &error)),
    }
}

/// What isl prints. It hands out no text at all if it runs out of its budget meanwhile, which its
/// Rust wrapper does not expect. So printing is free.
pub(super) fn printed(
    context: &isl::Context,
    print: impl FnOnce() -> std::result::Result<String, isl::LibISLError>,
) -> Result<String> {
    let budget = context.get_max_operations();
    context.set_max_operations(0);
    let text = print();
    context.set_max_operations(budget);
    text.map_err(|error| stop(context, &error))
}

macro_rules! wrapper {
    ($(#[$note:meta])* $name:ident, $inner:ident) => {
        $(#[$note])*
        pub(crate) struct $name(pub(super) isl::$inner);

        impl $name {
            /// Another handle of the same value, for an operation that takes it.
            pub(super) fn take(&self) -> Result<isl::$inner> {
                self.done(self.0.copy())
            }

            /// What was made of it.
            pub(super) fn done<T: Handle>(
                &self,
                result: std::result::Result<T, isl::LibISLError>,
            ) -> Result<T> {
                checked(&self.0.get_ctx(), result)
            }

            /// What was found out about it.
            pub(super) fn told<T>(
                &self,
                result: std::result::Result<T, isl::LibISLError>,
            ) -> Result<T> {
                result.map_err(|error| stop(&self.0.get_ctx(), &error))
            }
        }

        impl Clone for $name {
            /// Never fails: isl counts references.
            fn clone(&self) -> $name {
                $name(self.0.copy().expect("a value can be shared"))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let print = || self.0.to_str().map(str::to_string);
                let text = $crate::sets::handle::printed(&self.0.get_ctx(), print);
                f.write_str(text.as_deref().unwrap_or("?"))
            }
        }
    };
}

pub(super) use wrapper;
