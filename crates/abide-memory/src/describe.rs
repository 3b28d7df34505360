//! What is told of one instance.

use abide_model::{Timestamp, WorkItem};
use abide_provider::rows::{MessageClass, Starter};
use abide_provider::{
    ChildOverview, InstanceOverview, LeaseOverview, OVERVIEW_COUNT, OVERVIEW_ROWS, WorkOverview, cut_output,
};

use crate::overview::count;
use crate::state::{Instance, Lease, Mailbox, Message, State, Work};
use crate::stored::Stored;

impl State {
    pub(crate) fn overview_of(&self, name: &str, now: Timestamp) -> Option<InstanceOverview> {
        let mailbox = self.mailboxes.get(name)?;
        let mail = self.mail_of(name).filter(|(_, message)| message.is_visible(now)).count();
        let start = self.start_of(name);
        let begun = match &mailbox.instance {
            Some(instance) => self.begun(name, instance, now),
            None => not_begun(start?),
        };
        Some(InstanceOverview {
            store_time: Some(now),
            mail: count(mail).min(OVERVIEW_COUNT),
            starts_at: start.and_then(|start| start.visible_at).filter(|time| *time > now),
            lease: lease_of(mailbox, now),
            ..begun
        })
    }

    /// The same of an instance that another one waits for, in short.
    pub(crate) fn child_of(&self, name: &str, now: Timestamp) -> Option<ChildOverview> {
        let overview = self.overview_of(name, now)?;
        Some(ChildOverview {
            instance: name.to_owned(),
            orchestration_name: overview.orchestration_name,
            orchestration_version: overview.orchestration_version,
            pin: overview.pin,
            status: overview.status,
            is_leased: overview.lease.is_some(),
            block: self.blocks_of(name).into_iter().next().map(|blocked| blocked.block),
        })
    }

    /// The queued start of the first or of the next execution.
    fn start_of(&self, name: &str) -> Option<&Message> {
        let has_begun = self.is_instance(name);
        let starts = |class: MessageClass| match class {
            MessageClass::ContinueAsNew => true,
            MessageClass::Start => !has_begun,
            MessageClass::Queue
            | MessageClass::Timer { .. }
            | MessageClass::Cancel
            | MessageClass::Answer
            | MessageClass::Other => false,
        };
        let starts = self.mail_of(name).filter(|(_, message)| starts(message.class));
        starts.min_by_key(|(number, message)| (message.visible_at, *number)).map(|(_, message)| message)
    }

    fn begun(&self, name: &str, instance: &Instance, now: Timestamp) -> InstanceOverview {
        let current = instance.current_execution();
        let mut children: Vec<_> =
            self.instances().filter(|child| child.instance.parent_id() == Some(name)).collect();
        children.sort_by_key(|child| (child.instance.created, child.incarnation));
        InstanceOverview {
            orchestration_name: instance.name.clone(),
            orchestration_version: instance.version.clone(),
            pin: current.and_then(|execution| execution.pin.as_ref()).map(ToString::to_string),
            execution_id: instance.current,
            executions: count(instance.executions.len()).min(OVERVIEW_COUNT),
            status: Some(instance.status()),
            output: current.and_then(|execution| execution.output.as_deref()).map(cut_output),
            created: Some(instance.created),
            updated: Some(instance.updated),
            completed: instance.ended(),
            waiting: instance.waiting.clone(),
            parent: instance.parent.clone(),
            child_count: count(children.len()).min(OVERVIEW_COUNT),
            children: children.into_iter().take(OVERVIEW_ROWS).map(|child| child.id.to_owned()).collect(),
            work: self.work_of(name, instance.current, now),
            ..InstanceOverview::default()
        }
    }

    fn work_of(&self, name: &str, execution_id: u64, now: Timestamp) -> Vec<WorkOverview> {
        let is_meant =
            |work: &&Work| work.activity.instance == name && work.activity.execution_id == execution_id;
        let mut work: Vec<_> =
            self.work.values().filter(is_meant).map(|work| work_overview(work, now)).collect();
        work.sort_by_key(|work| work.event_id);
        work.truncate(OVERVIEW_ROWS);
        work
    }
}

/// What the start says of an instance that has had no turn.
fn not_begun(start: &Message) -> InstanceOverview {
    let starter = match &start.item {
        Stored::Readable(item) => Starter::of(item),
        Stored::Unreadable(_) => None,
    };
    let Some(starter) = starter else { return InstanceOverview::default() };
    InstanceOverview {
        orchestration_name: starter.orchestration_name,
        orchestration_version: starter.orchestration_version,
        parent: starter.parent,
        ..InstanceOverview::default()
    }
}

fn work_overview(work: &Work, now: Timestamp) -> WorkOverview {
    WorkOverview {
        event_id: work.activity.activity_id,
        name: match &work.item {
            Stored::Readable(WorkItem::ActivityExecute { name, .. }) => name.clone(),
            Stored::Readable(_) | Stored::Unreadable(_) => String::new(),
        },
        tag: match &work.item {
            Stored::Readable(WorkItem::ActivityExecute { tag, .. }) => tag.clone(),
            Stored::Readable(_) | Stored::Unreadable(_) => None,
        },
        attempts: work.attempts,
        visible_at: work.visible_at.filter(|time| *time > now),
        is_held: work.held.is_some(),
        lease: work.lease.as_ref().and_then(|lease| valid(lease, now)),
    }
}

fn lease_of(mailbox: &Mailbox, now: Timestamp) -> Option<LeaseOverview> {
    mailbox.hold.as_ref().and_then(|hold| valid(&hold.lease, now))
}

/// This store does not know which node holds a lease.
fn valid(lease: &Lease, now: Timestamp) -> Option<LeaseOverview> {
    lease.is_valid(now).then_some(LeaseOverview { node: None, until: lease.until })
}
