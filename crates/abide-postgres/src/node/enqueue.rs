//! Messages of clients.

use std::sync::Arc;

use abide_provider::{AdminRefusal, MailOutcome, Operation, RequestKey, Start, StoreError};

use super::batch::{Answers, Batched, Key, Waiting, patience_of};
use super::connection::{Connection, Params};
use crate::encode::START;
use crate::error::CallError;
use crate::hatch::{Handed, Promise};
use crate::lease::Looked;
use crate::news::News;
use crate::rows::{NewMessage, OfTurn};
use crate::shared::Shared;
use crate::statements::Sql;
use crate::text::unspell;

/// A message to send.
#[derive(Debug)]
pub(crate) struct Enqueue {
    pub(crate) message: NewMessage,
    pub(crate) delay: Option<i64>,
    pub(crate) key: Option<RequestKey>,
    /// Whether it is not sent if there is such an instance, or one is about to be.
    pub(crate) once: Once,
}

/// What became of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) start: Start,
    pub(crate) outcome: MailOutcome,
}

/// Whether a message is sent whatever there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Once {
    Always,
    UnlessThere,
    /// Only if there is such an instance, or one is about to be.
    IfThere,
}

impl Enqueue {
    fn key_bytes(&self) -> Option<&[u8]> {
        self.key.as_ref().map(|key| &key.0[..])
    }

    /// A start is then sent only if there is no such instance, anything else only if there is one.
    fn is_conditional(&self) -> bool {
        self.once != Once::Always
    }

    fn answer(&self, operation: Operation, outcome: &str) -> Result<Sent, StoreError> {
        match outcome {
            "exists" => Ok(Sent { start: Start::Exists, outcome: MailOutcome::Kept }),
            "waits" => Ok(Sent { start: Start::Created, outcome: MailOutcome::WaitsForStart }),
            "dropped" => Ok(Sent { start: Start::Created, outcome: MailOutcome::Dropped }),
            "absent" => {
                Err(AdminRefusal::not_found(unspell(self.message.recipient.clone())).store_error(operation))
            }
            _ => Ok(Sent { start: Start::Created, outcome: MailOutcome::Kept }),
        }
    }
}

impl Batched for Enqueue {
    type Answer = Sent;

    const MOST: usize = 512;

    fn key(&self) -> Key {
        match self.once {
            Once::Always | Once::IfThere => Key::Any,
            Once::UnlessThere => Key::Name(self.message.recipient.clone()),
        }
    }

    fn bytes(&self) -> usize {
        self.message.item.len()
    }

    async fn call(
        connection: &Connection<'_>,
        shared: &Arc<Shared>,
        batch: &mut [Waiting<Self>],
    ) -> Result<Answers<Sent>, CallError> {
        for (turn, waiting) in (1..).zip(batch.iter_mut()) {
            waiting.what.message.set_turn(turn);
        }
        let promise = Promise::of_instances(shared, batch.len());
        let offer = promise.as_ref().and_then(Promise::instance_offer);
        let patience = patience_of(batch);
        let sent_at = shared.settings.clock.monotonic();
        let row = match &*batch {
            [Waiting { what: one, .. }] if one.message.class == START => {
                let (key, is_only_once) = (one.key_bytes(), one.is_conditional());
                let params: Params<'_> = &[&one.message, &one.delay, &key, &is_only_once, &offer];
                connection.row_within(patience, Sql::StartOne, params).await?
            }
            _ => {
                let messages: Vec<_> = batch.iter().map(|waiting| &waiting.what.message).collect();
                let delays: Vec<_> = batch.iter().map(|waiting| waiting.what.delay).collect();
                let keys: Vec<_> = batch.iter().map(|waiting| waiting.what.key_bytes()).collect();
                let once: Vec<_> = batch.iter().map(|waiting| waiting.what.is_conditional()).collect();
                let params: Params<'_> = &[&messages, &delays, &keys, &once, &offer];
                connection.row_within(patience, Sql::EnqueueMessages, params).await?
            }
        };
        let mut handed = Handed::default();
        handed.add(promise, Looked::of_handed_instances(&row, sent_at, shared)?);
        let outcomes: Vec<String> = row.try_get("outcomes")?;
        let news = News::of_instances(row.try_get("wakes")?, row.try_get("due_at")?);
        let each = batch
            .iter()
            .zip(outcomes)
            .map(|(waiting, outcome)| waiting.what.answer(waiting.operation, &outcome))
            .collect();
        Ok(Answers { each, handed, news })
    }
}
