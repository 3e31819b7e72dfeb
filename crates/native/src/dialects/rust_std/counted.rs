//! Where the code of `Arc::drop_slow` is: the functions of this name in the executable's symbol
//! table.
//!
//! The table is read once, when it is first needed. In an executable without a table no such
//! function is found, and what its counts of references order is taken as observed.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// Whether an address is inside of such a function.
pub(crate) fn is_drop_slow(address: u64) -> bool {
    static FUNCTIONS: OnceLock<Vec<Range<u64>>> = OnceLock::new();
    let functions = FUNCTIONS.get_or_init(|| {
        let bias = crate::process::executable_bias();
        let mut functions = File::open("/proc/self/exe")
            .ok()
            .and_then(|file| functions(&file, bias))
            .unwrap_or_default();
        functions.sort_unstable_by_key(|function| function.start);
        functions
    });
    // The place of a call is the address behind it.
    let inside = address.saturating_sub(1);
    let next = functions.partition_point(|function| function.start <= inside);
    let before = next.checked_sub(1).map(|at| &functions[at]);
    before.is_some_and(|function| function.contains(&inside))
}

const HEADER: usize = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;
const SYMBOL_TABLE: u32 = 2;
const FUNCTION: u8 = 2;
/// More than any table has.
const MOST_BYTES: u64 = 1 << 32;

/// The functions' addresses in the process. None if the file is not as it should be.
fn functions(file: &File, bias: u64) -> Option<Vec<Range<u64>>> {
    let header = read(file, 0, HEADER as u64)?;
    if header[..5] != *b"\x7fELF\x02" {
        return None;
    }
    let (offset, size, count) = (word(&header, 40)?, half(&header, 58)?, half(&header, 60)?);
    if usize::from(size) != SECTION {
        return None;
    }
    let sections = read(file, offset, u64::from(count) * SECTION as u64)?;
    let section = |index: usize| sections.get(index * SECTION..(index + 1) * SECTION);
    let contents = |section: &[u8]| read(file, word(section, 24)?, word(section, 32)?);
    let mut all = sections.chunks_exact(SECTION);
    let table = all.find(|section| int(section, 4) == Some(SYMBOL_TABLE))?;
    let names = contents(section(int(table, 40)? as usize)?)?;
    let symbols = contents(table)?;
    let functions = symbols.chunks_exact(SYMBOL).filter_map(|symbol| {
        let is_function = symbol[4] & 0xf == FUNCTION;
        let name = names.get(int(symbol, 0)? as usize..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        let start = word(symbol, 8)?.wrapping_add(bias);
        let function = start..start.saturating_add(word(symbol, 16)?);
        (is_function && is_name_of_drop_slow(name)).then_some(function)
    });
    Some(functions.collect())
}

fn read(file: &File, offset: u64, bytes: u64) -> Option<Vec<u8>> {
    if bytes > MOST_BYTES {
        return None;
    }
    let mut contents = vec![0; bytes as usize];
    file.read_exact_at(&mut contents, offset).ok()?;
    Some(contents)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn int(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Whether a mangled name, by the old scheme or the new one, is that of the method of `Arc`. The
/// type comes before the method and its path before its arguments, so what these are called does
/// not matter.
fn is_name_of_drop_slow(name: &[u8]) -> bool {
    let Ok(name) = str::from_utf8(name) else {
        return false;
    };
    if let Some(rest) = name.strip_prefix("_ZN5alloc4sync") {
        let rest = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        return rest.starts_with("Arc$LT$") && rest.contains("$GT$9drop_slow17h");
    }
    let Some((path, arguments)) = name
        .strip_prefix("_RNvM")
        .and_then(|rest| rest.split_once("3Arc"))
    else {
        return false;
    };
    path.contains("_5alloc4syncINt") && arguments.contains("E9drop_slow")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_is_known_by_its_name() {
        for name in [
            "_ZN5alloc4sync16Arc$LT$T$C$A$GT$9drop_slow17h0123456789abcdefE",
            "_RNvMsp_NtCsaBcDe_5alloc4syncINtB5_3ArcNtCs1_4prog4DataE9drop_slowCs1_4prog",
        ] {
            assert!(is_name_of_drop_slow(name.as_bytes()), "{name}");
        }
        for name in [
            "_ZN5alloc2rc15Rc$LT$T$C$A$GT$9drop_slow17h0123456789abcdefE",
            "_ZN4prog3Arc9drop_slow17h0123456789abcdefE",
            "_ZN5alloc4sync16Arc$LT$T$C$A$GT$3new17h0123456789abcdefE",
            "_RNvMs_NtCsaBcDe_5alloc2rcINtB4_2RcINtNtB6_4sync3ArclEE9drop_slowCs1_4prog",
            "_RNvMs_Cs1_4progNtB4_3Arc9drop_slow",
            "main",
        ] {
            assert!(!is_name_of_drop_slow(name.as_bytes()), "{name}");
        }
    }

    /// Of this very program, which has one if it calls it.
    #[test]
    fn the_table_of_symbols_is_read() {
        let file = File::open("/proc/self/exe").unwrap();
        assert!(functions(&file, 0).is_some());
        let not_one = File::open("/proc/self/status").unwrap();
        assert!(functions(&not_one, 0).is_none());
    }
}
