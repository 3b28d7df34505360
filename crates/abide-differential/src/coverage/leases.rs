//! Situations of leasing, and of finishing work.

use abide_memory::dump::WorkDump;
use abide_model::WorkItem;
use abide_provider::{DispatcherCapabilityFilter, SessionFetchConfig, TagFilter};

use super::{Coverage, Scene};

/// What damaged rows hold.
const DAMAGED: &str = "{";

impl Coverage {
    pub(super) fn leased_instances(
        &mut self,
        capabilities: Option<&DispatcherCapabilityFilter>,
        scene: Scene<'_>,
    ) {
        let Scene { before, after, done, .. } = scene;
        let leases = &done.memory.leases;
        self.note("several instances were leased at once", leases.len() > 1);
        let mut lent = leases.iter().filter_map(|handed| handed.lease.as_ref());
        self.note("mail was leased again", lent.clone().any(|lease| lease.attempt > 1));
        let goes_ahead = lent.clone().any(|lease| !lease.messages.is_sorted_by_key(|message| message.id));
        self.note("a start was handed out before older mail", goes_ahead);
        let continued = |lease: &abide_provider::InstanceLease| {
            lease.position.execution_id > 0
                && matches!(lease.messages[0].item, WorkItem::ContinueAsNew { .. })
                && lease.messages.len() > 1
        };
        self.note("a continue-as-new was handed out with other mail", lent.any(continued));
        self.note(
            "an instance was fetched whose history is damaged",
            scene.answer().contains("damaged true"),
        );
        let set_aside = before.messages.iter().any(|(number, message)| {
            message.json == DAMAGED
                && after.messages.get(number).is_some_and(|now| now.attempts > message.attempts)
        });
        self.note("a damaged message was set aside", set_aside);
        self.note("a damaged message was buried", after.dead_letters > before.dead_letters);
        if let Some(filter) = capabilities {
            self.filtered(filter, scene);
        }
    }

    fn filtered(&mut self, filter: &DispatcherCapabilityFilter, scene: Scene<'_>) {
        let Scene { before, after, done, world } = scene;
        let passes = |pin: &str| filter.is_compatible(&pin.parse().unwrap());
        let pin_of = |name: &str| before.instances.get(name).and_then(|instance| instance.pin.as_deref());
        let names = done.memory.leases.iter().map(|handed| handed.instance.as_str());
        self.note("a pinned instance passed", names.filter_map(pin_of).any(passes));
        let withheld = after.instances.iter().any(|(name, instance)| {
            instance.leased_until.is_none()
                && instance.pin.as_deref().is_some_and(|pin| !passes(pin))
                && world.has_visible_mail(name)
        });
        let is_empty = filter.supported_duroxide_versions.is_empty();
        self.note("a pinned instance did not pass", withheld && !is_empty);
        self.note("nothing passes no range", is_empty && done.memory.leases.is_empty());
    }

    pub(super) fn leased_work(
        &mut self,
        session: Option<&SessionFetchConfig>,
        tags: &TagFilter,
        scene: Scene<'_>,
    ) {
        let Scene { before, after, done, world } = scene;
        self.note("several activities were leased at once", done.memory.leases.len() > 1);
        let free = |work: &WorkDump| work.leased_until.is_none() && work.visible_at.is_none();
        let taken = |(number, work): &(&u64, &WorkDump)| {
            free(work) && after.work.get(number).is_some_and(|now| now.attempts > work.attempts)
        };
        let mut taken = before.work.iter().filter(taken);
        self.note("work was leased again", taken.clone().any(|(_, work)| work.attempts > 0));
        self.note("work with a tag was leased", taken.any(|(_, work)| work.tag.is_some()));
        let unwanted = after.work.values().any(|work| free(work) && !tags.matches(work.tag.as_deref()));
        self.note("work with another tag stayed", unwanted);
        self.note("work of a session stayed", {
            let of_session = |work: &WorkDump| free(work) && work.session.is_some();
            session.is_none() && after.work.values().any(of_session)
        });
        let set_aside = |(number, work): (&u64, &WorkDump)| {
            work.json == DAMAGED
                && free(work)
                && after.work.get(number).is_none_or(|now| now.visible_at.is_some())
        };
        self.note("damaged work was set aside", before.work.iter().any(set_aside));
        self.note("damaged work was buried", after.dead_letters > before.dead_letters);
        if let Some(config) = session {
            let is_locked = |name: &String| {
                let session = before.sessions.get(name);
                session.is_some_and(|session| {
                    session.locked_until > world.now && session.owner != config.owner_id
                })
            };
            let withheld = |work: &WorkDump| free(work) && work.session.as_ref().is_some_and(is_locked);
            self.note("a locked session was withheld", after.work.values().any(withheld));
            self.claimed(scene);
        }
    }

    fn claimed(&mut self, Scene { before, after, world, .. }: Scene<'_>) {
        let claimed = |name: &String| after.sessions.get(name) != before.sessions.get(name);
        let new = |name: &String| claimed(name) && !before.sessions.contains_key(name);
        self.note("a session was claimed", after.sessions.keys().any(new));
        let inherited = before.sessions.iter().any(|(name, session)| {
            session.locked_until <= world.now && after.sessions[name].owner != session.owner
        });
        self.note("a session was claimed whose lock had ended", inherited);
        let kept = before.sessions.iter().any(|(name, session)| {
            session.locked_until > world.now && claimed(name) && after.sessions[name].owner == session.owner
        });
        self.note("a session was claimed again by its owner", kept);
    }

    pub(super) fn finished(&mut self, completion: Option<&WorkItem>, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let completes =
            matches!(completion, Some(WorkItem::ActivityCompleted { .. } | WorkItem::ActivityFailed { .. }));
        let told = after.messages.len() > before.messages.len();
        self.note("work was finished", scene.is_done() && told);
        self.note("work was finished without a word", scene.is_done() && completion.is_none());
        self.note("finished work used its session", before.sessions != after.sessions);
        let wrong_kind = completion.is_some() && !completes;
        self.note("what completes nothing was refused", scene.is_refused_as("Invalid") && wrong_kind);
        let elsewhere = completes && scene.is_refused_as("Invalid");
        self.note("a completion for another instance was refused", elsewhere);
        self.note("work could not be finished", scene.is_refused_as("LeaseLost"));
    }
}
