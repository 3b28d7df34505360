//! Blocked instances: what blocks them, and trying them again.

use std::fmt;

use abide_provider::{Ability, BlockedCounts, BlockedInstance, ProviderError};

use crate::{Client, ClientError};

/// What an error of a wait names as its operation.
const WAIT: &str = "wait_for_orchestration";

impl Client {
    /// What blocks an instance: the instance itself first, then its quarantined activities. Empty if nothing does.
    ///
    /// # Errors
    ///
    /// [`ClientError::InstanceNotFound`]; if the store fails.
    pub async fn blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, ClientError> {
        let blocks = self.read_blocks(instance).await?;
        if blocks.is_empty() {
            self.refuse_unknown(instance).await?;
        }
        Ok(blocks)
    }

    /// The same, and empty for an unknown instance.
    pub(crate) async fn read_blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, ClientError> {
        self.ask(async { self.store().read_blocks(instance).await.map_err(ProviderError::from) }).await
    }

    /// How many instances and activities are blocked, by kind, and the one that has been for longest.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn count_blocked(&self) -> Result<BlockedCounts, ClientError> {
        self.ask_much(self.admin()?.count_blocked()).await
    }

    /// Up to `limit` blocked instances, those blocked first first. An instance with several quarantined activities is
    /// listed once for each. Starts that never ran are among them; [`Client::list_instances`] with
    /// [`InstanceQuery::blocked`](abide_provider::InstanceQuery::blocked) has pages of instances only.
    ///
    /// # Errors
    ///
    /// [`ClientError::ManagementNotAvailable`]; if the store fails.
    pub async fn list_blocked(&self, limit: usize) -> Result<Vec<BlockedInstance>, ClientError> {
        self.ask_much(self.admin()?.list_blocked(limit)).await
    }

    /// Has a blocked instance, or its quarantined activities, tried again at once: refusals and attempts are forgotten.
    /// Returns whether anything was blocked. If the problem is still there, the instance is blocked again.
    ///
    /// # Errors
    ///
    /// [`ClientError::InstanceNotFound`]; if the store fails.
    pub async fn retry(&self, instance: &str) -> Result<bool, ClientError> {
        let retry = async { self.store().retry_blocked(instance).await.map_err(ProviderError::from) };
        let was_blocked = self.ask(retry).await?;
        if !was_blocked {
            self.refuse_unknown(instance).await?;
        }
        Ok(was_blocked)
    }

    async fn refuse_unknown(&self, instance: &str) -> Result<(), ClientError> {
        match self.overview(instance).await? {
            Some(_) => Ok(()),
            None => Err(ClientError::InstanceNotFound { instance_id: instance.to_owned() }),
        }
    }

    /// A wait that timed out, with what keeps its instance for a reason: a block, or work that no live node
    /// serves.
    pub(crate) async fn timed_out(&self, instance: &str) -> ClientError {
        let timed_out = |reason: &dyn fmt::Display| {
            ClientError::Provider(ProviderError::retryable(WAIT, format!("Operation timed out: {reason}")))
        };
        let abilities = self.store().abilities();
        if abilities.has(Ability::Blocking) {
            // A store that does not answer is not asked for more.
            let Ok(blocks) = self.read_blocks(instance).await else { return ClientError::Timeout };
            if let Some(blocked) = blocks.first() {
                return timed_out(&explained(blocked));
            }
        }
        if abilities.has(Ability::Nodes)
            && let Ok(description) = Box::pin(self.describe(instance)).await
            && let Some(unserved) = description.unserved_here_or_below()
        {
            return timed_out(&format_args!("{unserved}; it waits until a node that does is started"));
        }
        ClientError::Timeout
    }

    /// For tests, in which a block is final.
    pub(crate) async fn refuse_blocked(&self, instance: &str) -> Result<(), ProviderError> {
        if !self.blocks_end_waits() {
            return Ok(());
        }
        match self.store().read_blocks(instance).await?.first() {
            Some(blocked) => Err(ProviderError::permanent(WAIT, explained(blocked))),
            None => Ok(()),
        }
    }
}

fn explained(blocked: &BlockedInstance) -> String {
    let BlockedInstance { instance, block, .. } = blocked;
    format!("instance '{instance}' is blocked ({}, by build {}): {}", block.kind, block.build, block.detail)
}
