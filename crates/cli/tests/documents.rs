//! The documents show what the tool prints.

use finishline_answer::Verdict;
use finishline_fin::diagnostic::Code;
use finishline_model::Detector;
use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_readme_shows_a_real_report() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(["check", "programs/esp-bags/figures/fig2.fin", "3"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("the binary starts");
    let report = String::from_utf8(output.stderr).expect("text");
    assert!(
        read("README.md").contains(&report),
        "put this into README.md:\n{report}"
    );
}

#[test]
fn the_page_about_graphs_shows_a_real_picture() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documented.svg");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(["graph", "programs/zipper/figures/fig2.fin", "-o"])
        .arg(&file)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("the binary starts");
    assert!(output.status.success());
    let drawn = std::fs::read_to_string(&file).expect("the picture");
    let help = "finishline graph programs/zipper/figures/fig2.fin -o docs/graph.svg";
    assert!(
        read("docs/graph.svg") == drawn,
        "docs/graph.svg is old: {help}"
    );
}

/// The page about checks shows the listing of a program, and so the program itself.
#[test]
fn the_page_about_checks_shows_a_real_listing() {
    let page = read("docs/checks.md");
    let (_, rest) = page
        .split_once("$ finishline explain-checks quarters.fin\n")
        .expect("the command");
    let (listing, _) = rest.split_once("```").expect("the listing ends");
    let numbered = listing.lines().filter_map(|line| {
        let (number, code) = line.split_once('│')?;
        let number: usize = number.trim().parse().ok()?;
        Some((number, code.strip_prefix(' ').unwrap_or(code)))
    });
    let (numbers, code): (Vec<usize>, Vec<&str>) = numbered.unzip();
    assert!(numbers.into_iter().eq(1..=code.len()) && !code.is_empty());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("quarters.fin"), code.join("\n") + "\n").expect("the program");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_finishline"))
        .args(["explain-checks", "quarters.fin"])
        .current_dir(folder)
        .output()
        .expect("the binary starts");
    let shown = String::from_utf8(output.stdout).expect("text");
    assert_eq!(shown, listing, "put this into docs/checks.md:\n{shown}");
}

/// The page about proofs has a program, and the answers about it and about its repaired twin. Times
/// differ.
#[test]
fn the_pages_about_proofs_show_real_reports() {
    let page = read("docs/prove.md");
    let (_, rest) = page.split_once("```\nfn main").expect("a program");
    let (body, _) = rest.split_once("```").expect("the program ends");
    let program = format!("fn main{body}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("halves.fin"), &program).expect("the program");
    let apart = program.replace("for j in N..", "for j in N + 1..");
    assert_ne!(program, apart);
    std::fs::write(folder.join("halves_apart.fin"), apart).expect("the program");

    let readme = read("README.md");
    let mut shown = 0;
    for (name, text) in [("docs/prove.md", &page), ("README.md", &readme)] {
        let mut commands = text.split("$ finishline prove ");
        commands.next();
        for example in commands {
            let (arguments, rest) = example.split_once('\n').expect("a command");
            let (report, _) = rest.split_once("```").expect("the report ends");
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_finishline"))
                .arg("prove")
                .args(arguments.split(' '))
                .current_dir(folder)
                .output()
                .expect("the binary starts");
            let said = String::from_utf8(output.stderr).expect("text");
            assert_eq!(
                without_times(&said),
                without_times(report),
                "put this into {name}:\n{said}"
            );
            shown += 1;
        }
    }
    assert_eq!(shown, 4);
}

/// The text without times such as `1.2 ms`.
fn without_times(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_unit = |word: &str| {
        let word = word.split('\n').next().unwrap_or(word);
        ["s", "ms", "µs"].contains(&word)
    };
    let mut kept = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let timed = words.get(at + 1).is_some_and(|next| is_unit(next));
        kept.push(match timed && word.parse::<f64>().is_ok() {
            true => "?".to_owned(),
            false if is_unit(word) => word.replacen("ms", "s", 1).replacen("µs", "s", 1),
            false => (*word).to_owned(),
        });
    }
    kept.join(" ")
}

#[test]
fn the_readme_has_every_verdict_and_detector() {
    let readme = read("README.md");
    for verdict in Verdict::ALL {
        let row = format!("| `{verdict}` | {} |", verdict.meaning());
        assert!(readme.contains(&row), "README.md lacks: {row}");
    }
    for detector in Detector::ALL {
        assert!(readme.contains(&format!("| `{detector}` |")));
    }
}

#[test]
fn every_program_in_the_language_reference_compiles() {
    let page = read("docs/language.md");
    // Every second piece between the fences is code.
    let code = page.split("```\n").skip(1).step_by(2);
    let programs: Vec<&str> = code.filter(|code| code.contains("fn main")).collect();
    assert!(!programs.is_empty());
    for program in programs {
        if let Err(errors) = finishline_fin::compile("language.md", program.as_bytes()) {
            panic!("{}", errors.render(false));
        }
    }
}

#[test]
fn examples_in_explanations_name_real_codes() {
    for code in Code::ALL {
        for word in code
            .explanation()
            .split(|c: char| !c.is_ascii_alphanumeric())
        {
            if word.len() == 5
                && word.starts_with('E')
                && word[1..].bytes().all(|b| b.is_ascii_digit())
            {
                assert!(Code::from_name(word).is_some(), "{word} in {}", code.name());
            }
        }
    }
}

#[test]
fn every_option_is_documented() {
    let page = read("docs/cli.md");
    for command in [
        &["run"][..],
        &["check"],
        &["graph"],
        &["prove"],
        &["explain-checks"],
        &["bench", "esp-bags"],
        &["bench", "prove"],
        &["bench", "drdp"],
        &["bench", "zipper"],
        &["bench", "fastracer"],
    ] {
        let help = std::process::Command::new(env!("CARGO_BIN_EXE_finishline"))
            .args(command)
            .arg("--help")
            .output()
            .expect("the binary starts");
        let help = String::from_utf8(help.stdout).expect("text");
        let words = help.split(|c: char| c.is_whitespace() || c == ',');
        let options = words.filter(|word| word.starts_with("--") && word.len() > 2);
        for option in options {
            assert!(
                page.contains(option),
                "docs/cli.md lacks {option} of {command:?}"
            );
        }
    }
}
