//! Telling a running orchestration something: signals, queue messages, and that it should end.

use abide_model::WorkItem;

use crate::start::encode;
use crate::{Client, ClientError};

impl Client {
    /// Sends a signal. It is seen by the oldest wait for its name, if there is one. Sent before the start, it waits for it, for
    /// one hour; then the store deletes it. [`send_event`](Self::send_event) refuses it instead.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the id or the name is empty or too long, or the payload too large. If
    /// the store fails. That there is no such instance is no error.
    pub async fn raise_event(
        &self,
        instance: impl Into<String>,
        event_name: impl Into<String>,
        data: impl Into<String>,
    ) -> Result<(), ClientError> {
        let (instance, name, data) = (instance.into(), event_name.into(), data.into());
        self.send(WorkItem::ExternalRaised { instance, name, data }).await
    }

    /// Sends a signal with a typed payload.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the payload has no JSON form.
    pub async fn raise_event_typed<T: serde::Serialize>(
        &self,
        instance: impl Into<String>,
        event_name: impl Into<String>,
        data: &T,
    ) -> Result<(), ClientError> {
        self.raise_event(instance, event_name, encode(data)?).await
    }

    /// Sends a message to a queue of an instance. It is kept, in order, until the code takes it. Sent before the start, it is
    /// dropped, and the store logs a warning.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the id or the name is empty or too long, or the payload too large. If
    /// the store fails. That there is no such instance is no error.
    pub async fn enqueue_event(
        &self,
        instance: impl Into<String>,
        queue: impl Into<String>,
        data: impl Into<String>,
    ) -> Result<(), ClientError> {
        let (instance, name, data) = (instance.into(), queue.into(), data.into());
        self.send(WorkItem::QueueMessage { instance, name, data }).await
    }

    /// Sends a typed message to a queue of an instance.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the message has no JSON form.
    pub async fn enqueue_event_typed<T: serde::Serialize>(
        &self,
        instance: impl Into<String>,
        queue: impl Into<String>,
        data: &T,
    ) -> Result<(), ClientError> {
        self.enqueue_event(instance, queue, encode(data)?).await
    }

    /// An older name of [`Client::enqueue_event`].
    ///
    /// # Errors
    ///
    /// If the store fails.
    #[deprecated(note = "Use enqueue_event() instead")]
    pub async fn raise_event_persistent(
        &self,
        instance: impl Into<String>,
        event_name: impl Into<String>,
        data: impl Into<String>,
    ) -> Result<(), ClientError> {
        self.enqueue_event(instance, event_name, data).await
    }

    /// Asks for the end of an instance and everything below it. It then fails as cancelled, with this reason. Sent before the
    /// start, it waits for it, for one hour; then the store deletes it. [`cancel_existing`](Self::cancel_existing) refuses it
    /// instead.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidInput`] if the id is empty or too long, or the reason too large. If the store
    /// fails. That there is no such instance, or that it has ended, is no error.
    pub async fn cancel_instance(
        &self,
        instance: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<(), ClientError> {
        let (instance, reason) = (instance.into(), reason.into());
        self.send(WorkItem::CancelInstance { instance, reason }).await
    }

    /// Sends a signal to an instance that exists: one that runs, has ended, or whose start was accepted.
    ///
    /// Unlike [`raise_event`](Self::raise_event) it never waits for a start. If there is no such instance,
    /// nothing is stored, and the signal cannot reach an instance that is started under that id later.
    ///
    /// # Errors
    ///
    /// [`ClientError::InstanceNotFound`] if there is no such instance. [`ClientError::InvalidInput`] if the
    /// id or the name is empty or too long, or the payload too large. If the store fails.
    pub async fn send_event(
        &self,
        instance: impl Into<String>,
        event_name: impl Into<String>,
        data: impl Into<String>,
    ) -> Result<(), ClientError> {
        let (instance, name, data) = (instance.into(), event_name.into(), data.into());
        self.send_existing(instance.clone(), WorkItem::ExternalRaised { instance, name, data }).await
    }

    /// Asks for the end of an instance that exists, and of everything below it, like
    /// [`cancel_instance`](Self::cancel_instance).
    ///
    /// If there is no such instance, nothing is stored, and the request cannot reach an instance that is
    /// started under that id later.
    ///
    /// # Errors
    ///
    /// [`ClientError::InstanceNotFound`] if there is no such instance; that it has ended is no error.
    /// [`ClientError::InvalidInput`] if the id is empty or too long, or the reason too large. If the store
    /// fails.
    pub async fn cancel_existing(
        &self,
        instance: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<(), ClientError> {
        let (instance, reason) = (instance.into(), reason.into());
        self.send_existing(instance.clone(), WorkItem::CancelInstance { instance, reason }).await
    }
}
