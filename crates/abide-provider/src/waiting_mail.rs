//! Mail for an instance that nobody has started yet: how long it waits, and who hears of it.

use std::time::Duration;

use crate::reminders::Reminders;
use crate::rows::MessageClass;

/// How long a signal or a cancel waits for the start of its instance, from the time at which it is visible.
/// After that it is gone. Without a limit, a message to a mistyped id would stay for ever, and would reach
/// whoever is started under that id a year later.
pub const MAIL_WAITS_FOR_START: Duration = Duration::from_secs(3_600);

/// Warns of mail that waits for a start: once per instance and minute.
///
/// A store warns of what clients send. What a turn sends to an instance that does not exist waits like any
/// other mail, without a warning: it is the parent's cancel of a child that has been deleted.
#[derive(Debug, Default)]
pub struct WaitingMailWarnings {
    told: Reminders<String>,
}

impl WaitingMailWarnings {
    /// Tells operators that a message for `instance` was stored and waits for a start. `now` is the monotonic
    /// time.
    pub fn warn(&self, instance: &str, class: MessageClass, now: Duration) {
        if self.told.is_due(instance.to_owned(), now) {
            let kind = if class == MessageClass::Cancel { "cancel" } else { "signal" };
            tracing::warn!(target: "abide::store", instance_id = %instance, kind,
                wait = ?MAIL_WAITS_FOR_START,
                "a message was sent to an instance that does not exist; it is deleted if the instance is not \
                 started in time");
        }
    }
}
