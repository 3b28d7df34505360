//! Leases to be given back.

use std::sync::Arc;

use abide_provider::StoreError;

use super::batch::{Answers, Batched, Key, Waiting};
use super::connection::Connection;
use crate::error::CallError;
use crate::hatch::Handed;
use crate::news::News;
use crate::shared::Shared;
use crate::statements::Sql;
use crate::token::{MailboxToken, WorkToken};

/// How a lease is given back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abandon {
    /// In milliseconds.
    pub(crate) delay: Option<i64>,
    pub(crate) attempt: Attempt,
}

/// Whether a lease that is given back counts as an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Counts,
    GivenBack,
}

impl Attempt {
    /// The frozen signatures say it with a flag.
    #[expect(clippy::fn_params_excessive_bools, reason = "this is where the flag becomes a word")]
    pub(crate) const fn from_flag(ignore_attempt: bool) -> Self {
        if ignore_attempt { Self::GivenBack } else { Self::Counts }
    }
}

/// A lease that nobody used.
pub(crate) const UNUSED: Abandon = Abandon { delay: None, attempt: Attempt::GivenBack };

/// A lease on an instance to be given back.
#[derive(Debug)]
pub(crate) struct AbandonInstance {
    pub(crate) token: MailboxToken,
    pub(crate) how: Abandon,
}

/// A lease on an activity to be given back.
#[derive(Debug)]
pub(crate) struct AbandonWork {
    pub(crate) token: WorkToken,
    pub(crate) how: Abandon,
}

impl Batched for AbandonInstance {
    type Answer = ();

    const MOST: usize = 512;

    fn key(&self) -> Key {
        Key::Number(self.token.mailbox)
    }

    async fn call(
        connection: &Connection<'_>,
        _shared: &Arc<Shared>,
        batch: &mut [Waiting<Self>],
    ) -> Result<Answers<()>, CallError> {
        let mailboxes: Vec<_> = batch.iter().map(|waiting| waiting.what.token.mailbox).collect();
        let nonces: Vec<_> = batch.iter().map(|waiting| waiting.what.token.nonce).collect();
        let delays: Vec<_> = batch.iter().map(|waiting| waiting.what.how.delay).collect();
        let ignored: Vec<_> =
            batch.iter().map(|waiting| waiting.what.how.attempt == Attempt::GivenBack).collect();
        let row = connection.row(Sql::AbandonInstances, &[&mailboxes, &nonces, &delays, &ignored]).await?;
        let outcomes: Vec<String> = row.try_get("outcomes")?;
        let news = News::of_instances(row.try_get("wakes")?, row.try_get("due_at")?);
        let each = batch.iter().zip(outcomes).map(|(waiting, outcome)| kept(waiting, &outcome)).collect();
        Ok(Answers { each, handed: Handed::default(), news })
    }
}

impl Batched for AbandonWork {
    type Answer = ();

    const MOST: usize = 512;

    fn key(&self) -> Key {
        Key::Number(self.token.no)
    }

    async fn call(
        connection: &Connection<'_>,
        shared: &Arc<Shared>,
        batch: &mut [Waiting<Self>],
    ) -> Result<Answers<()>, CallError> {
        let work: Vec<_> = batch.iter().map(|waiting| waiting.what.token.no).collect();
        let nonces: Vec<_> = batch.iter().map(|waiting| waiting.what.token.nonce).collect();
        let delays: Vec<_> = batch.iter().map(|waiting| waiting.what.how.delay).collect();
        let ignored: Vec<_> =
            batch.iter().map(|waiting| waiting.what.how.attempt == Attempt::GivenBack).collect();
        let row = connection.row(Sql::AbandonWork, &[&work, &nonces, &delays, &ignored]).await?;
        let outcomes: Vec<String> = row.try_get("outcomes")?;
        for waiting in batch.iter() {
            shared.forget_lease(waiting.what.token);
        }
        let news = News::of_work(row.try_get("routes")?, row.try_get("due_at")?);
        let each = batch.iter().zip(outcomes).map(|(waiting, outcome)| kept(waiting, &outcome)).collect();
        Ok(Answers { each, handed: Handed::default(), news })
    }
}

fn kept<B: Batched>(waiting: &Waiting<B>, outcome: &str) -> Result<(), StoreError> {
    if outcome == "ok" { Ok(()) } else { Err(StoreError::lease_lost(waiting.operation)) }
}
