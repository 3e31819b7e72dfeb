//! The functions of a program that have variables of certain types.
//!
//! Full debug information gives the type of each variable of a function: its parameters, what a
//! closure captures, and its locals. A variable counts as one of a type if the type is the
//! variable's own, or is found from there by way of references, fields and type parameters. Each
//! unit has its own description of the types that it uses, so units are read one by one. Line
//! tables alone have no types, so nothing is found there.
//!
//! Cost: one pass over the debug information of a program.

use crate::debug_information::{self, Slice};
use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, Reader, Unit, UnitOffset};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// The functions with variables of the wanted types, in the order of their addresses in the file,
/// each with the numbers of these types. A type is given by its crate and its name.
pub(crate) fn functions_with(path: &str, wanted: &[&[String; 2]]) -> Vec<(Range<u64>, Vec<usize>)> {
    let mut functions = Vec::new();
    if !wanted.is_empty()
        && let Some(cache) = debug_information::open(path)
        && let Ok(file) = object::File::parse(&cache)
        && let Some(dwarf) = debug_information::read(&file)
    {
        // What comes behind a mistake in the file is not known.
        let _ = read(&dwarf, wanted, &mut functions);
    }
    functions.sort_by_key(|(range, _)| range.start);
    functions
}

/// The types of the function around an address.
pub(crate) fn around(functions: &[(Range<u64>, Vec<usize>)], address: u64) -> &[usize] {
    let behind = functions.partition_point(|(range, _)| range.start <= address);
    match behind.checked_sub(1).map(|at| &functions[at]) {
        Some((range, types)) if range.contains(&address) => types,
        _ => &[],
    }
}

fn read(
    dwarf: &Dwarf<Slice>,
    wanted: &[&[String; 2]],
    functions: &mut Vec<(Range<u64>, Vec<usize>)>,
) -> gimli::Result<()> {
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let types = TypesOfUnit::read(dwarf, &unit, wanted)?;
        types.list_functions(wanted.len(), functions);
    }
    Ok(())
}

/// An entry on the way from the unit to the current one.
enum Outer {
    Namespace(String),
    Type(UnitOffset),
    Function(usize),
    Other,
}

/// A function with machine code of its own.
struct Function {
    range: Range<u64>,
    /// Its variables: their types, or the entries that have them.
    uses: Vec<UnitOffset>,
}

#[derive(Default)]
struct TypesOfUnit {
    /// The wanted types that the unit describes.
    found: Vec<(usize, UnitOffset)>,
    /// By type, or by entry of a variable: who uses it.
    users: FxHashMap<UnitOffset, Vec<UnitOffset>>,
    functions: Vec<Function>,
}

impl TypesOfUnit {
    fn read(
        dwarf: &Dwarf<Slice>,
        unit: &Unit<Slice>,
        wanted: &[&[String; 2]],
    ) -> gimli::Result<TypesOfUnit> {
        let mut types = TypesOfUnit::default();
        let mut outer: Vec<Outer> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            outer.truncate(usize::try_from(entry.depth()).unwrap_or(0));
            let inside = types.enter(dwarf, unit, entry, &outer, wanted)?;
            outer.push(inside);
        }
        Ok(types)
    }

    fn enter(
        &mut self,
        dwarf: &Dwarf<Slice>,
        unit: &Unit<Slice>,
        entry: &DebuggingInformationEntry<Slice>,
        outer: &[Outer],
        wanted: &[&[String; 2]],
    ) -> gimli::Result<Outer> {
        let refers_to = |name| match entry.attr_value(name) {
            Some(AttributeValue::UnitRef(offset)) => Some(offset),
            _ => None,
        };
        let name = || -> gimli::Result<String> {
            let Some(name) = entry.attr_value(gimli::DW_AT_name) else {
                return Ok(String::new());
            };
            let name = dwarf.attr_string(unit, name)?;
            Ok(name.to_string_lossy()?.into_owned())
        };
        let here = entry.offset();
        let its_type = refers_to(gimli::DW_AT_type);
        Ok(match entry.tag() {
            gimli::DW_TAG_namespace => Outer::Namespace(name()?),
            gimli::DW_TAG_structure_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type => {
                let first = outer.iter().find_map(|it| match it {
                    Outer::Namespace(name) => Some(name.as_str()),
                    _ => None,
                });
                let name = name()?;
                let name = name.split('<').next().unwrap_or_default();
                let fits = |it: &&[String; 2]| first == Some(&it[0]) && name == it[1];
                let found = wanted.iter().enumerate().filter(|(_, it)| fits(it));
                self.found.extend(found.map(|(number, _)| (number, here)));
                Outer::Type(here)
            }
            gimli::DW_TAG_subprogram => match range(dwarf, unit, entry)? {
                Some(range) => {
                    let uses = Vec::new();
                    self.functions.push(Function { range, uses });
                    Outer::Function(self.functions.len() - 1)
                }
                None => Outer::Other,
            },
            gimli::DW_TAG_member
            | gimli::DW_TAG_template_type_parameter
            | gimli::DW_TAG_formal_parameter
            | gimli::DW_TAG_variable => {
                // In code that is inlined, another entry has the type.
                let used = its_type.or(refers_to(gimli::DW_AT_abstract_origin));
                self.users
                    .entry(used.unwrap_or(here))
                    .or_default()
                    .push(here);
                match outer.iter().rev().find(|it| !matches!(it, Outer::Other)) {
                    Some(Outer::Type(of)) => self.users.entry(here).or_default().push(*of),
                    Some(Outer::Function(of)) => self.functions[*of].uses.push(here),
                    _ => {}
                }
                Outer::Other
            }
            // References, arrays.
            _ => {
                if let Some(used) = its_type {
                    self.users.entry(used).or_default().push(here);
                }
                Outer::Other
            }
        })
    }

    fn list_functions(&self, wanted: usize, functions: &mut Vec<(Range<u64>, Vec<usize>)>) {
        let uses: Vec<FxHashSet<UnitOffset>> = (0..wanted).map(|it| self.users_of(it)).collect();
        for function in &self.functions {
            let is_used = |of: &usize| function.uses.iter().any(|used| uses[*of].contains(used));
            let types: Vec<usize> = (0..wanted).filter(is_used).collect();
            if !types.is_empty() {
                functions.push((function.range.clone(), types));
            }
        }
    }

    /// All entries that lead to a wanted type.
    fn users_of(&self, wanted: usize) -> FxHashSet<UnitOffset> {
        let found = self.found.iter().filter(|(number, _)| *number == wanted);
        let mut pending: Vec<UnitOffset> = found.map(|(_, of)| *of).collect();
        let mut users = FxHashSet::default();
        while let Some(one) = pending.pop() {
            if users.insert(one) {
                pending.extend(self.users.get(&one).into_iter().flatten());
            }
        }
        users
    }
}

/// The addresses of a function's code in the file. None for a function that has none.
fn range(
    dwarf: &Dwarf<Slice>,
    unit: &Unit<Slice>,
    entry: &DebuggingInformationEntry<Slice>,
) -> gimli::Result<Option<Range<u64>>> {
    let address = |name| match entry.attr_value(name) {
        Some(value) => dwarf.attr_address(unit, value),
        None => Ok(None),
    };
    let Some(start) = address(gimli::DW_AT_low_pc)? else {
        return Ok(None);
    };
    let length = entry.attr_value(gimli::DW_AT_high_pc);
    let end = match length.and_then(|length| length.udata_value()) {
        Some(length) => Some(start.saturating_add(length)),
        None => address(gimli::DW_AT_high_pc)?,
    };
    // The linker gives code that it has left out the address 0.
    Ok(end.filter(|_| start > 0).map(|end| start..end))
}
