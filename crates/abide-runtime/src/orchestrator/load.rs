//! Getting an execution to the point where its next messages can be fed: the copy that was kept, or a replay.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use abide_engine::{Execution, Foreign, ForeignListener, Identity};
use abide_model::{Event, KvEntry};
use abide_provider::{Ability, InstanceLease, Operation, Position, Rejection, StoreError};
use futures_util::FutureExt;
use futures_util::future::select;
use semver::Version;
use tracing::warn;

use super::Orchestrator;
use super::cache::{Found, Life, Resident};
use super::weight::Weight;
use crate::OrchestrationHandler;
use crate::insist::Told;

/// An instance is in use for longer than this only if the store is slow to answer; then it is replayed.
const IN_USE: Duration = Duration::from_millis(100);

/// Why an execution cannot be run now.
#[derive(Debug)]
pub(crate) enum Hindrance {
    /// Its history cannot be read, and says why.
    Unreadable(String),
    /// It was started by a version of abide that this runtime does not replay.
    Incompatible { version: Version },
    /// The store refused to read.
    Refused(StoreError),
    /// The runtime gave up.
    GivenUp,
}

impl Orchestrator {
    /// An execution at its first turn.
    pub(crate) async fn fresh(
        &self,
        lease: &Arc<InstanceLease>,
        who: Identity,
        code: Arc<dyn OrchestrationHandler>,
    ) -> Result<Box<Resident>, Hindrance> {
        let kv = if self.has_no_values(lease).await {
            BTreeMap::new()
        } else {
            Box::pin(self.read_values(lease)).await?
        };
        let life = Life::beginning_with(&kv);
        let position = Position { execution_id: who.execution_id, last_event_id: 0, ..lease.position };
        let execution = self.execution(&who, kv, code);
        let away = Some(self.cache.in_use(&lease.instance));
        Ok(Box::new(Resident { execution, position, weight: Weight::default(), life, away }))
    }

    fn execution(
        &self,
        who: &Identity,
        kv: BTreeMap<String, KvEntry>,
        code: Arc<dyn OrchestrationHandler>,
    ) -> Execution {
        Execution::new_with_listener(who.clone(), kv, code, tell_of_foreign(who))
            .with_max_payload_bytes(self.core.settings.max_payload_bytes)
    }

    /// Whether it is known that an instance, of which an execution begins, has no values: it never ran, or the execution before ended
    /// here and left none.
    async fn has_no_values(&self, lease: &InstanceLease) -> bool {
        if lease.status.is_none() {
            return true;
        }
        let ended = self.take_if(&lease.instance, |kept| kept.position == lease.position).await;
        ended.is_some_and(|ended| !ended.life.has_values)
    }

    /// An execution that goes on: kept, or replayed.
    pub(crate) async fn resumed(
        &self,
        lease: &Arc<InstanceLease>,
        who: Identity,
        code: Arc<dyn OrchestrationHandler>,
    ) -> Result<Box<Resident>, Hindrance> {
        if let Some(kept) = self.take_if(&lease.instance, |_| true).await
            && let Some(kept) = self.caught_up(lease, kept).await?
        {
            return Ok(kept);
        }
        let away = Some(self.cache.in_use(&lease.instance));
        let history = Box::pin(self.read_compatible_history(lease)).await?;
        let kv = Box::pin(self.read_values(lease)).await?;
        let life = Life::beginning_with(&kv);
        let mut cold = Box::new(Resident {
            execution: self.execution(&who, kv, code),
            position: Position { last_event_id: 0, ..lease.position },
            weight: Weight::default(),
            life,
            away,
        });
        relive(&mut cold, history);
        Ok(cold)
    }

    /// What is kept of an instance, if it is as wanted. If it is in use, that is over in a moment: its turn is committed, or else
    /// there would be nothing to take it for.
    pub(super) async fn take_if(
        &self,
        instance: &str,
        wanted: impl Fn(&Resident) -> bool,
    ) -> Option<Box<Resident>> {
        let found = match self.cache.take_if(instance, &wanted) {
            Found::InUse(over) => {
                let too_long = Box::pin(self.core.caller.pause_unless_given_up(IN_USE));
                let _either = select(over, too_long).await;
                self.cache.take_if(instance, wanted)
            }
            found @ (Found::Here(_) | Found::Nothing) => found,
        };
        match found {
            Found::Here(kept) => {
                self.core.metrics.set_instances_resident(self.cache.len());
                Some(kept)
            }
            Found::InUse(_) | Found::Nothing => None,
        }
    }

    /// A kept copy, with what others committed since; `None` if the store does not vouch for it.
    async fn caught_up(
        &self,
        lease: &Arc<InstanceLease>,
        kept: Box<Resident>,
    ) -> Result<Option<Box<Resident>>, Hindrance> {
        let mut kept = kept;
        let (ours, theirs) = (kept.position, lease.position);
        let is_same_execution = lease.preloaded.is_none()
            && ours.incarnation == theirs.incarnation
            && ours.execution_id == theirs.execution_id;
        if !is_same_execution || ours.last_event_id > theirs.last_event_id {
            return Ok(None);
        }
        if ours.last_event_id < theirs.last_event_id {
            let tail = Box::pin(self.read_history(lease, ours.last_event_id)).await?;
            relive(&mut kept, tail);
        }
        Ok(Some(kept))
    }

    /// The whole history of an execution, if this build may take it up.
    pub(crate) async fn read_compatible_history(
        &self,
        lease: &Arc<InstanceLease>,
    ) -> Result<Vec<Event>, Hindrance> {
        let history = self.read_history(lease, 0).await?;
        self.check_pin(&history)?;
        Ok(history)
    }

    pub(super) async fn read_history(
        &self,
        lease: &Arc<InstanceLease>,
        after: u64,
    ) -> Result<Vec<Event>, Hindrance> {
        let (store, lease) = (Arc::clone(&self.core.store), Arc::clone(lease));
        let call = move || {
            let (store, lease) = (Arc::clone(&store), Arc::clone(&lease));
            async move { store.read_history_after(&lease, after).await }.boxed()
        };
        told(self.core.insist_on_read(Operation::ReadHistoryAfter, call).await)
    }

    pub(super) async fn read_values(
        &self,
        lease: &Arc<InstanceLease>,
    ) -> Result<BTreeMap<String, KvEntry>, Hindrance> {
        let (store, lease) = (Arc::clone(&self.core.store), Arc::clone(lease));
        let call = move || {
            let (store, lease) = (Arc::clone(&store), Arc::clone(&lease));
            async move { store.read_kv_snapshot(&lease).await }.boxed()
        };
        told(self.core.insist_on_read(Operation::ReadKvSnapshot, call).await)
    }

    /// A store that ignores the capability filter may hand out what this build must not touch.
    fn check_pin(&self, history: &[Event]) -> Result<(), Hindrance> {
        let stamp = history.first().map(|event| event.duroxide_version.as_str());
        let Some(version) = stamp.and_then(|stamp| Version::parse(stamp).ok()) else { return Ok(()) };
        if self.core.settings.supported_replay_versions.contains(&version) {
            return Ok(());
        }
        Err(Hindrance::Incompatible { version })
    }

    /// Keeps an execution for its next turn, if that can ever be found out to be current.
    pub(crate) fn keep(&self, instance: String, resident: Box<Resident>) {
        if self.core.abilities.has(Ability::Incarnations) {
            self.cache.put(instance, resident);
            self.core.metrics.set_instances_resident(self.cache.len());
        }
    }
}

fn told<T>(told: Told<T>) -> Result<T, Hindrance> {
    match told {
        Told::Done(read) => Ok(read),
        Told::GivenUp => Err(Hindrance::GivenUp),
        Told::Refused { error, .. } if error.rejection() == Some(Rejection::Corrupt) => {
            Err(Hindrance::Unreadable(error.message))
        }
        Told::Refused { error, .. } => Err(Hindrance::Refused(error)),
    }
}

/// Takes in events that were committed before.
fn relive(resident: &mut Resident, history: Vec<Event>) {
    let Resident { execution, position, weight, life, .. } = resident;
    for event in &history {
        weight.note(event);
    }
    life.relive(&history);
    position.last_event_id = history.last().map_or(position.last_event_id, Event::event_id);
    if execution.replay(history).is_err() {
        // Only possible while a turn waits for its host, and then the execution is not kept.
        warn!(target: "abide::runtime", "an execution in the middle of a turn was asked to replay");
    }
}

fn tell_of_foreign(who: &Identity) -> ForeignListener {
    let (instance, orchestration) = (who.instance.clone(), who.orchestration.clone());
    Arc::new(move |what: Foreign| {
        warn!(target: "abide::orchestration", instance_id = %instance, orchestration_name = %orchestration,
            "the orchestration uses asynchrony that is not durable and will fail: {what}");
    })
}
