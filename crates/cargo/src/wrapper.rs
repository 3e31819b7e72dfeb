//! The part that cargo calls instead of rustc.
//!
//! Cargo names a target exactly in the calls that build parts of the program or its tests. These
//! crates are instrumented. Build scripts, procedural macros and probes of the compiler are not.
//! Our flags are added here, so that cargo still combines the user's own flags from all their
//! sources.
//!
//! If the crate is rayon, one of its files is replaced (`overlay.rs`).
//!
//! If the crate is rayon-core, its root is replaced by the drop-in's. The package, its version and
//! the lock file stay the same, so the drop-in is never left out silently. Another major version is
//! an error. A later minor version compiles if its interface is still this one.

use crate::overlay::overlay;
use crate::run::Ended;
use crate::session::{Compiler, Session};
use crate::unsafe_code::{self, List};
use crate::{Problem, diagnostics, sources};
use finishline_symbols::ListedUnsafe;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags for every instrumented crate.
const INSTRUMENTATION: [&str; 6] = [
    "-Zsanitizer=thread",
    // Our runtime answers the calls of the instrumentation, not the runtime that comes with rustc.
    "-Zexternal-clangrt",
    // Otherwise unoptimised code would call instances of generic functions in other crates, and
    // those in std are not instrumented.
    "-Zshare-generics=no",
    // Neither the standard library nor the drop-in is instrumented.
    "-Cunsafe-allow-abi-mismatch=sanitizer",
    "-Cforce-frame-pointers=yes",
    // Otherwise functions that do the same become one, and all are reported by its name and lines.
    "-Zmerge-functions=disabled",
];

/// What instrumented code can find out about itself: `cfg(finishline)`.
const CONFIGURATION: [&str; 2] = ["--cfg=finishline", "--check-cfg=cfg(finishline)"];

/// The crate whose root is replaced, and the versions whose interface the drop-in follows.
const RAYON_CORE: &str = "rayon_core";
/// The crate of which a file is replaced.
const RAYON: &str = "rayon";
const RAYON_CORE_MAJOR: &str = "1";
const RAYON_CORE_MINORS: [&str; 2] = ["12", "13"];

/// Compiles a crate. For the user's own crates, the compiler's messages are read. Otherwise the
/// process becomes the compiler, and this returns only if that can't be started.
pub(crate) fn compile(
    session: &Session,
    rustc: &OsStr,
    arguments: &[OsString],
) -> Result<u8, Problem> {
    let call = Call::read(arguments)?;
    let mut command = match &session.compiler.users_wrapper {
        Some(wrapper) => {
            let mut command = Command::new(wrapper);
            command.arg(rustc);
            command
        }
        None => Command::new(rustc),
    };
    match call.unit() {
        Unit::Untouched => {
            command.args(arguments);
            if call.is_test && !call.is_probe {
                call.mark(unchecked_mark)?;
            }
        }
        Unit::DropIn => {
            let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
            check_version(&version)?;
            command.args(Call::with_edition(
                call.with_root(&session.compiler.drop_in)?,
            ));
            command.args(call.debug_information());
            command.args(call.crates_apart());
            call.list_unsafe(Vec::new())?;
        }
        Unit::Instrumented => {
            match call.crate_name.as_deref() {
                Some(RAYON) if !call.is_test => command.args(call.as_rayon(&session.compiler)?),
                _ => command.args(arguments),
            };
            command.args(INSTRUMENTATION).args(CONFIGURATION);
            command
                .args(&session.compiler.compile_arguments)
                .args(call.debug_information())
                .args(call.visible_vectors())
                .args(call.crates_apart());
            if session.compiler.stable {
                // Crates must not mistake the compiler for a nightly one because of our options.
                command.env("RUSTC_BOOTSTRAP", "1").arg("-Zallow-features=");
            }
            if call.makes_program() {
                command.args(&session.compiler.link_arguments);
            }
            // Programs with a harness of their own are not marked, and run as a whole.
            if call.is_test {
                call.mark(harness_mark)?;
            }
            match (call.is_users(), call.tells_cargo()) {
                (true, true) => return call.compile_and_list(command),
                // What it has is not known, so there is no list.
                (true, false) => {}
                (false, _) => call.list_unsafe(Vec::new())?,
            }
        }
    }
    let error = command.exec();
    Err(Problem::start(command.get_program(), error))
}

/// The file beside a program that marks the program as one of tests.
pub(crate) fn harness_mark(program: &Path) -> PathBuf {
    program.with_added_extension("libtest")
}

/// The file beside a program of tests that marks the program as one without checks: cargo builds
/// the unit tests of a procedural macro for the compiler, not for the target.
pub(crate) fn unchecked_mark(program: &Path) -> PathBuf {
    program.with_added_extension("unchecked")
}

fn check_version(version: &str) -> Result<(), Problem> {
    let mut numbers = version.split('.');
    let (major, minor) = (numbers.next(), numbers.next());
    if major != Some(RAYON_CORE_MAJOR) {
        return Err(Problem::new(format!(
            "Finishline can't stand in for rayon-core {version}, only for {RAYON_CORE_MAJOR}.x"
        )));
    }
    if !minor.is_some_and(|minor| RAYON_CORE_MINORS.contains(&minor)) {
        let known = RAYON_CORE_MINORS.map(|minor| format!("{RAYON_CORE_MAJOR}.{minor}"));
        eprintln!(
            "note: Finishline stands in for rayon-core {version} with the interface of {}",
            known.join(" and ")
        );
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Unit {
    Untouched,
    DropIn,
    Instrumented,
}

/// A call of rustc, as far as we need to understand it.
struct Call {
    /// The arguments, with response files expanded.
    arguments: Vec<OsString>,
    crate_name: Option<String>,
    crate_types: Vec<String>,
    has_target: bool,
    is_test: bool,
    /// Whether a build script makes this call to find out what the compiler supports.
    is_probe: bool,
}

impl Call {
    fn read(arguments: &[OsString]) -> Result<Call, Problem> {
        let arguments = expanded(arguments)?;
        let mut call = Call {
            crate_name: None,
            crate_types: Vec::new(),
            has_target: false,
            is_test: false,
            // Cargo sets this variable only for build scripts.
            is_probe: env::var_os("CARGO_CFG_TARGET_ARCH").is_some(),
            arguments,
        };
        call.crate_name = call.values("--crate-name").pop();
        call.crate_types = call.values("--crate-type");
        call.has_target = !call.values("--target").is_empty();
        call.is_test = call.arguments.iter().any(|argument| argument == "--test");
        Ok(call)
    }

    fn unit(&self) -> Unit {
        // Cargo compiles a crate named by three underscores to learn about the compiler.
        let name = self.crate_name.as_deref().filter(|name| *name != "___");
        match name {
            Some(_) if !self.has_target || self.is_probe => Unit::Untouched,
            Some(RAYON_CORE) if !self.is_test => Unit::DropIn,
            Some(_) => Unit::Instrumented,
            None => Unit::Untouched,
        }
    }

    fn makes_program(&self) -> bool {
        // Without a crate type the crate is a program. So are tests with a harness of their own.
        let is_program = self.crate_types.iter().any(|kind| kind == "bin");
        self.is_test || is_program || self.crate_types.is_empty()
    }

    /// The values of an option, given as `--name value` or `--name=value`.
    fn values(&self, name: &str) -> Vec<String> {
        let mut values = Vec::new();
        let mut arguments = self
            .arguments
            .iter()
            .map(|argument| argument.to_string_lossy());
        while let Some(argument) = arguments.next() {
            if argument == name {
                values.extend(arguments.next().map(String::from));
            } else if let Some(value) = argument.strip_prefix(name)
                && let Some(value) = value.strip_prefix('=')
            {
                values.push(value.to_owned());
            }
        }
        values
    }

    /// The values of a code generation option, given as `-C name=value` or `-Cname=value`, with or
    /// without a value.
    fn codegen(&self, name: &str) -> Vec<String> {
        let mut values = Vec::new();
        let mut arguments = self
            .arguments
            .iter()
            .map(|argument| argument.to_string_lossy());
        while let Some(argument) = arguments.next() {
            let option = match argument.strip_prefix("-C") {
                Some("") => arguments.next().map(String::from),
                Some(option) => Some(option.to_owned()),
                None if argument == "--codegen" => arguments.next().map(String::from),
                None => argument.strip_prefix("--codegen=").map(str::to_owned),
            };
            if let Some(option) = option {
                let (key, value) = option.split_once('=').unwrap_or((&option, ""));
                if key.replace('_', "-") == name {
                    values.push(value.to_owned());
                }
            }
        }
        values
    }

    /// Reports name lines, so the program needs line tables, and they must not be stripped.
    fn debug_information(&self) -> Vec<&'static str> {
        let mut flags = Vec::new();
        let short = self.arguments.iter().any(|argument| argument == "-g");
        let level = self.codegen("debuginfo").pop();
        match level.as_deref() {
            Some("0" | "none" | "line-directives-only") => {
                flags.push("-Cdebuginfo=line-tables-only")
            }
            None if !short => flags.push("-Cdebuginfo=line-tables-only"),
            _ => {}
        }
        if !self.codegen("strip").is_empty() {
            flags.push("-Cstrip=none");
        }
        if !self.codegen("split-debuginfo").is_empty() {
            flags.push("-Csplit-debuginfo=off");
        }
        flags
    }

    /// The instrumentation sees vectors of up to 16 bytes. If the user's flags may allow wider
    /// ones, the compiler must not vectorise.
    fn visible_vectors(&self) -> &'static [&'static str] {
        match self.codegen("target-cpu").is_empty() && self.codegen("target-feature").is_empty() {
            true => &[],
            false => &["-Cno-vectorize-loops", "-Cno-vectorize-slp"],
        }
    }

    /// The linker redirects calls of std's functions to the runtime. It does not see calls between
    /// crates that are optimised as one, so that is switched off.
    fn crates_apart(&self) -> Vec<&'static str> {
        let options = [
            ("lto", "-Clto=off"),
            ("linker-plugin-lto", "-Clinker-plugin-lto=no"),
        ];
        let given = options
            .into_iter()
            .filter(|(name, _)| !self.codegen(name).is_empty());
        given.map(|(_, flag)| flag).collect()
    }

    /// Where the crate root is among the arguments.
    fn root(&self) -> Result<usize, Problem> {
        let is_root = |argument: &OsString| {
            let text = argument.to_string_lossy();
            text.ends_with(".rs") && !text.starts_with('-')
        };
        let mut roots = (0..self.arguments.len()).filter(|at| is_root(&self.arguments[*at]));
        match (roots.next(), roots.next()) {
            (Some(root), None) => Ok(root),
            _ => Err(Problem::new(format!(
                "can't find the root of {} in cargo's call of rustc",
                self.crate_name.as_deref().unwrap_or("a crate")
            ))),
        }
    }

    /// The arguments with another crate root.
    fn with_root(&self, root: &Path) -> Result<Vec<OsString>, Problem> {
        let mut arguments = self.arguments.clone();
        arguments[self.root()?] = root.into();
        Ok(arguments)
    }

    /// The arguments with the edition of the drop-in.
    fn with_edition(arguments: Vec<OsString>) -> Vec<OsString> {
        let mut with_edition = Vec::new();
        let mut rest = arguments.into_iter();
        while let Some(argument) = rest.next() {
            let text = argument.to_string_lossy();
            if text == "--edition" {
                rest.next();
            } else if !text.starts_with("--edition=") {
                with_edition.push(argument);
            }
        }
        with_edition.push(format!("--edition={}", sources::DROP_IN_EDITION).into());
        with_edition
    }

    /// The arguments that compile rayon with our file in it. Reports name files of the package, and
    /// our file.
    fn as_rayon(&self, compiler: &Compiler) -> Result<Vec<OsString>, Problem> {
        let inner = Path::new(sources::REPLACED_IN_RAYON);
        let root = std::path::absolute(&self.arguments[self.root()?]);
        let root = root.map_err(|error| Problem::read(inner, error))?;
        let package = root.parent().and_then(Path::parent);
        let package = package.unwrap_or(Path::new("/"));
        let Some(overlay) = overlay(package, inner, &compiler.rayon_file, &compiler.overlays)?
        else {
            return Ok(self.arguments.clone());
        };
        let stays = root.strip_prefix(package).unwrap_or(&root);
        let mut arguments = self.with_root(&overlay.join(stays))?;
        for (from, to) in [
            (&*overlay, package),
            (&*overlay.join(inner), &*compiler.rayon_file),
        ] {
            let mut mapped = OsString::from("--remap-path-prefix=");
            mapped.push(from);
            mapped.push("=");
            mapped.push(to);
            arguments.push(mapped);
        }
        Ok(arguments)
    }

    /// Whether the crate is the user's own. Cargo caps the lints of all packages without a path.
    fn is_users(&self) -> bool {
        self.values("--cap-lints").is_empty() || env::var_os("CARGO_PRIMARY_PACKAGE").is_some()
    }

    /// Whether rustc writes its messages as cargo reads them.
    fn tells_cargo(&self) -> bool {
        self.values("--error-format") == ["json"]
    }

    /// Compiles one of the user's crates, and lists its unsafe code.
    fn compile_and_list(&self, mut command: Command) -> Result<u8, Problem> {
        command.arg(diagnostics::TOLD_UNSAFE);
        let crate_name = self.crate_name.as_deref().unwrap_or_default();
        let compiled = diagnostics::run(&mut command, crate_name);
        let (status, code) =
            compiled.map_err(|error| Problem::start(command.get_program(), error))?;
        if status.success() {
            self.list_unsafe(code)?;
        }
        Ok(Ended::from(status).status())
    }

    /// Writes the list of the crate's unsafe code.
    fn list_unsafe(&self, code: Vec<ListedUnsafe>) -> Result<(), Problem> {
        let Some((folder, name)) = self.output() else {
            return Ok(());
        };
        let used = self.values("--extern");
        let uses = used
            .iter()
            .filter_map(|used| unsafe_code::list_of_used(used));
        let uses = uses.collect();
        List { code, uses }.write(&folder, &name)
    }

    /// The folder for what rustc makes of the crate, and the name of its files there.
    fn output(&self) -> Option<(PathBuf, String)> {
        let folder = self.values("--out-dir").pop()?;
        let name = self.crate_name.as_ref()?;
        let suffix = self.codegen("extra-filename").pop().unwrap_or_default();
        Some((folder.into(), format!("{name}{suffix}")))
    }

    /// Creates the file beside the program that is to be built.
    fn mark(&self, mark: fn(&Path) -> PathBuf) -> Result<(), Problem> {
        let Some((folder, name)) = self.output() else {
            return Ok(());
        };
        let mark = mark(&folder.join(name));
        File::create(&mark).map_err(|error| Problem::write(&mark, error))?;
        Ok(())
    }
}

/// Expands response files. Cargo uses them if a command line is too long.
fn expanded(arguments: &[OsString]) -> Result<Vec<OsString>, Problem> {
    let mut all = Vec::new();
    for argument in arguments {
        match argument.to_str().and_then(|text| text.strip_prefix('@')) {
            Some(path) => {
                let text = fs::read_to_string(path)
                    .map_err(|error| Problem::read(Path::new(path), error))?;
                all.extend(text.lines().map(OsString::from));
            }
            None => all.push(argument.clone()),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> Call {
        let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
        Call::read(&arguments).expect("no response file")
    }

    #[test]
    fn what_runs_as_the_program_is_instrumented() {
        let unit = |arguments: &str| call(arguments).unit();
        let target = "--target x86_64-unknown-linux-gnu";
        assert_eq!(
            unit(&format!("--crate-name a a.rs {target}")),
            Unit::Instrumented
        );
        assert_eq!(unit("--crate-name a a.rs --target=x"), Unit::Instrumented);
        assert_eq!(
            unit("--crate-name build_script_build build.rs"),
            Unit::Untouched
        );
        assert_eq!(unit("--crate-name rayon_core src/lib.rs"), Unit::Untouched);
        assert_eq!(
            unit(&format!("--crate-name rayon_core src/lib.rs {target}")),
            Unit::DropIn
        );
        assert_eq!(
            unit(&format!(
                "--crate-name rayon_core --test src/lib.rs {target}"
            )),
            Unit::Instrumented
        );
        assert_eq!(
            unit(&format!("- --crate-name ___ --print=file-names {target}")),
            Unit::Untouched
        );
        assert_eq!(unit("-vV"), Unit::Untouched);
    }

    #[test]
    fn programs_are_linked_with_the_runtime() {
        assert!(call("--crate-name a --crate-type bin").makes_program());
        assert!(call("--crate-name a --test").makes_program());
        assert!(call("--crate-name own_harness").makes_program());
        assert!(!call("--crate-name a --crate-type lib --crate-type cdylib").makes_program());
    }

    #[test]
    fn there_are_always_lines_to_report() {
        let lines = "-Cdebuginfo=line-tables-only";
        let flags = |arguments| call(arguments).debug_information();
        assert_eq!(flags("a.rs"), [lines]);
        assert_eq!(flags("-C debuginfo=2 -Cdebuginfo=0"), [lines]);
        assert_eq!(
            flags("-C debuginfo=none -C strip=debuginfo"),
            [lines, "-Cstrip=none"]
        );
        assert_eq!(
            flags("--codegen debuginfo=1 --codegen=split_debuginfo=packed"),
            ["-Csplit-debuginfo=off"]
        );
        assert!(flags("-g").is_empty());
        assert!(flags("-Cdebuginfo=full").is_empty());
    }

    #[test]
    fn vectors_stay_as_narrow_as_the_instrumentation_sees() {
        assert!(call("a.rs -Copt-level=3").visible_vectors().is_empty());
        assert!(
            !call("a.rs -C target-cpu=native")
                .visible_vectors()
                .is_empty()
        );
        assert!(
            !call("a.rs -Ctarget_feature=+avx2")
                .visible_vectors()
                .is_empty()
        );
    }

    #[test]
    fn crates_are_not_optimised_as_one() {
        assert!(call("a.rs -Copt-level=3").crates_apart().is_empty());
        assert_eq!(call("a.rs -C lto").crates_apart(), ["-Clto=off"]);
        assert_eq!(
            call("a.rs -C linker-plugin-lto").crates_apart(),
            ["-Clinker-plugin-lto=no"]
        );
    }

    #[test]
    fn the_drop_in_replaces_the_root_alone() {
        let call = call(
            "--crate-name rayon_core --edition=2018 --edition 2021 /registry/src/lib.rs --out-dir o.rs.d -Cmetadata=1",
        );
        let arguments = call
            .with_root(Path::new("/cache/lib.rs"))
            .expect("one root");
        let arguments = Call::with_edition(arguments);
        let edition = format!("--edition={}", sources::DROP_IN_EDITION);
        assert_eq!(
            arguments,
            [
                "--crate-name",
                "rayon_core",
                "/cache/lib.rs",
                "--out-dir",
                "o.rs.d",
                "-Cmetadata=1",
                &edition
            ]
        );
    }

    #[test]
    fn long_command_lines_come_in_files() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(
            file.path(),
            "--crate-name\na\n--cfg\nfeature=\"b c\"\n--target=x",
        )
        .expect("written");
        let call = call(&format!("--test @{}", file.path().display()));
        assert_eq!(call.crate_name.as_deref(), Some("a"));
        assert_eq!(call.values("--cfg"), ["feature=\"b c\""]);
        assert_eq!(call.unit(), Unit::Instrumented);
        assert!(Call::read(&["@/no/such/file".into()]).is_err());
    }

    #[test]
    fn other_major_versions_of_rayon_core_are_refused() {
        assert!(check_version("1.12.1").is_ok());
        assert!(check_version("1.99.0").is_ok());
        assert!(check_version("2.0.0").is_err());
        assert!(check_version("").is_err());
    }
}
