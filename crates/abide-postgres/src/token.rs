//! What a lease token says: which row, and which lease on it.
//!
//! The row is found by its key, without an index over tokens; the nonce is compared under the row's lock. The token of an activity names
//! its mailbox too, so that an ack can lock the instance before it looks at the work. `take_back.sql` spells tokens as well.

use std::fmt;

/// A lease on an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MailboxToken {
    pub(crate) mailbox: i64,
    pub(crate) nonce: i64,
}

/// A lease on an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkToken {
    pub(crate) no: i64,
    pub(crate) mailbox: i64,
    pub(crate) nonce: i64,
}

const MAILBOX: &str = "lock_i";
const WORK: &str = "lock_w";

impl fmt::Display for MailboxToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MAILBOX}.{}.{}", self.mailbox, self.nonce)
    }
}

impl fmt::Display for WorkToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WORK}.{}.{}.{}", self.mailbox, self.no, self.nonce)
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
        let [mailbox, no, nonce] = fields(text, WORK)?;
        Some(Self { no, mailbox, nonce })
    }
}

/// Exactly `N` numbers behind the prefix.
fn fields<const N: usize>(text: &str, prefix: &str) -> Option<[i64; N]> {
    let mut parts = text.split('.');
    if parts.next() != Some(prefix) {
        return None;
    }
    let mut found = [0; N];
    for field in &mut found {
        *field = parts.next()?.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_were() {
        let work = WorkToken { no: 16, mailbox: 1, nonce: i64::MAX };
        assert_eq!(WorkToken::parse(&work.to_string()), Some(work));
        let mailbox = MailboxToken { mailbox: 12, nonce: 0 };
        assert_eq!(MailboxToken::parse(&mailbox.to_string()), Some(mailbox));
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for text in [
            "",
            "lock_",
            "lock_i",
            "lock_i.1",
            "lock_i.1.2.3",
            "lock_w.1.2",
            "lock_i.x.y",
            "lock_i.1.-",
            "lock_w.1.2.3.4",
        ] {
            assert_eq!(MailboxToken::parse(text), None, "{text}");
            assert_eq!(WorkToken::parse(text), None, "{text}");
        }
    }
}
