//! Deleting and pruning: mostly what is there, in all the ways that are refused too.

use std::time::Duration;

use abide_model::{PruneOptions, Timestamp};
use abide_provider::{Force, InstanceFilter, OrphanFilter, Retention};

use super::{mail, reads};
use crate::admin::DeleteOp;
use crate::alphabet;
use crate::rng::Rng;
use crate::world::World;

pub(super) fn one(rng: &mut Rng, world: &World) -> DeleteOp {
    let is_root = |name: &&String| world.instance(name).is_some_and(|instance| instance.parent.is_none());
    let roots: Vec<&String> = world.dump.instances.keys().filter(is_root).collect();
    let instance = match rng.pick_any(&roots) {
        Some(root) if rng.percent(75) => (*root).clone(),
        Some(_) | None => mail::some_instance(rng, world),
    };
    DeleteOp::One { instance, force: force(rng, 25) }
}

fn force(rng: &mut Rng, chance: u64) -> Force {
    rng.percent(chance).into()
}

pub(super) fn set(rng: &mut Rng, world: &World) -> DeleteOp {
    let mut ids = some_set(rng, world);
    if rng.percent(12)
        && let Some(id) = rng.pick_any(&ids).cloned()
    {
        ids.push(id);
    }
    if rng.percent(15) {
        ids.insert(rng.index(ids.len() + 1), alphabet::instance(rng));
    }
    DeleteOp::Set { ids, force: force(rng, 40) }
}

fn some_set(rng: &mut Rng, world: &World) -> Vec<String> {
    match rng.below(20) {
        // As somebody does who looks first: the tree as it is, or as it was.
        0..=6 => world.tree(&reads::known_instance(rng, world)),
        7..=9 if !world.trees.is_empty() => rng.pick(&world.trees).clone(),
        10..=11 => {
            let mut tree = world.tree(&some_parent(rng, world));
            tree.remove(rng.index(tree.len()));
            tree
        }
        12..=13 => {
            let mut tree = world.tree(&reads::known_instance(rng, world));
            tree.reverse();
            tree
        }
        14..=15 => {
            let is_mailbox = |name: &&String| world.instance(name).is_none();
            let mailboxes: Vec<&String> = world.dump.instances.keys().filter(is_mailbox).collect();
            rng.pick_any(&mailboxes).map(|name| (*name).clone()).into_iter().collect()
        }
        16 => vec!["nobody".to_owned()],
        _ => (0..rng.below(4)).map(|_| mail::some_instance(rng, world)).collect(),
    }
}

pub(super) fn bulk(rng: &mut Rng, world: &World) -> DeleteOp {
    let is_between = |name: &&String| {
        let instance = world.instance(name);
        instance.is_some_and(|instance| instance.status.as_deref() == Some("ContinuedAsNew"))
    };
    if rng.percent(20) {
        // Some of these go on, and some do not.
        let ids = world.dump.instances.keys().filter(is_between).cloned().collect();
        return DeleteOp::Bulk(InstanceFilter { instance_ids: Some(ids), ..InstanceFilter::default() });
    }
    DeleteOp::Bulk(filter(rng, world))
}

pub(super) fn orphans(rng: &mut Rng, world: &World) -> DeleteOp {
    let statuses: [&[&str]; 8] = [
        &[],
        &[],
        &[],
        &["Completed"],
        &["Failed"],
        &["Failed", "Completed", "Failed"],
        &["Completed", "Running"],
        &["completed"],
    ];
    DeleteOp::Orphans(OrphanFilter {
        parent_completed_before: rng.maybe(40, |rng| around_an_end(rng, world)),
        child_status: rng.pick(&statuses).iter().map(|status| (*status).to_owned()).collect(),
        limit: limit(rng),
    })
}

/// The stores know the time themselves, whatever the caller's clock says.
pub(super) fn retention(rng: &mut Rng, world: &World) -> DeleteOp {
    let age = world.now.saturating_sub(around_an_end(rng, world));
    let keep_for = match rng.below(10) {
        0 => Duration::MAX,
        1..=2 => Duration::ZERO,
        _ => Duration::from_millis(age),
    };
    let host_time = Timestamp::from_millis(*rng.pick(&[0, world.now, u64::MAX]));
    DeleteOp::Retention(Retention { keep_for, limit: limit(rng).unwrap_or(1_000), host_time })
}

pub(super) fn prune(rng: &mut Rng, world: &World) -> DeleteOp {
    let instance = some_with_a_past(rng, world);
    DeleteOp::Prune { instance, options: prune_options(rng, world) }
}

pub(super) fn prune_bulk(rng: &mut Rng, world: &World) -> DeleteOp {
    if rng.percent(30) {
        // Everything, but only of the first.
        let filter = InstanceFilter { limit: Some(1), ..InstanceFilter::default() };
        return DeleteOp::PruneBulk { filter, options: PruneOptions::default() };
    }
    DeleteOp::PruneBulk { filter: filter(rng, world), options: prune_options(rng, world) }
}

fn prune_options(rng: &mut Rng, world: &World) -> PruneOptions {
    PruneOptions {
        keep_last: rng.maybe(60, |rng| *rng.pick(&[0, 1, 1, 1, 2, 3, u32::MAX])),
        completed_before: rng.maybe(20, |rng| around_an_end(rng, world)),
    }
}

fn filter(rng: &mut Rng, world: &World) -> InstanceFilter {
    let ids = |rng: &mut Rng| {
        let how_many = rng.below(5);
        (0..how_many).map(|_| mail::some_instance(rng, world)).collect()
    };
    InstanceFilter {
        instance_ids: rng.maybe(40, ids),
        completed_before: rng.maybe(40, |rng| around_an_end(rng, world)),
        limit: limit(rng),
    }
}

fn limit(rng: &mut Rng) -> Option<u32> {
    *rng.pick(&[None, None, None, Some(1), Some(1), Some(2), Some(1_000), Some(0), Some(u32::MAX)])
}

/// A time at which something ended, or just before or after it, or now.
fn around_an_end(rng: &mut Rng, world: &World) -> u64 {
    let ends: Vec<u64> = world.dump.executions.values().filter_map(|execution| execution.completed).collect();
    let end = rng.pick_any(&ends).copied().unwrap_or(world.now);
    *rng.pick(&[end, end + 1, end + 1, end.saturating_sub(1), world.now, world.now + 1, 0, u64::MAX])
}

/// Mostly one that has children.
pub(super) fn some_parent(rng: &mut Rng, world: &World) -> String {
    let instances = world.dump.instances.values();
    let parents: Vec<&String> =
        instances.filter_map(|instance| instance.parent.as_ref()).map(|(parent, ..)| parent).collect();
    match rng.pick_any(&parents) {
        Some(parent) if rng.percent(75) => (*parent).clone(),
        Some(_) | None => reads::known_instance(rng, world),
    }
}

/// Mostly one that has earlier executions.
fn some_with_a_past(rng: &mut Rng, world: &World) -> String {
    let past = world.dump.executions.keys();
    let past: Vec<&String> = past
        .filter(|(name, execution)| {
            world.instance(name).is_some_and(|instance| instance.execution > *execution)
        })
        .map(|(name, _)| name)
        .collect();
    match rng.pick_any(&past) {
        Some(name) if rng.percent(75) => (*name).clone(),
        Some(_) | None => mail::some_instance(rng, world),
    }
}
