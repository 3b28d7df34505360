//! A stored payload, which can have become unreadable.
//!
//! Payloads are kept typed, not as text: this store is a model, and a model has no codec to get wrong. That one cannot
//! be read is planted by tests.

use abide_model::{Event, WorkItem};

/// A payload as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stored<T> {
    Readable(T),
    /// Some text that is none.
    Unreadable(String),
}

/// What is kept as JSON by other stores.
pub(crate) trait Payload: Clone {
    fn json(&self) -> String;
}

impl Payload for Event {
    fn json(&self) -> String {
        // Strings and numbers in structs always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Payload for WorkItem {
    fn json(&self) -> String {
        // Strings and numbers in structs always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl<T: Payload> Stored<T> {
    /// What it would be in a column.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Readable(payload) => payload.json(),
            Self::Unreadable(text) => text.clone(),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.text().len()
    }

    pub(crate) fn read(&self) -> Result<T, String> {
        match self {
            Self::Readable(payload) => Ok(payload.clone()),
            Self::Unreadable(_) => Err("the stored text cannot be read".to_owned()),
        }
    }
}
