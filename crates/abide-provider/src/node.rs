//! Nodes announce themselves, so that operators and other nodes know who serves what.

use abide_model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Handlers, ServedVersions};

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
    /// What the node can run.
    #[must_use]
    pub fn handlers(&self) -> Handlers {
        let versions = |orchestration: &NodeOrchestration| ServedVersions {
            exact: orchestration.versions.iter().filter_map(|version| version.parse().ok()).collect(),
            resolves_unversioned: orchestration.resolves_unversioned,
        };
        let orchestrations = self.orchestrations.iter().map(|each| (each.name.clone(), versions(each)));
        Handlers {
            build: self.build.clone(),
            orchestrations: Some(orchestrations.collect()),
            activities: Some(self.activities.iter().cloned().collect()),
        }
    }
}
