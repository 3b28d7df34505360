//! A message that is sent until the store has it, and never twice.
//!
//! Every message carries a key of its own, the same in every repetition. A store that knows repetitions by it may be told
//! again when its answer was lost; any other one may only be told again when it certainly wrote nothing.

use std::time::Duration;

use abide_model::{Entropy, WorkItem};
use abide_provider::{
    Ability, Enqueue, ErrorKind, ProviderError, Rejection, RequestKey, StoreError, transfer_time,
};

use crate::call::Silence;
use crate::{Client, ClientError};

impl Client {
    /// Sends a message to an instance.
    pub(crate) async fn send(&self, item: WorkItem) -> Result<(), ClientError> {
        let bytes = self.check(&item)?;
        let request = Enqueue { item, delay: None, key: self.fresh_key() };
        self.persist(self.lost_answers(&[Ability::KeyedRequests]), bytes, || {
            self.store().enqueue_once(request.clone())
        })
        .await
    }

    /// Sends a message to an instance that exists, or is about to start.
    pub(crate) async fn send_existing(&self, instance_id: String, item: WorkItem) -> Result<(), ClientError> {
        let bytes = self.check(&item)?;
        let request = Enqueue { item, delay: None, key: self.fresh_key() };
        let lost_answer = self.lost_answers(&[Ability::KeyedRequests]);
        let answer = self.persist(lost_answer, bytes, || async {
            match self.store().enqueue_existing(request.clone()).await {
                Err(error) if error.kind == ErrorKind::Rejected(Rejection::NotFound) => {
                    Ok(Delivery::NoSuchInstance)
                }
                answer => answer.map(|()| Delivery::Sent),
            }
        });
        match answer.await? {
            Delivery::Sent => Ok(()),
            Delivery::NoSuchInstance => Err(ClientError::InstanceNotFound { instance_id }),
        }
    }

    /// A key that no other message has.
    pub(crate) fn fresh_key(&self) -> RequestKey {
        let halves = [self.entropy().next_u64(), self.entropy().next_u64()];
        let [high, low] = halves.map(u128::from);
        RequestKey((high << 64 | low).to_be_bytes())
    }

    /// What to do about a lost answer, given the abilities that make a repetition safe.
    pub(crate) fn lost_answers(&self, needed: &[Ability]) -> LostAnswer {
        let abilities = self.store().abilities();
        if needed.iter().all(|ability| abilities.has(*ability)) {
            LostAnswer::AskAgain
        } else {
            LostAnswer::GiveUp
        }
    }

    /// Makes a call that sends so many bytes, again and again until it is answered, refused, or the budget is
    /// used up.
    pub(crate) async fn persist<T, F>(
        &self,
        lost_answer: LostAnswer,
        bytes: usize,
        call: impl Fn() -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let give_up_at = self.now().saturating_add(self.retry_for());
        let mut backoff = Backoff::new();
        let patience = self.call_timeout().saturating_add(transfer_time(bytes));
        let mut limit = patience;
        loop {
            let failure = match self.within(limit, call()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => Failure::Error(error),
                Err(silence) => Failure::Silence(silence),
            };
            let next = self.now().saturating_add(backoff.next(self.entropy()));
            if next >= give_up_at || !failure.may_ask_again(lost_answer) {
                return Err(failure.into_error());
            }
            self.clock().sleep_until(next).await;
            // Only the first attempt may outlast the budget: one call is always made in full.
            limit = patience.min(give_up_at.saturating_sub(self.now()));
        }
    }
}

/// What became of a message to an instance that must exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Sent,
    NoSuchInstance,
}

/// What to do when nobody knows whether a call had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LostAnswer {
    /// Make it again: the store knows that it is the same one.
    AskAgain,
    /// Leave it to the caller: it might have its effect twice.
    GiveUp,
}

/// Why one attempt failed.
#[derive(Debug)]
enum Failure {
    Error(StoreError),
    Silence(Silence),
}

impl Failure {
    fn may_ask_again(&self, lost_answer: LostAnswer) -> bool {
        let kind = match self {
            Self::Error(error) => error.kind,
            Self::Silence(_) => ErrorKind::Unknown,
        };
        match kind {
            ErrorKind::NotApplied => true,
            ErrorKind::Unknown => lost_answer == LostAnswer::AskAgain,
            ErrorKind::Rejected(_) => false,
        }
    }

    fn into_error(self) -> ClientError {
        match self {
            Self::Error(error) => ProviderError::from(error).into(),
            Self::Silence(silence) => silence.into(),
        }
    }
}

/// Pauses that double up to a ceiling.
#[derive(Debug)]
pub(crate) struct Pauses {
    next: Duration,
    ceiling: Duration,
}

impl Pauses {
    pub(crate) const fn new(first: Duration, ceiling: Duration) -> Self {
        Self { next: first, ceiling }
    }

    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = pause.saturating_mul(2).min(self.ceiling);
        pause
    }
}

/// Pauses between attempts at a store in trouble: doubling, and each a little different, so that those who failed together
/// do not come back together.
#[derive(Debug)]
pub(crate) struct Backoff(Pauses);

impl Backoff {
    pub(crate) const fn new() -> Self {
        Self(Pauses::new(Duration::from_millis(10), Duration::from_secs(1)))
    }

    /// Between half of the pause and all of it.
    pub(crate) fn next(&mut self, entropy: &dyn Entropy) -> Duration {
        let half = self.0.next() / 2;
        let [first, second, ..] = entropy.next_u64().to_be_bytes();
        let share = u32::from(u16::from_be_bytes([first, second]));
        half + half * share / u32::from(u16::MAX)
    }
}
