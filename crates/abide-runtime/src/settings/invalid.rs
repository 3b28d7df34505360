//! Why options are refused, and what is not as it was asked for.

use std::time::Duration;

use abide_model::limits::{MAX_NAME_BYTES, MAX_TAG_NAME_BYTES, MAX_WORKER_TAGS};
use abide_model::{SemverRange, current_build_version};

use super::{LONGEST, MOST_SLOTS, SHORTEST_LEASE, SHORTEST_POLL};
use crate::NeverPrunes;

/// Options that make no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOptions {
    /// A lease would end before anything can be done under it.
    #[error(
        "{field} is {value:?}; it must be at least {SHORTEST_LEASE:?}, or leases end before the work under them is \
         written and it is done again and again"
    )]
    LockTimeoutTooShort {
        /// Which option.
        field: &'static str,
        /// What it is.
        value: Duration,
    },
    /// No turn could be run.
    #[error("max_turn_time is zero; it must be longer, or every turn counts as one that crashed")]
    NoTurnTime,
    /// A duration is a mistake of units or of a subtraction.
    #[error("{field} is {value:?}; it must be at most {LONGEST:?} (ten years)")]
    TooLong {
        /// Which option.
        field: &'static str,
        /// What it is.
        value: Duration,
    },
    /// An id does not fit into the rows that hold it.
    #[error("{field} has {bytes} bytes, beginning with {beginning:?}; it must have at most {MAX_NAME_BYTES}")]
    IdTooLong {
        /// Which option.
        field: &'static str,
        /// How it begins.
        beginning: String,
        /// How long it is.
        bytes: usize,
    },
    /// Something would be done all the time.
    #[error("{field} is zero; it must be longer, or the runtime would do nothing else")]
    ZeroInterval {
        /// Which option.
        field: &'static str,
    },
    /// Nothing would ever run.
    #[error(
        "orchestration_concurrency and worker_concurrency are both 0; at least one must be above. A program that only \
         starts and queries orchestrations needs a client, not a runtime"
    )]
    NoSlots,
    /// A build needs a name.
    #[error("build_id is empty; it must name this build of the program, or be None")]
    EmptyBuildId,
    /// The number is too large to be meant.
    #[error("{field} is {value}; it must be at most {MOST_SLOTS}")]
    TooManySlots {
        /// Which option.
        field: &'static str,
        /// What it is.
        value: usize,
    },
    /// Everything would be poison.
    #[error("max_attempts is 0; it must be at least 1, or everything counts as poison before it is tried")]
    NoAttempts,
    /// Nothing could be stored.
    #[error("max_payload_bytes is 0; it must be at least 1, or every request with an input fails")]
    NoPayload,
    /// A session would be taken for idle while an activity keeps it.
    #[error(
        "session_idle_timeout ({}s) must be greater than worker lock renewal interval ({}s): it is by renewing their \
         leases that activities keep their session from being idle",
        idle.as_secs_f64(), renewal.as_secs_f64()
    )]
    SessionIdleTimeoutTooShort {
        /// What `session_idle_timeout` is.
        idle: Duration,
        /// `worker_lock_timeout` less `worker_lock_renewal_buffer`.
        renewal: Duration,
    },
    /// No version lies in the range.
    #[error(
        "supported_replay_versions is {}..={}; its minimum must not be later than its maximum", range.min, range.max
    )]
    ReplayVersionsInverted {
        /// What it is.
        range: SemverRange,
    },
    /// The query for work would have too many terms.
    #[error("worker_tag_filter has {count} tags; a worker can serve at most {MAX_WORKER_TAGS}")]
    TooManyTags {
        /// How many there are.
        count: usize,
    },
    /// No activity can have that tag.
    #[error(
        "worker_tag_filter has a tag of {bytes} bytes, beginning with {beginning:?}; tags have at most \
         {MAX_TAG_NAME_BYTES}, so no activity can have this one"
    )]
    TagTooLong {
        /// How it begins.
        beginning: String,
        /// How long it is.
        bytes: usize,
    },
    /// A name is wanted, or none.
    #[error("worker_node_id is empty; it must be a name that no other node has, or None")]
    EmptyNodeId,
    /// A policy makes no sense.
    #[error("auto_prune, {}: {problem}", place_of(orchestration.as_deref()))]
    AutoPrune {
        /// For which orchestration it is; `None` for the default.
        orchestration: Option<String>,
        /// What is wrong with it.
        problem: NeverPrunes,
    },
    /// Nothing would ever be removed.
    #[error("retention.batch is 0; it must be at least 1, or nothing is ever removed")]
    EmptyRetentionBatch,
}

/// Something that is not as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Warning {
    #[error(
        "supported_replay_versions is {}..={}, but this build is {} and cannot know the rules of later ones: it takes \
         executions up to its own version only", asked.min, asked.max, current_build_version()
    )]
    ReplayVersionsBeyondBuild { asked: SemverRange },
    #[error(
        "dispatcher_min_poll_interval is {asked:?}; stores that cannot wake us are asked every {SHORTEST_POLL:?}"
    )]
    PollIntervalTooShort { asked: Duration },
}

/// Where a policy for this orchestration is given, or the one for all.
fn place_of(orchestration: Option<&str>) -> String {
    orchestration.map_or_else(|| "default_policy".to_owned(), |name| format!("overrides of {name:?}"))
}
