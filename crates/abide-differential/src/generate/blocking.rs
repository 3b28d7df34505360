//! What nodes serve, blocks of instances, holds of activities, and looks at them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use abide_model::ExecutionStatus;
use abide_provider::{
    BlockKind, Handlers, Lane, MAX_BLOCK_DETAIL, NodeAnnouncement, NodeOrchestration, PinRange, ServedTags,
    ServedVersions, Serving,
};

use super::mail;
use crate::alphabet;
use crate::habits::Topic;
use crate::op::BlockOp;
use crate::rng::Rng;
use crate::world::World;

/// What a lease call says of its node, in sequences about that; others take everything.
pub(super) fn serving(rng: &mut Rng) -> Option<Serving> {
    if rng.habits.topic != Topic::Blocks || rng.percent(25) {
        return None;
    }
    let handlers = Arc::new(handlers(rng));
    Some(Serving { handlers, takes_suspect: rng.percent(60) })
}

fn handlers(rng: &mut Rng) -> Handlers {
    let some_names = |rng: &mut Rng| -> BTreeSet<String> {
        ["Order", "Child", ""].into_iter().filter(|_| rng.percent(65)).map(str::to_owned).collect()
    };
    let orchestrations = rng.maybe(75, |rng| {
        some_names(rng).into_iter().map(|name| (name, versions(rng))).collect::<BTreeMap<_, _>>()
    });
    let activities = rng.maybe(75, some_names);
    Handlers { build: alphabet::build(rng), orchestrations, activities, pins: alphabet::capabilities(rng) }
}

fn node_id(rng: &mut Rng) -> String {
    (*rng.pick(&["node 1", "node 2", "nöde '3'"])).to_owned()
}

fn announcement(rng: &mut Rng) -> NodeAnnouncement {
    let Handlers { build, orchestrations, activities, pins } = handlers(rng);
    let orchestration = |(name, served): (String, ServedVersions)| NodeOrchestration {
        name,
        versions: served.exact.iter().map(ToString::to_string).collect(),
        resolves_unversioned: served.resolves_unversioned,
    };
    NodeAnnouncement {
        id: node_id(rng),
        build,
        orchestrations: orchestrations.into_iter().flatten().map(orchestration).collect(),
        activities: activities.into_iter().flatten().collect(),
        orchestration_slots: 1,
        worker_slots: 0,
        pins: pins.iter().flat_map(|pins| &pins.supported_duroxide_versions).map(PinRange::of).collect(),
        tags: ServedTags::Any,
    }
}

fn versions(rng: &mut Rng) -> ServedVersions {
    let all = ["1.0.0", "2.1.0", "0.0.0"];
    let exact = all.into_iter().filter(|_| rng.percent(60)).filter_map(|version| version.parse().ok());
    ServedVersions { exact: exact.collect(), resolves_unversioned: rng.percent(60) }
}

fn detail(rng: &mut Rng) -> String {
    if rng.percent(5) { "é".repeat(MAX_BLOCK_DETAIL) } else { alphabet::text(rng) }
}

pub(super) fn block(rng: &mut Rng, world: &World) -> BlockOp {
    BlockOp::Block {
        token: world.pick_token(rng, Lane::Instances),
        kind: *rng.pick(&BlockKind::ALL),
        detail: detail(rng),
        build: alphabet::build(rng),
        event_id: rng.maybe(50, |rng| 1 + rng.below(8)),
        retry_after: alphabet::retry_after(rng),
    }
}

pub(super) fn hold(rng: &mut Rng, world: &World) -> BlockOp {
    let token = world.pick_token(rng, Lane::Work);
    BlockOp::Hold { token, detail: detail(rng), build: alphabet::build(rng) }
}

pub(super) fn begin(rng: &mut Rng, world: &World) -> BlockOp {
    let lane = *rng.pick(&[Lane::Instances, Lane::Work]);
    BlockOp::Begin { lane, token: world.pick_token(rng, lane) }
}

pub(super) fn revoke(rng: &mut Rng, world: &World) -> BlockOp {
    BlockOp::Revoke {
        token: world.pick_token(rng, Lane::Instances),
        execution_id: 1 + rng.below(3),
        limit: *rng.pick(&[0, 1, 2, 256, 1_000]),
        status: rng.maybe(50, |_| ExecutionStatus::Failed),
    }
}

pub(super) fn look(rng: &mut Rng, world: &World) -> BlockOp {
    match rng.below(14) {
        10..=11 => BlockOp::Announce { node: announcement(rng) },
        12 => BlockOp::Forget { node: node_id(rng) },
        13 => BlockOp::Nodes,
        0..=2 => BlockOp::Retry { instance: blocked(rng, world) },
        3..=5 => BlockOp::Read { instance: blocked(rng, world) },
        6..=7 => BlockOp::List { limit: *rng.pick(&[0, 1, 2, 100]) },
        _ => BlockOp::Count,
    }
}

/// Mostly one that is blocked, or has held work.
fn blocked(rng: &mut Rng, world: &World) -> String {
    let instances = world.dump.instances.iter().filter(|(_, instance)| instance.block.is_some());
    let held = world.dump.work.values().filter(|work| work.is_held).map(|work| &work.instance);
    let all: Vec<&String> = instances.map(|(name, _)| name).chain(held).collect();
    match rng.pick_any(&all) {
        Some(name) if rng.percent(70) => (*name).clone(),
        Some(_) | None => mail::some_instance(rng, world),
    }
}
