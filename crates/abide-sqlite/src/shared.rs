//! What the threads of one store share.

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use abide_model::{Clock, Entropy};
use abide_provider::{ChangeListeners, WaitingMailWarnings};

use crate::connect::Location;
use crate::identity::OpenedFiles;
use crate::options::{Durability, Settings};
use crate::owner::{Life, OwnerLock, look_for};
use crate::permissions::FileMode;
use crate::stolen::Listeners;
use crate::store::node::StoredNode;

/// What the threads of one store share.
pub(crate) struct Shared {
    pub(crate) location: Location,
    pub(crate) durability: Durability,
    pub(crate) file_mode: FileMode,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) files: OpenedFiles,
    pub(crate) stolen: Listeners,
    pub(crate) changes: ChangeListeners,
    pub(crate) counts: Counts,
    pub(crate) warnings: WaitingMailWarnings,
    /// How many rows of deleted mailboxes one transaction removes.
    pub(crate) removal_rows: i64,
    owner: AtomicI64,
    lock: Mutex<Option<OwnerLock>>,
}

/// Costs that can be counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) transactions: Count,
    pub(crate) synced_commits: Count,
    pub(crate) log_copies: Count,
}

#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Shared {
    pub(crate) fn new(location: Location, settings: Settings) -> Self {
        let Settings { durability, file_mode, clock, entropy, removal_rows } = settings;
        Self {
            files: OpenedFiles::of(&location),
            location,
            durability,
            file_mode,
            clock,
            entropy,
            stolen: Listeners::default(),
            changes: ChangeListeners::default(),
            counts: Counts::default(),
            warnings: WaitingMailWarnings::default(),
            removal_rows,
            owner: AtomicI64::new(0),
            lock: Mutex::default(),
        }
    }

    pub(crate) fn in_memory(&self) -> bool {
        self.location == Location::Memory
    }

    /// Whether somebody wants to know what other processes take away. In memory there are none.
    pub(crate) fn watches_leases(&self) -> bool {
        !self.in_memory() && !self.stolen.is_empty()
    }

    /// This process, in leases.
    pub(crate) fn owner(&self) -> i64 {
        self.owner.load(Ordering::Relaxed)
    }

    pub(crate) fn set_owner(&self, owner: i64) {
        self.owner.store(owner, Ordering::Relaxed);
    }

    pub(crate) fn keep_lock(&self, lock: OwnerLock) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
    }

    /// Whether the process of a node is alive. In memory there is only this one.
    pub(crate) fn is_alive(&self, stored: &StoredNode) -> bool {
        let Location::File(path) = &self.location else { return true };
        if stored.owner == self.owner() {
            return true;
        }
        let life = stored.lock_file.as_ref().map(|lock_file| look_for(path, lock_file));
        matches!(life, Some(Life::Alive))
    }

    /// The name of the lock file that this process holds.
    pub(crate) fn lock_file(&self) -> String {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        lock.as_ref().map(|lock| lock.name().to_owned()).unwrap_or_default()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("location", &self.location).finish_non_exhaustive()
    }
}
