//! The one thread that talks to the server.
//!
//! It has an async runtime of its own and drives every connection of the store, so that a call runs to its end whatever becomes of its
//! caller, and under whatever executor that is. Callers put what they want on the [desk](desk::Desk); a connection that is free takes
//! everything of one kind that waits there and makes one call of it. Three kinds of connection: the ordinary ones, as many as were chosen;
//! one for renewals, which wait for nobody; and one on which the nodes tell each other what is new.

pub(crate) mod abandon;
pub(crate) mod batch;
pub(crate) mod call;
pub(crate) mod commit;
pub(crate) mod company;
pub(crate) mod connection;
pub(crate) mod desk;
pub(crate) mod enqueue;
pub(crate) mod finish;
pub(crate) mod listener;
pub(crate) mod look;
mod notice;
pub(crate) mod outbox;
pub(crate) mod patience;
mod queues;
pub(crate) mod removal;
pub(crate) mod renew;
pub(crate) mod sessions;
pub(crate) mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use abide_model::panic_text;
use futures_channel::oneshot;
use futures_util::future::{join_all, join5};
use tokio::runtime::Runtime;

use crate::error::OpenError;
use crate::hatch;
use crate::shared::Shared;
use desk::Place;
use worker::Begin;

/// The thread. Dropping it lets the thread finish what it has begun, and then end.
#[derive(Debug)]
pub(crate) struct Node {
    shared: Arc<Shared>,
}

impl Node {
    /// Says when the first connection is there.
    pub(crate) fn start(shared: &Arc<Shared>) -> Result<(Self, oneshot::Receiver<()>), OpenError> {
        let mine = Arc::clone(shared);
        let (ready, is_ready) = oneshot::channel();
        let runtime = build_runtime().map_err(OpenError::Thread)?;
        std::thread::Builder::new()
            .name("abide-postgres".to_owned())
            .spawn(move || {
                let _closing = Closing(&mine);
                run_until_closed(&mine, runtime, ready);
            })
            .map_err(OpenError::Thread)?;
        Ok((Self { shared: Arc::clone(shared) }, is_ready))
    }
}

fn build_runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// A panic costs the calls that were under way their answers, and every session. It does not cost the store.
fn run_until_closed(shared: &Arc<Shared>, mut runtime: Runtime, ready: oneshot::Sender<()>) {
    let mut ready = Some(ready);
    let mut restarts = Restarts::new();
    loop {
        let begun = shared.settings.clock.monotonic();
        let ended = catch_unwind(AssertUnwindSafe(|| runtime.block_on(run(shared, ready.take()))));
        let Err(payload) = ended else { return };
        let pause = restarts.pause_after(shared.settings.clock.monotonic().saturating_sub(begun));
        // What a panic says may quote what was stored; a payload may panic when it is dropped.
        let _said = panic_text(payload);
        tracing::error!(target: "abide::postgres", ?pause,
            "the thread that talks to PostgreSQL panicked; restarting with new connections");
        shared.is_listening.store(false, Ordering::Release);
        // The other nodes may have come or gone unheard.
        shared.outbox.speak_up();
        if shared.desk.is_closed() {
            return;
        }
        match build_runtime() {
            // Dropping the old one ends what is left of the old connections.
            Ok(new) => runtime = new,
            Err(error) => {
                tracing::error!(target: "abide::postgres", %error, "cannot restart the thread that talks to PostgreSQL");
                return;
            }
        }
        let clock = &*shared.settings.clock;
        runtime.block_on(clock.sleep_until(clock.monotonic().saturating_add(pause)));
    }
}

/// How long to wait before a restart: twice as long each time, until the thread has run for a while.
#[derive(Debug)]
struct Restarts {
    next: Duration,
}

impl Restarts {
    const SHORTEST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_secs(5);
    const LASTING: Duration = Duration::from_secs(60);

    const fn new() -> Self {
        Self { next: Self::SHORTEST }
    }

    /// After a run that lasted so long.
    fn pause_after(&mut self, lasted: Duration) -> Duration {
        if lasted >= Self::LASTING {
            self.next = Self::SHORTEST;
        }
        let pause = self.next;
        self.next = (pause * 2).min(Self::LONGEST);
        pause
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.shared.hatch.close();
        self.shared.removals.close();
        self.shared.desk.close();
        self.shared.outbox.ring();
    }
}

/// However the thread ends, by a panic too: who waits for it is told, and who comes later.
struct Closing<'s>(&'s Shared);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.hatch.close();
        self.0.removals.close();
        self.0.desk.close();
        let now = self.0.settings.clock.monotonic();
        for place in [Place::Ordinary, Place::Renewals] {
            self.0.desk.refuse_waiting(place, now, "the thread that talks to PostgreSQL has ended");
        }
    }
}

/// So many ordinary connections are there from the beginning.
const AT_ONCE: usize = 2;

async fn run(shared: &Arc<Shared>, ready: Option<oneshot::Sender<()>>) {
    let others = (1..shared.settings.connections)
        .map(|number| if number < AT_ONCE { Begin::AtOnce } else { Begin::IfMissed });
    let first = ready.map_or(Begin::AtOnce, Begin::AtOnceFor);
    let begins = std::iter::once(first).chain(others);
    let ordinary = begins.map(|begin| worker::work(shared, Place::Ordinary, begin));
    let renewals = Box::pin(worker::work(shared, Place::Renewals, Begin::AtOnce));
    let notices = Box::pin(listener::listen(shared));
    let clearing = Box::pin(hatch::keep_clear(shared));
    let removals = Box::pin(removal::remove(shared));
    join5(join_all(ordinary), renewals, notices, clearing, removals).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_that_follow_each_other_are_ever_further_apart_up_to_a_limit() {
        let mut restarts = Restarts::new();
        let mut after = |lasted| restarts.pause_after(lasted);
        assert_eq!(after(Duration::ZERO), Restarts::SHORTEST);
        assert_eq!(after(Duration::ZERO), Restarts::SHORTEST * 2);
        let many = (0..20).map(|_| after(Duration::ZERO)).last();
        assert_eq!(many, Some(Restarts::LONGEST));
        assert_eq!(after(Restarts::LASTING), Restarts::SHORTEST, "it had run for a while");
    }
}
