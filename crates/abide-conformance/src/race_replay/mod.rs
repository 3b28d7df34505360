//! A runtime over the provider: what races and restarts must not change.
//!
//! The rest of the suite talks to a provider alone. These start a [`Runtime`](abide_runtime::Runtime) on it, because what they
//! are about shows only when turns are replayed from what the provider gives back. Nothing is kept in memory between two
//! turns, so every turn is a replay. They run in real time and take some tenths of a second each.
//!
//! Deliberately absent: a place in the list of [`validations`](crate::validations), which needs no runtime.

mod continued;
mod replayed;
mod stage;

use crate::ProviderFactory;

/// Declares the functions: each makes a provider and plays its scene on it.
macro_rules! scenes {
    ($($(#[$doc:meta])* $name:ident = $scene:path;)*) => {
        $($(#[$doc])*
        pub async fn $name<F: ProviderFactory>(factory: &F) {
            $scene(factory.create_provider_in_real_time().await).await;
        })*
    };
}

scenes! {
    /// A start for an instance that runs changes neither its version nor its input.
    test_duplicate_start_preserves_pinned_handler = replayed::duplicate_start;
    /// A successor whose code is not registered waits, with its messages, for a node that has it.
    test_continue_as_new_unregistered_backoff = continued::unregistered;
    /// A successor that is tried too often fails as an execution of its own; the one before stays as it ended.
    test_continue_as_new_poisoned_successor_is_own_execution = continued::poisoned;
    /// A start that comes between two executions does not take the place of the successor's.
    test_continue_as_new_duplicate_start = continued::duplicate_start;
    /// A dequeue that lost a race takes no message along.
    test_queue_race_cancellation_replay = replayed::queue_race;
    /// What lost a race, or was never read, is there after continue-as-new.
    test_continue_as_new_queue_race_replay = continued::queue_race;
    /// Every event comes back with the version that recorded it.
    test_queue_replay_version_stamp_roundtrip = replayed::stamps;
    /// A wait that lost a race does not swallow the next signal.
    test_positional_wait_race_replay = replayed::wait_race;
    /// An execution of an older version keeps what its history says about its queue.
    test_legacy_queue_race_decision_preserved = replayed::older_decision;
}

/// Messages that come between the end of an execution and the start of its successor reach the successor, whatever version
/// ended the first: `stamp` is what its events say.
pub async fn test_continue_as_new_transition_delivery<F: ProviderFactory>(factory: &F, stamp: &str) {
    continued::transition(factory.create_provider_in_real_time().await, stamp).await;
}
