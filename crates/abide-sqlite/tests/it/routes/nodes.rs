//! Nodes are listed while their process lives.

use abide_provider::{NodeAnnouncement, Provider, ServedTags};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use crate::support::folder::{Folder, url};
use crate::support::store::*;

fn announce(provider: &SqliteProvider, id: &str) {
    let node = NodeAnnouncement {
        id: id.to_owned(),
        build: "b1".to_owned(),
        orchestrations: Vec::new(),
        activities: Vec::new(),
        orchestration_slots: 1,
        worker_slots: 1,
        pins: Vec::new(),
        tags: ServedTags::Any,
    };
    block_on(provider.announce_node(node)).unwrap();
}

fn listed(provider: &SqliteProvider) -> Vec<String> {
    let nodes = block_on(provider.nodes()).unwrap();
    nodes.into_iter().map(|node| node.announcement.id).collect()
}

#[test]
fn nodes_of_several_processes_are_listed_until_these_close() {
    let folder = Folder::new("nodes");
    let url = url(&database_in(&folder));
    let [one, other] = [0, 1].map(|_| block_on(SqliteProvider::new(&url, None)).unwrap());
    announce(&one, "one");
    announce(&other, "other");
    for provider in [&one, &other] {
        assert_eq!(listed(provider), ["one", "other"]);
    }
    drop(one);
    assert_eq!(listed(&other), ["other"]);
}

/// Whoever was killed leaves its row, and a lock file that is free.
#[test]
fn a_node_whose_process_died_is_not_listed() {
    let store = Store::on_file();
    announce(&store.provider, "alive");
    store.damage("INSERT INTO owner (no, file) VALUES (99, 'store.db-owner-00000000000000aa')");
    store.damage(
        "INSERT INTO node SELECT 'dead', 99, replace(said, 'alive', 'dead'), started_at, seen_at FROM node",
    );
    assert_eq!(listed(&store.provider), ["alive"]);
    store.damage(
        "INSERT INTO node SELECT 'lost', 98, replace(said, 'alive', 'lost'), started_at, seen_at FROM node
                  WHERE id = 'alive'",
    );
    assert_eq!(listed(&store.provider), ["alive"], "not even its process is known");
}
