//! Leasing instances, and what is done with the lease.

use abide_provider::{Consumed, Lane, MessageId, Position};

use super::{blocking, items, mail, spoil, turns};
use crate::alphabet;
use crate::op::{Commit, InstanceOp, Right, Token};
use crate::rng::Rng;
use crate::world::World;

pub(super) fn lease(rng: &mut Rng) -> InstanceOp {
    let (lease_for, capabilities) = (alphabet::lease_for(rng), alphabet::capabilities(rng));
    if rng.percent(35) {
        return InstanceOp::Fetch { lease_for, capabilities };
    }
    let limit = *rng.pick(&[1, 1, 2, 3, 4, 0]);
    InstanceOp::Lease { limit, lease_for, capabilities, serving: blocking::serving(rng) }
}

/// Commits one turn or a few.
pub(super) fn commit(rng: &mut Rng, world: &World) -> InstanceOp {
    let how_many = if rng.percent(80) { 1 } else { rng.below(4) };
    let one = |rng: &mut Rng| if rng.percent(10) { fuse(rng, world) } else { under_lease(rng, world) };
    let mut commits: Vec<Commit> = (0..how_many).map(|_| one(rng)).collect();
    match commits.pop() {
        Some(Commit { right: Right::Lease(token), turn, .. }) if commits.is_empty() && rng.percent(30) => {
            InstanceOp::Ack { token, turn: Box::new(turn) }
        }
        last => {
            commits.extend(last);
            InstanceOp::Commit(commits)
        }
    }
}

fn under_lease(rng: &mut Rng, world: &World) -> Commit {
    let token = world.pick_token(rng, Lane::Instances);
    let instance = instance_of(rng, world, &token);
    let turn = turns::turn(rng, world, &instance);
    let consumed = consumed(rng, world, &instance);
    let mut commit = Commit { instance, right: Right::Lease(token), consumed, turn };
    spoil::sometimes(rng, world, &mut commit);
    commit
}

fn instance_of(rng: &mut Rng, world: &World, token: &Token) -> String {
    match token {
        Token::Issued(order) => world.issued[*order].memory.instance.clone(),
        Token::Garbage(_) => alphabet::instance(rng),
    }
}

fn consumed(rng: &mut Rng, world: &World, instance: &str) -> Consumed {
    if rng.percent(65) {
        return Consumed::All;
    }
    let batch = world.dump.instances.get(instance).map(|instance| instance.batch.clone());
    let mut these: Vec<_> =
        batch.unwrap_or_default().into_iter().filter(|_| rng.percent(50)).map(MessageId).collect();
    if rng.percent(15) {
        these.push(MessageId(items::below(rng, 20)));
    }
    Consumed::These(these)
}

/// A fused step, mostly where it can be done.
pub(super) fn fuse(rng: &mut Rng, world: &World) -> Commit {
    let is_quiet = |order: &usize| {
        let name = &world.issued[*order].memory.instance;
        let is_free = world.instance(name).is_some_and(|instance| instance.leased_until.is_none());
        is_free && !world.has_visible_mail(name)
    };
    let quiet: Vec<usize> = world.live(Lane::Work).into_iter().filter(is_quiet).collect();
    let token = match rng.pick_any(&quiet) {
        Some(order) if rng.percent(80) => Token::Issued(*order),
        Some(_) | None => world.pick_token(rng, Lane::Work),
    };
    let instance = instance_of(rng, world, &token);
    let turn = turns::turn(rng, world, &instance);
    let expected = expected(rng, world.position(&instance));
    let right = Right::FinishedWork { token, expected };
    let mut commit = Commit { instance, right, consumed: Consumed::All, turn };
    if rng.percent(4) {
        spoil::repeat_numbers(&mut commit.turn);
    }
    spoil::sometimes(rng, world, &mut commit);
    commit
}

fn expected(rng: &mut Rng, mut position: Position) -> Position {
    match rng.below(20) {
        0 => position.incarnation += 1,
        1 => position.execution_id += 1,
        2 => position.last_event_id += 1,
        _ => {}
    }
    position
}

pub(super) fn append(rng: &mut Rng, world: &World) -> InstanceOp {
    let instance = mail::some_instance(rng, world);
    let mut turn = turns::turn(rng, world, &instance);
    spoil::turn(rng, world, &instance, &mut turn);
    InstanceOp::Append { instance, execution_id: turn.execution_id, events: turn.events }
}

pub(super) fn renew(rng: &mut Rng, world: &World) -> InstanceOp {
    InstanceOp::Renew { token: world.pick_token(rng, Lane::Instances), extend_for: alphabet::lease_for(rng) }
}

pub(super) fn abandon(rng: &mut Rng, world: &World) -> InstanceOp {
    InstanceOp::Abandon {
        token: world.pick_token(rng, Lane::Instances),
        delay: alphabet::delay(rng),
        ignore_attempt: rng.percent(35),
    }
}
