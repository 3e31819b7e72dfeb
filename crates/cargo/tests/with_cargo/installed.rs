//! The installed tool works elsewhere, with the checkout gone and an empty cache.
//!
//! The tool is installed from a copy of the checkout, which is then deleted. It is called on a copy
//! of the programs. Packages of the registry are compiled with the settings of this suite, so they
//! are already built. Finishline's own crates are compiled with other settings, so that the
//! installed tool does not use the checkout that still exists.

use crate::package::{Called, clear_environment, shared};
use crate::programs;
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("installed::works_anywhere", || {
        Ok(works_anywhere()?)
    })]
}

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The parts of the checkout that an installation needs.
const SOURCES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "crates", "programs", "xtask"];

fn works_anywhere() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let place = |name: &str| folder.path().join(name);
    let installed = install(&place("checkout"), &place("installed"));
    let programs = place("programs");
    copy(&programs::workspace(), &programs);
    // As if the user had built the programs before.
    let own = programs.join("target/debug");
    fs::create_dir_all(&own).map_err(|error| error.to_string())?;
    fs::write(own.join("program"), "left alone").map_err(|error| error.to_string())?;
    let before = files_of_user(&programs).map_err(|error| error.to_string())?;

    let cache = place("cache");
    let finishline = |arguments: &[&str]| {
        let (subcommand, rest) = arguments.split_first().expect("a subcommand");
        let mut command = Command::new("cargo");
        command
            .args(["finishline", subcommand, "--locked", "--offline"])
            .args(rest)
            .current_dir(&programs)
            .env("PATH", path_before(&installed))
            .env("FINISHLINE_CACHE", &cache)
            // A setting for the user's release builds. There are none here, and the build of the
            // runtime must ignore it.
            .env("CARGO_PROFILE_RELEASE_LTO", "nonsense");
        clear_environment(&mut command);
        Called::from(command)
    };
    let builds = |called: &Called| called.stderr.contains("Building the Finishline runtime");
    let first = finishline(&["run", "--bin", "scatter_clean"]).expect(0);
    assert!(builds(&first), "no progress: {}", first.stderr);
    let second = finishline(&["run", "--bin", "scatter_racy"]).expect(66);
    assert!(!builds(&second), "built twice: {}", second.stderr);
    programs::check_some(&finishline)?;

    let after = files_of_user(&programs).map_err(|error| error.to_string())?;
    for path in before.keys().chain(after.keys()) {
        let changed = before.get(path) != after.get(path);
        assert!(!changed, "{} was touched", path.display());
    }
    Ok(())
}

/// Installs the tool from a copy of the checkout and deletes the copy. Returns the folder of the
/// executable.
fn install(checkout: &Path, root: &Path) -> PathBuf {
    fs::create_dir(checkout).expect("a folder");
    for source in SOURCES {
        copy(&Path::new(CHECKOUT).join(source), &checkout.join(source));
    }
    let build_directory = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let mut command = Command::new("cargo");
    command
        .args(["install", "--locked", "--offline", "--path"])
        .arg(checkout.join("crates/cli"))
        .arg("--root")
        .arg(root)
        // With the settings of this suite, except for Finishline's own crates.
        .args(["--profile", "test", "--config", "profile.test.opt-level=0"])
        .arg("--target-dir")
        .arg(shared("installed"));
    clear_environment(&mut command);
    command.env("CARGO_BUILD_BUILD_DIR", build_directory.expect("a parent"));
    Called::from(command).expect(0);
    fs::remove_dir_all(checkout).expect("a folder that is there");
    root.join("bin")
}

/// Copies a file or a folder with its times, so that unchanged files are not compiled again.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .arg("--archive")
        .args([from, to])
        .status();
    assert!(status.expect("cp can be started").success());
}

/// The folders of `PATH` with this one first. Cargo searches its own folder before `PATH` unless
/// `PATH` contains it.
fn path_before(folder: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let folders = [folder.to_owned()].into_iter();
    let folders = folders.chain(env::split_paths(&path));
    env::join_paths(folders.chain(home.map(|home| home.join("bin")))).expect("folders of a path")
}

/// All files below a folder except those in `target/finishline`, with their bytes.
fn files_of_user(folder: &Path) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner)? {
            let entry = entry?;
            let path = entry.path();
            if path.ends_with("target/finishline") {
                continue;
            } else if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.clone(), fs::read(path)?);
            }
        }
    }
    Ok(files)
}
