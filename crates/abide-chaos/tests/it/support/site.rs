//! A place: a folder with a database, a gate and journals. It is gone when the test is, also if it panics.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide::Client;
use abide::providers::sqlite::SqliteProvider;
use futures::executor::block_on;

use super::wait::PATIENCE;

#[derive(Debug)]
pub(crate) struct Site {
    folder: PathBuf,
}

impl Site {
    pub(crate) fn new(label: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("abide-chaos-{}-{number}-{label}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(folder.join("journals")).unwrap();
        Self { folder }
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.folder.join("data.db")
    }

    pub(crate) fn journals(&self) -> PathBuf {
        self.folder.join("journals")
    }

    pub(crate) fn gate(&self) -> PathBuf {
        self.folder.join("gate")
    }

    /// Lets go what waits at the gate.
    pub(crate) fn open_gate(&self) {
        std::fs::write(self.gate(), "").unwrap();
    }

    /// A client in this process. It gives the file up when it is dropped.
    pub(crate) fn client(&self) -> Client {
        let url = format!("sqlite:{}", self.db().display());
        let store = block_on(SqliteProvider::builder(&url).open()).unwrap();
        // A store that is busy for a while is no fault of a test: what counts is that nothing is lost.
        Client::builder(Arc::new(store)).retry_for(PATIENCE).call_timeout(Duration::from_secs(20)).build()
    }

    /// The files of processes that have the database open, or have died with it.
    pub(crate) fn owner_files(&self) -> usize {
        let entries = std::fs::read_dir(&self.folder).unwrap();
        entries.filter(|entry| is_owner_file(&entry.as_ref().unwrap().path())).count()
    }
}

fn is_owner_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("-owner-"))
}

impl Drop for Site {
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("ABIDE_KEEP").is_some() {
            eprintln!("{} is kept", self.folder.display());
        } else if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("{} stays behind: {error}", self.folder.display());
        }
    }
}
