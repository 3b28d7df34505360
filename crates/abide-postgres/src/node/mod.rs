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
mod queues;
pub(crate) mod renew;
pub(crate) mod worker;

use std::sync::Arc;

use futures_channel::oneshot;
use futures_util::future::{join_all, join4};

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
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(OpenError::Thread)?;
        std::thread::Builder::new()
            .name("abide-postgres".to_owned())
            .spawn(move || {
                let _closing = Closing(&mine);
                runtime.block_on(run(&mine, ready));
            })
            .map_err(OpenError::Thread)?;
        Ok((Self { shared: Arc::clone(shared) }, is_ready))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.shared.hatch.close();
        self.shared.desk.close();
        self.shared.outbox.ring();
    }
}

/// However the thread ends, by a panic too: who waits for it is told, and who comes later.
struct Closing<'s>(&'s Shared);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.hatch.close();
        self.0.desk.close();
        let now = self.0.settings.clock.monotonic();
        for place in [Place::Ordinary, Place::Renewals] {
            self.0.desk.refuse_waiting(place, now, "the thread that talks to PostgreSQL has ended");
        }
    }
}

/// So many ordinary connections are there from the beginning.
const AT_ONCE: usize = 2;

async fn run(shared: &Arc<Shared>, ready: oneshot::Sender<()>) {
    let others = (1..shared.settings.connections)
        .map(|number| if number < AT_ONCE { Begin::AtOnce } else { Begin::IfMissed });
    let begins = std::iter::once(Begin::AtOnceFor(ready)).chain(others);
    let ordinary = begins.map(|begin| worker::work(shared, Place::Ordinary, begin));
    let renewals = Box::pin(worker::work(shared, Place::Renewals, Begin::AtOnce));
    let notices = Box::pin(listener::listen(shared));
    let clearing = Box::pin(hatch::keep_clear(shared));
    join4(join_all(ordinary), renewals, notices, clearing).await;
}
