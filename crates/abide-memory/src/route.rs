//! What a ready instance needs of the node that leases it.

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::rows::{MessageClass, Starter};
use abide_provider::{InstanceRoute, Refusals, Suspicion};

use crate::state::{Mailbox, State};
use crate::stored::Stored;

impl State {
    /// The route of a mailbox, from its instance, its visible mail and the builds that refused it.
    pub(crate) fn route_of(&self, name: &str, now: Timestamp) -> InstanceRoute {
        let Some(mailbox) = self.mailboxes.get(name) else { return InstanceRoute::default() };
        let (orchestration, version) = self.code_of(name, mailbox, now).unwrap_or_default();
        let visible = || self.mail_of(name).filter(|(_, message)| message.is_visible(now));
        let crashes = visible().next().map_or(0, |(_, message)| message.attempts);
        let pin = mailbox.current_execution().and_then(|execution| execution.pin.as_ref());
        InstanceRoute {
            orchestration,
            version,
            pin: pin.map(ToString::to_string).unwrap_or_default(),
            refused_by: mailbox.refused_now(),
            is_suspect: Suspicion::after(crashes).is_suspect(),
            has_cancel: visible().any(|(_, message)| message.class == MessageClass::Cancel),
        }
    }

    /// Name and version of the code that the next turn runs; `None` if it runs none.
    fn code_of(&self, name: &str, mailbox: &Mailbox, now: Timestamp) -> Option<(String, String)> {
        let starter = |starts: fn(MessageClass) -> bool| {
            let mut visible = self.mail_of(name).filter(|(_, message)| message.is_visible(now));
            visible.find_map(|(_, message)| match &message.item {
                Stored::Readable(item) if starts(message.class) => Starter::of(item),
                Stored::Readable(_) | Stored::Unreadable(_) => None,
            })
        };
        let named = |starter: Starter| (starter.orchestration_name, starter.orchestration_version);
        match (&mailbox.instance, mailbox.current_execution().map(|execution| execution.status)) {
            (Some(instance), Some(ExecutionStatus::Running)) => {
                Some((instance.name.clone(), instance.version.clone()))
            }
            (Some(_), Some(ExecutionStatus::ContinuedAsNew)) => {
                starter(|class| class == MessageClass::ContinueAsNew).map(named)
            }
            (Some(_), Some(ExecutionStatus::Completed | ExecutionStatus::Failed)) => None,
            (None, _) | (_, None) => starter(MessageClass::starts).map(named),
        }
    }
}

impl Mailbox {
    fn refused_now(&self) -> Refusals {
        match &self.refused {
            Some(refused) if !refused.is_open => refused.by.clone(),
            Some(_) | None => Refusals::default(),
        }
    }
}
