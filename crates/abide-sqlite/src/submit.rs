//! Sending calls to the writer and the readers, and waiting for their answers.

use abide_provider::{LeaseInstances, LeaseWork, MailOutcome, Operation, SentMail, StoreError, WorkLease};

use crate::SqliteProvider;
use crate::job::{Reply, Submission};
use crate::statements::Statements;
use crate::writer::Request;
use crate::writer::lease_call::{Call, GiveBack, LeaseCall, LeasedInstance, Leases, Load, Wanted};

impl SqliteProvider {
    /// Warns operators of a message that waits for a start or was dropped.
    pub(crate) fn warn_of(&self, mail: Option<SentMail>, outcome: MailOutcome) {
        self.shared.warnings.warn(mail, outcome, self.shared.clock.monotonic());
    }

    /// Runs a job and waits for its answer.
    pub(crate) async fn run<T>(&self, submission: Submission<T>) -> Result<T, StoreError> {
        let Submission { operation, job, reply } = submission;
        self.writer.send(Request::Jobs(vec![job]));
        answer_of(operation, reply).await
    }

    /// Runs jobs in one group, and waits for all answers.
    pub(crate) async fn run_all<T>(
        &self,
        jobs: Vec<Result<Submission<T>, StoreError>>,
    ) -> Vec<Result<T, StoreError>> {
        let mut together = Vec::with_capacity(jobs.len());
        let replies: Vec<_> = jobs
            .into_iter()
            .map(|submission| {
                submission.map(|Submission { operation, job, reply }| {
                    together.push(job);
                    (operation, reply)
                })
            })
            .collect();
        self.writer.send(Request::Jobs(together));
        let mut answers = Vec::with_capacity(replies.len());
        for reply in replies {
            answers.push(match reply {
                Ok((operation, reply)) => answer_of(operation, reply).await,
                Err(error) => Err(error),
            });
        }
        answers
    }

    /// Leases instances, and waits until there is something to lease or the time of the request is over.
    pub(crate) async fn lease(
        &self,
        operation: Operation,
        request: LeaseInstances,
        load: Load,
    ) -> Result<Vec<LeasedInstance>, StoreError> {
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        let deadline = self.shared.clock.monotonic().saturating_add(request.wait);
        let (call, reply) = Call::new(operation, request, self.writer.inbox());
        self.writer
            .send(Request::Lease(Box::new(LeaseCall { wanted: Wanted::Instances(call, load), deadline })));
        taken(operation, reply).await
    }

    /// The same for activities.
    pub(crate) async fn lease_some_work(
        &self,
        operation: Operation,
        request: LeaseWork,
    ) -> Result<Vec<WorkLease>, StoreError> {
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        let deadline = self.shared.clock.monotonic().saturating_add(request.wait);
        let (call, reply) = Call::new(operation, request, self.writer.inbox());
        self.writer.send(Request::Lease(Box::new(LeaseCall { wanted: Wanted::Work(call), deadline })));
        taken(operation, reply).await
    }

    /// Reads beside the writer.
    pub(crate) async fn read_with<T: Send + 'static>(
        &self,
        operation: Operation,
        read: impl FnOnce(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.read(&self.writer, operation, read).await
    }
}

async fn answer_of<T>(operation: Operation, reply: Reply<T>) -> Result<T, StoreError> {
    reply.await.unwrap_or_else(|_| Err(stopped(operation)))
}

/// Waits for leases, and takes them in the poll that returns them.
async fn taken<Lease: GiveBack>(
    operation: Operation,
    leases: Leases<Lease>,
) -> Result<Vec<Lease>, StoreError> {
    match leases.await {
        Ok(handover) => Ok(handover?.take()),
        Err(_) => Err(stopped(operation)),
    }
}

/// The writer went away with the call in its hands.
fn stopped(operation: Operation) -> StoreError {
    StoreError::unknown(operation, "the store stopped before it answered")
}
