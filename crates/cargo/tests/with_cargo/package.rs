//! Packages made for one test, and the tool called on them.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// A folder with a package or a workspace, gone after the test.
pub(crate) struct Package {
    folder: TempDir,
}

/// The result of a call of the tool.
pub(crate) struct Called {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Package {
    /// Makes the files, given as pairs of path and content.
    pub(crate) fn new(files: &[(&str, &str)]) -> Package {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a file is in a folder"))
                .expect("folders can be made");
            fs::write(path, content).expect("files can be written");
        }
        Package { folder }
    }

    /// A program that uses rayon. All are built in one place, so each needs its own name.
    pub(crate) fn with_rayon(name: &str, main: &str) -> Package {
        let manifest = manifest(name, "[dependencies]\nrayon = \"1.12\"\n");
        Package::new(&[("Cargo.toml", &manifest), ("src/main.rs", main)])
    }

    /// A program without dependencies.
    pub(crate) fn plain(name: &str, main: &str) -> Package {
        Package::new(&[("Cargo.toml", &manifest(name, "")), ("src/main.rs", main)])
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// Calls `cargo finishline` with these arguments. It builds where all tests of this suite
    /// build.
    pub(crate) fn finishline(&self, arguments: &[&str]) -> Called {
        let mut command = self.command(arguments);
        command.env("CARGO_TARGET_DIR", shared("target"));
        Called::from(command)
    }

    /// The same as a command that is not started and has no target directory set.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        tool(self.folder.path(), arguments)
    }
}

/// `cargo finishline` in a folder, without the environment of this suite.
pub(crate) fn tool(folder: &Path, arguments: &[&str]) -> Command {
    let tool = env::current_exe().expect("this program has a path");
    let mut command = Command::new(tool);
    command
        .arg("finishline")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("FINISHLINE_CACHE", shared("cache"));
    clear_environment(&mut command);
    command
}

/// Removes the environment of this suite and variables that change how cargo builds.
pub(crate) fn clear_environment(command: &mut Command) {
    for variable in [
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET_DIR",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUST_BACKTRACE",
    ] {
        command.env_remove(variable);
    }
}

pub(crate) fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n{rest}")
}

/// A folder that outlives the test. So rayon and the runtime are built once.
pub(crate) fn shared(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("with-cargo")
        .join(name)
}

/// Builds of all programs take some minutes on a busy machine.
const LONGEST: Duration = Duration::from_secs(15 * 60);

impl Called {
    /// Runs a command to its end. After a time that no test should take the test fails.
    pub(crate) fn from(mut command: Command) -> Called {
        let child = command
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool can be started");
        let group = format!("-{}", child.id());
        let (over, waits) = mpsc::channel::<()>();
        let watch = thread::spawn(move || {
            if waits.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                let mut kill = Command::new("kill");
                kill.args(["-KILL", "--", &group]).status().ok();
            }
        });
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().expect("the tool has an end");
        drop(over);
        watch.join().expect("the watch has an end");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        Called {
            status: status.code().expect("an exit status, not a hang"),
            stdout: text(stdout),
            stderr: text(stderr),
        }
    }

    /// Fails the test unless the exit status is this.
    #[track_caller]
    pub(crate) fn expect(self, status: i32) -> Called {
        let Called { stdout, stderr, .. } = &self;
        assert_eq!(self.status, status, "stdout:\n{stdout}\nstderr:\n{stderr}");
        self
    }
}
