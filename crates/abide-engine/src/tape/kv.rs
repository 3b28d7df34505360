//! Key-value state while the code runs, and the times of its writes.

use std::collections::{BTreeMap, VecDeque};

use abide_model::{KvEntry, Timestamp};

/// The key-value state while an ask changes it.
pub(crate) struct KvView<'a> {
    pub(super) entries: &'a mut BTreeMap<String, KvEntry>,
    pub(super) recorded_writes: &'a mut RecordedWrites,
    pub(super) now: Timestamp,
}

/// The times of key-value writes that history holds and the code has not made again yet.
#[derive(Debug, Default)]
pub(super) struct RecordedWrites {
    times: VecDeque<u64>,
    /// Writes the code made before their record was shown, because history came in pieces.
    ahead: usize,
}

impl RecordedWrites {
    pub(super) fn show(&mut self, at_ms: u64) {
        match self.ahead.checked_sub(1) {
            Some(ahead) => self.ahead = ahead,
            None => self.times.push_back(at_ms),
        }
    }

    pub(super) fn skip(&mut self) {
        self.times.pop_front();
    }

    fn next(&mut self) -> Option<u64> {
        let time = self.times.pop_front();
        if self.times.is_empty() {
            self.times = VecDeque::new();
        }
        self.ahead = self.ahead.saturating_add(usize::from(time.is_none()));
        time
    }
}

impl KvView<'_> {
    /// Writes a key; says when it was written and, if the key is new, how many there are now.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> (u64, Option<usize>) {
        let at_ms = self.recorded_writes.next().unwrap_or_else(|| self.now.as_millis());
        let entry = KvEntry { value: value.to_owned(), last_updated_at_ms: at_ms };
        let is_new = self.entries.insert(key.to_owned(), entry).is_none();
        (at_ms, is_new.then_some(self.entries.len()))
    }

    pub(crate) fn clear(&mut self, key: &str) {
        self.entries.remove(key);
    }

    pub(crate) fn clear_all(&mut self) {
        self.entries.clear();
    }
}
