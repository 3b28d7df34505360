//! What the threads of one store share.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use abide_model::{Clock, Entropy};

use crate::connect::Location;
use crate::identity::FileIdentity;
use crate::options::{Durability, Settings};
use crate::owner::OwnerLock;
use crate::stolen::Listeners;

/// What the threads of one store share.
pub(crate) struct Shared {
    pub(crate) location: Location,
    pub(crate) durability: Durability,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) stolen: Listeners,
    pub(crate) counts: Counts,
    owner: AtomicI64,
    file: Mutex<Option<FileIdentity>>,
    log: Mutex<Option<FileIdentity>>,
    log_is_lost: AtomicBool,
    lock: Mutex<Option<OwnerLock>>,
}

/// Costs that can be counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    transactions: AtomicU64,
}

impl Counts {
    pub(crate) fn transaction(&self) {
        self.transactions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }
}

impl Shared {
    pub(crate) fn new(location: Location, settings: Settings) -> Self {
        let Settings { durability, clock, entropy } = settings;
        Self {
            location,
            durability,
            clock,
            entropy,
            stolen: Listeners::default(),
            counts: Counts::default(),
            owner: AtomicI64::new(0),
            file: Mutex::default(),
            log: Mutex::default(),
            log_is_lost: AtomicBool::new(false),
            lock: Mutex::default(),
        }
    }

    pub(crate) fn in_memory(&self) -> bool {
        self.location == Location::Memory
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

    /// The name of the lock file that this process holds.
    pub(crate) fn lock_file(&self) -> String {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        lock.as_ref().map(|lock| lock.name().to_owned()).unwrap_or_default()
    }

    pub(crate) fn remember_file(&self, identity: Option<FileIdentity>) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = identity;
    }

    pub(crate) fn remember_log(&self) {
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) =
            self.location.log().and_then(|log| FileIdentity::of(&log));
    }

    /// SQLite removes the log by itself when the last connection is closed.
    pub(crate) fn forget_log(&self) {
        if !self.log_is_lost() {
            *self.log.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Whether the log was deleted or replaced while it was open. Connections to it cannot be mixed with new ones, so
    /// nothing more is written by this process.
    pub(crate) fn log_is_lost(&self) -> bool {
        self.log_is_lost.load(Ordering::Relaxed)
    }

    /// Whether the path still names the files that were opened.
    pub(crate) fn check_file(&self) -> Result<(), String> {
        let Location::File(path) = &self.location else { return Ok(()) };
        self.check_log(path)?;
        let opened = *self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.is_some() && FileIdentity::of(path) == opened {
            return Ok(());
        }
        Err(format!(
            "the database '{}' was deleted, moved or replaced while it was open: nothing more is written; put the \
             file back, or restart on another",
            path.display()
        ))
    }
}

impl Shared {
    fn check_log(&self, path: &Path) -> Result<(), String> {
        let opened = *self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = opened.is_some() && self.location.log().and_then(|log| FileIdentity::of(&log)) != opened;
        let database = *self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // If the database is gone too, both may come back.
        if gone && FileIdentity::of(path) == database {
            self.log_is_lost.store(true, Ordering::Relaxed);
        }
        if gone || self.log_is_lost() {
            return Err(format!(
                "the log beside the database '{}' was deleted or replaced while it was open: nothing more is written; \
                 restart the program",
                path.display()
            ));
        }
        Ok(())
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("location", &self.location).finish_non_exhaustive()
    }
}
