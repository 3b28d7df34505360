//! One turn as the reference records it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use abide_engine::model::{AppErrorKind, ErrorDetails, Event, EventKind};
use futures::future::BoxFuture;

use super::code::run;
use super::model::{Family, ModelContext, is_cancellation};
use crate::program::Step;
use crate::support::INSTANCE;
use crate::support::past::{REFERENCE, Row};

/// What a turn appended.
pub(super) struct Turned {
    pub(super) events: Vec<Event>,
    pub(super) is_over: bool,
}

/// What the reference appends to `history` for `batch`; `None` if it cannot replay its own history.
pub(super) fn take_turn(
    steps: &Arc<Vec<Step>>,
    history: &[Event],
    batch: &[Row],
    now: u64,
) -> Option<Turned> {
    let mut turn = Turn::new(steps, history, now);
    for (source, kind) in batch {
        turn.append(*source, kind.clone());
    }
    turn.deliver()?;
    turn.record_asks();
    let next = turn.ctx.model().next.clone();
    if next.is_none() {
        turn.record_drops();
    }
    let is_over = next.is_some() || turn.output.is_some();
    if is_over {
        turn.record_end(next);
    }
    Some(Turned { events: turn.events.split_off(history.len()), is_over })
}

struct Turn {
    ctx: ModelContext,
    program: BoxFuture<'static, Result<String, String>>,
    output: Option<Result<String, String>>,
    events: Vec<Event>,
    now: u64,
}

impl Turn {
    fn new(steps: &Arc<Vec<Step>>, history: &[Event], now: u64) -> Self {
        let ctx = ModelContext::default();
        let program = {
            let (ctx, steps) = (ctx.clone(), Arc::clone(steps));
            Box::pin(async move { run(&ctx, &steps).await.map_or_else(|end| end, Ok) })
        };
        Self { ctx, program, output: None, events: history.to_vec(), now }
    }

    fn next_id(&self) -> u64 {
        self.events.last().map_or(1, |last| last.event_id + 1)
    }

    fn append(&mut self, source: Option<u64>, kind: EventKind) {
        self.append_as(self.next_id(), source, kind);
    }

    fn append_as(&mut self, event_id: u64, source_event_id: Option<u64>, kind: EventKind) {
        self.events.push(Event {
            event_id,
            source_event_id,
            instance_id: INSTANCE.to_owned(),
            execution_id: 1,
            timestamp_ms: self.now,
            duroxide_version: REFERENCE.to_owned(),
            kind,
        });
    }

    fn poll(&mut self) {
        if self.output.is_none()
            && let Poll::Ready(output) = self.program.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            self.output = Some(output);
        }
    }

    /// Runs the code from the top, with a poll per arrival.
    fn deliver(&mut self) -> Option<()> {
        let mut must_poll = true;
        for event in self.events.clone() {
            if must_poll {
                self.poll();
            }
            if self.output.is_some() {
                return Some(());
            }
            must_poll = self.ctx.model().apply(&event)?;
        }
        if must_poll {
            self.poll();
        }
        Some(())
    }

    /// Records what the code asked for, and polls it again while that leads to new asks.
    fn record_asks(&mut self) {
        let mut skipped = 0;
        loop {
            let asks = std::mem::take(&mut self.ctx.model().emitted);
            let is_quiet = asks.is_empty();
            for (token, kind) in asks {
                let Some(kind) = kind else {
                    skipped += 1;
                    continue;
                };
                let id = self.next_id() + std::mem::take(&mut skipped);
                self.append_as(id, None, self.completed(id, kind));
                self.ctx.model().bind(token, id);
            }
            if is_quiet || self.output.is_some() {
                return;
            }
            self.poll();
        }
    }

    /// An ask, with what is known only when it is recorded.
    fn completed(&self, id: u64, mut kind: EventKind) -> EventKind {
        match &mut kind {
            EventKind::TimerCreated { fire_at_ms } => *fire_at_ms += self.now + 1,
            EventKind::SubOrchestrationScheduled { instance, .. } => *instance = format!("sub::{id}"),
            EventKind::KeyValueSet { last_updated_at_ms, .. } => *last_updated_at_ms = self.now,
            _ => {}
        }
        kind
    }

    /// Records what was dropped and has not been recorded as dropped before, family by family.
    fn record_drops(&mut self) {
        let known = self.sources(is_cancellation);
        let dropped = self.ctx.model().dropped_in_order();
        for (family, id) in dropped {
            if !known.contains(&id) {
                self.append(Some(id), cancellation(family, "dropped_future"));
            }
        }
    }

    fn record_end(&mut self, next: Option<String>) {
        let waits: Vec<u64> = self.ctx.model().waits.keys().copied().collect();
        for id in waits {
            self.append(Some(id), cancellation(Family::Wait, "orchestration_terminal"));
        }
        let dequeues: Vec<u64> = self.ctx.model().dequeues.keys().copied().collect();
        for id in dequeues {
            self.append(Some(id), cancellation(Family::Dequeue, "orchestration_terminal"));
        }
        let end = ending(next, self.output.take());
        self.append(None, end);
        let settled = self.sources(|_| true);
        let is_activity = |event: &&Event| matches!(event.kind, EventKind::ActivityScheduled { .. });
        let scheduled: Vec<u64> =
            self.events.iter().filter(is_activity).map(|event| event.event_id).collect();
        for id in scheduled {
            if !settled.contains(&id) {
                self.append(Some(id), cancellation(Family::Activity, "orchestration_terminal_completed"));
            }
        }
    }

    /// What events of a sort refer to.
    fn sources(&self, sort: impl Fn(&EventKind) -> bool) -> BTreeSet<u64> {
        self.events
            .iter()
            .filter(|event| sort(&event.kind))
            .filter_map(|event| event.source_event_id)
            .collect()
    }
}

fn ending(next: Option<String>, output: Option<Result<String, String>>) -> EventKind {
    match (next, output) {
        (Some(input), _) => EventKind::OrchestrationContinuedAsNew { input },
        (None, Some(Ok(output))) => EventKind::OrchestrationCompleted { output },
        (None, Some(Err(message))) => EventKind::OrchestrationFailed {
            details: ErrorDetails::Application {
                kind: AppErrorKind::OrchestrationFailed,
                message,
                retryable: false,
            },
        },
        (None, None) => unreachable!("an execution that is over has an ending"),
    }
}

fn cancellation(family: Family, reason: &str) -> EventKind {
    let reason = reason.to_owned();
    match family {
        Family::Activity => EventKind::ActivityCancelRequested { reason },
        Family::Child => EventKind::SubOrchestrationCancelRequested { reason },
        Family::Wait => EventKind::ExternalSubscribedCancelled { reason },
        Family::Dequeue => EventKind::QueueSubscriptionCancelled { reason },
        Family::Timer => unreachable!("nobody hears of a dropped timer"),
    }
}
