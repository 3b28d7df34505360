//! Every limit that orchestrations and workers can run into, each with its reason.
//!
//! Exactly at the limit is allowed. What violates one is not recorded, and the execution fails with a
//! text that names the limit.
//!
//! Deliberately absent: limits on the length of a history, on fan-out and on queues. Those are bounded by
//! what the store and the memory hold, not by us.

use std::time::Duration;

/// How many unread queue messages older builds carry over to the next execution.
///
/// Ours carries all of them, because dropping one is losing it. The constant remains for programs that name it.
pub const MAX_CARRY_FORWARD_EVENTS: usize = 100;

/// How long a custom status may be: it is read with every status query and copied with every continue-as-new.
pub const MAX_CUSTOM_STATUS_BYTES: usize = 262_144;

/// How many tags a worker may serve: each is a term in the query that looks for its next job.
pub const MAX_WORKER_TAGS: usize = 5;

/// How long an activity's tag may be: it is a key in an index of the worker queue.
pub const MAX_TAG_NAME_BYTES: usize = 256;

/// How long the id of an instance may be: it is a key of several indexes, and PostgreSQL limits their
/// entries.
pub const MAX_INSTANCE_ID_BYTES: usize = 512;

/// How long the generated id of a child may be. It grows by some eight bytes with each level of a tree; the
/// limit keeps it within the entries of PostgreSQL's indexes, of which the largest has 2,704 bytes.
pub const MAX_GENERATED_ID_BYTES: usize = 2_000;

/// How long a name may be: of an orchestration, an activity, an event or a queue.
pub const MAX_NAME_BYTES: usize = 256;

/// How long a start may be delayed. What is longer is a mistake of units or of a subtraction.
pub const MAX_START_DELAY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// How large one payload may be unless the options say otherwise: an input, a result, a message.
///
/// PostgreSQL refuses rows of 1 GB, and a payload is copied several times between the code and the disk.
pub const DEFAULT_MAX_PAYLOAD_BYTES: usize = 64 * 1024 * 1024;

/// How many times the largest payload all requests of one turn may hold together: they are one transaction.
pub const MAX_TURN_PAYLOADS: usize = 4;

/// How many keys an instance may keep: all of them are loaded with its first turn.
pub const MAX_KV_KEYS: usize = 150;

/// How long one value may be: with all keys in use, an instance's values stay below ten megabytes.
pub const MAX_KV_VALUE_BYTES: usize = 65_536;

/// How often code may wake itself within its own poll for each thing that arrives.
///
/// A future that always wakes itself would otherwise hold its turn for ever. Honest uses (yielding,
/// cooperative scheduling of a large join) stay far below.
pub const MAX_SELF_WAKES_PER_ARRIVAL: u32 = 10_000;
