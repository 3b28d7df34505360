//! Turns that go on where their instance stands.

use std::time::Duration;

use abide_model::{EventKind, PruneOptions, Retry, ScheduledActivityIdentifier, StepTry, WorkItem};
use abide_provider::{Refusals, Turn};

use super::{items, mail};
use crate::alphabet;
use crate::habits::Topic;
use crate::rng::Rng;
use crate::world::World;

/// A turn in the making.
struct Maker<'a> {
    rng: &'a mut Rng,
    world: &'a World,
    instance: &'a str,
    next_event: u64,
    turn: Turn,
}

/// A turn of this instance that may be committed now, if anything may.
pub(super) fn turn(rng: &mut Rng, world: &World, instance: &str) -> Turn {
    let known = world.instance(instance);
    let (execution_id, last_event) = match known {
        None => (1, 0),
        Some(known) => match known.status.as_deref() {
            Some("Running") => (known.execution, known.last_event_id),
            Some("ContinuedAsNew") if rng.percent(80) => (known.execution + 1, 0),
            Some(_) if rng.percent(20) => (known.execution + 1 + rng.below(2), 0),
            Some(_) | None => (known.execution, known.last_event_id),
        },
    };
    let gap = if rng.percent(10) { rng.below(3) } else { 0 };
    let turn = Turn { execution_id, ..Turn::default() };
    let mut maker = Maker { rng, world, instance, next_event: last_event + 1 + gap, turn };
    maker.begin(last_event);
    for _ in 0..maker.rng.below(5) {
        maker.happen();
    }
    maker.say_something_about_the_execution();
    let chance_of_end = if maker.is_about_families() { 45 } else { 20 };
    if maker.rng.percent(chance_of_end) {
        maker.end();
    }
    maker.turn
}

impl Maker<'_> {
    fn is_about_families(&self) -> bool {
        self.rng.habits.topic == Topic::Families
    }

    fn event(&mut self, kind: EventKind) -> u64 {
        let id = self.next_event;
        self.next_event += 1;
        self.turn.events.push(items::event(self.instance, self.turn.execution_id, id, kind));
        // Mostly something; not drawn, so that seeds stay what they are.
        self.turn.waiting = (!id.is_multiple_of(4)).then(|| format!(r#"[1,[["event",{id},"go",5]],[]]"#));
        // Some builds run what they had refused.
        let still_refused = || Refusals::default().with("b1");
        self.turn.still_refused = match id % 11 {
            3 => Some(Refusals::default()),
            7 => Some(still_refused()),
            _ => None,
        };
        id
    }

    fn begin(&mut self, last_event: u64) {
        if last_event == 0 && self.rng.percent(85) {
            let started = items::started(self.rng);
            let started = self.as_asked_for(started);
            self.event(started);
            self.turn.metadata.pinned_duroxide_version = self.rng.maybe(50, alphabet::pin);
        }
    }

    /// Mostly with the parent that the start names.
    fn as_asked_for(&mut self, mut started: EventKind) -> EventKind {
        let mut mail = self.world.dump.messages.values();
        let start = mail.find(|message| message.mailbox == self.instance && message.class == "Start");
        let start = start.and_then(|message| serde_json::from_str(&message.json).ok());
        if let Some(WorkItem::StartOrchestration {
            parent_instance: asking,
            parent_id: asking_event,
            parent_execution_id: asking_execution,
            ..
        }) = start
            && let EventKind::OrchestrationStarted { parent_instance, parent_id, parent_execution_id, .. } =
                &mut started
            && self.rng.percent(80)
        {
            *parent_instance = asking;
            *parent_id = asking_event;
            *parent_execution_id = asking_execution;
        }
        started
    }

    fn happen(&mut self) {
        if self.is_about_families() && self.rng.percent(30) {
            return self.start_child();
        }
        match self.rng.below(24) {
            0..=5 => self.schedule_activity(),
            6..=7 => self.create_timer(),
            8 => self.start_child(),
            9..=10 => self.cancel_activity(),
            11..=12 => self.remove_timer(),
            13..=14 => self.send(),
            _ => {
                let kind = items::quiet_event(self.rng);
                self.event(kind);
            }
        }
    }

    fn schedule_activity(&mut self) {
        let scheduled = EventKind::ActivityScheduled {
            name: alphabet::orchestration(self.rng),
            input: alphabet::text(self.rng),
            session_id: None,
            tag: None,
        };
        let id = self.event(scheduled);
        let other = self.rng.maybe(5, alphabet::instance);
        let instance = other.as_deref().unwrap_or(self.instance);
        let activity = items::activity(self.rng, instance, self.turn.execution_id, id);
        self.turn.worker_items.push(activity);
        // Not drawn, so that seeds stay what they are.
        if id.is_multiple_of(3) {
            let number = u32::try_from(2 + id % 4).unwrap_or(2);
            let step = StepTry { first_event_id: id - 1, number };
            self.turn.retries.push(Retry { event_id: id, step });
        }
        if self.rng.percent(10) {
            self.cancel(self.instance.to_owned(), self.turn.execution_id, id);
        }
    }

    fn create_timer(&mut self) {
        let fire_at_ms = self.world.now + alphabet::ahead_ms(self.rng);
        let id = self.event(EventKind::TimerCreated { fire_at_ms });
        let ids = (self.turn.execution_id, id);
        // Shown when they fire, or a little later; not drawn, so that seeds stay what they are.
        self.turn.timer_slack = Duration::from_millis(id % 5);
        let timer = items::timer(self.rng, self.instance, ids, self.world.now);
        self.turn.orchestrator_items.push(timer);
        if self.rng.percent(10) {
            self.turn.removed_timers.push(id);
        }
    }

    fn start_child(&mut self) {
        let child = alphabet::instance(self.rng);
        let scheduled = EventKind::SubOrchestrationScheduled {
            name: alphabet::orchestration(self.rng),
            instance: child.clone(),
            input: alphabet::text(self.rng),
        };
        let id = self.event(scheduled);
        self.turn.orchestrator_items.push(WorkItem::StartOrchestration {
            instance: child,
            orchestration: alphabet::orchestration(self.rng),
            input: alphabet::text(self.rng),
            version: None,
            parent_instance: Some(self.instance.to_owned()),
            parent_id: Some(id),
            parent_execution_id: self.rng.maybe(80, |_| self.turn.execution_id),
            execution_id: 1,
        });
    }

    /// Takes back an activity: mostly one of its own that is queued, leased or not.
    fn cancel_activity(&mut self) {
        let all = self.world.dump.work.values();
        let queued: Vec<_> = all.filter(|work| work.instance == self.instance).collect();
        match self.rng.pick_any(&queued) {
            Some(work) if self.rng.percent(85) => {
                self.cancel(work.instance.clone(), work.execution, work.activity);
            }
            Some(_) | None => {
                let instance = alphabet::instance(self.rng);
                let (execution, activity) = (items::execution_id(self.rng), items::event_id(self.rng));
                self.cancel(instance, execution, activity);
            }
        }
    }

    fn cancel(&mut self, instance: String, execution_id: u64, activity_id: u64) {
        if self.rng.percent(50) {
            let reason = if self.rng.percent(60) { "dropped_future" } else { "ended" };
            self.event(EventKind::ActivityCancelRequested { reason: reason.to_owned() });
            if let Some(event) = self.turn.events.last_mut() {
                event.source_event_id = Some(activity_id);
            }
        }
        let activity = ScheduledActivityIdentifier { instance, execution_id, activity_id };
        self.turn.cancelled_activities.push(activity);
    }

    fn remove_timer(&mut self) {
        let created: Vec<u64> = self.timers();
        let id = match self.rng.pick_any(&created) {
            Some(id) if self.rng.percent(85) => *id,
            Some(_) | None => items::event_id(self.rng),
        };
        self.turn.removed_timers.push(id);
    }

    /// The timers of this execution that are queued, by the events that created them.
    fn timers(&self) -> Vec<u64> {
        let all = self.world.dump.messages.values();
        let own = all.filter(|message| message.class == "Timer" && message.mailbox == self.instance);
        let ids = own.filter_map(|message| match serde_json::from_str(&message.json) {
            Ok(WorkItem::TimerFired { execution_id, id, .. }) if execution_id == self.turn.execution_id => {
                Some(id)
            }
            Ok(_) | Err(_) => None,
        });
        ids.collect()
    }

    fn send(&mut self) {
        let to = if self.rng.percent(30) {
            self.instance.to_owned()
        } else {
            mail::some_instance(self.rng, self.world)
        };
        let message = items::message(self.rng, &to, self.world.now);
        self.turn.orchestrator_items.push(message);
    }

    fn say_something_about_the_execution(&mut self) {
        let families = self.is_about_families();
        let metadata = &mut self.turn.metadata;
        metadata.orchestration_name = self.rng.maybe(15, alphabet::orchestration);
        metadata.orchestration_version = self.rng.maybe(10, alphabet::handler_version);
        let chance_of_parent = if families { 3 } else { 8 };
        metadata.parent_instance_id = self.rng.maybe(chance_of_parent, alphabet::instance);
        if self.rng.percent(4) {
            metadata.pinned_duroxide_version = Some(alphabet::pin(self.rng));
        }
        if self.rng.percent(6) {
            metadata.status = Some("Running".to_owned());
            metadata.output = self.rng.maybe(30, alphabet::text);
        }
        let now = self.world.now;
        self.turn.prune = self.rng.maybe(20, |rng| PruneOptions {
            keep_last: rng.maybe(60, |rng| u32::try_from(rng.below(4)).unwrap()),
            completed_before: rng.maybe(30, |rng| {
                let around = [now.saturating_sub(5_000), now, now + 1, u64::MAX];
                *rng.pick(&around)
            }),
        });
    }

    fn end(&mut self) {
        let (event, status, output) = items::end(self.rng);
        if self.rng.percent(95) {
            self.event(event);
        }
        self.turn.metadata.status = Some(status.to_owned());
        self.turn.metadata.output = self.rng.maybe(90, |_| output);
        let chance_of_successor = if self.is_about_families() { 75 } else { 90 };
        if status == "ContinuedAsNew" && self.rng.percent(chance_of_successor) {
            let successor = items::continue_as_new(self.rng, self.instance);
            self.turn.orchestrator_items.push(successor);
        }
    }
}
