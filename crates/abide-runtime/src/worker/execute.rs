//! Running one activity, and stopping it.
//!
//! It runs until it returns. It is asked to stop if nobody waits for it any more, if its lease is lost, or if the runtime
//! ends; then it has a time of grace. What it returns after nobody waited is nobody's; what fails because of a shutdown
//! has not failed, and runs again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;

use abide_model::panic_text;
use futures_util::future::{Either, select};
use futures_util::poll;
use tracing::{Span, debug, warn};

use super::Worker;
use super::activity::Activity;
use super::finish::Taken;
use super::running::{Place, Run};
use super::session::Ticket;
use super::start::Handler;
use crate::ProblemPolicy;
use crate::cancellation::{Cancellation, CancellationReason};
use crate::dispatch::{Attempt, GiveBack, Slot};
use crate::pacing::some_of;
use crate::reminders::Topic;
use crate::renewal::LeaseGuard;

/// How a run ended.
pub(super) enum Ran {
    /// The handler returned, or panicked.
    Returned(Result<String, String>),
    /// Nobody wants what it returns.
    Unwanted,
    /// The runtime ends: it runs again.
    Interrupted,
}

/// By what an activity hears that it is to stop.
#[derive(Clone, Copy)]
pub(super) struct Signals<'run> {
    /// Raised by whoever knows a reason.
    pub(super) cancellation: &'run Cancellation,
    pub(super) lease: &'run LeaseGuard,
}

impl Worker {
    pub(super) async fn execute(
        &self,
        activity: Arc<Activity>,
        renewed: LeaseGuard,
        slot: Slot,
        ticket: Ticket,
    ) {
        let Some((_, handler)) = self.core.activities.resolve_handler(&activity.name) else {
            Box::pin(self.unregistered(&activity)).await;
            return ticket.pass_on(Some(slot));
        };
        let cancellation = Cancellation::default();
        let (number, place) = (slot.number(), Place::new(slot));
        let run = Arc::new(Run {
            activity: Arc::clone(&activity),
            cancellation: cancellation.clone(),
            lost: renewed.lost().clone(),
            place: place.clone(),
            task: Arc::clone(renewed.task()),
            span: Span::current(),
        });
        // Until its result is written: what is taken away meanwhile was cancelled, not lost.
        let _runs = self.running.enter(&run, &self.core.stop.ending);
        let began = self.core.clock.monotonic();
        let signals = Signals { cancellation: &cancellation, lease: &renewed };
        let ran = match self.start(handler, &activity, signals, number).await {
            Ok(running) => self.run(running, &activity, signals).await,
            Err(ended) => ended,
        };
        let seconds = self.core.clock.monotonic().saturating_sub(began).as_secs_f64();
        match ran {
            Ran::Returned(result) => {
                place.returned();
                // The slot is free as soon as the result has a place to wait in.
                let _waits = Arc::clone(&self.unacknowledged).acquire_owned().await;
                ticket.pass_on(place.take());
                // Counted first: whoever sees what came of it, sees it counted.
                let expected = if result.is_ok() { "success" } else { "app_error" };
                self.count(&activity, expected);
                let outcome = self.settle(&activity, signals, result, expected).await;
                if outcome != expected {
                    self.core.metrics.withdraw_activity(expected);
                    self.count(&activity, outcome);
                }
                self.measure(&activity, outcome, seconds);
            }
            Ran::Unwanted => {
                ticket.pass_on(place.take());
                // Unless it was cancelled, that is the store's doing.
                if cancellation.reason().is_none_or(|reason| reason == CancellationReason::LeaseLost) {
                    self.core.chances.spoiled(activity.key());
                }
                self.count(&activity, "cancelled");
                self.measure(&activity, "cancelled", seconds);
            }
            Ran::Interrupted => {
                Box::pin(self.hand_back(&activity, GiveBack::UNTRIED)).await;
                ticket.pass_on(place.take());
            }
        }
        drop(renewed);
    }

    /// Has a result written that would count as `outcome`; says what it counts as.
    async fn settle(
        &self,
        activity: &Activity,
        signals: Signals<'_>,
        result: Result<String, String>,
        outcome: &'static str,
    ) -> &'static str {
        match self.finish_with(activity, signals.lease.task(), result).await {
            Taken::Yes => {
                self.core.chances.forget(activity.key());
                outcome
            }
            Taken::AsFailure => {
                self.core.chances.forget(activity.key());
                "app_error"
            }
            Taken::TooLate => {
                let reason = match signals.cancellation.reason() {
                    Some(reason) => reason,
                    None => Box::pin(self.why_gone(activity)).await,
                };
                if reason == CancellationReason::LeaseLost {
                    self.ran_for_nothing(activity, signals.lease);
                }
                "cancelled"
            }
            Taken::No => "infra_error",
        }
    }

    /// An activity was run, and the lease is gone. If it was not kept, the store spoiled the try, unless the turn that took
    /// the result in took too long, which counts. If it was kept, the process may have been stopped for a while; but a store
    /// may also refuse every result in these words, and must not be asked for ever.
    fn ran_for_nothing(&self, activity: &Activity, lease: &LeaseGuard) {
        if lease.task().has_overrun() {
            return;
        }
        if lease.was_kept() {
            self.core.chances.met_trouble();
        } else {
            self.core.chances.spoiled(activity.key());
        }
    }

    fn count(&self, activity: &Activity, outcome: &str) {
        let retries = activity.attempt.saturating_sub(1);
        self.core.metrics.count_activity(&activity.name, outcome, retries, activity.tag.as_deref());
    }

    fn measure(&self, activity: &Activity, outcome: &str, seconds: f64) {
        self.core.metrics.measure_activity(&activity.name, outcome, seconds, activity.tag.as_deref());
    }

    /// Runs the handler until it returns or is not waited for any more. Whoever asks it to stop does that elsewhere.
    async fn run(&self, mut running: Handler, activity: &Activity, signals: Signals<'_>) -> Ran {
        let Signals { cancellation, lease } = signals;
        // Many return at once, and then nobody has to wait for anything.
        if let Poll::Ready(result) = poll!(&mut running) {
            return returned(result, cancellation.reason());
        }
        let giving_up = &self.core.stop.giving_up;
        let stopped = select(Box::pin(cancellation.token().cancelled()), Box::pin(giving_up.cancelled()));
        let running = match select(running, stopped).await {
            Either::Left((result, _)) => return returned(result, cancellation.reason()),
            Either::Right((_, running)) => running,
        };
        let _first = cancellation.cancel(CancellationReason::Shutdown);
        if !cancellation.is_unwanted() {
            return Box::pin(self.run_out(running, lease)).await;
        }
        let grace = self.core.settings.activity_cancellation_grace_period;
        let over = Box::pin(self.core.caller.pause_unless_given_up(grace));
        if let Either::Right((_, running)) = select(running, over).await {
            warn!(target: "abide::runtime", instance_id = %activity.instance, activity_name = %activity.name,
                activity_id = activity.id, "the activity did not stop in time and is dropped");
            put_away(running);
        }
        Ran::Unwanted
    }

    /// The runtime ends: the handler has until the runtime gives up.
    async fn run_out(&self, running: Handler, lease: &LeaseGuard) -> Ran {
        let lost = Box::pin(lease.lost().cancelled());
        let giving_up = Box::pin(self.core.stop.giving_up.cancelled());
        match select(running, select(lost, giving_up)).await {
            Either::Left((result, _)) => returned(result, Some(CancellationReason::Shutdown)),
            Either::Right((Either::Left(_), running)) => {
                put_away(running);
                Ran::Unwanted
            }
            Either::Right((Either::Right(_), running)) => {
                put_away(running);
                Ran::Interrupted
            }
        }
    }

    /// Returns whether the attempts of an activity are misses: its handler is not registered here, and the
    /// policy counts that. No crash is among them, as no code ran here.
    pub(super) fn counts_misses(&self, activity: &Activity) -> bool {
        activity.attempt > 1
            && activity.session.is_none()
            && self.core.settings.problem_policies.missing == ProblemPolicy::Fail
            && self.core.activities.resolve_handler(&activity.name).is_none()
    }

    /// No handler of that name here: perhaps elsewhere, or later.
    async fn unregistered(&self, activity: &Activity) {
        // Work of a session waits for the owner of the session, who may be the one without the handler: no reason to fail.
        let waits = self.core.settings.problem_policies.missing == ProblemPolicy::Block;
        let attempt =
            if waits || activity.session.is_some() { Attempt::DoesNotCount } else { Attempt::Counts };
        let (backoff, now) = (&self.core.settings.unregistered_backoff, self.core.clock.monotonic());
        let delay = match attempt {
            Attempt::Counts => backoff.delay(activity.attempt),
            // Some of it, so that a node that has the handler gets its turn.
            Attempt::DoesNotCount => self.unregistered.delay(&activity.key(), now, backoff, |delay| {
                if waits { some_of(delay, &*self.core.entropy) } else { delay }
            }),
        };
        self.tell_of_unregistered(activity, GiveBack { delay: Some(delay), attempt });
        self.count(activity, "config_error");
        self.measure(activity, "config_error", 0.0);
        self.hand_back(activity, GiveBack { delay: Some(delay), attempt }).await;
    }

    /// Once per name and minute: there may be very many such activities.
    fn tell_of_unregistered(&self, activity: &Activity, back: GiveBack) {
        let (instance, name, retry_in) = (&activity.instance, &activity.name, back.delay);
        let topic = Topic::UnregisteredActivity { name: name.clone() };
        if !self.core.reminders.is_due(topic, self.core.clock.monotonic()) {
            debug!(target: "abide::runtime", instance_id = %instance, activity_name = %name, ?retry_in,
                "activity is not registered here");
            return;
        }
        let near = self.core.activities.nearest_name(name);
        let prospect = back.attempt.prospect(activity.attempt, self.core.settings.max_attempts);
        warn!(target: "abide::runtime", instance_id = %instance, activity_name = %name, did_you_mean = near.as_deref(),
            ?retry_in, "activity is not registered here; {prospect}");
    }
}

/// What counts of a handler that returned. In a shutdown a success does; a failure may be the shutdown's.
fn returned(result: Result<String, String>, asked_to_stop: Option<CancellationReason>) -> Ran {
    match (asked_to_stop, result) {
        (None, result) => Ran::Returned(result),
        (Some(CancellationReason::Shutdown), Ok(result)) => Ran::Returned(Ok(result)),
        (Some(CancellationReason::Shutdown), Err(_)) => Ran::Interrupted,
        (Some(_), _) => Ran::Unwanted,
    }
}

/// Drops a handler that will not be polled any more. Its destructors are the user's.
fn put_away(running: Handler) {
    let dropped = std::panic::catch_unwind(AssertUnwindSafe(move || drop(running)));
    if let Err(payload) = dropped {
        let _said = panic_text(payload);
        warn!(target: "abide::runtime", "an activity panicked while it was dropped");
    }
}
