//! Looking at a store, and damaging what it holds.

use abide_provider::Lane;

use super::{items, mail};
use crate::alphabet;
use crate::op::{Fate, ReadOp};
use crate::rng::Rng;
use crate::subject::Damage;
use crate::world::World;

pub(super) fn read(rng: &mut Rng, world: &World) -> ReadOp {
    let instance = known_instance(rng, world);
    match rng.below(17) {
        0..=1 => ReadOp::History { instance },
        2..=3 => {
            let (instance, execution_id) = known_execution(rng, world);
            ReadOp::Execution { instance, execution_id }
        }
        4..=5 => with_lease(rng, world, instance, |rng, lease| ReadOp::HistoryAfter {
            lease,
            after: items::below(rng, 5),
            fate: fate(rng),
        }),
        6 => with_lease(rng, world, instance, |rng, lease| ReadOp::Snapshot { lease, fate: fate(rng) }),
        7 => ReadOp::CustomStatus { instance, last_seen: items::below(rng, 3) },
        8..=9 => {
            let (instance, key) = known_key(rng, world);
            ReadOp::KvValue { instance, key }
        }
        10..=11 => ReadOp::KvAll { instance: known_key(rng, world).0 },
        12..=13 => ReadOp::Status { instance },
        14 => ReadOp::Overview { instance },
        15 => ReadOp::Children { instances: (0..4).map(|_| mail::some_instance(rng, world)).collect() },
        _ => ReadOp::Stats { instance: known_key(rng, world).0 },
    }
}

pub(super) fn next_due(rng: &mut Rng) -> ReadOp {
    ReadOp::NextDue(if rng.percent(40) { Lane::Instances } else { Lane::Work })
}

fn fate(rng: &mut Rng) -> Fate {
    if rng.percent(7) { Fate::Deleted } else { Fate::Lives }
}

pub(super) fn known_instance(rng: &mut Rng, world: &World) -> String {
    let is_instance = |name: &&String| world.instance(name).is_some();
    let known: Vec<&String> = world.dump.instances.keys().filter(is_instance).collect();
    match rng.pick_any(&known) {
        Some(known) if rng.percent(85) => (*known).clone(),
        Some(_) | None => mail::some_instance(rng, world),
    }
}

pub(super) fn known_execution(rng: &mut Rng, world: &World) -> (String, u64) {
    let known: Vec<&(String, u64)> = world.dump.executions.keys().collect();
    match rng.pick_any(&known) {
        Some(known) if rng.percent(85) => (*known).clone(),
        Some(_) | None => (mail::some_instance(rng, world), items::execution_id(rng)),
    }
}

/// Mostly a key that is there: changed by the current execution, or left by an earlier one, or both.
fn known_key(rng: &mut Rng, world: &World) -> (String, String) {
    let (changed, left) = (&world.dump.kv_delta, &world.dump.kv_store);
    let known: Vec<_> = changed.keys().chain(left.keys()).collect();
    let twice: Vec<_> = changed.keys().filter(|key| left.contains_key(key)).collect();
    let known = if twice.is_empty() || rng.percent(25) { known } else { twice };
    match rng.pick_any(&known) {
        Some(known) if rng.percent(85) => (*known).clone(),
        Some(_) | None => (known_instance(rng, world), alphabet::key(rng)),
    }
}

/// Something with a lease that carries its position, valid or not; else the statistics.
fn with_lease(
    rng: &mut Rng,
    world: &World,
    instance: String,
    read: impl FnOnce(&mut Rng, usize) -> ReadOp,
) -> ReadOp {
    let with_position = |order: &usize| world.issued[*order].memory.lease.is_some();
    let leases: Vec<usize> = (0..world.issued.len()).filter(with_position).collect();
    match rng.pick_any(&leases) {
        Some(lease) => {
            let lease = *lease;
            read(rng, lease)
        }
        None => ReadOp::Stats { instance },
    }
}

/// Damages something that is there.
pub(super) fn damage(rng: &mut Rng, world: &World) -> Option<Damage> {
    match rng.below(3) {
        0 => {
            let numbers: Vec<u64> = world.dump.messages.keys().copied().collect();
            rng.pick_any(&numbers).map(|number| Damage::Message { number: *number })
        }
        1 => {
            let numbers: Vec<u64> = world.dump.work.keys().copied().collect();
            rng.pick_any(&numbers).map(|number| Damage::Work { number: *number })
        }
        _ => {
            let (instance, execution_id) = known_execution(rng, world);
            Some(Damage::History { instance, execution_id })
        }
    }
}
