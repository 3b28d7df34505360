//! The rules of deletion, once more: what the model would say to a deletion without doing it.

use abide_memory::InMemoryProvider;
use abide_provider::{AdminRefusal, ExecutionInfo, Force, ProviderAdmin as _};
use futures::executor::block_on;

/// Looks at the model and never changes it.
#[derive(Clone, Copy)]
pub(crate) struct Family<'a>(pub(crate) &'a InMemoryProvider);

impl Family<'_> {
    pub(crate) fn status(self, id: &str) -> Option<String> {
        block_on(self.0.get_instance_info(id)).ok().map(|info| info.status)
    }

    pub(crate) fn is_instance(self, id: &str) -> bool {
        self.status(id).is_some()
    }

    pub(crate) fn parent(self, id: &str) -> Option<String> {
        block_on(self.0.get_parent_id(id)).ok().flatten()
    }

    pub(crate) fn tree(self, id: &str) -> Vec<String> {
        block_on(self.0.get_instance_tree(id)).unwrap().all_ids
    }

    /// Whether nothing will go on: it ended, and not in order to continue.
    pub(crate) fn is_finished(self, id: &str) -> bool {
        match self.status(id).as_deref() {
            Some("Completed" | "Failed") => true,
            Some("ContinuedAsNew") => !self.has_mail(id, &["ContinueAsNew"]),
            Some(_) | None => false,
        }
    }

    /// Whether something will start it that is not there.
    pub(crate) fn is_about_to_start(self, id: &str) -> bool {
        self.has_mail(id, &["Start", "ContinueAsNew"])
    }

    fn has_mail(self, id: &str, classes: &[&str]) -> bool {
        let dump = self.0.dump();
        let mut mail = dump.messages.values().filter(|message| message.mailbox == id);
        mail.any(|message| classes.contains(&message.class.as_str()))
    }

    /// When it completed or failed.
    pub(crate) fn ended(self, id: &str) -> Option<u64> {
        let info = block_on(self.0.get_instance_info(id)).ok()?;
        if info.status != "Completed" && info.status != "Failed" {
            return None;
        }
        self.execution(id, info.current_execution_id)?.completed_at
    }

    pub(crate) fn execution(self, id: &str, number: u64) -> Option<ExecutionInfo> {
        block_on(self.0.get_execution_info(id, number)).ok()
    }

    /// Why a root would not be deleted.
    pub(crate) fn refusal_of_root(self, id: &str, force: Force) -> Option<AdminRefusal> {
        if !self.is_instance(id) {
            return Some(AdminRefusal::not_found(id));
        }
        if self.parent(id).is_some() {
            return Some(AdminRefusal::IsChild { instance: id.to_owned() });
        }
        self.refusal_of_set(&self.tree(id), force)
    }

    /// Why these would not be deleted.
    pub(crate) fn refusal_of_set(self, ids: &[String], force: Force) -> Option<AdminRefusal> {
        let mut existing = ids.iter().filter(|id| self.is_instance(id));
        if force == Force::No
            && let Some(running) = existing.clone().find(|id| !self.is_finished(id))
        {
            return Some(AdminRefusal::Running { instance: running.clone() });
        }
        existing.find_map(|parent| {
            let children = block_on(self.0.list_children(parent)).unwrap();
            let child = children.into_iter().find(|child| !ids.contains(child))?;
            Some(AdminRefusal::ChildLeftBehind { parent: parent.clone(), child })
        })
    }
}
