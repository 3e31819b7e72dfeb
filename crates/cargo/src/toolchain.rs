//! The user's cargo and rustc, and the configuration of that cargo.
//!
//! Only cargo knows how its configuration is combined from files, environment and `--config`. So
//! cargo is asked.

use crate::Problem;
use serde::Deserialize;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The hosts that the runtime supports.
const SUPPORTED_HOSTS: [&str; 1] = ["x86_64-unknown-linux-gnu"];

pub(crate) struct Toolchain {
    pub(crate) cargo: OsString,
    pub(crate) rustc: OsString,
    /// The whole output of `rustc -vV`.
    pub(crate) version: String,
    pub(crate) host: String,
    pub(crate) release: String,
}

/// Options of cargo that decide which configuration and which workspace it reads.
#[derive(Default)]
pub(crate) struct WhereCargoReads {
    pub(crate) arguments: Vec<OsString>,
    /// Not passed to `cargo config`, which does not take it.
    pub(crate) manifest: Vec<OsString>,
}

/// A part of what `cargo metadata` tells.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    /// The directory that cargo would build in.
    pub(crate) target_directory: PathBuf,
    pub(crate) workspace_root: PathBuf,
    pub(crate) packages: Vec<Package>,
    /// The packages that a command is about if it names none.
    #[serde(rename = "workspace_default_members")]
    pub(crate) default_members: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    metadata: serde_json::Value,
}

impl Package {
    /// Whether its manifest has a table for this tool.
    pub(crate) fn has_settings(&self) -> bool {
        self.metadata.get("finishline").is_some()
    }
}

impl Toolchain {
    pub(crate) fn find(place: &WhereCargoReads) -> Result<Toolchain, Problem> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let rustc = match given(&["RUSTC", "CARGO_BUILD_RUSTC"]) {
            Some(rustc) => rustc,
            None => {
                configured_program(&cargo, place, "build.rustc").unwrap_or_else(|| "rustc".into())
            }
        };
        let version = output(Command::new(&rustc).arg("-vV"))?;
        let field = |name: &str| {
            let mut lines = version.lines();
            let value = lines.find_map(|line| line.strip_prefix(name));
            value.map(|value| value.trim().to_owned()).ok_or_else(|| {
                Problem::new(format!(
                    "`{} -vV` does not say its {name}",
                    Path::new(&rustc).display()
                ))
            })
        };
        let host = field("host:")?;
        let release = field("release:")?;
        if !SUPPORTED_HOSTS.contains(&host.as_str()) {
            let supported = SUPPORTED_HOSTS.join(", ");
            return Err(Problem::new(format!(
                "programs are checked on {supported} only, and this is {host}"
            )));
        }
        Ok(Toolchain {
            cargo,
            rustc,
            version,
            host,
            release,
        })
    }

    fn sysroot(&self) -> Result<PathBuf, Problem> {
        let sysroot = output(Command::new(&self.rustc).args(["--print", "sysroot"]))?;
        Ok(PathBuf::from(sysroot.trim_end()))
    }

    /// A tool that comes with rustc, ready to be called. Not every distribution of rustc has it.
    pub(crate) fn shipped(&self, tool: &str) -> Result<Option<Command>, Problem> {
        let sysroot = self.sysroot()?;
        let path = sysroot.join("lib/rustlib").join(&self.host).join("bin");
        let path = path.join(tool);
        if !path.is_file() {
            return Ok(None);
        }
        let mut command = Command::new(path);
        // It may need the compiler's own libraries.
        let libraries = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let others = env::split_paths(&libraries).filter(|path| !path.as_os_str().is_empty());
        let libraries = env::join_paths([sysroot.join("lib")].into_iter().chain(others));
        if let Ok(libraries) = libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        Ok(Some(command))
    }

    /// The precompiled standard library that programs are linked with.
    pub(crate) fn standard_library(&self) -> Result<PathBuf, Problem> {
        let folder = self.sysroot()?;
        let folder = folder.join("lib/rustlib").join(&self.host).join("lib");
        let entries = fs::read_dir(&folder).map_err(|error| Problem::read(&folder, error))?;
        let mut paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        let is_std = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        };
        paths.find(is_std).ok_or_else(|| {
            Problem::new(format!(
                "there is no standard library in {}",
                folder.display()
            ))
        })
    }

    /// Whether this rustc accepts unstable options by itself.
    pub(crate) fn is_nightly(&self) -> bool {
        self.release.contains("nightly") || self.release.contains("dev")
    }

    /// The user's own wrapper around rustc.
    pub(crate) fn users_wrapper(&self, place: &WhereCargoReads) -> Option<OsString> {
        match given(&["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"]) {
            Some(wrapper) => Some(wrapper),
            // Set but empty: the user wants no wrapper, whatever the configuration says.
            None if env::var_os("RUSTC_WRAPPER").is_some() => None,
            None => configured_program(&self.cargo, place, "build.rustc-wrapper"),
        }
    }

    /// The user's own runner, as a program and its arguments. Empty if none is configured.
    pub(crate) fn users_runner(&self, place: &WhereCargoReads) -> Vec<OsString> {
        // Cargo reads the variable itself, as a part of its configuration.
        let key = format!("target.{}.runner", self.host);
        let runner = configuration(&self.cargo, place, &key)
            .as_deref()
            .and_then(parse_runner);
        runner.unwrap_or_default()
    }

    /// What cargo knows about the user's workspace.
    pub(crate) fn workspace(&self, place: &WhereCargoReads) -> Result<Workspace, Problem> {
        let mut command = Command::new(&self.cargo);
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        command.args(&place.arguments).args(&place.manifest);
        let text = output(&mut command)?;
        serde_json::from_str(&text)
            .map_err(|error| Problem::new(format!("can't understand `cargo metadata`: {error}")))
    }
}

/// The first of these variables that is set and not empty.
fn given(variables: &[&str]) -> Option<OsString> {
    let values = variables.iter().filter_map(env::var_os);
    values.into_iter().find(|value| !value.is_empty())
}

/// A program that cargo's configuration names.
fn configured_program(cargo: &OsStr, place: &WhereCargoReads, key: &str) -> Option<OsString> {
    parse_program(&configuration(cargo, place, key)?)
}

/// A value of cargo's configuration, with its origin.
///
/// The command that reads the configuration is not stable. Where it is missing, nothing counts as
/// configured.
fn configuration(cargo: &OsStr, place: &WhereCargoReads, key: &str) -> Option<String> {
    let mut command = Command::new(cargo);
    command.args(["-Zunstable-options", "config", "get", "--show-origin", key]);
    command.args(&place.arguments).env("RUSTC_BOOTSTRAP", "1");
    command.stderr(Stdio::null()).stdin(Stdio::null());
    let output = command
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// Reads `build.rustc-wrapper = "value" # origin`.
fn parse_program(line: &str) -> Option<OsString> {
    let (_, assigned) = line.split_once(" = ")?;
    let (program, origin) = parse_value(assigned)?;
    from_anywhere(&program, origin)
}

/// Reads `….runner = "value" # origin`. The value is a program and its arguments, or a list of such
/// values, one a line.
fn parse_runner(text: &str) -> Option<Vec<OsString>> {
    let (_, assigned) = text.split_once(" = ")?;
    let (words, origin): (Vec<String>, &str) = match parse_value(assigned) {
        Some((value, origin)) => (
            value.split_whitespace().map(str::to_owned).collect(),
            origin,
        ),
        None => {
            let values: Vec<(String, &str)> = assigned.lines().filter_map(parse_value).collect();
            let (_, origin) = *values.first()?;
            (values.into_iter().map(|(value, _)| value).collect(), origin)
        }
    };
    let (program, arguments) = words.split_first()?;
    let arguments = arguments.iter().map(OsString::from);
    Some(
        [from_anywhere(program, origin)?]
            .into_iter()
            .chain(arguments)
            .collect(),
    )
}

/// Reads `"value" # origin`, possibly a part of a list.
fn parse_value(line: &str) -> Option<(String, &str)> {
    let (value, origin) = line.trim().rsplit_once(" # ")?;
    let value = serde_json::from_str(value.trim_end_matches(',')).ok()?;
    Some((value, origin))
}

/// A configured program as a path that is valid in any directory.
fn from_anywhere(program: &str, origin: &str) -> Option<OsString> {
    if program.is_empty() {
        return None;
    }
    // A path with a slash is relative to the folder that holds `.cargo`. A name without one is
    // looked up in PATH.
    let folder = Path::new(origin).parent().and_then(Path::parent);
    match folder {
        _ if !program.contains('/') => Some(program.into()),
        Some(folder) => Some(folder.join(program).into()),
        // It comes from `--config`, so it is relative to the current directory.
        None => std::path::absolute(program).ok().map(PathBuf::into),
    }
}

/// The standard output of a command. Its standard error goes to the user.
fn output(command: &mut Command) -> Result<String, Problem> {
    let program = command.get_program().to_owned();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Problem::start(&program, error))?;
    let shown = Path::new(&program).display();
    if !output.status.success() {
        return Err(Problem::new(format!("{shown} failed ({})", output.status)));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| Problem::new(format!("{shown} answered with something that is not text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_paths_are_relative_to_the_folder_of_the_configuration() {
        let read = |line| parse_program(line).map(|path| path.into_string().expect("text"));
        let line = "build.rustc-wrapper = \"tools/wrap\" # /home/me/p/.cargo/config.toml\n";
        assert_eq!(read(line).as_deref(), Some("/home/me/p/tools/wrap"));
        let line = "build.rustc-wrapper = \"sccache\" # /home/me/.cargo/config.toml";
        assert_eq!(read(line).as_deref(), Some("sccache"));
        let line = "build.rustc-wrapper = \"/opt/w # x\" # --config cli option";
        assert_eq!(read(line).as_deref(), Some("/opt/w # x"));
        assert_eq!(
            read("build.rustc-wrapper = \"\" # /x/.cargo/config.toml"),
            None
        );
    }

    #[test]
    fn runners_are_a_text_or_a_list() {
        let read = |text| {
            let words = parse_runner(text).unwrap_or_default().into_iter();
            let words: Vec<String> = words
                .map(|word| word.into_string().expect("text"))
                .collect();
            words.join("|")
        };
        let origin = "# /home/me/p/.cargo/config.toml";
        let text = format!("target.x.runner = \"tools/run -v  a\" {origin}\n");
        assert_eq!(read(&text), "/home/me/p/tools/run|-v|a");
        let list =
            format!("target.x.runner = [\n    \"run\", {origin}\n    \"-v # x, y\", {origin}\n]\n");
        assert_eq!(read(&list), "run|-v # x, y");
        let variable = "target.x.runner = \"/bin/a b\" # environment variable `X`\n";
        assert_eq!(read(variable), "/bin/a|b");
        assert_eq!(read("target.x.runner = [\n]\n"), "");
    }
}
