//! Which call deleted what: everything that went, went because somebody asked for it, and was counted once.

use abide_provider::{DeleteInstanceResult, InstanceFilter, OrphanFilter};

use super::call::{Call, Outcome};
use super::crowd::Entry;
use super::order::Windows;

/// An instance, or a mere mailbox, that went with everything below it.
#[derive(Debug, Clone)]
pub(crate) struct Deletion {
    pub(crate) step: usize,
    pub(crate) top: String,
    /// Whether anything of it ran, or it was no instance.
    pub(crate) needs_force: bool,
    /// Whose child it was.
    pub(crate) is_child: bool,
    pub(crate) status: Option<String>,
    pub(crate) ended: Option<u64>,
    /// When the execution that asked for it ended; if that is not there, when it did itself.
    pub(crate) asking_ended: Option<u64>,
    pub(crate) counts: Counts,
    pub(crate) is_claimed: bool,
}

/// Instances, executions, events, and messages with work.
pub(crate) type Counts = [u64; 4];

pub(crate) fn counts(deleted: &DeleteInstanceResult) -> Counts {
    [
        deleted.instances_deleted,
        deleted.executions_deleted,
        deleted.events_deleted,
        deleted.queue_messages_deleted,
    ]
}

fn sum<'a>(all: impl Iterator<Item = &'a Counts>) -> Counts {
    all.fold([0; 4], |sum, counts| std::array::from_fn(|index| sum[index] + counts[index]))
}

/// Finds the deletions of every call.
pub(crate) fn check(entries: &[Entry], windows: &Windows, mut deletions: Vec<Deletion>) {
    let mut in_bulk: Vec<(&Entry, Counts)> = Vec::new();
    for entry in entries {
        let Outcome::Deleted(deleted) = &entry.outcome else { continue };
        let told = counts(deleted);
        let found = match &entry.call {
            Call::Delete { instance, force } => claim(&mut deletions, entry, windows, told, |deletion| {
                deletion.top == *instance && !deletion.is_child && (*force || !deletion.needs_force)
            }),
            Call::DeleteSet { ids, force } => claim(&mut deletions, entry, windows, told, |deletion| {
                ids.contains(&deletion.top) && (*force || !deletion.needs_force)
            }),
            _ => {
                in_bulk.push((entry, told));
                true
            }
        };
        assert!(found, "what was deleted is not what was told: {entry:?}\n{deletions:#?}");
    }
    let left: Vec<&Deletion> = deletions.iter().filter(|deletion| !deletion.is_claimed).collect();
    for deletion in &left {
        let mut askers = in_bulk.iter().map(|(entry, _)| entry);
        let has_asker = askers.any(|entry| {
            windows.of_entry(entry).holds(deletion.step) && is_meant(&entry.call, entry.until, deletion)
        });
        assert!(has_asker, "nobody asked for {deletion:?}");
    }
    let told = sum(in_bulk.iter().map(|(_, counts)| counts));
    assert_eq!(
        sum(left.iter().map(|deletion| &deletion.counts)),
        told,
        "what was deleted in bulk, and what was told"
    );
}

/// Finds what a call deleted at once: those that it can have meant, at one step, as many as it told of.
fn claim(
    deletions: &mut [Deletion],
    entry: &Entry,
    windows: &Windows,
    told: Counts,
    is_meant: impl Fn(&Deletion) -> bool,
) -> bool {
    let window = windows.of_entry(entry);
    let candidates: Vec<usize> = (0..deletions.len())
        .filter(|index| {
            let deletion = &deletions[*index];
            !deletion.is_claimed && window.holds(deletion.step) && is_meant(deletion)
        })
        .collect();
    let mut best: Vec<usize> = Vec::new();
    for step in candidates.iter().map(|index| deletions[*index].step) {
        let at_once: Vec<usize> =
            candidates.iter().copied().filter(|index| deletions[*index].step == step).collect();
        for some in subsets(&at_once) {
            let fits = sum(some.iter().map(|index| &deletions[*index].counts)) == told;
            if fits && some.len() > best.len() {
                best = some;
            }
        }
    }
    for index in &best {
        deletions[*index].is_claimed = true;
    }
    !best.is_empty() || told == [0; 4]
}

fn subsets(of: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for element in of {
        let with: Vec<Vec<usize>> =
            all.iter().map(|some: &Vec<usize>| some.iter().copied().chain([*element]).collect()).collect();
        all.extend(with);
    }
    all
}

/// Whether a call for many means this one.
fn is_meant(call: &Call, until: u64, deletion: &Deletion) -> bool {
    let is_before = |time: Option<u64>, before: Option<u64>| {
        before.is_none_or(|before| time.is_some_and(|time| time < before))
    };
    if deletion.needs_force {
        return false;
    }
    match call {
        Call::DeleteBulk(InstanceFilter { instance_ids, completed_before, .. }) => {
            let is_named = instance_ids.as_ref().map(|ids| ids.contains(&deletion.top));
            let has_ended = is_named.is_some() || deletion.ended.is_some();
            !deletion.is_child
                && is_named != Some(false)
                && has_ended
                && is_before(deletion.ended, *completed_before)
        }
        Call::Retention(retention) => {
            let keep_for = u64::try_from(retention.keep_for.as_millis()).unwrap();
            !deletion.is_child && is_before(deletion.ended.map(|ended| ended + keep_for), Some(until))
        }
        Call::Orphans(OrphanFilter { parent_completed_before, child_status, .. }) => {
            let has_status = child_status.is_empty()
                || deletion.status.as_ref().is_some_and(|status| child_status.contains(status));
            deletion.is_child
                && has_status
                && deletion.ended.is_some()
                && deletion.asking_ended.is_some()
                && is_before(deletion.asking_ended, *parent_completed_before)
        }
        _ => false,
    }
}
