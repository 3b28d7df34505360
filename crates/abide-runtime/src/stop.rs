//! Stopping: two signals, and the tasks that must be over before it is done.
//!
//! *Ending* means: fetch nothing more, finish what was fetched. *Giving up* means: drop what is not finished and hand it
//! back. Whoever shuts down raises the first, waits as long as it has patience, raises the second, and waits for all tasks.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The signals, and who must hear them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    /// Fetch nothing more.
    pub(crate) ending: CancellationToken,
    /// Drop what is not finished.
    pub(crate) giving_up: CancellationToken,
    /// Everything that works for the runtime; what serves it goes on until all of this is over.
    pub(crate) tasks: TaskTracker,
    /// All tasks are over: what served them may end too.
    pub(crate) drained: CancellationToken,
    /// What serves the tasks: renewals, and hearing of leases taken away.
    pub(crate) servants: TaskTracker,
}
