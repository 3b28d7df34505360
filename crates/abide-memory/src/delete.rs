//! Deleting instances with everything they have.

use std::collections::BTreeSet;

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::rows::MessageClass;
use abide_provider::{AdminRefusal, DeleteInstanceResult, Force, StolenBecause};

use crate::overview::count;
use crate::state::{Mailbox, Message, State};

impl State {
    /// The children of an instance, in the order of their creation.
    pub(crate) fn children(&self, id: &str) -> Vec<String> {
        let mut children: Vec<_> =
            self.instances().filter(|named| named.instance.parent_id() == Some(id)).collect();
        children.sort_by_key(|named| (named.instance.created, named.incarnation));
        children.into_iter().map(|named| named.id.to_owned()).collect()
    }

    /// An instance and everything below it, parents before children.
    pub(crate) fn tree(&self, id: &str) -> Vec<String> {
        let mut all = vec![id.to_owned()];
        let mut next = 0;
        while let Some(parent) = all.get(next) {
            let born: Vec<_> =
                self.children(parent).into_iter().filter(|child| !all.contains(child)).collect();
            all.extend(born);
            next += 1;
        }
        all
    }

    /// Whether nothing will happen any more unless somebody wants it: it ended, and not in order to go on.
    pub(crate) fn is_finished(&self, id: &str) -> bool {
        match self.instance(id).map(crate::state::Instance::status) {
            Some(ExecutionStatus::Completed | ExecutionStatus::Failed) => true,
            Some(ExecutionStatus::ContinuedAsNew) => {
                !self.mail_of(id).any(|(_, message)| message.class == MessageClass::ContinueAsNew)
            }
            Some(ExecutionStatus::Running) | None => false,
        }
    }

    /// Deletes these, if they may be deleted.
    pub(crate) fn delete_set(
        &mut self,
        ids: &[String],
        force: Force,
        now: Timestamp,
    ) -> Result<DeleteInstanceResult, AdminRefusal> {
        let meant: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        let existing: Vec<&String> = ids.iter().filter(|id| self.is_instance(id)).collect();
        if force == Force::No
            && let Some(running) = existing.iter().find(|id| !self.is_finished(id))
        {
            return Err(AdminRefusal::Running { instance: (*running).clone() });
        }
        for parent in &existing {
            if let Some(child) =
                self.children(parent).into_iter().find(|child| !meant.contains(child.as_str()))
            {
                return Err(AdminRefusal::ChildLeftBehind { parent: (*parent).clone(), child });
            }
        }
        let doomed = match force {
            Force::Yes => meant.into_iter().map(str::to_owned).collect(),
            Force::No => existing.into_iter().cloned().collect(),
        };
        Ok(self.erase(&doomed, now))
    }

    /// Deletes a root with everything below it.
    pub(crate) fn delete_root(
        &mut self,
        id: &str,
        force: Force,
        now: Timestamp,
    ) -> Result<DeleteInstanceResult, AdminRefusal> {
        if self.existing(id)?.parent.is_some() {
            return Err(AdminRefusal::IsChild { instance: id.to_owned() });
        }
        self.delete_set(&self.tree(id), force, now)
    }

    /// Deletes an instance with everything below it if all of that is finished; `None` if it is not.
    pub(crate) fn delete_finished(&mut self, id: &str, now: Timestamp) -> Option<DeleteInstanceResult> {
        let tree = self.tree(id);
        tree.iter().all(|id| self.is_finished(id)).then(|| self.erase(&tree.into_iter().collect(), now))
    }

    /// What it has goes with it: executions, mail, work, values, its lease, and children that were not yet born.
    fn erase(&mut self, doomed: &BTreeSet<String>, now: Timestamp) -> DeleteInstanceResult {
        let mut result = DeleteInstanceResult::default();
        for id in doomed {
            let mailbox = self.mailboxes.remove(id);
            self.waiting_for_start.remove(id);
            if let Some(instance) = mailbox.and_then(|mailbox| mailbox.instance) {
                self.has_changed(id);
                result.instances_deleted += 1;
                result.executions_deleted += count(instance.executions.len());
                let events = instance.executions.values().map(|execution| count(execution.events.len()));
                result.events_deleted += events.sum::<u64>();
            }
        }
        self.dead_letters.retain(|letter| !doomed.contains(&letter.mailbox));
        let before = self.messages.len() + self.work.len();
        let unborn = self.unborn_children(doomed);
        let bereft: BTreeSet<String> =
            unborn.iter().filter_map(|number| Some(self.messages.get(number)?.mailbox.clone())).collect();
        self.messages
            .retain(|number, message| !doomed.contains(&message.mailbox) && !unborn.contains(number));
        self.drop_unread(&bereft, now);
        self.end_turns_of(&unborn, now);
        self.steal_work(&StolenBecause::InstanceDeleted, now, |work| {
            doomed.contains(&work.activity.instance)
        });
        result.queue_messages_deleted = count(before - self.messages.len() - self.work.len());
        result
    }

    /// Starts in the queue of children whose parent is deleted: they would come to life as orphans.
    fn unborn_children(&self, doomed: &BTreeSet<String>) -> BTreeSet<u64> {
        let is_unborn = |message: &Message| {
            message.parent.as_ref().is_some_and(|parent| doomed.contains(&parent.instance))
        };
        self.messages.iter().filter(|(_, message)| is_unborn(message)).map(|(number, _)| *number).collect()
    }

    /// What only an instance can have asked for was kept because they would start, and so was what blocked
    /// them. The rest waits for another start.
    fn drop_unread(&mut self, bereft: &BTreeSet<String>, now: Timestamp) {
        for name in bereft {
            if !self.is_instance(name) && !self.is_about_to_start(name) {
                self.messages
                    .retain(|_, message| message.mailbox != *name || !message.class.needs_instance());
                self.settle_waiting(name, now);
            }
        }
    }

    /// A turn that is about to bring one of them to life is not to be committed.
    fn end_turns_of(&mut self, unborn: &BTreeSet<u64>, now: Timestamp) {
        let is_meant = |mailbox: &Mailbox| {
            let hold = mailbox.hold.as_ref().filter(|_| mailbox.instance.is_none());
            hold.is_some_and(|hold| hold.batch.iter().any(|number| unborn.contains(number)))
        };
        let about_to_live = self.mailboxes.iter().filter(|(_, mailbox)| is_meant(mailbox));
        let about_to_live: Vec<(String, bool)> =
            about_to_live.map(|(name, mailbox)| (name.clone(), mailbox.is_leased(now))).collect();
        for (name, is_leased) in about_to_live {
            if is_leased {
                self.release(&name);
            } else {
                self.void_lease(&name);
            }
        }
    }
}
