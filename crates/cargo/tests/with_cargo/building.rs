//! Which crates are compiled in which way, and that the user's files and settings are left alone.

use crate::package::{Called, Package, manifest, shared};
use libtest_mimic::Trial;
use object::{Object, ObjectSymbol};
use std::fs;
use std::os::unix::fs::PermissionsExt;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn()| {
        Trial::test(format!("build::{name}"), move || {
            test();
            Ok(())
        })
    };
    vec![
        trial(
            "manifest_and_lock_file_stay_as_they_are",
            manifest_and_lock_file_stay_as_they_are,
        ),
        trial(
            "the_users_target_directory_is_left_alone",
            the_users_target_directory_is_left_alone,
        ),
        trial("the_users_flags_are_kept", the_users_flags_are_kept),
        trial("the_users_wrapper_is_called", the_users_wrapper_is_called),
        trial("the_users_compiler_is_called", the_users_compiler_is_called),
        trial("crates_stay_stable", crates_stay_stable),
        trial("libraries_have_no_runtime", libraries_have_no_runtime),
        trial(
            "the_tool_may_have_a_space_in_its_path",
            the_tool_may_have_a_space_in_its_path,
        ),
        trial("the_users_runner_is_called", the_users_runner_is_called),
        trial(
            "only_the_program_is_instrumented",
            only_the_program_is_instrumented,
        ),
        trial(
            "workspaces_features_and_examples",
            workspaces_features_and_examples,
        ),
        trial("other_targets_are_refused", other_targets_are_refused),
        trial("help_is_ours", help_is_ours),
    ]
}

const JOIN: &str = "fn main() { rayon::join(|| (), || ()); }";

fn manifest_and_lock_file_stay_as_they_are() {
    let package = Package::with_rayon("manifest_and_lock_file_stay_as_they_are", JOIN);
    package.finishline(&["build"]).expect(0);
    let before = [package.read("Cargo.toml"), package.read("Cargo.lock")];
    assert!(before[1].contains("name = \"rayon-core\""));
    package
        .finishline(&["run", "--locked", "--offline"])
        .expect(0);
    assert_eq!(
        before,
        [package.read("Cargo.toml"), package.read("Cargo.lock")]
    );
}

fn the_users_target_directory_is_left_alone() {
    let package = Package::plain("the_users_target_directory_is_left_alone", "fn main() {}");
    let list = |folder: &str| {
        let entries = fs::read_dir(package.path(folder)).expect("a folder");
        let names = entries.map(|entry| entry.expect("readable").file_name().into_string());
        names
            .map(|name| name.expect("text"))
            .filter(|name| !name.starts_with('.'))
            .collect::<Vec<_>>()
    };
    Called::from(package.command(&["build"])).expect(0);
    assert_eq!(list("target"), ["finishline"]);
    Called::from(package.command(&["build", "--target-dir", "elsewhere"])).expect(0);
    assert_eq!(list("elsewhere"), ["finishline"]);
    let setting = "build.target-dir='by-setting'";
    Called::from(package.command(&["build", "--config", setting])).expect(0);
    assert_eq!(list("by-setting"), ["finishline"]);
    let mut configured = package.command(&["build"]);
    configured
        .env("CARGO_BUILD_BUILD_DIR", "intermediate")
        .env("CARGO_TARGET_DIR", "final");
    Called::from(configured).expect(0);
    assert_eq!(list("final"), ["finishline"]);
    assert!(!package.path("intermediate").exists());
    Called::from(package.command(&["clean"])).expect(0);
    assert!(list("target").is_empty());
}

fn the_users_flags_are_kept() {
    let package = Package::plain(
        "the_users_flags_are_kept",
        "fn main() { println!(\"{} {}\", cfg!(configured), cfg!(given)) }",
    );
    fs::create_dir(package.path(".cargo")).expect("a folder");
    let configuration = "[build]\nrustflags = [\"--cfg\", \"configured\"]\n";
    fs::write(package.path(".cargo/config.toml"), configuration).expect("a file");
    assert_eq!(package.finishline(&["run"]).stdout, "true false\n");
    let mut command = package.command(&["run"]);
    command
        .env("CARGO_TARGET_DIR", shared("target"))
        .env("RUSTFLAGS", "--cfg given");
    // Cargo takes only the first source, and so must we.
    assert_eq!(Called::from(command).stdout, "false true\n");
}

fn the_users_wrapper_is_called() {
    let package = Package::plain("the_users_wrapper_is_called", "fn main() {}");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {}\nexec \"$@\"\n",
        package.path("calls").display()
    );
    fs::create_dir(package.path("tools")).expect("a folder");
    let wrapper = package.path("tools/wrap");
    fs::write(&wrapper, script).expect("a file");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("permissions");
    let compiles = || {
        let calls = package.read("calls");
        fs::remove_file(package.path("calls")).expect("a file");
        calls.lines().any(|call| {
            call.contains("--crate-name the_users_wrapper_is_called")
                && call.contains("-Zsanitizer=thread")
        })
    };

    let mut given = package.command(&["build"]);
    given.env("RUSTC_WRAPPER", &wrapper);
    Called::from(given).expect(0);
    assert!(compiles());

    fs::create_dir(package.path(".cargo")).expect("a folder");
    let configuration = "[build]\nrustc-wrapper = \"tools/wrap\"\n";
    fs::write(package.path(".cargo/config.toml"), configuration).expect("a file");
    Called::from(package.command(&["build", "--release"])).expect(0);
    assert!(compiles());
    let mut unwrapped = package.command(&["build", "--config", "profile.dev.opt-level=1"]);
    unwrapped.env("RUSTC_WRAPPER", "");
    Called::from(unwrapped).expect(0);
    assert!(!package.path("calls").exists());
}

/// Named by the environment or by configuration.
fn the_users_compiler_is_called() {
    let package = Package::plain("the_users_compiler_is_called", "fn main() {}");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {}\nexec rustc \"$@\"\n",
        package.path("calls").display()
    );
    fs::create_dir(package.path("tools")).expect("a folder");
    let compiler = package.path("tools/compile");
    fs::write(&compiler, script).expect("a file");
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).expect("permissions");
    let compiles = || {
        let calls = package.read("calls");
        fs::remove_file(package.path("calls")).expect("a file");
        let ours = |call: &str| call.contains("--crate-name the_users_compiler_is_called");
        calls.lines().any(ours)
    };
    let mut given = package.command(&["build"]);
    given.env("RUSTC", &compiler);
    Called::from(given).expect(0);
    assert!(compiles());
    fs::create_dir(package.path(".cargo")).expect("a folder");
    let configuration = "[build]\nrustc = \"tools/compile\"\n";
    fs::write(package.path(".cargo/config.toml"), configuration).expect("a file");
    Called::from(package.command(&["build", "--release"])).expect(0);
    assert!(compiles());
}

/// Only the instrumentation may use unstable features. The user's crates are built as on stable.
fn crates_stay_stable() {
    let main = "#![feature(core_intrinsics)]\nfn main() {}";
    let called = Package::plain("crates_stay_stable", main)
        .finishline(&["build"])
        .expect(2);
    assert!(
        called.stderr.contains("core_intrinsics"),
        "{}",
        called.stderr
    );
}

/// A library that the program loads belongs to the program and has no runtime of its own.
fn libraries_have_no_runtime() {
    let manifest = manifest("loaded", "[lib]\ncrate-type = [\"cdylib\"]\n");
    let source = "#[unsafe(no_mangle)] pub extern \"C\" fn add(total: &mut u64) { *total += 1 }";
    let package = Package::new(&[("Cargo.toml", &manifest), ("src/lib.rs", source)]);
    let mut command = package.command(&["build"]);
    command.env("CARGO_TARGET_DIR", package.path("target"));
    Called::from(command).expect(0);
    let builds = fs::read_dir(package.path("target/finishline")).expect("a folder");
    let build = builds
        .map(|build| build.expect("readable").path())
        .find(|build| build.is_dir());
    let library = build
        .expect("a build")
        .join("x86_64-unknown-linux-gnu/debug/libloaded.so");
    let data = fs::read(library).expect("a library");
    let object = object::File::parse(&*data).expect("an object");
    let symbols: Vec<_> = object
        .dynamic_symbols()
        .filter(|symbol| symbol.name().is_ok_and(|name| name.starts_with("__tsan_")))
        .collect();
    assert!(!symbols.is_empty());
    assert!(symbols.iter().all(|symbol| symbol.is_undefined()));
}

/// Cargo splits a runner at spaces.
fn the_tool_may_have_a_space_in_its_path() {
    let package = Package::plain(
        "the_tool_may_have_a_space",
        "fn main() { println!(\"run\") }",
    );
    let command = package.command(&["run"]);
    let folder = shared("with a space");
    fs::create_dir_all(&folder).expect("a folder");
    let tool = folder.join("tool");
    // An earlier run may have left another tool.
    let _ = fs::remove_file(&tool);
    fs::hard_link(command.get_program(), &tool).expect("a link");
    let mut elsewhere = std::process::Command::new(&tool);
    elsewhere.args(command.get_args());
    elsewhere.current_dir(package.path(""));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => elsewhere.env(name, value),
            None => elsewhere.env_remove(name),
        };
    }
    let called = Called::from(elsewhere).expect(4);
    assert_eq!(called.stdout, "run\n");
}

/// Our runner starts the user's runner, which starts the program.
fn the_users_runner_is_called() {
    let package = Package::plain(
        "the_users_runner_is_called",
        "fn main() { println!(\"run with {:?}\", std::env::args().skip(1).collect::<Vec<_>>()) }
         #[test] fn test() {}",
    );
    let script = "#!/bin/sh\necho mine $1 ${2##*/}\nshift\nexec \"$@\"\n";
    fs::create_dir(package.path("tools")).expect("a folder");
    let runner = package.path("tools/mine");
    fs::write(&runner, script).expect("a file");
    fs::set_permissions(&runner, fs::Permissions::from_mode(0o755)).expect("permissions");
    let expected = "mine -v the_users_runner_is_called\nrun with [\"a\"]\n";

    let mut given = package.command(&["run", "--", "a"]);
    let text = format!("{} -v", runner.display());
    given
        .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", text)
        .env("CARGO_TARGET_DIR", shared("target"));
    assert_eq!(Called::from(given).stdout, expected);

    fs::create_dir(package.path(".cargo")).expect("a folder");
    for runner in ["'tools/mine -v'", "['tools/mine', '-v']"] {
        let configuration = format!("[target.x86_64-unknown-linux-gnu]\nrunner = {runner}\n");
        fs::write(package.path(".cargo/config.toml"), configuration).expect("a file");
        let called = package.finishline(&["run", "--", "a"]).expect(4);
        assert_eq!(called.stdout, expected);
        assert!(
            called.stderr.contains("nothing was parallel"),
            "{}",
            called.stderr
        );
    }
    let called = package.finishline(&["test", "--", "--nocapture"]).expect(4);
    assert!(
        called
            .stdout
            .contains("mine -v the_users_runner_is_called-"),
        "{}",
        called.stdout
    );
    let setting = "target.x86_64-unknown-linux-gnu.runner=['echo', 'mine']";
    let called = package.finishline(&["run", "--config", setting]).expect(2);
    assert!(called.stderr.contains("not checked"), "{}", called.stderr);
}

/// Each part searches the file it was loaded from for calls of the instrumentation.
const LOOK: &str = r#"
    fn is_instrumented(file: &str) -> bool {
        // Backwards, or it would find itself.
        let call: String = "yrtne_cnuf_nast__".chars().rev().collect();
        let bytes = std::fs::read(file).unwrap();
        bytes.windows(call.len()).any(|window| window == call.as_bytes())
    }
"#;

fn only_the_program_is_instrumented() {
    let build_script = format!(
        "{LOOK}
        fn main() {{
            assert!(!is_instrumented(std::env::current_exe().unwrap().to_str().unwrap()));
            // What a probe finds out must hold for the compiler that the user has.
            let source = std::path::Path::new(&std::env::var(\"OUT_DIR\").unwrap()).join(\"probe.rs\");
            std::fs::write(&source, \"#![feature(core_intrinsics)]\").unwrap();
            let status = std::process::Command::new(std::env::var(\"RUSTC_WRAPPER\").unwrap())
                .arg(std::env::var(\"RUSTC\").unwrap())
                .args([\"--crate-name\", \"probe\", \"--crate-type\", \"lib\", \"--emit\", \"metadata\"])
                .args([\"--target\", &std::env::var(\"TARGET\").unwrap(), \"--out-dir\"])
                .arg(std::env::var(\"OUT_DIR\").unwrap()).arg(&source)
                .status().unwrap();
            // And a program that it builds, perhaps to run it, is one of the user's.
            let folder = std::path::PathBuf::from(std::env::var(\"OUT_DIR\").unwrap());
            std::fs::write(folder.join(\"built.rs\"), \"fn main() {{ println!(\\\"{{:?}}\\\", std::env::args()) }}\").unwrap();
            std::process::Command::new(std::env::var(\"RUSTC_WRAPPER\").unwrap())
                .arg(std::env::var(\"RUSTC\").unwrap())
                .args([\"--crate-name\", \"built\", \"--target\", &std::env::var(\"TARGET\").unwrap(), \"--out-dir\"])
                .arg(&folder).arg(folder.join(\"built.rs\"))
                .status().unwrap();
            assert!(!is_instrumented(folder.join(\"built\").to_str().unwrap()));
            println!(\"cargo::rustc-env=PROBE={{}}\", status.success());
        }}"
    );
    let macros = format!(
        "{LOOK}
        #[proc_macro]
        pub fn look(_: proc_macro::TokenStream) -> proc_macro::TokenStream {{
            let maps = std::fs::read_to_string(\"/proc/self/maps\").unwrap();
            let file = maps.lines().find_map(|line| line.split(' ').next_back().filter(|file| file.contains(\"libmacros-\"))).unwrap();
            is_instrumented(file).to_string().parse().unwrap()
        }}"
    );
    let main = format!(
        "{LOOK}
        fn main() {{
            let own = is_instrumented(std::env::current_exe().unwrap().to_str().unwrap());
            println!(\"{{}} {{}} {{}}\", own, macros::look!(), env!(\"PROBE\"));
        }}"
    );
    let package = Package::new(&[
        (
            "Cargo.toml",
            "[package]\nname = \"builds-by-parts\"\nedition = \"2024\"\n[dependencies]\nmacros = { path = \"macros\" }\n",
        ),
        ("build.rs", &build_script),
        ("src/main.rs", &main),
        (
            "macros/Cargo.toml",
            "[package]\nname = \"macros\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n",
        ),
        ("macros/src/lib.rs", &macros),
    ]);
    assert_eq!(package.finishline(&["run"]).stdout, "true false false\n");
}

fn workspaces_features_and_examples() {
    let package = Package::new(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"app\", \"tool\"]\nresolver = \"3\"\n",
        ),
        (
            "app/Cargo.toml",
            "[package]\nname = \"app\"\nedition = \"2024\"\n[features]\nextra = []\n",
        ),
        (
            "app/src/main.rs",
            "fn main() { println!(\"app {}\", cfg!(feature = \"extra\")) }",
        ),
        ("app/examples/small.rs", "fn main() { println!(\"small\") }"),
        (
            "tool/Cargo.toml",
            "[package]\nname = \"tool\"\nedition = \"2024\"\n",
        ),
        ("tool/src/main.rs", "fn main() { println!(\"tool\") }"),
    ]);
    let printed = |arguments: &[&str]| package.finishline(arguments).stdout;
    assert_eq!(
        printed(&["run", "-p", "app", "--features", "extra"]),
        "app true\n"
    );
    assert_eq!(
        printed(&["run", "-p", "app", "--example", "small"]),
        "small\n"
    );
    assert_eq!(printed(&["run", "--bin", "tool"]), "tool\n");
    let manifest = package.path("tool/Cargo.toml");
    let manifest = manifest.to_str().expect("text");
    assert_eq!(
        Package::new(&[])
            .finishline(&["run", "--manifest-path", manifest])
            .stdout,
        "tool\n"
    );
}

fn other_targets_are_refused() {
    let called = Package::plain("other_targets_are_refused", "fn main() {}")
        .finishline(&["run", "--target", "wasm32-unknown-unknown"])
        .expect(2);
    assert!(
        called.stderr.contains("wasm32-unknown-unknown"),
        "{}",
        called.stderr
    );
}

fn help_is_ours() {
    let package = Package::new(&[]);
    for arguments in [
        &["--help"][..],
        &["help", "test"],
        &["test", "--release", "--help"],
    ] {
        let called = package.finishline(arguments).expect(0);
        assert!(
            called.stdout.contains("cargo finishline"),
            "{}",
            called.stdout
        );
    }
    assert!(
        package
            .finishline(&["help", "run"])
            .expect(0)
            .stdout
            .contains("--logical-threads")
    );
    package.finishline(&["dance"]).expect(2);
}
