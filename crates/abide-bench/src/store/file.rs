//! A database file for each measurement, and the connections to it.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::store::Fallible;

/// A page with its header, as the WAL stores it.
const FRAME_BYTES: u64 = 4_096 + 24;

/// A database in a folder that is removed with it.
#[derive(Debug)]
pub(crate) struct StoreFile {
    folder: PathBuf,
}

impl StoreFile {
    pub(crate) fn create(name: &str, ddl: &str) -> Fallible<Self> {
        let file = Self::in_new_folder(name)?;
        file.connect()?.execute_batch(ddl)?;
        Ok(file)
    }

    /// A copy, on the disk, of a file that nobody has open.
    pub(crate) fn copy(&self, name: &str) -> Fallible<Self> {
        let copy = Self::in_new_folder(name)?;
        std::fs::copy(self.path(), copy.path())?;
        copy.open()?.sync_all()?;
        Ok(copy)
    }

    fn in_new_folder(name: &str) -> Fallible<Self> {
        let folder = std::env::temp_dir().join(format!("abide-bench-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    fn path(&self) -> PathBuf {
        self.folder.join("store.db")
    }

    /// The file as a file. Closing it releases the locks of every connection that this process has to it, so it must
    /// outlive them.
    pub(crate) fn open(&self) -> Fallible<File> {
        Ok(File::open(self.path())?)
    }

    /// Opens a connection that does not return from a commit before it is on the disk, and never checkpoints by itself.
    pub(crate) fn connect(&self) -> Fallible<Connection> {
        let connection = Connection::open(self.path())?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        let synchronous: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
        if (journal.as_str(), synchronous) != ("wal", 2) {
            return Err(format!("asked for WAL and FULL, got {journal} and {synchronous}").into());
        }
        Ok(connection)
    }

    pub(crate) fn bytes(&self) -> Fallible<u64> {
        Ok(std::fs::metadata(self.path())?.len())
    }

    /// Asks the system to drop what it has cached of the file; false if it cannot be asked. Another process does it,
    /// because closing the file here would release locks.
    pub(crate) fn drop_cached_pages(&self) -> bool {
        let mut target = OsString::from("of=");
        target.push(self.path());
        Command::new("dd")
            .arg(target)
            .args(["oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"])
            .status()
            .is_ok_and(|status| status.success())
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

fn remove(folder: &Path) {
    if let Err(error) = std::fs::remove_dir_all(folder) {
        eprintln!("abide-bench: {} stays behind: {error}", folder.display());
    }
}

/// Copies what it can of the WAL into the database.
pub(crate) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
}

/// What one connection has written to the WAL.
#[derive(Debug, Default)]
pub(crate) struct WalGauge {
    pages: AtomicU64,
    most_pages: AtomicU64,
    written_pages: AtomicU64,
}

impl WalGauge {
    /// Counts what `connection` commits. Once the WAL has `checkpoint_at` pages, the commit also checkpoints, as
    /// the library does by itself at `wal_autocheckpoint` pages.
    pub(crate) fn attach(connection: &mut Connection, checkpoint_at: Option<u64>) -> Fallible<Arc<Self>> {
        let gauge = Arc::new(Self::default());
        let counting = Arc::clone(&gauge);
        connection.wal_hook(Some(move |wal: &mut Wal, pages| {
            let pages = u64::try_from(pages).unwrap_or_default();
            counting.note(pages);
            if checkpoint_at.is_some_and(|limit| pages >= limit) { wal.checkpoint() } else { Ok(()) }
        }))?;
        Ok(gauge)
    }

    fn note(&self, pages: u64) {
        let before = self.pages.swap(pages, Relaxed);
        // A WAL that is shorter than before was begun again.
        let added = pages.checked_sub(before).unwrap_or(pages);
        self.written_pages.fetch_add(added, Relaxed);
        self.most_pages.fetch_max(pages, Relaxed);
    }

    /// Pages in the WAL after the last commit.
    pub(crate) fn pages(&self) -> u64 {
        self.pages.load(Relaxed)
    }

    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_pages.load(Relaxed) * FRAME_BYTES
    }

    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_pages.load(Relaxed) * FRAME_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wal_that_begins_again_is_counted_on() {
        let gauge = WalGauge::default();
        for pages in [3, 10, 4] {
            gauge.note(pages);
        }
        assert_eq!(gauge.pages(), 4);
        assert_eq!(gauge.most_bytes(), 10 * FRAME_BYTES);
        assert_eq!(gauge.written_bytes(), 14 * FRAME_BYTES);
    }
}
