//! [`OrchestrationContext`]: what an orchestration can ask for and know.
//!
//! One file per subject. Every method that starts something writes an ask on the tape and hands out a
//! [`DurableFuture`](crate::DurableFuture); nothing here does I/O, blocks, or reads a clock.

mod activity;
mod child;
mod event;
mod kv;
mod next;
mod prune;
mod retry;
mod several;
mod status;
mod system;
mod timer;
mod trace;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use abide_model::{Action, Event};

pub use timer::Elapsed;

use crate::ask::Ask;
use crate::tape::Tape;
use crate::token::Token;
use crate::turn::Identity;
use crate::window::Window;

/// The handle through which an orchestration asks for everything it cannot do itself.
///
/// It is cheap to clone. Requests count only while the orchestration's own code is being polled: a context
/// that is carried off into a spawned task fails the orchestration with a message that says so.
#[derive(Clone)]
pub struct OrchestrationContext {
    tape: Arc<Tape>,
}

impl OrchestrationContext {
    /// A context that belongs to no execution, for code under test that only wants to be handed one: it
    /// knows who it is, but what it is asked for never happens. `history` and `worker_id` are ignored.
    #[must_use]
    #[expect(clippy::too_many_arguments, reason = "a frozen signature")]
    pub fn new(
        history: Vec<Event>,
        execution_id: u64,
        instance_id: String,
        orchestration_name: String,
        orchestration_version: String,
        worker_id: Option<String>,
    ) -> Self {
        drop((history, worker_id));
        let who = Identity {
            instance: instance_id,
            execution_id,
            orchestration: orchestration_name,
            version: orchestration_version,
        };
        let tape = Tape::new(who, Window::new(None), BTreeMap::new());
        tape.close();
        Self::of(tape)
    }

    pub(crate) fn of(tape: Arc<Tape>) -> Self {
        Self { tape }
    }

    /// The instance this is a run of.
    #[must_use]
    pub fn instance_id(&self) -> String {
        self.tape.identity().instance.clone()
    }

    /// Which run of the instance this is: 1, then one more per continue-as-new.
    #[must_use]
    pub fn execution_id(&self) -> u64 {
        self.tape.identity().execution_id
    }

    /// The name this orchestration is registered under.
    #[must_use]
    pub fn orchestration_name(&self) -> String {
        self.tape.identity().orchestration.clone()
    }

    /// The version of the registered handler, as text.
    #[must_use]
    pub fn orchestration_version(&self) -> String {
        self.tape.identity().version.clone()
    }

    /// Whether the code is re-living recorded events. For diagnosis only: code that behaves differently
    /// while replaying does not replay.
    #[must_use]
    pub fn is_replaying(&self) -> bool {
        self.tape.is_replaying()
    }

    /// Whether what `trace_*` is given now will be seen: while the code does something for the first time.
    #[must_use]
    pub fn is_logging_enabled(&self) -> bool {
        self.tape.is_live()
    }

    /// Asks for something that needs nothing but its action.
    fn ask(&self, action: impl FnOnce(Token) -> Action) -> Option<Token> {
        self.tape.ask(|token, _| Ask::plain(token, action(token)))
    }

    /// Encodes a typed value the way this execution's history does.
    fn encode<T: serde::Serialize>(&self, value: &T) -> Result<String, String> {
        self.tape.codec().encode(value).map_err(|error| format!("encode: {error}"))
    }
}

impl fmt::Debug for OrchestrationContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrchestrationContext").field("identity", self.tape.identity()).finish()
    }
}
