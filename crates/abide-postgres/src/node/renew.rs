//! Leases to be kept.

use abide_provider::StoreError;

use super::batch::{Batched, Key, Waiting};
use super::connection::Connection;
use crate::error::CallError;
use crate::shared::Shared;
use crate::statements::Sql;
use crate::token::{MailboxToken, WorkToken};

/// A lease on an instance to be kept for so many milliseconds.
#[derive(Debug)]
pub(crate) struct RenewInstance {
    pub(crate) token: MailboxToken,
    pub(crate) extend: i64,
}

/// A lease on an activity to be kept for so many milliseconds.
#[derive(Debug)]
pub(crate) struct RenewWork {
    pub(crate) token: WorkToken,
    pub(crate) extend: i64,
}

impl Batched for RenewInstance {
    type Answer = ();

    const MOST: usize = 1_024;

    fn key(&self) -> Key {
        Key::Number(self.token.mailbox)
    }

    async fn call(
        connection: &Connection<'_>,
        _shared: &Shared,
        batch: &mut [Waiting<Self>],
    ) -> Result<Vec<Result<(), StoreError>>, CallError> {
        let mailboxes: Vec<_> = batch.iter().map(|waiting| waiting.what.token.mailbox).collect();
        let nonces: Vec<_> = batch.iter().map(|waiting| waiting.what.token.nonce).collect();
        let extend: Vec<_> = batch.iter().map(|waiting| waiting.what.extend).collect();
        let row = connection.row(Sql::RenewInstances, &[&mailboxes, &nonces, &extend]).await?;
        let outcomes: Vec<String> = row.try_get(0)?;
        Ok(batch.iter().zip(outcomes).map(|(waiting, outcome)| kept(waiting, &outcome)).collect())
    }
}

impl Batched for RenewWork {
    type Answer = ();

    const MOST: usize = 1_024;

    fn key(&self) -> Key {
        Key::Number(self.token.no)
    }

    async fn call(
        connection: &Connection<'_>,
        shared: &Shared,
        batch: &mut [Waiting<Self>],
    ) -> Result<Vec<Result<(), StoreError>>, CallError> {
        let work: Vec<_> = batch.iter().map(|waiting| waiting.what.token.no).collect();
        let nonces: Vec<_> = batch.iter().map(|waiting| waiting.what.token.nonce).collect();
        let extend: Vec<_> = batch.iter().map(|waiting| waiting.what.extend).collect();
        let row = connection.row(Sql::RenewWork, &[&work, &nonces, &extend]).await?;
        let outcomes: Vec<String> = row.try_get(0)?;
        for (waiting, outcome) in batch.iter().zip(&outcomes) {
            if outcome != "ok" {
                shared.forget_lease(waiting.what.token);
            }
        }
        Ok(batch.iter().zip(outcomes).map(|(waiting, outcome)| kept(waiting, &outcome)).collect())
    }
}

pub(crate) fn kept<B: Batched>(waiting: &Waiting<B>, outcome: &str) -> Result<(), StoreError> {
    if outcome == "ok" { Ok(()) } else { Err(StoreError::lease_lost(waiting.operation)) }
}
