//! Finds the files of `isl-rs`: the bindings, and isl with its arithmetic.
//!
//! A published package has them in its folder `upstream`. The repository does not, because it holds
//! only what was written for Finishline. There the files are those of the package `isl-rs`, which
//! cargo downloads in the version of `Cargo.lock` and checks. The build script and
//! `cargo xtask package` share this file.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package whose files these are.
const PACKAGE: &str = "isl-rs";

/// The folder with the files of `isl-rs`. `package` is the folder of finishline-isl in a checkout,
/// `scratch` a folder for a small package that depends on `isl-rs` alone.
pub(crate) fn from_registry(
    cargo: OsString,
    package: &Path,
    scratch: &Path,
) -> Result<PathBuf, String> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let manifest = read(&package.join("Cargo.toml"))?;
    let mut lines = manifest.lines();
    let requirement = lines.find(|line| line.starts_with(PACKAGE));
    let requirement = requirement.ok_or(format!("Cargo.toml does not name {PACKAGE}"))?;
    // With the versions and checksums of the workspace. Cargo removes what is not needed.
    let lock = read(&package.join("../../Cargo.lock"))?;
    let small = format!(
        "[workspace]\n[package]\nname = \"scratch\"\nedition = \"2021\"\n\
         [lib]\npath = \"lib.rs\"\n[dependencies]\n{requirement}\n"
    );
    let write = |name: &str, text: &str| {
        let path = scratch.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    fs::create_dir_all(scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    write("Cargo.toml", &small)?;
    write("Cargo.lock", &lock)?;
    write("lib.rs", "")?;
    let mut metadata = Command::new(cargo);
    metadata
        .args([
            "metadata",
            "--quiet",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(scratch.join("Cargo.toml"))
        // Where the user's settings of registries are.
        .current_dir(package);
    let output = metadata.output();
    let output = output.map_err(|error| format!("cargo metadata does not run: {error}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo can't get the sources of isl: {errors}"));
    }
    let packages = String::from_utf8_lossy(&output.stdout);
    folder(&packages).ok_or(format!("cargo has not told where {PACKAGE} is: {packages}"))
}

/// The folder of the package in the output of `cargo metadata`.
fn folder(metadata: &str) -> Option<PathBuf> {
    let paths = metadata.split(r#""manifest_path":""#).skip(1);
    let manifests = paths.filter_map(|rest| rest.split('"').next().map(Path::new));
    let folders = manifests.filter_map(Path::parent);
    let mut ours = folders.filter(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(PACKAGE)
    });
    ours.next().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_found_among_those_of_other_packages() {
        let package =
            |folder: &str| format!(r#"{{"manifest_path":"{folder}/Cargo.toml","id":1}},"#);
        let all = |folder: &str| ["/r/libc-0.2", folder, "/w/scratch"].map(package).concat();
        for ours in ["/r/isl-rs-0.3.1", "/vendor/isl-rs"] {
            assert_eq!(folder(&all(ours)).as_deref(), Some(Path::new(ours)));
        }
        assert_eq!(folder(&all("/r/isl-0.0.1")), None);
    }
}
