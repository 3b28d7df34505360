//! Which code runs under which name and version.
//!
//! A [`Registry`] maps names to versions to handlers. It is built once ([`RegistryBuilder`]) and then only read, but for
//! the [`VersionPolicy`] of a name, which may be changed while a runtime works and is seen by every clone.
//! `orchestration.rs` and `activity.rs` say what can be registered; `builder.rs` what happens to mistakes.
//!
//! Deliberately absent: discovery. What is not registered here is not found, however it is linked.

mod activity;
mod builder;
mod orchestration;
mod version;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_engine::OrchestrationHandler;
use abide_provider::{NodeOrchestration, nearest_name};
use semver::Version;

pub use builder::RegistryBuilder;
pub use orchestration::OrchestrationOptions;
pub use version::VersionPolicy;

use crate::ActivityHandler;

/// Orchestrations by name and version.
pub type OrchestrationRegistry = Registry<dyn OrchestrationHandler>;

/// Activities by name. They have no versions of their own: each is 1.0.0.
pub type ActivityRegistry = Registry<dyn ActivityHandler>;

/// Collects orchestrations.
pub type OrchestrationRegistryBuilder = RegistryBuilder<dyn OrchestrationHandler>;

/// Collects activities.
pub type ActivityRegistryBuilder = RegistryBuilder<dyn ActivityHandler>;

type Handlers<H> = BTreeMap<String, BTreeMap<Version, Registered<H>>>;
type Policies = BTreeMap<String, VersionPolicy>;

/// A handler, and what was said about it beside its code. About activities nothing can be said.
struct Registered<H: ?Sized> {
    handler: Arc<H>,
    options: OrchestrationOptions,
}

/// Handlers by name and version. Clones share everything, the policies included.
pub struct Registry<H: ?Sized> {
    handlers: Arc<Handlers<H>>,
    policies: Arc<Mutex<Policies>>,
}

impl<H: ?Sized> Registry<H> {
    /// An empty builder.
    #[must_use]
    pub fn builder() -> RegistryBuilder<H> {
        RegistryBuilder::default()
    }

    /// A builder that has what `reg` has now, policies included.
    #[must_use]
    pub fn builder_from(reg: &Registry<H>) -> RegistryBuilder<H> {
        RegistryBuilder {
            handlers: (*reg.handlers).clone(),
            policies: reg.policies().clone(),
            mistakes: Vec::new(),
        }
    }

    /// The handler that the policy of `name` chooses, and its version. A policy that names a version which is not
    /// registered chooses nothing.
    #[must_use]
    pub fn resolve_handler(&self, name: &str) -> Option<(Version, Arc<H>)> {
        let policy = self.policies().get(name).cloned().unwrap_or(VersionPolicy::Latest);
        let chosen = self.handlers.get(name).and_then(|versions| match &policy {
            VersionPolicy::Latest => versions.last_key_value(),
            VersionPolicy::Exact(version) => versions.get_key_value(version),
        });
        if chosen.is_none() {
            tracing::debug!(target: "abide::runtime::registry", name, ?policy, "no handler is registered");
        }
        chosen.map(|(version, found)| (version.clone(), Arc::clone(&found.handler)))
    }

    /// The version that the policy of `name` chooses.
    #[must_use]
    pub fn resolve_version(&self, name: &str) -> Option<Version> {
        self.resolve_handler(name).map(|(version, _)| version)
    }

    /// The handler of exactly this version, whatever the policy.
    #[must_use]
    pub fn resolve_handler_exact(&self, name: &str, v: &Version) -> Option<Arc<H>> {
        self.handlers.get(name)?.get(v).map(|found| Arc::clone(&found.handler))
    }

    /// Chooses which version of `name` runs from now on where none is asked for; every clone of this registry, and so a
    /// runtime that works with it, follows. Executions keep the version they started with.
    pub fn set_version_policy(&self, name: &str, policy: VersionPolicy) {
        self.policies().insert(name.to_owned(), policy);
    }

    /// All names, in alphabetical order.
    #[must_use]
    pub fn list_names(&self) -> Vec<String> {
        self.handlers.keys().cloned().collect()
    }

    /// The versions of a name, oldest first; none if it is not registered.
    #[must_use]
    pub fn list_versions(&self, name: &str) -> Vec<Version> {
        self.handlers.get(name).map(|versions| versions.keys().cloned().collect()).unwrap_or_default()
    }

    /// Whether anything is registered under this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.handlers.contains_key(name)
    }

    /// What a node with this registry can run. The policy of a name may change, so every name counts as resolvable
    /// without a version.
    pub(crate) fn served(&self) -> Vec<NodeOrchestration> {
        let versions = |versions: &BTreeMap<Version, Registered<H>>| {
            versions.keys().map(ToString::to_string).collect::<Vec<_>>()
        };
        let served = |(name, registered): (&String, _)| NodeOrchestration {
            name: name.clone(),
            versions: versions(registered),
            resolves_unversioned: true,
        };
        self.handlers.iter().map(served).collect()
    }

    /// How many names there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.handlers.len()
    }

    /// What whoever wrote `name` may have meant, for messages about names that are not registered.
    pub(crate) fn nearest_name(&self, name: &str) -> Option<String> {
        nearest_name(name, self.handlers.keys().map(String::as_str)).map(str::to_owned)
    }

    /// Says what is not registered and what is: `Order 1.3.0 is not registered here; registered: 1.0.0,
    /// 1.2.0`. `version` is the one that was asked for; a text that is no version leaves the choice to the
    /// policy of `name`.
    pub(crate) fn missing(&self, name: &str, version: &str) -> String {
        let versions: Vec<String> = self.list_versions(name).iter().map(Version::to_string).collect();
        if versions.is_empty() {
            return format!("{name} is not registered here");
        }
        let asked = match (Version::parse(version), self.policies().get(name)) {
            (Ok(asked), _) => asked.to_string(),
            (Err(_), Some(VersionPolicy::Exact(chosen))) => {
                format!("{chosen} (chosen by its version policy)")
            }
            (Err(_), Some(VersionPolicy::Latest) | None) => version.to_owned(),
        };
        format!("{name} {asked} is not registered here; registered: {}", versions.join(", "))
    }

    /// No code of others runs under this lock, so a poisoned one holds what it should.
    fn policies(&self) -> MutexGuard<'_, Policies> {
        self.policies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// Written out: a derived impl would ask the same of `H`, which is a trait object.
impl<H: ?Sized> Clone for Registry<H> {
    fn clone(&self) -> Self {
        Self { handlers: Arc::clone(&self.handlers), policies: Arc::clone(&self.policies) }
    }
}

impl<H: ?Sized> From<Arc<H>> for Registered<H> {
    fn from(handler: Arc<H>) -> Self {
        Self { handler, options: OrchestrationOptions::default() }
    }
}

impl<H: ?Sized> Clone for Registered<H> {
    fn clone(&self) -> Self {
        Self { handler: Arc::clone(&self.handler), options: self.options.clone() }
    }
}

impl<H: ?Sized> Default for Registry<H> {
    fn default() -> Self {
        RegistryBuilder::default().registry()
    }
}

/// Names, versions and policies.
impl<H: ?Sized> fmt::Debug for Registry<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("handlers", &Names(&self.handlers))
            .field("policies", &*self.policies())
            .finish()
    }
}

/// Shows names and versions of handlers, which themselves have nothing to show.
struct Names<'a, H: ?Sized>(&'a Handlers<H>);

impl<H: ?Sized> fmt::Debug for Names<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = |versions: &BTreeMap<Version, Registered<H>>| -> Vec<String> {
            versions.keys().map(Version::to_string).collect()
        };
        f.debug_map().entries(self.0.iter().map(|(name, handlers)| (name, versions(handlers)))).finish()
    }
}
