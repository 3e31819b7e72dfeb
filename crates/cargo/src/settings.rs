//! The settings of a package: `[package.metadata.finishline]` in its `Cargo.toml`.
//!
//! Cargo says which packages have such a table, and leaves its content to us. The manifest itself
//! is read as well, because a mistake in it is told with its line. Only packages that the command
//! is about are looked at. An option of the command line takes the place of the setting.

use crate::Problem;
use crate::toolchain::{Package, Workspace};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Settings {
    /// Features that are enabled besides those of the command line.
    #[serde(default)]
    pub(crate) features: Vec<String>,
    pub(crate) logical_threads: Option<NonZeroU32>,
    /// The most orders of tasks in which a test is run.
    pub(crate) orders: Option<NonZeroU32>,
    /// A path relative to the manifest in the file, and absolute afterwards.
    pub(crate) suppressions: Option<PathBuf>,
}

/// A package with settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Configured {
    pub(crate) package: String,
    /// The folder of the manifest, by which cargo names the package to the runner.
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
}

/// The settings of all packages that cargo's arguments select.
pub(crate) fn read(
    workspace: &Workspace,
    arguments: &[OsString],
) -> Result<Vec<Configured>, Problem> {
    let selection = Selection::read(arguments);
    let selected = workspace.packages.iter().filter(|package| {
        let is_default = workspace.default_members.contains(&package.id);
        package.has_settings() && selection.contains(&package.name, is_default)
    });
    selected.map(configured).collect()
}

fn configured(package: &Package) -> Result<Configured, Problem> {
    let path = &package.manifest_path;
    let text = fs::read_to_string(path).map_err(|error| Problem::read(path, error))?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let mut settings = parse(&text).map_err(|mistake| {
        let at = mistake
            .at
            .map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
        Problem::new(format!("{}{at}: {}", path.display(), mistake.text))
    })?;
    settings.suppressions = settings.suppressions.map(|file| folder.join(file));
    Ok(Configured {
        package: package.name.clone(),
        folder,
        settings,
    })
}

#[derive(Debug, PartialEq, Eq)]
struct Mistake {
    /// Line and column, from 1.
    at: Option<(usize, usize)>,
    text: String,
}

fn parse(manifest: &str) -> Result<Settings, Mistake> {
    #[derive(Deserialize)]
    struct Manifest {
        package: InPackage,
    }
    #[derive(Deserialize)]
    struct InPackage {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        finishline: Settings,
    }
    let parsed: Result<Manifest, toml::de::Error> = toml::from_str(manifest);
    let manifest = parsed.map_err(|error| Mistake {
        at: error.span().map(|span| position(manifest, span.start)),
        text: format!("[package.metadata.finishline]: {}", error.message()),
    })?;
    Ok(manifest.package.metadata.finishline)
}

fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let last = before.rsplit('\n').next().unwrap_or(before);
    (line, last.chars().count() + 1)
}

/// Which packages cargo's arguments are about.
#[derive(Debug, Default)]
struct Selection {
    named: Vec<String>,
    all: bool,
    excluded: Vec<String>,
}

impl Selection {
    fn read(arguments: &[OsString]) -> Selection {
        let mut selection = Selection::default();
        let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = arguments.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (&*argument, None),
            };
            let mut value = || value.clone().or_else(|| arguments.next().map(String::from));
            match name {
                "--workspace" | "--all" => selection.all = true,
                "-p" | "--package" => selection.named.extend(value()),
                "--exclude" => selection.excluded.extend(value()),
                _ => {
                    let short = argument
                        .strip_prefix("-p")
                        .filter(|_| !name.starts_with("--"));
                    selection.named.extend(short.map(str::to_owned));
                }
            }
        }
        selection
    }

    fn contains(&self, package: &str, is_default: bool) -> bool {
        let is_in = |specs: &[String]| specs.iter().any(|spec| matches(spec, package));
        match (self.all, self.named.is_empty()) {
            (true, _) => !is_in(&self.excluded),
            (false, false) => is_in(&self.named),
            (false, true) => is_default,
        }
    }
}

/// Whether cargo's name of a package is about this one: `name`, `name@1.2.3`, `path#name`, `na*`.
fn matches(spec: &str, package: &str) -> bool {
    let spec = spec.rsplit_once('#').map_or(spec, |(_, name)| name);
    let spec = spec.split_once('@').map_or(spec, |(name, _)| name);
    match spec.split_once('*') {
        Some((start, end)) => {
            let rest = package.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        }
        None => spec == package,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_manifest(settings: &str) -> Result<Settings, Mistake> {
        parse(&format!(
            "[package]\nname = \"a\"\n\n[package.metadata.finishline]\n{settings}"
        ))
    }

    #[test]
    fn settings_are_read() {
        let settings = "features = [\"small\"]\nlogical-threads = 64\norders = 7\n\
                        suppressions = \"known\"\n";
        let expected = Settings {
            features: vec!["small".to_owned()],
            logical_threads: NonZeroU32::new(64),
            orders: NonZeroU32::new(7),
            suppressions: Some("known".into()),
        };
        assert_eq!(in_manifest(settings), Ok(expected));
        assert_eq!(in_manifest(""), Ok(Settings::default()));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (settings, at, text) in [
            (
                "logical-thread = 3\n",
                (5, 1),
                "unknown field `logical-thread`",
            ),
            (
                "features = []\norder = 3\n",
                (6, 1),
                "unknown field `order`",
            ),
            ("logical-threads = 0\n", (5, 19), "nonzero"),
            ("logical-threads = \"2\"\n", (5, 19), "string"),
            ("orders = 0\n", (5, 10), "nonzero"),
            ("features = \"a\"\n", (5, 12), "string"),
        ] {
            let mistake = in_manifest(settings).expect_err("a mistake");
            assert_eq!(mistake.at, Some(at), "{settings} {mistake:?}");
            assert!(mistake.text.contains(text), "{mistake:?}");
        }
    }

    #[test]
    fn packages_are_selected_as_cargo_does() {
        let selected = |arguments: &str| {
            let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
            let selection = Selection::read(&arguments);
            let packages = [("ab", true), ("ac", false), ("b", false)];
            let selected = packages
                .iter()
                .filter(|(name, own)| selection.contains(name, *own));
            selected
                .map(|(name, _)| *name)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(selected("--release"), "ab");
        assert_eq!(selected("--workspace --exclude ac"), "ab b");
        assert_eq!(selected("-p ac --package=b@1.0"), "ac b");
        assert_eq!(selected("-pac -p path+file:///x#b@1.0"), "ac b");
        assert_eq!(selected("--package a*"), "ab ac");
        assert_eq!(selected("--profile x"), "ab");
    }
}
