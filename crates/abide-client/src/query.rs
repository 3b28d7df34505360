//! Looking at one instance: where it stands, and what it keeps.

use std::collections::HashMap;

use abide_model::{OrchestrationStatus, SystemStats, decode_error};
use serde::de::DeserializeOwned;

use crate::{Client, ClientError};

impl Client {
    /// Where an instance stands. It is running from the moment its start was acknowledged, also if no node
    /// has taken it up yet. On a store that implements only the required methods of `Provider`, an instance
    /// is [`OrchestrationStatus::NotFound`] until its first turn is committed.
    ///
    /// # Errors
    ///
    /// If the store fails, or what it holds cannot be read.
    pub async fn get_orchestration_status(&self, instance: &str) -> Result<OrchestrationStatus, ClientError> {
        self.ask(self.store().read_status(instance)).await
    }

    /// One value that the code of an instance keeps.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ClientError> {
        self.ask(self.store().get_kv_value(instance, key)).await
    }

    /// The same, typed.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the value is something else.
    pub async fn get_kv_value_typed<T: DeserializeOwned>(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<T>, ClientError> {
        let value = self.get_kv_value(instance, key).await?;
        value.map(|text| decode_kv(instance, key, &text)).transpose()
    }

    /// All values that the code of an instance keeps.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ClientError> {
        self.ask(self.store().get_kv_all_values(instance)).await
    }

    /// The size of an instance; `None` if there is no such instance.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn get_orchestration_stats(&self, instance: &str) -> Result<Option<SystemStats>, ClientError> {
        self.ask(self.store().get_instance_stats(instance)).await
    }
}

/// The value of a text that was kept: plain JSON, unlike inputs and outputs.
pub(crate) fn decode_kv<T: DeserializeOwned>(
    instance: &str,
    key: &str,
    text: &str,
) -> Result<T, ClientError> {
    serde_json::from_str(text).map_err(|error| {
        let what = format_args!("value of key '{key}' of '{instance}'");
        let problem = decode_error::not_a::<T>(&what, &error);
        ClientError::invalid(&format_args!("KV deserialization error: {problem}"))
    })
}
