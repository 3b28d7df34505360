//! Collecting handlers, and the mistakes made while doing so.
//!
//! Of two handlers under one name and version the first stays. The second is a mistake that
//! [`build_result`](RegistryBuilder::build_result) returns and [`build`](RegistryBuilder::build) logs: never is one handler
//! quietly run in place of another.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex};

use abide_model::names::check_name;
use semver::Version;

use super::{Handlers, Names, Policies, Registered, Registry};

/// Collects handlers for a [`Registry`].
pub struct RegistryBuilder<H: ?Sized> {
    pub(super) handlers: Handlers<H>,
    pub(super) policies: Policies,
    pub(super) mistakes: Vec<String>,
}

impl<H: ?Sized> RegistryBuilder<H> {
    /// What was collected, mistakes aside.
    pub(super) fn registry(self) -> Registry<H> {
        Registry { handlers: Arc::new(self.handlers), policies: Arc::new(Mutex::new(self.policies)) }
    }

    /// The registry, whatever mistakes were made: each is logged as an error. Of two handlers with one name the first stays, and
    /// one whose options are wrong is there without them. [`build_result`](Self::build_result) insists on none.
    #[must_use]
    pub fn build(self) -> Registry<H> {
        for mistake in &self.mistakes {
            tracing::error!(target: "abide::runtime::registry", mistake, "a registration has a mistake");
        }
        self.registry()
    }

    /// The registry, if there were no mistakes.
    ///
    /// # Errors
    ///
    /// All mistakes, joined by `"; "`.
    pub fn build_result(self) -> Result<Registry<H>, String> {
        if self.mistakes.is_empty() { Ok(self.registry()) } else { Err(self.mistakes.join("; ")) }
    }

    /// Adds what `other` has, the options of its orchestrations included, but not which versions it chooses. What is there already
    /// stays and is a mistake: `{error_prefix}: {name}@{version}`.
    #[must_use]
    pub fn merge_registry(mut self, other: Registry<H>, error_prefix: &str) -> Self {
        let handlers = Arc::unwrap_or_clone(other.handlers);
        for (name, versions) in handlers {
            for (version, registered) in versions {
                self.put(&name, version, registered, error_prefix);
            }
        }
        self
    }

    /// Registers each item by means of `register_fn`.
    #[must_use]
    pub fn register_all_handlers<F>(
        self,
        items: Vec<(&str, F)>,
        register_fn: impl Fn(Self, &str, F) -> Self,
    ) -> Self
    where
        F: Clone,
    {
        items.into_iter().fold(self, |builder, (name, handler)| register_fn(builder, name, handler))
    }

    /// Adds a handler, unless its place is taken. A name that nothing can ask for is a mistake, and its
    /// handler is left out.
    pub(super) fn put(&mut self, name: &str, version: Version, registered: Registered<H>, taken: &str) {
        if let Err(problem) = check_name("handler name", name) {
            self.mistakes.push(problem.to_string());
            return;
        }
        match self.handlers.entry(name.to_owned()).or_default().entry(version) {
            Entry::Occupied(place) => self.mistakes.push(format!("{taken}: {name}@{}", place.key())),
            Entry::Vacant(place) => {
                place.insert(registered);
            }
        }
    }
}

/// Names, versions, policies and mistakes.
impl<H: ?Sized> fmt::Debug for RegistryBuilder<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryBuilder")
            .field("handlers", &Names(&self.handlers))
            .field("policies", &self.policies)
            .field("mistakes", &self.mistakes)
            .finish()
    }
}

impl<H: ?Sized> Default for RegistryBuilder<H> {
    fn default() -> Self {
        Self { handlers: BTreeMap::new(), policies: BTreeMap::new(), mistakes: Vec::new() }
    }
}
