//! The beginning of a checked process, where the rooms are put together.

use crate::dialects::rust_std;
use crate::process;
use crate::turns;
use finishline_model::TaskId;

/// The first function that every instrumented module calls.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {
    if process::start(rust_std::is_drop_slow) {
        turns::begin(TaskId::MAIN);
    }
}
