//! The user's future, polled with the execution's own waker, its panics contained.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::context::OrchestrationContext;
use crate::handler::OrchestrationHandlerRef;
use crate::panic::contained;
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
    pub(crate) fn new(code: OrchestrationHandlerRef, tape: Arc<Tape>, input: String) -> Self {
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
        match contained(|| future.as_mut().poll(&mut Context::from_waker(waker))) {
            Ok(Poll::Pending) => Polled::Pending,
            Ok(Poll::Ready(returned)) => Polled::Returned(returned),
            Err(message) => Polled::Panicked(message),
        }
    }

    /// Drops the code. Its destructors and wakers are the user's too: if one panics, its message is returned.
    pub(crate) fn put_away(self) -> Option<String> {
        let tape = Arc::clone(&self.tape);
        // Two steps: a panic of the first must not drop the code while it unwinds.
        let closed = contained(|| tape.close());
        let dropped = contained(move || drop(self));
        closed.and(dropped).err()
    }
}
