//! Word of changes to an instance.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::{Arc, Mutex};

use abide_model::{Event, EventKind};
use abide_provider::{
    Authority, ChangeListeners, Changes, Committed, DeleteInstanceResult, InstanceFilter, TurnCommit,
};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// Nothing is told.
    NothingTold => "changes::test_first_turn_is_told";
    /// That an instance came to be is not told.
    BirthNotTold { muted: Muted } => "changes::test_first_turn_is_told";
    /// That an instance failed is not told.
    FailureNotTold { muted: Muted } => "changes::test_end_is_told";
    /// A custom status is not told.
    CustomStatusNotTold { muted: Muted } => "changes::test_custom_status_is_told";
    /// That a custom status is taken back is not told.
    ResetNotTold { muted: Muted } => "changes::test_custom_status_is_told";
    /// Values are not told.
    ValuesNotTold { muted: Muted } => "changes::test_values_are_told";
    /// Appended events are not told.
    AppendedNotTold { muted: Muted } => "changes::test_appended_events_are_told";
    /// Of several turns in one call only the first is told.
    FirstOfBatchTold { muted: Muted } => "changes::test_every_turn_of_a_batch_is_told";
    /// A fused step is not told.
    FusedNotTold { muted: Muted } => "changes::test_fused_step_is_told";
    /// That an instance was deleted is not told.
    DeletionNotTold { muted: Muted } => "changes::test_deletion_is_told";
    /// That instances were deleted by a filter is not told.
    BulkDeletionNotTold { muted: Muted } => "changes::test_deletion_of_many_is_told";
    /// Who listens is told from the first poll on.
    ToldFromFirstPoll => "changes::test_change_before_the_first_poll_is_told";
    /// A change is told before it is committed.
    ToldTooEarly { listeners: ChangeListeners } => "changes::test_change_is_told_after_it_can_be_seen";
    /// Only the last one who listens to an instance is told.
    LastListenerTold { last: Arc<Mutex<BTreeMap<String, u64>>> } => "changes::test_everyone_who_listens_to_an_instance_is_told";
    /// Every change is told, however many nobody took note of.
    EveryChangeTold { changes: Arc<Mutex<u64>> } => "changes::test_many_changes_are_told_in_few_words";
    /// Who was told once is told no more: the stream ends.
    OneWord => "changes::test_word_of_changes_does_not_end";
}

/// Instances whose next change is not told.
#[derive(Default, Clone)]
struct Muted(Arc<Mutex<BTreeSet<String>>>);

impl Muted {
    fn mute(&self, instance: &str) {
        self.0.lock().unwrap().insert(instance.to_owned());
    }

    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        let (muted, instance) = (self.clone(), instance.to_owned());
        let told = store.changes(&instance)?;
        Some(Box::pin(told.filter(move |()| ready(!muted.0.lock().unwrap().remove(&instance)))))
    }
}

fn has(commit: &TurnCommit, is_meant: impl Fn(&EventKind) -> bool) -> bool {
    commit.turn.events.iter().any(|event| is_meant(&event.kind))
}

/// Does not tell of some commits.
macro_rules! mutes {
    ($bug:ident, $is_meant:expr) => {
        #[async_trait]
        impl Bug for $bug {
            async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
                let is_meant: fn(&Store, &TurnCommit) -> bool = $is_meant;
                if is_meant(store, &commit) {
                    self.muted.mute(&commit.instance);
                }
                store.commit(commit).await
            }

            fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
                self.muted.changes(store, instance)
            }
        }
    };
}

mutes!(BirthNotTold, |store, commit| !store.is_instance(&commit.instance));
mutes!(FailureNotTold, |_, commit| {
    has(commit, |kind| matches!(kind, EventKind::OrchestrationFailed { .. }))
});
mutes!(CustomStatusNotTold, |_, commit| {
    has(commit, |kind| matches!(kind, EventKind::CustomStatusUpdated { .. }))
});
mutes!(ResetNotTold, |_, commit| {
    has(commit, |kind| matches!(kind, EventKind::CustomStatusUpdated { status: None }))
});
mutes!(ValuesNotTold, |_, commit| {
    has(commit, |kind| matches!(kind, EventKind::KeyValueSet { .. } | EventKind::KeyValuesCleared))
});
mutes!(FusedNotTold, |_, commit| matches!(commit.authority, Authority::FinishedWork { .. }));

#[async_trait]
impl Bug for NothingTold {
    fn changes(&self, _: &Store, _: &str) -> Option<Changes> {
        Some(Box::pin(stream::pending()))
    }
}

#[async_trait]
impl Bug for AppendedNotTold {
    async fn append_with_execution(
        &self,
        store: &Store,
        instance: &str,
        execution: u64,
        events: Vec<Event>,
    ) -> Answer<()> {
        self.muted.mute(instance);
        store.append_with_execution(instance, execution, events).await
    }

    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        self.muted.changes(store, instance)
    }
}

#[async_trait]
impl Bug for FirstOfBatchTold {
    async fn commit_turns(&self, store: &Store, turns: Vec<TurnCommit>) -> Vec<StoreAnswer<Committed>> {
        for turn in turns.iter().skip(1) {
            self.muted.mute(&turn.instance);
        }
        store.commit_turns(turns).await
    }

    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        self.muted.changes(store, instance)
    }
}

#[async_trait]
impl Bug for DeletionNotTold {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        for name in store.get_instance_tree(instance).await?.all_ids {
            self.muted.mute(&name);
        }
        store.delete_instance(instance, force).await
    }

    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        self.muted.changes(store, instance)
    }
}

#[async_trait]
impl Bug for BulkDeletionNotTold {
    async fn delete_instance_bulk(
        &self,
        store: &Store,
        filter: InstanceFilter,
    ) -> Answer<DeleteInstanceResult> {
        for name in store.list_instances().await? {
            self.muted.mute(&name);
        }
        store.delete_instance_bulk(filter).await
    }

    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        self.muted.changes(store, instance)
    }
}

#[async_trait]
impl Bug for ToldFromFirstPoll {
    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        let (healthy, instance) = (store.shared(), instance.to_owned());
        let late = async move { healthy.changes(&instance).expect("a healthy store tells") };
        Some(Box::pin(stream::once(late).flatten()))
    }
}

#[async_trait]
impl Bug for ToldTooEarly {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        self.listeners.tell(&commit.instance);
        tokio::task::yield_now().await;
        store.commit(commit).await
    }

    fn changes(&self, _: &Store, instance: &str) -> Option<Changes> {
        Some(self.listeners.listen(instance).changes)
    }
}

#[async_trait]
impl Bug for LastListenerTold {
    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        let number = {
            let mut last = self.last.lock().unwrap();
            let number = last.entry(instance.to_owned()).or_default();
            *number += 1;
            *number
        };
        let (last, instance) = (Arc::clone(&self.last), instance.to_owned());
        let told = store.changes(&instance)?;
        Some(Box::pin(told.filter(move |()| ready(last.lock().unwrap().get(&instance) == Some(&number)))))
    }
}

#[async_trait]
impl Bug for EveryChangeTold {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        *self.changes.lock().unwrap() += 1;
        store.commit(commit).await
    }

    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        let changes = Arc::clone(&self.changes);
        let mut heard = *changes.lock().unwrap();
        let told = store.changes(instance)?;
        Some(Box::pin(told.flat_map(move |()| {
            let now = *changes.lock().unwrap();
            let unheard = usize::try_from(now - heard).expect("not so many").max(1);
            heard = now;
            stream::repeat(()).take(unheard)
        })))
    }
}

#[async_trait]
impl Bug for OneWord {
    fn changes(&self, store: &Store, instance: &str) -> Option<Changes> {
        Some(Box::pin(store.changes(instance)?.take(1)))
    }
}
