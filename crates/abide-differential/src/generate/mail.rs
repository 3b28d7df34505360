//! Sending messages and activities from outside of any turn.

use abide_model::WorkItem;
use abide_provider::Lane;

use super::items;
use crate::alphabet;
use crate::habits::Topic;
use crate::op::MailOp;
use crate::rng::Rng;
use crate::world::World;

pub(super) fn start(rng: &mut Rng) -> MailOp {
    let instance = alphabet::instance(rng);
    MailOp::Enqueue { item: items::start(rng, &instance), delay: rng.maybe(10, alphabet::delay).flatten() }
}

pub(super) fn enqueue(rng: &mut Rng, world: &World) -> MailOp {
    if rng.habits.topic == Topic::Families
        && rng.percent(40)
        && let Some(instance) = about_to_start(rng, world)
    {
        let item = WorkItem::QueueMessage { instance, name: alphabet::key(rng), data: alphabet::text(rng) };
        return MailOp::Enqueue { item, delay: None };
    }
    if rng.habits.topic == Topic::Blocks && rng.percent(15) {
        let instance = some_instance(rng, world);
        let item = WorkItem::CancelInstance { instance, reason: alphabet::text(rng) };
        return MailOp::Enqueue { item, delay: alphabet::delay(rng) };
    }
    MailOp::Enqueue { item: any_message(rng, world), delay: alphabet::delay(rng) }
}

/// Somebody who is no instance, but will be.
fn about_to_start(rng: &mut Rng, world: &World) -> Option<String> {
    let starts = world.dump.messages.values().filter(|message| message.class == "Start");
    let names = starts.map(|message| &message.mailbox).filter(|name| world.instance(name).is_none());
    let names: Vec<&String> = names.collect();
    rng.pick_any(&names).map(|name| (*name).clone())
}

pub(super) fn enqueue_once(rng: &mut Rng, world: &World) -> MailOp {
    let key = u8::try_from(rng.below(4)).unwrap();
    if rng.percent(35) {
        return MailOp::EnqueueExisting { item: any_message(rng, world), delay: alphabet::delay(rng), key };
    }
    MailOp::EnqueueOnce { item: any_message(rng, world), delay: alphabet::delay(rng), key }
}

/// Mostly a start, sometimes of somebody who is about to start anyway.
pub(super) fn start_once(rng: &mut Rng, world: &World) -> MailOp {
    let key = u8::try_from(rng.below(6)).unwrap();
    let item = if rng.percent(6) {
        any_message(rng, world)
    } else {
        let waiting = if rng.percent(30) { about_to_start(rng, world) } else { None };
        let instance = waiting.unwrap_or_else(|| alphabet::instance(rng));
        items::start(rng, &instance)
    };
    MailOp::StartOnce { item, delay: rng.maybe(20, alphabet::delay).flatten(), key }
}

fn any_message(rng: &mut Rng, world: &World) -> WorkItem {
    let instance = some_instance(rng, world);
    if rng.percent(3) {
        return items::activity(rng, &instance, 1, 1);
    }
    items::message(rng, &instance, world.now)
}

pub(super) fn enqueue_work(rng: &mut Rng, world: &World) -> MailOp {
    let instance = some_instance(rng, world);
    if rng.percent(4) {
        return MailOp::EnqueueWork { item: items::message(rng, &instance, world.now) };
    }
    let taken = world.taken(Lane::Work);
    let item = rng.pick_any(&taken).and_then(|order| world.issued[*order].memory.item.clone());
    if rng.habits.topic == Topic::Families
        && rng.percent(40)
        && let Some(item) = item
    {
        return MailOp::EnqueueWork { item }; // the same again
    }
    let execution_id = items::execution_id(rng);
    let id = items::event_id(rng);
    MailOp::EnqueueWork { item: items::activity(rng, &instance, execution_id, id) }
}

/// Mostly one that is there.
pub(super) fn some_instance(rng: &mut Rng, world: &World) -> String {
    let known: Vec<&String> = world.dump.instances.keys().collect();
    match rng.pick_any(&known) {
        Some(known) if rng.percent(60) => (*known).clone(),
        Some(_) | None => alphabet::instance(rng),
    }
}
