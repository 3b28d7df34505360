//! A database file that is gone when the test is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_host::SystemEntropy;
use abide_model::{Clock, Entropy as _, Sleep, Timestamp};
use abide_provider::Provider;
use abide_sim::{FaultPlan, FaultStore, RequiredOnly, SeededEntropy, VirtualClock};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

/// An empty folder that is removed with everything in it.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        // Not by the number of the process: one that was killed leaves its folder behind, and numbers come again.
        let path = std::env::temp_dir().join(format!("abide-e2e-{:x}", SystemEntropy.next_u64()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// What the database in it is called in a URL.
    pub(crate) fn database(&self) -> String {
        format!("sqlite:{}", self.0.join("data.db").display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} stays behind: {error}", self.0.display());
        }
    }
}

/// What time it is for a store with threads of its own, which cannot see the virtual time: that of the last call.
#[derive(Debug, Clone, Default)]
struct Hands(Arc<Mutex<Duration>>);

impl Clock for Hands {
    fn wall(&self) -> Timestamp {
        VirtualClock::EPOCH.saturating_add(self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    /// Calls under it do not wait.
    fn sleep_until(&self, _: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }
}

/// A store on a file, and what is seen of it in virtual time: the required methods, each with its answer at once.
pub(crate) fn open_at(
    folder: &Folder,
    clock: &Arc<VirtualClock>,
    entropy: &Arc<SeededEntropy>,
) -> (Arc<SqliteProvider>, Arc<dyn Provider>) {
    let hands = Hands::default();
    *hands.0.lock().unwrap() = clock.monotonic();
    let builder = SqliteProvider::builder(&folder.database()).clock(Arc::new(hands.clone()));
    let sqlite = Arc::new(block_on(builder.entropy(entropy.clone()).open()).unwrap());
    let in_time = FaultPlan::none().when(move |call| {
        *hands.0.lock().unwrap() = call.at;
        None
    });
    let seen = FaultStore::new(sqlite.clone(), clock.clone()).answering_at_once().with_plan(in_time);
    (sqlite, Arc::new(RequiredOnly::new(Arc::new(seen))))
}
