//! The nodes that work on this store. They all live in one process, so a node lives until it is forgotten.

use abide_model::Timestamp;
use abide_provider::{InstanceRoute, Node, NodeAnnouncement};

use crate::state::State;

impl State {
    pub(crate) fn announce_node(&mut self, announcement: NodeAnnouncement, now: Timestamp) {
        let known = self.nodes.get(&announcement.id);
        let started = known.map_or(now, |node| node.started);
        self.nodes.insert(announcement.id.clone(), Node { announcement, started, last_seen: now });
    }

    pub(crate) fn forget_node(&mut self, id: &str) {
        self.nodes.remove(id);
    }

    /// Whether any node can run this.
    pub(crate) fn is_served(&self, route: &InstanceRoute) -> bool {
        self.nodes.values().any(|node| node.announcement.handlers().can_run(route))
    }

    pub(crate) fn live_nodes(&self) -> Vec<Node> {
        self.nodes.values().cloned().collect()
    }
}
