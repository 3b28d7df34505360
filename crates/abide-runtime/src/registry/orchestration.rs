//! Registering orchestrations: by name, in versions, typed or not.
//!
//! Versions of a name are registered in rising order, so that "latest" means the last one written down. Whoever gets that
//! wrong finds out when the program starts: it panics, as with a version that is none.

use std::future::Future;
use std::sync::Arc;

use abide_engine::{FnOrchestration, OrchestrationContext, OrchestrationHandler};
use abide_model::{codec, decode_error};
use semver::Version;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{OrchestrationRegistry, OrchestrationRegistryBuilder, Registered, VersionPolicy, version};
use crate::AutoPrunePolicy;

/// What can be said about an orchestration beside its code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrchestrationOptions {
    /// Which of its ended executions are kept when it continues as new. An operator may say otherwise
    /// ([`RuntimeOptions::auto_prune`](crate::RuntimeOptions::auto_prune)).
    pub auto_prune: Option<AutoPrunePolicy>,
}

const TAKEN: &str = "duplicate orchestration registration";

impl OrchestrationRegistryBuilder {
    /// Adds an orchestration, in version 1.0.0.
    #[must_use]
    pub fn register<F, Fut>(self, name: impl Into<String>, f: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.register_with_options(name, f, OrchestrationOptions::default())
    }

    /// Adds an orchestration with typed input and output, in version 1.0.0. An input that cannot be decoded fails it
    /// before its code runs.
    #[must_use]
    pub fn register_typed<In, Out, F, Fut>(self, name: impl Into<String>, f: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + Clone + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        self.register_typed_with_options(name, f, OrchestrationOptions::default())
    }

    /// Adds an orchestration, in version 1.0.0, and says more about it. A policy that would never prune is a mistake.
    #[must_use]
    pub fn register_with_options<F, Fut>(
        self,
        name: impl Into<String>,
        f: F,
        options: OrchestrationOptions,
    ) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.put_with(&name.into(), version::FIRST, Arc::new(FnOrchestration(f)), options)
    }

    /// The same, with typed input and output.
    #[must_use]
    pub fn register_typed_with_options<In, Out, F, Fut>(
        self,
        name: impl Into<String>,
        f: F,
        options: OrchestrationOptions,
    ) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + Clone + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        self.put_with(&name.into(), version::FIRST, typed(f), options)
    }

    /// Adds a version of an orchestration, and says more about that version.
    ///
    /// # Panics
    ///
    /// If the version is not a semantic one, or not later than all that are there.
    #[must_use]
    pub fn register_versioned_with_options<F, Fut>(
        self,
        name: impl Into<String>,
        version: impl AsRef<str>,
        f: F,
        options: OrchestrationOptions,
    ) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.put_later(&name.into(), version.as_ref(), Arc::new(FnOrchestration(f)), options)
    }

    /// Adds a version of an orchestration with typed input and output, and says more about that version.
    ///
    /// # Panics
    ///
    /// If the version is not a semantic one, or not later than all that are there.
    #[must_use]
    pub fn register_versioned_typed_with_options<In, Out, F, Fut>(
        self,
        name: impl Into<String>,
        version: impl AsRef<str>,
        f: F,
        options: OrchestrationOptions,
    ) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + Clone + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        self.put_later(&name.into(), version.as_ref(), typed(f), options)
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
        self.register_versioned_with_options(name, version, f, OrchestrationOptions::default())
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
        self.register_versioned_typed_with_options(name, version, f, OrchestrationOptions::default())
    }

    /// Adds what another registry has, without its version policies: those of pruning come with what they are for.
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
    fn put_later(
        self,
        name: &str,
        text: &str,
        handler: Arc<dyn OrchestrationHandler>,
        options: OrchestrationOptions,
    ) -> Self {
        let version = version::parse(name, text);
        if let Some(latest) = self.later_than(name, &version) {
            panic!(
                "non-monotonic orchestration version for {name}: {version} is not later than existing latest {latest}"
            );
        }
        self.put_with(name, version, handler, options)
    }

    /// Options that make no sense are a mistake, and left out.
    fn put_with(
        mut self,
        name: &str,
        version: Version,
        handler: Arc<dyn OrchestrationHandler>,
        mut options: OrchestrationOptions,
    ) -> Self {
        if let Some(Err(problem)) = options.auto_prune.as_ref().map(AutoPrunePolicy::check) {
            self.mistakes.push(format!("orchestration {name}@{version}: {problem}"));
            options.auto_prune = None;
        }
        self.put(name, version, Registered { handler, options }, TAKEN);
        self
    }

    /// The latest version of `name`, if `version` would have to come before it.
    fn later_than(&self, name: &str, version: &Version) -> Option<&Version> {
        let versions = self.handlers.get(name)?;
        let (latest, _) = versions.last_key_value()?;
        (version < latest && !versions.contains_key(version)).then_some(latest)
    }
}

impl OrchestrationRegistry {
    /// The policy that a version of an orchestration was registered with.
    pub(crate) fn auto_prune(&self, name: &str, version: &str) -> Option<&AutoPrunePolicy> {
        let version = Version::parse(version).ok()?;
        self.handlers.get(name)?.get(&version)?.options.auto_prune.as_ref()
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
        let input = codec::decode::<In>(&input).map_err(|error| {
            let what = format_args!("input of orchestration '{}'", ctx.orchestration_name());
            decode_error::not_a::<In>(&what, &error)
        });
        let name = ctx.orchestration_name();
        let run = input.map(|input| f(ctx, input));
        async move {
            let output = run?.await?;
            codec::encode(&output).map_err(|error| {
                let what = format_args!("output of orchestration '{name}'");
                decode_error::not_encodable::<Out>(&what, &error)
            })
        }
    }))
}
