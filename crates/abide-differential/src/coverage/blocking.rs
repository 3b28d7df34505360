//! Situations of nodes that serve, refuse and crash.

use abide_memory::dump::{InstanceDump, WorkDump};
use abide_provider::{Lane, SUSPECT_AFTER, Serving};

use super::{Coverage, Scene};
use crate::op::BlockOp;

impl Coverage {
    pub(super) fn leased_by_a_node(&mut self, serving: Option<&Serving>, scene: Scene<'_>) {
        let Scene { before, after, done, world } = scene;
        let leases: Vec<_> = done.memory.leases.iter().filter_map(|handed| handed.lease.as_ref()).collect();
        let was = |name: &str| before.instances.get(name);
        let refused = leases.iter().filter_map(|lease| lease.refused.as_deref()).collect::<Vec<_>>();
        self.note("a lease told of a block", refused.iter().any(|refused| refused.block.is_some()));
        self.note(
            "a lease told of refusals after a healing",
            refused.iter().any(|refused| refused.block.is_none()),
        );
        let is_closed = |instance: &InstanceDump| !instance.refused_by.is_empty() && !instance.is_open;
        let withheld = |wanted: fn(&InstanceDump) -> bool| {
            after.instances.iter().any(|(name, instance)| {
                instance.leased_until.is_none() && wanted(instance) && world.has_visible_mail(name)
            })
        };
        self.note(
            "an instance stayed that all builds refused",
            withheld(|instance| instance.refused_by == ["*"]),
        );
        let Some(serving) = serving else { return };
        let build = &serving.handlers.build;
        let reopened = |instance: &InstanceDump| instance.is_open && instance.refused_by.contains(build);
        let names = || leases.iter().filter_map(|lease| was(&lease.instance));
        self.note("a build tried again what it had refused", names().any(reopened));
        let by_others = |instance: &InstanceDump| {
            is_closed(instance) && instance.refused_by != ["*"] && !instance.refused_by.contains(build)
        };
        self.note("a build took what others had refused", names().any(by_others));
        let stays = |instance: &InstanceDump| {
            instance.leased_until.is_none() && is_closed(instance) && instance.refused_by.contains(build)
        };
        let stayed = after.instances.iter().any(|(name, found)| stays(found) && world.has_visible_mail(name));
        self.note("an instance stayed that this build had refused", stayed);
        let has_cancel = |name: &str| {
            let mut mail = before.messages.values().filter(|message| message.mailbox == name);
            mail.any(|message| message.class == "Cancel" && message.visible_at.is_none())
        };
        let runs = |lease: &abide_provider::InstanceLease| {
            serving.handlers.have_orchestration(&lease.orchestration_name, &lease.orchestration_version)
        };
        let is_running =
            |name: &str| was(name).is_some_and(|found| found.status.as_deref() == Some("Running"));
        let mut canceled =
            leases.iter().filter(|lease| has_cancel(&lease.instance) && is_running(&lease.instance));
        self.note("a cancel reached what a node has no code for", canceled.clone().any(|lease| !runs(lease)));
        let is_blocked = |name: &str| was(name).is_some_and(is_closed);
        self.note("a cancel reached what is blocked", canceled.any(|lease| is_blocked(&lease.instance)));
        let unserved = after.instances.iter().any(|(name, instance)| {
            instance.status.as_deref() == Some("Running")
                && instance.leased_until.is_none()
                && world.has_visible_mail(name)
                && !serving.handlers.have_orchestration(&instance.name, &instance.version)
        });
        self.note("an instance stayed that the node has no code for", unserved);
        let suspects = leases.iter().filter(|lease| lease.attempt > SUSPECT_AFTER).count();
        self.note("a suspect was leased", suspects > 0 && serving.takes_suspect);
        let waits = |name: &str| {
            let mut mail = after.messages.values().filter(|message| message.mailbox == name);
            mail.next().is_some_and(|first| first.attempts >= SUSPECT_AFTER && first.visible_at.is_none())
        };
        let stays = after.instances.iter().any(|(name, found)| found.leased_until.is_none() && waits(name));
        self.note("a suspect stayed", stays && !serving.takes_suspect);
        self.note("a second suspect stayed", stays && suspects > 0);
    }

    pub(super) fn work_leased_by_a_node(&mut self, serving: Option<&Serving>, scene: Scene<'_>) {
        let Scene { before, after, done, .. } = scene;
        let is_free = |work: &WorkDump| work.leased_until.is_none() && work.visible_at.is_none();
        self.note("held work stayed", after.work.values().any(|work| work.is_held));
        let Some(serving) = serving else { return };
        let stays = |is_meant: &dyn Fn(&WorkDump) -> bool| {
            after.work.values().any(|work| is_free(work) && !work.is_held && is_meant(work))
        };
        let is_served = |work: &WorkDump| {
            let name = serde_json::from_str::<serde_json::Value>(&work.json).ok();
            let name = name.as_ref().and_then(|item| item["ActivityExecute"]["name"].as_str());
            name.is_none_or(|name| serving.handlers.have_activity(name))
        };
        self.note("work stayed that the node has no code for", stays(&|work| !is_served(work)));
        let is_suspect = |work: &WorkDump| work.attempts >= SUSPECT_AFTER;
        self.note("suspect work stayed", stays(&is_suspect) && !serving.takes_suspect);
        let taken = |(number, work): (&u64, &WorkDump)| {
            let is_leased = || after.work.get(number).is_some_and(|now| now.leased_until.is_some());
            is_suspect(work) && work.leased_until.is_none() && is_leased()
        };
        let is_taken = before.work.iter().any(taken) && !done.memory.leases.is_empty();
        self.note("suspect work was leased", is_taken && serving.takes_suspect);
    }

    /// What commits do to blocks and refusals.
    pub(super) fn healed(&mut self, Scene { before, after, .. }: Scene<'_>) {
        let changed = |is_meant: fn(&InstanceDump, &InstanceDump) -> bool| {
            before
                .instances
                .iter()
                .any(|(name, was)| after.instances.get(name).is_some_and(|is| is_meant(was, is)))
        };
        let healed =
            changed(|was, is| was.block.is_some() && is.block.is_none() && !is.refused_by.is_empty());
        self.note("a commit ended a block and kept the refusals", healed);
        let forgot = changed(|was, is| !was.refused_by.is_empty() && is.refused_by.is_empty());
        self.note("a commit forgot refusals", forgot);
        let waits =
            changed(|was, is| was.retry_at.is_some() && is.retry_at.is_none() && !is.refused_by.is_empty());
        self.note("the clock of a retry was stopped", waits);
    }

    pub(super) fn block(&mut self, op: &BlockOp, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        match op {
            BlockOp::Block { retry_after, .. } => {
                let blocked = |instance: &InstanceDump| instance.block.is_some();
                let fresh = |(name, found): (&String, &InstanceDump)| {
                    blocked(found) && !before.instances.get(name).is_some_and(blocked)
                };
                self.note("an instance was blocked", after.instances.iter().any(fresh));
                let again = before.instances.values().any(blocked) && scene.is_done();
                self.note("a blocked instance was blocked again", again);
                self.note("an instance was quarantined", scene.is_done() && retry_after.is_none());
                let unborn = after.instances.values().any(|found| blocked(found) && !found.is_instance);
                self.note("a start was blocked", unborn && scene.is_done());
                let is_full = |found: &InstanceDump| found.refused_by == ["*"] && found.retry_at.is_some();
                self.note("too many builds refused", after.instances.values().any(is_full));
                self.note("a block without a lease was refused", scene.is_refused_as("LeaseLost"));
            }
            BlockOp::Hold { .. } => {
                self.note("work was held", scene.is_done());
                let of_session = |work: &WorkDump| work.is_held && work.session.is_some();
                self.note(
                    "work of a session was held",
                    scene.is_done() && after.work.values().any(of_session),
                );
                self.note("a hold without a lease was refused", scene.is_refused_as("LeaseLost"));
            }
            BlockOp::Begin { lane, .. } => {
                let counted = before.work.iter().any(|(number, work)| {
                    after.work.get(number).is_some_and(|now| now.attempts > work.attempts)
                });
                self.note("a suspect activity began", counted);
                self.note("an instance began", *lane == Lane::Instances && scene.is_done());
                self.note("nothing began without a lease", scene.is_refused_as("LeaseLost"));
            }
            BlockOp::Revoke { limit, .. } => self.revoked(*limit, scene),
            BlockOp::Retry { instance } => {
                let was_held = before.work.values().any(|work| work.is_held && work.instance == *instance);
                self.note("held work is tried again", was_held);
                let found = before.instances.get(instance);
                self.note("a block was forgotten", found.is_some_and(|found| found.block.is_some()));
                let leased =
                    found.is_some_and(|found| found.leased_until.is_some() && !found.refused_by.is_empty());
                self.note("refusals were forgotten under a lease", leased);
                self.note("there was nothing to try again", scene.answer() == "Ok(false)");
            }
            BlockOp::Read { .. } => {
                self.note("a block was read", scene.answer().contains("holds_activity: false"));
                self.note("a hold was read", scene.answer().contains("holds_activity: true"));
            }
            BlockOp::List { .. } => {
                self.note("blocks were listed", scene.answer().matches("BlockedInstance").count() > 1);
            }
            BlockOp::Count => {
                self.note("blocks were counted", scene.answer().contains("Some(BlockedInstance"));
            }
            BlockOp::Nodes => {
                self.note("nodes were listed", scene.answer().contains("NodeAnnouncement"));
            }
            BlockOp::Announce { .. } | BlockOp::Forget { .. } => {}
        }
    }

    fn revoked(&mut self, limit: u32, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let gone = || before.work.iter().filter(|(number, _)| !after.work.contains_key(number));
        self.note("work of an execution was taken back", gone().count() > 1);
        let is_leased = |work: &WorkDump| work.leased_until.is_some();
        self.note("leased work of an execution was taken back", gone().any(|(_, work)| is_leased(work)));
        let of_session = |work: &WorkDump| work.session.is_some();
        self.note(
            "work of a session was taken back with its execution",
            gone().any(|(_, work)| of_session(work)),
        );
        let stays = |work: &WorkDump| gone().any(|(_, gone)| gone.instance == work.instance);
        self.note(
            "some work of an execution was left for the next call",
            limit > 0 && after.work.values().any(stays),
        );
        self.note("taking work back without a lease was refused", scene.is_refused_as("LeaseLost"));
    }
}
