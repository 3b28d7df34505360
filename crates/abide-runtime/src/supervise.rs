//! Loops that a panic does not end.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use abide_model::panic_text;
use futures_util::FutureExt;
use tracing::error;

use crate::core::Core;
use crate::store_call::Pause;

/// How long a loop rests after a panic, so that one that panics at once does nothing else.
const REST: Duration = Duration::from_secs(1);

/// Runs what `begin` gives until it ends by itself. If it panics, in the runtime's own code or in a provider's, that is told, and
/// it begins anew.
pub(crate) async fn supervise<F>(core: Arc<Core>, name: &'static str, mut begin: impl FnMut() -> F)
where
    F: Future<Output = ()>,
{
    loop {
        let ended = AssertUnwindSafe(async { begin().await }).catch_unwind().await;
        let Err(payload) = ended else { return };
        let _said = panic_text(payload);
        error!(target: "abide::runtime", task = name, "panicked; it goes on");
        if core.caller.pause_unless_given_up(REST).await == Pause::Ending {
            return;
        }
    }
}
