//! Starting orchestrations, as the frozen methods do it: whether the instance was there already, they do not say.
//!
//! [`Client::start`](crate::Client::start) does.

use abide_model::names::check_version;
use abide_model::{INITIAL_EXECUTION_ID, WorkItem, codec, is_reserved_root_id};
use serde::Serialize;

use crate::{Client, ClientError};

impl Client {
    /// Starts an instance. If there is one of that name, running or ended, nothing happens, and that is no error.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the id or the name is empty or too long, the id is reserved for
    /// children, or the input is too large.
    pub async fn start_orchestration(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        input: impl Into<String>,
    ) -> Result<(), ClientError> {
        let start = Start::new(instance.into(), orchestration.into())?;
        self.send(start.item(None, input.into())?).await
    }

    /// The same with a version of the handler, instead of the one that the registry's policy chooses.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the id or the name is empty or too long, the id is reserved for
    /// children, or the input is too large.
    pub async fn start_orchestration_versioned(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        version: impl Into<String>,
        input: impl Into<String>,
    ) -> Result<(), ClientError> {
        let start = Start::new(instance.into(), orchestration.into())?;
        self.send(start.item(Some(version.into()), input.into())?).await
    }

    /// Starts an instance with a typed input.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the id or the name is empty or too long, the id is reserved for
    /// children, or the input is too large or has no JSON form.
    pub async fn start_orchestration_typed<In: Serialize>(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        input: In,
    ) -> Result<(), ClientError> {
        let start = Start::new(instance.into(), orchestration.into())?;
        self.send(start.item(None, encode(&input)?)?).await
    }

    /// Starts an instance with a version of the handler and a typed input.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the id or the name is empty or too long, the id is reserved for
    /// children, or the input is too large or has no JSON form.
    pub async fn start_orchestration_versioned_typed<In: Serialize>(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        version: impl Into<String>,
        input: In,
    ) -> Result<(), ClientError> {
        let start = Start::new(instance.into(), orchestration.into())?;
        self.send(start.item(Some(version.into()), encode(&input)?)?).await
    }
}

/// The text of a value.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String, ClientError> {
    codec::encode(value).map_err(|error| ClientError::encode(&error))
}

/// An instance to be started, under a name that it may have.
#[derive(Debug)]
pub(crate) struct Start {
    instance: String,
    orchestration: String,
}

impl Start {
    pub(crate) fn new(instance: String, orchestration: String) -> Result<Self, ClientError> {
        if is_reserved_root_id(&instance) {
            return Err(ClientError::invalid(&format_args!(
                "instance id '{instance}' uses the reserved sub-orchestration marker 'sub::'"
            )));
        }
        Ok(Self { instance, orchestration })
    }

    pub(crate) fn item(self, version: Option<String>, input: String) -> Result<WorkItem, ClientError> {
        // No handler could ever be found for it.
        if let Some(version) = &version {
            check_version(version).map_err(|problem| ClientError::invalid(&problem))?;
        }
        Ok(WorkItem::StartOrchestration {
            instance: self.instance,
            orchestration: self.orchestration,
            input,
            version,
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            execution_id: INITIAL_EXECUTION_ID,
        })
    }
}
