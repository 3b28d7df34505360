//! Which call deleted what: everything that went, went because somebody asked for it, and was counted once.

use abide_provider::{DeleteInstanceResult, Force, InstanceFilter, OrphanFilter};

use super::call::{Call, Outcome};
use super::crowd::Entry;
use super::order::Windows;

/// What went together.
#[derive(Debug, Clone)]
pub(crate) struct Deletion {
    pub(crate) step: usize,
    pub(crate) ids: Vec<String>,
    /// Those whose parents did not go with them.
    pub(crate) tops: Vec<Top>,
    /// Whether anything of it ran, or was no instance.
    pub(crate) needs_force: bool,
    /// Who was there of that family.
    pub(crate) there: Vec<String>,
    pub(crate) counts: Counts,
    pub(crate) is_claimed: bool,
}

/// One that went, and not because its parent did.
#[derive(Debug, Clone)]
pub(crate) struct Top {
    pub(crate) id: String,
    pub(crate) is_child: bool,
    pub(crate) status: Option<String>,
    pub(crate) ended: Option<u64>,
    /// When the execution that asked for it ended; if that is not there, when it did itself.
    pub(crate) asking_ended: Option<u64>,
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
        let window = windows.of_entry(entry);
        let is_at_once = |deletion: &&mut Deletion| {
            !deletion.is_claimed && window.holds(deletion.step) && deletion.counts == told
        };
        let mut fitting = deletions.iter_mut().filter(is_at_once);
        let found = if let Call::Delete { instance, force } = &entry.call {
            fitting.find(|deletion| is_tree(deletion, instance, *force))
        } else if let Call::DeleteSet { ids, force } = &entry.call {
            fitting.find(|deletion| is_set(deletion, ids, *force))
        } else {
            in_bulk.push((entry, told));
            continue;
        };
        match found {
            Some(deletion) => deletion.is_claimed = true,
            None => assert_eq!(told, [0; 4], "not what was deleted: {entry:?}\n{deletions:#?}"),
        }
    }
    check_bulk(&in_bulk, windows, &deletions);
}

fn check_bulk(in_bulk: &[(&Entry, Counts)], windows: &Windows, deletions: &[Deletion]) {
    let left: Vec<&Deletion> = deletions.iter().filter(|deletion| !deletion.is_claimed).collect();
    for deletion in &left {
        let mut askers = in_bulk.iter().map(|(entry, _)| entry);
        let has_asker = askers.any(|entry| {
            windows.of_entry(entry).holds(deletion.step) && is_meant(&entry.call, entry.until, deletion)
        });
        assert!(has_asker, "nobody asked for {deletion:?}");
    }
    let told = sum(in_bulk.iter().map(|(_, counts)| counts));
    let deleted = sum(left.iter().map(|deletion| &deletion.counts));
    assert_eq!(deleted, told, "what was deleted in bulk, and what was told");
}

/// Whether this is a root with everything below it.
fn is_tree(deletion: &Deletion, root: &str, force: Force) -> bool {
    let [top] = deletion.tops.as_slice() else { return false };
    top.id == root && !top.is_child && (force == Force::Yes || !deletion.needs_force)
}

/// Whether these are all of the set that were there, and nobody else.
fn is_set(deletion: &Deletion, ids: &[String], force: Force) -> bool {
    deletion.ids.iter().all(|id| ids.contains(id))
        && deletion.there.iter().all(|id| !ids.contains(id) || deletion.ids.contains(id))
        && (force == Force::Yes || !deletion.needs_force)
}

/// Whether a call for many means this one.
fn is_meant(call: &Call, until: u64, deletion: &Deletion) -> bool {
    let is_before = |time: Option<u64>, before: Option<u64>| {
        before.is_none_or(|before| time.is_some_and(|time| time < before))
    };
    let [top] = deletion.tops.as_slice() else { return false };
    if deletion.needs_force {
        return false;
    }
    if let Call::DeleteBulk(InstanceFilter { instance_ids, completed_before, .. }) = call {
        // Without names, those that ended are looked for; by name also those that continued as nothing are found.
        let is_named = instance_ids.as_ref().map_or(top.ended.is_some(), |ids| ids.contains(&top.id));
        return !top.is_child && is_named && is_before(top.ended, *completed_before);
    }
    if let Call::Retention(retention) = call {
        let keep_for = u64::try_from(retention.keep_for.as_millis()).unwrap();
        return !top.is_child && is_before(top.ended.map(|ended| ended + keep_for), Some(until));
    }
    let Call::Orphans(OrphanFilter { parent_completed_before, child_status, .. }) = call else {
        return false;
    };
    let has_status =
        child_status.is_empty() || top.status.as_ref().is_some_and(|status| child_status.contains(status));
    top.is_child
        && has_status
        && top.ended.is_some()
        && top.asking_ended.is_some()
        && is_before(top.asking_ended, *parent_completed_before)
}
