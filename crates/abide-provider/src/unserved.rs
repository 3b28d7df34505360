//! What no live node serves, and which name was probably meant. Pure: derived from what the nodes announced.

use std::fmt;

use crate::{InstanceRoute, Node, NodeAnnouncement, PinRange, nearest_name};

/// Names of built-in activities begin with this. Every node has them.
const BUILT_IN: &str = "__duroxide_syscall:";

/// An orchestration or activity that no live node can run. It waits until a node that can is started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unserved {
    /// What it is.
    pub kind: HandlerKind,
    /// Its registered name, as it was asked for.
    pub name: String,
    /// What the live nodes have instead.
    pub reason: UnservedReason,
}

/// What a handler is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandlerKind {
    /// An orchestration.
    Orchestration,
    /// An activity.
    Activity,
}

/// Why no live node can run something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnservedReason {
    /// No live node runs this kind of work at all.
    NoNode,
    /// No live node has a handler of that name.
    NoHandler {
        /// A registered name that looks like it.
        did_you_mean: Option<String>,
    },
    /// Live nodes have the activity, but take none with this tag.
    NoTag {
        /// The tag; `None` if the activity has none.
        tag: Option<String>,
    },
    /// Live nodes have the name, but not this version.
    NoBuild {
        /// The version that is needed.
        version: String,
        /// The versions that live nodes have, ascending.
        registered: Vec<String>,
    },
    /// Live nodes have the code, but cannot replay what this version of abide recorded.
    NoReplay {
        /// The version that the execution is pinned to.
        pin: String,
        /// What the live nodes that have the code can replay.
        supported: Vec<PinRange>,
    },
}

impl Unserved {
    /// Returns why no live node can run this activity, which may have a tag; `None` if one can.
    #[must_use]
    pub fn activity(name: &str, tag: Option<&str>, nodes: &[Node]) -> Option<Self> {
        let workers = || nodes.iter().map(|node| &node.announcement).filter(|node| node.worker_slots > 0);
        if name.starts_with(BUILT_IN) && workers().next().is_some() {
            return None;
        }
        let has_name = |node: &&NodeAnnouncement| node.activities.iter().any(|each| each == name);
        let reason = if workers().any(|node| has_name(&node)) {
            if workers().filter(has_name).any(|node| node.tags.contain(tag)) {
                return None;
            }
            UnservedReason::NoTag { tag: tag.map(str::to_owned) }
        } else {
            let registered = workers().flat_map(|node| node.activities.iter().map(String::as_str));
            missing(name, workers().next().is_some(), registered)
        };
        Some(Self { kind: HandlerKind::Activity, name: name.to_owned(), reason })
    }

    /// The same for an activity whose tag is not known.
    #[must_use]
    pub fn activity_of_any_tag(name: &str, nodes: &[Node]) -> Option<Self> {
        Self::activity(name, None, nodes).filter(|unserved| match unserved.reason {
            UnservedReason::NoTag { .. } => false,
            UnservedReason::NoNode
            | UnservedReason::NoHandler { .. }
            | UnservedReason::NoBuild { .. }
            | UnservedReason::NoReplay { .. } => true,
        })
    }

    /// Returns why no live node can run this orchestration; `None` if one can. Without a version, any one
    /// will do.
    #[must_use]
    pub fn orchestration(name: &str, version: Option<&str>, nodes: &[Node]) -> Option<Self> {
        let runners = || runners(nodes);
        let registered = || runners().flat_map(|node| &node.orchestrations);
        let mut versions: Vec<&str> = registered()
            .filter(|each| each.name == name)
            .flat_map(|each| each.versions.iter().map(String::as_str))
            .collect();
        let reason = if versions.is_empty() {
            missing(name, runners().next().is_some(), registered().map(|each| each.name.as_str()))
        } else {
            let version = version?;
            if runners().any(|node| node.handlers().have_orchestration(name, version)) {
                return None;
            }
            versions.sort_by_cached_key(|version| semver::Version::parse(version).ok());
            versions.dedup();
            let registered = versions.into_iter().map(str::to_owned).collect();
            UnservedReason::NoBuild { version: version.to_owned(), registered }
        };
        Some(Self { kind: HandlerKind::Orchestration, name: name.to_owned(), reason })
    }

    /// The same for an execution, which only nodes run that can replay the version it is pinned to.
    #[must_use]
    pub fn execution(name: &str, version: Option<&str>, pin: Option<&str>, nodes: &[Node]) -> Option<Self> {
        if let Some(unserved) = Self::orchestration(name, version, nodes) {
            return Some(unserved);
        }
        let pin = pin?;
        let replays = |node: &&NodeAnnouncement| {
            let route = InstanceRoute { pin: pin.to_owned(), ..InstanceRoute::default() };
            route.has_pin_among(node.handlers().pins.as_ref())
        };
        if with_code(name, version, nodes).any(|node| replays(&node)) {
            return None;
        }
        let mut supported: Vec<PinRange> = Vec::new();
        for range in with_code(name, version, nodes).flat_map(|node| &node.pins) {
            if !supported.contains(range) {
                supported.push(range.clone());
            }
        }
        let reason = UnservedReason::NoReplay { pin: pin.to_owned(), supported };
        Some(Self { kind: HandlerKind::Orchestration, name: name.to_owned(), reason })
    }
}

/// The nodes that run orchestrations.
fn runners(nodes: &[Node]) -> impl Iterator<Item = &NodeAnnouncement> {
    nodes.iter().map(|node| &node.announcement).filter(|node| node.orchestration_slots > 0)
}

/// Those that have this one; without a version, in any.
fn with_code<'a>(
    name: &str,
    version: Option<&str>,
    nodes: &'a [Node],
) -> impl Iterator<Item = &'a NodeAnnouncement> {
    runners(nodes).filter(move |node| match version {
        Some(version) => node.handlers().have_orchestration(name, version),
        None => node.orchestrations.iter().any(|each| each.name == name),
    })
}

#[expect(clippy::fn_params_excessive_bools, reason = "one fact about the nodes")]
fn missing<'a>(name: &str, has_nodes: bool, registered: impl Iterator<Item = &'a str>) -> UnservedReason {
    if has_nodes {
        let users = registered.filter(|each| !each.starts_with(BUILT_IN));
        UnservedReason::NoHandler { did_you_mean: nearest_name(name, users).map(str::to_owned) }
    } else {
        UnservedReason::NoNode
    }
}

impl fmt::Display for Unserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, reason } = self;
        let kind = match kind {
            HandlerKind::Orchestration => "orchestration",
            HandlerKind::Activity => "activity",
        };
        if let UnservedReason::NoTag { tag: Some(tag) } = reason {
            return write!(f, "no live node serves tag '{tag}' of {kind} '{name}'");
        }
        write!(f, "no live node serves {kind} '{name}'")?;
        match reason {
            UnservedReason::NoTag { .. } => f.write_str(" without a tag"),
            UnservedReason::NoNode => match self.kind {
                HandlerKind::Orchestration => f.write_str(" (no live node runs orchestrations)"),
                HandlerKind::Activity => f.write_str(" (no live node runs activities)"),
            },
            UnservedReason::NoHandler { did_you_mean: Some(other) } => {
                write!(f, " (did you mean '{other}'?)")
            }
            UnservedReason::NoHandler { did_you_mean: None } => Ok(()),
            UnservedReason::NoBuild { version, registered } => {
                write!(f, " {version} (registered: {})", registered.join(", "))
            }
            UnservedReason::NoReplay { pin, supported } => {
                let supported: Vec<String> = supported.iter().map(ToString::to_string).collect();
                write!(f, " pinned to {pin} (they replay {})", supported.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use abide_model::Timestamp;

    use super::*;
    use crate::{NodeAnnouncement, NodeOrchestration, ServedTags, TagFilter};

    fn node(orchestrations: &[(&str, &[&str])], activities: &[&str]) -> Node {
        let orchestration = |(name, versions): &(&str, &[&str])| NodeOrchestration {
            name: (*name).to_owned(),
            versions: versions.iter().map(|version| (*version).to_owned()).collect(),
            resolves_unversioned: true,
        };
        Node {
            announcement: NodeAnnouncement {
                id: "n".to_owned(),
                build: "b".to_owned(),
                orchestrations: orchestrations.iter().map(orchestration).collect(),
                activities: activities.iter().map(|name| (*name).to_owned()).collect(),
                orchestration_slots: 1,
                worker_slots: 1,
                pins: vec![PinRange { min: "0.1.0".to_owned(), max: "0.2.9".to_owned() }],
                tags: ServedTags::Any,
            },
            started: Timestamp::EPOCH,
            last_seen: Timestamp::EPOCH,
        }
    }

    fn with_tags(filter: &TagFilter) -> Node {
        let mut node = node(&[], &["Render"]);
        node.announcement.tags = ServedTags::of(filter);
        node
    }

    #[test]
    fn a_tag_that_no_node_takes_is_told() {
        let default = with_tags(&TagFilter::default_only());
        let gpu = with_tags(&TagFilter::tags(["gpu"]));
        let both = with_tags(&TagFilter::default_and(["gpu"]));
        let any = with_tags(&TagFilter::Any);
        let none = with_tags(&TagFilter::None);
        let (no_gpu, no_plain) = (
            "no live node serves tag 'gpu' of activity 'Render'",
            "no live node serves activity 'Render' without a tag",
        );
        let table = [
            (vec![default.clone()], "served", no_gpu),
            (vec![gpu.clone()], no_plain, "served"),
            (vec![default, gpu], "served", "served"),
            (vec![both], "served", "served"),
            (vec![any], "served", "served"),
            (vec![none], no_plain, no_gpu),
        ];
        for (nodes, plain, tagged) in table {
            assert_eq!(text(Unserved::activity("Render", None, &nodes)), plain);
            assert_eq!(text(Unserved::activity("Render", Some("gpu"), &nodes)), tagged);
        }
    }

    fn text(unserved: Option<Unserved>) -> String {
        unserved.map_or_else(|| "served".to_owned(), |unserved| unserved.to_string())
    }

    #[test]
    fn a_missing_activity_is_told_with_the_name_that_was_probably_meant() {
        let nodes = [node(&[], &["Charge", "Change", "Refund", "__duroxide_syscall:new_guid"])];
        let table = [
            ("Charge", "served"),
            ("__duroxide_syscall:utc_now_ms", "served"),
            ("Chrage", "no live node serves activity 'Chrage' (did you mean 'Charge'?)"),
            ("charge", "no live node serves activity 'charge' (did you mean 'Charge'?)"),
            ("Charg", "no live node serves activity 'Charg' (did you mean 'Charge'?)"),
            ("Ship", "no live node serves activity 'Ship'"),
        ];
        for (name, expected) in table {
            assert_eq!(text(Unserved::activity(name, None, &nodes)), expected);
        }
        let none = "no live node serves activity 'Charge' (no live node runs activities)";
        assert_eq!(text(Unserved::activity("Charge", None, &[])), none);
    }

    #[test]
    fn a_missing_version_is_told_with_those_that_there_are() {
        let nodes = [node(&[("Order", &["1.10.0"])], &[]), node(&[("Order", &["1.2.0", "1.10.0"])], &[])];
        let table = [
            ("Order", Some("1.2.0"), "served"),
            ("Order", Some("unknown"), "served"),
            ("Order", None, "served"),
            (
                "Order",
                Some("1.3.0"),
                "no live node serves orchestration 'Order' 1.3.0 (registered: 1.2.0, 1.10.0)",
            ),
            ("Oder", None, "no live node serves orchestration 'Oder' (did you mean 'Order'?)"),
            ("Refund", Some("1.0.0"), "no live node serves orchestration 'Refund'"),
        ];
        for (name, version, expected) in table {
            assert_eq!(text(Unserved::orchestration(name, version, &nodes)), expected);
        }
    }

    #[test]
    fn a_pin_that_no_node_replays_is_told_with_those_that_they_do() {
        let nodes = [node(&[("Order", &["1.0.0"])], &[])];
        let text_of = |pin| text(Unserved::execution("Order", Some("1.0.0"), pin, &nodes));
        assert_eq!(text_of(None), "served");
        assert_eq!(text_of(Some("0.2.0")), "served");
        let expected =
            "no live node serves orchestration 'Order' pinned to 0.3.0 (they replay 0.1.0 to 0.2.9)";
        assert_eq!(text_of(Some("0.3.0")), expected);
    }

    #[test]
    fn a_node_without_workers_serves_no_activity() {
        let mut idle = node(&[("Order", &["1.0.0"])], &["Charge"]);
        idle.announcement.worker_slots = 0;
        let none = "no live node serves activity 'Charge' (no live node runs activities)";
        assert_eq!(text(Unserved::activity("Charge", None, std::slice::from_ref(&idle))), none);
        idle.announcement.orchestration_slots = 0;
        let none = "no live node serves orchestration 'Order' (no live node runs orchestrations)";
        assert_eq!(text(Unserved::orchestration("Order", None, &[idle])), none);
    }
}
