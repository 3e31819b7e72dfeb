//! The manual pages and completions of `finishline pages`: one for each command, and each is well
//! formed and names the options.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command's name, and how to start it.
const COMMANDS: [(&str, &str); 2] = [
    ("finishline", env!("CARGO_BIN_EXE_finishline")),
    ("cargo-finishline", env!("CARGO_BIN_EXE_cargo-finishline")),
];

fn help(executable: &str, arguments: &[&str]) -> String {
    let output = Command::new(executable).args(arguments).output();
    let output = output.expect("the command starts");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("text")
}

/// The subcommands that `--help` lists.
fn subcommands(executable: &str) -> Vec<String> {
    let help = help(executable, &["--help"]);
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let (list, _) = list.split_once("\n\n").expect("the list ends");
    // Lines with more space continue the line above.
    let names = list.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.filter_map(|line| line.split(' ').next());
    let names = names.filter(|name| !["", "help"].contains(name));
    names.map(str::to_owned).collect()
}

/// The long options in a text.
fn options(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let options = words.filter(|word| word.starts_with("--") && word.len() > 2);
    options.filter(|word| *word != "--help").collect()
}

fn pages(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let mut pages = Command::new(COMMANDS[0].1);
    let status = pages.arg("pages").arg(&folder).status();
    assert!(status.expect("the command starts").success());
    folder
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.into_string().expect("text"))
        .collect()
}

#[test]
fn every_command_has_a_page_with_its_options() {
    let manual = pages("pages-manual").join("man/man1");
    let mut expected = BTreeSet::new();
    for (name, executable) in COMMANDS {
        expected.insert(format!("{name}.1"));
        for subcommand in subcommands(executable) {
            let page = format!("{name}-{subcommand}.1");
            let text = fs::read_to_string(manual.join(&page)).unwrap_or_default();
            // Pages change the font by `\fB` and so on, and write some hyphens as `\-`.
            let text = ["\\fB", "\\fI", "\\fR"]
                .into_iter()
                .fold(text, |text, font| text.replace(font, " "))
                .replace('\\', "");
            let help = help(executable, &[&subcommand, "--help"]);
            let (usage, _) = help.split_once("Exit status:").unwrap_or((&help, ""));
            let missing: Vec<_> = options(usage)
                .difference(&options(&text))
                .copied()
                .collect();
            assert!(missing.is_empty(), "{page} lacks {missing:?}");
            expected.insert(page);
        }
    }
    // `bench` has a page for each of its tables.
    let own = names(&manual).into_iter();
    let own: BTreeSet<String> = own
        .filter(|it| !it.starts_with("finishline-bench-"))
        .collect();
    assert_eq!(own, expected);
}

/// groff, where it is installed, reads the pages without a warning.
#[test]
fn pages_are_well_formed() {
    let manual = pages("pages-groff").join("man/man1");
    for page in names(&manual) {
        let text = fs::read_to_string(manual.join(&page)).expect("a page");
        assert!(text.contains("\n.TH "), "{page} has no heading");
        let groff = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-z"])
            .arg(manual.join(&page))
            .output();
        if let Ok(output) = groff {
            let complaints = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && complaints.is_empty(),
                "{page}: {complaints}"
            );
        }
    }
}

#[test]
fn completions_are_where_shells_look() {
    let folder = pages("pages-shells");
    for (inner, files) in [
        (
            "bash-completion/completions",
            ["cargo-finishline", "finishline"],
        ),
        ("zsh/site-functions", ["_cargo-finishline", "_finishline"]),
        (
            "fish/vendor_completions.d",
            ["cargo-finishline.fish", "finishline.fish"],
        ),
    ] {
        let expected: BTreeSet<String> = files.map(str::to_owned).into();
        assert_eq!(names(&folder.join(inner)), expected, "{inner}");
    }
    for (name, executable) in COMMANDS {
        let zsh = folder.join(format!("zsh/site-functions/_{name}"));
        let zsh = fs::read_to_string(zsh).expect("completions");
        assert!(zsh.starts_with(&format!("#compdef {name}\n")));
        for subcommand in subcommands(executable) {
            assert!(zsh.contains(&format!("'{subcommand}:")), "{subcommand}");
        }
    }
}

/// What bash offers for the last of some words.
fn completed(folder: &Path, words: &[&str]) -> Vec<String> {
    let script = folder.join("bash-completion/completions").join(words[0]);
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(
        r#"set -e
           source "$1"
           function=$(complete -p "$2" | sed 's/.* -F \([^ ]*\) .*/\1/')
           shift
           COMP_WORDS=("$@")
           COMP_CWORD=$(($# - 1))
           "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" || true
           printf '%s\n' "${COMPREPLY[@]}""#,
    );
    bash.arg("bash").arg(script).args(words);
    let output = bash.stderr(Stdio::inherit()).output();
    let output = output.expect("bash starts");
    assert!(output.status.success(), "{words:?}");
    let offered = String::from_utf8(output.stdout).expect("text");
    offered.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_options() {
    let folder = pages("pages-bash");
    let completed = |words: &[&str]| completed(&folder, words);
    assert_eq!(completed(&["finishline", "che"]), ["check"]);
    assert_eq!(
        completed(&["finishline", "check", "--max"]),
        ["--max-races"]
    );
    assert_eq!(completed(&["cargo-finishline", "te"]), ["test"]);
    assert_eq!(
        completed(&["cargo-finishline", "run", "--logi"]),
        ["--logical-threads"]
    );
    assert_eq!(
        completed(&["cargo-finishline", "test", "--divide", "t"]),
        ["threads"]
    );
}
