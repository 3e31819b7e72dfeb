//! `cargo xtask dist`: an archive with the commands for people who do not build them.
//!
//! The archive has both commands, their manual pages and completions (`finishline pages`), the
//! documents, and the licences, also those of the libraries inside the commands. The archive is
//! unpacked again, and the commands from it must run.

use crate::command::CommandLine;
use crate::suite::string_field;
use crate::{Failure, Outcome, package, prerequisites, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the archive. Cargo puts what it builds with the profile `dist` there as well.
const FOLDER: &str = "target/dist";
const BINARIES: [&str; 2] = ["finishline", "cargo-finishline"];
const DOCUMENTS: [&str; 4] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "docs"];

pub(crate) fn run(_: &[String]) -> Outcome {
    prerequisites::ensure_build()?;
    CommandLine::new(
        "cargo build --locked --target-dir target --profile dist --package finishline",
    )
    .run()?;
    let name = name()?;
    let folder = root().join(FOLDER).join(&name);
    let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(folder.join("bin")).map_err(failed)?;
    for binary in BINARIES {
        let built = root().join(FOLDER).join(binary);
        fs::copy(built, folder.join("bin").join(binary)).map_err(failed)?;
    }
    for document in DOCUMENTS {
        CommandLine::new(&format!("cp --recursive {document} {FOLDER}/{name}/")).run()?;
    }
    CommandLine::new(&format!("{FOLDER}/finishline pages {FOLDER}/{name}/share")).run()?;
    fs::write(folder.join("LICENSES.txt"), licences()?).map_err(failed)?;

    let archive = format!("{FOLDER}/{name}.tar.gz");
    let options = "--sort=name --owner=0 --group=0 --numeric-owner";
    CommandLine::new(&format!(
        "tar --create --gzip {options} --file {archive} --directory {FOLDER} {name}"
    ))
    .run()?;
    fs::remove_dir_all(&folder).map_err(failed)?;
    let runs = try_out(&archive, &name);
    fs::remove_dir_all(&folder).map_err(failed)?;
    runs?;
    println!("{archive}");
    Ok(())
}

/// Unpacks the archive and runs the commands from it.
fn try_out(archive: &str, name: &str) -> Outcome {
    CommandLine::new(&format!(
        "tar --extract --file {archive} --directory {FOLDER}"
    ))
    .run()?;
    for (line, status) in [
        ("cargo-finishline finishline --version", 0),
        (
            "finishline check programs/esp-bags/figures/fig2_fixed.fin 3",
            0,
        ),
        ("finishline check programs/esp-bags/figures/fig2.fin 3", 66),
    ] {
        let line = CommandLine::new(&format!("{FOLDER}/{name}/bin/{line}"));
        if line.status()?.code() != Some(status) {
            return Err(Failure::Failed(format!(
                "expected exit status {status} from {line}"
            )));
        }
    }
    Ok(())
}

/// `finishline-VERSION-TARGET`.
fn name() -> Result<String, Failure> {
    let answer = |line: &str| {
        let told = CommandLine::new(line).answer();
        told.ok_or_else(|| Failure::Failed(format!("no answer from `{line}`")))
    };
    let version = answer("cargo pkgid --package finishline")?;
    let version = version.rsplit(['#', '@']).next().unwrap_or_default();
    let rustc = answer("rustc --verbose --version")?;
    let target = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    let target = target.ok_or_else(|| Failure::Failed("rustc does not tell its host".into()))?;
    Ok(format!("finishline-{}-{target}", version.trim()))
}

/// The licences of everything inside the commands, with the names of the packages.
fn licences() -> Result<String, Failure> {
    let output = |line: &str| {
        let told = CommandLine::new(line).output()?;
        told.ok_or_else(|| Failure::Failed(format!("failed; to repeat: {line}")))
    };
    let tree = output(
        "cargo tree --locked --package finishline --edges normal,no-proc-macro --prefix none --format {p}|{l}",
    )?;
    let metadata = output(
        "cargo metadata --locked --format-version 1 --filter-platform x86_64-unknown-linux-gnu",
    )?;
    let folders: Vec<PathBuf> = metadata
        .split(r#""targets":["#)
        .filter_map(|package| string_field(package, "manifest_path"))
        .filter_map(|path| Some(Path::new(path).parent()?.to_owned()))
        .collect();
    let mut text = String::from(
        "The commands of Finishline contain these packages. The licence of Finishline itself is in\n\
         LICENSE-MIT and LICENSE-APACHE.\n",
    );
    // A package that is listed before has a mark.
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    let lines: BTreeSet<&str> = lines.collect();
    for line in lines {
        let (package, licence) = line.split_once('|').unwrap_or((line, ""));
        let mut words = package.split(' ');
        let (name, version) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let version = version.trim_start_matches('v');
        // Ours have the path behind the version.
        if words.any(|word| word.starts_with("(/")) {
            continue;
        }
        let folder = format!("{name}-{version}");
        let folder = folders.iter().find(|path| path.ends_with(&folder));
        let folder = folder.ok_or_else(|| Failure::Failed(format!("where is {package}?")))?;
        text += &format!("\n==== {name} {version}: {licence}\n");
        for file in licence_files(folder)? {
            text += &format!("\n{}\n", file.trim_end());
        }
    }
    // isl and its arithmetic are inside our own package.
    let isl_rs = package::isl_rs().map_err(Failure::Failed)?;
    for folder in ["", "isl", "isl/imath"] {
        text += &format!("\n==== isl-rs/{folder}\n");
        for file in licence_files(&isl_rs.join(folder))? {
            text += &format!("\n{}\n", file.trim_end());
        }
    }
    Ok(text)
}

/// The texts of the files in a package's folder that say how it may be used.
fn licence_files(folder: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let starts = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
        if starts.iter().any(|start| name.starts_with(start)) && entry.path().is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    let texts = paths.iter().map(|path| fs::read(path).map_err(failed));
    let texts = texts.map(|text| Ok(String::from_utf8_lossy(&text?).into_owned()));
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_is_named_after_version_and_system() {
        let name = name().unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let target = name.strip_prefix(&format!("finishline-{version}-"));
        let target = target.expect("the version of the workspace");
        assert!(target.contains("-linux-"), "{name}");
    }

    #[test]
    fn all_licences_of_a_folder_are_found() {
        let texts = licence_files(root()).unwrap();
        assert_eq!(texts.len(), 2);
        assert!(texts[0].contains("Apache License"));
        assert!(texts[1].contains("Permission is hereby granted"));
    }

    #[test]
    fn libraries_inside_the_commands_are_named_with_their_licences() {
        let text = licences().unwrap();
        for start in ["==== clap 4", "==== serde_json 1", "==== isl-rs/isl/imath"] {
            let (_, own) = text.split_once(start).expect(start);
            let (own, _) = own.split_once("\n==== ").unwrap_or((own, ""));
            assert!(own.contains("Permission is hereby granted"), "{start}");
        }
        assert!(!text.contains("==== finishline"), "ours are apart");
        assert!(!text.contains("==== loom"), "it serves tests only");
    }
}
