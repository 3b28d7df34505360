//! What the programs call. What an activity answers follows from its input, however often it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abide_runtime::ActivityContext;
use abide_runtime::registry::ActivityRegistry;
use abide_sim::VirtualClock;

/// What the activities of one run share, also across runtimes.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    clock: Arc<VirtualClock>,
    asked: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>,
    runs: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Stage {
    pub(crate) fn new(clock: Arc<VirtualClock>) -> Self {
        Self { clock, asked: Arc::default(), runs: Arc::default() }
    }

    /// How often each activity was begun: by instance, execution and event.
    pub(crate) fn runs(&self) -> BTreeMap<String, u32> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn begin(&self, ctx: &ActivityContext) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        *runs.entry(name_of(ctx)).or_default() += 1;
    }

    /// Which time the code asks for this: running it again is not asking again.
    fn times_asked(&self, ctx: &ActivityContext, what: &str) -> usize {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = asked.entry(what.to_owned()).or_default();
        keys.insert(name_of(ctx));
        keys.len()
    }
}

/// One scheduled activity, however often it runs. The tries of a retry policy are several.
fn name_of(ctx: &ActivityContext) -> String {
    format!("{}/{}/{}", ctx.instance_id(), ctx.execution_id(), ctx.activity_id())
}

/// What all programs call.
pub(crate) fn activities(stage: &Stage) -> ActivityRegistry {
    let (double, wait) = (stage.clone(), stage.clone());
    let (flaky, loser) = (stage.clone(), stage.clone());
    ActivityRegistry::builder()
        .register("Double", move |ctx: ActivityContext, number: String| {
            double.begin(&ctx);
            async move { number.parse().map(|number: u64| (number * 2).to_string()).map_err(|e| e.to_string()) }
        })
        .register("Say", |_: ActivityContext, text: String| async move { Ok(text) })
        .register("Wait", move |ctx: ActivityContext, seconds: String| {
            wait.begin(&ctx);
            let clock = wait.clock.clone();
            async move {
                let time = seconds.parse().map(Duration::from_secs).map_err(|e| e.to_string())?;
                clock.sleep(time).await;
                Ok(format!("waited {seconds}"))
            }
        })
        .register("Flaky", move |ctx: ActivityContext, text: String| {
            let times = flaky.times_asked(&ctx, &text);
            async move { if times < 3 { Err(format!("no {times}")) } else { Ok(format!("{text} {times}")) } }
        })
        .register("Broken", |_: ActivityContext, text: String| async move {
            Err::<String, _>(format!("{text} is broken"))
        })
        .register("Loser", move |ctx: ActivityContext, _: String| {
            loser.begin(&ctx);
            async move {
                ctx.cancelled().await;
                // A success would count if it was only the runtime that ended.
                Err("stopped".to_owned())
            }
        })
        .build()
}
