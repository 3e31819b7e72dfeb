//! Reads and compiles a program file, and reads the arguments.

use crate::options::{ProgramOptions, When};
use crate::outcome::{Problem, say, shown};
use crate::proofs;
use finishline_engine::arguments;
use finishline_engine::executor::Forms;
use finishline_engine::question::Question;
use finishline_fin::{Program, hir};
use finishline_ir::Module;
use finishline_ir::machine::{Datum, Limits};
use finishline_model::Passes;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// Reads and compiles the file.
pub(crate) fn compile(path: &Path, color: When) -> Result<Program, Problem> {
    let bytes = std::fs::read(path).map_err(|error| Problem::Read(path.to_owned(), error))?;
    finishline_fin::compile(&path.to_string_lossy(), &bytes)
        .map_err(|diagnostics| Problem::Source(diagnostics.render(color.on_standard_error().color)))
}

/// The question that the options ask about a compiled program. `hir` is the tree it was compiled
/// from.
pub(crate) fn question<'m>(
    module: &'m Module,
    hir: hir::Program,
    options: &ProgramOptions,
    passes: Passes,
) -> Result<Question<'m>, Problem> {
    let arguments = arguments(module, &options.file, &options.arguments)?;
    let harmless = proofs::harmless(hir, &arguments, passes).accesses;
    Ok(Question {
        module,
        forms: Forms::new(module, options.executor(), passes).with_harmless(harmless),
        words: options.arguments.clone(),
        arguments,
        limits: Limits {
            memory: options.memory,
            ..Limits::default()
        },
        max_races: usize::MAX,
        suppressions: None,
        watch: None,
        schedule: None,
        progress: AtomicU64::new(0),
    })
}

/// The arguments of a file's `main`. Numbers may be written as in Fin: `1_000`, `0xff`.
pub(crate) fn arguments(
    module: &Module,
    file: &Path,
    words: &[String],
) -> Result<Vec<Datum>, Problem> {
    let plain = |word: &String| finishline_fin::plain_number(word).unwrap_or_else(|| word.clone());
    let plain: Vec<String> = words.iter().map(plain).collect();
    arguments::parse(module, &plain)
        .map_err(|error| Problem::Usage(format!("{}: {error}", shown(file))))
}

/// Notes that the program was interpreted because it could not be compiled.
pub(crate) fn note_interpreted(question: &Question) {
    if let Some(error) = question.forms.not_compiled() {
        say(&format!(
            "note: the program was interpreted, which is much slower: {error}"
        ));
    }
}
