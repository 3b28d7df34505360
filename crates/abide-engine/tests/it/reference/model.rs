//! What the reference knows of a running program: its asks, what they were bound to, what they were given.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::mem::discriminant;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use abide_engine::model::{Event, EventKind};
use futures::future::BoxFuture;

use super::code::{Asks, Ran, activity_name};
use crate::program::Leaf;

/// What is dropped is recorded in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) enum Family {
    Activity,
    Child,
    Wait,
    Dequeue,
    Timer,
}

#[derive(Default)]
pub(super) struct Model {
    last_token: u64,
    /// Asks without an event yet, by token; a continue-as-new never has one.
    pub(super) emitted: VecDeque<(u64, Option<EventKind>)>,
    /// The event of each token.
    bound: BTreeMap<u64, u64>,
    /// The family of each token, and the name it waits for.
    families: BTreeMap<u64, (Family, String)>,
    results: BTreeMap<u64, String>,
    /// The tokens of open waits and dequeues, by event.
    pub(super) waits: BTreeMap<u64, u64>,
    pub(super) dequeues: BTreeMap<u64, u64>,
    unread: BTreeMap<String, VecDeque<String>>,
    open: BTreeSet<u64>,
    dropped: BTreeSet<u64>,
    pub(super) next: Option<String>,
}

/// The context that the model gives its code.
#[derive(Clone, Default)]
pub(super) struct ModelContext(Arc<Mutex<Model>>);

impl ModelContext {
    pub(super) fn model(&self) -> MutexGuard<'_, Model> {
        self.0.lock().unwrap()
    }
}

pub(super) struct ModelFuture {
    ctx: ModelContext,
    token: u64,
    is_done: bool,
}

impl Asks for ModelContext {
    type Answer = ModelFuture;

    fn leaf(&self, leaf: Leaf) -> ModelFuture {
        let (family, name, kind) = ask_of(leaf);
        let mut model = self.model();
        let token = model.emit(Some(kind));
        model.families.insert(token, (family, name));
        ModelFuture { ctx: self.clone(), token, is_done: false }
    }

    fn state(&self, kind: EventKind) {
        self.model().emit(Some(kind));
    }

    fn next(&self, input: String) {
        let mut model = self.model();
        model.emit(None);
        model.next.get_or_insert(input);
    }

    fn join<'a>(&'a self, all: Vec<BoxFuture<'a, Ran>>) -> BoxFuture<'a, Vec<Ran>> {
        let mut results: Vec<Option<Ran>> = all.iter().map(|_| None).collect();
        let mut open: Vec<Option<BoxFuture<'a, Ran>>> = all.into_iter().map(Some).collect();
        Box::pin(poll_fn(move |cx| {
            for (slot, result) in open.iter_mut().zip(&mut results) {
                let Some(future) = slot else { continue };
                if let Poll::Ready(ran) = future.as_mut().poll(cx) {
                    *result = Some(ran);
                    *slot = None;
                }
            }
            if open.iter().any(Option::is_some) {
                return Poll::Pending;
            }
            Poll::Ready(results.iter_mut().filter_map(Option::take).collect())
        }))
    }
}

/// A leaf as the reference asks for it: its family, the name it waits for, its event.
fn ask_of(leaf: Leaf) -> (Family, String, EventKind) {
    let input = "in".to_owned();
    match leaf {
        Leaf::Timer(delay) => {
            (Family::Timer, String::new(), EventKind::TimerCreated { fire_at_ms: u64::from(delay) })
        }
        Leaf::Wait(name) => {
            let name = format!("w{name}");
            (Family::Wait, name.clone(), EventKind::ExternalSubscribed { name })
        }
        Leaf::Dequeue(name) => {
            let name = format!("q{name}");
            (Family::Dequeue, name.clone(), EventKind::QueueSubscribed { name })
        }
        Leaf::Child(name) => {
            let (name, instance) = (format!("Child{name}"), "pending".to_owned());
            (Family::Child, String::new(), EventKind::SubOrchestrationScheduled { name, instance, input })
        }
        other => {
            let name = activity_name(other);
            let kind = EventKind::ActivityScheduled { name, input, session_id: None, tag: None };
            (Family::Activity, String::new(), kind)
        }
    }
}

impl Future for ModelFuture {
    type Output = String;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<String> {
        let answer = self.ctx.model().take_answer(self.token);
        answer.map_or(Poll::Pending, |answer| {
            self.is_done = true;
            Poll::Ready(answer)
        })
    }
}

impl Drop for ModelFuture {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let mut model = self.ctx.model();
        model.dropped.insert(self.token);
        if let Some(id) = model.bound.get(&self.token).copied() {
            model.waits.remove(&id);
            model.dequeues.remove(&id);
        }
    }
}

impl Model {
    fn emit(&mut self, kind: Option<EventKind>) -> u64 {
        self.last_token += 1;
        self.emitted.push_back((self.last_token, kind));
        self.last_token
    }

    /// A message goes to the dequeue at its place in line; it is taken when that is polled.
    fn take_answer(&mut self, token: u64) -> Option<String> {
        let (family, name) = &self.families[&token];
        if *family != Family::Dequeue {
            return self.results.remove(&token);
        }
        let id = *self.bound.get(&token)?;
        let mut line = self.dequeues.iter().filter(|(_, other)| self.families[*other].1 == *name);
        let place = line.position(|(other, _)| *other == id)?;
        let data = self.unread.get_mut(name)?.remove(place)?;
        self.dequeues.remove(&id);
        Some(data)
    }

    pub(super) fn bind(&mut self, token: u64, id: u64) {
        self.bound.insert(token, id);
        let Some((family, _)) = self.families.get(&token) else { return };
        self.open.insert(id);
        if self.dropped.contains(&token) {
            return;
        }
        match family {
            Family::Wait => drop(self.waits.insert(id, token)),
            Family::Dequeue => drop(self.dequeues.insert(id, token)),
            Family::Activity | Family::Child | Family::Timer => {}
        }
    }

    /// What was dropped, in the order in which it is recorded. Nobody hears of a timer.
    pub(super) fn dropped_in_order(&self) -> Vec<(Family, u64)> {
        let mut dropped: Vec<_> = self
            .dropped
            .iter()
            .filter_map(|token| Some((self.families[token].0, *self.bound.get(token)?)))
            .filter(|(family, _)| *family != Family::Timer)
            .collect();
        dropped.sort_unstable();
        dropped
    }

    /// Applies one event, and says whether the code must be polled. `None`: it does not fit.
    pub(super) fn apply(&mut self, event: &Event) -> Option<bool> {
        match &event.kind {
            EventKind::ActivityCompleted { result } | EventKind::SubOrchestrationCompleted { result } => {
                self.answer(event, format!("{:?}", Ok::<_, String>(result)))
            }
            EventKind::ActivityFailed { details } | EventKind::SubOrchestrationFailed { details } => {
                self.answer(event, format!("{:?}", Err::<String, _>(details.display_message())))
            }
            EventKind::TimerFired { .. } => self.answer(event, "fired".to_owned()),
            EventKind::ExternalEvent { name, data } => Some(self.signal(name, data)),
            EventKind::QueueEventDelivered { name, data } => {
                self.unread.entry(name.clone()).or_default().push_back(data.clone());
                Some(true)
            }
            EventKind::OrchestrationStarted { .. } => Some(false),
            kind if is_cancellation(kind) => Some(false),
            kind => {
                let (token, asked) = self.emitted.pop_front()?;
                if discriminant(&asked?) != discriminant(kind) {
                    return None;
                }
                self.bind(token, event.event_id);
                Some(matches!(kind, EventKind::QueueSubscribed { .. }))
            }
        }
    }

    fn answer(&mut self, event: &Event, text: String) -> Option<bool> {
        let source = event.source_event_id?;
        if !self.open.remove(&source) {
            return None;
        }
        let (token, _) = self.bound.iter().find(|(_, bound)| **bound == source)?;
        self.results.insert(*token, text);
        Some(true)
    }

    /// A signal goes to the oldest wait of its name, or to nobody.
    fn signal(&mut self, name: &str, data: &str) -> bool {
        let mut waits = self.waits.iter().filter(|(_, token)| self.families[*token].1 == name);
        let Some((id, token)) = waits.next().map(|(id, token)| (*id, *token)) else { return false };
        self.waits.remove(&id);
        self.results.insert(token, data.to_owned());
        true
    }
}

/// Whether an event says that something is no longer wanted.
pub(super) fn is_cancellation(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::ActivityCancelRequested { .. }
            | EventKind::SubOrchestrationCancelRequested { .. }
            | EventKind::ExternalSubscribedCancelled { .. }
            | EventKind::QueueSubscriptionCancelled { .. }
    )
}
