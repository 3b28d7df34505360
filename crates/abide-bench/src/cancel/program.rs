//! What is run: an orchestration that waits for an activity that waits for its end.

use std::sync::Arc;

use abide::runtime::registry::ActivityRegistry;
use abide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

/// Said by the activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Ready,
    Began,
    Heard,
}

impl Word {
    pub(crate) const ALL: [Self; 3] = [Self::Ready, Self::Began, Self::Heard];

    /// As it goes from one process to the other.
    pub(crate) fn line(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Began => "began",
            Self::Heard => "heard",
        }
    }
}

/// Where it is said.
pub(crate) type Say = Arc<dyn Fn(Word) + Send + Sync>;

pub(crate) fn activities(say: Say) -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Patient", move |ctx: ActivityContext, input: String| {
            let say = Arc::clone(&say);
            async move {
                say(Word::Began);
                ctx.cancelled().await;
                say(Word::Heard);
                Ok(input)
            }
        })
        .build()
}

pub(crate) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Main", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Patient", input).await
        })
        .build()
}
