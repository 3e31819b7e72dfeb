//! The readable name of a function, and the owner of its code.
//!
//! Symbols of both of Rust's mangling schemes become readable paths without hashes. The owner of
//! the code decides where the user looks and what a stack leaves out. The file is the best
//! evidence, because a generic function of a library is compiled into the crate that uses it. Files
//! of the standard library lie below `/rustc/…/library`, those of packages below cargo's registry
//! or its git checkouts. Without such a file, the crate at the front of the symbol decides.

use finishline_answer::task::Origin;

const STANDARD: [&str; 5] = ["std", "core", "alloc", "proc_macro", "test"];
/// Includes the runtime, by which rayon's stand-in starts each task.
const RAYON: [&str; 3] = ["rayon", "rayon_core", "finishline_native"];

/// The demangled name without hashes. Closures look the same in both schemes.
pub(crate) fn demangled(symbol: &str) -> String {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    name.replace("{{closure}}", "{closure}")
}

/// The owner of a function.
pub(crate) fn origin(function: &str, file: Option<&str>) -> Origin {
    if let Some(origin) = file.and_then(by_file) {
        return origin;
    }
    match crate_of(function) {
        Some(name) if RAYON.contains(&name) => Origin::Rayon,
        Some(name) if STANDARD.contains(&name) => Origin::Std,
        Some(_) => Origin::User,
        // Line tables alone may give an inlined function without its path.
        None => match file.filter(|file| file.ends_with(".rs")) {
            Some(file) if file.split('/').any(is_of_rayon) => Origin::Rayon,
            Some(_) => Origin::User,
            None => Origin::System,
        },
    }
}

/// Whether a file belongs to the standard library or to a package from elsewhere.
pub(crate) fn is_foreign(file: &str) -> bool {
    by_file(file).is_some()
}

fn by_file(file: &str) -> Option<Origin> {
    if is_standard(file) {
        return Some(Origin::Std);
    }
    let after = |marker: &str| file.split_once(marker).map(|(_, rest)| rest.split('/'));
    let package = if let Some(mut parts) = after("/registry/src/") {
        // The name of the index, then `package-1.2.3`.
        unversioned(parts.nth(1)?)
    } else {
        // `repository-hash`.
        let repository = after("/git/checkouts/")?.next()?;
        repository
            .rsplit_once('-')
            .map_or(repository, |(name, _)| name)
    };
    Some(if is_of_rayon(package) {
        Origin::Rayon
    } else {
        Origin::Dependency(package.to_owned())
    })
}

/// Whether a file belongs to the standard library or to a package inside it.
pub(crate) fn is_standard(file: &str) -> bool {
    (file.starts_with("/rustc/") && file.contains("/library/"))
        || file.contains("/rustlib/src/rust/library/")
        || file.starts_with("/rust/deps/")
}

/// Whether a folder belongs to one of rayon's packages.
fn is_of_rayon(folder: &str) -> bool {
    matches!(unversioned(folder), "rayon" | "rayon-core")
}

/// `rayon-core` of `rayon-core-1.13.0`.
fn unversioned(package: &str) -> &str {
    let mut dashes = package.match_indices('-');
    let version =
        dashes.find(|(at, _)| package[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    version.map_or(package, |(at, _)| &package[..at])
}

/// The crate of a path. None for names without a path, such as those of C. A trait's method belongs
/// to the crate of its type, or to the trait's crate if the type is of the standard library.
fn crate_of(function: &str) -> Option<&str> {
    let Some(inside) = function.strip_prefix('<') else {
        // Paths among the generic arguments belong to other functions.
        let name = function.split('<').next().unwrap_or(function);
        return first_crate(name);
    };
    let (of_type, of_trait) = match top_level_as(inside) {
        Some(at) => (first_crate(&inside[..at]), first_crate(&inside[at + 4..])),
        None => (first_crate(inside), None),
    };
    match of_type {
        Some(name) if !STANDARD.contains(&name) => Some(name),
        _ => of_trait.or(of_type).or_else(|| first_crate(function)),
    }
}

/// The position of the ` as ` that separates the type from the trait.
fn top_level_as(inside: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + inside[from..].find(['<', '>', ' '])?;
        let after = &inside[at + 1..];
        match inside.as_bytes()[at] {
            b'<' => from = at + 1 + closing(after)? + 1,
            b'>' if !inside[..at].ends_with('-') => return None,
            b' ' if after.starts_with("as ") => return Some(at),
            _ => from = at + 1,
        }
    }
}

/// The first identifier that is followed by `::`.
fn first_crate(path: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = path;
    loop {
        rest = rest.trim_start_matches(|c| !is_part(c));
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if end == 0 {
            return None;
        }
        if rest[end..].starts_with("::") {
            return Some(&rest[..end]);
        }
        rest = &rest[end..];
    }
}

/// Whether a function belongs to a type, or has the type among its parameters: one of the paths in
/// its name begins with the type's crate and goes through the type's name.
pub(crate) fn mentions(function: &str, of_crate: &str, name: &str) -> bool {
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut paths = function.split(|c| !is_of_path(c));
    paths.any(|path| {
        let mut parts = path.split("::");
        parts.next() == Some(of_crate) && parts.any(|part| part == name)
    })
}

/// The method of rayon's public interface that a function implements. None for rayon's internals.
pub(crate) fn method(function: &str) -> Option<String> {
    const INNER: [&str; 5] = ["plumbing", "registry", "job", "unwind", "task"];
    let path = skeleton(function);
    let mut parts: Vec<&str> = path.split("::").collect();
    let name = parts.pop()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let inner = parts.iter().any(|part| INNER.contains(part));
    let named = !name.is_empty() && path.chars().all(|c| plain(c) || c == ':');
    (named && !inner).then(|| name.to_owned())
}

/// The last part of a function's path: `fetch_max` of
/// `<core::sync::atomic::Atomic<u64>>::fetch_max`.
pub(crate) fn last_part(function: &str) -> String {
    let path = skeleton(function);
    let last = path.rsplit("::").next();
    last.unwrap_or(&path).to_owned()
}

/// The path without generic arguments. For an implementation, the trait's path: `a::Trait::f` for
/// `<b::T<U> as a::Trait<V>>::f::<W>`.
fn skeleton(function: &str) -> String {
    let Some(inside) = function.strip_prefix('<') else {
        return without_generics(function);
    };
    let Some(end) = closing(inside) else {
        return without_generics(function);
    };
    let implemented = top_level_as(inside).map_or(0, |at| at + 4);
    let owner = inside.get(implemented..end).unwrap_or_default();
    without_generics(owner) + &without_generics(&inside[end + 1..])
}

/// The position of the bracket that closes one opened before this text.
fn closing(inside: &str) -> Option<usize> {
    let mut depth = 1usize;
    for (at, c) in inside.char_indices() {
        match c {
            '<' => depth += 1,
            // The arrow of a function type closes no bracket.
            '>' if !inside[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The path without everything in angle brackets.
fn without_generics(path: &str) -> String {
    let (mut kept, mut rest) = (String::new(), path);
    while let Some((before, inside)) = rest.split_once('<') {
        kept += before.trim_end_matches("::");
        rest = closing(inside).map_or("", |end| &inside[end + 1..]);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_in_both_schemes() {
        for (symbol, expected) in [
            (
                "_ZN4hist4main28_$u7b$$u7b$closure$u7d$$u7d$17h616b5a87a08a2b2dE",
                "hist::main::{closure}",
            ),
            (
                "_ZN4hist7COUNTER17h616b5a87a08a2b2dE.llvm.123",
                "hist::COUNTER",
            ),
            ("_RNvCsdBezzDwma51_4hist4main", "hist::main"),
            (
                "_RNCNvCsdBezzDwma51_4hist4main0B3_",
                "hist::main::{closure#0}",
            ),
            ("malloc", "malloc"),
            ("_ZN broken", "_ZN broken"),
        ] {
            assert_eq!(demangled(symbol), expected);
        }
    }

    #[test]
    fn the_file_decides_whose_a_function_is() {
        let registry = "/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        for (function, file, expected) in [
            (
                "core::ptr::write",
                "/rustc/5980/library/core/src/ptr/mod.rs".to_owned(),
                Origin::Std,
            ),
            (
                "x::y",
                "/usr/lib/rustlib/src/rust/library/std/src/lib.rs".to_owned(),
                Origin::Std,
            ),
            (
                "hashbrown::map::get",
                "/rust/deps/hashbrown-0.15.5/src/map.rs".to_owned(),
                Origin::Std,
            ),
            (
                "rayon::iter::f",
                format!("{registry}/rayon-1.12.0/src/iter/mod.rs"),
                Origin::Rayon,
            ),
            (
                "rayon_core::join",
                format!("{registry}/rayon-core-1.13.0/src/join/mod.rs"),
                Origin::Rayon,
            ),
            (
                "rayon_core::join",
                "/cache/drop-in/src/lib.rs".to_owned(),
                Origin::Rayon,
            ),
            (
                "join<hist::main::{closure#0}, hist::main::{closure#1}, (), ()>",
                "/cache/sources/crates/rayon-core/src/join.rs".to_owned(),
                Origin::Rayon,
            ),
            (
                "rayon::join",
                "/ws/vendor/rayon/src/lib.rs".to_owned(),
                Origin::Rayon,
            ),
            (
                "ndarray::zip::f",
                format!("{registry}/ndarray-0.16.1/src/zip.rs"),
                Origin::Dependency("ndarray".into()),
            ),
            (
                "rayon_cond::f",
                format!("{registry}/rayon-cond-0.4.0/src/lib.rs"),
                Origin::Dependency("rayon-cond".into()),
            ),
            (
                "x::f",
                "/u/.cargo/git/checkouts/my-lib-0123abcd/9f8e/src/lib.rs".to_owned(),
                Origin::Dependency("my-lib".into()),
            ),
            ("hist::main", "/ws/src/main.rs".to_owned(), Origin::User),
            (
                "<hist::Shared as rayon::iter::ParallelIterator>::drive",
                "/ws/src/main.rs".to_owned(),
                Origin::User,
            ),
        ] {
            assert_eq!(origin(function, Some(&file)), expected, "{function} {file}");
        }
    }

    #[test]
    fn without_a_file_the_crate_decides() {
        for (function, expected) in [
            ("hist::main::{closure}", Origin::User),
            ("core::ops::function::FnOnce::call_once", Origin::Std),
            ("<hist::Cell as core::ops::drop::Drop>::drop", Origin::User),
            (
                "<alloc::vec::Vec<hist::T> as rayon::iter::FromParallelIterator<T>>::from_par_iter",
                Origin::Rayon,
            ),
            (
                "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
                Origin::Std,
            ),
            ("<&F as core::ops::function::Fn<A>>::call", Origin::Std),
            (
                "<rayon::iter::map::Map<I,F> as rayon::iter::ParallelIterator>::drive",
                Origin::Rayon,
            ),
            (
                "<fn(hist::A) -> hist::B as core::ops::function::Fn<A>>::call",
                Origin::User,
            ),
            ("<rayon_core::scope::Scope>::spawn", Origin::Rayon),
            ("finishline_native::dialects::rayon::task", Origin::Rayon),
            ("start_thread", Origin::System),
            ("__rust_try", Origin::System),
            ("<<<", Origin::System),
            ("::", Origin::System),
        ] {
            assert_eq!(origin(function, None), expected, "{function}");
        }
    }

    #[test]
    fn a_type_is_found_in_the_names_of_functions() {
        for (function, expected) in [
            ("<a::Output>::put", true),
            ("<a::m::Output<u8>>::put::{closure#0}", true),
            ("<a::Output as core::ops::drop::Drop>::drop", true),
            ("core::ptr::drop_in_place::<a::Output>", true),
            ("<&mut a::Output as a::Put>::put", true),
            ("a::Output<T>::put", true),
            ("<b::Output>::put", false),
            ("<b::a::Output>::put", false),
            ("<a::Outputs>::put", false),
            ("Output", false),
            ("put", false),
            ("", false),
        ] {
            assert_eq!(mentions(function, "a", "Output"), expected, "{function}");
        }
    }

    #[test]
    fn the_method_is_the_last_part_of_a_public_path() {
        for (function, expected) in [
            ("rayon::iter::ParallelIterator::for_each", Some("for_each")),
            (
                "<rayon::range::Iter<i32> as rayon::iter::ParallelIterator>::for_each::<hist::main::f>",
                Some("for_each"),
            ),
            ("rayon_core::join::join", Some("join")),
            ("rayon_core::join::join::<fn(A) -> B, C>", Some("join")),
            ("rayon_core::scope::Scope::spawn", Some("spawn")),
            ("<rayon_core::scope::Scope>::spawn::<T>", Some("spawn")),
            (
                "rayon::iter::plumbing::bridge_producer_consumer::helper",
                None,
            ),
            (
                "<rayon::iter::map::Map<I, hist::main::{closure#0}> as rayon::iter::ParallelIterator>::collect::<V>",
                Some("collect"),
            ),
            (
                "<rayon::iter::for_each::ForEachConsumer<F> as rayon::iter::plumbing::Folder<T>>::consume_iter",
                None,
            ),
            ("<fn(A) -> B as rayon::X<fn(C) -> D>>::go", Some("go")),
            (
                "<<a::T as b::U>::V as rayon::iter::ParallelIterator>::sum",
                Some("sum"),
            ),
            ("rayon_core::join::join_context::{closure}", None),
            (">", None),
            ("", None),
        ] {
            assert_eq!(method(function).as_deref(), expected, "{function}");
        }
    }
}
