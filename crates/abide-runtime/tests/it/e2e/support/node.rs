//! A runtime to be started: its code and its options.

use abide_engine::OrchestrationContext;
use abide_runtime::registry::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder,
};
use abide_runtime::{ActivityContext, RuntimeOptions};
use abide_sim::Gate;

use super::Log;

/// A runtime to be started. Every node knows an activity `Echo`, which returns its input.
#[derive(Debug)]
pub(crate) struct Node {
    activities: ActivityRegistryBuilder,
    orchestrations: OrchestrationRegistryBuilder,
    pub(crate) options: RuntimeOptions,
}

impl Node {
    pub(crate) fn new() -> Self {
        let node = Self {
            activities: ActivityRegistry::builder(),
            orchestrations: OrchestrationRegistry::builder(),
            options: RuntimeOptions::default(),
        };
        node.activity("Echo", |_, input| async move { Ok(input) })
    }

    pub(crate) fn activity<F, Fut>(self, name: &str, f: F) -> Self
    where
        F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self { activities: self.activities.register(name, f), ..self }
    }

    pub(crate) fn orchestration<F, Fut>(self, name: &str, f: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self { orchestrations: self.orchestrations.register(name, f), ..self }
    }

    pub(crate) fn version<F, Fut>(self, name: &str, version: &str, f: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self { orchestrations: self.orchestrations.register_versioned(name, version, f), ..self }
    }

    /// An activity that runs until it is asked to stop, and writes down that it began and why it was asked.
    pub(crate) fn patient(self, name: &str, log: &Log) -> Self {
        let log = log.clone();
        self.activity(name, move |ctx, input| {
            let log = log.clone();
            async move {
                log.write(format!("began {input}").trim_end());
                ctx.cancelled().await;
                log.write(format!("{:?}", ctx.cancellation_reason().unwrap()));
                Ok("too late".to_owned())
            }
        })
    }

    /// An activity that writes down that it began, waits at a gate and returns its input.
    pub(crate) fn held(self, name: &str, log: &Log, gate: &Gate) -> Self {
        let (log, gate) = (log.clone(), gate.clone());
        self.activity(name, move |_, input| {
            let (log, gate) = (log.clone(), gate.clone());
            async move {
                log.write(format!("began {input}").trim_end());
                gate.pass().await;
                Ok(input)
            }
        })
    }

    /// The same with other options.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut RuntimeOptions)) -> Self {
        change(&mut self.options);
        self
    }

    pub(crate) fn into_parts(self) -> (ActivityRegistry, OrchestrationRegistry, RuntimeOptions) {
        (self.activities.build_result().unwrap(), self.orchestrations.build_result().unwrap(), self.options)
    }
}
