//! Blocking instances, holding activities, and trying them again.

use std::collections::BTreeMap;

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::{
    Block, BlockInstance, BlockKind, BlockedCounts, BlockedInstance, HoldWork, Refusals, RefusedExecution,
    cut_detail,
};

use crate::refusal::Refusal;
use crate::state::{Mailbox, Refused, State, Work};

impl State {
    pub(crate) fn block_instance(&mut self, block: BlockInstance, now: Timestamp) -> Result<(), Refusal> {
        let BlockInstance { token, kind, detail, build, event_id, retry_after } = block;
        let name = self.leased_with(&token, now)?;
        // Its turn came to an end: nothing crashed.
        for number in self.release(&name) {
            if let Some(message) = self.messages.get_mut(&number) {
                message.attempts = 0;
            }
        }
        let mailbox = self.mailbox_mut(&name);
        let execution = mailbox.next_execution();
        let before = mailbox.refused.take();
        // It is blocked since the first refusal, until it is healed.
        let still_blocked = before.as_ref().filter(|refused| refused.execution == execution);
        let since = still_blocked.and_then(|refused| Some(refused.block.as_ref()?.since)).unwrap_or(now);
        let by = before.map(|refused| refused.by).unwrap_or_default();
        let by = if retry_after.is_some() { by.with(&build) } else { abide_provider::Refusals::All };
        mailbox.refused = Some(Refused {
            execution,
            by,
            retry_after,
            retry_at: retry_after.map(|pause| now.saturating_add(pause)),
            is_open: false,
            block: Some(Block {
                kind,
                since,
                detail: cut_detail(detail),
                build,
                event_id,
                holds_activity: false,
            }),
        });
        self.has_changed(&name);
        Ok(())
    }

    pub(crate) fn hold_work(&mut self, hold: HoldWork, now: Timestamp) -> Result<(), Refusal> {
        let HoldWork { token, detail, build } = hold;
        let number = self.leased_work_with(&token, now)?;
        if let Some(work) = self.work.get_mut(&number) {
            work.lease = None;
            work.held = Some(Block {
                kind: BlockKind::Quarantine,
                since: now,
                detail: cut_detail(detail),
                build,
                event_id: Some(work.activity.activity_id),
                holds_activity: true,
            });
            let name = work.activity.instance.clone();
            self.has_changed(&name);
        }
        Ok(())
    }

    /// Forgets refusals, holds and attempts of an instance. Returns whether anything was blocked.
    pub(crate) fn retry_blocked(&mut self, name: &str, now: Timestamp) -> bool {
        self.void_expired_leases(now);
        let Some(mailbox) = self.mailboxes.get_mut(name) else { return false };
        let mut was_blocked = mailbox.refused.take().is_some_and(|refused| refused.block.is_some());
        for message in self.messages.values_mut().filter(|message| message.mailbox == name) {
            message.attempts = 0;
        }
        for work in self.work.values_mut().filter(|work| work.activity.instance == name) {
            was_blocked |= work.held.take().is_some();
            if !work.is_leased(now) {
                work.attempts = 0;
            }
        }
        self.something_may_be_leasable();
        if was_blocked {
            self.has_changed(name);
        }
        was_blocked
    }

    /// A turn of an execution was committed: the block is over. Refusals stay until the execution ends, or the build that
    /// refused it runs it.
    pub(crate) fn heal(
        &mut self,
        name: &str,
        execution_id: u64,
        still_refused: Option<Refusals>,
        now: Timestamp,
    ) {
        let has_mail = self.mail_of(name).any(|(_, message)| message.is_visible(now));
        let mailbox = self.mailbox_mut(name);
        let Some(mut refused) = mailbox.refused.take() else { return };
        let status = mailbox.current_execution().map(|execution| execution.status);
        refused.by = still_refused.unwrap_or(refused.by);
        let is_same = refused.execution == execution_id && status == Some(ExecutionStatus::Running);
        if is_same && !refused.by.is_empty() {
            refused.block = None;
            refused.is_open = false;
            refused.retry_at = None;
            if has_mail {
                refused.start_clock(now);
            }
            mailbox.refused = Some(refused);
        }
    }

    /// Mail became visible at this time: if builds refused the execution, they may try again after a while.
    pub(crate) fn start_retry_clock(&mut self, name: &str, time: Timestamp) {
        let refused = self.mailboxes.get_mut(name).and_then(|mailbox| mailbox.refused.as_mut());
        if let Some(refused) = refused {
            refused.start_clock(time);
        }
    }

    /// When mail of a mailbox became visible that nobody has looked at since; the earliest.
    pub(crate) fn unseen_since(&self, name: &str, now: Timestamp) -> Option<Timestamp> {
        self.mail_of(name).filter_map(|(_, message)| message.visible_at).filter(|time| *time <= now).min()
    }

    /// Opens what waited long enough to the builds that refused it.
    pub(crate) fn open_refused(&mut self, now: Timestamp) {
        for refused in self.mailboxes.values_mut().filter_map(|mailbox| mailbox.refused.as_mut()) {
            if refused.retry_at.is_some_and(|time| time <= now) {
                refused.retry_at = None;
                refused.is_open = true;
            }
        }
    }

    pub(crate) fn blocks_of(&self, name: &str) -> Vec<BlockedInstance> {
        let mut blocks: Vec<_> = self.blocked().filter(|blocked| blocked.instance == name).collect();
        blocks.sort_by_key(|blocked| (blocked.block.holds_activity, blocked.block.event_id));
        blocks
    }

    pub(crate) fn list_blocked(&self, limit: usize) -> Vec<BlockedInstance> {
        let mut blocked: Vec<_> = self.blocked().collect();
        blocked.sort_by(|one, other| {
            let key = |each: &BlockedInstance| {
                (each.block.since, each.instance.clone(), each.block.holds_activity, each.block.event_id)
            };
            key(one).cmp(&key(other))
        });
        blocked.truncate(limit);
        blocked
    }

    pub(crate) fn count_blocked(&self) -> BlockedCounts {
        let mut by_kind = BTreeMap::new();
        for blocked in self.blocked() {
            *by_kind.entry(blocked.block.kind).or_insert(0) += 1;
        }
        BlockedCounts { by_kind: by_kind.into_iter().collect(), oldest: self.list_blocked(1).pop() }
    }

    fn blocked(&self) -> impl Iterator<Item = BlockedInstance> {
        let of_instances = self.mailboxes.iter().filter_map(|(name, mailbox)| {
            Some(self.describe_block(name, mailbox.refused.as_ref()?.block.as_ref()?))
        });
        let of_work = self.work.values().filter_map(|work: &Work| {
            Some(self.describe_block(&work.activity.instance, work.held.as_ref()?))
        });
        of_instances.chain(of_work)
    }

    fn describe_block(&self, name: &str, block: &Block) -> BlockedInstance {
        let orchestration_name = self.instance(name).map(|instance| instance.name.clone());
        BlockedInstance {
            instance: name.to_owned(),
            orchestration_name: orchestration_name.unwrap_or_default(),
            block: block.clone(),
        }
    }
}

impl Refused {
    pub(crate) fn start_clock(&mut self, time: Timestamp) {
        if let (None, false, Some(pause)) = (self.retry_at, self.is_open, self.retry_after) {
            self.retry_at = Some(time.saturating_add(pause));
        }
    }

    pub(crate) fn told(&self) -> RefusedExecution {
        RefusedExecution {
            by: self.by.clone(),
            retry_after: self.retry_after,
            is_retry_due: self.is_open,
            block: self.block.clone(),
        }
    }
}

impl Mailbox {
    /// The execution that the next turn belongs to.
    pub(crate) fn next_execution(&self) -> u64 {
        let current = self.instance.as_ref().map_or(0, |instance| instance.current);
        match self.current_execution().map(|execution| execution.status) {
            None => 1,
            Some(ExecutionStatus::ContinuedAsNew) => current.saturating_add(1),
            Some(ExecutionStatus::Running | ExecutionStatus::Completed | ExecutionStatus::Failed) => current,
        }
    }
}
