//! Activities that ran.

use abide_provider::{Rejection, StoreError};

use super::batch::{Batched, Key, Waiting};
use super::connection::Connection;
use crate::error::CallError;
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
        shared: &Shared,
        batch: &mut [Waiting<Self>],
    ) -> Result<Vec<Result<(), StoreError>>, CallError> {
        let work: Vec<_> = batch.iter().map(|waiting| waiting.what.token.no).collect();
        let mailboxes: Vec<_> = batch.iter().map(|waiting| waiting.what.token.mailbox).collect();
        let nonces: Vec<_> = batch.iter().map(|waiting| waiting.what.token.nonce).collect();
        let instances: Vec<_> = batch.iter().map(|waiting| &waiting.what.instance).collect();
        let items: Vec<_> = batch.iter().map(|waiting| &waiting.what.item).collect();
        let row = connection.row(Sql::FinishWork, &[&work, &mailboxes, &nonces, &instances, &items]).await?;
        let outcomes: Vec<String> = row.try_get("outcomes")?;
        for (waiting, outcome) in batch.iter().zip(&outcomes) {
            if outcome != "invalid" {
                shared.forget_lease(waiting.what.token);
            }
        }
        shared.tell(News::of_instances(row.try_get("wakes")?, row.try_get("due_at")?));
        Ok(batch.iter().zip(outcomes).map(|(waiting, outcome)| judged(waiting, &outcome)).collect())
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
