//! From what was noted to the calls in the order in which they took effect, and when the others can have been answered.

use std::collections::HashMap;

use abide_model::{Event, WorkItem};
use abide_provider::Authority;

use super::call::{Call, LEASE, Outcome};
use super::crowd::Entry;
use super::log::Noted;

/// Something that took effect.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A call; for a lease call, its so-manieth lease. At a time, if that leaves a trace.
    Call { entry: usize, index: usize, at: Option<u64> },
    /// Mailboxes that went together, by number and name.
    Delete(Vec<(u64, String)>),
    /// Executions of one mailbox that went, though it stayed.
    Prune { mailbox: u64, executions: Vec<u64> },
}

/// What the traces of calls are recognised by.
struct Index<'a> {
    commits: HashMap<(u64, u64, u64), usize>,
    leases: HashMap<i64, (usize, usize)>,
    /// Calls that end a lease, but for commits.
    ends: HashMap<i64, usize>,
    sent: HashMap<String, usize>,
    noted: &'a [Noted],
}

/// The steps, in the order of the store.
pub(crate) fn steps(entries: &[Entry], noted: &[Noted]) -> Vec<Step> {
    let index = Index::of(entries, noted);
    let mut steps = Vec::new();
    let mut at = 0;
    while at < noted.len() {
        at = index.step(at, &mut steps);
    }
    check_that_all_are_there(entries, &steps);
    check_real_time(entries, &steps);
    steps
}

impl<'a> Index<'a> {
    fn of(entries: &[Entry], noted: &'a [Noted]) -> Self {
        let mut index = Self {
            commits: HashMap::new(),
            leases: HashMap::new(),
            ends: HashMap::new(),
            sent: HashMap::new(),
            noted,
        };
        let mut incarnations: HashMap<&str, u64> = HashMap::new();
        for entry in entries {
            if let Outcome::Instances(leases) = &entry.outcome {
                incarnations
                    .extend(leases.iter().map(|lease| (lease.token.as_str(), lease.position.incarnation)));
            }
        }
        for (number, entry) in entries.iter().enumerate() {
            index.add(number, entry, &incarnations);
        }
        index
    }

    fn add(&mut self, number: usize, entry: &Entry, incarnations: &HashMap<&str, u64>) {
        match (&entry.call, &entry.outcome) {
            (Call::Commit(commit), Outcome::Committed(_)) => {
                let incarnation = match &commit.authority {
                    Authority::Lease { token } => incarnations[token.as_str()],
                    Authority::FinishedWork { expected, .. } => expected.incarnation,
                };
                let first = commit.turn.events.first().map_or(0, Event::event_id);
                let twice = self.commits.insert((incarnation, commit.turn.execution_id, first), number);
                assert_eq!(twice, None, "two commits of the same turn were acknowledged: {entry:?}");
            }
            (Call::Finish(_) | Call::AbandonInstance { .. } | Call::AbandonWork { .. }, Outcome::Done) => {
                let token = entry.call.token().unwrap_or_default();
                let twice = self.ends.insert(nonce_of(token), number);
                assert_eq!(twice, None, "a lease was ended twice: {entry:?}");
            }
            (Call::Enqueue(item), Outcome::Done) => {
                self.sent.insert(serde_json::to_string(item).unwrap(), number);
            }
            (_, Outcome::Instances(leases)) => {
                let tokens = leases.iter().map(|lease| nonce_of(&lease.token)).enumerate();
                self.leases.extend(tokens.map(|(index, nonce)| (nonce, (number, index))));
            }
            (_, Outcome::Work(leases)) => {
                let tokens = leases.iter().map(|lease| nonce_of(&lease.token)).enumerate();
                self.leases.extend(tokens.map(|(index, nonce)| (nonce, (number, index))));
            }
            _ => {}
        }
    }

    /// Reads the trace of one step, and says where the next begins.
    fn step(&self, at: usize, steps: &mut Vec<Step>) -> usize {
        let lease = LEASE.as_millis();
        let begun = |until: i64| until.unsigned_abs() - u64::try_from(lease).unwrap();
        let call = |entry: usize| Step::Call { entry, index: 0, at: None };
        match &self.noted[at] {
            Noted::Turn { mailbox, execution, first_event } => {
                let key = (mailbox.unsigned_abs(), execution.unsigned_abs(), first_event.unsigned_abs());
                let entry = *self.commits.get(&key).expect("a turn was written that nobody was told of");
                let (end, time) = self.end_of_commit(at, *mailbox);
                steps.push(Step::Call { entry, index: 0, at: Some(time) });
                return end + 1;
            }
            Noted::Lease { nonce, until } | Noted::WorkLease { nonce, until } => {
                let (entry, index) = *self.leases.get(nonce).expect("a lease that nobody was given");
                steps.push(Step::Call { entry, index, at: Some(begun(*until)) });
            }
            Noted::Release { nonce }
            | Noted::WorkRelease { nonce }
            | Noted::WorkGone { nonce: Some(nonce) } => {
                steps.extend(self.ends.get(nonce).copied().map(call));
            }
            Noted::Message { item } => steps.extend(self.sent.get(item).copied().map(call)),
            Noted::TurnGone
            | Noted::ExecutionGone { .. }
            | Noted::MailboxGone { .. }
            | Noted::DeadLetterGone => {
                let end = self.end_of_removal(at);
                steps.extend(removals(&self.noted[at..end]));
                return end;
            }
            Noted::Progress { .. } | Noted::WorkGone { nonce: None } => {}
        }
        at + 1
    }

    /// Where the rows of a commit end, and its time.
    fn end_of_commit(&self, at: usize, mailbox: i64) -> (usize, u64) {
        let rest = self.noted[at..].iter().enumerate();
        let mut ends = rest.filter_map(|(offset, noted)| {
            let Noted::Progress { mailbox: of, at: time } = noted else { return None };
            (*of == mailbox).then(|| (at + offset, time.unsigned_abs()))
        });
        ends.next().expect("a commit ends")
    }

    /// Where rows are not removed any more, or not by administration.
    fn end_of_removal(&self, at: usize) -> usize {
        let is_removal = |noted: &Noted| match noted {
            Noted::TurnGone
            | Noted::ExecutionGone { .. }
            | Noted::MailboxGone { .. }
            | Noted::DeadLetterGone
            | Noted::WorkGone { nonce: None } => true,
            Noted::WorkGone { nonce: Some(nonce) } | Noted::Release { nonce } => {
                !self.ends.contains_key(nonce)
            }
            Noted::Turn { .. }
            | Noted::Progress { .. }
            | Noted::Lease { .. }
            | Noted::WorkLease { .. }
            | Noted::WorkRelease { .. }
            | Noted::Message { .. } => false,
        };
        let length = self.noted[at..].iter().take_while(|noted| is_removal(noted)).count();
        at + length
    }
}

/// Deletions and prunings that follow each other. A deletion removes all turns of a mailbox, then all of its executions,
/// then the mailbox, for all that go together, and then their dead letters; pruning removes the turns of one execution and
/// that execution, one after the other.
fn removals(noted: &[Noted]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut gone = Vec::new();
    for (at, row) in noted.iter().enumerate() {
        if let Noted::MailboxGone { mailbox, id } = row {
            gone.push((mailbox.unsigned_abs(), id.clone()));
        } else if matches!(row, Noted::DeadLetterGone) && !gone.is_empty() {
            steps.push(Step::Delete(std::mem::take(&mut gone)));
        } else if let Noted::ExecutionGone { mailbox, execution } = row
            && !goes_with_its_mailbox(&noted[at..], *mailbox)
        {
            let (of, execution) = (mailbox.unsigned_abs(), execution.unsigned_abs());
            match steps.last_mut() {
                Some(Step::Prune { mailbox, executions }) if *mailbox == of => executions.push(execution),
                Some(_) | None => steps.push(Step::Prune { mailbox: of, executions: vec![execution] }),
            }
        }
    }
    assert!(gone.is_empty(), "a deletion without an end: {gone:?}");
    steps
}

fn goes_with_its_mailbox(noted: &[Noted], mailbox: i64) -> bool {
    let mut rest = noted
        .iter()
        .skip_while(|row| matches!(row, Noted::ExecutionGone { mailbox: of, .. } if *of == mailbox));
    matches!(rest.next(), Some(Noted::MailboxGone { mailbox: of, .. }) if *of == mailbox)
}

/// The number that makes a lease unlike any other.
fn nonce_of(token: &str) -> i64 {
    i64::from_str_radix(token.rsplit('.').next().unwrap_or_default(), 16).expect("a token ends with a nonce")
}

/// Whatever was acknowledged has left its trace, once.
fn check_that_all_are_there(entries: &[Entry], steps: &[Step]) {
    let mut found = vec![0; entries.len()];
    for step in steps {
        if let Step::Call { entry, .. } = step {
            found[*entry] += 1;
        }
    }
    for (entry, found) in entries.iter().zip(found) {
        let expected = match (&entry.call, &entry.outcome) {
            (_, Outcome::Instances(leases)) => leases.len()..=leases.len(),
            (_, Outcome::Work(leases)) => leases.len()..=leases.len(),
            // It is dropped if nobody will read it.
            (Call::Enqueue(WorkItem::QueueMessage { .. }), Outcome::Done) => 0..=1,
            (_, Outcome::Done | Outcome::Committed(_)) => 1..=1,
            (_, Outcome::Deleted(_) | Outcome::Pruned(_) | Outcome::Seen(_) | Outcome::Refused(_)) => 0..=0,
        };
        assert!(expected.contains(&found), "{found} traces of {entry:?}");
    }
}

/// What had ended before something else began took effect before it.
fn check_real_time(entries: &[Entry], steps: &[Step]) {
    let mut latest: Option<&Entry> = None;
    for step in steps {
        let Step::Call { entry, .. } = step else { continue };
        let entry = &entries[*entry];
        if let Some(earlier) = latest {
            assert!(entry.ended > earlier.began, "{entry:?} took effect after {earlier:?}");
        }
        if latest.is_none_or(|latest| latest.began < entry.began) {
            latest = Some(entry);
        }
    }
}

/// Between which steps calls can have been answered.
pub(crate) struct Windows {
    /// By when a step's call ended: how many steps had been made by then at least.
    by_end: Vec<(u64, usize)>,
    /// By when a step's call began: which step comes first of all that began then or later.
    by_begin: Vec<(u64, usize)>,
    steps: usize,
}

/// From how many steps to how many steps were made when a call was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl Window {
    /// Whether the call can have made this step.
    pub(crate) fn holds(self, step: usize) -> bool {
        self.from <= step && step < self.to
    }
}

impl Windows {
    pub(crate) fn of(entries: &[Entry], steps: &[Step]) -> Self {
        let calls = steps.iter().enumerate().filter_map(|(number, step)| match step {
            Step::Call { entry, .. } => Some((number, &entries[*entry])),
            Step::Delete(_) | Step::Prune { .. } => None,
        });
        let mut by_end: Vec<_> = calls.clone().map(|(number, entry)| (entry.ended, number + 1)).collect();
        by_end.sort_unstable();
        let mut most = 0;
        for (_, made) in &mut by_end {
            most = most.max(*made);
            *made = most;
        }
        let mut by_begin: Vec<_> = calls.map(|(number, entry)| (entry.began, number)).collect();
        by_begin.sort_unstable();
        let mut first = steps.len();
        for (_, number) in by_begin.iter_mut().rev() {
            first = first.min(*number);
            *number = first;
        }
        Self { by_end, by_begin, steps: steps.len() }
    }

    pub(crate) fn of_entry(&self, entry: &Entry) -> Window {
        let ended = self.by_end.partition_point(|(end, _)| *end < entry.began);
        let from = if ended == 0 { 0 } else { self.by_end[ended - 1].1 };
        let begun = self.by_begin.partition_point(|(begin, _)| *begin <= entry.ended);
        let to = self.by_begin.get(begun).map_or(self.steps, |(_, first)| *first);
        Window { from, to }
    }
}
