//! What the programs beside this share: a place for a database that is gone when they are.
//!
//! Everything else is in `src/bin`, a program per file. Each runs alone: `cargo run -p coming-from-duroxide --bin chaining`.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder for a database file, removed with everything in it.
///
/// Declare it before the store: what is declared first is dropped last.
#[derive(Debug)]
pub struct TemporaryDatabase {
    folder: PathBuf,
}

impl TemporaryDatabase {
    /// Makes an empty folder.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn new() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("coming-from-duroxide-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// What to open.
    #[must_use]
    pub fn url(&self) -> String {
        format!("sqlite:{}?mode=rwc", self.folder.join("example.db").display())
    }
}

impl Drop for TemporaryDatabase {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("{} stays behind: {error}", self.folder.display());
        }
    }
}
