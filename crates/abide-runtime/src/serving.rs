//! What this node leases: what it has handlers for, what its build has not refused, and one crash suspect at a time.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{
    Abilities, Ability, Handlers, InstanceLease, NodeAnnouncement, PinRange, ServedTags, Serving, Suspicion,
};

use crate::problem_policy::{ProblemPolicies, ProblemPolicy};
use crate::registry::{ActivityRegistry, OrchestrationRegistry};
use crate::settings::Settings;
use crate::suspects::{ANOTHER_SUSPECT, Pending, SuspectAdmission, Suspects};

/// What one lease call asks for.
#[derive(Debug, Clone)]
pub(crate) struct LeaseCall {
    pub(crate) limit: usize,
    /// How long it waits in the store.
    pub(crate) wait: Duration,
    /// What it takes; everything, if that is not said.
    pub(crate) serving: Option<Serving>,
}

/// What this node leases.
#[derive(Debug)]
pub(crate) struct NodeServing {
    pub(crate) announcement: NodeAnnouncement,
    /// What the announcement says, in a form that can be asked.
    served: Handlers,
    /// `None` takes everything, as the reference does.
    handlers: Option<Arc<Handlers>>,
    pub(crate) suspects: Suspects,
}

impl NodeServing {
    pub(crate) fn new(
        id: String,
        abilities: Abilities,
        settings: &Settings,
        orchestrations: &OrchestrationRegistry,
        activities: &ActivityRegistry,
    ) -> Self {
        let announcement = NodeAnnouncement {
            id,
            build: settings.build_id.clone(),
            orchestrations: orchestrations.served(),
            activities: activities.served().into_iter().map(|served| served.name).collect(),
            orchestration_slots: settings.orchestration_concurrency,
            worker_slots: settings.worker_concurrency,
            pins: vec![PinRange::of(&settings.supported_replay_versions)],
            tags: ServedTags::of(&settings.worker_tag_filter),
        };
        // A store that cannot tell nodes apart hands out everything, suspects included: there is nothing to choose.
        let is_heard = abilities.has(Ability::Serving);
        let handlers = handlers_of(&announcement, settings.problem_policies).filter(|_| is_heard);
        let handlers = handlers.map(Arc::new);
        Self { served: announcement.handlers(), announcement, handlers, suspects: Suspects::default() }
    }

    /// Whether this node has the code of an orchestration.
    pub(crate) fn has_orchestration(&self, name: &str, version: &str) -> bool {
        self.served.have_orchestration(name, version)
    }

    /// Whether lease calls also take what this build has refused, because they do not say what the node serves.
    pub(crate) const fn takes_refused(&self) -> bool {
        self.handlers.is_none()
    }

    /// A lease call for up to `limit`, which may wait in the store for `longest`. It takes a suspect if it is
    /// pending as one that may bring one.
    pub(crate) fn call(&self, limit: usize, longest: Duration, suspects: Option<&Pending>) -> LeaseCall {
        let takes_suspect = suspects.is_some();
        let serving =
            self.handlers.as_ref().map(|handlers| Serving { handlers: Arc::clone(handlers), takes_suspect });
        let notices_room = takes_suspect || serving.is_none();
        let wait = if notices_room { longest } else { longest.min(ANOTHER_SUSPECT) };
        LeaseCall { limit, wait, serving }
    }

    /// What the node can run, for calls that take no suspect.
    pub(crate) fn request_without_suspects(&self) -> Option<Serving> {
        let handlers = Arc::clone(self.handlers.as_ref()?);
        Some(Serving { handlers, takes_suspect: false })
    }

    /// Whether the node may run a turn now.
    pub(crate) fn admit_turn(&self, lease: &InstanceLease) -> SuspectAdmission {
        self.admit(lease.suspicion())
    }

    /// Whether the node may run an activity now that was leased this often.
    pub(crate) fn admit_activity(&self, attempt: u32) -> SuspectAdmission {
        self.admit(Suspicion::after(attempt.saturating_sub(1)))
    }

    fn admit(&self, suspicion: Suspicion) -> SuspectAdmission {
        if self.handlers.is_none() {
            SuspectAdmission::Admitted(None)
        } else {
            self.suspects.admit(suspicion)
        }
    }
}

fn handlers_of(announcement: &NodeAnnouncement, policies: ProblemPolicies) -> Option<Handlers> {
    if policies.all_fail() {
        return None;
    }
    let handlers = announcement.handlers();
    match policies.missing {
        ProblemPolicy::Block => Some(handlers),
        // The reference leases everything, and counts what it has no code for.
        ProblemPolicy::Fail => Some(Handlers { orchestrations: None, activities: None, ..handlers }),
    }
}
