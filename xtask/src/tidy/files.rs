//! The project's files, read once.
//!
//! Build directories and `.git` do not belong to the project. A build directory has a
//! `CACHEDIR.TAG`. Files that are not UTF-8 text are left out: no rule is about them.

use std::io;
use std::path::Path;

pub(super) struct TextFile {
    /// Relative to the workspace's root, with `/` between the parts.
    pub(super) path: String,
    pub(super) text: String,
}

impl TextFile {
    pub(super) fn extension(&self) -> &str {
        Path::new(&self.path)
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or("")
    }

    /// Rust we wrote, not a program to be checked.
    pub(super) fn is_ours(&self) -> bool {
        self.path.starts_with("crates/") || self.path.starts_with("xtask/")
    }

    /// The room a file is in: `detect` for `crates/detect/src/lib.rs`.
    pub(super) fn room(&self) -> &str {
        let inside = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        inside.split('/').next().unwrap_or(inside)
    }
}

pub(super) fn read(root: &Path) -> io::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(root.join(&directory))? {
            let entry = entry?;
            let path = format!("{directory}{}", entry.file_name().to_string_lossy());
            // A file in a second work tree, which says where the repository is.
            if path == ".git" {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if !entry.path().join("CACHEDIR.TAG").exists() {
                    directories.push(path + "/");
                }
            } else if kind.is_file()
                && let Ok(text) = String::from_utf8(std::fs::read(entry.path())?)
            {
                files.push(TextFile { path, text });
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_sources_but_not_what_is_built() {
        let files = read(crate::root()).unwrap();
        assert!(
            files
                .iter()
                .any(|file| file.path == "xtask/src/tidy/files.rs")
        );
        assert!(files.iter().any(|file| file.path == ".cargo/config.toml"));
        assert!(!files.iter().any(|file| file.path.starts_with("target/")));
        assert!(
            !files
                .iter()
                .any(|file| file.path == ".git" || file.path.starts_with(".git/"))
        );
    }

    #[test]
    fn a_file_knows_its_room() {
        let room = |path: &str| {
            TextFile {
                path: path.to_string(),
                text: String::new(),
            }
            .room()
            .to_string()
        };
        assert_eq!(room("crates/detect/src/order/bags.rs"), "detect");
        assert_eq!(room("xtask/src/main.rs"), "xtask");
    }
}
