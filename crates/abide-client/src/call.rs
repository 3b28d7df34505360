//! One call of the store, with an end.
//!
//! A store that hangs must not hang whoever asked. A call that takes too long is dropped, which the contract of a store
//! allows at any point; whether it had an effect, nobody knows then.

use std::pin::pin;
use std::time::Duration;

use abide_provider::{ProviderAdmin, ProviderError};
use futures_util::future::{Either, select};

use crate::{Client, ClientError};

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
        let answer = self.within(limit, call).await.ok_or(ClientError::Timeout)?;
        Ok(answer?)
    }

    /// What the call answers, or `None` if it takes longer than `limit`.
    pub(crate) async fn within<T>(&self, limit: Duration, call: impl Future<Output = T>) -> Option<T> {
        let until = self.now().saturating_add(limit);
        // The clock is asked for a sleep only once the call has to wait: many do not.
        let too_long = async { self.clock().sleep_until(until).await };
        match select(pin!(call), pin!(too_long)).await {
            Either::Left((answer, _)) => Some(answer),
            Either::Right(((), _)) => None,
        }
    }

    /// The administrative side of the store.
    pub(crate) fn admin(&self) -> Result<&dyn ProviderAdmin, ClientError> {
        self.store().as_management_capability().ok_or(ClientError::ManagementNotAvailable)
    }
}
