//! The language Fin: from source text to the IR.
//!
//! ```text
//! text ─ syntax ─► tree ─ check ─► typed tree (HIR) ─ lower ─► IR with explicit checks
//! ```
//!
//! - [`syntax`]: tokens, the syntax tree, a parser that recovers from errors.
//! - [`hir`]: the typed tree, the program as written; every shared access gets its `AccessId` here.
//! - [`check`]: names, types, and what the parallel constructs forbid.
//! - [`lower`]: control flow in SSA form; async bodies become functions.
//! - [`diagnostic`]: errors for people, each kind with a code that `finishline explain` knows.
//!
//! All errors of a file are reported at once. No input makes this crate panic: nesting is limited,
//! and bytes that are not UTF-8 are refused with their position. `docs/language.md` defines the
//! language.

#![forbid(unsafe_code)]

pub mod assigned;
pub mod check;
pub mod diagnostic;
pub mod hir;
mod lower;
pub mod span;
pub mod syntax;

use diagnostic::{Code, Diagnostic, Diagnostics};
use finishline_ir::Module;
use span::Span;
pub use syntax::plain_number;

/// A program that has passed all static checks.
pub struct Program {
    pub hir: hir::Program,
    pub module: Module,
}

/// Compiles the text of the file `path`. The path is used only as a name.
pub fn compile(path: &str, bytes: &[u8]) -> Result<Program, Diagnostics> {
    let hir = analyse(path, bytes)?;
    let module = lower::lower(&hir);
    Ok(Program { hir, module })
}

/// The static half: parses and checks names and types.
pub fn analyse(path: &str, bytes: &[u8]) -> Result<hir::Program, Diagnostics> {
    let refuse = |text: &str, diagnostic| Diagnostics::new(path, text, vec![diagnostic]);
    if u32::try_from(bytes.len()).is_err() {
        let diagnostic = Diagnostic::new(
            Code::NotText,
            Span::new(0, 0),
            "the file is larger than 4 GiB",
            "",
        );
        return Err(refuse("", diagnostic));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            let end = good.len() as u32;
            let diagnostic = Diagnostic::new(
                Code::NotText,
                Span::new(end, end),
                format!(
                    "the file is not UTF-8 text: invalid byte {:#04x}",
                    bytes[error.valid_up_to()]
                ),
                "the text is valid up to here",
            )
            .help("save the file as UTF-8");
            return Err(refuse(&good, diagnostic));
        }
    };
    let (file, mut errors) = syntax::parse(text);
    if errors.iter().any(|error| error.code == Code::TooDeep) {
        // The rest of the file was not read, so the checker would miss the names declared there.
        return Err(Diagnostics::new(path, text, errors));
    }
    let (program, found) = check::check(path, text, &file);
    errors.extend(found);
    match program {
        Some(program) if errors.is_empty() => Ok(program),
        _ => Err(Diagnostics::new(path, text, errors)),
    }
}
