//! Which PostgreSQL is installed, where Debian and its descendants put it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::StartError;

/// The oldest major version that is supported.
pub const OLDEST: u32 = 14;

const TOOL: &str = "pg_virtualenv";
const SERVERS: &str = "/usr/lib/postgresql";

/// An installed PostgreSQL that is new enough, with the tool that starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    major: u32,
    folder: PathBuf,
}

impl Version {
    /// The newest one.
    ///
    /// # Errors
    ///
    /// If there is none, or no `pg_virtualenv`; [`StartError::is_absence`] is true of these errors.
    pub fn newest() -> Result<Self, StartError> {
        let path = env::var_os("PATH").unwrap_or_default();
        if !env::split_paths(&path).any(|folder| folder.join(TOOL).is_file()) {
            return Err(StartError::NoTool);
        }
        Self::newest_below(Path::new(SERVERS))
    }

    /// 15 for PostgreSQL 15.4.
    #[must_use]
    pub const fn major(&self) -> u32 {
        self.major
    }

    /// Where a program of this version is: `pg_dump`, `psql`.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    pub(crate) fn has_library(&self, name: &str) -> bool {
        self.folder.join("lib").join(name).with_extension("so").is_file()
    }

    fn newest_below(servers: &Path) -> Result<Self, StartError> {
        let folders = fs::read_dir(servers).into_iter().flatten().flatten();
        let versions = folders.filter_map(|entry| {
            let major = entry.file_name().to_str()?.parse().ok()?;
            Some(Self { major, folder: entry.path() })
        });
        // What is left of a removed package has no programs.
        let usable = versions.filter(|version| version.folder.join("bin/pg_ctl").is_file());
        let newest = usable.max_by_key(|version| version.major).ok_or(StartError::NoServer)?;
        if newest.major < OLDEST {
            return Err(StartError::TooOld { newest: newest.major });
        }
        Ok(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn with(name: &str, files: &[&str]) -> Self {
            let folder = env::temp_dir().join(format!("abide-installed-{}-{name}", std::process::id()));
            for file in files {
                let file = folder.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "").unwrap();
            }
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // A folder left behind for temporary files harms nobody, a panic in here would hide the failure.
            fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn the_newest_version_with_programs_is_chosen_by_number() {
        let files = ["9.6/bin/pg_ctl", "14/bin/pg_ctl", "100/bin/pg_ctl", "101/lib/x.so", "notes/bin/pg_ctl"];
        let folder = Folder::with("newest", &files);
        let version = Version::newest_below(&folder.0).unwrap();
        assert_eq!(version.major(), 100);
        assert!(version.program("pg_ctl").is_file());
    }

    #[test]
    fn what_is_too_old_or_missing_is_said() {
        let folder = Folder::with("old", &["13/bin/pg_ctl"]);
        assert!(matches!(Version::newest_below(&folder.0), Err(StartError::TooOld { newest: 13 })));
        let missing = folder.0.join("nowhere");
        assert!(matches!(Version::newest_below(&missing), Err(StartError::NoServer)));
    }

    #[test]
    fn libraries_are_looked_up_in_the_version() {
        let folder = Folder::with("library", &["15/bin/pg_ctl", "15/lib/counts.so"]);
        let version = Version::newest_below(&folder.0).unwrap();
        assert!(version.has_library("counts"));
        assert!(!version.has_library("guesses"));
    }
}
