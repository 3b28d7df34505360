//! Leases to be kept.

use std::sync::Arc;

use abide_provider::{Operation, StoreError};

use super::batch::{Answers, Batched, Key, Waiting};
use super::connection::Connection;
use crate::error::{CallError, CallErrorKind};
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
        shared: &Arc<Shared>,
        batch: &mut [Waiting<Self>],
    ) -> Result<Answers<()>, CallError> {
        let leases = batch.iter().map(|waiting| Renewal {
            row: waiting.what.token.mailbox,
            nonce: waiting.what.token.nonce,
            extend: waiting.what.extend,
        });
        let renewed = renew(connection, Sql::RenewInstances, leases.collect(), shared.node).await?;
        Ok(batch
            .iter()
            .zip(renewed)
            .map(|(waiting, renewed)| renewed.told(waiting.operation))
            .collect::<Vec<_>>()
            .into())
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
        shared: &Arc<Shared>,
        batch: &mut [Waiting<Self>],
    ) -> Result<Answers<()>, CallError> {
        let leases = batch.iter().map(|waiting| Renewal {
            row: waiting.what.token.no,
            nonce: waiting.what.token.nonce,
            extend: waiting.what.extend,
        });
        let renewed = renew(connection, Sql::RenewWork, leases.collect(), shared.node).await?;
        for (waiting, renewed) in batch.iter().zip(&renewed) {
            if matches!(renewed, Renewed::Lost) {
                shared.forget_lease(waiting.what.token);
            }
        }
        Ok(batch
            .iter()
            .zip(renewed)
            .map(|(waiting, renewed)| renewed.told(waiting.operation))
            .collect::<Vec<_>>()
            .into())
    }
}

/// How many rows that others hold are waited for, one after the other, half a second each: all who renew on this node wait meanwhile.
const WAITED_FOR: usize = 2;

/// One lease, as the server knows it.
#[derive(Debug, Clone, Copy)]
struct Renewal {
    row: i64,
    nonce: i64,
    extend: i64,
}

/// What is done about rows that others hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    PassedOver,
    WaitedFor,
}

/// What became of it.
enum Renewed {
    Kept,
    Lost,
    /// Not renewed now: another holds its row, or the server says why.
    Failed(CallError),
}

impl Renewed {
    fn told(self, operation: Operation) -> Result<(), StoreError> {
        match self {
            Self::Kept => Ok(()),
            Self::Lost => Err(StoreError::lease_lost(operation)),
            Self::Failed(error) => Err(error.of(operation)),
        }
    }
}

/// Renews all whose rows are free, and then those that others held.
async fn renew(
    connection: &Connection<'_>,
    sql: Sql,
    leases: Vec<Renewal>,
    node: i64,
) -> Result<Vec<Renewed>, CallError> {
    let outcomes = ask(connection, sql, &leases, Held::PassedOver, node).await?;
    let mut renewed = Vec::with_capacity(leases.len());
    let mut waited_for = 0;
    for (lease, outcome) in leases.into_iter().zip(outcomes) {
        renewed.push(match outcome.as_str() {
            "ok" => Renewed::Kept,
            "busy" if waited_for < WAITED_FOR => {
                waited_for += 1;
                wait_for(connection, sql, lease, node).await
            }
            "busy" => Renewed::Failed(is_held()),
            _ => Renewed::Lost,
        });
    }
    Ok(renewed)
}

async fn wait_for(connection: &Connection<'_>, sql: Sql, lease: Renewal, node: i64) -> Renewed {
    match ask(connection, sql, &[lease], Held::WaitedFor, node).await {
        Err(error) => Renewed::Failed(error),
        Ok(outcomes) => match outcomes.first().map(String::as_str) {
            Some("ok") => Renewed::Kept,
            Some("lost") => Renewed::Lost,
            Some(_) | None => Renewed::Failed(is_held()),
        },
    }
}

async fn ask(
    connection: &Connection<'_>,
    sql: Sql,
    leases: &[Renewal],
    held: Held,
    node: i64,
) -> Result<Vec<String>, CallError> {
    let rows: Vec<_> = leases.iter().map(|lease| lease.row).collect();
    let nonces: Vec<_> = leases.iter().map(|lease| lease.nonce).collect();
    let extend: Vec<_> = leases.iter().map(|lease| lease.extend).collect();
    let row = connection.row(sql, &[&rows, &nonces, &extend, &(held == Held::WaitedFor), &node]).await?;
    Ok(row.try_get(0)?)
}

fn is_held() -> CallError {
    CallError {
        kind: CallErrorKind::NotApplied,
        message: "another call holds the row of this lease".to_owned(),
    }
}
