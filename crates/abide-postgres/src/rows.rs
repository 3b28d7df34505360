//! What a call carries and brings back, in the types of the files in `migrations/`.
//!
//! A batch is a few flat arrays; `turn` says to which turn of the batch a row belongs, counted from one. It is set when the batch is put
//! together.

use postgres_types::{FromSql, ToSql};

/// A turn, but for the work and the messages it makes.
#[expect(clippy::struct_excessive_bools, reason = "columns of a type in the database")]
#[derive(Debug, Default, ToSql)]
#[postgres(name = "new_turn")]
pub(crate) struct NewTurn {
    pub(crate) turn: i32,
    pub(crate) instance: Option<String>,
    pub(crate) authority: &'static str,
    pub(crate) mailbox: Option<i64>,
    pub(crate) nonce: Option<i64>,
    pub(crate) work: Option<i64>,
    pub(crate) expected_mailbox: Option<i64>,
    pub(crate) expected_execution: Option<i64>,
    pub(crate) expected_event: Option<i64>,
    pub(crate) consumes_all: bool,
    pub(crate) consumed: Vec<i64>,
    pub(crate) creates: bool,
    pub(crate) execution: i64,
    pub(crate) first_event: Option<i64>,
    pub(crate) last_event: Option<i64>,
    pub(crate) length: Option<i64>,
    pub(crate) events: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) parent_execution: Option<i64>,
    pub(crate) parent_event: Option<i64>,
    pub(crate) pin: Option<String>,
    pub(crate) status: Option<&'static str>,
    pub(crate) output: Option<String>,
    pub(crate) sets_custom_status: bool,
    pub(crate) custom_status: Option<String>,
    pub(crate) clears_kv: bool,
    pub(crate) changes: Vec<NewValue>,
    pub(crate) folds_kv: bool,
    pub(crate) ends_timers: bool,
    pub(crate) timers: Vec<i64>,
    pub(crate) keeps: Option<i64>,
    pub(crate) ended_before: Option<i64>,
    pub(crate) waiting: Option<String>,
    pub(crate) still_refused: Option<String>,
}

/// A change of a key-value store; no value is a tombstone.
#[derive(Debug, ToSql)]
#[postgres(name = "new_value")]
pub(crate) struct NewValue {
    pub(crate) key: String,
    pub(crate) value: Option<String>,
    pub(crate) updated_at: i64,
}

/// An activity to enqueue.
#[derive(Debug, ToSql)]
#[postgres(name = "new_work")]
pub(crate) struct NewWork {
    pub(crate) turn: i32,
    /// `None` if it is that of the turn.
    pub(crate) instance: Option<String>,
    pub(crate) execution: i64,
    pub(crate) activity: i64,
    pub(crate) session: Option<String>,
    pub(crate) tag: String,
    /// Among those that somebody waits for, counted from one.
    pub(crate) rank: Option<i32>,
    pub(crate) item: String,
    pub(crate) name: Option<String>,
    /// Of a retry: the event of the first try, and the number of this one.
    pub(crate) first_try: Option<i64>,
    pub(crate) try_no: Option<i32>,
}

/// An activity to take back.
#[derive(Debug, ToSql)]
#[postgres(name = "revoked_work")]
pub(crate) struct RevokedWork {
    pub(crate) turn: i32,
    pub(crate) instance: String,
    pub(crate) execution: i64,
    pub(crate) activity: i64,
    pub(crate) because: String,
}

/// A message to enqueue.
#[derive(Debug, ToSql)]
#[postgres(name = "new_message")]
pub(crate) struct NewMessage {
    pub(crate) turn: i32,
    pub(crate) recipient: String,
    pub(crate) class: i16,
    pub(crate) visible_at: Option<i64>,
    pub(crate) execution: Option<i64>,
    pub(crate) event: Option<i64>,
    pub(crate) parent: Option<String>,
    pub(crate) item: String,
    /// Of what starts an execution: what it runs.
    pub(crate) orchestration: Option<String>,
    pub(crate) version: Option<String>,
}

/// What an instance needs of the node that leases it.
#[derive(Debug, Clone, FromSql)]
#[postgres(name = "route")]
pub(crate) struct RouteRow {
    pub(crate) no: i64,
    pub(crate) orchestration: String,
    pub(crate) version: String,
    pub(crate) pin: String,
    pub(crate) refused: String,
    #[expect(dead_code, reason = "a column of the table")]
    key: Option<i64>,
}

/// What an activity needs of the node that leases it.
#[derive(Debug, Clone, FromSql)]
#[postgres(name = "work_route")]
pub(crate) struct WorkRouteRow {
    pub(crate) no: i64,
    pub(crate) activity: String,
    pub(crate) tag: String,
    #[expect(dead_code, reason = "a column of the table")]
    key: Option<i64>,
}

/// The builds that refused an execution, and what blocks it.
#[derive(Debug, Clone, FromSql)]
#[postgres(name = "block")]
pub(crate) struct BlockRow {
    #[expect(dead_code, reason = "a column of the table")]
    mailbox: i64,
    #[expect(dead_code, reason = "a column of the table")]
    execution: i64,
    pub(crate) refused: String,
    pub(crate) retry_after: Option<i64>,
    #[expect(dead_code, reason = "a column of the table")]
    retry_at: Option<i64>,
    pub(crate) is_open: bool,
    pub(crate) kind: Option<String>,
    pub(crate) since: i64,
    pub(crate) detail: String,
    pub(crate) build: String,
    pub(crate) event: Option<i64>,
}

/// An instance that was leased.
#[derive(Debug, Clone, FromSql)]
#[postgres(name = "instance_lease")]
pub(crate) struct LeasedInstance {
    pub(crate) mailbox: i64,
    pub(crate) nonce: i64,
    pub(crate) instance: String,
    pub(crate) execution: i64,
    pub(crate) last_event: i64,
    pub(crate) status: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) parent: Option<String>,
    pub(crate) parent_execution: Option<i64>,
    pub(crate) parent_event: Option<i64>,
    pub(crate) block: Option<BlockRow>,
}

/// A message that came with a leased instance.
#[derive(Debug, Clone, FromSql)]
#[postgres(name = "leased_message")]
pub(crate) struct LeasedMessage {
    pub(crate) mailbox: i64,
    pub(crate) number: i64,
    pub(crate) attempts: i32,
    pub(crate) item: String,
}

/// An activity that was leased. The instance is not known if its rows are damaged.
#[derive(Debug, Clone, FromSql)]
#[postgres(name = "work_lease")]
pub(crate) struct LeasedWork {
    pub(crate) work: i64,
    pub(crate) mailbox: i64,
    pub(crate) nonce: i64,
    pub(crate) attempts: i32,
    pub(crate) instance: Option<String>,
    pub(crate) execution: i64,
    pub(crate) activity: i64,
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) item: String,
    pub(crate) session: Option<String>,
    /// By which of its claims we have the session; whose it was before, until when, and when it was last used.
    pub(crate) claim: Option<i64>,
    pub(crate) former_owner: Option<String>,
    pub(crate) former_lock: Option<i64>,
    pub(crate) former_activity: Option<i64>,
    /// Of a retry: the event of the first try, and the number of this one.
    pub(crate) first_try: Option<i64>,
    pub(crate) try_no: Option<i32>,
}

/// What the turns of a call are like.
#[expect(clippy::struct_excessive_bools, reason = "columns of a type in the database")]
#[derive(Debug, Default, ToSql)]
#[postgres(name = "outline")]
pub(crate) struct Outline {
    /// Of each turn, if it is known.
    pub(crate) mailboxes: Vec<Option<i64>>,
    /// Instances that are known by their names only: those that must be there, and those that need not be.
    pub(crate) required: Vec<String>,
    pub(crate) optional: Vec<String>,
    /// Activities that turns use up.
    pub(crate) work: Vec<i64>,
    pub(crate) node: i64,
    pub(crate) names: bool,
    pub(crate) consumes_some: bool,
    pub(crate) prunes: bool,
    pub(crate) writes_kv: bool,
    pub(crate) timers: bool,
}

/// Calls that wait for instances, and what they would take.
#[derive(Debug, ToSql)]
#[postgres(name = "instance_offer")]
pub(crate) struct InstanceOffer {
    pub(crate) lease_ms: i64,
    /// One for each lease.
    pub(crate) nonces: Vec<i64>,
    /// Those that they take of all that are known; `None` takes all of them.
    pub(crate) routes: Option<Vec<i64>>,
    pub(crate) known: i64,
    /// All without these marks, too; `None` if no others.
    pub(crate) marks: Option<i64>,
    /// How many suspects; `None` is any number.
    pub(crate) suspects: Option<i32>,
}

/// The same for work.
#[derive(Debug, ToSql)]
#[postgres(name = "work_offer")]
pub(crate) struct WorkOffer {
    pub(crate) lease_ms: i64,
    pub(crate) nonces: Vec<i64>,
    /// Whose work comes first.
    pub(crate) near: Option<i64>,
    /// Above which number that of others is left to them.
    pub(crate) leaves_above: Option<i64>,
    /// Whether they take suspects like others.
    pub(crate) suspects: bool,
}

/// Rows of a batch, numbered by the turn they belong to.
pub(crate) trait OfTurn {
    fn set_turn(&mut self, turn: i32);
}

macro_rules! of_turn {
    ($($row:ty),*) => {
        $(impl OfTurn for $row {
            fn set_turn(&mut self, turn: i32) {
                self.turn = turn;
            }
        })*
    };
}

of_turn!(NewTurn, NewWork, RevokedWork, NewMessage);
