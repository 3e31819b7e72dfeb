//! The four ways in which the programs are built. All are release builds by the same rustc.

use crate::Anything;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// As they are; instrumented, but the calls do nothing; checked by us; under ThreadSanitizer.
pub(crate) const NAMES: [&str; 4] = ["plain", "calls", "ours", "TSan"];

const TARGET: &str = "x86_64-unknown-linux-gnu";
const SANITIZER: &str = "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer";

/// The folders with the programs, in the order of [`NAMES`].
pub(crate) fn all() -> Anything<[PathBuf; NAMES.len()]> {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("speed");
    let empty = empty_calls(&built)?;
    let calls = format!(
        "{SANITIZER} -Zexternal-clangrt -Clink-arg={}",
        empty.display()
    );
    let cargo = PathBuf::from("cargo");
    let this = env::current_exe()?;
    let flags = [None, Some(&calls[..]), None, Some(SANITIZER)];
    let mut folders = Vec::new();
    for (name, flags) in NAMES.into_iter().zip(flags) {
        let target = built.join(name);
        let is_ours = name == "ours";
        let mut build = Command::new(if is_ours { &this } else { &cargo });
        build
            .args(is_ours.then_some("finishline"))
            .args(["build", "--release", "--quiet", "--target", TARGET])
            .args(["-p", "speed"])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/rust"))
            .env_remove("RUSTFLAGS")
            .env("CARGO_TARGET_DIR", &target);
        if let Some(flags) = flags {
            build.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", flags);
        }
        if !build.status()?.success() {
            return Err(format!("the programs could not be built: {name}").into());
        }
        folders.push(folder_of_programs(&target)?);
    }
    folders.try_into().map_err(|_| "as many as names".into())
}

/// An object file with what instrumented code calls.
fn empty_calls(folder: &Path) -> Anything<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let object = folder.join("empty_calls.o");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/programs/empty_calls.c");
    let status = Command::new("cc")
        .args(["-O2", "-c", "-fPIC", "-o"])
        .arg(&object)
        .arg(source)
        .status()?;
    match status.success() {
        true => Ok(object),
        false => Err("the empty calls could not be compiled".into()),
    }
}

/// The folder of the programs below a target directory. Checked programs are in one folder for each
/// version of the runtime. The newest folder counts.
fn folder_of_programs(target: &Path) -> Anything<PathBuf> {
    let direct = target.join(TARGET).join("release");
    let mut versions = Vec::new();
    for entry in std::fs::read_dir(target.join("finishline"))
        .into_iter()
        .flatten()
    {
        let folder = entry?.path().join(TARGET).join("release");
        if let Ok(about) = std::fs::metadata(folder.join("matmul")) {
            versions.push((about.modified()?, folder));
        }
    }
    versions.sort();
    Ok(versions.pop().map_or(direct, |(_, folder)| folder))
}
