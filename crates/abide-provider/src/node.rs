//! Nodes announce themselves, so that operators and other nodes know who serves what.

use std::collections::HashSet;
use std::fmt;

use abide_model::{SemverRange, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{DispatcherCapabilityFilter, Handlers, ServedVersions, TagFilter};

/// What a node says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAnnouncement {
    /// Tells the node from every other.
    pub id: String,
    /// Its build.
    pub build: String,
    /// Its orchestrations and their versions.
    pub orchestrations: Vec<NodeOrchestration>,
    /// Its activities.
    pub activities: Vec<String>,
    /// How many turns it runs at once.
    pub orchestration_slots: usize,
    /// How many activities it runs at once.
    pub worker_slots: usize,
    /// Which executions it can replay, by the version they are pinned to; any, if it does not say.
    #[serde(default)]
    pub pins: Vec<PinRange>,
    /// Which activities it takes, by their tag; all, if it does not say.
    #[serde(default)]
    pub tags: ServedTags,
}

/// Which activities a node takes, by their tag.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ServedTags {
    /// All.
    #[default]
    Any,
    /// Some.
    Only {
        /// Whether it takes those without a tag.
        untagged: bool,
        /// The tags of the others, ascending.
        tags: Vec<String>,
    },
}

impl ServedTags {
    /// A filter as a node announces it.
    #[must_use]
    pub fn of(filter: &TagFilter) -> Self {
        let only = |untagged, tags: Option<&HashSet<String>>| {
            let mut tags: Vec<String> = tags.into_iter().flatten().cloned().collect();
            tags.sort();
            Self::Only { untagged, tags }
        };
        match filter {
            TagFilter::Any => Self::Any,
            TagFilter::DefaultOnly => only(true, None),
            TagFilter::DefaultAnd(tags) => only(true, Some(tags)),
            TagFilter::Tags(tags) => only(false, Some(tags)),
            TagFilter::None => only(false, None),
        }
    }

    /// Returns whether an activity with this tag is taken.
    #[must_use]
    pub fn contain(&self, tag: Option<&str>) -> bool {
        match (self, tag) {
            (Self::Any, _) => true,
            (Self::Only { untagged, .. }, None) => *untagged,
            (Self::Only { tags, .. }, Some(tag)) => tags.iter().any(|each| each == tag),
        }
    }
}

/// Versions from `min` to `max`, both included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinRange {
    /// The oldest version.
    pub min: String,
    /// The newest version.
    pub max: String,
}

impl PinRange {
    /// A range as a node announces it.
    #[must_use]
    pub fn of(range: &SemverRange) -> Self {
        Self { min: range.min.to_string(), max: range.max.to_string() }
    }

    fn parsed(&self) -> Option<SemverRange> {
        Some(SemverRange::new(self.min.parse().ok()?, self.max.parse().ok()?))
    }
}

impl fmt::Display for PinRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// One orchestration of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOrchestration {
    /// The registered name.
    pub name: String,
    /// The registered versions, ascending.
    pub versions: Vec<String>,
    /// Whether the registry resolves the name without a version.
    pub resolves_unversioned: bool,
}

/// A live node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it says of itself.
    pub announcement: NodeAnnouncement,
    /// When it announced itself, by the store's clock.
    pub started: Timestamp,
    /// When it last renewed a lease or its announcement. An idle node writes nothing, so this may be long ago.
    pub last_seen: Timestamp,
}

impl NodeAnnouncement {
    /// What the node can run. What it has no slots for it does not run.
    #[must_use]
    pub fn handlers(&self) -> Handlers {
        let versions = |orchestration: &NodeOrchestration| ServedVersions {
            exact: orchestration.versions.iter().filter_map(|version| version.parse().ok()).collect(),
            resolves_unversioned: orchestration.resolves_unversioned,
        };
        let orchestrations = self.orchestrations.iter().filter(|_| self.orchestration_slots > 0);
        let activities = self.activities.iter().filter(|_| self.worker_slots > 0);
        let ranges: Vec<_> = self.pins.iter().filter_map(PinRange::parsed).collect();
        Handlers {
            build: self.build.clone(),
            orchestrations: Some(orchestrations.map(|each| (each.name.clone(), versions(each))).collect()),
            activities: Some(activities.cloned().collect()),
            pins: (!self.pins.is_empty())
                .then_some(DispatcherCapabilityFilter { supported_duroxide_versions: ranges }),
        }
    }
}
