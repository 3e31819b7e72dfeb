//! The published tool works elsewhere, with the checkout gone and an empty cache.
//!
//! The packages are made from a copy of the checkout, which is then deleted. The tool is installed
//! from the packages alone and called on a copy of the programs. Packages of the registry are
//! compiled with the settings of this suite, so they are already built. Finishline's own packages
//! are in another folder than the crates that they are made from, so they are built apart.

use crate::package::{Called, clear_environment, shared};
use crate::programs;
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use toml::{Table, Value};

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("installed::works_anywhere", || {
        Ok(works_anywhere()?)
    })]
}

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The parts of the checkout that packages are made from.
const SOURCES: [&str; 9] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "crates",
    "programs",
    "xtask",
];

fn works_anywhere() -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let place = |name: &str| folder.path().join(name);
    let packages = unpacked(&place("checkout"));
    let installed = install(&packages, &place("installed"));
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

/// Makes the packages from a copy of the checkout and unpacks them into a folder. The copy is
/// deleted.
fn unpacked(checkout: &Path) -> PathBuf {
    fs::create_dir(checkout).expect("a folder");
    for source in SOURCES {
        copy(&Path::new(CHECKOUT).join(source), &checkout.join(source));
    }
    let mut package = Command::new("cargo");
    package
        .args(["xtask", "package", "--no-verify", "--offline"])
        .current_dir(checkout);
    clear_environment(&mut package);
    Called::from(package).expect(0);

    let folder = shared("packages");
    // Left by an earlier run.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let made = fs::read_dir(checkout.join("target/package")).expect("the packages");
    let made = made.map(|entry| entry.expect("a readable folder").path());
    let packages = made.filter(|path| path.extension().is_some_and(|it| it == "crate"));
    let mut patches = Table::new();
    for package in packages {
        let status = Command::new("tar")
            .arg("-xzf")
            .arg(&package)
            .arg("-C")
            .arg(&folder)
            .status();
        assert!(status.expect("tar can be started").success());
        let stem = package.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.expect("our packages have plain names");
        let name = stem.rsplit_once('-').expect("a version").0;
        let room = name.strip_prefix("finishline-").unwrap_or("cli");
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(folder.join(stem).join(licence).is_file(), "{stem}");
        }
        same_times(&folder.join(stem), &checkout.join("crates").join(room));
        let path = Table::from_iter([("path".to_owned(), Value::String(stem.to_owned()))]);
        patches.insert(name.to_owned(), Value::Table(path));
    }

    // The registry does not have the packages, so each is named as its place.
    let manifest = fs::read_to_string(checkout.join("Cargo.toml")).expect("a manifest");
    let mut manifest: Table = manifest.parse().expect("a manifest");
    let members = patches.values().map(|patch| patch["path"].clone());
    let members = Value::Array(members.collect());
    let resolver = manifest["workspace"]["resolver"].clone();
    let workspace = [("members", members), ("resolver", resolver)];
    let workspace = workspace.map(|(key, value)| (key.to_owned(), value));
    let workspace = Value::Table(Table::from_iter(workspace));
    manifest.insert("workspace".to_owned(), workspace);
    let patches = Table::from_iter([("crates-io".to_owned(), Value::Table(patches))]);
    manifest.insert("patch".to_owned(), Value::Table(patches));
    fs::write(folder.join("Cargo.toml"), manifest.to_string()).expect("a manifest");
    copy(&checkout.join("Cargo.lock"), &folder.join("Cargo.lock"));
    fs::remove_dir_all(checkout).expect("a folder that is there");
    folder
}

/// Gives the files of a package the times of those that they are copies of. Packages themselves
/// have no times, so cargo would not see a change since an earlier run of this test.
fn same_times(copy: &Path, original: &Path) {
    if copy.is_dir() {
        for entry in fs::read_dir(copy).expect("a package") {
            let entry = entry.expect("a readable package");
            same_times(&entry.path(), &original.join(entry.file_name()));
        }
    }
    // Cargo makes some of the files itself.
    if let Ok(modified) = fs::metadata(original).and_then(|it| it.modified()) {
        let set = fs::File::open(copy).and_then(|file| file.set_modified(modified));
        set.expect("the time of a file can be set");
    }
}

/// Installs the tool from the packages and deletes these. Returns the folder of the executables.
fn install(packages: &Path, root: &Path) -> PathBuf {
    // Cargo drops what the packages do not need from the lock file. Nothing else may change.
    let mut lock = Command::new("cargo");
    lock.args(["update", "--workspace", "--offline"])
        .current_dir(packages);
    clear_environment(&mut lock);
    Called::from(lock).expect(0);

    let build_directory = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let version = env!("CARGO_PKG_VERSION");
    let mut command = Command::new("cargo");
    command
        .args(["install", "--locked", "--offline", "--path"])
        .arg(packages.join(format!("finishline-{version}")))
        .arg("--root")
        .arg(root)
        // With the settings of this suite, except for Finishline's own crates.
        .args(["--profile", "test", "--config", "profile.test.opt-level=0"])
        .arg("--target-dir")
        .arg(shared("installed"));
    clear_environment(&mut command);
    command
        .env("CARGO_BUILD_BUILD_DIR", build_directory.expect("a parent"))
        .env("PATH", build_tools(root));
    Called::from(command).expect(0);
    fs::remove_dir_all(packages).expect("a folder that is there");
    root.join("bin")
}

/// A folder with the programs that a build needs: what rustc brings, and a C compiler with its
/// assembler, linker and archiver. There is neither make nor autoconf.
fn build_tools(root: &Path) -> PathBuf {
    let tools = root.join("tools");
    fs::create_dir_all(&tools).expect("a folder");
    let path = env::var_os("PATH").unwrap_or_default();
    for tool in ["cargo", "rustc", "cc", "as", "ld", "ar"] {
        let mut places = env::split_paths(&path).map(|folder| folder.join(tool));
        let place = places.find(|place| place.is_file());
        let place = place.unwrap_or_else(|| panic!("there is no {tool}"));
        symlink(place, tools.join(tool)).expect("a link");
    }
    tools
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
