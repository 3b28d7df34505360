//! Other orchestrations: children whose result comes back, and detached ones.

use abide_model::{Action, SUB_ORCH_AUTO_PREFIX, is_reserved_root_id, pending_child_suffix};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use super::activity::{Source, ended};
use crate::ask::Family;
use crate::future::DurableFuture;
use crate::tape::Answer;

/// Sub-orchestrations: the future gives what the child returns; dropping it cancels the child.
impl OrchestrationContext {
    /// Runs a child orchestration. Its id is derived from this instance's.
    pub fn schedule_sub_orchestration(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        self.start_child(Child { name: name.into(), version: None, instance: None, input: input.into() })
    }

    /// Runs a child orchestration under an id of your own, used as it is. An id that exists already, or
    /// that begins with `sub::`, is an error of the future.
    pub fn schedule_sub_orchestration_with_id(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        self.schedule_sub_orchestration_versioned_with_id(name, None, instance, input)
    }

    /// Runs a given version of a child orchestration; `None` leaves it to the registry's policy.
    pub fn schedule_sub_orchestration_versioned(
        &self,
        name: impl Into<String>,
        version: Option<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        self.start_child(Child { name: name.into(), version, instance: None, input: input.into() })
    }

    /// Runs a given version of a child orchestration under an id of your own.
    pub fn schedule_sub_orchestration_versioned_with_id(
        &self,
        name: impl Into<String>,
        version: Option<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let instance = Some(instance.into());
        self.start_child(Child { name: name.into(), version, instance, input: input.into() })
    }

    /// Runs a child orchestration with a typed input and result.
    pub fn schedule_sub_orchestration_typed<In: Serialize, Out: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>> {
        self.start_child_typed(name.into(), None, input)
    }

    /// Runs a child orchestration with a typed input and result, under an id of your own.
    pub fn schedule_sub_orchestration_with_id_typed<In: Serialize, Out: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>> {
        self.start_child_typed(name.into(), Some(instance.into()), input)
    }

    fn start_child_typed<In: Serialize, Out: DeserializeOwned + Send + 'static>(
        &self,
        name: String,
        instance: Option<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>> {
        let source = Source::child(&name, self.tape.codec());
        match self.encode(input) {
            Ok(input) => self
                .start_child(Child { name, version: None, instance, input })
                .map(move |result| source.decode(result)),
            Err(error) => DurableFuture::ready(&self.tape, Family::Child, Answer::Ended(Err(error)), ended)
                .map(move |result| source.decode(result)),
        }
    }

    fn start_child(&self, child: Child) -> DurableFuture<Result<String, String>> {
        let Child { name, version, instance, input } = child;
        if let Some(id) = instance.as_ref().filter(|id| id.starts_with(SUB_ORCH_AUTO_PREFIX)) {
            let error = format!(
                "sub-orchestration instance id '{id}' starts with the reserved marker 'sub::', which the \
                 runtime uses to mark auto-generated child ids; use an id that does not begin with it"
            );
            return DurableFuture::ready(&self.tape, Family::Child, Answer::Ended(Err(error)), ended);
        }
        let token = self.ask(|token| Action::StartSubOrchestration {
            scheduling_event_id: 0,
            name,
            version,
            instance: instance.unwrap_or_else(|| pending_child_suffix(token.get())),
            input,
        });
        DurableFuture::of(&self.tape, token, ended)
    }
}

/// Detached orchestrations: started and forgotten, under a root id of their own.
impl OrchestrationContext {
    /// Starts an orchestration of its own. It is started exactly once, whatever becomes of this one.
    ///
    /// # Panics
    ///
    /// If the id is reserved for children (begins with `sub::` or contains `::sub::`): this fails the
    /// orchestration.
    pub fn schedule_orchestration(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) {
        self.schedule_orchestration_versioned(name, None, instance, input);
    }

    /// Starts an orchestration of its own with a typed input.
    ///
    /// # Panics
    ///
    /// If the id is reserved for children, or the input cannot be encoded: this fails the orchestration.
    pub fn schedule_orchestration_typed<In: Serialize>(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: &In,
    ) {
        self.schedule_orchestration_versioned_typed(name, None, instance, input);
    }

    /// Starts a given version of an orchestration of its own; `None` leaves it to the registry's policy.
    ///
    /// # Panics
    ///
    /// If the id is reserved for children: this fails the orchestration.
    pub fn schedule_orchestration_versioned(
        &self,
        name: impl Into<String>,
        version: Option<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) {
        let (name, instance, input) = (name.into(), instance.into(), input.into());
        assert!(
            !is_reserved_root_id(&instance),
            "detached orchestration instance id '{instance}' uses the reserved sub-orchestration marker \
             'sub::'; root instance ids must not start with it or contain '::sub::'"
        );
        self.ask(|_| Action::StartOrchestrationDetached {
            scheduling_event_id: 0,
            name,
            version,
            instance,
            input,
        });
    }

    /// Starts a given version of an orchestration of its own with a typed input.
    ///
    /// # Panics
    ///
    /// If the id is reserved for children, or the input cannot be encoded: this fails the orchestration.
    pub fn schedule_orchestration_versioned_typed<In: Serialize>(
        &self,
        name: impl Into<String>,
        version: Option<String>,
        instance: impl Into<String>,
        input: &In,
    ) {
        let input = self.encode_or_panic(input);
        self.schedule_orchestration_versioned(name, version, instance, input);
    }

    /// Encodes a typed value for a call that cannot return an error.
    pub(super) fn encode_or_panic<T: Serialize>(&self, value: &T) -> String {
        self.encode(value)
            .unwrap_or_else(|error| panic!("a {} cannot be encoded: {error}", std::any::type_name::<T>()))
    }
}

/// A child to be started; without an instance id it gets one derived from its parent's.
struct Child {
    name: String,
    version: Option<String>,
    instance: Option<String>,
    input: String,
}
