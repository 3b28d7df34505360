//! A call of the store that is repeated until it is answered for certain, however long that takes.
//!
//! A try that is late is not given up at once: while the next one is made, its answer may still come, and counts. Of those that
//! are out, only the last two are kept, so that a store that hangs for an hour costs no more than one that hangs for a moment.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use abide_model::panic_text;
use abide_provider::{
    ErrorKind, LARGEST_ANSWER, Operation, ProviderError, Rejection, StoreError, transfer_time,
};
use futures_util::future::{BoxFuture, FutureExt};

use crate::core::Core;
use crate::pacing::Backoff;
use crate::store_call::{LATE, PANICKED, PATIENCE};

/// So many tries may be out at once.
const MOST_OUT: usize = 2;

/// How long a try may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) next: Duration,
    most: Duration,
}

impl Patience {
    /// Returns the patience for a call that reads what may be large.
    pub(crate) fn for_read() -> Self {
        Self { next: PATIENCE, most: PATIENCE.saturating_add(transfer_time(LARGEST_ANSWER)) }
    }

    pub(crate) fn grow(&mut self) {
        self.next = self.next.saturating_mul(2).min(self.most);
    }
}

/// What the store said in the end.
#[derive(Debug)]
pub(crate) enum Told<T> {
    /// It is done.
    Done(T),
    /// It refuses. If another try may have been applied, the refusal may be about that.
    Refused { error: StoreError, perhaps_applied: bool },
    /// It never said, and the runtime gives up.
    GivenUp,
}

impl Core {
    /// Repeats a call until the store answers for certain.
    pub(crate) async fn insist<T, F>(&self, operation: Operation, call: F) -> Told<T>
    where
        T: Send + 'static,
        F: FnMut() -> BoxFuture<'static, Result<T, StoreError>>,
    {
        self.insist_within(PATIENCE, operation, call).await
    }

    /// The same for a call that reads what may be large. Its size is not known before it is read, so each try
    /// that is late gives the next one twice the time.
    pub(crate) async fn insist_on_read<T, F>(&self, operation: Operation, call: F) -> Told<T>
    where
        T: Send + 'static,
        F: FnMut() -> BoxFuture<'static, Result<T, StoreError>>,
    {
        self.insist_with(Patience::for_read(), operation, call).await
    }

    /// The same, with so much time for each try.
    pub(crate) async fn insist_within<T, F>(
        &self,
        patience: Duration,
        operation: Operation,
        call: F,
    ) -> Told<T>
    where
        T: Send + 'static,
        F: FnMut() -> BoxFuture<'static, Result<T, StoreError>>,
    {
        self.insist_with(Patience { next: patience, most: patience }, operation, call).await
    }

    async fn insist_with<T, F>(&self, mut patience: Patience, operation: Operation, mut call: F) -> Told<T>
    where
        T: Send + 'static,
        F: FnMut() -> BoxFuture<'static, Result<T, StoreError>>,
    {
        let mut tries = Tries::default();
        let mut backoff = Backoff::default();
        loop {
            tries.make(self.clock.monotonic(), call());
            let heard = tries.hear(self.caller.patience(patience.next)).await;
            if heard.is_none() {
                patience.grow();
            }
            let failure = match self.understand(operation, &mut tries, heard) {
                Ok(told) => return told,
                Err(failure) => failure,
            };
            if self.stop.giving_up.is_cancelled() {
                return Told::GivenUp;
            }
            let delay = backoff.after_failure(&*self.entropy);
            self.store_failed(tries.began, &failure);
            // What is out may answer before the next try is made.
            let heard = tries.hear(self.caller.pause_unless_given_up(delay)).await;
            if heard.is_some()
                && let Ok(told) = self.understand(operation, &mut tries, heard)
            {
                return told;
            }
            if self.stop.giving_up.is_cancelled() {
                return Told::GivenUp;
            }
        }
    }

    /// What an answer settles; the failure if it settles nothing.
    pub(crate) fn understand<T>(
        &self,
        operation: Operation,
        tries: &mut Tries<T>,
        heard: Option<Answer<T>>,
    ) -> Result<Told<T>, StoreError> {
        let error = match heard {
            Some(Ok(Ok(done))) => {
                self.store_answered();
                return Ok(Told::Done(done));
            }
            Some(Ok(Err(error))) => error,
            Some(Err(payload)) => {
                let _said = panic_text(payload);
                self.caller.unanswered(operation, PANICKED)
            }
            None => self.caller.unanswered(operation, LATE),
        };
        match error.kind {
            ErrorKind::NotApplied => Err(error),
            ErrorKind::Unknown => {
                tries.perhaps_applied = true;
                Err(error)
            }
            ErrorKind::Rejected(_) => {
                let perhaps_applied = tries.perhaps_applied || !tries.out.is_empty();
                Ok(Told::Refused { error, perhaps_applied })
            }
        }
    }
}

/// What an error of the older, flatter form means for a call that is repeated: nobody knows what it did, or it is refused.
pub(crate) fn meant(operation: Operation, error: ProviderError, refusal: Rejection) -> StoreError {
    if error.is_retryable() {
        StoreError::unknown(operation, error.message)
    } else {
        StoreError::rejected(operation, refusal, error.message)
    }
}

/// What a try came to, if it did not panic.
pub(crate) type Answer<T> = std::thread::Result<Result<T, StoreError>>;

/// The tries of one call.
pub(crate) struct Tries<T> {
    /// With the time at which each was made, the newest last.
    out: VecDeque<(Duration, BoxFuture<'static, Answer<T>>)>,
    /// When the one was made that was last heard of; the newest, if the time was over.
    began: Duration,
    /// Nobody knows of one of them what it did.
    perhaps_applied: bool,
}

impl<T> Default for Tries<T> {
    fn default() -> Self {
        Self { out: VecDeque::new(), began: Duration::ZERO, perhaps_applied: false }
    }
}

impl<T: Send + 'static> Tries<T> {
    pub(crate) fn make(&mut self, now: Duration, call: BoxFuture<'static, Result<T, StoreError>>) {
        if self.out.len() >= MOST_OUT {
            self.out.pop_front();
            self.perhaps_applied = true;
        }
        self.began = now;
        self.out.push_back((now, AssertUnwindSafe(call).catch_unwind().boxed()));
    }

    /// The first answer of any that is out; `None` if the time is over before.
    pub(crate) async fn hear<W>(&mut self, time: impl Future<Output = W>) -> Option<Answer<T>> {
        let mut time = pin!(time);
        poll_fn(|cx| {
            for number in (0..self.out.len()).rev() {
                if let Some((began, call)) = self.out.get_mut(number)
                    && let Poll::Ready(answer) = call.as_mut().poll(cx)
                {
                    self.began = *began;
                    self.out.remove(number);
                    return Poll::Ready(Some(answer));
                }
            }
            time.as_mut().poll(cx).map(|_over| None)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::{pending, ready};

    use super::*;

    #[test]
    fn an_answer_is_of_the_time_at_which_its_own_try_was_made() {
        let mut tries: Tries<()> = Tries::default();
        let (fail, failed) = tokio::sync::oneshot::channel();
        let older = async move { Err(failed.await.unwrap_or_else(|_| unreachable!("it is sent"))) };
        tries.make(Duration::from_secs(1), older.boxed());
        tries.make(Duration::from_secs(2), pending().boxed());
        assert!(tries.hear(ready(())).now_or_never().flatten().is_none(), "nobody has answered yet");
        assert_eq!(tries.began, Duration::from_secs(2), "what is late is the newest");
        fail.send(StoreError::unknown(Operation::CommitTurn, LATE)).unwrap();
        assert!(tries.hear(pending::<()>()).now_or_never().flatten().is_some());
        assert_eq!(tries.began, Duration::from_secs(1));
    }
}
