//! What the author of a store writes so that it can be put beside the model.

use abide_memory::Dump;
use abide_model::Timestamp;
use abide_provider::Provider;

/// A store under test, made comparable with the model.
///
/// One subject serves many sequences, one after the other: each begins with [`open`](Self::open). None of its methods is
/// called from inside an executor, so each may block on futures of its own.
pub trait Subject {
    /// What it is called where it differs.
    fn name(&self) -> &'static str;

    /// How it numbers messages, work and mailboxes.
    fn numbers(&self) -> Numbers {
        Numbers::LikeTheModel
    }

    /// Begins anew: an empty store, at this time. A store that takes its chance from outside takes that of the seed.
    fn open(&mut self, seed: u64, now: Timestamp);

    /// The store that was opened last, with all [abilities](Provider::abilities) of the model and with its administrative side.
    /// Its page cursors tell instances of one moment apart by their incarnations.
    fn provider(&self) -> &dyn Provider;

    /// From now on the store's clock shows this time. It never goes back.
    fn set_time(&mut self, now: Timestamp);

    /// Everything stored, judged by this time.
    ///
    /// # Errors
    ///
    /// If what is stored makes no sense, in words for whoever has to find out why.
    fn look(&mut self, now: Timestamp) -> Result<Sight, String>;

    /// Makes something stored unreadable, as if a disk had done it.
    fn damage(&mut self, damage: &Damage);

    /// Does what passing time asks for, if the store notes that only when it is called otherwise.
    fn nudge(&mut self) {}

    /// What opening the store again means, after it was [opened](Self::open) like this.
    fn reopening(&self) -> Reopening {
        Reopening::Never
    }

    /// The process that uses the store ends, and another opens what it left. Called only if that means anything.
    fn reopen(&mut self) {}
}

/// What a look at a store shows.
#[derive(Debug, Clone, Default)]
pub struct Sight {
    /// What it holds, with its own numbers.
    pub dump: Dump,
    /// Where it contradicts itself: columns that repeat what others say, and are wrong.
    pub contradictions: Vec<String>,
}

/// How a store numbers what it holds. The order must be that of the model in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// One after the other, with no gaps but the model's: they are compared as they are.
    LikeTheModel,
    /// With gaps, and from anywhere: numbers are paired with those of the model as they appear.
    WithGaps,
}

/// What becomes of a store whose process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reopening {
    /// It cannot be opened again.
    Never,
    /// Whoever opens it knows that the holder of all leases is gone, and they end.
    LeasesEnd,
    /// Leases last until their time has come.
    LeasesLast,
}

/// Stored text that cannot be read any more. Numbers are the store's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// The text of a message is `{`.
    Message {
        /// Its number.
        number: u64,
    },
    /// The text of an activity is `{`.
    Work {
        /// Its number.
        number: u64,
    },
    /// No event of an execution can be read. There are as many as before, so that they can be counted.
    History {
        /// The instance.
        instance: String,
        /// The execution.
        execution_id: u64,
    },
}
