//! The runtime for one rustc: built once from the sources inside the tool, kept in a cache.
//!
//! The runtime is a Rust library with a standard library of its own. It is linked into programs
//! that have theirs. So it becomes one relocatable object in which only the symbols of the
//! interface are global. No other symbol, allocator or panic in it can meet the user's. Each rustc
//! has its own runtime, because the user's rustc compiles the drop-in against it. A fix of the
//! compiler also reaches the runtime this way.
//!
//! A folder of the cache is complete or absent: it is made under another name and renamed. The
//! process that builds holds a lock, so a second process waits instead of building the same. If the
//! process dies, the lock is released.

use crate::sources::Wrapped;
use crate::toolchain::Toolchain;
use crate::{Problem, sources, standard_library};
use std::env;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment variable that names another folder for the cache.
const CACHE_VARIABLE: &str = "FINISHLINE_CACHE";
const OBJECT: &str = "runtime.o";
/// The file with the symbols for the linker's `--wrap`, one a line.
const WRAPPED: &str = "wrapped";
const SOURCES: &str = "sources";
const OVERLAYS: &str = "overlays";

pub(crate) struct Runtime {
    /// Distinguishes builds by another rustc or another version of the tool.
    pub(crate) key: String,
    /// Arguments of rustc for every instrumented crate. They keep functions that the runtime
    /// intercepts from being inlined, even in the crate that defines them.
    pub(crate) compile_arguments: Vec<String>,
    /// Arguments of rustc that link the runtime into a program.
    pub(crate) link_arguments: Vec<String>,
    /// The crate root that replaces rayon-core's.
    pub(crate) drop_in: PathBuf,
    /// The file that replaces one of rayon's, and the folder for rayon with that file.
    pub(crate) rayon_file: PathBuf,
    pub(crate) overlays: PathBuf,
}

impl Runtime {
    /// Finds the runtime in the cache, or builds it.
    pub(crate) fn prepare(toolchain: &Toolchain, quiet: bool) -> Result<Runtime, Problem> {
        let cache = cache(env::var_os, env::home_dir())?;
        fs::create_dir_all(&cache).map_err(|error| Problem::write(&cache, error))?;
        let key = key(toolchain);
        let home = cache.join(&key);
        if !home.is_dir() {
            let lock = wait_for_lock(&cache.join(format!("{key}.lock")), quiet)?;
            if !home.is_dir() {
                build(toolchain, &cache, &home, quiet)?;
            }
            drop(lock);
        }
        let wrapped = read_wrapped(&home)?;
        Ok(Runtime {
            key,
            compile_arguments: wrapped
                .iter()
                .map(|symbol| format!("-Cllvm-args=-force-attribute={symbol}:noinline"))
                .collect(),
            link_arguments: link_arguments(&home, &wrapped)?,
            drop_in: home.join(SOURCES).join(sources::DROP_IN_ROOT),
            rayon_file: home.join(SOURCES).join(sources::RAYON_FILE),
            overlays: home.join(OVERLAYS),
        })
    }
}

/// The folder of the cache, as the environment determines it.
fn cache(
    variable: impl Fn(&'static str) -> Option<OsString>,
    home: Option<PathBuf>,
) -> Result<PathBuf, Problem> {
    let set = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folder = set(CACHE_VARIABLE)
        .or_else(|| set("XDG_CACHE_HOME").map(|caches| caches.join("finishline")))
        .or_else(|| home.map(|home| home.join(".cache/finishline")))
        .ok_or_else(|| {
            Problem::new(format!(
                "there is no home directory; name a folder for the runtime in {CACHE_VARIABLE}"
            ))
        })?;
    std::path::absolute(&folder).map_err(|error| Problem::read(&folder, error))
}

fn key(toolchain: &Toolchain) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(toolchain.version.as_bytes());
    hasher.write(sources::FINGERPRINT.as_bytes());
    hasher.write(env!("CARGO_PKG_VERSION").as_bytes());
    format!("{}-{:016x}", toolchain.release, hasher.finish())
}

fn wait_for_lock(path: &Path, quiet: bool) -> Result<File, Problem> {
    let file = File::create(path).map_err(|error| Problem::write(path, error))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::Error(error)) => return Err(Problem::write(path, error)),
        Err(TryLockError::WouldBlock) => {}
    }
    if !quiet {
        eprintln!("   Waiting for another process that builds the Finishline runtime");
    }
    file.lock().map_err(|error| Problem::write(path, error))?;
    Ok(file)
}

fn build(toolchain: &Toolchain, cache: &Path, home: &Path, quiet: bool) -> Result<(), Problem> {
    if !quiet {
        eprintln!(
            "    Building the Finishline runtime for rustc {}, once: this takes up to a minute",
            toolchain.release
        );
    }
    let workshop = tempfile::Builder::new()
        .prefix(".building-")
        .tempdir_in(cache)
        .map_err(|error| Problem::write(cache, error))?;
    let product = workshop.path().join("product");
    let sources = product.join(SOURCES);
    sources::write(&sources)?;
    let target = workshop.path().join("target");
    compile(toolchain, &sources, &target, quiet)?;
    let library = target
        .join(&toolchain.host)
        .join("release")
        .join(sources::RUNTIME_LIBRARY);
    let wrapped = wrapped_symbols(toolchain, quiet)?;
    let (library, object) = (&library, &product.join(OBJECT));
    merge(toolchain, library, workshop.path(), &wrapped, object)?;
    let list: Vec<&str> = wrapped.iter().map(|(_, symbol)| symbol.as_str()).collect();
    let path = product.join(WRAPPED);
    fs::write(&path, list.join("\n")).map_err(|error| Problem::write(&path, error))?;
    fs::rename(&product, home).map_err(|error| Problem::write(home, error))
}

fn read_wrapped(home: &Path) -> Result<Vec<String>, Problem> {
    let path = home.join(WRAPPED);
    let wrapped = fs::read_to_string(&path).map_err(|error| Problem::read(&path, error))?;
    Ok(wrapped.lines().map(str::to_owned).collect())
}

fn link_arguments(home: &Path, wrapped: &[String]) -> Result<Vec<String>, Problem> {
    let object = home.join(OBJECT);
    let object = object
        .to_str()
        .ok_or_else(|| Problem::new(format!("the path {} is not text", object.display())))?;
    let mut arguments = vec![
        format!("-Clink-arg={object}"),
        // Instrumented libraries that the program loads later find the symbols there.
        "-Clink-arg=-Wl,--export-dynamic-symbol=__tsan_*".to_owned(),
    ];
    let wrap = |symbol| format!("-Clink-arg=-Wl,--wrap={symbol}");
    arguments.extend(wrapped.iter().map(wrap));
    Ok(arguments)
}

/// The functions that the runtime intercepts, with their symbols for this rustc.
fn wrapped_symbols(toolchain: &Toolchain, quiet: bool) -> Result<Vec<(Wrapped, String)>, Problem> {
    let library = toolchain.standard_library()?;
    let wrapped: Vec<Wrapped> = sources::wrapped_functions().collect();
    let functions: Vec<&str> = wrapped.iter().map(|wrapped| wrapped.function).collect();
    let symbols = standard_library::symbols(&library, &functions)?;
    let mut found = Vec::new();
    for (wrapped, symbol) in wrapped.into_iter().zip(symbols) {
        match symbol {
            Some(symbol) => found.push((wrapped, symbol)),
            None if quiet => {}
            None => eprintln!(
                "note: std of rustc {} has no function {}: what it orders is not known to be ordered",
                toolchain.release, wrapped.function
            ),
        }
    }
    Ok(found)
}

/// Builds the static library. The user's flags, wrappers and profiles are not applied to it.
fn compile(
    toolchain: &Toolchain,
    sources: &Path,
    target: &Path,
    quiet: bool,
) -> Result<(), Problem> {
    let mut command = Command::new(&toolchain.cargo);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let of_cargo = text.starts_with("CARGO_") && text != "CARGO_HOME";
        if of_cargo || text.starts_with("RUSTC") || text.starts_with("RUSTFLAGS") {
            command.env_remove(&name);
        }
    }
    command
        .current_dir(sources)
        .args(["build", "--release", "--offline"])
        .args([
            "--package",
            sources::RUNTIME_PACKAGE,
            "--features",
            sources::RUNTIME_FEATURE,
        ])
        .args(["--target", &toolchain.host, "--target-dir"])
        .arg(target)
        .env("RUSTC", &toolchain.rustc)
        // Set to nothing, so that the user's configuration is not used.
        .env("RUSTC_WRAPPER", "")
        .env("RUSTC_WORKSPACE_WRAPPER", "")
        // The runtime walks the program's frames, starting from its own.
        .env("CARGO_ENCODED_RUSTFLAGS", "-Cforce-frame-pointers=yes")
        .env("CARGO_BUILD_BUILD_DIR", target)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if quiet {
        command.arg("--quiet");
    }
    succeed(&mut command, "the Finishline runtime could not be built")
}

/// Links the library to one relocatable object in which only the interface is global. The tools are
/// those that come with rustc, or else those of the system.
fn merge(
    toolchain: &Toolchain,
    library: &Path,
    workshop: &Path,
    wrapped: &[(Wrapped, String)],
    object: &Path,
) -> Result<(), Problem> {
    let merged = workshop.join("merged.o");
    let mut link = match toolchain.shipped("rust-lld")? {
        Some(mut lld) => {
            lld.args(["-flavor", "gnu"]);
            lld
        }
        None => Command::new("ld"),
    };
    // The linker deduplicates groups by name across objects, and these names are about to become
    // local.
    link.args(["-r", "--force-group-allocation", "--whole-archive", "-o"]);
    link.arg(&merged).arg(library);
    succeed(&mut link, "the Finishline runtime could not be linked")?;

    let mut global: Vec<String> = sources::global_symbols().map(str::to_owned).collect();
    let objcopy = toolchain.shipped("rust-objcopy")?;
    let mut localise = objcopy.unwrap_or_else(|| Command::new("objcopy"));
    for (Wrapped { name, .. }, symbol) in wrapped {
        // The names that the linker's `--wrap` uses.
        localise.arg(format!(
            "--redefine-sym=__finishline_wrap_{name}=__wrap_{symbol}"
        ));
        localise.arg(format!(
            "--redefine-sym=__finishline_real_{name}=__real_{symbol}"
        ));
        // A program that does not contain the function can still be linked.
        localise.arg(format!("--weaken-symbol=__real_{symbol}"));
        global.push(format!("__wrap_{symbol}"));
    }
    let list = workshop.join("global-symbols");
    fs::write(&list, global.join("\n")).map_err(|error| Problem::write(&list, error))?;
    localise.args(["--strip-debug", "--wildcard", "--keep-global-symbols"]);
    localise.arg(&list).arg(&merged).arg(object);
    succeed(
        &mut localise,
        "`objcopy` could not prepare the Finishline runtime",
    )
}

fn succeed(command: &mut Command, otherwise: &str) -> Result<(), Problem> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::new(format!("{otherwise} ({status})"))),
        Err(error) => Err(Problem::new(format!(
            "{otherwise}: {}: {error}",
            command.get_program().display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn the_cache_is_where_the_environment_says() {
        let folder = |set: &[(&str, &str)], home: Option<&str>| {
            let variable = |name: &str| {
                let found = set.iter().find(|(given, _)| *given == name);
                found.map(|(_, value)| OsString::from(value))
            };
            let folder = cache(variable, home.map(PathBuf::from)).ok();
            folder.map(|folder| folder.into_os_string().into_string().expect("text"))
        };
        let (own, xdg) = ((CACHE_VARIABLE, "/own"), ("XDG_CACHE_HOME", "/xdg"));
        let home = Some("/me");
        assert_eq!(folder(&[own, xdg], home).as_deref(), Some("/own"));
        assert_eq!(folder(&[xdg], home).as_deref(), Some("/xdg/finishline"));
        let unset = [(CACHE_VARIABLE, ""), ("XDG_CACHE_HOME", "")];
        let expected = Some("/me/.cache/finishline");
        assert_eq!(folder(&unset, home).as_deref(), expected);
        assert_eq!(folder(&[], None), None);
        let relative = folder(&[(CACHE_VARIABLE, "here")], None).expect("a folder");
        assert!(Path::new(&relative).is_absolute());
    }

    #[test]
    fn each_compiler_has_a_runtime_of_its_own() {
        let toolchain = |version: &str| Toolchain {
            cargo: "cargo".into(),
            rustc: "rustc".into(),
            version: version.to_owned(),
            host: "x".to_owned(),
            release: "1.95.0".to_owned(),
        };
        let key = |version| key(&toolchain(version));
        assert_eq!(key("a"), key("a"));
        assert_ne!(key("a"), key("b"));
        assert!(key("a").starts_with("1.95.0-"));
    }

    #[test]
    fn only_one_builds() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let first = wait_for_lock(&path, true).expect("nobody else has it");
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| sender.send(wait_for_lock(&path, true).is_ok()));
            let waited = receiver.recv_timeout(Duration::from_millis(100));
            waited.expect_err("it is not free");
            drop(first);
            assert_eq!(receiver.recv(), Ok(true));
        });
    }
}
