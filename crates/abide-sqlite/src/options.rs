//! What can be chosen about a SQLite store.

use std::fmt;
use std::sync::Arc;

use abide_host::{SystemClock, SystemEntropy};
use abide_model::{Clock, Entropy};

/// How a SQLite store behaves. The defaults are right for almost everybody.
#[derive(Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// The time that leases and visibility are judged by.
    pub clock: Arc<dyn Clock>,
    /// Where lease tokens come from.
    pub entropy: Arc<dyn Entropy>,
}

/// What an acknowledged commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A power cut: every commit is on the disk before it is acknowledged (`synchronous=FULL`).
    #[default]
    Full,
    /// A crash of the process, but not of the machine (`synchronous=NORMAL`): after a power cut the last commits may
    /// be missing, though what is there is consistent. Activities that were acknowledged may run again.
    Normal,
}

impl Durability {
    pub(crate) const fn pragma(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }

    /// The number that SQLite reports for it.
    pub(crate) const fn level(self) -> i64 {
        match self {
            Self::Full => 2,
            Self::Normal => 1,
        }
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            clock: Arc::new(SystemClock::new()),
            entropy: Arc::new(SystemEntropy),
        }
    }
}

impl SqliteOptions {
    /// The same with another durability.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The same with another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The same with another source of tokens.
    #[must_use]
    pub fn entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }
}

impl fmt::Debug for SqliteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteOptions").field("durability", &self.durability).finish_non_exhaustive()
    }
}
