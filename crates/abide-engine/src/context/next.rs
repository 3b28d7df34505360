//! Continue-as-new: end here, and begin again with a fresh history.

use std::future::{Future, pending};

use abide_model::PruneOptions;
use serde::Serialize;

use super::OrchestrationContext;
use crate::tape::Next;

/// Each returns a future that is never ready: `return ctx.continue_as_new(input).await`. The execution ends
/// when the poll that asked for it ends, whether or not the future is awaited.
impl OrchestrationContext {
    /// Ends this execution and starts the next with `input`, under the version the registry's policy then
    /// chooses. Unread queue messages, key-value state and custom status go along.
    pub fn continue_as_new(&self, input: impl Into<String>) -> impl Future<Output = Result<String, String>> {
        self.ask_next(None, input.into(), None);
        pending()
    }

    /// Continues as new with a typed input.
    ///
    /// # Panics
    ///
    /// If the input cannot be encoded: this fails the orchestration.
    pub fn continue_as_new_typed<In: Serialize>(
        &self,
        input: &In,
    ) -> impl Future<Output = Result<String, String>> {
        self.ask_next(None, self.encode_or_panic(input), None);
        pending()
    }

    /// Continues as new under exactly this version.
    pub fn continue_as_new_versioned(
        &self,
        version: impl Into<String>,
        input: impl Into<String>,
    ) -> impl Future<Output = Result<String, String>> {
        self.ask_next(Some(version.into()), input.into(), None);
        pending()
    }

    /// Continues as new and prunes earlier executions in the same commit: both happen, or neither. Only if the store refuses
    /// the prune for good, it continues without.
    pub fn continue_as_new_pruned(
        &self,
        input: impl Into<String>,
        prune: PruneOptions,
    ) -> impl Future<Output = Result<String, String>> {
        self.ask_next(None, input.into(), Some(prune));
        pending()
    }

    /// Continues as new with a typed input, and prunes in the same commit.
    ///
    /// # Panics
    ///
    /// If the input cannot be encoded: this fails the orchestration.
    pub fn continue_as_new_pruned_typed<In: Serialize>(
        &self,
        input: &In,
        prune: PruneOptions,
    ) -> impl Future<Output = Result<String, String>> {
        self.ask_next(None, self.encode_or_panic(input), Some(prune));
        pending()
    }

    /// Continues as new under exactly this version, and prunes in the same commit.
    pub fn continue_as_new_pruned_versioned(
        &self,
        version: impl Into<String>,
        input: impl Into<String>,
        prune: PruneOptions,
    ) -> impl Future<Output = Result<String, String>> {
        self.ask_next(Some(version.into()), input.into(), Some(prune));
        pending()
    }

    fn ask_next(&self, version: Option<String>, input: String, prune: Option<PruneOptions>) {
        self.tape.ask_next(Next { input, version, prune });
    }
}
