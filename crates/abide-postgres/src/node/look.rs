//! How instances stand: whoever waits for one asks when it begins to wait, and whenever it changed. Many wait at once.

use std::sync::Arc;

use super::batch::{Answers, Batched, Key, Waiting};
use super::connection::Connection;
use crate::error::CallError;
use crate::shared::Shared;
use crate::statements::Sql;
use crate::status::StoredStatus;

/// An instance to look at, as a column spells it.
#[derive(Debug)]
pub(crate) struct Look(pub(crate) String);

impl Batched for Look {
    /// `None` if there is no such instance.
    type Answer = Option<StoredStatus>;

    const MOST: usize = 512;

    fn key(&self) -> Key {
        Key::Any
    }

    async fn call(
        connection: &Connection<'_>,
        _shared: &Arc<Shared>,
        batch: &mut [Waiting<Self>],
    ) -> Result<Answers<Self::Answer>, CallError> {
        let mut answers: Vec<Self::Answer> = batch.iter().map(|_| None).collect();
        // Which of them are still to be read. One answer carries so much, and no more.
        let mut left: Vec<usize> = (0..batch.len()).collect();
        while !left.is_empty() {
            let names: Vec<&str> =
                left.iter().filter_map(|place| batch.get(*place)).map(|look| look.what.0.as_str()).collect();
            let mut later = Vec::new();
            for row in connection.rows(Sql::ReadStatuses, &[&names]).await? {
                let place: i64 = row.try_get(0)?;
                let place = usize::try_from(place).ok().and_then(|place| left.get(place.checked_sub(1)?));
                let Some(place) = place.copied() else { continue };
                if row.try_get(1)? {
                    later.push(place);
                } else if let Some(answer) = answers.get_mut(place) {
                    *answer = Some(StoredStatus::of(&row));
                }
            }
            left = later;
        }
        Ok(answers.into_iter().map(Ok).collect::<Vec<_>>().into())
    }
}
