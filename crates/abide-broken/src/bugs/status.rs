//! How an instance stands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use abide_model::{ErrorDetails, Event, OrchestrationStatus};
use abide_provider::{Operation, ProviderError};
use async_trait::async_trait;

use crate::bug::{Answer, Bug};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// A name that has mail runs.
    MailRuns => "status::test_status_of_what_is_no_instance";
    /// An instance is not found before its first turn.
    WaitingStartNotFound => "status::test_status_of_a_start_that_waits";
    /// An instance is not found while a turn of it runs.
    NotFoundWhileLeased => "status::test_status_of_one_that_runs";
    /// What a completed instance returned is not told.
    OutputNotTold => "status::test_status_of_one_that_completed";
    /// Of why an instance failed only the text is told, as an error of its code.
    FailureInShort => "status::test_status_of_one_that_failed";
    /// An instance between two executions has completed.
    ContinuedHasCompleted => "status::test_status_of_one_that_continues_as_new";
    /// The status has no custom status.
    NoCustomStatus => "status::test_status_has_the_custom_status";
    /// The version of the custom status is zero once the custom status is taken back.
    NoVersionWithoutText => "status::test_status_has_the_custom_status";
    /// The custom status is gone when an instance ends.
    NoCustomStatusAtTheEnd => "status::test_status_has_the_custom_status";
    /// A past that was appended has no status.
    AppendedNotFound { names: Mutex<BTreeSet<String>> } => "status::test_status_of_a_past_that_was_appended";
    /// A deleted instance is remembered.
    DeletedIsRemembered { last: Mutex<BTreeMap<String, OrchestrationStatus>> } => "status::test_status_of_what_was_deleted";
    /// An instance whose failure cannot be read runs.
    UnreadableRuns => "status::test_status_of_a_failure_that_cannot_be_read";
    /// That a failure cannot be read is said to pass.
    UnreadablePasses => "status::test_status_of_a_failure_that_cannot_be_read";
}

const RUNNING: OrchestrationStatus =
    OrchestrationStatus::Running { custom_status: None, custom_status_version: 0 };

/// The custom status of a status, to be changed.
fn custom(status: &mut OrchestrationStatus) -> Option<(&mut Option<String>, &mut u64)> {
    match status {
        OrchestrationStatus::NotFound => None,
        OrchestrationStatus::Running { custom_status, custom_status_version }
        | OrchestrationStatus::Completed { custom_status, custom_status_version, .. }
        | OrchestrationStatus::Failed { custom_status, custom_status_version, .. } => {
            Some((custom_status, custom_status_version))
        }
    }
}

#[async_trait]
impl Bug for WaitingStartNotFound {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let has_run = store.get_instance_stats(instance).await?.is_some();
        if has_run { store.read_status(instance).await } else { Ok(OrchestrationStatus::NotFound) }
    }
}

#[async_trait]
impl Bug for MailRuns {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let status = store.read_status(instance).await?;
        let has_mail = store.dump().instances.contains_key(instance);
        Ok(if status == OrchestrationStatus::NotFound && has_mail { RUNNING } else { status })
    }
}

#[async_trait]
impl Bug for NotFoundWhileLeased {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let leased = store.dump().instances.get(instance).is_some_and(|instance| !instance.batch.is_empty());
        if leased { Ok(OrchestrationStatus::NotFound) } else { store.read_status(instance).await }
    }
}

#[async_trait]
impl Bug for OutputNotTold {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let mut status = store.read_status(instance).await?;
        if let OrchestrationStatus::Completed { output, .. } = &mut status {
            output.clear();
        }
        Ok(status)
    }
}

#[async_trait]
impl Bug for FailureInShort {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let mut status = store.read_status(instance).await?;
        if let OrchestrationStatus::Failed { details, .. } = &mut status {
            *details = ErrorDetails::orchestration_failed("in short");
        }
        Ok(status)
    }
}

#[async_trait]
impl Bug for ContinuedHasCompleted {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let status = store.read_status(instance).await?;
        let dump = store.dump();
        let current = dump.executions.iter().rfind(|((name, _), _)| name == instance);
        match (status, current) {
            (OrchestrationStatus::Running { custom_status, custom_status_version }, Some((_, execution)))
                if execution.status == "ContinuedAsNew" =>
            {
                let output = execution.output.clone().unwrap_or_default();
                Ok(OrchestrationStatus::Completed { output, custom_status, custom_status_version })
            }
            (status, _) => Ok(status),
        }
    }
}

#[async_trait]
impl Bug for NoCustomStatus {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let mut status = store.read_status(instance).await?;
        if let Some((text, version)) = custom(&mut status) {
            (*text, *version) = (None, 0);
        }
        Ok(status)
    }
}

#[async_trait]
impl Bug for NoVersionWithoutText {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let mut status = store.read_status(instance).await?;
        if let Some((None, version)) = custom(&mut status) {
            *version = 0;
        }
        Ok(status)
    }
}

#[async_trait]
impl Bug for NoCustomStatusAtTheEnd {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let mut status = store.read_status(instance).await?;
        if let OrchestrationStatus::Completed { custom_status, .. } = &mut status {
            *custom_status = None;
        }
        Ok(status)
    }
}

#[async_trait]
impl Bug for AppendedNotFound {
    async fn append_with_execution(
        &self,
        store: &Store,
        instance: &str,
        execution: u64,
        events: Vec<Event>,
    ) -> Answer<()> {
        self.names.lock().unwrap().insert(instance.to_owned());
        store.append_with_execution(instance, execution, events).await
    }

    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        if self.names.lock().unwrap().contains(instance) {
            return Ok(OrchestrationStatus::NotFound);
        }
        store.read_status(instance).await
    }
}

#[async_trait]
impl Bug for DeletedIsRemembered {
    async fn commit(
        &self,
        store: &Store,
        commit: abide_provider::TurnCommit,
    ) -> crate::bug::StoreAnswer<abide_provider::Committed> {
        let instance = commit.instance.clone();
        let committed = store.commit(commit).await;
        let status = store.read_status(&instance).await;
        self.last.lock().unwrap().extend(status.ok().map(|status| (instance, status)));
        committed
    }

    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let status = store.read_status(instance).await?;
        let last = self.last.lock().unwrap().get(instance).cloned();
        Ok(if status == OrchestrationStatus::NotFound { last.unwrap_or(status) } else { status })
    }
}

#[async_trait]
impl Bug for UnreadableRuns {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        Ok(store.read_status(instance).await.unwrap_or(RUNNING))
    }
}

#[async_trait]
impl Bug for UnreadablePasses {
    async fn read_status(&self, store: &Store, instance: &str) -> Answer<OrchestrationStatus> {
        let status = store.read_status(instance).await;
        status.map_err(|error| ProviderError::retryable(Operation::ReadStatus.as_str(), error.to_string()))
    }
}
