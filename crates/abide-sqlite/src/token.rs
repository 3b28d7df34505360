//! What a lease token says: which row, and which lease on it.
//!
//! The row is found by its key, without an index over tokens; the nonce is compared under the write lock.

use std::fmt;

use crate::text::Text;

/// The key of a work row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkKey {
    pub(crate) mailbox: i64,
    pub(crate) execution: i64,
    pub(crate) activity: i64,
    pub(crate) no: i64,
}

/// A lease on an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MailboxToken {
    pub(crate) mailbox: i64,
    pub(crate) nonce: i64,
}

/// A lease on an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkToken {
    pub(crate) key: WorkKey,
    pub(crate) nonce: i64,
    pub(crate) affinity: Affinity,
}

/// What a transaction did to a lease on an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseChange {
    /// It was granted.
    Granted(WorkToken),
    /// It was finished, given back, taken away, or ran out. There is one lease on a row at most, so its key says which.
    Ended(WorkKey),
}

/// Whether an activity belongs to a session, so that whoever finishes it need not look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Affinity {
    Free,
    Session,
}

impl Affinity {
    pub(crate) fn of(session: Option<&Text>) -> Self {
        if session.is_some() { Self::Session } else { Self::Free }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Free => "lock_w",
            Self::Session => "lock_s",
        }
    }
}

const MAILBOX: &str = "lock_i";

impl fmt::Display for MailboxToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MAILBOX}.{:x}.{:016x}", self.mailbox, self.nonce)
    }
}

impl fmt::Display for WorkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkKey { mailbox, execution, activity, no } = self.key;
        let prefix = self.affinity.prefix();
        write!(f, "{prefix}.{mailbox:x}.{execution:x}.{activity:x}.{no:x}.{:016x}", self.nonce)
    }
}

impl MailboxToken {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let [mailbox, nonce] = fields(text, MAILBOX)?;
        Some(Self { mailbox, nonce })
    }
}

impl WorkToken {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let affinity = [Affinity::Free, Affinity::Session];
        affinity.into_iter().find_map(|affinity| {
            let [mailbox, execution, activity, no, nonce] = fields(text, affinity.prefix())?;
            Some(Self { key: WorkKey { mailbox, execution, activity, no }, nonce, affinity })
        })
    }
}

/// Exactly `N` hexadecimal numbers behind the prefix.
fn fields<const N: usize>(text: &str, prefix: &str) -> Option<[i64; N]> {
    let mut parts = text.split('.');
    if parts.next() != Some(prefix) {
        return None;
    }
    let mut found = [0; N];
    for field in &mut found {
        *field = i64::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_were() {
        let key = WorkKey { mailbox: 1, execution: i64::MAX, activity: 255, no: 16 };
        for affinity in [Affinity::Free, Affinity::Session] {
            let work = WorkToken { key, nonce: 7, affinity };
            assert_eq!(WorkToken::parse(&work.to_string()), Some(work));
        }
        let mailbox = MailboxToken { mailbox: 12, nonce: i64::MAX };
        assert_eq!(MailboxToken::parse(&mailbox.to_string()), Some(mailbox));
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for text in
            ["", "lock_", "lock_i", "lock_i.1", "lock_i.1.2.3", "lock_w.1.2", "lock_i.x.y", "lock_i.1.-"]
        {
            assert_eq!(MailboxToken::parse(text), None, "{text}");
            assert_eq!(WorkToken::parse(text), None, "{text}");
        }
    }
}
