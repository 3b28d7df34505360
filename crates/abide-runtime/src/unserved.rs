//! Telling operators of work that no live node serves.
//!
//! A turn that schedules something this node has no handler for looks at the announced nodes, at most once
//! per minute for each name, version and tag. Nothing is polled: what is served here costs a lookup in the
//! registries.

use std::sync::Arc;

use abide_engine::TurnOutput;
use abide_model::WorkItem;
use abide_provider::rows::Starter;
use abide_provider::{Ability, HandlerKind, Node, Operation, Unserved};
use futures_util::FutureExt;
use tracing::{debug, warn};

use crate::core::Core;
use crate::reminders::Topic;
use crate::store_call::{Called, PATIENCE};

/// Something that a turn asked for and that this node has no handler for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    kind: HandlerKind,
    name: String,
    /// Of an orchestration, if the start names one.
    version: Option<String>,
    /// Of an activity, if it has one.
    tag: Option<String>,
}

impl Missing {
    /// What a turn asks for that this node cannot run. Mostly nothing.
    pub(crate) fn of(core: &Core, output: &TurnOutput) -> Vec<Self> {
        if !core.abilities.has(Ability::Nodes) {
            return Vec::new();
        }
        let activities = output.worker_items.iter().filter_map(|item| Self::activity(core, item));
        let starts = output.orchestrator_items.iter().filter_map(|item| Self::orchestration(core, item));
        activities.chain(starts).collect()
    }

    fn activity(core: &Core, item: &WorkItem) -> Option<Self> {
        let WorkItem::ActivityExecute { name, tag, .. } = item else { return None };
        let is_here = core.settings.worker_concurrency > 0
            && core.activities.has(name)
            && core.settings.worker_tag_filter.matches(tag.as_deref());
        let missing =
            || Self { kind: HandlerKind::Activity, name: name.clone(), version: None, tag: tag.clone() };
        (!is_here).then(missing)
    }

    fn orchestration(core: &Core, item: &WorkItem) -> Option<Self> {
        let Starter { orchestration_name: name, orchestration_version: version, .. } = Starter::of(item)?;
        let is_here =
            core.settings.orchestration_concurrency > 0 && core.serving.has_orchestration(&name, &version);
        let version = Some(version);
        (!is_here).then_some(Self { kind: HandlerKind::Orchestration, name, version, tag: None })
    }

    fn check(&self, nodes: &[Node]) -> Option<Unserved> {
        match self.kind {
            HandlerKind::Activity => Unserved::activity(&self.name, self.tag.as_deref(), nodes),
            HandlerKind::Orchestration => Unserved::orchestration(&self.name, self.version.as_deref(), nodes),
        }
    }

    fn topic(&self) -> Topic {
        let (kind, name) = (self.kind, self.name.clone());
        let detail = self.version.clone().or_else(|| self.tag.clone());
        Topic::Unserved { kind, name, detail }
    }
}

/// Warns of what no live node serves, in a task of its own: the turn is committed, and its slot is not held
/// for this.
pub(crate) fn tell(core: &Arc<Core>, instance: &str, missing: &[Missing]) {
    let now = core.clock.monotonic();
    let is_due = |missing: &&Missing| core.reminders.is_due(missing.topic(), now);
    let due: Vec<Missing> = missing.iter().filter(is_due).cloned().collect();
    if due.is_empty() {
        return;
    }
    let (shared, instance) = (Arc::clone(core), instance.to_owned());
    core.spawn("unserved names", async move { look(&shared, &instance, &due).await }.boxed());
}

async fn look(core: &Core, instance: &str, due: &[Missing]) {
    let store = Arc::clone(&core.store);
    let call = async move { store.nodes().await };
    let nodes = match core.caller.call(Operation::Nodes, PATIENCE, call.boxed()).await {
        Called::Answered(Ok(nodes)) => nodes,
        Called::Answered(Err(error)) | Called::Unanswered(error) => {
            debug!(target: "abide::runtime", %error, "the nodes of the store could not be listed");
            return;
        }
    };
    for unserved in due.iter().filter_map(|missing| missing.check(&nodes)) {
        warn!(target: "abide::runtime", instance_id = %instance,
            "{unserved}; it waits until a node that does is started");
    }
}
