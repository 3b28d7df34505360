//! Running one activity, and stopping it.
//!
//! It runs until it returns. It is asked to stop if nobody waits for it any more, if its lease is lost, or if the runtime
//! ends; then it has a time of grace. What it returns after nobody waited is nobody's; what fails because of a shutdown
//! has not failed, and runs again.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use abide_model::{AppErrorKind, ErrorDetails, Event, EventKind, WorkItem};
use abide_provider::{Operation, ProviderError, Rejection, StoreError, WorkLease};
use futures_util::future::{BoxFuture, Either, FutureExt, select};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::finish::Taken;
use super::session::Ticket;
use super::{Worker, key};
use crate::activity_context::{ActivityContext, Facts};
use crate::cancellation::{Cancellation, CancellationReason};
use crate::dispatch::{Attempt, GiveBack, Slot};
use crate::handler::ActivityHandler;
use crate::insist::Told;
use crate::renewal::LeaseGuard;
use crate::store_call::{Called, PATIENCE};

/// What a lease on an activity says.
#[derive(Debug)]
pub(super) struct Activity {
    instance: String,
    execution_id: u64,
    id: u64,
    name: String,
    input: String,
    session: Option<String>,
    tag: Option<String>,
    orchestration_name: String,
    orchestration_version: String,
    token: String,
    attempt: u32,
}

impl Activity {
    pub(super) fn of(lease: WorkLease) -> Option<Self> {
        let WorkLease { item, orchestration_name, orchestration_version, token, attempt } = lease;
        let WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag } = item
        else {
            return None;
        };
        Some(Self {
            instance,
            execution_id,
            id,
            name,
            input,
            session: session_id,
            tag,
            orchestration_name,
            orchestration_version,
            token,
            attempt,
        })
    }

    /// What it is called, the same for every lease on it.
    fn key(&self) -> String {
        key(&self.instance, self.execution_id, self.id)
    }

    fn completion(&self, result: Result<String, String>) -> WorkItem {
        let (instance, execution_id, id) = (self.instance.clone(), self.execution_id, self.id);
        match result {
            Ok(result) => WorkItem::ActivityCompleted { instance, execution_id, id, result },
            Err(message) => {
                let kind = AppErrorKind::ActivityFailed;
                let details = ErrorDetails::Application { kind, message, retryable: false };
                WorkItem::ActivityFailed { instance, execution_id, id, details }
            }
        }
    }
}

/// How a run ended.
enum Ran {
    /// The handler returned, or panicked.
    Returned(Result<String, String>),
    /// Nobody wants what it returns.
    Unwanted,
    /// The runtime ends: it runs again.
    Interrupted,
}

type Handler = BoxFuture<'static, Result<String, String>>;

impl Worker {
    pub(super) async fn execute(&self, activity: Activity, renewed: LeaseGuard, slot: Slot, ticket: Ticket) {
        let Some((_, handler)) = self.core.activities.resolve_handler(&activity.name) else {
            return self.unregistered(&activity).await;
        };
        let cancellation = Cancellation::default();
        let runs = self.running.enter(&activity.token, cancellation.clone());
        let began = self.core.clock.monotonic();
        let running = self.start(handler, &activity, &cancellation, &slot).await;
        let ran = self.run(running, &activity, &cancellation, renewed.lost()).await;
        let seconds = self.core.clock.monotonic().saturating_sub(began).as_secs_f64();
        drop(runs);
        match ran {
            Ran::Returned(result) => {
                // The slot is free as soon as the result has a place to wait in.
                let waits = Arc::clone(&self.unacknowledged).acquire_owned().await;
                drop((slot, ticket));
                let outcome = if result.is_ok() { "success" } else { "app_error" };
                let taken = self.finish(activity.token.clone(), activity.completion(result)).await;
                match taken {
                    Taken::Yes => {
                        self.core.chances.forget(&activity.key());
                        self.count(&activity, outcome, seconds);
                    }
                    Taken::TooLate => {
                        self.lost(&activity, cancellation.reason());
                        self.count(&activity, "cancelled", seconds);
                    }
                    Taken::No => {
                        self.lost(&activity, cancellation.reason());
                        self.count(&activity, "infra_error", seconds);
                    }
                }
                drop(waits);
            }
            Ran::Unwanted => {
                self.lost(&activity, cancellation.reason());
                self.count(&activity, "cancelled", seconds);
            }
            Ran::Interrupted => self.hand_back(&activity.token, GiveBack::UNTRIED).await,
        }
        drop(renewed);
    }

    /// An activity was run for nothing: unless it was cancelled, that is the store's doing.
    fn lost(&self, activity: &Activity, reason: Option<CancellationReason>) {
        if reason.is_none_or(|reason| reason == CancellationReason::LeaseLost) {
            self.core.chances.spoiled(&activity.key());
        }
    }

    fn count(&self, activity: &Activity, outcome: &str, seconds: f64) {
        let retries = activity.attempt.saturating_sub(1);
        let tag = activity.tag.as_deref();
        self.core.metrics.record_activity_execution(&activity.name, outcome, seconds, retries, tag);
    }

    async fn start(
        &self,
        handler: Arc<dyn ActivityHandler>,
        activity: &Activity,
        cancellation: &Cancellation,
        slot: &Slot,
    ) -> Handler {
        let (orchestration_name, orchestration_version) = self.asked_by(activity).await;
        let facts = Facts {
            instance_id: activity.instance.clone(),
            execution_id: activity.execution_id,
            orchestration_name,
            orchestration_version,
            activity_name: activity.name.clone(),
            activity_id: activity.id,
            attempt: activity.attempt,
            worker_id: format!("work-{}-{}", slot.number(), self.owner()),
            session_id: activity.session.clone(),
            tag: activity.tag.clone(),
        };
        let ctx = ActivityContext::new(facts, cancellation.clone(), self.client.clone());
        let (input, name) = (activity.input.clone(), activity.name.clone());
        async move {
            let run = AssertUnwindSafe(async move { handler.invoke(ctx, input).await });
            let returned = run.catch_unwind().await;
            returned.unwrap_or_else(|payload| Err(format!("activity '{name}' panicked: {}", said(&*payload))))
        }
        .boxed()
    }

    /// Runs the handler until it returns or is not waited for any more.
    async fn run(
        &self,
        running: Handler,
        activity: &Activity,
        cancellation: &Cancellation,
        lost: &CancellationToken,
    ) -> Ran {
        let signal = self.signal(activity, cancellation, lost).boxed();
        let (reason, running) = match select(running, signal).await {
            Either::Left((result, _)) => {
                // It heard of its end before we did.
                let is_unwanted = cancellation.reason().is_some();
                return if is_unwanted { Ran::Unwanted } else { Ran::Returned(result) };
            }
            Either::Right((reason, running)) => (reason, running),
        };
        cancellation.cancel(reason);
        info!(target: "abide::runtime", instance_id = %activity.instance, activity_name = %activity.name,
            activity_id = activity.id, ?reason, "the activity is asked to stop");
        if reason == CancellationReason::Shutdown {
            return self.run_out(running, activity, lost).await;
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

    /// The runtime ends: the handler has until the runtime gives up. A success counts; a failure may be the shutdown's.
    async fn run_out(&self, running: Handler, activity: &Activity, lost: &CancellationToken) -> Ran {
        let unwanted = self.unwanted(activity, lost).boxed();
        let giving_up = Box::pin(self.core.stop.giving_up.cancelled());
        match select(running, select(unwanted, giving_up)).await {
            Either::Left((Ok(result), _)) => Ran::Returned(Ok(result)),
            Either::Left((Err(_), _)) => Ran::Interrupted,
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

    /// Waits for a reason to stop.
    async fn signal(
        &self,
        activity: &Activity,
        cancellation: &Cancellation,
        lost: &CancellationToken,
    ) -> CancellationReason {
        let pushed = Box::pin(cancellation.token().cancelled());
        let unwanted = self.unwanted(activity, lost).boxed();
        let ending = Box::pin(self.core.stop.ending.cancelled());
        match select(select(pushed, unwanted), ending).await {
            Either::Left((Either::Left(_), _)) => {
                cancellation.reason().unwrap_or(CancellationReason::LeaseLost)
            }
            Either::Left((Either::Right((reason, _)), _)) => reason,
            Either::Right(_) => CancellationReason::Shutdown,
        }
    }

    /// Waits until a renewal finds the lease gone, and finds out why.
    async fn unwanted(&self, activity: &Activity, lost: &CancellationToken) -> CancellationReason {
        lost.cancelled().await;
        let store = Arc::clone(&self.core.store);
        let (instance, execution_id) = (activity.instance.clone(), activity.execution_id);
        let call = async move { store.read_with_execution(&instance, execution_id).await };
        match self.core.caller.call(Operation::ReadWithExecution, PATIENCE, call.boxed()).await {
            Called::Answered(Ok(history)) => why(&history, activity.id),
            Called::Answered(Err(_)) | Called::Unanswered(_) => CancellationReason::LeaseLost,
        }
    }

    /// Who asked for the activity. A store that does not say so with the lease is asked.
    async fn asked_by(&self, activity: &Activity) -> (String, String) {
        if !activity.orchestration_name.is_empty() {
            return (activity.orchestration_name.clone(), activity.orchestration_version.clone());
        }
        let (store, instance) = (Arc::clone(&self.core.store), activity.instance.clone());
        let call = move || {
            let (store, instance) = (Arc::clone(&store), instance.clone());
            async move { store.read(&instance).await.map_err(|error| unread(&error)) }.boxed()
        };
        // A store that is away for a while must not change what the activity is told.
        let history = match self.core.insist(Operation::Read, call).await {
            Told::Done(history) => history,
            Told::Refused { .. } | Told::GivenUp => Vec::new(),
        };
        let started = history.into_iter().find_map(|event| {
            if let EventKind::OrchestrationStarted { name, version, .. } = event.kind {
                Some((name, version))
            } else {
                None
            }
        });
        started.unwrap_or_else(|| ("unknown".to_owned(), "unknown".to_owned()))
    }

    /// No handler of that name here: perhaps elsewhere, or later.
    async fn unregistered(&self, activity: &Activity) {
        let delay = self.core.settings.unregistered_backoff.delay(activity.attempt);
        let near = self.core.activities.nearest_name(&activity.name);
        // Work of a session waits for the owner of the session, who may be the one without the handler: no reason to fail.
        let attempt = if activity.session.is_some() { Attempt::DoesNotCount } else { Attempt::Counts };
        warn!(target: "abide::runtime", instance_id = %activity.instance, activity_name = %activity.name,
            did_you_mean = near.as_deref(), retry_in = ?delay,
            "activity is not registered here; {}",
            attempt.prospect(activity.attempt, self.core.settings.max_attempts));
        self.count(activity, "config_error", 0.0);
        self.hand_back(&activity.token, GiveBack { delay: Some(delay), attempt }).await;
    }
}

fn unread(error: &ProviderError) -> StoreError {
    if error.is_retryable() {
        StoreError::not_applied(Operation::Read, error.message.clone())
    } else {
        StoreError::rejected(Operation::Read, Rejection::Corrupt, error.message.clone())
    }
}

/// Why a lease is gone, by what the history says.
fn why(history: &[Event], activity_id: u64) -> CancellationReason {
    if history.is_empty() {
        return CancellationReason::InstanceDeleted;
    }
    let mut about_it = history.iter().filter(|event| event.source_event_id == Some(activity_id));
    let recorded = about_it.find_map(|event| {
        if let EventKind::ActivityCancelRequested { reason } = &event.kind {
            Some(CancellationReason::recorded(reason))
        } else {
            None
        }
    });
    recorded.unwrap_or(CancellationReason::LeaseLost)
}

/// Drops a handler that will not be polled any more. Its destructors are the user's.
fn put_away(running: Handler) {
    let dropped = std::panic::catch_unwind(AssertUnwindSafe(move || drop(running)));
    if dropped.is_err() {
        warn!(target: "abide::runtime", "an activity panicked while it was dropped");
    }
}

/// What a panic said.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&'static str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
