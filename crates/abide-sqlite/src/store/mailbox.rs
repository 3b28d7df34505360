//! Mailboxes: finding, making, and knowing when they can be leased.

use abide_model::ExecutionStatus;
use abide_provider::ParentLink;
use rusqlite::{Row, params};

use super::Tx;
use super::route::NO_ROUTE;
use super::routed::Told;
use crate::encode::number;
use crate::statements::Sql;
use crate::text::{lossy, lossy_or_null};

/// A mailbox, as read.
#[derive(Debug, Clone)]
pub(crate) struct MailboxRow {
    pub(crate) no: i64,
    pub(crate) id: String,
    pub(crate) execution: i64,
    pub(crate) last_event: i64,
    pub(crate) status: Option<ExecutionStatus>,
    pub(crate) pin: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) parent: Option<Parent>,
    pub(crate) created_at: i64,
    pub(crate) ready: Option<i64>,
    pub(crate) completed_at: Option<i64>,
    pub(crate) route: i64,
    pub(crate) flags: Flags,
}

/// What a mailbox has that most have not, and that costs a look only then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of the column")]
pub(crate) struct Flags {
    /// Builds refused its execution: there is a row in `block`.
    pub(crate) has_block: bool,
    /// A cancel was sent to it, and may still be there.
    pub(crate) may_have_cancel: bool,
    /// It is no instance, nothing in it starts one, and its messages expire.
    pub(crate) waits_for_start: bool,
    /// It was imported, and its queues are not there yet: nothing can lease it.
    pub(crate) is_closed: bool,
}

impl Flags {
    const BLOCK: i64 = 1;
    const CANCEL: i64 = 2;
    const WAITS: i64 = 4;
    const CLOSED: i64 = 8;

    fn read(column: i64) -> Self {
        let has = |bit| column & bit != 0;
        Self {
            has_block: has(Self::BLOCK),
            may_have_cancel: has(Self::CANCEL),
            waits_for_start: has(Self::WAITS),
            is_closed: has(Self::CLOSED),
        }
    }

    pub(crate) fn column(self) -> i64 {
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        bit(self.has_block, Self::BLOCK)
            | bit(self.may_have_cancel, Self::CANCEL)
            | bit(self.waits_for_start, Self::WAITS)
            | bit(self.is_closed, Self::CLOSED)
    }

    /// Whether none of them has a say in who can lease the mailbox.
    pub(crate) fn are_none(self) -> bool {
        !self.has_block && !self.may_have_cancel && !self.is_closed
    }
}

/// What enqueueing must know about a mailbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Brief {
    pub(crate) no: i64,
    pub(crate) existence: Existence,
    pub(crate) leased: bool,
    pub(crate) ready: bool,
    pub(crate) due_at: Option<i64>,
    pub(crate) route: i64,
    pub(crate) flags: Flags,
}

impl Brief {
    /// Reads the columns that `brief_by_id` and `brief_by_no` return.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let existence = if row.get::<_, i64>(1)? > 0 { Existence::Instance } else { Existence::MailboxOnly };
        Ok(Self {
            no: row.get(0)?,
            existence,
            leased: row.get(2)?,
            ready: row.get(3)?,
            due_at: row.get(4)?,
            route: row.get(5)?,
            flags: Flags::read(row.get(6)?),
        })
    }

    /// A mailbox that was just made.
    const fn empty(no: i64) -> Self {
        Self {
            no,
            existence: Existence::MailboxOnly,
            leased: false,
            ready: false,
            due_at: None,
            route: NO_ROUTE,
            flags: Flags {
                has_block: false,
                may_have_cancel: false,
                waits_for_start: false,
                is_closed: false,
            },
        }
    }
}

/// What a lease, a commit and a release must know about a mailbox.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) no: i64,
    pub(crate) id: String,
    pub(crate) execution: i64,
    pub(crate) last_event: i64,
    pub(crate) updated_at: i64,
    pub(crate) lease: Option<Lease>,
    pub(crate) ready: bool,
    /// Missing if it is no instance, or if it was damaged.
    pub(crate) status: Option<ExecutionStatus>,
    /// When its next hidden message becomes visible, as of the last time that it was not leased.
    pub(crate) due_at: Option<i64>,
    pub(crate) route: i64,
    pub(crate) flags: Flags,
}

impl Held {
    /// Reads the columns that `held_mailbox` returns.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let lease = match row.get::<_, Option<i64>>(5)? {
            None => None,
            Some(nonce) => {
                let batch = lossy(row, 7)?;
                Some(Lease { nonce, until: row.get(6)?, batch: parse_batch(&batch), counts: row.get(13)? })
            }
        };
        Ok(Self {
            no: row.get(0)?,
            id: lossy(row, 1)?,
            execution: row.get(2)?,
            last_event: row.get(3)?,
            updated_at: row.get(4)?,
            lease,
            ready: row.get(8)?,
            status: lossy(row, 9)?.parse().ok(),
            due_at: row.get(10)?,
            route: row.get(11)?,
            flags: Flags::read(row.get(12)?),
        })
    }

    pub(crate) fn existence(&self) -> Existence {
        if self.execution > 0 { Existence::Instance } else { Existence::MailboxOnly }
    }

    /// Also if it is about to continue as new.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.status, Some(ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew))
    }

    /// The lease, if it has not run out.
    pub(crate) fn valid_lease(&self, now: i64) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| lease.until > now)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Parent {
    pub(crate) instance: String,
    pub(crate) execution: Option<i64>,
    pub(crate) event: Option<i64>,
}

impl Parent {
    /// As callers know it.
    pub(crate) fn link(&self) -> ParentLink {
        ParentLink {
            instance: self.instance.clone(),
            execution_id: self.execution.map(number),
            event_id: self.event.map(number),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Lease {
    pub(crate) nonce: i64,
    pub(crate) until: i64,
    pub(crate) batch: Vec<i64>,
    /// Whether it is an attempt if it is lost. That of a suspect is none until its code runs.
    pub(crate) counts: bool,
}

/// When a mailbox that is not leased can be leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// Its lowest visible message, if it can be leased now.
    pub(crate) ready: Option<i64>,
    /// When its next hidden message becomes visible.
    pub(crate) due_at: Option<i64>,
    /// When its first message is visible: 0 is now.
    pub(crate) first: Option<i64>,
    /// How often its lowest visible message was under way in vain.
    pub(crate) attempts: i64,
}

impl MailboxRow {
    /// Reads the columns that `mailbox_by_id`, `mailbox_by_no` and `ready_mailboxes` return.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let parent = match lossy_or_null(row, 8)? {
            None => None,
            Some(instance) => Some(Parent { instance, execution: row.get(9)?, event: row.get(10)? }),
        };
        Ok(Self {
            no: row.get(0)?,
            id: lossy(row, 1)?,
            execution: row.get(2)?,
            last_event: row.get(3)?,
            status: lossy(row, 4)?.parse().ok(),
            pin: lossy(row, 5)?,
            name: lossy(row, 6)?,
            version: lossy(row, 7)?,
            parent,
            created_at: row.get(11)?,
            ready: row.get(12)?,
            completed_at: row.get(13)?,
            route: row.get(14)?,
            flags: Flags::read(row.get(15)?),
        })
    }

    pub(crate) fn is_instance(&self) -> bool {
        self.execution > 0
    }

    /// How the current execution stands. What was damaged runs, so that whoever leases it finds out.
    pub(crate) fn leased_status(&self) -> Option<ExecutionStatus> {
        let unreadable = self.is_instance().then_some(ExecutionStatus::Running);
        self.status.or(unreadable)
    }
}

pub(crate) fn format_batch(numbers: impl Iterator<Item = i64>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}

pub(crate) fn parse_batch(text: &str) -> Vec<i64> {
    text.split(',').filter_map(|number| number.parse().ok()).collect()
}

impl Tx<'_, '_> {
    pub(crate) fn mailbox_by_id(&self, id: &str) -> rusqlite::Result<Option<MailboxRow>> {
        self.sql.row(Sql::MailboxById, [id], MailboxRow::read)
    }

    pub(crate) fn mailbox_by_no(&self, no: i64) -> rusqlite::Result<Option<MailboxRow>> {
        self.sql.row(Sql::MailboxByNo, [no], MailboxRow::read)
    }

    pub(crate) fn held(&self, no: i64) -> rusqlite::Result<Option<Held>> {
        self.sql.row(Sql::HeldMailbox, [no], Held::read)
    }

    /// A mailbox by its name, without mail that has expired.
    pub(crate) fn brief_by_id(&self, id: &str) -> rusqlite::Result<Option<Brief>> {
        match self.sql.row(Sql::BriefById, [id], Brief::read)? {
            Some(brief) if brief.flags.waits_for_start => self.forget_expired(brief),
            found => Ok(found),
        }
    }

    /// The same by number, with its name.
    pub(crate) fn brief_by_no(&self, no: i64) -> rusqlite::Result<Option<(Brief, String)>> {
        self.sql.row(Sql::BriefByNo, [no], |row| Ok((Brief::read(row)?, lossy(row, 7)?)))
    }

    pub(crate) fn brief_or_new(&self, id: &str) -> rusqlite::Result<Brief> {
        match self.brief_by_id(id)? {
            Some(brief) => Ok(brief),
            None => Ok(Brief::empty(self.create_mailbox(id)?.no)),
        }
    }

    pub(crate) fn create_mailbox(&self, id: &str) -> rusqlite::Result<MailboxRow> {
        let no = self.next_mailbox();
        self.sql.execute(Sql::CreateMailbox, params![no, id])?;
        Ok(MailboxRow {
            no,
            id: id.to_owned(),
            execution: 0,
            last_event: 0,
            status: None,
            pin: String::new(),
            name: String::new(),
            version: "unknown".to_owned(),
            parent: None,
            created_at: 0,
            ready: None,
            completed_at: None,
            route: NO_ROUTE,
            flags: Flags::default(),
        })
    }

    /// When a mailbox can be leased, from its messages alone: one seek if it has none.
    pub(crate) fn readiness(&self, no: i64, is_instance: Existence) -> rusqlite::Result<Readiness> {
        let head = self.sql.row(Sql::FirstMessage, [no], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        })?;
        match head {
            None => Ok(Readiness { ready: None, due_at: None, first: None, attempts: 0 }),
            Some((visible_at, ..)) if visible_at > 0 => {
                let at = Some(visible_at);
                Ok(Readiness { ready: None, due_at: at, first: at, attempts: 0 })
            }
            Some((_, lowest, attempts)) => {
                let due_at = self.sql.row(Sql::FirstHiddenMessage, [no], |row| row.get(0))?;
                let ready = match is_instance {
                    Existence::Instance => Some(lowest),
                    Existence::MailboxOnly if self.has_visible_start(no)? => Some(lowest),
                    Existence::MailboxOnly => None,
                };
                Ok(Readiness { ready, due_at, first: Some(0), attempts })
            }
        }
    }

    fn has_visible_start(&self, no: i64) -> rusqlite::Result<bool> {
        Ok(self.sql.row(Sql::FirstStart, params![no, ANY_START], |_| Ok(()))?.is_some())
    }

    /// Ends the lease of a mailbox, if it has one, and says when it can be leased again, and by whom.
    pub(crate) fn release(&self, mailbox: &Held) -> rusqlite::Result<()> {
        let readiness = self.readiness(mailbox.no, mailbox.existence())?;
        let mut mailbox = mailbox.clone();
        let mut routed = self.routed(&mut mailbox, &Told::default(), readiness)?;
        if mailbox.flags.is_closed {
            (routed.ready, routed.due_at) = (None, None);
        }
        self.sql.execute(
            Sql::ReleaseMailbox,
            params![mailbox.no, routed.ready, routed.due_at, routed.route, mailbox.flags.column()],
        )?;
        Ok(())
    }
}

/// The class of a continue-as-new.
pub(crate) const CONTINUE: i64 = 2;

/// The lowest class of messages that start anything.
pub(crate) const ANY_START: i64 = 1;

/// Whether a mailbox belongs to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existence {
    Instance,
    MailboxOnly,
}
