//! What this node leases: what it has handlers for, what its build has not refused, and one crash suspect at a time.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{
    Abilities, Ability, Handlers, InstanceLease, NodeAnnouncement, PinRange, Serving, Suspicion,
};

use crate::problem_policy::{ProblemPolicies, ProblemPolicy};
use crate::registry::{ActivityRegistry, OrchestrationRegistry};
use crate::settings::Settings;
use crate::suspects::{ANOTHER_SUSPECT, SuspectAdmission, Suspects};

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

    /// What the next lease call takes.
    pub(crate) fn request(&self) -> Option<Serving> {
        let handlers = Arc::clone(self.handlers.as_ref()?);
        Some(Serving { handlers, takes_suspect: self.has_room_for_suspect() })
    }

    /// The same for the lease that comes with a commit.
    pub(crate) fn request_without_suspects(&self) -> Option<Serving> {
        let handlers = Arc::clone(self.handlers.as_ref()?);
        Some(Serving { handlers, takes_suspect: false })
    }

    fn has_room_for_suspect(&self) -> bool {
        self.handlers.is_none() || self.suspects.has_room()
    }

    /// How long a lease call waits in the store that would wait for `long`.
    pub(crate) fn patience(&self, long: Duration) -> Duration {
        if self.has_room_for_suspect() { long } else { long.min(ANOTHER_SUSPECT) }
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
