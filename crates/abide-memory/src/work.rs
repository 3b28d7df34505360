//! Enqueueing work, and finishing it.

use std::collections::BTreeSet;

use abide_model::{StepTry, Timestamp, WorkItem};
use abide_provider::rows::{MessageRow, WorkRow};
use abide_provider::{FinishedWork, RevokeWork, RevokedWork};

use crate::refusal::Refusal;
use crate::state::{State, Work};
use crate::stored::Stored;

impl State {
    pub(crate) fn enqueue_work(&mut self, item: WorkItem) -> Result<(), Refusal> {
        let row = WorkRow::of(item).map_err(|error| Refusal::invalid(&error))?;
        self.keep_work(row);
        Ok(())
    }

    pub(crate) fn keep_work(&mut self, row: WorkRow) {
        let WorkRow { activity, session, tag, retry, item } = row;
        self.mailbox_mut(&activity.instance);
        let number = self.next_number();
        let item = Stored::Readable(item);
        let step = retry.unwrap_or_else(|| StepTry::first(activity.activity_id));
        let work = Work {
            activity,
            step,
            session,
            tag,
            visible_at: None,
            attempts: 0,
            lease: None,
            held: None,
            item,
        };
        self.work.insert(number, work);
        self.something_may_be_leasable();
    }

    pub(crate) fn finish_work(&mut self, finished: FinishedWork, now: Timestamp) -> Result<(), Refusal> {
        let FinishedWork { token, completion } = finished;
        let completion = completion.map(MessageRow::of_completion).transpose();
        let completion = completion.map_err(|error| Refusal::invalid(&error))?;
        let number = self.leased_work_with(&token, now)?;
        if let (Some(completion), Some(work)) = (&completion, self.work.get(&number)) {
            check_addressee(&completion.to, &work.activity.instance)?;
        }
        self.remove_finished(number, now);
        if let Some(completion) = completion {
            self.post(completion, now);
        }
        Ok(())
    }

    /// Removes the row; whoever finished it has used its session.
    pub(crate) fn remove_finished(&mut self, number: u64, now: Timestamp) {
        self.use_session_of(number, now);
        self.work.remove(&number);
    }

    /// Takes back work of one execution of a leased instance, in the order of its events.
    pub(crate) fn revoke_work(
        &mut self,
        revoke: &RevokeWork,
        now: Timestamp,
    ) -> Result<RevokedWork, Refusal> {
        let name = self.leased_with(&revoke.token, now)?;
        let is_meant =
            |work: &Work| work.activity.instance == name && work.activity.execution_id == revoke.execution_id;
        let meant = self.work.iter().filter(|(_, work)| is_meant(work));
        let mut found: Vec<(u64, u64)> =
            meant.map(|(number, work)| (work.activity.activity_id, *number)).collect();
        found.sort_unstable();
        let most = usize::try_from(revoke.at_most()).unwrap_or(usize::MAX);
        let more = found.len() >= most;
        let doomed: BTreeSet<u64> = found.into_iter().take(most).map(|(_, number)| number).collect();
        self.steal_numbered(&revoke.because, now, &doomed);
        Ok(RevokedWork { count: u32::try_from(doomed.len()).unwrap_or(u32::MAX), more })
    }

    /// Sends a completion to whoever waits for it.
    pub(crate) fn tell_of_completion(&mut self, completion: WorkItem, now: Timestamp) {
        if let Ok(row) = MessageRow::of(completion) {
            self.post(row, now);
        }
    }
}

fn check_addressee(instance: &str, owner: &str) -> Result<(), Refusal> {
    if instance == owner {
        return Ok(());
    }
    Err(Refusal::invalid(&format!(
        "the activity belongs to instance {owner}, and its completion is for instance {instance}"
    )))
}
