//! Finds functions that the precompiled standard library defines or calls, by their paths.
//!
//! Their symbols differ between versions of rustc, by mangling scheme and by hash. So functions are
//! found by their readable path, without the hash and without the angle brackets that one scheme
//! puts around types.

use crate::Problem;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};
use std::fs;
use std::path::Path;

/// The symbol of each function, if the library has it.
pub(crate) fn symbols(library: &Path, functions: &[&str]) -> Result<Vec<Option<String>>, Problem> {
    let data = fs::read(library).map_err(|error| Problem::read(library, error))?;
    let archive = ArchiveFile::parse(&*data).map_err(|error| Problem::read(library, error))?;
    let mut found = vec![None; functions.len()];
    for member in archive.members() {
        let member = member.and_then(|member| member.data(&*data));
        let member = member.map_err(|error| Problem::read(library, error))?;
        // Metadata is a member of the archive too, but no object.
        let Ok(object) = object::File::parse(member) else {
            continue;
        };
        let global = object.symbols().filter(|symbol| symbol.is_global());
        for symbol in global.filter_map(|symbol| symbol.name().ok()) {
            let path = path(symbol);
            if let Some(at) = functions.iter().position(|function| *function == path) {
                found[at] = Some(symbol.to_owned());
            }
        }
    }
    Ok(found)
}

/// `<std::sync::Once>::call` and `std::sync::Once::call::h0123456789abcdef` both become
/// `std::sync::Once::call`.
fn path(symbol: &str) -> String {
    let shown = format!("{:#}", rustc_demangle::demangle(symbol));
    shown.replace(['<', '>'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_the_same_in_both_schemes() {
        assert_eq!(
            path("_ZN3std4sync4Once4call17h0123456789abcdefE"),
            "std::sync::Once::call"
        );
        assert_eq!(
            path("_RNvMNtCsd1237ef7159_3std4syncNtB2_4Once4call"),
            "std::sync::Once::call"
        );
        assert_eq!(path("malloc"), "malloc");
    }
}
