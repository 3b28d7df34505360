//! From a number to a step that makes sense where the stores stand.
//!
//! What kind of step it is depends on the number and the habits of the sequence; what it is about depends on the state too, so that dropping a step
//! from a sequence leaves the others their meaning. Most steps are valid. The rest break one rule each, mostly.

mod blocking;
mod deleting;
mod instances;
mod items;
mod looking;
mod mail;
mod reads;
mod spoil;
mod turns;
mod work;

use std::time::Duration;

use abide_provider::Lane;

use crate::alphabet;
use crate::habits::{Habits, Topic};
use crate::op::{InstanceOp, Op, SessionOp};
use crate::rng::Rng;
use crate::subject::Reopening;
use crate::world::World;

/// What to do, before it is known with what.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Advance,
    Start,
    Enqueue,
    EnqueueOnce,
    StartOnce,
    EnqueueWork,
    LeaseInstances,
    Commit,
    Fuse,
    Append,
    RenewInstance,
    AbandonInstance,
    LeaseWork,
    FinishWork,
    RenewWork,
    AbandonWork,
    Session,
    Block,
    Hold,
    Begin,
    Revoke,
    LookAtBlocks,
    Read,
    NextDue,
    Look,
    Page,
    Delete,
    DeleteSet,
    DeleteBulk,
    Orphans,
    Retention,
    Prune,
    PruneBulk,
    Damage,
    Listen,
    Restart,
}

const KINDS: [(u64, Kind); 31] = [
    (11, Kind::Advance),
    (5, Kind::Start),
    (11, Kind::Enqueue),
    (5, Kind::EnqueueOnce),
    (5, Kind::StartOnce),
    (6, Kind::EnqueueWork),
    (14, Kind::LeaseInstances),
    (24, Kind::Commit),
    (8, Kind::Fuse),
    (3, Kind::Append),
    (4, Kind::RenewInstance),
    (4, Kind::AbandonInstance),
    (12, Kind::LeaseWork),
    (9, Kind::FinishWork),
    (5, Kind::RenewWork),
    (6, Kind::AbandonWork),
    (5, Kind::Session),
    (11, Kind::Read),
    (9, Kind::NextDue),
    (4, Kind::Damage),
    (1, Kind::Listen),
    (1, Kind::Restart),
    (4, Kind::Look),
    (2, Kind::Page),
    (1, Kind::Delete),
    (2, Kind::DeleteSet),
    (1, Kind::DeleteBulk),
    (1, Kind::Orphans),
    (1, Kind::Retention),
    (1, Kind::Prune),
    (1, Kind::PruneBulk),
];

/// The same for sequences about turns.
const KINDS_OF_TURNS: [(u64, Kind); 10] = [
    (3, Kind::Advance),
    (3, Kind::Start),
    (6, Kind::Enqueue),
    (20, Kind::LeaseInstances),
    (35, Kind::Commit),
    (8, Kind::Fuse),
    (8, Kind::LeaseWork),
    (6, Kind::FinishWork),
    (14, Kind::Read),
    (1, Kind::Damage),
];

/// The same for sequences about parents and children.
const KINDS_OF_FAMILIES: [(u64, Kind); 21] = [
    (7, Kind::Advance),
    (10, Kind::Start),
    (6, Kind::Enqueue),
    (3, Kind::EnqueueWork),
    (24, Kind::LeaseInstances),
    (46, Kind::Commit),
    (2, Kind::Fuse),
    (8, Kind::LeaseWork),
    (6, Kind::FinishWork),
    (2, Kind::Read),
    (1, Kind::NextDue),
    (6, Kind::Look),
    (7, Kind::Page),
    (4, Kind::Delete),
    (6, Kind::DeleteSet),
    (5, Kind::DeleteBulk),
    (6, Kind::Orphans),
    (4, Kind::Retention),
    (3, Kind::Prune),
    (4, Kind::PruneBulk),
    (1, Kind::Restart),
];

/// The same for sequences about damage: what was tried must be tried again when its time has come.
const KINDS_OF_DAMAGE: [(u64, Kind); 10] = [
    (34, Kind::Advance),
    (3, Kind::Start),
    (3, Kind::Enqueue),
    (3, Kind::EnqueueWork),
    (24, Kind::LeaseInstances),
    (30, Kind::LeaseWork),
    (8, Kind::Damage),
    (2, Kind::Commit),
    (1, Kind::DeleteSet),
    (1, Kind::Look),
];

/// The same for sequences about nodes that serve and refuse.
const KINDS_OF_BLOCKS: [(u64, Kind); 26] = [
    (16, Kind::Advance),
    (8, Kind::Start),
    (12, Kind::Enqueue),
    (5, Kind::EnqueueWork),
    (30, Kind::LeaseInstances),
    (20, Kind::Commit),
    (4, Kind::Fuse),
    (2, Kind::Append),
    (3, Kind::RenewInstance),
    (5, Kind::AbandonInstance),
    (22, Kind::LeaseWork),
    (5, Kind::FinishWork),
    (4, Kind::AbandonWork),
    (24, Kind::Block),
    (14, Kind::Hold),
    (10, Kind::Begin),
    (6, Kind::Revoke),
    (18, Kind::LookAtBlocks),
    (2, Kind::Read),
    (6, Kind::NextDue),
    (3, Kind::Look),
    (6, Kind::Page),
    (1, Kind::Delete),
    (2, Kind::DeleteSet),
    (3, Kind::Damage),
    (2, Kind::Restart),
];

/// The step that this number means here.
pub(crate) fn step(number: u64, habits: Habits, world: &World) -> Op {
    let mut rng = Rng::new(number, habits);
    let rng = &mut rng;
    let kind = match habits.topic {
        Topic::Everything => rng.weighted(&KINDS),
        Topic::Turns => rng.weighted(&KINDS_OF_TURNS),
        Topic::Damage => rng.weighted(&KINDS_OF_DAMAGE),
        Topic::Families => rng.weighted(&KINDS_OF_FAMILIES),
        Topic::Blocks => rng.weighted(&KINDS_OF_BLOCKS),
    };
    let kind = sensible(kind, rng, world);
    let has_dead_letters = world.dump.dead_letters > 0 && habits.topic == Topic::Damage;
    match if has_dead_letters && rng.percent(15) { Kind::DeleteSet } else { kind } {
        Kind::Advance => Op::Advance(advance(rng, world)),
        Kind::Start => Op::Mail(mail::start(rng)),
        Kind::Enqueue => Op::Mail(mail::enqueue(rng, world)),
        Kind::EnqueueOnce => Op::Mail(mail::enqueue_once(rng, world)),
        Kind::StartOnce => Op::Mail(mail::start_once(rng, world)),
        Kind::EnqueueWork => Op::Mail(mail::enqueue_work(rng, world)),
        Kind::LeaseInstances => Op::Instance(instances::lease(rng)),
        Kind::Commit => Op::Instance(instances::commit(rng, world)),
        Kind::Fuse => Op::Instance(InstanceOp::Commit(vec![instances::fuse(rng, world)])),
        Kind::Append => Op::Instance(instances::append(rng, world)),
        Kind::RenewInstance => Op::Instance(instances::renew(rng, world)),
        Kind::AbandonInstance => Op::Instance(instances::abandon(rng, world)),
        Kind::LeaseWork => Op::Work(work::lease(rng)),
        Kind::FinishWork => Op::Work(work::finish(rng, world)),
        Kind::RenewWork => Op::Work(work::renew(rng, world)),
        Kind::AbandonWork => Op::Work(work::abandon(rng, world)),
        Kind::Session => Op::Session(session(rng, world)),
        Kind::Block => Op::Block(blocking::block(rng, world)),
        Kind::Hold => Op::Block(blocking::hold(rng, world)),
        Kind::Begin => Op::Block(blocking::begin(rng, world)),
        Kind::Revoke => Op::Block(blocking::revoke(rng, world)),
        Kind::LookAtBlocks => Op::Block(blocking::look(rng, world)),
        Kind::Read => Op::Read(reads::read(rng, world)),
        Kind::NextDue => Op::Read(reads::next_due(rng)),
        Kind::Look => Op::Look(looking::look(rng, world)),
        Kind::Page => Op::Look(looking::pages(rng, world)),
        Kind::Delete => Op::Delete(deleting::one(rng, world)),
        Kind::DeleteSet => Op::Delete(deleting::set(rng, world)),
        Kind::DeleteBulk => Op::Delete(deleting::bulk(rng, world)),
        Kind::Orphans => Op::Delete(deleting::orphans(rng, world)),
        Kind::Retention => Op::Delete(deleting::retention(rng, world)),
        Kind::Prune => Op::Delete(deleting::prune(rng, world)),
        Kind::PruneBulk => Op::Delete(deleting::prune_bulk(rng, world)),
        Kind::Damage => reads::damage(rng, world).map_or(Op::Listen, Op::Damage),
        Kind::Listen => Op::Listen,
        Kind::Restart if world.reopening != Reopening::Never => Op::Restart,
        Kind::Restart => Op::Advance(alphabet::step(rng)),
    }
}

/// Now and then to the very millisecond in which mail has waited for too long: chance alone hardly ever meets it.
fn advance(rng: &mut Rng, world: &World) -> Duration {
    let expiries = world.dump.messages.values().filter_map(|message| message.expires_at);
    match expiries.filter_map(|time| time.checked_sub(world.now)).min() {
        Some(ahead) if rng.percent(12) => Duration::from_millis(ahead),
        Some(_) | None => alphabet::step(rng),
    }
}

/// Mostly does first what would have to come first.
fn sensible(kind: Kind, rng: &mut Rng, world: &World) -> Kind {
    if rng.percent(7) {
        return kind;
    }
    let has_work =
        world.dump.work.values().any(|work| work.leased_until.is_none() && work.visible_at.is_none());
    let has_mail = world.dump.messages.values().any(|message| message.visible_at.is_none());
    let held = |lane: Lane| !world.live(lane).is_empty();
    // What was taken away is tried too.
    let holds_work = held(Lane::Work) || (rng.percent(50) && !world.taken(Lane::Work).is_empty());
    let holds_instance = held(Lane::Instances);
    let needs_work =
        matches!(kind, Kind::FinishWork | Kind::Fuse | Kind::RenewWork | Kind::AbandonWork | Kind::Hold)
            && !holds_work;
    let needs_instance = matches!(
        kind,
        Kind::Commit | Kind::RenewInstance | Kind::AbandonInstance | Kind::Block | Kind::Revoke
    ) && !holds_instance;
    if needs_work && has_work {
        Kind::LeaseWork
    } else if needs_work || (matches!(kind, Kind::LeaseWork) && !has_work) {
        sensible(Kind::Commit, rng, world)
    } else if needs_instance && has_mail {
        Kind::LeaseInstances
    } else if needs_instance || (matches!(kind, Kind::LeaseInstances) && !has_mail) {
        Kind::Start
    } else {
        kind
    }
}

fn session(rng: &mut Rng, world: &World) -> SessionOp {
    let idle_timeout = alphabet::step(rng);
    if rng.percent(50) {
        return SessionOp::Cleanup { idle_timeout };
    }
    if rng.percent(50) {
        let owners: Vec<&String> = world.dump.sessions.values().map(|session| &session.owner).collect();
        let owner = rng.pick_any(&owners).map(|owner| (*owner).clone());
        return SessionOp::RenewServed {
            owner: owner.unwrap_or_else(|| alphabet::owner(rng)),
            extend_for: alphabet::lease_for(rng),
            idle_timeout: if rng.percent(50) { Duration::from_secs(3600) } else { idle_timeout },
            tags: alphabet::tag_filter(rng),
            serving: blocking::serving(rng),
        };
    }
    let owners = (0..rng.below(4)).map(|_| alphabet::owner(rng)).collect();
    SessionOp::Renew { owners, extend_for: alphabet::lease_for(rng), idle_timeout }
}
