//! The destination of a report: text goes to standard error, other forms to standard output so that
//! they can be piped, or any form to a file.

use crate::options::When;
use crate::outcome::{Problem, shown};
use finishline_report::{Format, Style};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The destination. A file is opened before the work begins: after hours of checking it is too late
/// to find that it can't be written.
pub(crate) enum Destination<'o> {
    File(&'o Path, File),
    StandardError(Style),
    StandardOutput,
}

impl<'o> Destination<'o> {
    /// Opens it for a report about a file, which the report must not replace.
    pub(crate) fn open(
        file: Option<&'o Path>,
        about: &Path,
        format: Format,
        color: When,
    ) -> Result<Self, Problem> {
        Destination::for_text(file, about, format == Format::Text, color)
    }

    /// The same for a report that is text or not.
    pub(crate) fn for_text(
        file: Option<&'o Path>,
        about: &Path,
        is_text: bool,
        color: When,
    ) -> Result<Self, Problem> {
        match (file, is_text) {
            (Some(path), _) => {
                spare(
                    about,
                    path,
                    "the report is about it, and needs another file",
                )?;
                match File::create(path) {
                    Ok(file) => Ok(Destination::File(path, file)),
                    Err(error) => Err(Problem::Write(path.to_owned(), error)),
                }
            }
            (None, true) => Ok(Destination::StandardError(color.on_standard_error())),
            (None, false) => Ok(Destination::StandardOutput),
        }
    }

    /// Writes the report. A reader that closes the pipe early is no problem.
    pub(crate) fn write(
        self,
        report: impl Fn(Style, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Problem> {
        let write = |style, out: &mut dyn Write| {
            let mut out = BufWriter::new(out);
            report(style, &mut out)?;
            out.flush()
        };
        let plain = Style::default();
        let written = match self {
            Destination::File(path, mut file) => {
                return write(plain, &mut file)
                    .map_err(|error| Problem::Write(path.to_owned(), error));
            }
            Destination::StandardError(style) => write(style, &mut io::stderr().lock()),
            Destination::StandardOutput => write(plain, &mut io::stdout().lock()),
        };
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Problem::Output(error)),
            _ => Ok(()),
        }
    }
}

/// Refuses to write to a file that is read.
pub(crate) fn spare(input: &Path, output: &Path, why: &str) -> Result<(), Problem> {
    match (input.canonicalize(), output.canonicalize()) {
        (Ok(input), Ok(same)) if input == same => {
            Err(Problem::Usage(format!("{}: {why}", shown(output))))
        }
        _ => Ok(()),
    }
}
