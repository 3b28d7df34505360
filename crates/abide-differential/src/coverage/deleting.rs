//! Situations of deleting, and of what is tried afterwards.

use std::collections::BTreeSet;

use abide_memory::Dump;
use abide_memory::dump::{InstanceDump, MessageDump};
use abide_model::WorkItem;
use abide_provider::{Force, Lane};

use super::{Coverage, Scene};
use crate::admin::DeleteOp;
use crate::op::{InstanceOp, Op, Token, WorkOp};

impl Coverage {
    pub(super) fn delete(&mut self, op: &DeleteOp, scene: Scene<'_>) {
        match op {
            DeleteOp::One { instance, force } => {
                self.note("a root was deleted", scene.is_done());
                self.note("a child was not deleted alone", scene.is_refused_as("sub-orchestration"));
                self.note("nobody was not deleted", scene.is_refused_as("not found"));
                let is_child = scene.before.is_child(instance);
                self.note("a child was not deleted alone, even by force", *force == Force::Yes && is_child);
                self.refused(scene);
            }
            DeleteOp::Set { ids, force } => {
                self.set(ids, *force, scene);
                self.refused(scene);
            }
            DeleteOp::Bulk(filter) => self.bulk(filter, scene),
            DeleteOp::Orphans(filter) => self.orphans(filter, scene),
            DeleteOp::Retention(retention) => self.retention(*retention, scene),
            DeleteOp::Prune { instance, .. } => self.pruned(instance, scene),
            DeleteOp::PruneBulk { filter, options } => self.pruned_in_bulk(filter, options, scene),
        }
        self.gone(scene);
    }

    fn set(&mut self, ids: &[String], force: Force, scene: Scene<'_>) {
        let Scene { before, .. } = scene;
        let gone = scene.gone();
        let distinct: BTreeSet<&String> = ids.iter().collect();
        let is_mailbox = |id: &&String| before.instances.get(*id).is_some_and(|found| !found.is_instance);
        let mailboxes = ids.iter().filter(is_mailbox).count();
        self.note("a set was deleted", scene.is_done() && gone.len() > 1);
        self.note("an instance was named twice", scene.is_done() && distinct.len() < ids.len());
        self.note("nobody was passed over", scene.is_done() && gone.is_empty() && !ids.is_empty());
        self.note("a mere mailbox was passed over", scene.is_done() && force == Force::No && mailboxes > 0);
        self.note(
            "a mere mailbox was deleted by force",
            scene.is_done() && force == Force::Yes && mailboxes > 0,
        );
        let parent_stays = |name: &&String| {
            let parent = before.instances[*name].parent.as_ref();
            parent.is_some_and(|(parent, ..)| before.is_instance(parent) && !gone.contains(&parent))
        };
        self.note("a child was deleted without its parent", gone.iter().any(parent_stays));
        let left_behind = scene.is_refused_as("created after tree traversal");
        self.note("a set without a child was refused", left_behind);
        self.note("a set without a child was refused, even by force", left_behind && force == Force::Yes);
    }

    fn refused(&mut self, scene: Scene<'_>) {
        let running = scene.is_refused_as("is still running");
        let is_between = |(name, instance): (&String, &InstanceDump)| {
            instance.status.as_deref() == Some("ContinuedAsNew")
                && scene.is_refused_as(&format!("Instance {name} is still"))
        };
        self.note("what runs was not deleted", running);
        self.note("the gap between two executions kept an instance", {
            running && scene.before.instances.iter().any(is_between)
        });
    }

    /// What goes with an instance.
    fn gone(&mut self, scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let gone = scene.gone();
        if gone.is_empty() {
            return;
        }
        let any = |is: &dyn Fn(&InstanceDump) -> bool| gone.iter().any(|name| is(&before.instances[*name]));
        self.note("what ran was deleted", any(&|instance| instance.status.as_deref() == Some("Running")));
        self.note("a leased instance was deleted", any(&|instance| instance.leased_until.is_some()));
        let is_over = |instance: &InstanceDump| instance.status.as_deref() == Some("ContinuedAsNew");
        self.note("one that continued as nothing was deleted", {
            gone.iter().any(|name| is_over(&before.instances[*name]) && before.is_finished(name))
        });
        let depth = gone.iter().map(|name| before.depth_below(name, &gone)).max();
        self.note("children were deleted with their parent", depth >= Some(2));
        self.note("grandchildren were deleted with their root", depth >= Some(3));
        let has = |name: &&String, holder: &String| *name == holder;
        let mut with_mail = before.messages.values();
        self.note("mail was deleted", with_mail.any(|mail| gone.iter().any(|name| has(name, &mail.mailbox))));
        let mut with_work = before.work.values();
        self.note(
            "work was deleted",
            with_work.any(|work| gone.iter().any(|name| has(name, &work.instance))),
        );
        let mut keys = before.kv_store.keys().chain(before.kv_delta.keys());
        self.note("values were deleted", keys.any(|(owner, _)| gone.iter().any(|name| has(name, owner))));
        self.note("a custom status was deleted", any(&|instance| instance.custom_status.is_some()));
        self.note("several executions were deleted", {
            gone.iter().any(|name| before.executions.keys().filter(|(owner, _)| owner == *name).count() > 1)
        });
        self.note("dead letters went with their instance", after.dead_letters < before.dead_letters);
        let told = scene.done.stolen.iter().any(|stolen| stolen.contains("InstanceDeleted"));
        self.note("a holder was told of a deleted instance", told);
        self.unborn(&gone, scene);
    }

    fn unborn(&mut self, gone: &[&String], scene: Scene<'_>) {
        let Scene { before, after, .. } = scene;
        let is_unborn = |(number, message): &(&u64, &MessageDump)| {
            !after.messages.contains_key(*number)
                && !gone.contains(&&message.mailbox)
                && parent_of(message).is_some_and(|parent| gone.contains(&&parent))
        };
        let unborn: Vec<_> = before.messages.iter().filter(is_unborn).collect();
        let is_leased = |number: u64, message: &MessageDump| {
            let mailbox = before.instances.get(&message.mailbox);
            mailbox.is_some_and(|mailbox| !mailbox.is_instance && mailbox.batch.contains(&number))
        };
        let leased = unborn.iter().any(|(number, message)| is_leased(**number, message));
        self.note("an unborn child went with its parent", !unborn.is_empty());
        self.note("an unborn child was leased when its parent went", leased);
        let is_instance = |message: &MessageDump| before.is_instance(&message.mailbox);
        let at_instances = unborn.iter().any(|(_, message)| is_instance(message));
        self.note("an instance lost the start of a deleted parent", at_instances);
        let bereft = |message: &MessageDump| unborn.iter().any(|(_, start)| start.mailbox == message.mailbox);
        let unread = before.messages.iter().any(|(number, message)| {
            message.class == "Queue" && !after.messages.contains_key(number) && bereft(message)
        });
        self.note("queue messages went with the start they waited for", unread);
        let stays = |start: &MessageDump| {
            after.messages.values().any(|mail| mail.mailbox == start.mailbox && mail.class == "Start")
        };
        let another = unborn.iter().any(|(_, start)| !is_instance(start) && stays(start));
        self.note("an unborn child was started by somebody else too", another);
    }

    /// What is tried with the leases of what was deleted.
    pub(super) fn tokens_of_the_deleted(&mut self, op: &Op, scene: Scene<'_>) {
        let tokens = op.tokens();
        let [Token::Issued(order)] = tokens.as_slice() else { return };
        let issued = &scene.world.issued[*order];
        let now = scene.before.instances.get(&issued.memory.instance);
        let is_gone = now.is_none_or(|mailbox| mailbox.incarnation != issued.incarnation);
        let is_lost = scene.is_refused() && is_gone;
        let is_back = is_lost && now.is_some_and(|mailbox| mailbox.is_instance);
        let is_leased = is_lost && now.is_some_and(|mailbox| mailbox.leased_until.is_some());
        let is_same_work = scene.before.work.values().any(|work| issued.is_for(work) && is_lost);
        match (op, issued.memory.lane) {
            (Op::Instance(InstanceOp::Ack { .. } | InstanceOp::Commit(_)), Lane::Instances) => {
                self.note("a turn of the deleted was refused", is_lost);
                self.note("a turn of the deleted and started again was refused", is_back);
                self.note("a turn of the deleted and leased again was refused", is_leased);
            }
            (Op::Work(WorkOp::Ack { .. } | WorkOp::Finish(_)), Lane::Work) => {
                self.note("work of the deleted was not finished", is_lost);
                self.note("work of the deleted and started again was not finished", is_back);
                self.note("work of the deleted was not finished, the same work is there", is_same_work);
            }
            (Op::Instance(InstanceOp::Commit(_)), Lane::Work) => {
                self.note("a fused step of the deleted was refused", is_lost);
            }
            _ => {}
        }
    }
}

/// Whose child a start brings to life.
fn parent_of(message: &MessageDump) -> Option<String> {
    match serde_json::from_str(&message.json) {
        Ok(WorkItem::StartOrchestration { parent_instance, .. }) => parent_instance,
        Ok(_) | Err(_) => None,
    }
}

impl Scene<'_> {
    /// The instances that the step deleted.
    pub(super) fn gone(&self) -> Vec<&String> {
        let names = self.before.instances.keys();
        names.filter(|name| self.before.is_instance(name) && !self.after.is_instance(name)).collect()
    }
}

/// What the rules of deletion ask about a state.
pub(super) trait Family {
    fn is_instance(&self, name: &str) -> bool;
    fn is_child(&self, name: &str) -> bool;
    fn is_finished(&self, name: &str) -> bool;
    /// When it completed or failed.
    fn ended(&self, name: &str) -> Option<u64>;
    fn children(&self, name: &str) -> Vec<&String>;
    /// How many levels of these there are, from this one down.
    fn depth_below(&self, name: &str, among: &[&String]) -> usize;
    /// Everything below an instance, links that form a ring followed once.
    fn below(&self, name: &str) -> Vec<&String>;
}

impl Family for Dump {
    fn is_instance(&self, name: &str) -> bool {
        self.instances.get(name).is_some_and(|instance| instance.is_instance)
    }

    fn is_child(&self, name: &str) -> bool {
        self.instances.get(name).is_some_and(|instance| instance.parent.is_some())
    }

    fn is_finished(&self, name: &str) -> bool {
        match self.instances.get(name).and_then(|instance| instance.status.as_deref()) {
            Some("Completed" | "Failed") => true,
            Some("ContinuedAsNew") => {
                let mut mail = self.messages.values().filter(|message| message.mailbox == name);
                mail.all(|message| message.class != "ContinueAsNew")
            }
            Some(_) | None => false,
        }
    }

    fn ended(&self, name: &str) -> Option<u64> {
        let instance = self.instances.get(name)?;
        let execution = self.executions.get(&(name.to_owned(), instance.execution))?;
        matches!(execution.status.as_str(), "Completed" | "Failed").then_some(execution.completed?)
    }

    fn children(&self, name: &str) -> Vec<&String> {
        let is_child = |(_, instance): &(&String, &InstanceDump)| {
            instance.parent.as_ref().is_some_and(|(parent, ..)| parent == name)
        };
        self.instances.iter().filter(is_child).map(|(child, _)| child).collect()
    }

    fn depth_below(&self, name: &str, among: &[&String]) -> usize {
        let rest: Vec<&String> = among.iter().copied().filter(|other| *other != name).collect();
        let children = self.children(name).into_iter().filter(|child| rest.contains(child));
        1 + children.map(|child| self.depth_below(child, &rest)).max().unwrap_or(0)
    }

    fn below(&self, name: &str) -> Vec<&String> {
        let mut all: Vec<&String> = Vec::new();
        let mut next = self.children(name);
        while let Some(child) = next.pop() {
            if child != name && !all.contains(&child) {
                all.push(child);
                next.extend(self.children(child));
            }
        }
        all
    }
}
