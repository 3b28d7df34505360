//! Every file the rules look at, read and parsed once.

use std::fs;
use std::path::Path;

use anyhow::Context;

use super::source::{self, SourceFile};
use super::violation::Violation;

const EXTENSIONS: [&str; 4] = ["md", "rs", "sql", "toml"];

#[derive(Debug)]
pub(crate) struct TextFile {
    /// From the root of the workspace, with `/` on every platform.
    pub(crate) path: String,
    pub(crate) text: String,
}

pub(crate) struct Tree {
    pub(crate) files: Vec<TextFile>,
    pub(crate) sources: Vec<SourceFile>,
    pub(crate) unreadable: Vec<Violation>,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        collect(root, root, &mut files)?;
        files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(Self::new(files))
    }

    fn new(files: Vec<TextFile>) -> Self {
        let mut sources = Vec::new();
        let mut unreadable = Vec::new();
        for file in files.iter().filter(|file| has_extension(&file.path, "rs")) {
            match SourceFile::parse(&file.path, &file.text) {
                Ok(source) => sources.push(source),
                Err(violation) => unreadable.push(violation),
            }
        }
        source::mark_test_files(&mut sources);
        Self { files, sources, unreadable }
    }

    pub(crate) fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub(crate) fn files_with_extension(&self, extension: &'static str) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(move |file| has_extension(&file.path, extension))
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        Self::new(
            files
                .iter()
                .map(|(path, text)| TextFile { path: (*path).to_owned(), text: (*text).to_owned() })
                .collect(),
        )
    }
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<TextFile>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let hidden = path.file_name().and_then(|name| name.to_str()).is_none_or(|name| name.starts_with('.'));
        if path.is_dir() {
            // Cargo and other tools mark what they generate with this file.
            if !hidden && !path.join("CACHEDIR.TAG").exists() && path != root.join("target") {
                collect(root, &path, files)?;
            }
        } else if !hidden && EXTENSIONS.iter().any(|known| path.extension().is_some_and(|it| it == *known)) {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.push(TextFile { path: relative_path(root, &path)?, text });
        }
    }
    Ok(())
}

fn relative_path(root: &Path, path: &Path) -> anyhow::Result<String> {
    let names: Vec<_> = path.strip_prefix(root)?.iter().map(|name| name.to_string_lossy()).collect();
    Ok(names.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_does_not_parse_is_a_violation_with_its_line() {
        let tree = Tree::of(&[("src/lib.rs", "//! Docs.\nfn broken( {}\n")]);
        assert!(tree.sources.is_empty());
        let places: Vec<_> = tree.unreadable.iter().map(|found| (found.path.as_str(), found.line)).collect();
        assert_eq!(places, [("src/lib.rs", 2)]);
    }

    #[test]
    fn files_are_found_by_path_and_by_extension() {
        let tree = Tree::of(&[("a.md", "A"), ("b.toml", "")]);
        assert_eq!(tree.file("a.md").map(|file| file.text.as_str()), Some("A"));
        assert_eq!(tree.files_with_extension("toml").count(), 1);
    }
}
