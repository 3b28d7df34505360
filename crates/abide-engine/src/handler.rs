//! What the engine runs: an orchestration, as a trait and as a plain async function.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;

use crate::context::OrchestrationContext;

/// An orchestration.
///
/// The function must be deterministic: given the same history it asks for the same things in the same
/// order. Time, randomness and I/O come through the context (`utc_now`, `new_guid`, activities).
#[async_trait]
pub trait OrchestrationHandler: Send + Sync {
    /// Runs the orchestration. It is called once per replay, not once per turn.
    ///
    /// # Errors
    ///
    /// What the orchestration fails with. A panic fails it too, and nothing else.
    async fn invoke(&self, ctx: OrchestrationContext, input: String) -> Result<String, String>;
}

/// A shared handler.
pub type OrchestrationHandlerRef = Arc<dyn OrchestrationHandler>;

/// An async function or closure as an [`OrchestrationHandler`].
pub struct FnOrchestration<F, Fut>(pub F)
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static;

#[async_trait]
impl<F, Fut> OrchestrationHandler for FnOrchestration<F, Fut>
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    async fn invoke(&self, ctx: OrchestrationContext, input: String) -> Result<String, String> {
        (self.0)(ctx, input).await
    }
}

impl<F, Fut> fmt::Debug for FnOrchestration<F, Fut>
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FnOrchestration").finish_non_exhaustive()
    }
}
