//! Writing the rows of a turn that may be written.

use std::collections::BTreeMap;

use abide_model::{Event, PruneResult, Timestamp};
use abide_provider::PRUNE_BATCH;
use abide_provider::rows::{CommitRows, InstanceRow, MessageClass, TimerRows};

use crate::state::{Execution, Instance, Mailbox, State};
use crate::stored::Stored;

impl State {
    /// Executes the rows in the order of the specification, and says what was pruned.
    pub(crate) fn write(&mut self, name: &str, rows: CommitRows, now: Timestamp) -> Option<PruneResult> {
        let creates_instance = rows.creates_instance();
        let shows_something = rows.shows_something();
        let CommitRows {
            execution_id,
            history,
            instance,
            kv,
            work,
            revoked,
            messages,
            timers,
            prune,
            still_refused: _,
        } = rows;
        let mailbox = self.mailbox_mut(name);
        // Without one, and without a reason for one, there is only mail to send.
        if mailbox.instance.is_some() || creates_instance {
            let is_new = mailbox.instance.as_ref().map(|instance| instance.current) != Some(execution_id);
            mailbox.write_instance(execution_id, instance, history, now);
            mailbox.change_kv(kv);
            if is_new || shows_something {
                self.has_changed(name);
            }
        }
        for row in work {
            self.keep_work(row);
        }
        for (activity, because) in revoked {
            self.steal_work(&because, now, |work| work.activity == activity);
        }
        for row in messages {
            self.post(row, now);
        }
        self.remove_timers(name, execution_id, &timers);
        self.settle_waiting(name, now);
        prune.map(|options| self.prune(name, &options, PRUNE_BATCH, now))
    }

    fn remove_timers(&mut self, name: &str, execution_id: u64, timers: &TimerRows) {
        self.messages.retain(|_, message| match message.class {
            MessageClass::Timer { execution_id: of, event_id } => {
                let is_named = match timers {
                    TimerRows::All => true,
                    TimerRows::These(events) => events.contains(&event_id),
                };
                !(message.mailbox == name && of == execution_id && is_named)
            }
            MessageClass::Start
            | MessageClass::ContinueAsNew
            | MessageClass::Queue
            | MessageClass::Answer
            | MessageClass::Cancel
            | MessageClass::Other => true,
        });
    }
}

impl Mailbox {
    fn write_instance(&mut self, execution_id: u64, row: InstanceRow, history: Vec<Event>, now: Timestamp) {
        let instance = self.instance.get_or_insert_with(|| Instance::new(execution_id, now));
        instance.write(&row, now);
        instance.current = execution_id;
        let execution = instance.executions.entry(execution_id).or_insert_with(|| Execution::new(now));
        execution.write(row, now);
        execution.events.extend(history.into_iter().map(|event| (event.event_id, Stored::Readable(event))));
    }
}

impl Instance {
    fn new(current: u64, now: Timestamp) -> Self {
        Self {
            name: String::new(),
            version: "unknown".to_owned(),
            parent: None,
            current,
            executions: BTreeMap::new(),
            custom_status: None,
            custom_status_version: 0,
            waiting: None,
            created: now,
            updated: now,
        }
    }

    fn write(&mut self, row: &InstanceRow, now: Timestamp) {
        if let Some(name) = &row.name {
            self.name.clone_from(name);
        }
        if let Some(version) = &row.version {
            self.version.clone_from(version);
        }
        if self.parent.is_none() {
            self.parent.clone_from(&row.parent);
        }
        if let Some(status) = &row.custom_status {
            self.custom_status = status.clone().into_value();
            self.custom_status_version = self.custom_status_version.saturating_add(1);
        }
        self.waiting.clone_from(&row.waiting);
        self.updated = now;
    }
}

impl Execution {
    fn write(&mut self, row: InstanceRow, now: Timestamp) {
        if row.pin.is_some() {
            self.pin = row.pin;
        }
        if let Some(status) = row.status {
            self.status = status;
            self.output = row.output;
            self.completed = status.is_terminal().then_some(now);
        }
    }
}
