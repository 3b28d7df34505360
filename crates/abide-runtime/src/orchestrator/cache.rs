//! Instances that just ran, kept in memory.
//!
//! What is kept is a copy: the store decides whether it is current. It is bounded by an estimate of its size, and the one
//! that was not used for the longest time goes first.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use abide_engine::Execution;
use abide_provider::Position;

/// An execution that can be fed its next messages.
#[derive(Debug)]
pub(crate) struct Resident {
    pub(crate) execution: Execution,
    /// Up to where it has seen its history.
    pub(crate) position: Position,
    /// What it weighs, roughly, in bytes.
    pub(crate) weight: usize,
    pub(crate) life: Life,
}

/// What is told about an execution when it ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Life {
    /// When it began, in milliseconds since the epoch.
    pub(crate) started_at_ms: u64,
    pub(crate) turns: u64,
}

/// The executions that are kept.
#[derive(Debug)]
pub(crate) struct Cache {
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    residents: BTreeMap<String, (u64, Resident)>,
    by_age: BTreeMap<u64, String>,
    next_age: u64,
    weight: usize,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: Mutex::default() }
    }

    /// Takes an instance out. Whoever takes it puts it back, or leaves it to be replayed.
    pub(crate) fn take(&self, instance: &str) -> Option<Resident> {
        let mut kept = self.lock();
        let (age, resident) = kept.residents.remove(instance)?;
        kept.by_age.remove(&age);
        kept.weight = kept.weight.saturating_sub(resident.weight);
        Some(resident)
    }

    /// Keeps an instance, and lets go of others until all fit. Destructors of user code run after the lock is released.
    pub(crate) fn put(&self, instance: String, resident: Resident) {
        if resident.weight > self.limit {
            return;
        }
        let mut kept = self.lock();
        let age = kept.next_age;
        kept.next_age = kept.next_age.wrapping_add(1);
        kept.weight = kept.weight.saturating_add(resident.weight);
        kept.by_age.insert(age, instance.clone());
        let replaced = kept.residents.insert(instance, (age, resident));
        if let Some((old_age, old)) = &replaced {
            kept.by_age.remove(old_age);
            kept.weight = kept.weight.saturating_sub(old.weight);
        }
        let evicted = kept.evict_down_to(self.limit);
        drop(kept);
        drop(evicted);
        drop(replaced);
    }

    /// How many are kept.
    pub(crate) fn len(&self) -> usize {
        self.lock().residents.len()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn evict_down_to(&mut self, limit: usize) -> Vec<Resident> {
        let mut evicted = Vec::new();
        while self.weight > limit
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            if let Some((_, resident)) = self.residents.remove(&oldest) {
                self.weight = self.weight.saturating_sub(resident.weight);
                evicted.push(resident);
            }
        }
        evicted
    }
}
