//! The programs that the build needs from the system, [`PREREQUISITES`], and the way to install
//! them.
//!
//! As root, or where `sudo` asks for no password, xtask installs packages with apt. Anyone else
//! gets the exact command. Components of the Rust toolchain are never installed unasked: the
//! toolchain belongs to the contributor.
//!
//! Cargo links xtask itself with `cc` unless another linker is configured. On most machines without
//! a linker cargo stops before this file can help. README.md has the command for them.

use crate::command::CommandLine;
use crate::{Failure, Outcome};

/// What this user may do about missing packages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    Root,
    PasswordlessSudo,
    Neither,
}

/// Something the build calls, and the packages that have it.
struct Prerequisite {
    what: &'static str,
    /// Commands that succeed if it is there.
    probes: &'static [&'static str],
    packages: &'static str,
}

/// rustc calls it to link. It also compiles isl, the integer sets of the prover.
const PREREQUISITES: [Prerequisite; 1] = [Prerequisite {
    what: "C compiler `cc`",
    probes: &["cc --version"],
    packages: "gcc libc6-dev",
}];

/// Everything that a build of the workspace needs.
pub(crate) fn ensure_build() -> Outcome {
    PREREQUISITES.iter().try_for_each(Prerequisite::ensure)
}

impl Prerequisite {
    fn is_there(&self) -> bool {
        let succeeds = |probe: &&str| CommandLine::new(probe).answer().is_some();
        self.probes.iter().all(succeeds)
    }

    fn ensure(&self) -> Outcome {
        if self.is_there() {
            return Ok(());
        }
        let (what, packages) = (self.what, self.packages);
        let has_apt = CommandLine::new("apt-get --version").answer().is_some();
        for line in install_commands(has_apt, rights(), what, packages)? {
            println!("there is no {what}: {line}");
            CommandLine::new(&line).run()?;
        }
        if self.is_there() {
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "there is no {what}, even with {packages} installed"
        )))
    }
}

/// rustfmt and clippy.
pub(crate) fn ensure_components() -> Outcome {
    for (component, probe) in [
        ("rustfmt", "cargo fmt --version"),
        ("clippy", "cargo clippy --version"),
    ] {
        if CommandLine::new(probe).answer().is_none() {
            return Err(Failure::Failed(format!(
                "{component} is missing; run: rustup component add {component}"
            )));
        }
    }
    Ok(())
}

fn rights() -> Rights {
    if CommandLine::new("id -u").answer().as_deref() == Some("0") {
        Rights::Root
    } else if CommandLine::new("sudo -n true").answer().is_some() {
        Rights::PasswordlessSudo
    } else {
        Rights::Neither
    }
}

/// The commands that install `packages`. If xtask may not run them, a failure that names them.
fn install_commands(
    has_apt: bool,
    rights: Rights,
    what: &str,
    packages: &str,
) -> Result<[String; 2], Failure> {
    let with = |prefix: &str| {
        [
            format!("{prefix}apt-get update"),
            format!("{prefix}env DEBIAN_FRONTEND=noninteractive apt-get install --yes {packages}"),
        ]
    };
    match rights {
        _ if !has_apt => Err(Failure::Failed(format!(
            "there is no {what}; install it with your system's package manager (Debian calls it {packages})"
        ))),
        Rights::Root => Ok(with("")),
        Rights::PasswordlessSudo => Ok(with("sudo -n ")),
        Rights::Neither => Err(Failure::Failed(format!(
            "there is no {what}; run: sudo apt-get install {packages}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(outcome: Result<[String; 2], Failure>) -> String {
        match outcome {
            Ok(commands) => commands.join("; "),
            Err(Failure::Failed(message) | Failure::Usage(message)) => message,
        }
    }

    #[test]
    fn packages_are_installed_only_by_those_who_may() {
        let update_then_install =
            "apt-get update; env DEBIAN_FRONTEND=noninteractive apt-get install --yes gcc";
        assert_eq!(
            text(install_commands(true, Rights::Root, "linker", "gcc")),
            update_then_install
        );

        let by_sudo = install_commands(true, Rights::PasswordlessSudo, "linker", "gcc").unwrap();
        assert!(by_sudo.iter().all(|line| line.starts_with("sudo -n ")));

        let told = install_commands(true, Rights::Neither, "linker", "gcc");
        assert!(told.is_err());
        assert!(text(told).ends_with("run: sudo apt-get install gcc"));
    }

    #[test]
    fn without_apt_nothing_is_run() {
        let told = install_commands(false, Rights::Root, "linker", "gcc");
        assert!(told.is_err());
        assert!(text(told).starts_with("there is no linker; install it"));
    }

    #[test]
    fn what_every_probe_finds_is_there() {
        let asked = |probes| Prerequisite {
            what: "thing",
            probes,
            packages: "things",
        };
        assert!(asked(&["cargo --version"]).is_there());
        assert!(!asked(&["cargo --version", "no-such-program-anywhere"]).is_there());
    }
}
