//! The sources inside the tool: the runtime's small workspace, and the drop-in for rayon-core.
//!
//! The build script makes the table. [`FINGERPRINT`] changes with every change of the table.

use crate::Problem;
use std::fs;
use std::path::Path;

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The crate root of the drop-in, below the folder with the written sources.
pub(crate) const DROP_IN_ROOT: &str = "crates/rayon-core/src/lib.rs";
/// Our file that replaces one of rayon's, and where rayon has that.
pub(crate) const RAYON_FILE: &str = "crates/rayon-core/rayon/par_bridge.rs";
pub(crate) const REPLACED_IN_RAYON: &str = "src/iter/par_bridge.rs";
/// The runtime's package, the feature that makes it more than a library for tests, and the library
/// that it is built to.
pub(crate) const RUNTIME_PACKAGE: &str = "finishline-native";
pub(crate) const RUNTIME_FEATURE: &str = "runtime";
pub(crate) const RUNTIME_LIBRARY: &str = "libfinishline_native.a";

/// Symbols that every runtime has, for the instrumentation and for the drop-in.
const ALWAYS_GLOBAL: [&str; 2] = ["__tsan_*", "__finishline_*"];

/// Writes all files below a folder.
pub(crate) fn write(folder: &Path) -> Result<(), Problem> {
    for (name, content) in FILES {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, content))
            .map_err(|error| Problem::write(&path, error))?;
    }
    Ok(())
}

/// Patterns for the symbols of the runtime object that the program sees. All others are local and
/// can't meet the user's.
pub(crate) fn global_symbols() -> impl Iterator<Item = &'static str> {
    let named = lines().filter(|line| !line.starts_with(WRAP));
    ALWAYS_GLOBAL.into_iter().chain(named)
}

/// A function of the program that the runtime intercepts. Calls from other crates go to the
/// runtime's `__finishline_wrap_NAME`, which calls the function itself as `__finishline_real_NAME`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrapped {
    pub(crate) name: &'static str,
    /// A function that std defines or calls, by its path.
    pub(crate) function: &'static str,
}

pub(crate) fn wrapped_functions() -> impl Iterator<Item = Wrapped> {
    lines().filter_map(|line| {
        let (name, function) = line.strip_prefix(WRAP)?.split_once(' ')?;
        Some(Wrapped { name, function })
    })
}

const WRAP: &str = "wrap ";

fn lines() -> impl Iterator<Item = &'static str> {
    let lines = SYMBOLS.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}
