//! Leasing activities, and what is done with the lease.

use abide_model::WorkItem;
use abide_provider::{Lane, SessionFetchConfig};

use super::{blocking, items};
use crate::alphabet;
use crate::op::{Token, WorkOp};
use crate::rng::Rng;
use crate::world::World;

pub(super) fn lease(rng: &mut Rng) -> WorkOp {
    let lease_for = alphabet::lease_for(rng);
    let session = rng.maybe(70, |rng| SessionFetchConfig {
        owner_id: alphabet::owner(rng),
        lock_timeout: alphabet::lease_for(rng),
    });
    let tags = alphabet::tag_filter(rng);
    if rng.percent(35) {
        return WorkOp::Fetch { lease_for, session, tags };
    }
    let limit = *rng.pick(&[1, 1, 2, 3, 4, 0]);
    WorkOp::Lease { limit, lease_for, session, tags, serving: blocking::serving(rng) }
}

pub(super) fn finish(rng: &mut Rng, world: &World) -> WorkOp {
    let how_many = if rng.percent(70) { 1 } else { rng.below(4) };
    let mut finished: Vec<_> = (0..how_many).map(|_| one_finished(rng, world)).collect();
    match finished.pop() {
        Some((token, completion)) if finished.is_empty() && rng.percent(40) => {
            WorkOp::Ack { token, completion }
        }
        last => {
            finished.extend(last);
            WorkOp::Finish(finished)
        }
    }
}

fn one_finished(rng: &mut Rng, world: &World) -> (Token, Option<WorkItem>) {
    let token = world.pick_token(rng, Lane::Work);
    let (instance, ids) = activity_of(rng, world, &token);
    let completion = match rng.below(20) {
        0 => Some(items::message(rng, &instance, world.now)),
        1 => Some(items::activity(rng, &instance, ids.0, ids.1)),
        2 => {
            let other = alphabet::instance(rng);
            Some(items::completion(rng, &other, ids))
        }
        3..=4 => None,
        _ => Some(items::completion(rng, &instance, ids)),
    };
    (token, completion)
}

fn activity_of(rng: &mut Rng, world: &World, token: &Token) -> (String, (u64, u64)) {
    if let Token::Issued(order) = token
        && let Some(WorkItem::ActivityExecute { instance, execution_id, id, .. }) =
            &world.issued[*order].memory.item
    {
        return (instance.clone(), (*execution_id, *id));
    }
    (alphabet::instance(rng), (items::execution_id(rng), items::event_id(rng)))
}

pub(super) fn renew(rng: &mut Rng, world: &World) -> WorkOp {
    WorkOp::Renew { token: world.pick_token(rng, Lane::Work), extend_for: alphabet::lease_for(rng) }
}

pub(super) fn abandon(rng: &mut Rng, world: &World) -> WorkOp {
    WorkOp::Abandon {
        token: world.pick_token(rng, Lane::Work),
        delay: alphabet::delay(rng),
        ignore_attempt: rng.percent(35),
    }
}
