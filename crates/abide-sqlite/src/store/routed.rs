//! By whom a mailbox can be leased: its route, from what it holds.

use std::ops::ControlFlow;

use abide_model::ExecutionStatus;
use abide_provider::rows::Starter;
use abide_provider::{InstanceRoute, Suspicion};

use super::Tx;
use super::mailbox::{ANY_START, CONTINUE, Existence, Held, MailboxRow, Readiness};
use crate::statements::Sql;

/// When a mailbox can be leased, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Routed {
    pub(crate) ready: Option<i64>,
    pub(crate) due_at: Option<i64>,
    pub(crate) route: i64,
}

/// What a commit has just written, so that it need not be read again.
#[derive(Debug, Default)]
pub(crate) struct Told<'a> {
    /// What it said about the instance, if anything.
    pub(crate) instance: Option<&'a MailboxRow>,
    pub(crate) successor: Option<Successor>,
}

/// The message that starts the next execution, as a commit has sent it.
#[derive(Debug)]
pub(crate) struct Successor {
    pub(crate) number: i64,
    /// Name and version of what it starts.
    pub(crate) code: (String, String),
}

impl Tx<'_, '_> {
    /// Who can lease a mailbox, from where its instance stands, its mail, and who refused it.
    pub(crate) fn routed(
        &self,
        mailbox: &mut Held,
        told: &Told<'_>,
        readiness: Readiness,
    ) -> rusqlite::Result<Routed> {
        let Readiness { ready, mut due_at, first, attempts } = readiness;
        // Without any mail there is no cancel.
        mailbox.flags.may_have_cancel &= first.is_some();
        let is_suspect = Suspicion::after(u32::try_from(attempts).unwrap_or(u32::MAX)).is_suspect();
        let stored = self.route(mailbox.route)?;
        // Of an instance that runs, most turns change nothing of this.
        let keeps_code = told.instance.is_none()
            && mailbox.existence() == Existence::Instance
            && mailbox.status != Some(ExecutionStatus::ContinuedAsNew);
        let is_plain = mailbox.flags.are_none() && !stored.has_cancel && stored.refused_by.is_empty();
        if keeps_code && is_plain && stored.is_suspect == is_suspect {
            return Ok(Routed { ready, due_at, route: mailbox.route });
        }
        let has_cancel = self.has_cancel(mailbox)?;
        let refused = self.refused_now(mailbox.no, &mut mailbox.flags)?;
        due_at = [due_at, refused.due_at].into_iter().flatten().min();
        let (orchestration, version) = self.code_of(mailbox, told, &stored, ready)?;
        let pin = told.instance.map_or_else(|| stored.pin.clone(), |told| told.pin.clone());
        let refused_by = refused.by;
        let route = InstanceRoute { orchestration, version, pin, refused_by, is_suspect, has_cancel };
        Ok(Routed { ready, due_at, route: self.intern(route)? })
    }

    /// Name and version of the code that the next turn runs; empty if it runs none.
    fn code_of(
        &self,
        mailbox: &Held,
        told: &Told<'_>,
        stored: &InstanceRoute,
        ready: Option<i64>,
    ) -> rusqlite::Result<(String, String)> {
        let class = match (mailbox.existence(), mailbox.status) {
            (Existence::MailboxOnly, _) => ANY_START,
            (Existence::Instance, Some(ExecutionStatus::ContinuedAsNew)) => CONTINUE,
            (Existence::Instance, Some(ExecutionStatus::Completed | ExecutionStatus::Failed)) => {
                return Ok((String::new(), String::new()));
            }
            (Existence::Instance, Some(ExecutionStatus::Running) | None) => {
                let of_told = told.instance.map(|told| (told.name.clone(), told.version.clone()));
                return Ok(of_told.unwrap_or_else(|| (stored.orchestration.clone(), stored.version.clone())));
            }
        };
        if let Some(successor) = told.successor.as_ref().filter(|successor| Some(successor.number) == ready) {
            return Ok(successor.code.clone());
        }
        let mut starter = None;
        if ready.is_some() {
            self.sql.rows_while(Sql::FirstStart, [mailbox.no, class], |row| {
                let item = row.get_ref(2)?.as_bytes().unwrap_or_default();
                starter = serde_json::from_slice(item).ok().and_then(|item| Starter::of(&item));
                Ok(if starter.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
        }
        let code = |starter: Starter| (starter.orchestration_name, starter.orchestration_version);
        Ok(starter.map(code).unwrap_or_default())
    }

    /// Whether a cancel is visible. Looked for only where one was sent.
    fn has_cancel(&self, mailbox: &mut Held) -> rusqlite::Result<bool> {
        if !mailbox.flags.may_have_cancel {
            return Ok(false);
        }
        let first: Option<i64> = self.sql.row(Sql::FirstCancel, [mailbox.no], |row| row.get(0))?;
        mailbox.flags.may_have_cancel = first.is_some();
        Ok(first == Some(0))
    }
}
