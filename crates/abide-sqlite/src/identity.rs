//! Whether a path still names the file that was opened.
//!
//! A database that is deleted, renamed or replaced under a running process goes on accepting writes that nobody
//! will ever read. Asking the file system costs a microsecond.

use std::path::Path;

/// Which file a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Without opening it: closing a second handle would drop the locks that SQLite holds on the first.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).ok().map(|metadata| Self { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Elsewhere an open file cannot be deleted or replaced.
    #[cfg(not(unix))]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.exists().then_some(Self { device: 0, inode: 0 })
    }
}
