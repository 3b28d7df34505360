//! Instances page by page.
//!
//! A page begins behind the last instance of the page before, not at a count, so it costs the same wherever it is, and
//! what comes and goes meanwhile neither repeats an instance nor skips one.

use std::fmt;
use std::str::FromStr;

use abide_model::ExecutionStatus;

use crate::{BlockKind, BlockSummary};

/// How many instances a page has if the query does not say.
pub const DEFAULT_PAGE: u32 = 100;

/// How many instances a page can have.
pub const LARGEST_PAGE: u32 = 1_000;

/// Which instances to list, in which order, and from where. All that is set must hold.
///
/// A page is one query, wherever it is. The stores of this project find by an index: statuses, name, the children of one
/// instance and the time of creation, in the order of creation; and a prefix, in the order of ids. Blocked instances are found
/// among those that are blocked, in any order. What else is asked is
/// looked at instance by instance from there on, so a page of something rare (a version that hardly anybody has, and no name)
/// goes through many.
///
/// ```
/// use abide_model::ExecutionStatus;
/// use abide_provider::{InstanceQuery, Parentage};
///
/// let failed_orders = InstanceQuery::new()
///     .status(ExecutionStatus::Failed)
///     .name("Order")
///     .parentage(Parentage::Root)
///     .limit(20);
/// # assert_eq!(failed_orders.page_size(), Ok(20));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceQuery {
    /// The current execution stands like one of these; any if empty.
    pub statuses: Vec<ExecutionStatus>,
    /// The registered name of the orchestration.
    pub name: Option<String>,
    /// The version of its handler.
    pub version: Option<String>,
    /// The beginning of the instance's id.
    pub id_prefix: Option<String>,
    /// Whose child it is.
    pub parentage: Parentage,
    /// Whether it is blocked.
    pub blocked: BlockFilter,
    /// Created then or later, in milliseconds since the Unix epoch.
    pub created_from: Option<u64>,
    /// Created earlier, in milliseconds since the Unix epoch.
    pub created_before: Option<u64>,
    /// Which come first.
    pub order: InstanceOrder,
    /// How many a page has: 1 to [`LARGEST_PAGE`], [`DEFAULT_PAGE`] if not set.
    pub limit: Option<u32>,
    /// Where the page before ended.
    pub after: Option<PageCursor>,
}

impl InstanceQuery {
    /// All instances, newest first.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Also those that stand like this.
    #[must_use]
    pub fn status(mut self, status: ExecutionStatus) -> Self {
        self.statuses.push(status);
        self
    }

    /// Only those of this orchestration.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Only those of this version.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        Self { version: Some(version.into()), ..self }
    }

    /// Only those whose id begins like this.
    #[must_use]
    pub fn id_prefix(self, prefix: impl Into<String>) -> Self {
        Self { id_prefix: Some(prefix.into()), ..self }
    }

    /// Only roots, or the children of one instance.
    #[must_use]
    pub fn parentage(self, parentage: Parentage) -> Self {
        Self { parentage, ..self }
    }

    /// Only those that are blocked, or of which an activity is held. A start that never ran is no instance yet:
    /// [`ProviderAdmin::list_blocked`](crate::ProviderAdmin::list_blocked) has these, too.
    #[must_use]
    pub fn blocked(self) -> Self {
        Self { blocked: BlockFilter::Blocked, ..self }
    }

    /// Only those that are blocked for this reason.
    #[must_use]
    pub fn blocked_by(self, kind: BlockKind) -> Self {
        Self { blocked: BlockFilter::By(kind), ..self }
    }

    /// Only those created at this time or later, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn created_from(self, time: u64) -> Self {
        Self { created_from: Some(time), ..self }
    }

    /// Only those created before this time, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn created_before(self, time: u64) -> Self {
        Self { created_before: Some(time), ..self }
    }

    /// In this order.
    #[must_use]
    pub fn order(self, order: InstanceOrder) -> Self {
        Self { order, ..self }
    }

    /// At most this many a page.
    #[must_use]
    pub fn limit(self, limit: u32) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The page behind this one's end.
    #[must_use]
    pub fn after(self, cursor: PageCursor) -> Self {
        Self { after: Some(cursor), ..self }
    }

    /// How many instances the page has.
    ///
    /// # Errors
    ///
    /// If that is none, or too many.
    pub fn page_size(&self) -> Result<u32, InvalidQuery> {
        match self.limit {
            None => Ok(DEFAULT_PAGE),
            Some(limit @ 1..=LARGEST_PAGE) => Ok(limit),
            Some(limit) => Err(InvalidQuery::PageSize { limit }),
        }
    }

    /// Where the page begins.
    ///
    /// # Errors
    ///
    /// If the page before was in another order.
    pub fn start(&self) -> Result<Option<&PageCursor>, InvalidQuery> {
        match &self.after {
            Some(cursor) if cursor.order != self.order => {
                Err(InvalidQuery::OrderChanged { before: cursor.order, now: self.order })
            }
            cursor => Ok(cursor.as_ref()),
        }
    }

    /// Whether an instance is meant, wherever the page begins.
    #[must_use]
    pub fn admits(&self, instance: &InstanceSummary) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        (self.statuses.is_empty() || self.statuses.contains(&instance.status))
            && is(&self.name, &instance.orchestration_name)
            && is(&self.version, &instance.orchestration_version)
            && self.id_prefix.as_ref().is_none_or(|prefix| instance.instance_id.starts_with(prefix.as_str()))
            && self.parentage.admits(instance.parent_instance_id.as_deref())
            && self.blocked.admits(instance.block.as_ref())
            && self.created_from.is_none_or(|from| instance.created_at >= from)
            && self.created_before.is_none_or(|before| instance.created_at < before)
    }
}

/// Whose child an instance is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Parentage {
    /// Anybody's or nobody's.
    #[default]
    Any,
    /// Nobody's.
    Root,
    /// A child of this instance.
    ChildOf(String),
}

impl Parentage {
    /// Whether an instance with this parent is meant.
    #[must_use]
    pub fn admits(&self, parent: Option<&str>) -> bool {
        match self {
            Self::Any => true,
            Self::Root => parent.is_none(),
            Self::ChildOf(id) => parent == Some(id.as_str()),
        }
    }
}

/// Whether an instance is blocked, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BlockFilter {
    /// Blocked or not.
    #[default]
    Any,
    /// Blocked, for whatever reason.
    Blocked,
    /// Blocked for this reason. What counts is the block that the [summary](InstanceSummary::block) shows.
    By(BlockKind),
}

impl BlockFilter {
    /// Whether an instance with this block is meant.
    #[must_use]
    pub fn admits(self, block: Option<&BlockSummary>) -> bool {
        match self {
            Self::Any => true,
            Self::Blocked => block.is_some(),
            Self::By(kind) => block.is_some_and(|block| block.kind == kind),
        }
    }
}

/// Which instances come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum InstanceOrder {
    /// Those created last.
    #[default]
    NewestFirst,
    /// Those created first.
    OldestFirst,
    /// Those whose id comes first, byte by byte.
    ById,
}

impl InstanceOrder {
    const fn letter(self) -> char {
        match self {
            Self::NewestFirst => 'n',
            Self::OldestFirst => 'o',
            Self::ById => 'i',
        }
    }

    fn of_letter(letter: char) -> Option<Self> {
        [Self::NewestFirst, Self::OldestFirst, Self::ById].into_iter().find(|order| order.letter() == letter)
    }
}

/// What a listing says about an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceSummary {
    /// The instance.
    pub instance_id: String,
    /// The registered name of its orchestration.
    pub orchestration_name: String,
    /// The version of its handler.
    pub orchestration_version: String,
    /// Its latest execution.
    pub execution_id: u64,
    /// How that execution stands.
    pub status: ExecutionStatus,
    /// What the code says about its progress.
    pub custom_status: Option<String>,
    /// When it was created, in milliseconds since the Unix epoch.
    pub created_at: u64,
    /// When it last changed, in milliseconds since the Unix epoch.
    pub updated_at: u64,
    /// When it completed or failed, in milliseconds since the Unix epoch.
    pub completed_at: Option<u64>,
    /// The instance that waits for its result, if it is a child.
    pub parent_instance_id: Option<String>,
    /// What blocks it: its own block, else that of its held activity with the lowest event id. `None` if nothing does.
    pub block: Option<BlockSummary>,
}

/// Some instances, and where to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstancePage {
    /// The instances, in the order asked for.
    pub instances: Vec<InstanceSummary>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<PageCursor>,
}

/// Where a page ended. Its text form can be given to a browser and comes back as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCursor {
    order: InstanceOrder,
    created_at: u64,
    tie: String,
}

impl PageCursor {
    /// Behind the instance that was created at this time; `tie` tells those of one moment apart, as the store likes.
    pub fn created(order: InstanceOrder, created_at: u64, tie: impl Into<String>) -> Self {
        Self { order, created_at, tie: tie.into() }
    }

    /// Behind the instance of this id.
    pub fn id(id: impl Into<String>) -> Self {
        Self { order: InstanceOrder::ById, created_at: 0, tie: id.into() }
    }

    /// The order of the page.
    #[must_use]
    pub const fn order(&self) -> InstanceOrder {
        self.order
    }

    /// When the last instance was created; zero if the order is by id.
    #[must_use]
    pub const fn created_at(&self) -> u64 {
        self.created_at
    }

    /// What tells instances of one moment apart; the id if the order is by id.
    #[must_use]
    pub fn tie(&self) -> &str {
        &self.tie
    }
}

impl fmt::Display for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}.{}", self.order.letter(), self.created_at, self.tie)
    }
}

impl FromStr for PageCursor {
    type Err = InvalidQuery;

    fn from_str(text: &str) -> Result<Self, InvalidQuery> {
        let parse = || {
            let mut letters = text.chars();
            let order = InstanceOrder::of_letter(letters.next()?)?;
            let (created_at, tie) = letters.as_str().split_once('.')?;
            Some(Self { order, created_at: created_at.parse().ok()?, tie: tie.to_owned() })
        };
        parse().ok_or_else(|| InvalidQuery::Cursor { text: text.to_owned() })
    }
}

/// A query that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidQuery {
    /// A page of no instances, or of too many.
    #[error("a page has 1 to {LARGEST_PAGE} instances, not {limit}")]
    PageSize {
        /// What was asked for.
        limit: u32,
    },
    /// Two pages in different orders have no common place to go on.
    #[error(
        "the page before was in the order {before:?}: go on in that order, or begin anew without a cursor"
    )]
    OrderChanged {
        /// The order of the page before.
        before: InstanceOrder,
        /// The order asked for now.
        now: InstanceOrder,
    },
    /// This is no cursor, or one of another store.
    #[error("'{text}' is not a cursor of this store: pass on what the page before returned, unchanged")]
    Cursor {
        /// The text.
        text: String,
    },
}
