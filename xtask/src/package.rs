//! `cargo xtask package` and `cargo xtask publish`: the packages from which `cargo install
//! finishline` installs.
//!
//! Cargo does the work. Only one thing is missing in the checkout: isl, which the prover computes
//! with, is not part of the repository. While the packages are made, `crates/isl/upstream` has
//! links to isl's files. They come from the package `isl-rs` (`crates/isl/upstream.rs`).

use crate::command::CommandLine;
use crate::{Failure, Outcome, prerequisites, root};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::{env, fs, io};

#[path = "../../crates/isl/upstream.rs"]
mod upstream;

/// What the package takes from `isl-rs`.
const LINKED: [&str; 3] = ["LICENSE", "src", "isl"];

/// Makes all packages, and builds each from the packages alone unless told `--no-verify`.
pub(crate) fn package(arguments: &[String]) -> Outcome {
    prerequisites::ensure_build()?;
    pack("package", arguments)
}

/// Makes all packages and sends them to the registry, if all changes are committed.
pub(crate) fn publish(arguments: &[String]) -> Outcome {
    prerequisites::ensure_build()?;
    let changes = CommandLine::new("git status --porcelain").output()?;
    if changes.is_none_or(|changes| !changes.is_empty()) {
        let message = "what is published must be committed first";
        return Err(Failure::Failed(message.to_string()));
    }
    pack("publish", arguments)
}

/// Calls cargo for all packages. The links to isl's files count as changes that are not committed.
fn pack(subcommand: &str, arguments: &[String]) -> Outcome {
    let _links = Links::make().map_err(|error| Failure::Failed(format!("isl: {error}")))?;
    // Crates for development say `publish = false`. `cargo package` does not mind.
    let packed = "--workspace --exclude xtask --exclude finishline-generate --allow-dirty";
    let line = CommandLine::new(&format!("cargo {subcommand} {packed}"));
    line.and(arguments).run()
}

/// The folder with the files of `isl-rs`.
pub(crate) fn isl_rs() -> Result<PathBuf, String> {
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let scratch = root().join("target/isl-rs");
    upstream::from_registry(cargo, &root().join("crates/isl"), &scratch)
}

/// The folder with the links, as long as the packages are made.
struct Links(PathBuf);

impl Links {
    fn make() -> Result<Links, String> {
        let files = isl_rs()?;
        let folder = root().join("crates/isl/upstream");
        // Left by a call that was interrupted.
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(format!("{}: {error}", folder.display()));
            }
            _ => {}
        }
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let links = Links(folder);
        for name in LINKED {
            symlink(files.join(name), links.0.join(name))
                .map_err(|error| format!("{}: {error}", links.0.display()))?;
        }
        Ok(links)
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        // What is left is not part of the repository, and the next call removes it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
