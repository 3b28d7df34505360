//! What a worker runs: an activity, as a trait and as a plain async function.
//!
//! Orchestrations have the same pair in `abide-engine`.

use std::fmt;
use std::future::Future;

use async_trait::async_trait;

use crate::ActivityContext;

/// An activity: the place for I/O, time and chance.
///
/// It runs at least once for each time an orchestration asks for it, and again if the outcome of a run could not be
/// recorded. What it does to the outside world should bear repetition.
#[async_trait]
pub trait ActivityHandler: Send + Sync {
    /// Runs the activity.
    ///
    /// # Errors
    ///
    /// What the orchestration gets as its result. A panic becomes an error too, and harms nothing else.
    async fn invoke(&self, ctx: ActivityContext, input: String) -> Result<String, String>;
}

/// An async function or closure as an [`ActivityHandler`].
pub struct FnActivity<F, Fut>(pub F)
where
    F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static;

#[async_trait]
impl<F, Fut> ActivityHandler for FnActivity<F, Fut>
where
    F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    async fn invoke(&self, ctx: ActivityContext, input: String) -> Result<String, String> {
        (self.0)(ctx, input).await
    }
}

impl<F, Fut> fmt::Debug for FnActivity<F, Fut>
where
    F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FnActivity").finish_non_exhaustive()
    }
}
