//! Situations outside of turns: time, mail, sessions, reading, the end of a process.

use abide_model::WorkItem;
use abide_provider::Lane;

use super::{Coverage, Scene};
use crate::op::{MailOp, ReadOp, SessionOp};

impl Coverage {
    pub(super) fn time(&mut self, Scene { before, after, world, .. }: Scene<'_>) {
        let ran_out = |(name, instance): (&String, &abide_memory::dump::InstanceDump)| {
            instance.leased_until.is_some_and(|until| until <= world.now)
                && after.instances.get(name).is_some_and(|now| now.leased_until.is_none())
        };
        self.note("a lease on an instance ran out", before.instances.iter().any(ran_out));
        let ran_out = before.work.values().any(|work| work.leased_until.is_some_and(|end| end <= world.now));
        self.note("a lease on work ran out", ran_out);
        let on_time = before.work.values().any(|work| work.leased_until == Some(world.now));
        self.note("a lease on work ended this very millisecond", on_time);
        let appeared = |number: &u64| after.messages.get(number).is_some_and(|now| now.visible_at.is_none());
        let hidden = before.messages.iter().filter(|(_, message)| message.visible_at.is_some());
        self.note("a hidden message appeared", hidden.map(|(number, _)| number).any(appeared));
        let appeared = |number: &u64| after.work.get(number).is_some_and(|now| now.visible_at.is_none());
        let hidden = before.work.iter().filter(|(_, work)| work.visible_at.is_some());
        self.note("hidden work appeared", hidden.map(|(number, _)| number).any(appeared));
        let forgotten = before.request_keys.keys().any(|key| !after.request_keys.contains_key(key));
        self.note("a request was forgotten", forgotten);
    }

    pub(super) fn mail(&mut self, op: &MailOp, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let arrived = after.messages.len() > before.messages.len();
        match op {
            MailOp::Enqueue { item: WorkItem::QueueMessage { instance, .. }, .. } => {
                let is_instance = before.instances.get(instance).is_some_and(|found| found.is_instance);
                self.note("a queue message for nobody was dropped", !arrived);
                self.note("a queue message waits for a start", arrived && !is_instance);
            }
            MailOp::Enqueue { delay, .. } => {
                let hidden =
                    after.messages.last_key_value().is_some_and(|(_, last)| last.visible_at.is_some());
                self.note("a message was delayed", arrived && delay.is_some() && hidden);
                self.note("what is no message was refused", scene.is_refused());
                self.note("a timer or an answer for nobody was dropped", scene.is_done() && !arrived);
            }
            MailOp::EnqueueOnce { key, .. } => {
                let key = format!("{:032x}", u128::from_be_bytes([*key; 16]));
                let repeated = scene.is_done() && before.request_keys.contains_key(&key);
                self.note("a repeated request was ignored", repeated && !arrived);
                self.note("a request was new", arrived);
                self.note("a request made no sense", scene.is_refused());
            }
            MailOp::EnqueueExisting { item, .. } => {
                let to = item.addressee().unwrap_or_default();
                let is_instance = before.instances.get(to).is_some_and(|found| found.is_instance);
                self.note("a message reached an instance that exists", arrived && is_instance);
                self.note("a message reached an instance that is about to start", arrived && !is_instance);
                self.note("a message for what must exist was refused", scene.is_refused());
            }
            MailOp::StartOnce { item, key, .. } => self.started_once(item, *key, scene),
            MailOp::EnqueueWork { item } => {
                self.note("what is no activity was refused", scene.is_refused());
                if let WorkItem::ActivityExecute { instance, execution_id, id, .. } = item {
                    let same = |work: &abide_memory::dump::WorkDump| {
                        (&work.instance, work.execution, work.activity) == (instance, *execution_id, *id)
                    };
                    self.note("the same activity was enqueued twice", before.work.values().any(same));
                    self.note("an activity of nobody was enqueued", !before.instances.contains_key(instance));
                }
            }
        }
    }

    fn started_once(&mut self, item: &WorkItem, key: u8, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let WorkItem::StartOrchestration { instance, .. } = item else {
            return self.note("what starts nothing was refused", scene.is_refused());
        };
        let arrived = after.messages.len() > before.messages.len();
        let found = before.instances.get(instance);
        let is_instance = found.is_some_and(|found| found.is_instance);
        let starts = || {
            let of_it = before.messages.iter().filter(|(_, message)| message.mailbox == *instance);
            of_it.filter(|(_, message)| ["Start", "ContinueAsNew"].contains(&message.class.as_str()))
        };
        let is_leased = |number: &u64| found.is_some_and(|found| found.batch.contains(number));
        let exists = scene.answer() == "Ok(Exists)";
        let waits = exists && !is_instance;
        let key = format!("{:032x}", u128::from_be_bytes([key; 16]));
        let repeated = before.request_keys.contains_key(&key) && scene.answer() == "Ok(Created)";
        self.note("a start created", arrived);
        self.note("a start met an instance", exists && is_instance);
        self.note("a start met one that waits", waits);
        self.note(
            "a start met one that is delayed",
            waits && starts().all(|(_, at)| at.visible_at.is_some()),
        );
        self.note("a start met one that is leased", waits && starts().all(|(number, _)| is_leased(number)));
        self.note("a repeated start met its own instance", repeated && is_instance);
        self.note("a start met other mail", arrived && found.is_some());
    }

    pub(super) fn session(&mut self, op: &SessionOp, scene: Scene<'_>) {
        let nothing = scene.answer() == "Ok(0)";
        match op {
            SessionOp::Renew { owners, .. } => {
                self.note("sessions were renewed", scene.is_done() && !nothing);
                self.note("no session was to be renewed", nothing && !owners.is_empty());
            }
            SessionOp::RenewServed { .. } => {
                self.note("served sessions were renewed", scene.is_done() && !nothing);
                self.note("no served session was to be renewed", nothing);
            }
            SessionOp::Cleanup { .. } => {
                self.note("orphaned sessions were forgotten", scene.is_done() && !nothing);
                self.note("a session was kept", nothing && !scene.before.sessions.is_empty());
            }
        }
    }

    fn status(&mut self, instance: &str, scene: Scene<'_>) {
        let found = scene.before.instances.get(instance);
        let is_between = found.is_some_and(|found| found.status.as_deref() == Some("ContinuedAsNew"));
        let says = |text: &str| scene.answer().starts_with(text);
        self.note("nobody has no status", says("Ok(NotFound"));
        self.note("a status was read that runs", says("Ok(Running"));
        self.note("a status was read between two executions", is_between && says("Ok(Running"));
        self.note("a status was read that completed", says("Ok(Completed"));
        self.note("a status was read that failed", says("Ok(Failed"));
        self.note("a status could not be read", scene.is_refused());
    }

    pub(super) fn read(&mut self, op: &ReadOp, scene: Scene<'_>) {
        let answer = scene.answer();
        let found = scene.is_done() && !["Ok([])", "Ok({})", "Ok(None)"].contains(&answer);
        match op {
            ReadOp::History { .. } => {
                self.note("a history was read", found);
                self.note("a history could not be read", scene.is_refused());
            }
            ReadOp::Execution { instance, execution_id } => {
                let current = scene.before.instances.get(instance).map_or(0, |found| found.execution);
                self.note("an execution was read", found);
                self.note("an earlier execution was read", found && *execution_id < current);
            }
            ReadOp::HistoryAfter { after, .. } => {
                self.note("what follows an event was read", found && *after > 0);
                self.note("nothing follows an event", answer == "Ok([])");
                self.note("what follows an event could not be read", scene.is_refused_as("Corrupt"));
                self.note("a history is lost with its instance", scene.is_refused_as("LeaseLost"));
            }
            ReadOp::Snapshot { .. } => {
                self.note("a snapshot was read", found);
                self.note("a snapshot is lost with its instance", scene.is_refused_as("LeaseLost"));
            }
            ReadOp::Status { instance } => self.status(instance, scene),
            ReadOp::Overview { .. } => self.overview(answer, found),
            ReadOp::Children { .. } => {
                self.note("children were read", found);
                self.note("a blocked child was read", answer.contains("block: Some"));
                self.note("a child was read whose start is queued", answer.contains("status: None"));
            }
            ReadOp::CustomStatus { .. } => {
                self.note("a custom status was read", found);
                self.note("a custom status was not news", answer == "Ok(None)");
            }
            ReadOp::KvValue { instance, key } => {
                let key = (instance.clone(), key.clone());
                let changed = scene.before.kv_delta.get(&key);
                let both = scene.before.kv_store.contains_key(&key) && changed.is_some();
                self.note("a value was read", found);
                self.note("a newer value was read", both && found);
                self.note("a cleared value was not read", both && !found);
            }
            ReadOp::KvAll { instance } => {
                self.note("all values were read", found);
                self.note("newer values were read", found && scene.has_newer_values(instance));
            }
            ReadOp::Stats { instance } => {
                self.note("statistics of newer values were read", found && scene.has_newer_values(instance));
                self.note("statistics were read", found);
                self.note("statistics could not be read", scene.is_refused());
            }
            ReadOp::NextDue(Lane::Instances) => {
                let hidden = scene.before.messages.values().filter_map(|message| message.visible_at);
                let leased = scene.before.instances.values().filter_map(|instance| instance.leased_until);
                self.note("an instance is due", found);
                self.note("the first of several messages is due", found && is_mixed(hidden));
                self.note("the first of several leased instances is due", found && is_mixed(leased));
            }
            ReadOp::NextDue(Lane::Work) => {
                let hidden = scene.before.work.values().filter_map(|work| work.visible_at);
                let leased = scene.before.work.values().filter_map(|work| work.leased_until);
                let sessions = scene.before.sessions.values().map(|session| session.locked_until);
                let locked = sessions.filter(|until| *until > scene.world.now);
                self.note("work is due", found);
                self.note("the first of several hidden activities is due", found && is_mixed(hidden));
                self.note("the first of several leased activities is due", found && is_mixed(leased));
                self.note("the first of several sessions is due", found && is_mixed(locked));
            }
        }
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "one fact about the answer")]
    fn overview(&mut self, answer: &str, found: bool) {
        self.note("an overview was read", found);
        self.note("an overview has what an instance waits for", answer.contains("waiting: Some"));
        self.note("an overview of a start was read", answer.contains("execution_id: 0, executions: 0"));
    }

    pub(super) fn restart(&mut self, Scene { before, .. }: Scene<'_>) {
        let instance = before.instances.values().any(|instance| instance.leased_until.is_some());
        let work = before.work.values().any(|work| work.leased_until.is_some());
        self.note("a process ended that held an instance", instance);
        self.note("a process ended that held work", work);
    }
}

impl Scene<'_> {
    /// Whether the current execution changed what earlier ones left.
    fn has_newer_values(&self, instance: &str) -> bool {
        let mut left = self.before.kv_store.keys().filter(|(name, _)| name == instance);
        left.any(|key| self.before.kv_delta.contains_key(key))
    }
}

/// Whether there is more than one time.
fn is_mixed(times: impl Iterator<Item = u64>) -> bool {
    times.collect::<std::collections::BTreeSet<_>>().len() > 1
}
