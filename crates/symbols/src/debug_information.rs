//! The debug information of an ELF file, read by `gimli`. All sections are copied to memory,
//! because a search may need any part of them.

use gimli::{Dwarf, EndianRcSlice, RunTimeEndian};
use object::{Object, ObjectSection, ReadCache};
use std::fs::File;
use std::rc::Rc;

pub(crate) type Slice = EndianRcSlice<RunTimeEndian>;

/// Opens a file to be read in parts. None if it is no plain file.
pub(crate) fn open(path: &str) -> Option<ReadCache<File>> {
    let is_file = std::fs::metadata(path).ok()?.is_file();
    is_file
        .then(|| File::open(path).ok())
        .flatten()
        .map(ReadCache::new)
}

pub(crate) fn read<'d>(file: &object::File<'d, &'d ReadCache<File>>) -> Option<Dwarf<Slice>> {
    let endian = if file.is_little_endian() {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    };
    Dwarf::load(|id| -> Result<Slice, object::Error> {
        let section = file.section_by_name(id.name());
        let data = section
            .map(|section| section.uncompressed_data())
            .transpose()?;
        Ok(Slice::new(Rc::from(&*data.unwrap_or_default()), endian))
    })
    .ok()
}
