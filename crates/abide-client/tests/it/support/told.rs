//! Telling of changes, or not.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use abide_provider::Changes;
use futures_core::Stream;

/// What a store tells of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    /// Every change.
    All,
    /// Nothing: whoever waits polls.
    Nothing,
    /// Nothing, and it does not say so: whoever waits believes it.
    NothingInSecret,
    /// Nothing any more, from the first moment on.
    Ended,
}

/// Those who listen.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<Vec<Arc<Mutex<Ear>>>>);

#[derive(Debug, Default)]
struct Ear {
    told: bool,
    waker: Option<Waker>,
}

impl Listeners {
    pub(crate) fn listen(&self) -> Changes {
        let ear = Arc::default();
        self.0.lock().unwrap().push(Arc::clone(&ear));
        Box::pin(Listening(ear))
    }

    pub(crate) fn tell(&self) {
        let ears = self.0.lock().unwrap().clone();
        for ear in ears {
            let waker = {
                let mut ear = ear.lock().unwrap();
                ear.told = true;
                ear.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

struct Listening(Arc<Mutex<Ear>>);

impl Stream for Listening {
    type Item = ();

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<()>> {
        let mut ear = self.0.lock().unwrap();
        if std::mem::take(&mut ear.told) {
            return Poll::Ready(Some(()));
        }
        ear.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
