//! Where a process failed, as far as that is known from outside.
//!
//! A panic says its place. Any other failure is shown at the function in which the user's code
//! began: the test, or `main`. Its symbol leads to its line. Optimisation may have left no such
//! symbol, and then no place is known.

use crate::Question;
use crate::debug_information;
use crate::function_names::{demangled, is_foreign};
use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};

/// A place in a source file, as the compiler counts: from 1, columns in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

pub(crate) fn position(question: &Question) -> Option<Position> {
    question.failure?;
    let panicked = question.panicked.cloned();
    panicked
        .filter(|panicked| !is_foreign(&panicked.file))
        .or_else(|| beginning(question.executable, &first_function(question)))
}

/// The path of the function in which the user's code begins.
fn first_function(question: &Question) -> String {
    let name = question.program.replace('-', "_");
    format!("{name}::{}", question.test.unwrap_or("main"))
}

/// Where a function begins.
fn beginning(executable: &str, function: &str) -> Option<Position> {
    let (_, last) = function.rsplit_once("::")?;
    let cache = debug_information::open(executable)?;
    let file = object::File::parse(&cache).ok()?;
    let mut functions = file.symbols().filter(|it| it.kind() == SymbolKind::Text);
    let symbol = functions.find(|symbol| {
        // Few symbols need to be demangled.
        let name = symbol.name().ok().filter(|name| name.contains(last));
        name.is_some_and(|name| demangled(name) == function)
    })?;
    let loader = Loader::new(executable).ok()?;
    let location = loader.find_location(symbol.address()).ok()??;
    Some(Position {
        file: location.file?.to_owned(),
        line: location.line?,
        column: location.column.unwrap_or(0),
    })
}
