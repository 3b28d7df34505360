//! Log lines that are spoken once, however often the code is replayed.

use super::OrchestrationContext;
use crate::notice::LineLevel;

impl OrchestrationContext {
    /// Logs at a level by name (`error`, `warn` or `warning`, `info`, `debug`, `trace`, in any case); an unknown name is
    /// logged at trace level, with the name as a field.
    pub fn trace(&self, level: impl Into<String>, message: impl Into<String>) {
        self.tape.say(LineLevel::parse(&level.into()), message.into());
    }

    /// Logs normal progress.
    pub fn trace_info(&self, message: impl Into<String>) {
        self.tape.say(LineLevel::Info, message.into());
    }

    /// Logs something a person should look at.
    pub fn trace_warn(&self, message: impl Into<String>) {
        self.tape.say(LineLevel::Warn, message.into());
    }

    /// Logs something that is broken.
    pub fn trace_error(&self, message: impl Into<String>) {
        self.tape.say(LineLevel::Error, message.into());
    }

    /// Logs detail for developers.
    pub fn trace_debug(&self, message: impl Into<String>) {
        self.tape.say(LineLevel::Debug, message.into());
    }
}
