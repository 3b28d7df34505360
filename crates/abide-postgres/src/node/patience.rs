//! How long a call to the server may take. Pure.
//!
//! Two limits end a call. The node gives up waiting at a deadline and keeps the session until the server answers. The
//! server cancels a statement at its `statement_timeout`, so that the session comes back. Both grow with what the call
//! carries, at the rate of [`transfer_time`], like the deadlines of the runtime and the client: otherwise a large payload
//! would be late every time, and be repeated for ever.
//!
//! How much an answer carries is not known before it is there. So the time counts from the last byte that arrived.
//! The server does not count so: it cancels a statement also while it sends rows. The first time that it cancels a read
//! whose answer may have any size, reads of this kind get the time that the largest answer takes. Until then they cost no
//! change of the setting.

use std::time::Duration;

use abide_provider::{LARGEST_ANSWER, transfer_time};

use crate::statements::Sql;

/// The `statement_timeout` of a session, unless a call needs more.
pub(crate) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a small call may take, or the server be silent.
pub(crate) const SHORT: Duration = Duration::from_secs(10);

/// How long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// How long the server may take to answer, and be silent within its answer.
    silence: Duration,
    /// How much longer it may take to begin, because of what it has to take in.
    transfer: Duration,
    /// How much its answer may carry.
    answer: Answer,
}

/// How much an answer may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Little, compared with what the usual time is enough for.
    Bounded,
    /// A whole history, or all values of an instance.
    Unbounded,
    /// The same, from a server that has canceled such a read.
    Slow,
}

impl Patience {
    /// Of a call that serves the queues.
    pub(crate) const SHORT: Self = Self::of(SHORT);

    /// Of a call that reads everything of one instance.
    const MIDDLING: Self = Self::of(Duration::from_secs(30));

    /// The same for one of which the answer may have any size.
    const READING: Self = Self { answer: Answer::Unbounded, ..Self::MIDDLING };

    /// Of a call that reads everything, or deletes much.
    pub(crate) const LONG: Self = Self::of(Duration::from_secs(120));

    const fn of(silence: Duration) -> Self {
        Self { silence, transfer: Duration::ZERO, answer: Answer::Bounded }
    }

    /// The same for a call that carries so many bytes.
    pub(crate) fn carrying(self, bytes: usize) -> Self {
        Self { transfer: transfer_time(bytes), ..self }
    }

    /// Whether the answer may have any size.
    pub(crate) fn is_unbounded(self) -> bool {
        self.answer != Answer::Bounded
    }

    /// The same on a server that has canceled a read of any size.
    pub(crate) fn with_slow_answers(self) -> Self {
        if self.is_unbounded() { Self { answer: Answer::Slow, ..self } } else { self }
    }

    /// How long the server may take to begin its answer.
    fn first_answer(self) -> Duration {
        self.silence.saturating_add(self.transfer)
    }

    /// When a call is late that began at this time, if the last byte was sent or received at `moved_at`.
    pub(crate) fn deadline(self, began: Duration, moved_at: Duration) -> Duration {
        let first = began.saturating_add(self.first_answer());
        let last = first.saturating_add(transfer_time(LARGEST_ANSWER));
        moved_at.saturating_add(self.silence).clamp(first, last)
    }

    /// The `statement_timeout` under which a call has its time, in a session that usually has this one. It is changed only
    /// for calls that need a good part of it for what they carry.
    pub(crate) fn statement_timeout(self, usual: Duration) -> Duration {
        let transfer = match self.answer {
            Answer::Bounded | Answer::Unbounded => self.transfer,
            Answer::Slow => self.transfer.saturating_add(transfer_time(LARGEST_ANSWER)),
        };
        if transfer <= usual / 2 { usual } else { usual.saturating_add(transfer) }
    }
}

/// How long a statement may take before it is given up: while it is waited for, its connection serves nobody else.
pub(crate) const fn patience(sql: Sql) -> Patience {
    match sql {
        Sql::CountBlocked
        | Sql::CountDeleted
        | Sql::CountExecutions
        | Sql::CountInstances
        | Sql::CountRunning
        | Sql::DeleteInstances
        | Sql::DeleteUnborn
        | Sql::EndedChildren
        | Sql::EndedRoots
        | Sql::ListBlocked
        | Sql::ListByStatus
        | Sql::ListExecutions
        | Sql::ListNewest
        | Sql::PrunableInstances
        | Sql::PruneExecutions
        | Sql::QueueDepths
        | Sql::TableSizes
        | Sql::Tree => Patience::LONG,
        Sql::InstanceStats
        | Sql::KvLeased
        | Sql::KvMerged
        | Sql::ReadCurrent
        | Sql::ReadExecution
        | Sql::ReadLeased => Patience::READING,
        Sql::ReadBlocks | Sql::RemovePart | Sql::RetryBlocked | Sql::RevokeWork => Patience::MIDDLING,
        Sql::AbandonInstances
        | Sql::AbandonWork
        | Sql::Alone
        | Sql::AnnounceNode
        | Sql::BlockInstance
        | Sql::Children
        | Sql::CommitOne
        | Sql::CommitTurns
        | Sql::CustomStatus
        | Sql::EnqueueMessages
        | Sql::StartOne
        | Sql::EnqueueWork
        | Sql::ExecutionInfo
        | Sql::FinishWork
        | Sql::ForgetNode
        | Sql::ForgetSessions
        | Sql::HoldWork
        | Sql::BeginSuspect
        | Sql::InstanceInfo
        | Sql::KvValue
        | Sql::LeaseInstances
        | Sql::LeaseWork
        | Sql::ListNodes
        | Sql::LostWork
        | Sql::NextMailboxDue
        | Sql::NextWorkDue
        | Sql::ReadChildren
        | Sql::ReadOverview
        | Sql::ParentsOfStarts
        | Sql::ReadStatuses
        | Sql::ReleaseTombstones
        | Sql::RenewInstances
        | Sql::RenewSessions
        | Sql::RenewWork
        | Sql::ServerTime
        | Sql::SetMessagesAside
        | Sql::SetWorkAside
        | Sql::Tell => Patience::SHORT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;
    const BEGAN: Duration = Duration::from_secs(1_000);

    const fn after(seconds: u64) -> Duration {
        Duration::from_secs(1_000 + seconds)
    }

    #[test]
    fn a_call_has_a_second_longer_per_mebibyte_that_it_carries() {
        assert_eq!(Patience::SHORT.deadline(BEGAN, BEGAN), after(10));
        assert_eq!(Patience::SHORT.carrying(64 * MIB).deadline(BEGAN, BEGAN), after(74));
        assert_eq!(patience(Sql::ReadLeased).carrying(MIB).deadline(BEGAN, BEGAN), after(31));
    }

    #[test]
    fn an_answer_that_arrives_is_not_late_until_the_server_is_silent() {
        let patience = Patience::SHORT.carrying(4 * MIB);
        assert_eq!(patience.deadline(BEGAN, after(2)), after(14), "it was sent");
        assert_eq!(patience.deadline(BEGAN, after(14)), after(24));
        assert_eq!(patience.deadline(BEGAN, after(500)), after(510));
        assert_eq!(patience.deadline(BEGAN, after(5_000)), after(14 + 1_024), "no answer is so large");
    }

    #[test]
    fn the_server_cancels_no_statement_that_has_time() {
        let timeout = |bytes| Patience::SHORT.carrying(bytes).statement_timeout(STATEMENT_TIMEOUT);
        assert_eq!(timeout(60 * MIB), STATEMENT_TIMEOUT, "it has 70 s");
        assert_eq!(timeout(256 * MIB), Duration::from_secs(376));
        assert_eq!(Patience::LONG.statement_timeout(STATEMENT_TIMEOUT), STATEMENT_TIMEOUT);
    }

    #[test]
    fn reads_of_any_size_have_time_for_the_largest_answer_once_one_was_canceled() {
        let timeout = |patience: Patience| patience.statement_timeout(STATEMENT_TIMEOUT).as_secs();
        assert_eq!(timeout(patience(Sql::ReadLeased)), 120);
        assert_eq!(timeout(patience(Sql::ReadLeased).with_slow_answers()), 120 + 1_024);
        assert_eq!(timeout(patience(Sql::ReadBlocks).with_slow_answers()), 120);
    }
}
