//! Which node leases what: handlers, builds and crash suspects.
//!
//! A node passes a [`Serving`] with its lease calls, and a store grants only what it admits. What a ready instance or
//! activity needs of a node is its *route*. Many rows share a route, so a store may intern routes and decide once for
//! all rows of one: the decision is [`Serving::admits`] and [`Serving::admits_activity`], which are pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use semver::Version;

use crate::DispatcherCapabilityFilter;

/// An instance or activity that was under way in this many crashes is a suspect: a node runs one suspect at a time.
pub const SUSPECT_AFTER: u32 = 3;

/// An execution remembers at most this many builds that refused it. One more, and every build counts as refusing.
pub const REMEMBERED_REFUSALS: usize = 8;

/// Versions that leave the choice to the registry of the node.
const CHOSEN_BY_REGISTRY: [&str; 3] = ["unknown", "0.0.0", ""];

/// What a ready instance needs of the node that leases it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceRoute {
    /// The registered name of the orchestration to run; empty if the mail needs no code, because the instance has
    /// ended or waits for the start of its next execution.
    pub orchestration: String,
    /// The version of its handler, `"unknown"` if the start left it to the registry.
    pub version: String,
    /// The version of abide that the execution is pinned to, as stored; empty if it has none yet.
    pub pin: String,
    /// The builds that refused the execution and are not due for another try.
    pub refused_by: Refusals,
    /// Whether a node crashed [`SUSPECT_AFTER`] times with this mail under way.
    pub is_suspect: bool,
    /// Whether a cancellation is among the visible mail. Ending an execution needs no code.
    pub has_cancel: bool,
}

/// The builds that refused an execution.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusals {
    /// These builds; empty if none did.
    Builds(BTreeSet<String>),
    /// All builds: more than [`REMEMBERED_REFUSALS`] refused it, or it is quarantined.
    All,
}

impl Default for Refusals {
    fn default() -> Self {
        Self::Builds(BTreeSet::new())
    }
}

impl Refusals {
    /// Whether no build has refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether this build has refused.
    #[must_use]
    pub fn contain(&self, build: &str) -> bool {
        match self {
            Self::Builds(builds) => builds.contains(build),
            Self::All => true,
        }
    }

    /// The same without a build that does not refuse any more. If all builds refused, the others are not known, and none
    /// is left.
    #[must_use]
    pub fn without(self, build: &str) -> Self {
        match self {
            Self::Builds(mut builds) => {
                builds.remove(build);
                Self::Builds(builds)
            }
            Self::All => Self::default(),
        }
    }

    /// The same, with one more build.
    #[must_use]
    pub fn with(self, build: &str) -> Self {
        match self {
            Self::Builds(mut builds) => {
                builds.insert(build.to_owned());
                if builds.len() > REMEMBERED_REFUSALS { Self::All } else { Self::Builds(builds) }
            }
            Self::All => Self::All,
        }
    }
}

/// What a node can run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handlers {
    /// The build of the node.
    pub build: String,
    /// Its orchestrations by name; `None` means that the node takes every orchestration, registered or not.
    pub orchestrations: Option<BTreeMap<String, ServedVersions>>,
    /// The names of its activities; `None` means that the node takes every activity, registered or not.
    pub activities: Option<BTreeSet<String>>,
    /// The executions that it can replay, by the version they are pinned to; `None` if it does not say.
    pub pins: Option<DispatcherCapabilityFilter>,
}

/// Which versions of one orchestration a node can run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServedVersions {
    /// The registered versions.
    pub exact: BTreeSet<Version>,
    /// Whether the registry's policy resolves the name without a version.
    pub resolves_unversioned: bool,
}

impl Handlers {
    /// Whether the code for this orchestration and version is registered.
    #[must_use]
    pub fn have_orchestration(&self, name: &str, version: &str) -> bool {
        let Some(orchestrations) = &self.orchestrations else { return true };
        let Some(served) = orchestrations.get(name) else { return false };
        let is_exact = Version::parse(version).is_ok_and(|version| served.exact.contains(&version));
        is_exact || (served.resolves_unversioned && CHOSEN_BY_REGISTRY.contains(&version))
    }

    /// Whether this activity is registered.
    #[must_use]
    pub fn have_activity(&self, name: &str) -> bool {
        self.activities.as_ref().is_none_or(|activities| activities.contains(name))
    }
}

/// What a lease call takes, beyond pins and tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serving {
    /// What the calling node can run.
    pub handlers: Arc<Handlers>,
    /// Whether the call takes a suspect. It is granted at most one.
    pub takes_suspect: bool,
}

impl Serving {
    /// Whether the node may lease an instance with this route. `is_served` says whether any live node can run it; it is
    /// asked only about an instance that is to be canceled and that the calling node cannot run.
    #[must_use]
    pub fn admits(
        &self,
        route: &InstanceRoute,
        pins: Option<&DispatcherCapabilityFilter>,
        is_served: impl FnOnce(&InstanceRoute) -> bool,
    ) -> bool {
        if route.is_suspect && !self.takes_suspect {
            return false;
        }
        if route.orchestration.is_empty() {
            return true;
        }
        if self.handlers.can_run(route) && route.has_pin_among(pins) {
            return true;
        }
        route.has_cancel && !is_served(route)
    }

    /// Whether the node may lease an activity of this name.
    #[must_use]
    pub fn admits_activity(&self, name: &str, is_suspect: Suspicion) -> bool {
        let may_run = match is_suspect {
            Suspicion::None => true,
            Suspicion::Suspect => self.takes_suspect,
        };
        may_run && self.handlers.have_activity(name)
    }
}

/// Whether something was under way in too many crashes to run beside other suspects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suspicion {
    /// It was not.
    None,
    /// It was under way in [`SUSPECT_AFTER`] crashes or more.
    Suspect,
}

impl Suspicion {
    /// What this many crashes mean.
    #[must_use]
    pub const fn after(crashes: u32) -> Self {
        if crashes >= SUSPECT_AFTER { Self::Suspect } else { Self::None }
    }

    /// Whether it is a suspect.
    #[must_use]
    pub const fn is_suspect(self) -> bool {
        matches!(self, Self::Suspect)
    }
}

impl Handlers {
    /// Whether the node has the code of a route and can replay its pin, and its build has not refused it.
    #[must_use]
    pub fn can_run(&self, route: &InstanceRoute) -> bool {
        self.have_orchestration(&route.orchestration, &route.version)
            && !route.refused_by.contain(&self.build)
            && route.has_pin_among(self.pins.as_ref())
    }
}

impl InstanceRoute {
    /// Whether a lease call may take an instance with this route. A call without a [`Serving`] takes everything that
    /// not all builds have refused, or that is to be canceled. `is_served` says whether any live node can run it; it is seldom asked.
    #[must_use]
    pub fn is_admitted(
        &self,
        serving: Option<&Serving>,
        pins: Option<&DispatcherCapabilityFilter>,
        is_served: impl FnOnce(&Self) -> bool,
    ) -> bool {
        if pins.is_some_and(|filter| filter.supported_duroxide_versions.is_empty()) {
            return false;
        }
        match serving {
            Some(serving) => serving.admits(self, pins, is_served),
            None => (self.refused_by != Refusals::All || self.has_cancel) && self.has_pin_among(pins),
        }
    }

    /// A pin that cannot be parsed passes: the node that replays the execution decides.
    pub(crate) fn has_pin_among(&self, pins: Option<&DispatcherCapabilityFilter>) -> bool {
        let Some(filter) = pins else { return true };
        self.pin.is_empty() || Version::parse(&self.pin).map_or(true, |pin| filter.is_compatible(&pin))
    }
}

#[cfg(test)]
mod tests {
    use abide_model::SemverRange;

    use super::*;

    fn node(build: &str, name: &str, versions: &[&str]) -> Handlers {
        let exact = versions.iter().map(|version| Version::parse(version).unwrap()).collect();
        let served = ServedVersions { exact, resolves_unversioned: true };
        Handlers {
            build: build.to_owned(),
            orchestrations: Some(BTreeMap::from([(name.to_owned(), served)])),
            activities: Some(BTreeSet::from(["Charge".to_owned()])),
            pins: None,
        }
    }

    fn serving(handlers: Handlers) -> Serving {
        Serving { handlers: Arc::new(handlers), takes_suspect: true }
    }

    fn unserved(_: &InstanceRoute) -> bool {
        false
    }

    fn route(name: &str, version: &str) -> InstanceRoute {
        let (orchestration, version) = (name.to_owned(), version.to_owned());
        InstanceRoute { orchestration, version, ..InstanceRoute::default() }
    }

    fn refused(builds: &[&str]) -> Refusals {
        builds.iter().fold(Refusals::default(), |refusals, build| refusals.with(build))
    }

    #[test]
    fn a_node_takes_what_it_has_and_what_needs_no_code() {
        let node = serving(node("b1", "Order", &["1.0.0", "1.2.0"]));
        for (name, version, is_admitted) in [
            ("Order", "1.0.0", true),
            ("Order", "1.2.0", true),
            ("Order", "1.3.0", false),
            ("Order", "unknown", true),
            ("Refund", "1.0.0", false),
            ("", "", true),
        ] {
            assert_eq!(node.admits(&route(name, version), None, unserved), is_admitted, "{name} {version}");
        }
    }

    #[test]
    fn a_build_leaves_what_it_refused_to_others() {
        let route = InstanceRoute { refused_by: refused(&["b1"]), ..route("Order", "1.0.0") };
        assert!(!serving(node("b1", "Order", &["1.0.0"])).admits(&route, None, unserved));
        assert!(serving(node("b2", "Order", &["1.0.0"])).admits(&route, None, unserved));
    }

    #[test]
    fn after_eight_builds_all_count_as_refusing() {
        let builds = ["1", "2", "3", "4", "5", "6", "7", "8"];
        assert!(!refused(&builds).contain("9"));
        assert_eq!(refused(&builds).with("1"), refused(&builds));
        assert_eq!(refused(&builds).with("9"), Refusals::All);
        assert_eq!(refused(&["1", "2"]).without("1"), refused(&["2"]));
        assert!(Refusals::All.without("1").is_empty());
    }

    #[test]
    fn a_cancel_reaches_what_is_blocked_or_has_no_code_anywhere() {
        let other = node("b2", "Order", &["1.0.0"]);
        let canceled = InstanceRoute { has_cancel: true, ..route("Order", "1.0.0") };
        let blocked = InstanceRoute { refused_by: refused(&["b1", "b2"]), ..canceled.clone() };
        let stranger = node("b3", "Refund", &["1.0.0"]);
        let is_served = |route: &InstanceRoute| other.can_run(route);
        let stranger = serving(stranger);
        assert!(stranger.admits(&canceled, None, unserved), "no live node has the code");
        assert!(!stranger.admits(&canceled, None, is_served), "another node has it");
        assert!(stranger.admits(&blocked, None, is_served), "all builds that have the code refused it");
        let healed = InstanceRoute { refused_by: refused(&["b1"]), ..canceled.clone() };
        assert!(!stranger.admits(&healed, None, is_served), "another build can still compensate");
        let given_up = InstanceRoute { refused_by: Refusals::All, ..canceled };
        assert!(given_up.is_admitted(None, None, is_served), "a call that does not say what it serves");
    }

    #[test]
    fn a_node_that_cannot_replay_the_pin_does_not_serve_the_execution() {
        let range = |max| SemverRange::new(Version::new(0, 1, 0), Version::new(0, max, 0));
        let filter = |max| DispatcherCapabilityFilter { supported_duroxide_versions: vec![range(max)] };
        let old = Handlers { pins: Some(filter(2)), ..node("b1", "Order", &["1.0.0"]) };
        let pinned = InstanceRoute { pin: "0.3.0".to_owned(), ..route("Order", "1.0.0") };
        assert!(!old.can_run(&pinned));
        assert!(Handlers { pins: Some(filter(3)), ..old.clone() }.can_run(&pinned));

        let canceled = InstanceRoute { has_cancel: true, ..pinned };
        let node = serving(old.clone());
        assert!(node.admits(&canceled, Some(&filter(2)), |route| old.can_run(route)), "no node serves it");
    }

    #[test]
    fn a_suspect_is_taken_only_by_a_call_that_asks_for_one() {
        let suspect = InstanceRoute { is_suspect: true, ..route("Order", "1.0.0") };
        let node = serving(node("b1", "Order", &["1.0.0"]));
        assert!(node.admits(&suspect, None, unserved));
        let busy = Serving { takes_suspect: false, ..node };
        assert!(!busy.admits(&suspect, None, unserved));
        assert!(!busy.admits_activity("Charge", Suspicion::after(SUSPECT_AFTER)));
        assert!(busy.admits_activity("Charge", Suspicion::after(SUSPECT_AFTER - 1)));
        assert!(!busy.admits_activity("Chrage", Suspicion::None));
    }
}
