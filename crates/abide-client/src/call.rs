//! One call of the store, with an end.
//!
//! A store that hangs must not hang whoever asked. A call that takes too long is dropped, which the contract of a store
//! allows at any point; whether it had an effect, nobody knows then. Nor does anybody if the store panics, which must not end
//! whoever asked either.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use abide_model::panic_text;
use abide_provider::{ProviderAdmin, ProviderError, transfer_time};
use futures_util::future::{Either, FutureExt as _, select};

use crate::{Client, ClientError};

/// How long each try of a repeated read may take.
///
/// How much an answer carries is not known before it is read. One try that is late says nothing about it, since
/// an answer can be lost; from the second one in a row on, each next try has twice the time.
#[derive(Debug)]
pub(crate) struct ReadLimit {
    shortest: Duration,
    next: Duration,
    longest: Duration,
    is_late: bool,
}

impl ReadLimit {
    /// Returns the limit of the next try.
    pub(crate) const fn current(&self) -> Duration {
        self.next
    }

    /// A try was late.
    pub(crate) fn note_late(&mut self) {
        if std::mem::replace(&mut self.is_late, true) {
            self.next = self.next.saturating_mul(2).min(self.longest);
        }
    }

    /// The store answered.
    pub(crate) const fn note_answered(&mut self) {
        self.next = self.shortest;
        self.is_late = false;
    }
}

/// Why a call has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Silence {
    TookTooLong,
    Panicked,
}

impl From<Silence> for ClientError {
    fn from(silence: Silence) -> Self {
        match silence {
            Silence::TookTooLong => Self::Timeout,
            Silence::Panicked => {
                Self::Provider(ProviderError::retryable("client", "the store panicked while it was asked"))
            }
        }
    }
}

impl Client {
    /// Asks the store something that it finds at once.
    pub(crate) async fn ask<T>(
        &self,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ClientError> {
        self.answer_within(self.call_timeout(), call).await
    }

    /// Asks the store for something that takes the longer the more there is.
    pub(crate) async fn ask_much<T>(
        &self,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ClientError> {
        self.answer_within(self.bulk_timeout(), call).await
    }

    async fn answer_within<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ClientError> {
        Ok(self.within(limit, call).await??)
    }

    /// What the call answers, if it does within `limit`.
    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        call: impl Future<Output = T>,
    ) -> Result<T, Silence> {
        let until = self.now().saturating_add(limit);
        let call = AssertUnwindSafe(call).catch_unwind();
        // The clock is asked for a sleep only once the call has to wait: many do not.
        let too_long = async { self.clock().sleep_until(until).await };
        match select(pin!(call), pin!(too_long)).await {
            Either::Left((Ok(answer), _)) => Ok(answer),
            Either::Left((Err(payload), _)) => {
                // What it said was printed where it happened.
                let _said = panic_text(payload);
                Err(Silence::Panicked)
            }
            Either::Right(((), _)) => Err(Silence::TookTooLong),
        }
    }

    /// Returns the limits for tries of a read that may carry a payload of the largest size.
    pub(crate) fn read_limit(&self) -> ReadLimit {
        let shortest = self.call_timeout();
        let longest = shortest.saturating_add(transfer_time(self.max_payload_bytes()));
        ReadLimit { shortest, next: shortest, longest, is_late: false }
    }

    /// The administrative side of the store.
    pub(crate) fn admin(&self) -> Result<&dyn ProviderAdmin, ClientError> {
        self.store().as_management_capability().ok_or(ClientError::ManagementNotAvailable)
    }
}
