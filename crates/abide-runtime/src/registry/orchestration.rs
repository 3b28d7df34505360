//! Registering orchestrations: by name, in versions, typed or not.
//!
//! Versions of a name are registered in rising order, so that "latest" means the last one written down. Whoever gets that
//! wrong finds out when the program starts: it panics, as with a version that is none.

use std::future::Future;
use std::sync::Arc;

use abide_engine::{FnOrchestration, OrchestrationContext, OrchestrationHandler};
use abide_model::codec;
use semver::Version;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{OrchestrationRegistry, OrchestrationRegistryBuilder, VersionPolicy, version};

const TAKEN: &str = "duplicate orchestration registration";

impl OrchestrationRegistryBuilder {
    /// Adds an orchestration, in version 1.0.0.
    #[must_use]
    pub fn register<F, Fut>(mut self, name: impl Into<String>, f: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.put(&name.into(), version::FIRST, Arc::new(FnOrchestration(f)), TAKEN);
        self
    }

    /// Adds an orchestration with typed input and output, in version 1.0.0. An input that cannot be decoded fails it
    /// before its code runs.
    #[must_use]
    pub fn register_typed<In, Out, F, Fut>(mut self, name: impl Into<String>, f: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + Clone + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        self.put(&name.into(), version::FIRST, typed(f), TAKEN);
        self
    }

    /// Adds a version of an orchestration.
    ///
    /// # Panics
    ///
    /// If the version is not a semantic one, or not later than all that are there.
    #[must_use]
    pub fn register_versioned<F, Fut>(self, name: impl Into<String>, version: impl AsRef<str>, f: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.put_later(&name.into(), version.as_ref(), Arc::new(FnOrchestration(f)))
    }

    /// Adds a version of an orchestration with typed input and output.
    ///
    /// # Panics
    ///
    /// If the version is not a semantic one, or not later than all that are there.
    #[must_use]
    pub fn register_versioned_typed<In, Out, F, Fut>(
        self,
        name: impl Into<String>,
        version: impl AsRef<str>,
        f: F,
    ) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + Clone + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        self.put_later(&name.into(), version.as_ref(), typed(f))
    }

    /// Adds what another registry has, without its policies.
    #[must_use]
    pub fn merge(self, other: OrchestrationRegistry) -> Self {
        self.merge_registry(other, "duplicate orchestration in merge")
    }

    /// Adds several orchestrations, in version 1.0.0.
    #[must_use]
    pub fn register_all<F, Fut>(self, items: Vec<(&str, F)>) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + Clone + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.register_all_handlers(items, |builder, name, f| builder.register(name, f))
    }

    /// Chooses which version runs where none is asked for.
    #[must_use]
    pub fn set_policy(mut self, name: impl Into<String>, policy: VersionPolicy) -> Self {
        self.policies.insert(name.into(), policy);
        self
    }

    /// A version that is there already is a mistake like any other of its kind. One that is lower would change what is
    /// latest depending on the order of lines, and ends the program.
    fn put_later(mut self, name: &str, text: &str, handler: Arc<dyn OrchestrationHandler>) -> Self {
        let version = version::parse(name, text);
        if let Some(latest) = self.later_than(name, &version) {
            panic!(
                "non-monotonic orchestration version for {name}: {version} is not later than existing latest {latest}"
            );
        }
        self.put(name, version, handler, TAKEN);
        self
    }

    /// The latest version of `name`, if `version` would have to come before it.
    fn later_than(&self, name: &str, version: &Version) -> Option<&Version> {
        let versions = self.handlers.get(name)?;
        let (latest, _) = versions.last_key_value()?;
        (version < latest && !versions.contains_key(version)).then_some(latest)
    }
}

fn typed<In, Out, F, Fut>(f: F) -> Arc<dyn OrchestrationHandler>
where
    In: DeserializeOwned + Send + 'static,
    Out: Serialize + Send + 'static,
    F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out, String>> + Send + 'static,
{
    Arc::new(FnOrchestration(move |ctx, input: String| {
        let run = codec::decode(&input).map(|input| f(ctx, input));
        async move {
            let output = run.map_err(|error| error.to_string())?.await?;
            codec::encode(&output).map_err(|error| error.to_string())
        }
    }))
}
