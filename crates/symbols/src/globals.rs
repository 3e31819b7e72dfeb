//! The global variable that an address belongs to: its symbol, and the line that defines it.
//!
//! The symbol table gives name, start and size. The line of the definition needs full debug
//! information. It is searched unit by unit for a variable at the symbol's address. Both are read
//! only when a report needs them.

use crate::debug_information::{self, Slice};
use crate::function_names::demangled;
use gimli::{AttributeValue, Dwarf, Reader, Unit};
use object::{Object, ObjectSymbol, SymbolKind};
use std::path::{Path, PathBuf};

/// A variable, as described by the file that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Global {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// The file and line of the definition, if debug information has them.
    pub(crate) defined: Option<(String, u32)>,
}

/// The variable at an address of an ELF file.
pub(crate) fn find(path: &str, address: u64) -> Option<Global> {
    let cache = debug_information::open(path)?;
    let file = object::File::parse(&cache).ok()?;
    let symbol = file.symbols().find(|symbol| {
        let offset = address.checked_sub(symbol.address());
        symbol.kind() == SymbolKind::Data && offset.is_some_and(|offset| offset < symbol.size())
    })?;
    let start = symbol.address();
    let dwarf = debug_information::read(&file);
    Some(Global {
        name: demangled(written(symbol.name().ok()?)),
        address: start,
        size: symbol.size(),
        defined: dwarf.and_then(|dwarf| definition(&dwarf, start).ok().flatten()),
    })
}

/// The symbol without `.0`, `.1` and so on. Optimisation adds these when it splits a variable.
fn written(symbol: &str) -> &str {
    match symbol.rsplit_once('.') {
        Some((written, part)) if part.bytes().all(|byte| byte.is_ascii_digit()) => written,
        _ => symbol,
    }
}

/// The file and line of the variable that starts at this address.
fn definition(dwarf: &Dwarf<Slice>, address: u64) -> gimli::Result<Option<(String, u32)>> {
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_variable {
                continue;
            }
            let location = entry.attr_value(gimli::DW_AT_location);
            if let Some(AttributeValue::Exprloc(expression)) = location
                && starts_at(&unit, expression)? == Some(address)
            {
                let file = entry.attr_value(gimli::DW_AT_decl_file);
                let line = entry.attr_value(gimli::DW_AT_decl_line);
                let line = line.and_then(|line| line.udata_value());
                let line = line.and_then(|line| u32::try_from(line).ok());
                return match (file, line) {
                    (Some(AttributeValue::FileIndex(file)), Some(line)) => {
                        Ok(path(dwarf, &unit, file)?.map(|path| (path, line)))
                    }
                    _ => Ok(None),
                };
            }
        }
    }
    Ok(None)
}

/// The address, if the expression is only an address.
fn starts_at(
    unit: &Unit<Slice>,
    expression: gimli::Expression<Slice>,
) -> gimli::Result<Option<u64>> {
    let mut operations = expression.operations(unit.encoding());
    match (operations.next()?, operations.next()?) {
        (Some(gimli::Operation::Address { address }), None) => Ok(Some(address)),
        _ => Ok(None),
    }
}

fn path(dwarf: &Dwarf<Slice>, unit: &Unit<Slice>, index: u64) -> gimli::Result<Option<String>> {
    let Some(program) = &unit.line_program else {
        return Ok(None);
    };
    let header = program.header();
    let Some(file) = header.file(index) else {
        return Ok(None);
    };
    let mut path = PathBuf::new();
    if let Some(directory) = &unit.comp_dir {
        path.push(&*directory.to_string_lossy()?);
    }
    if let Some(directory) = file.directory(header) {
        let directory = dwarf.attr_string(unit, directory)?;
        path.push(&*directory.to_string_lossy()?);
    }
    let name = dwarf.attr_string(unit, file.path_name())?;
    path.push(Path::new(&*name.to_string_lossy()?));
    Ok(Some(path.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn parts_of_variables_go_by_the_whole() {
        assert_eq!(written("_RNvCs1_1a4DONE.0"), "_RNvCs1_1a4DONE");
        assert_eq!(written("_RNvCs1_1a4DONE"), "_RNvCs1_1a4DONE");
        assert_eq!(written("anon.rodata"), "anon.rodata");
    }
}
