//! `finishline explain-checks`: the accesses of a program that are still checked. The program is
//! compiled but not run.
//!
//! Proofs depend on the arguments of `main`. Without arguments nothing is proved, unless `main` has
//! no parameters.

use crate::options::ExplainChecksOptions;
use crate::outcome::{NOTHING_FOUND, Problem};
use crate::{program, proofs};
use finishline_engine::executor::Forms;
use finishline_engine::explain::explain;
use finishline_fin::Program;
use finishline_poly::Harmless;
use finishline_report::{Style, explain as report};
use std::io::{self, Write};

pub(crate) fn explain_checks(options: &ExplainChecksOptions) -> Result<u8, Problem> {
    let Program { hir, module } = program::compile(&options.file, options.color)?;
    let passes = options.checks.passes;
    let takes_any = !module.function(module.main).parameters.is_empty();
    let harmless = if takes_any && options.arguments.is_empty() {
        Harmless::default()
    } else {
        let arguments = program::arguments(&module, &options.file, &options.arguments)?;
        proofs::harmless(hir, &arguments, passes)
    };
    let Harmless { accesses, wrapping } = harmless;
    let forms = Forms::new(&module, options.executor(), passes).with_harmless(accesses);
    let explanation = explain(&forms, &wrapping);
    let write =
        |style, out: &mut dyn Write| report::write(&explanation, options.format, style, out);
    match &options.output {
        Some(path) => {
            let mut text = Vec::new();
            write(Style::default(), &mut text)
                .and_then(|()| std::fs::write(path, text))
                .map_err(|error| Problem::Write(path.clone(), error))?;
        }
        None => {
            let style = options.color.on_standard_output();
            write(style, &mut io::stdout().lock()).map_err(Problem::Output)?;
        }
    }
    Ok(NOTHING_FOUND)
}
