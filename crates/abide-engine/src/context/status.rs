//! Custom status: a text that says how far the orchestration is, visible to clients.

use abide_model::Action;

use super::OrchestrationContext;

impl OrchestrationContext {
    /// Sets the custom status. Clients see it once the turn is committed.
    pub fn set_custom_status(&self, status: impl Into<String>) {
        self.update_status(Some(status.into()));
    }

    /// Takes the custom status back.
    pub fn reset_custom_status(&self) {
        self.update_status(None);
    }

    /// The custom status as this code set it, or inherited it from the execution before.
    #[must_use]
    pub fn get_custom_status(&self) -> Option<String> {
        self.tape.status()
    }

    fn update_status(&self, status: Option<String>) {
        let asked = self.ask(|_| Action::UpdateCustomStatus { status: status.clone() });
        if asked.is_some() {
            self.tape.set_status(status);
        }
    }
}
