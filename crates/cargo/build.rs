//! Collects the sources of the runtime and of the rayon-core drop-in. They become part of the tool.
//!
//! The sources are in other rooms. The folder `runtime` has a symbolic link to each of them, and
//! cargo follows the links when it packages this crate, so a published package has the files.
//!
//! Writes `sources.rs` with the table of files. Sources are taken as they are. Manifests are
//! reduced to what a build needs: a user's machine has neither our tests and benches nor their
//! dependencies, and may have no network.

use std::env;
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The packages of the workspace that is built on the user's machine. `runtime` has the sources of
/// each under its name, and its manifest.
const RUNTIME: [&str; 4] = ["native", "detect", "model", "trace"];
/// The package that programs are linked with.
const LINKED: &str = "native";
/// The user's own build compiles this package in place of rayon-core.
const DROP_IN: &str = "rayon-core";

/// Its own sources, and those that replace sources of rayon: their folder in `runtime`, and in the
/// package.
const DROP_IN_SOURCES: [(&str, &str); 2] = [("rayon-core", "src"), ("rayon", "rayon")];

/// Detectors run at each access of the checked program. So their speed matters more than the time
/// to compile them.
const RUNTIME_PROFILE: &str = r#"
opt-level = 3
codegen-units = 1
lto = "fat"
panic = "abort"
"#;

fn main() {
    // Read at run time, because two checkouts may share the compiled script.
    let package = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let sources = Path::new(&package).join("runtime");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut files = Files {
        table: Vec::new(),
        hasher: DefaultHasher::new(),
    };

    let workspace = manifest(&sources.join("workspace.toml"));
    files.made(
        &out,
        "Cargo.toml",
        &runtime_workspace(workspace).to_string(),
    );
    for package in RUNTIME {
        let mut reduced = build_only(manifest(&sources.join(format!("{package}.toml"))));
        if package == LINKED {
            // Built as a Rust library as well, it could not be optimised as a whole.
            let kinds = Value::Array(vec![Value::String("staticlib".to_owned())]);
            let library = Table::from_iter([("crate-type".to_owned(), kinds)]);
            reduced.insert("lib".to_owned(), Value::Table(library));
        }
        let name = format!("crates/{package}/Cargo.toml");
        files.made(&out, &name, &reduced.to_string());
        files.folder(&sources.join(package), &format!("crates/{package}/src"));
    }
    for (folder, place) in DROP_IN_SOURCES {
        files.folder(&sources.join(folder), &format!("crates/{DROP_IN}/{place}"));
    }

    let symbols = sources.join("symbols.txt");
    let drop_in = manifest(&sources.join(format!("{DROP_IN}.toml")));
    let edition = drop_in["package"]["edition"].as_str();
    files
        .hasher
        .write(&fs::read(&symbols).expect("the list of the runtime's symbols"));
    watch(&symbols);
    // Crates built by another version of the wrapper can't be reused.
    let wrapper = Path::new(&package).join("src/wrapper.rs");
    files
        .hasher
        .write(&fs::read(&wrapper).expect("the wrapper's source"));
    watch(&wrapper);

    // The path starts at the package's folder, so checkouts that share a target directory write the
    // same.
    let package = Path::new(&package);
    let included = |path: &Path| match path.strip_prefix(package) {
        Ok(inner) => {
            let inner = format!("/{}", inner.display());
            format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {inner:?}))")
        }
        Err(_) => format!("include_str!({path:?})"),
    };
    let mut code = String::from("pub(crate) const FILES: &[(&str, &str)] = &[\n");
    for (name, path) in &files.table {
        writeln!(code, "    ({name:?}, {}),", included(path)).expect("a string grows");
    }
    writeln!(code, "];").expect("a string grows");
    for (name, value) in [
        ("FINGERPRINT", format!("{:016x}", files.hasher.finish())),
        ("DROP_IN_EDITION", edition.expect("an edition").to_owned()),
    ] {
        writeln!(code, "pub(crate) const {name}: &str = {value:?};").expect("a string grows");
    }
    writeln!(
        code,
        "pub(crate) const SYMBOLS: &str = {};",
        included(&symbols)
    )
    .expect("a string grows");
    fs::write(out.join("sources.rs"), code).expect("OUT_DIR can be written");
}

/// The files so far: the destination of each, and its source.
struct Files {
    table: Vec<(String, PathBuf)>,
    hasher: DefaultHasher,
}

impl Files {
    fn add(&mut self, name: String, path: PathBuf) {
        let content = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.hasher.write(name.as_bytes());
        self.hasher.write(&content);
        self.table.push((name, path));
    }

    /// Adds a file that this build script makes.
    fn made(&mut self, out: &Path, name: &str, content: &str) {
        let path = out.join(name.replace('/', "-"));
        fs::write(&path, content).expect("OUT_DIR can be written");
        self.add(name.to_owned(), path);
    }

    /// Adds all Rust files below a folder, in an order that does not depend on the machine.
    fn folder(&mut self, folder: &Path, destination: &str) {
        watch(folder);
        let entries =
            fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("a readable folder").file_name())
            .map(|name| name.into_string().expect("our files have plain names"))
            .collect();
        names.sort();
        for name in names {
            let inner = format!("{destination}/{name}");
            let path = folder.join(&name);
            if path.is_dir() {
                self.folder(&path, &inner);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                self.add(inner, path);
            }
        }
    }
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn manifest(path: &Path) -> Table {
    watch(path);
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse()
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn runtime_workspace(mut manifest: Table) -> Table {
    let members = RUNTIME.map(|package| Value::String(format!("crates/{package}")));
    let workspace = manifest.get_mut("workspace").and_then(Value::as_table_mut);
    let workspace = workspace.expect("the manifest of a workspace");
    workspace.insert("members".to_owned(), Value::Array(members.to_vec()));
    workspace.remove("exclude");
    let release: Table = RUNTIME_PROFILE.parse().expect("a profile");
    let profiles = Table::from_iter([("release".to_owned(), Value::Table(release))]);
    manifest.insert("profile".to_owned(), Value::Table(profiles));
    manifest
}

fn build_only(mut manifest: Table) -> Table {
    manifest.retain(|key, _| {
        matches!(
            key,
            "package" | "lib" | "features" | "dependencies" | "lints"
        )
    });
    manifest
}
