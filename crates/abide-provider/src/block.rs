//! Blocked instances: what cannot run now and waits for a repair.
//!
//! A blocked instance keeps its mail, its due timers and the results of its activities. Nothing about the block is
//! recorded in its history. It belongs to the execution: the next execution begins without it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use abide_model::Timestamp;

use crate::Refusals;

/// Why an instance is blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BlockKind {
    /// The code does not do what the history says it did.
    Nondeterminism,
    /// The code of the orchestration panicked.
    Panic,
    /// The stored history or the stored state of the instance cannot be read.
    Corrupt,
    /// Nodes crashed too often while a turn or an activity was under way.
    Quarantine,
}

impl BlockKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Nondeterminism, Self::Panic, Self::Corrupt, Self::Quarantine];

    /// The name of this kind in columns, logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nondeterminism => "nondeterminism",
            Self::Panic => "panic",
            Self::Corrupt => "corrupt",
            Self::Quarantine => "quarantine",
        }
    }
}

impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no kind of block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no kind of block: nondeterminism, panic, corrupt and quarantine are")]
pub struct UnknownBlockKind(pub String);

impl FromStr for BlockKind {
    type Err = UnknownBlockKind;

    fn from_str(text: &str) -> Result<Self, UnknownBlockKind> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| UnknownBlockKind(text.to_owned()))
    }
}

/// Ends a lease by blocking its instance. Nothing is recorded, the attempt does not count, and all mail stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockInstance {
    /// The token of the lease.
    pub token: String,
    /// Why.
    pub kind: BlockKind,
    /// What an operator needs to know, at most [`MAX_BLOCK_DETAIL`] bytes. Longer texts are cut.
    pub detail: String,
    /// The build that refuses the execution.
    pub build: String,
    /// The event at which history and code differ, if the block is about one.
    pub event_id: Option<u64>,
    /// How long the mail of the instance waits until a build that refused it may try again; `None` is never, which is
    /// the rule for a quarantine.
    pub retry_after: Option<Duration>,
}

/// Ends a lease by holding its activity. The other activities and the turns of its instance go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldWork {
    /// The token of the lease.
    pub token: String,
    /// What an operator needs to know, at most [`MAX_BLOCK_DETAIL`] bytes. Longer texts are cut.
    pub detail: String,
    /// The build that held it.
    pub build: String,
}

/// A store keeps at most so many bytes of a detail.
pub const MAX_BLOCK_DETAIL: usize = 4 * 1024;

/// Cuts a detail to [`MAX_BLOCK_DETAIL`] bytes, at a character.
#[must_use]
pub fn cut_detail(mut detail: String) -> String {
    let mut end = MAX_BLOCK_DETAIL.min(detail.len());
    while !detail.is_char_boundary(end) {
        end -= 1;
    }
    detail.truncate(end);
    detail
}

/// What blocks an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Why.
    pub kind: BlockKind,
    /// Since when, by the store's clock: the first refusal that no build has healed.
    pub since: Timestamp,
    /// What an operator needs to know.
    pub detail: String,
    /// The build that blocked it.
    pub build: String,
    /// The event that the block is about: where history and code differ, or which activity is held.
    pub event_id: Option<u64>,
    /// Whether only an activity is held. The turns of the instance go on.
    pub holds_activity: bool,
}

/// A blocked instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedInstance {
    /// The instance.
    pub instance: String,
    /// The registered name of its orchestration; empty if it never ran.
    pub orchestration_name: String,
    /// What blocks it.
    pub block: Block,
}

/// What a listing says of a block: enough to sort and count by. [`Provider::read_blocks`](crate::Provider::read_blocks)
/// tells the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSummary {
    /// Why.
    pub kind: BlockKind,
    /// Since when, by the store's clock.
    pub since: Timestamp,
    /// Whether only an activity is held. The turns of the instance go on.
    pub holds_activity: bool,
}

impl BlockSummary {
    /// The first of these blocks of one instance: its own, else that of its held activity with the lowest event id.
    #[must_use]
    pub fn first<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> Option<Self> {
        let first = blocks.into_iter().min_by_key(|block| (block.holds_activity, block.event_id))?;
        Some(Self { kind: first.kind, since: first.since, holds_activity: first.holds_activity })
    }
}

/// How many instances are blocked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockedCounts {
    /// By kind; a kind without blocked instances may be missing. An instance that has several held activities counts
    /// once for each.
    pub by_kind: Vec<(BlockKind, u64)>,
    /// The one that has been blocked for the longest time.
    pub oldest: Option<BlockedInstance>,
}

/// What a store remembers of refusals, as a lease tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedExecution {
    /// The builds that refused this execution.
    pub by: Refusals,
    /// How long its mail waits until a build that refused it may try again, as the last refusal said.
    pub retry_after: Option<Duration>,
    /// Whether that time has come. Until then a build that refused the execution is given it only to cancel it.
    pub is_retry_due: bool,
    /// What blocks it; `None` if another build has healed it since.
    pub block: Option<Block>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_round_trip_through_their_names() {
        for kind in BlockKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert_eq!("paused".parse::<BlockKind>(), Err(UnknownBlockKind("paused".to_owned())));
    }

    #[test]
    fn an_instance_is_listed_with_its_own_block_before_those_of_its_activities() {
        let block = |event_id, holds_activity| Block {
            kind: if holds_activity { BlockKind::Quarantine } else { BlockKind::Panic },
            since: Timestamp::from_millis(event_id),
            detail: String::new(),
            build: String::new(),
            event_id: Some(event_id),
            holds_activity,
        };
        let blocks = [block(2, true), block(9, false), block(1, true)];
        let since = |blocks: &[Block]| BlockSummary::first(blocks).map(|first| first.since.as_millis());
        assert_eq!(since(&blocks), Some(9));
        assert_eq!(since(&[block(2, true), block(1, true)]), Some(1));
        assert_eq!(since(&[]), None);
    }

    #[test]
    fn a_long_detail_is_cut_at_a_character() {
        let detail = "é".repeat(MAX_BLOCK_DETAIL);
        let cut = cut_detail(detail);
        assert_eq!(cut.len(), MAX_BLOCK_DETAIL);
        assert_eq!(cut_detail(format!("a{cut}")).len(), MAX_BLOCK_DETAIL - 1);
        assert_eq!(cut_detail("short".to_owned()), "short");
    }
}
