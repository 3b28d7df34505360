//! From what a user writes to where the database is.

use std::path::{Path, PathBuf};

use crate::connect::Location;
use crate::error::OpenError;
use crate::permissions::{FileMode, create_folders};

/// Understands `sqlite:path`, `sqlite://path`, `file:path`, a bare path, and `:memory:` in each of them. Of a
/// query only the mode matters: `rwc` and `rw` mean what happens anyway, `memory` a database in memory.
pub(crate) fn parse(url: &str) -> Result<Location, OpenError> {
    let invalid = |reason: &str| OpenError::Url { url: url.to_owned(), reason: reason.to_owned() };
    if url.contains('\0') {
        return Err(invalid("it contains a NUL character"));
    }
    let (scheme, rest) = match url.split_once(':') {
        Some((scheme @ ("sqlite" | "file"), rest)) => (Some(scheme), rest),
        Some((scheme, rest)) if rest.starts_with("//") => {
            return Err(invalid(&format!("the scheme '{scheme}' belongs to another kind of database")));
        }
        Some(_) | None => (None, url),
    };
    let (path, query) = match scheme {
        None => (rest, ""),
        Some(_) => rest
            .strip_prefix("//")
            .unwrap_or(rest)
            .split_once('?')
            .unwrap_or((rest.strip_prefix("//").unwrap_or(rest), "")),
    };
    match query.split('&').find_map(|option| option.strip_prefix("mode=")) {
        None | Some("rwc" | "rw") => {}
        Some("memory") => return Ok(Location::Memory),
        Some(mode) => return Err(invalid(&format!("a store cannot be opened with `mode={mode}`"))),
    }
    match path {
        "" => Err(invalid("it names no file")),
        ":memory:" => Ok(Location::Memory),
        path if path.ends_with('/') => Err(invalid("it names a folder")),
        path => Ok(Location::File(PathBuf::from(path))),
    }
}

/// Makes the folder that the file will be in.
pub(crate) fn create_folder(path: &Path, mode: FileMode) -> Result<(), OpenError> {
    let Some(folder) = path.parent() else { return Ok(()) };
    create_folders(folder, mode).map_err(|source| OpenError::Folder { folder: folder.to_owned(), source })
}

/// The one name of the file: processes that reach it by different names must find each other's lock files beside it,
/// and the working directory may change while it is open.
pub(crate) fn real_path(path: PathBuf) -> PathBuf {
    const LINKS: usize = 16;
    let mut path = std::path::absolute(&path).unwrap_or(path);
    for _ in 0..LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        // A link to a file that is still to be made.
        match (path.read_link(), path.parent()) {
            (Ok(target), Some(folder)) => path = folder.join(target),
            (Ok(_) | Err(_), _) => break,
        }
    }
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        (Some(_) | None, _) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write() {
        for (url, path) in [
            ("sqlite:data.db", "data.db"),
            ("sqlite:./data.db", "./data.db"),
            ("sqlite:///var/lib/data.db", "/var/lib/data.db"),
            ("sqlite://data.db?mode=rwc", "data.db"),
            ("file:data.db", "data.db"),
            ("data.db", "data.db"),
            ("/var/lib/what?.db", "/var/lib/what?.db"),
            ("C:data.db", "C:data.db"),
        ] {
            assert_eq!(parse(url).unwrap(), Location::File(path.into()), "{url}");
        }
        for url in [
            ":memory:",
            "sqlite::memory:",
            "sqlite://:memory:",
            "sqlite::memory:?cache=shared",
            "sqlite:x?mode=memory",
        ] {
            assert_eq!(parse(url).unwrap(), Location::Memory, "{url}");
        }
    }

    #[test]
    fn what_is_not_a_database() {
        for url in ["", "sqlite:", "sqlite://", "postgres://host/db", "folder/", "a\0b", "sqlite:x?mode=ro"] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains("is not a database"), "{url}: {error}");
        }
    }
}
