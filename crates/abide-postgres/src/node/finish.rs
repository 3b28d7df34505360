//! Activities that ran.

use std::sync::Arc;

use abide_provider::{Rejection, StoreError};

use super::batch::{Answers, Batched, Key, Waiting, patience_of};
use super::connection::{Connection, Params};
use crate::error::CallError;
use crate::hatch::{Handed, Promise};
use crate::lease::Looked;
use crate::news::News;
use crate::shared::Shared;
use crate::statements::Sql;
use crate::token::WorkToken;

/// A finished activity.
#[derive(Debug)]
pub(crate) struct Finish {
    pub(crate) token: WorkToken,
    /// For whom the completion is.
    pub(crate) instance: Option<String>,
    /// What it tells its instance.
    pub(crate) item: Option<String>,
}

impl Batched for Finish {
    type Answer = ();

    const MOST: usize = 512;

    fn key(&self) -> Key {
        Key::Number(self.token.no)
    }

    fn bytes(&self) -> usize {
        self.item.as_ref().map_or(0, String::len)
    }

    async fn call(
        connection: &Connection<'_>,
        shared: &Arc<Shared>,
        batch: &mut [Waiting<Self>],
    ) -> Result<Answers<()>, CallError> {
        let work: Vec<_> = batch.iter().map(|waiting| waiting.what.token.no).collect();
        let mailboxes: Vec<_> = batch.iter().map(|waiting| waiting.what.token.mailbox).collect();
        let nonces: Vec<_> = batch.iter().map(|waiting| waiting.what.token.nonce).collect();
        let instances: Vec<_> = batch.iter().map(|waiting| &waiting.what.instance).collect();
        let items: Vec<_> = batch.iter().map(|waiting| &waiting.what.item).collect();
        let promise = Promise::of_instances(shared, batch.len());
        let offer = promise.as_ref().and_then(Promise::instance_offer);
        let sent_at = shared.settings.clock.monotonic();
        let params: Params<'_> = &[&work, &mailboxes, &nonces, &instances, &items, &offer];
        let row = connection.row_within(patience_of(batch), Sql::FinishWork, params).await?;
        let mut handed = Handed::default();
        handed.add(promise, Looked::of_handed_instances(&row, sent_at, shared)?);
        let outcomes: Vec<String> = row.try_get("outcomes")?;
        for (waiting, outcome) in batch.iter().zip(&outcomes) {
            if outcome != "invalid" {
                shared.forget_lease(waiting.what.token);
            }
        }
        let news = News::of_instances(row.try_get("wakes")?, row.try_get("due_at")?);
        let each = batch.iter().zip(outcomes).map(|(waiting, outcome)| judged(waiting, &outcome)).collect();
        Ok(Answers { each, handed, news })
    }
}

fn judged(waiting: &Waiting<Finish>, outcome: &str) -> Result<(), StoreError> {
    match outcome {
        "ok" => Ok(()),
        "invalid" => {
            let message = format!(
                "a completion for instance '{}' cannot end an activity of another instance",
                waiting.what.instance.as_deref().unwrap_or_default()
            );
            Err(StoreError::rejected(waiting.operation, Rejection::Invalid, message))
        }
        _ => Err(StoreError::lease_lost(waiting.operation)),
    }
}
