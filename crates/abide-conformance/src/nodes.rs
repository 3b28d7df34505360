//! Nodes announce what they serve.

use abide_provider::{Ability, Node, NodeAnnouncement, NodeOrchestration, PinRange, ServedTags};

use crate::ProviderFactory;
use crate::suite::area;
use crate::support::Subject;

area! {
    nodes;
    test_announced_nodes_are_listed_by_their_ids: Need::Ability(Ability::Nodes);
    test_announcing_again_replaces_what_is_known: Need::Ability(Ability::Nodes);
    test_forgotten_node_is_not_listed: Need::Ability(Ability::Nodes);
}

fn announcement(id: &str, build: &str) -> NodeAnnouncement {
    NodeAnnouncement {
        id: id.to_owned(),
        build: build.to_owned(),
        orchestrations: vec![NodeOrchestration {
            name: "Order".to_owned(),
            versions: vec!["1.0.0".to_owned(), "1.2.0".to_owned()],
            resolves_unversioned: true,
        }],
        activities: vec!["Charge".to_owned(), "Ship ü".to_owned()],
        orchestration_slots: 4,
        worker_slots: 0,
        pins: vec![PinRange { min: "0.1.0".to_owned(), max: "0.3.0".to_owned() }],
        tags: ServedTags::Only { untagged: false, tags: vec!["gpu".to_owned()] },
    }
}

async fn announce(store: &Subject<'_>, node: NodeAnnouncement) {
    store.announce_node(node).await.unwrap_or_else(|error| panic!("a node cannot be announced: {error}"));
}

async fn listed(store: &Subject<'_>) -> Vec<Node> {
    store.nodes().await.unwrap_or_else(|error| panic!("nodes cannot be listed: {error}"))
}

/// Every announced node is listed, by its id, with all that it said and when.
pub async fn test_announced_nodes_are_listed_by_their_ids<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert_eq!(listed(&store).await, [], "nobody announced itself");
    let before = store.now_ms();
    for id in ["node-2", "node-1", "node-10"] {
        announce(&store, announcement(id, "b1")).await;
    }
    let nodes = listed(&store).await;
    let said: Vec<_> = nodes.iter().map(|node| node.announcement.clone()).collect();
    assert_eq!(said, ["node-1", "node-10", "node-2"].map(|id| announcement(id, "b1")));
    for node in nodes {
        assert_eq!(node.started, node.last_seen, "it was seen when it announced itself");
        assert!((before..=store.now_ms()).contains(&node.started.as_millis()), "{node:?}");
    }
}

/// A node that announces itself again says something new; when it started stays.
pub async fn test_announcing_again_replaces_what_is_known<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    announce(&store, announcement("n", "b1")).await;
    let first = listed(&store).await;
    store.pass(store.lock()).await;
    let said = NodeAnnouncement { activities: Vec::new(), ..announcement("n", "b2") };
    announce(&store, said.clone()).await;
    let second = listed(&store).await;
    assert_eq!(second.len(), 1, "it is one node");
    assert_eq!(second[0].announcement, said);
    assert_eq!(second[0].started, first[0].started);
    assert!(second[0].last_seen > first[0].last_seen, "it was seen again");
}

/// A node that stops is forgotten; others stay. Forgetting one that is not known is no error.
pub async fn test_forgotten_node_is_not_listed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for id in ["n", "m"] {
        announce(&store, announcement(id, "b1")).await;
    }
    for id in ["n", "n", "unknown"] {
        store.forget_node(id).await.expect("forgetting is no error");
    }
    let left: Vec<_> = listed(&store).await.into_iter().map(|node| node.announcement.id).collect();
    assert_eq!(left, ["m"]);
}
