//! Looking at instances, and at pages of them.

use abide_model::ExecutionStatus;
use abide_provider::{BlockFilter, BlockKind, InstanceOrder, InstanceQuery, PageCursor, Parentage};

use super::{deleting, items, mail, reads};
use crate::admin::LookOp;
use crate::alphabet;
use crate::habits::Topic;
use crate::rng::Rng;
use crate::world::World;

const STATUSES: [&str; 6] = ["Running", "Completed", "Failed", "ContinuedAsNew", "running", ""];
const ORDERS: [InstanceOrder; 3] =
    [InstanceOrder::NewestFirst, InstanceOrder::OldestFirst, InstanceOrder::ById];

pub(super) fn look(rng: &mut Rng, world: &World) -> LookOp {
    let instance = reads::known_instance(rng, world);
    match rng.below(16) {
        0 => LookOp::List,
        1 => LookOp::ByStatus { status: (*rng.pick(&STATUSES)).to_owned() },
        2 => LookOp::Executions { instance },
        3 => LookOp::History { instance },
        4 => {
            let (instance, execution_id) = reads::known_execution(rng, world);
            LookOp::HistoryOf { instance, execution_id }
        }
        5 => LookOp::Latest { instance },
        6 => LookOp::Info { instance },
        7 => {
            let (instance, execution_id) = reads::known_execution(rng, world);
            let execution_id = if rng.percent(30) { items::execution_id(rng) } else { execution_id };
            LookOp::ExecutionInfo { instance, execution_id }
        }
        8 => LookOp::Metrics,
        9..=10 => LookOp::QueueDepths,
        11 => LookOp::Children { instance: deleting::some_parent(rng, world) },
        12 => LookOp::Parent { instance },
        13 => LookOp::Parent { instance: mail::some_instance(rng, world) },
        _ => LookOp::Tree { instance: deleting::some_parent(rng, world) },
    }
}

/// A page, often of very few, and often those behind it.
pub(super) fn pages(rng: &mut Rng, world: &World) -> LookOp {
    let query = query(rng, world);
    LookOp::Pages { query: Box::new(query), most: *rng.pick(&[1, 1, 2, 20, 20]) }
}

fn query(rng: &mut Rng, world: &World) -> InstanceQuery {
    let mut query = InstanceQuery::new().order(*rng.pick(&ORDERS));
    // Mostly few conditions: with all of them nothing is left.
    if rng.percent(25) {
        let how_many = 1 + rng.below(3);
        query.statuses = (0..how_many).map(|_| *rng.pick(&ExecutionStatus::ALL)).collect();
    }
    query.name = rng.maybe(15, alphabet::orchestration);
    query.version = rng
        .maybe(10, |rng| if rng.percent(40) { "unknown".to_owned() } else { alphabet::handler_version(rng) });
    query.id_prefix = rng.maybe(20, |rng| prefix(rng, world));
    query.parentage = match rng.below(10) {
        0..=5 => Parentage::Any,
        6..=7 => Parentage::Root,
        _ => Parentage::ChildOf(deleting::some_parent(rng, world)),
    };
    if rng.habits.topic == Topic::Blocks && rng.percent(60) {
        let kind = BlockFilter::By(*rng.pick(&BlockKind::ALL));
        query.blocked = *rng.pick(&[BlockFilter::Blocked, kind, BlockFilter::By(BlockKind::Quarantine)]);
    }
    query.created_from = rng.maybe(12, |rng| around_creation(rng, world));
    query.created_before = rng.maybe(12, |rng| around_creation(rng, world));
    query.limit = *rng.pick(&[None, Some(1), Some(1), Some(1), Some(2), Some(2), Some(3), Some(1_000)]);
    if rng.percent(4) {
        query.limit = Some(*rng.pick(&[0, 1_001, u32::MAX]));
    }
    query.after = cursor(rng, world, query.order);
    query
}

fn prefix(rng: &mut Rng, world: &World) -> String {
    let of_known = reads::known_instance(rng, world).chars().take(1).collect();
    let ends = ["\u{10ffff}", "ü\u{10ffff}", "%", "", "A"];
    if rng.percent(70) { of_known } else { (*rng.pick(&ends)).to_owned() }
}

fn around_creation(rng: &mut Rng, world: &World) -> u64 {
    let times: Vec<u64> = world.dump.instances.values().map(|instance| instance.created).collect();
    let time = rng.pick_any(&times).copied().unwrap_or(world.now);
    *rng.pick(&[time, time, time + 1, time.saturating_sub(1), 0, u64::MAX])
}

/// None, or one that was handed out, or nonsense.
fn cursor(rng: &mut Rng, world: &World, order: InstanceOrder) -> Option<PageCursor> {
    match rng.below(100) {
        0..30 => {
            let fitting: Vec<_> = world.cursors.iter().filter(|cursor| cursor.order() == order).collect();
            rng.pick_any(&fitting).map(|cursor| (*cursor).clone())
        }
        30..35 => rng.pick_any(&world.cursors).cloned(),
        35..41 => {
            let ties = ["", "x", "0", "-1", "+1", "1 ", "9223372036854775808", "18446744073709551616", "ü"];
            let time = *rng.pick(&[0, world.now, u64::MAX]);
            Some(PageCursor::created(order, time, *rng.pick(&ties)))
        }
        41..44 => Some(PageCursor::id(alphabet::instance(rng))),
        _ => None,
    }
}
