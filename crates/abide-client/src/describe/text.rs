//! A description in plain English: three to six lines.

use std::fmt;

use abide_model::{OpenOperation, Timestamp, WaitKind};
use abide_provider::{Block, BlockKind, LeaseOverview, Unserved, WorkOverview};

use super::age::Age;
use super::{Description, InstanceState, OperationDescription};

/// At most this many characters of an error or detail are shown.
const SHOWN_TEXT: usize = 300;

/// At most this many operations are named beside the first.
const SHOWN_OPERATIONS: usize = 3;

/// At most this many queues are named.
const SHOWN_QUEUES: usize = 4;

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [
            Some(self.headline()),
            self.trouble(),
            self.progress(),
            self.others(),
            Some(self.code()),
            self.family(),
        ];
        for (place, line) in lines.into_iter().flatten().enumerate() {
            if place > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&line)?;
        }
        Ok(())
    }
}

impl Description {
    /// Where it stands, or what it waits for.
    fn headline(&self) -> String {
        let id = &self.instance_id;
        match &self.state {
            InstanceState::Pending { starts_at } => self.pending(*starts_at),
            InstanceState::Running => format!("{id} is {}.", self.waiting()),
            InstanceState::Blocked => self.own_block().map_or_else(
                || format!("{id} is blocked."),
                |block| format!("{id} is blocked ({}) for {}.", at_event(block), self.since(block.since)),
            ),
            InstanceState::Completed { at } => format!("{id} completed{}.", self.ago(*at)),
            InstanceState::Failed { at, .. } => format!("{id} failed{}.", self.ago(*at)),
            InstanceState::Canceled { at, .. } => format!("{id} was canceled{}.", self.ago(*at)),
        }
    }

    fn pending(&self, starts_at: Option<Timestamp>) -> String {
        let id = &self.instance_id;
        let what = if self.execution_id == 0 {
            format!("{id} has not started: its start")
        } else {
            format!("{id} is between two executions: the start of execution {}", self.execution_id + 1)
        };
        match starts_at {
            Some(time) => format!("{what} is delayed for another {}.", Age::between(self.read_at, time)),
            None if self.lease.is_some() => format!("{what} is being taken in."),
            None => format!("{what} is queued, and no node has taken it yet."),
        }
    }

    fn waiting(&self) -> String {
        match (self.first(), self.open) {
            (Some(first), _) => format!("waiting for {}", self.phrase(&first.operation)),
            (None, None) if self.keeps_waiting => {
                "running (what it waits for is recorded with its next turn)".to_owned()
            }
            (None, None) => "running (this store does not keep what it waits for)".to_owned(),
            (None, Some(0)) => "running".to_owned(),
            (None, Some(open)) => format!("waiting for {open} operations"),
        }
    }

    /// What keeps it from going on, and what to do.
    fn trouble(&self) -> Option<String> {
        match &self.state {
            InstanceState::Failed { error, .. } => return Some(format!("Error: {}.", shown(error))),
            InstanceState::Canceled { reason, .. } => return Some(format!("Reason: {}.", shown(reason))),
            InstanceState::Completed { .. } => return None,
            InstanceState::Blocked => {
                return self.own_block().map(|block| {
                    format!("Build {} could not run it: {}.", block.build, shown(&block.detail))
                });
            }
            InstanceState::Pending { .. } | InstanceState::Running => {}
        }
        if let Some(unserved) = &self.unserved {
            return Some(sentence(unserved));
        }
        if let Some(trouble) = self.first().and_then(|first| self.trouble_of(first)) {
            return Some(trouble);
        }
        if let Some(unserved) = self.activities.iter().find_map(|each| each.unserved.as_ref()) {
            return Some(sentence(unserved));
        }
        let block = self.unlisted_hold()?;
        let event = block.event_id.map_or_else(String::new, |event| format!(" (event {event})"));
        let (since, detail) = (self.since(block.since), shown(&block.detail));
        Some(format!("Another activity{event} is quarantined for {since}: {detail}."))
    }

    /// What keeps an operation from being done.
    fn trouble_of(&self, first: &OperationDescription) -> Option<String> {
        if let Some(unserved) = &first.unserved {
            return Some(sentence(unserved));
        }
        if let Some(block) = &first.child_block {
            let (since, detail) = (self.since(block.since), shown(&block.detail));
            if block.holds_activity {
                return Some(format!("An activity of the child is quarantined for {since}: {detail}."));
            }
            return Some(format!("The child is blocked ({}) for {since}: {detail}.", at_event(block)));
        }
        let block = self.hold_of(first)?;
        let (since, detail) = (self.since(block.since), shown(&block.detail));
        Some(format!("The activity is quarantined for {since}: {detail}."))
    }

    /// What is being done about it.
    fn progress(&self) -> Option<String> {
        if self.state == InstanceState::Blocked {
            return Some(self.repair());
        }
        if let InstanceState::Pending { .. } = &self.state {
            return self.prospect();
        }
        let retry = |id: &str| Some(format!("Repair it, then call client.retry(\"{id}\")."));
        let Some(first) = self.first() else {
            return self.unlisted_hold().and_then(|_| retry(&self.instance_id));
        };
        if let (Some(_), Some(child)) = (&first.child_block, &first.child_id) {
            return retry(child);
        }
        let is_served = self.unserved.is_none() && first.unserved.is_none();
        if self.hold_of(first).is_some() || (is_served && self.unlisted_hold().is_some()) {
            return retry(&self.instance_id);
        }
        let OperationDescription { operation, work, .. } = first;
        let error = operation.last_error.as_ref().map(|error| format!("Last error: {}.", shown(error)));
        let next = if operation.kind == WaitKind::Retry {
            operation.due.map(|due| self.next_try(due))
        } else if first.unserved.is_none() {
            work.as_ref().map(|work| self.delivery(work))
        } else {
            None
        };
        match (error, next) {
            (Some(error), Some(next)) => Some(format!("{error} {next}")),
            (error, next) => error.or(next),
        }
    }

    fn repair(&self) -> String {
        let id = &self.instance_id;
        let is_quarantined = self.own_block().is_some_and(|block| block.kind == BlockKind::Quarantine);
        let how = if is_quarantined {
            format!("Repair its code, then call client.retry(\"{id}\")")
        } else {
            format!(
                "Deploy a build that can run it, or call client.retry(\"{id}\") to have every build try again"
            )
        };
        format!("It keeps everything it has. {how}.")
    }

    /// Who runs the first turn of an execution that is pending.
    fn prospect(&self) -> Option<String> {
        if let Some(LeaseOverview { node, until }) = &self.lease {
            let who = node.as_ref().map_or_else(|| "A node".to_owned(), |node| format!("Node {node}"));
            return Some(format!("{who} has it (its lease ends in {}).", Age::between(self.read_at, *until)));
        }
        if self.unserved.is_some() {
            return None;
        }
        Some(match self.serving_nodes {
            Some(1) => "One live node serves it.".to_owned(),
            Some(nodes) => format!("{nodes} live nodes serve it."),
            None => "Whether a live node serves it is not known: this store does not list nodes.".to_owned(),
        })
    }

    fn next_try(&self, due: Timestamp) -> String {
        if due > self.read_at {
            format!("Next try in {}.", Age::between(self.read_at, due))
        } else {
            format!("The next try is due since {}.", Age::between(due, self.read_at))
        }
    }

    fn delivery(&self, work: &WorkOverview) -> String {
        if let Some(LeaseOverview { node, until }) = &work.lease {
            let left = Age::between(self.read_at, *until);
            let who = node.as_ref().map_or_else(|| "A node".to_owned(), |node| format!("Node {node}"));
            return format!("{who} is running it (delivery {}, its lease ends in {left}).", work.attempts);
        }
        match work.visible_at {
            Some(time) => {
                let left = Age::between(self.read_at, time);
                format!("Delivery {} was given back; the next one is in {left}.", work.attempts)
            }
            None if work.attempts == 0 => "It is queued, and no node has taken it yet.".to_owned(),
            None => format!("It is queued again after delivery {}.", work.attempts),
        }
    }

    /// What else it waits for.
    fn others(&self) -> Option<String> {
        if !self.activities.is_empty() && self.state == InstanceState::Running {
            return Some(self.queued_activities());
        }
        let first = self.first()?;
        let open = usize::try_from(self.open?).unwrap_or(usize::MAX);
        let others: Vec<String> = self
            .operations
            .iter()
            .filter(|each| !std::ptr::eq(*each, first))
            .take(SHOWN_OPERATIONS)
            .map(|each| self.phrase(&each.operation))
            .collect();
        if self.state != InstanceState::Running || others.is_empty() {
            return None;
        }
        let more = open.saturating_sub(others.len() + 1);
        let more = if more == 0 { String::new() } else { format!(", and {more} more") };
        Some(format!("It also waits for {}{more}.", others.join(", ")))
    }

    /// The activities of an instance whose last turn did not record what it waits for.
    fn queued_activities(&self) -> String {
        let named = self.activities.iter().take(SHOWN_OPERATIONS + 1).map(|each| {
            let WorkOverview { name, lease, is_held, .. } = &each.work;
            let how = match (is_held, lease) {
                (true, _) => "quarantined",
                (false, Some(_)) => "running",
                (false, None) => "queued",
            };
            format!("{name} ({how})")
        });
        let named: Vec<String> = named.collect();
        let more = self.activities.len().saturating_sub(named.len());
        let more = if more == 0 { String::new() } else { format!(", and {more} more") };
        format!("Its open activities: {}{more}.", named.join(", "))
    }

    /// What it runs.
    fn code(&self) -> String {
        if self.orchestration_name.is_empty() {
            return "The store does not know which orchestration it runs.".to_owned();
        }
        let version = match self.orchestration_version.as_str() {
            "" | "unknown" => String::new(),
            version => format!(" {version}"),
        };
        let name = &self.orchestration_name;
        if self.execution_id == 0 {
            return format!("It is to run {name}{version}.");
        }
        let created =
            self.created.map_or_else(String::new, |time| format!(", created {} ago", self.since(time)));
        let verb = if self.has_ended() { "ran" } else { "runs" };
        let execution = self.execution_id;
        format!("It {verb} {name}{version}, execution {execution}{created}.")
    }

    /// When it ended, if it did and the store tells when.
    const fn ended_at(&self) -> Option<Timestamp> {
        match &self.state {
            InstanceState::Completed { at }
            | InstanceState::Failed { at, .. }
            | InstanceState::Canceled { at, .. } => *at,
            InstanceState::Pending { .. } | InstanceState::Running | InstanceState::Blocked => None,
        }
    }

    const fn has_ended(&self) -> bool {
        match &self.state {
            InstanceState::Completed { .. }
            | InstanceState::Failed { .. }
            | InstanceState::Canceled { .. } => true,
            InstanceState::Pending { .. } | InstanceState::Running | InstanceState::Blocked => false,
        }
    }

    /// How far it is; messages, parent and children.
    fn family(&self) -> Option<String> {
        let mut parts = Vec::new();
        match (self.ended_at(), self.created, self.updated) {
            (Some(ended), Some(created), _) => {
                parts
                    .push(format!("it took {} from its first turn to its end", Age::between(created, ended)));
            }
            (None, _, Some(updated)) if !self.has_ended() => {
                parts.push(format!("its last turn was {} ago", self.since(updated)));
            }
            _ => {}
        }
        if self.mail > 0 && self.execution_id > 0 {
            parts.push(format!(
                "{} queued for its next turn",
                counted(self.mail, "message is", "messages are")
            ));
        }
        if !self.queues.is_empty() {
            let named =
                self.queues.iter().take(SHOWN_QUEUES).map(|(name, unread)| format!("{name} {unread}"));
            parts.push(format!("unread messages by queue: {}", named.collect::<Vec<_>>().join(", ")));
        }
        if let Some(parent) = &self.parent {
            parts.push(format!("its parent is {}", parent.instance));
        }
        if self.child_count > 0 {
            parts.push(format!("it has {}", counted(self.child_count, "child", "children")));
        }
        if parts.is_empty() && self.execution_id > 0 {
            parts.push(format!("{} stored", counted(self.executions, "execution is", "executions are")));
        }
        let text = parts.join("; ");
        (!text.is_empty()).then(|| format!("{}.", capitalized(&text)))
    }

    /// The operation to tell of first: one that is in trouble, else the oldest that is not a mere timer,
    /// which often limits another one.
    fn first(&self) -> Option<&OperationDescription> {
        self.operations.iter().min_by_key(|each| {
            let is_in_trouble =
                each.unserved.is_some() || each.child_block.is_some() || self.hold_of(each).is_some();
            (!is_in_trouble, each.operation.kind == WaitKind::Timer)
        })
    }

    fn own_block(&self) -> Option<&Block> {
        self.blocks.iter().find(|block| !block.holds_activity)
    }

    fn hold_of(&self, operation: &OperationDescription) -> Option<&Block> {
        let event_id = Some(operation.operation.event_id);
        self.blocks.iter().find(|block| block.holds_activity && block.event_id == event_id)
    }

    /// A quarantined activity that is not among the listed operations.
    fn unlisted_hold(&self) -> Option<&Block> {
        let is_listed =
            |event: Option<u64>| self.operations.iter().any(|each| Some(each.operation.event_id) == event);
        self.blocks.iter().find(|block| block.holds_activity && !is_listed(block.event_id))
    }

    fn phrase(&self, operation: &OpenOperation) -> String {
        let OpenOperation { kind, name, since, due, tries, child, .. } = operation;
        let age = self.since(*since);
        match kind {
            WaitKind::Activity | WaitKind::Retry => {
                let tries = tries
                    .map_or_else(String::new, |tries| format!(", attempt {} of {}", tries.number, tries.max));
                format!("activity {name} (scheduled {age} ago{tries})")
            }
            WaitKind::Timer => match due {
                Some(due) if *due > self.read_at => {
                    format!("a timer that fires in {} (set {age} ago)", Age::between(self.read_at, *due))
                }
                Some(_) | None => format!("a timer that is due (set {age} ago)"),
            },
            WaitKind::Event => format!("event '{name}' (for {age})"),
            WaitKind::Queue => format!("a message of queue '{name}' (for {age})"),
            WaitKind::Child => {
                let child = child.as_deref().unwrap_or_default();
                let id = abide_model::build_child_instance_id(&self.instance_id, child);
                format!("child {id} (orchestration {name}, for {age})")
            }
            WaitKind::Nothing => {
                format!(
                    "nothing that could arrive (for {age}): its code awaits something that is not durable"
                )
            }
            other => format!("{other} {name} (for {age})"),
        }
    }

    fn since(&self, time: Timestamp) -> Age {
        Age::between(time, self.read_at)
    }

    fn ago(&self, at: Option<Timestamp>) -> String {
        at.map_or_else(String::new, |time| format!(" {} ago", self.since(time)))
    }
}

fn at_event(block: &Block) -> String {
    match block.event_id {
        Some(event) => format!("{} at event {event}", block.kind),
        None => block.kind.to_string(),
    }
}

/// The first line of a text, without the point that ends it.
fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(SHOWN_TEXT).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut.trim_end_matches('.').to_owned() }
}

fn sentence(unserved: &Unserved) -> String {
    format!("{}.", capitalized(&unserved.to_string()))
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
