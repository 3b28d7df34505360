//! Giving a lease back, so that whoever comes next does not have to wait until it has run out.
//!
//! A store that is slow, or fails for a moment, is asked again, and the answer to an earlier offer still counts. A runtime that
//! gave up offers everything, but makes no second offer after a while: it ends, whatever the store does.

use std::time::Duration;

use abide_provider::{Operation, ProviderError, Rejection};
use futures_util::TryFutureExt;
use futures_util::future::{BoxFuture, FutureExt, select};
use tracing::{debug, warn};

use crate::core::Core;
use crate::insist::{Answer, Told, Tries, meant};
use crate::pacing::Backoff;
use crate::store_call::PATIENCE;

/// So often a lease is offered back before it is left to run out.
const OFFERS: u32 = 4;

/// A runtime that gave up so long ago makes no second offer.
const LAST_OFFER: Duration = Duration::from_millis(2_500);

/// So long a runtime that ends waits for its own calls for leases to be over before it gives anything back.
const LAST_CALLS: Duration = Duration::from_millis(300);

impl Core {
    /// If the runtime ends, waits until it asks for no more leases: it would get what it gives back, or what comes of what it writes.
    pub(crate) async fn wait_for_last_fetches(&self) {
        if self.stop.ending.is_cancelled() {
            let limit = self.clock.sleep_until(self.clock.monotonic().saturating_add(LAST_CALLS));
            let _either = select(Box::pin(self.stop.fetching.wait()), limit).await;
        }
    }

    /// Gives a lease back. A store that does not know it any more has it back already.
    pub(crate) async fn give_back<F>(&self, operation: Operation, call: F)
    where
        F: Fn() -> BoxFuture<'static, Result<(), ProviderError>>,
    {
        let mut tries = Tries::default();
        let mut backoff = Backoff::default();
        for _ in 0..OFFERS {
            tries.make(
                self.clock.monotonic(),
                call().map_err(move |error| meant(operation, error, Rejection::LeaseLost)).boxed(),
            );
            let heard = tries.hear(self.caller.patience(PATIENCE)).await;
            if self.is_settled(operation, &mut tries, heard) {
                return;
            }
            if self.caller.given_up_for().is_some_and(|time| time >= LAST_OFFER) {
                break;
            }
            // Not for long, so a runtime that ends has the time.
            let delay = backoff.after_failure(&*self.entropy);
            let pause = self.clock.sleep_until(self.clock.monotonic().saturating_add(delay));
            let heard = tries.hear(pause).await;
            if heard.is_some() && self.is_settled(operation, &mut tries, heard) {
                return;
            }
        }
        warn!(target: "abide::runtime", %operation, "a lease could not be given back; it will run out");
    }

    /// Whether there is nothing left to give back.
    fn is_settled(&self, operation: Operation, tries: &mut Tries<()>, heard: Option<Answer<()>>) -> bool {
        match self.understand(operation, tries, heard) {
            Ok(Told::Done(()) | Told::GivenUp) => true,
            Ok(Told::Refused { error, .. }) => {
                debug!(target: "abide::runtime", %error, "a lease could not be given back: it is not held any more");
                true
            }
            Err(_failure) => false,
        }
    }
}
