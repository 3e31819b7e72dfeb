//! `finishline pages`: manual pages and shell completions, made from the options of both commands.
//!
//! The folders are those that `man` and the shells search below `/usr/share`, `/usr/local/share`
//! and `~/.local/share`.

use crate::options::{Cli, PagesOptions};
use crate::outcome::{NOTHING_FOUND, Problem};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use std::fs;
use std::path::Path;

/// The shells, with the folder of completions, and what is before and behind a command's name in
/// the name of its file.
const SHELLS: [(Shell, &str, &str, &str); 3] = [
    (Shell::Bash, "bash-completion/completions", "", ""),
    (Shell::Zsh, "zsh/site-functions", "_", ""),
    (Shell::Fish, "fish/vendor_completions.d", "", ".fish"),
];

pub(crate) fn pages(options: &PagesOptions) -> Result<u8, Problem> {
    let commands = [
        ("finishline", Cli::command()),
        ("cargo-finishline", finishline_cargo::command_line()),
    ];
    let manual = options.folder.join("man/man1");
    make(&manual)?;
    for (name, command) in commands {
        let mut whole = command.clone().disable_help_subcommand(true);
        whole.build();
        describe(&whole, &manual)?;
        for (shell, folder, before, behind) in SHELLS {
            let folder = options.folder.join(folder);
            make(&folder)?;
            let file = folder.join(format!("{before}{name}{behind}"));
            fs::write(&file, completions(shell, command.clone(), name))
                .map_err(|error| Problem::Write(file, error))?;
        }
    }
    Ok(NOTHING_FOUND)
}

fn completions(shell: Shell, mut command: Command, name: &str) -> String {
    // For bash, clap_complete 4.6 takes the parts of a name with a hyphen for subcommands. So the
    // name gets its hyphen afterwards, in the lines that register the completions.
    let known = match shell {
        Shell::Bash => name.replace('-', "_"),
        _ => name.to_owned(),
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, &known, &mut text);
    let text = String::from_utf8_lossy(&text);
    text.replace(
        &format!(" -o default {known}\n"),
        &format!(" -o default {name}\n"),
    )
}

/// Writes the pages of a command and of all its subcommands.
fn describe(command: &Command, folder: &Path) -> Result<(), Problem> {
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        describe(subcommand, folder)?;
    }
    let page = Man::new(command.clone()).source(concat!("Finishline ", env!("CARGO_PKG_VERSION")));
    let written = page.generate_to(folder);
    written.map_err(|error| Problem::Write(folder.join(page.get_filename()), error))?;
    Ok(())
}

fn make(folder: &Path) -> Result<(), Problem> {
    fs::create_dir_all(folder).map_err(|error| Problem::Write(folder.to_owned(), error))
}
