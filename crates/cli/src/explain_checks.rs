//! `finishline explain-checks`: which accesses of a program a check still pays for. The program is compiled and not run.

use crate::options::ExplainChecksOptions;
use crate::outcome::{NOTHING_FOUND, Problem};
use crate::program;
use finishline_engine::executor::Forms;
use finishline_engine::explain::explain;
use finishline_report::{Style, explain as report};
use std::io::{self, Write};

pub(crate) fn explain_checks(options: &ExplainChecksOptions) -> Result<u8, Problem> {
    let module = program::compile(&options.file, options.color)?;
    let forms = Forms::new(&module, options.executor(), options.checks.passes);
    let explanation = explain(&forms);
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
