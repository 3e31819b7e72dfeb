//! A package of the user's, with one file replaced by one of ours.
//!
//! The sources of a package are not ours to change, and the compiler finds the files of a crate
//! beside its root. So there is a folder of links to everything in the package. Only the replaced
//! file and the folders around it are of its own. The folder is made once, under another name, and
//! then renamed. It stays, because cargo looks at the sources of a crate to see whether to build it
//! again.

use crate::Problem;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The folder that stands for a package, below `overlays`: like the package, but for the file at
/// `inner`. None if the package has no such file.
pub(crate) fn overlay(
    package: &Path,
    inner: &Path,
    file: &Path,
    overlays: &Path,
) -> Result<Option<PathBuf>, Problem> {
    if !package.join(inner).is_file() {
        return Ok(None);
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(package.as_os_str().as_bytes());
    let name = package.file_name().unwrap_or(OsStr::new("package"));
    let name = format!("{}-{:016x}", name.to_string_lossy(), hasher.finish());
    let home = overlays.join(name);
    if home.is_dir() {
        return Ok(Some(home));
    }
    let make = || {
        fs::create_dir_all(overlays)?;
        let unfinished = tempfile::Builder::new()
            .prefix(".linking-")
            .tempdir_in(overlays)?;
        link(package, unfinished.path(), inner, file)?;
        match fs::rename(unfinished.path(), &home) {
            // Another process was faster.
            Err(_) if home.is_dir() => Ok(()),
            renamed => renamed.map(|()| drop(unfinished.keep())),
        }
    };
    let made: io::Result<()> = make();
    made.map_err(|error| Problem::write(&home, error))?;
    Ok(Some(home))
}

/// Links everything in `from`, except for what is at `inner`.
fn link(from: &Path, to: &Path, inner: &Path, file: &Path) -> io::Result<()> {
    let mut parts = inner.components();
    let replaced = parts.next().map(|part| part.as_os_str().to_owned());
    let deeper = parts.as_path();
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        let (from, to) = (from.join(&name), to.join(&name));
        if Some(&name) != replaced.as_ref() {
            symlink(from, to)?;
        } else if deeper.as_os_str().is_empty() {
            symlink(file, to)?;
        } else {
            fs::create_dir(&to)?;
            link(&from, &to, deeper, file)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_is_another_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for (path, text) in [
            ("p-1.0/src/a.rs", "a"),
            ("p-1.0/src/in/b.rs", "b"),
            ("p-1.0/src/in/c.rs", "c"),
            ("p-1.0/README", "read"),
            ("ours.rs", "ours"),
        ] {
            let parent = at(path).parent().map(Path::to_owned);
            fs::create_dir_all(parent.expect("a parent")).expect("made");
            fs::write(at(path), text).expect("written");
        }
        let inner = Path::new("src/in/b.rs");
        let made = || overlay(&at("p-1.0"), inner, &at("ours.rs"), &at("overlays"));
        let home = made().expect("made").expect("the package has the file");
        let text = |path: &str| fs::read_to_string(home.join(path)).expect("read");
        let texts = ["src/a.rs", "src/in/b.rs", "src/in/c.rs", "README"].map(text);
        assert_eq!(texts, ["a", "ours", "c", "read"]);
        assert_eq!(made().expect("found"), Some(home.clone()));
        let left = fs::read_dir(at("overlays")).expect("a folder").count();
        assert_eq!(left, 1, "nothing unfinished is left");

        let other = Path::new("src/in/d.rs");
        let none = overlay(&at("p-1.0"), other, &at("ours.rs"), &at("overlays"));
        assert_eq!(none.expect("nothing went wrong"), None);
    }
}
