//! Builds isl from its C sources with a C compiler alone.
//!
//! isl's own build asks the compiler what the system has and writes the answers into headers. On
//! the systems of Finishline, Linux with gcc or clang, the answers are known. The list of source
//! files is read from isl's `Makefile.am`. isl is built with optimisation in every profile: the
//! prover runs in tests as well.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

mod upstream;

/// What isl's configure script would find out, and which numbers isl computes with.
const CONFIG: &str = r#"
#define GCC_WARN_UNUSED_RESULT __attribute__((__warn_unused_result__))
#define HAVE___ATTRIBUTE__ 1
#define HAVE_DECL_FFS 1
#define HAVE_DECL___BUILTIN_FFS 1
#define HAVE_DECL__BITSCANFORWARD 0
#define HAVE_DECL_SNPRINTF 1
#define HAVE_DECL__SNPRINTF 0
#define HAVE_DECL_STRCASECMP 1
#define HAVE_DECL__STRICMP 0
#define HAVE_DECL_STRNCASECMP 1
#define HAVE_DECL__STRNICMP 0
/* imath is part of isl's sources. Numbers that fit into 32 bits, almost all, are kept without an
   allocation. It halves the time of a proof. */
#define USE_IMATH_FOR_MP
#define USE_SMALL_INT_OPT
#include <isl_config_post.h>
"#;

/// The sources of these numbers. The `Makefile.am` names them in a variable for each kind.
const NUMBERS: [&str; 6] = [
    "isl_imath.c",
    "isl_int_sioimath.c",
    "isl_val_sioimath.c",
    "imath_wrap/gmp_compat.c",
    "imath_wrap/imath.c",
    "imath_wrap/imrat.c",
];

fn main() {
    if let Err(message) = build() {
        println!("cargo::error={}", message.replace('\n', " "));
    }
}

fn build() -> Result<(), String> {
    let variable = |name: &str| env::var_os(name).ok_or(format!("cargo has not set {name}"));
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    // The files of isl change with the version that Cargo.toml names, and not otherwise.
    for watched in ["build.rs", "upstream.rs", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    let packed = package.join("upstream");
    let files = match packed.is_dir() {
        true => packed,
        false => upstream::from_registry(variable("CARGO")?, &package, &out.join("scratch"))?,
    };

    let bindings = files.join("src/bindings/mod.rs");
    let bindings = format!("#[path = {bindings:?}]\npub mod bindings;\n");
    let headers = out.join("headers");
    let write = |path: PathBuf, text: &str| {
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    fs::create_dir_all(headers.join("isl")).map_err(|error| error.to_string())?;
    write(out.join("bindings.rs"), &bindings)?;
    write(headers.join("isl_config.h"), CONFIG)?;
    write(
        headers.join("gitversion.h"),
        "#define GIT_HEAD_ID \"UNKNOWN\"\n",
    )?;
    write(headers.join("isl/stdint.h"), "#include <stdint.h>\n")?;

    let isl = files.join("isl");
    let mut library = cc::Build::new();
    library
        .include(&headers)
        .include(&isl)
        .include(isl.join("include"))
        .include(isl.join("imath_wrap"))
        .opt_level(2)
        .debug(false)
        .warnings(false);
    for source in NUMBERS.map(str::to_owned).into_iter().chain(sources(&isl)?) {
        library.file(isl.join(source));
    }
    library
        .try_compile("isl")
        .map_err(|error| error.to_string())
}

/// The files that the library consists of, from isl's own list.
fn sources(isl: &Path) -> Result<Vec<String>, String> {
    let path = isl.join("Makefile.am");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    // The variable goes on as long as lines end with a backslash.
    let list = text.split_once("libisl_la_SOURCES =").map(|(_, list)| list);
    let list = list.ok_or("isl's Makefile.am does not list the sources")?;
    let mut sources = Vec::new();
    for line in list.lines() {
        let (words, more) = match line.trim_end().strip_suffix('\\') {
            Some(words) => (words, true),
            None => (line, false),
        };
        let files = words.split_whitespace().filter(|word| word.ends_with(".c"));
        sources.extend(files.map(str::to_owned));
        if !more {
            return Ok(sources);
        }
    }
    Err("isl's list of sources has no end".to_owned())
}
