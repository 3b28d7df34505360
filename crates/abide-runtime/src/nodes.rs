//! Announcing this node, so that operators and other nodes know what it serves.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::Operation;
use futures_util::FutureExt;
use futures_util::future::select;
use tracing::debug;

use crate::core::Core;
use crate::store_call::{Called, PATIENCE, Pause};

/// After an announcement that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A node that renews leases announces itself again this often at most.
const SEEN_EVERY: Duration = Duration::from_secs(10);

/// Announces the node, again while it renews leases so that others see when it was last seen, and forgets it when the
/// runtime ends. A node without work writes nothing.
pub(crate) async fn keep_announced(core: Arc<Core>) {
    let ending = &core.stop.ending;
    while !ending.is_cancelled() {
        let is_announced = announce(&core).await;
        let pause = if is_announced { SEEN_EVERY } else { AFTER_FAILURE };
        if core.caller.pause(pause).await == Pause::Ending {
            break;
        }
        if is_announced {
            let _either = select(Box::pin(core.renewed.notified()), Box::pin(ending.cancelled())).await;
        }
    }
    let (store, id) = (Arc::clone(&core.store), core.id.clone());
    let forget = async move { store.forget_node(&id).await };
    // A store that does not hear it notices that the process is gone.
    let _answer = core.caller.call(Operation::ForgetNode, PATIENCE, forget.boxed()).await;
}

async fn announce(core: &Core) -> bool {
    let (store, announcement) = (Arc::clone(&core.store), core.serving.announcement.clone());
    let call = async move { store.announce_node(announcement).await };
    let error = match core.caller.call(Operation::AnnounceNode, PATIENCE, call.boxed()).await {
        Called::Answered(Ok(())) => return true,
        Called::Answered(Err(error)) | Called::Unanswered(error) => error,
    };
    debug!(target: "abide::runtime", %error, "the node could not be announced; it tries again");
    false
}
