//! `cargo xtask <command>`: everything a contributor runs, in one place and without dependencies.
//!
//! Each command is one file and one row of [`COMMANDS`]. Exit status: 0, the command succeeded; 1,
//! it failed; 2, the call was wrong. A command prints the commands that it runs as one types them,
//! and after a failure the command that repeats it.

#![forbid(unsafe_code)]

mod bench;
mod bless;
mod command;
mod demo;
mod dist;
mod field;
mod package;
mod prerequisites;
mod soak;
mod suite;
mod test;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

/// Why a command did not succeed.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// The call was wrong; the help follows.
    Usage(String),
    /// A check failed.
    Failed(String),
}

type Outcome = Result<(), Failure>;

struct Command {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

const COMMANDS: [Command; 11] = [
    Command {
        name: "demo",
        arguments: "",
        about: "build finishline and check a racy and a clean program",
        run: demo::run,
    },
    Command {
        name: "test",
        arguments: "",
        about: "formatting, lints, tidy and every test: must pass before a change lands",
        run: test::run,
    },
    Command {
        name: "tidy",
        arguments: "",
        about: "the habits of the source that no compiler checks",
        run: tidy::run,
    },
    Command {
        name: "bless",
        arguments: "",
        about: "run the tests and rewrite the expected outputs beside the programs",
        run: bless::run,
    },
    Command {
        name: "bench",
        arguments: "[NAME]…",
        about: "measure; without a name, everything",
        run: bench::run,
    },
    Command {
        name: "field",
        arguments: "[NAME]…",
        about: "check the test suites of published crates; without a name, all of them",
        run: field::run,
    },
    Command {
        name: "soak",
        arguments: "[--programs N] [--seed S] [--minutes M]",
        about: "compare detectors and oracle on N random programs, run real ones on many threads",
        run: soak::run,
    },
    Command {
        name: "dist",
        arguments: "",
        about: "make an archive with the commands, for people who do not build them",
        run: dist::run,
    },
    Command {
        name: "package",
        arguments: "[OPTION]…",
        about: "make the packages of a release; takes the options of cargo package",
        run: package::package,
    },
    Command {
        name: "publish",
        arguments: "[OPTION]…",
        about: "publish the packages of a release; takes the options of cargo publish",
        run: package::publish,
    },
    Command {
        name: "help",
        arguments: "",
        about: "this text",
        run: |_| {
            print!("{}", help());
            Ok(())
        },
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Failed(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            eprint!("xtask: {message}\n\n{}", help());
            ExitCode::from(2)
        }
    }
}

fn dispatch(arguments: &[String]) -> Outcome {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Failure::Usage("which command?".to_string()));
    };
    let name = match name.as_str() {
        "-h" | "--help" => "help",
        name => name,
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Err(Failure::Usage(format!("there is no command `{name}`")));
    };
    if command.arguments.is_empty()
        && let Some(extra) = rest.first()
    {
        return Err(Failure::Usage(format!(
            "`{name}` takes no arguments, but got `{extra}`"
        )));
    }
    (command.run)(rest)
}

fn help() -> String {
    let mut text = String::from("usage: cargo xtask COMMAND\n\n");
    for command in &COMMANDS {
        let call = format!("{} {}", command.name, command.arguments);
        text += &format!("  {:32} {}\n", call.trim_end(), command.about);
    }
    text += "\nbenchmarks:\n";
    for bench in &bench::BENCHES {
        text += &format!("  {:32} {}\n", bench.name, bench.shows);
    }
    text
}

/// The directory of the workspace, from which every command runs.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a directory of the workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(words: &[&str]) -> Outcome {
        let arguments: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        dispatch(&arguments)
    }

    fn is_usage(outcome: Outcome) -> bool {
        matches!(outcome, Err(Failure::Usage(_)))
    }

    #[test]
    fn a_wrong_call_is_told_apart_from_a_failure() {
        assert!(is_usage(call(&[])));
        assert!(is_usage(call(&["tests"])));
        assert!(is_usage(call(&["tidy", "crates"])));
        assert!(is_usage(call(&["bench", "no-such-bench"])));
        assert!(is_usage(call(&["soak", "--programs"])));
        assert!(is_usage(call(&["soak", "--programs", "many"])));
        assert!(is_usage(call(&["soak", "--program", "1"])));
    }

    #[test]
    fn help_has_a_line_for_every_command() {
        let help = help();
        for command in &COMMANDS {
            let start = format!("\n  {} ", command.name);
            assert!(
                help.contains(&start),
                "{} is missing from\n{help}",
                command.name
            );
        }
    }
}
