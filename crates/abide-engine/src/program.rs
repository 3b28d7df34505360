//! The user's future, polled with the execution's own waker, its panics contained.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::context::OrchestrationContext;
use crate::handler::OrchestrationHandler;
use crate::tape::Tape;

/// What a poll came to.
#[derive(Debug)]
pub(crate) enum Polled {
    Pending,
    Returned(Result<String, String>),
    Panicked(String),
}

/// The orchestration function, called once and polled until it ends.
pub(crate) struct Program {
    future: Pin<Box<dyn Future<Output = Result<String, String>> + Send>>,
    tape: Arc<Tape>,
    waker: Waker,
    polls: u64,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("tape", &self.tape).finish_non_exhaustive()
    }
}

impl Program {
    pub(crate) fn new(code: Arc<dyn OrchestrationHandler>, tape: Arc<Tape>, input: String) -> Self {
        let ctx = OrchestrationContext::of(Arc::clone(&tape));
        let waker = Waker::from(Arc::clone(tape.window()));
        // The handler is called inside the future, so that it is called within a guarded poll.
        let future = Box::pin(async move { code.invoke(ctx, input).await });
        Self { future, tape, waker, polls: 0 }
    }

    /// Whether the code has not run at all.
    pub(crate) const fn is_untouched(&self) -> bool {
        self.polls == 0
    }

    /// Polls the code once, inside its window.
    pub(crate) fn poll(&mut self) -> Polled {
        let Self { future, tape, waker, polls } = self;
        *polls = polls.saturating_add(1);
        let _open = tape.window().open();
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(waker)))) {
            Ok(Poll::Pending) => Polled::Pending,
            Ok(Poll::Ready(returned)) => Polled::Returned(returned),
            Err(payload) => Polled::Panicked(panic_message(payload)),
        }
    }

    /// Drops the code. Its destructors and wakers are the user's too: if one panics, its message is returned.
    pub(crate) fn put_away(self) -> Option<String> {
        let tape = Arc::clone(&self.tape);
        // Two steps: a panic of the first must not drop the code while it unwinds.
        let closed = catch_panic(|| tape.close());
        let dropped = catch_panic(move || drop(self));
        closed.or(dropped)
    }
}

/// Runs something of the user's; if it panics, says with what.
pub(crate) fn catch_panic(run: impl FnOnce()) -> Option<String> {
    catch_unwind(AssertUnwindSafe(run)).err().map(panic_message)
}

/// What a panic said. The payload is the user's: its destructor may panic in turn.
fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let message = payload
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "orchestration panicked".to_owned());
    if let Err(another) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        // And so may that of the second payload: leaking it ends the chain.
        Box::leak(another);
    }
    message
}
