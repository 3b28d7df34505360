//! Getting an activity ready to run: whoever runs it is told who asked.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use abide_model::{EventKind, panic_text};
use abide_provider::{Operation, Rejection};
use futures_util::future::{BoxFuture, Either, FutureExt, select};

use super::Worker;
use super::activity::Activity;
use super::execute::{Ran, Signals};
use crate::activity_context::{ActivityContext, Facts};
use crate::handler::ActivityHandler;
use crate::insist::{Told, meant};

/// A handler at work.
pub(super) type Handler = BoxFuture<'static, Result<String, String>>;

/// The orchestration that asked for an activity.
struct Asker {
    name: String,
    version: String,
}

impl Asker {
    /// Who it is, if the lease says so.
    fn said_by(activity: &Activity) -> Option<Self> {
        let (name, version) = (&activity.orchestration_name, &activity.orchestration_version);
        let is_said = !name.is_empty();
        is_said.then(|| Self { name: name.clone(), version: version.clone() })
    }
}

impl Worker {
    /// Gets an activity ready to run. The error is how it ended before it began.
    pub(super) async fn start(
        &self,
        handler: Arc<dyn ActivityHandler>,
        activity: &Activity,
        signals: Signals<'_>,
        slot: usize,
    ) -> Result<Handler, Ran> {
        if signals.cancellation.is_unwanted() {
            // It was taken away on its way here.
            return Err(Ran::Unwanted);
        }
        if signals.lease.lost().is_cancelled() {
            // Whoever has it now runs it, if it is wanted at all.
            let _first = signals.cancellation.cancel(Box::pin(self.why_gone(activity)).await);
            return Err(Ran::Unwanted);
        }
        let asker = match Asker::said_by(activity) {
            Some(asker) => Some(asker),
            // Boxed, because most stores say it.
            None => {
                match select(Box::pin(self.asked_by(activity)), Box::pin(signals.cancellation.unwanted()))
                    .await
                {
                    Either::Left((asker, _)) => asker,
                    Either::Right(_) => return Err(Ran::Unwanted),
                }
            }
        };
        let is_given_up = self.core.stop.giving_up.is_cancelled();
        let Some(asker) = asker.filter(|_| !is_given_up) else { return Err(Ran::Interrupted) };
        let facts = Facts {
            instance_id: activity.instance.clone(),
            execution_id: activity.execution_id,
            orchestration_name: asker.name,
            orchestration_version: asker.version,
            activity_name: activity.name.clone(),
            activity_id: activity.id,
            attempt: activity.attempt,
            step: activity.step,
            store_time: activity.store_time,
            worker_id: format!("work-{slot}-{}", self.owner()),
            session_id: activity.session.clone(),
            tag: activity.tag.clone(),
        };
        let ctx = ActivityContext::new(facts, signals.cancellation.clone(), self.client.clone());
        Ok(contained(handler, ctx, activity))
    }

    /// Who asked for the activity: a store that does not say so with the lease is asked, until the runtime gives up.
    async fn asked_by(&self, activity: &Activity) -> Option<Asker> {
        let (store, instance) = (Arc::clone(&self.core.store), activity.instance.clone());
        let call = move || {
            let (store, instance) = (Arc::clone(&store), instance.clone());
            async move {
                let read = store.read(&instance).await;
                read.map_err(|error| meant(Operation::Read, error, Rejection::Corrupt))
            }
            .boxed()
        };
        // A store that is away for a while must not change what the activity is told.
        let history = match self.core.insist_on_read(Operation::Read, call).await {
            Told::Done(history) => history,
            Told::Refused { .. } => Vec::new(),
            Told::GivenUp => return None,
        };
        let asker = history.into_iter().find_map(|event| {
            if let EventKind::OrchestrationStarted { name, version, .. } = event.kind {
                Some(Asker { name, version })
            } else {
                None
            }
        });
        let unknown = || Asker { name: "unknown".to_owned(), version: "unknown".to_owned() };
        Some(asker.unwrap_or_else(unknown))
    }
}

/// A handler whose panics are errors.
fn contained(handler: Arc<dyn ActivityHandler>, ctx: ActivityContext, activity: &Activity) -> Handler {
    let (input, name) = (activity.input.clone(), activity.name.clone());
    async move {
        let run = AssertUnwindSafe(async move { handler.invoke(ctx, input).await });
        let returned = run.catch_unwind().await;
        returned.unwrap_or_else(|payload| {
            let said = panic_text(payload).unwrap_or_else(|| "no message".to_owned());
            Err(format!("activity '{name}' panicked: {said}"))
        })
    }
    .boxed()
}
