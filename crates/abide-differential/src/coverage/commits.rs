//! Situations of committing.

use abide_memory::dump::MessageDump;
use abide_model::{EventKind, WorkItem};
use abide_provider::{Consumed, Turn};

use super::{Coverage, Scene};
use crate::op::{Commit, Right};

impl Coverage {
    pub(super) fn committed(&mut self, commit: &Commit, scene: Scene<'_>) {
        let name = &commit.instance;
        match &commit.right {
            Right::Lease(_) => {
                self.note("a turn was committed", scene.is_done());
                self.note("a turn was refused: lease lost", scene.is_refused_as("LeaseLost"));
                self.note("a turn was refused: invalid", scene.is_refused_as("Invalid"));
                self.note("a turn was refused: conflict", scene.is_refused_as("Conflict"));
                self.consumed(&commit.consumed, name, scene);
            }
            Right::FinishedWork { expected, .. } => {
                self.note("a fused step was committed", scene.is_done());
                self.note("a fused step was refused: lease lost", scene.is_refused_as("LeaseLost"));
                self.note("a fused step was refused: invalid", scene.is_refused_as("Invalid"));
                self.note("a fused step was refused: conflict", scene.is_refused_as("Conflict"));
                let is_busy = scene.is_refused_as("Busy");
                let before = scene.before.instances.get(name);
                let is_leased = before.is_some_and(|instance| instance.leased_until.is_some());
                let has_moved = before.is_some_and(|instance| {
                    (instance.incarnation, instance.execution, instance.last_event_id)
                        != (expected.incarnation, expected.execution_id, expected.last_event_id)
                });
                self.note("a fused step was refused: leased", is_busy && is_leased);
                self.note("a fused step was refused: moved on", is_busy && !is_leased && has_moved);
                self.note("a fused step was refused: mail", is_busy && !is_leased && !has_moved);
            }
        }
        if scene.is_done() {
            self.written(&commit.turn, scene);
            self.executions(&commit.turn, name, scene);
        }
    }

    fn consumed(&mut self, consumed: &Consumed, name: &str, scene: Scene<'_>) {
        let Consumed::These(these) = consumed else { return };
        let batch = scene.before.instances.get(name).map(|instance| instance.batch.clone());
        let batch = batch.unwrap_or_default();
        let (used, left): (Vec<u64>, Vec<u64>) =
            batch.iter().partition(|number| these.iter().any(|id| id.0 == **number));
        self.note(
            "a batch was consumed in part",
            scene.is_done()
                && !used.is_empty()
                && left.iter().any(|no| scene.after.messages.contains_key(no)),
        );
        let is_foreign = these.iter().any(|id| !batch.contains(&id.0));
        self.note("a message outside of the batch was named", scene.is_done() && is_foreign);
    }

    fn executions(&mut self, turn: &Turn, name: &str, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let (was, is) = (before.instances.get(name), after.instances.get(name));
        let existed = was.is_some_and(|instance| instance.is_instance);
        let exists = is.is_some_and(|instance| instance.is_instance);
        self.note("an instance was created", !existed && exists);
        self.note("an empty turn of nobody only consumed", !existed && !exists);
        self.note("a turn began an execution", existed && is.map(|i| i.execution) > was.map(|i| i.execution));
        let status = |found: Option<&abide_memory::dump::InstanceDump>| {
            found.and_then(|instance| instance.status.clone()).unwrap_or_default()
        };
        let (was, is) = (status(was), status(is));
        self.note("an execution completed", was != is && is == "Completed");
        self.note("an execution failed", was != is && is == "Failed");
        self.note("an execution continued as new", was != is && is == "ContinuedAsNew");
        let had_delta = before.kv_delta.keys().any(|(instance, _)| instance == name);
        self.note("a key-value delta was folded", ends(turn) && had_delta);
        let cleared =
            after.kv_delta.iter().any(|((instance, _), change)| instance == name && change.is_none());
        self.note("a key has a tombstone", cleared);
        self.timers(turn, name, scene);
    }

    fn timers(&mut self, turn: &Turn, name: &str, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let batch = before.instances.get(name).map(|instance| instance.batch.clone()).unwrap_or_default();
        let is_removed = |(number, message): (&u64, &MessageDump)| {
            message.class == "Timer"
                && message.mailbox == *name
                && !batch.contains(number)
                && !after.messages.contains_key(number)
        };
        let removed = before.messages.iter().any(is_removed);
        self.note("a timer was removed by name", removed && !ends(turn));
        self.note("timers were removed with their execution", removed && ends(turn));
        let in_batch = turn.removed_timers.iter().any(|_| !batch.is_empty());
        self.note("timers were removed under a lease with mail", in_batch);
    }

    /// What the rows of a turn did.
    pub(super) fn written(&mut self, turn: &Turn, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let pruned = before.executions.keys().any(|key| !after.executions.contains_key(key));
        self.note("an execution was pruned", pruned);
        self.note("nothing was to be pruned", turn.prune.is_some() && !pruned);
        let taken_back = |cancelled: &abide_model::ScheduledActivityIdentifier| {
            let meant = |work: &abide_memory::dump::WorkDump| {
                (&work.instance, work.execution, work.activity)
                    == (&cancelled.instance, cancelled.execution_id, cancelled.activity_id)
            };
            before.work.values().any(meant) && !after.work.values().any(meant)
        };
        self.note("work was taken back", turn.cancelled_activities.iter().any(taken_back));
        let never_there = |item: &WorkItem| {
            if let WorkItem::ActivityExecute { id, .. } = item {
                turn.cancelled_activities.iter().any(|cancelled| cancelled.activity_id == *id)
            } else {
                false
            }
        };
        self.note("work was taken back by its own turn", turn.worker_items.iter().any(never_there));
        let is_retry = |work: &abide_memory::dump::WorkDump| work.step.is_some_and(|step| step.number > 1);
        let retries =
            |dump: &abide_memory::dump::Dump| dump.work.values().filter(|work| is_retry(work)).count();
        self.note("a turn scheduled a retry", retries(after) > retries(before));
        let sent = after.messages.len() + turn.orchestrator_items.len() > before.messages.len();
        self.note("a turn sent mail", sent && !turn.orchestrator_items.is_empty());
        let event = |wanted: fn(&EventKind) -> bool| turn.events.iter().any(|event| wanted(&event.kind));
        let all_cleared = event(|kind| matches!(kind, EventKind::KeyValuesCleared));
        self.note("all keys were cleared", all_cleared && !before.kv_store.is_empty());
        let is_reset = event(|kind| matches!(kind, EventKind::CustomStatusUpdated { status: None }));
        self.note("a custom status was reset", is_reset);
        self.note("an execution was pinned", turn.metadata.pinned_duroxide_version.is_some());
    }
}

/// Whether a turn ends its execution.
fn ends(turn: &Turn) -> bool {
    turn.metadata.status.as_deref().is_some_and(|status| status != "Running")
}
