//! Every statement of this store, by name, and each prepared once per connection.
//!
//! The texts are files in `sql/`, with a reason where it is not obvious and the index each must use, which
//! `tests/it/plans.rs` asserts. A prepared statement is found by its index: looking it up by its text would cost as much as running it.

use std::cell::RefCell;

use rusqlite::{Connection, Params, PrepFlags, Row, Statement, StatementStatus};

/// Declares the statements: a variant, and the file its text is in.
macro_rules! statements {
    ($($variant:ident = $file:literal),* $(,)?) => {
        /// A statement of this store.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub(crate) enum Sql { $($variant),* }

        impl Sql {
            /// All of them, in order of declaration.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The text.
            pub(crate) const fn text(self) -> &'static str {
                match self { $(Self::$variant => include_str!(concat!("../sql/", $file, ".sql")),)* }
            }

            /// The file it is in, for messages and tests.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $file,)* }
            }
        }
    };
}

statements! {
    Begin = "begin",
    BeginRead = "begin_read",
    Commit = "commit",
    Rollback = "rollback",
    DataVersion = "data_version",
    LogPages = "log_pages",
    LoadCounter = "load_counter",
    SaveCounter = "save_counter",
    MailboxById = "mailbox_by_id",
    MailboxByNo = "mailbox_by_no",
    BriefById = "brief_by_id",
    BriefByNo = "brief_by_no",
    CreateMailbox = "create_mailbox",
    SaveInstance = "save_instance",
    ProgressMailbox = "progress_mailbox",
    HeldMailbox = "held_mailbox",
    OwnerOfMailbox = "owner_of_mailbox",
    NameOfMailbox = "name_of_mailbox",
    ReleaseMailbox = "release_mailbox",
    SetReady = "set_ready",
    SetDue = "set_due",
    LeaseMailbox = "lease_mailbox",
    RenewMailbox = "renew_mailbox",
    ReadyMailboxes = "ready_mailboxes",
    ReadyNumbers = "ready_numbers",
    ReadyRoutes = "ready_routes",
    LoadRoutes = "load_routes",
    AddRoute = "add_route",
    SetFlags = "set_flags",
    AnyReadyMailbox = "any_ready_mailbox",
    DueMailboxes = "due_mailboxes",
    ExpiredMailboxes = "expired_mailboxes",
    MailboxesOfOwner = "mailboxes_of_owner",
    NextMailboxDue = "next_mailbox_due",
    InsertMessage = "insert_message",
    FirstMessage = "first_message",
    FirstHiddenMessage = "first_hidden_message",
    HasStart = "has_start",
    FirstStart = "first_start",
    LinkOfMessage = "link_of_message",
    FirstCancel = "first_cancel",
    CancelBehind = "cancel_behind",
    ForgetAttempts = "forget_attempts",
    ForgiveBatch = "forgive_batch",
    VisibleMessages = "visible_messages",
    ShowMessages = "show_messages",
    DeleteMessage = "delete_message",
    LastExpiry = "last_expiry",
    DeleteExpired = "delete_expired",
    LetMailWait = "let_mail_wait",
    ExpiredMessages = "expired_messages",
    KeepMessage = "keep_message",
    CountAttempt = "count_attempt",
    HideMessage = "hide_message",
    BuryMessage = "bury_message",
    DeleteTimer = "delete_timer",
    DeleteTimers = "delete_timers",
    InsertWork = "insert_work",
    ReadyWork = "ready_work",
    ReadyWorkNumbers = "ready_work_numbers",
    ReadyWorkRoutes = "ready_work_routes",
    LoadWorkRoutes = "load_work_routes",
    AddWorkRoute = "add_work_route",
    HoldWork = "hold_work",
    BeginMailbox = "begin_mailbox",
    BeginWork = "begin_work",
    CrashedWork = "crashed_work",
    AnyReadyWork = "any_ready_work",
    SessionWork = "session_work",
    LeaseWork = "lease_work",
    LeasedWork = "leased_work",
    FinishWork = "finish_work",
    RenewWork = "renew_work",
    FreeWork = "free_work",
    HiddenWork = "hidden_work",
    ExpiredWork = "expired_work",
    WorkOfOwner = "work_of_owner",
    HeldWork = "held_work",
    LeaseOfWork = "lease_of_work",
    NextWorkDue = "next_work_due",
    RevokeWork = "revoke_work",
    RevokeExecution = "revoke_execution",
    WorkOfExecutions = "work_of_executions",
    BuryWork = "bury_work",
    DeleteWork = "delete_work",
    OpenLane = "open_lane",
    LaneRoutes = "lane_routes",
    LaneHead = "lane_head",
    SaveLane = "save_lane",
    DeleteLane = "delete_lane",
    RepairLane = "repair_lane",
    NewLane = "new_lane",
    HoldLanes = "hold_lanes",
    LoadSession = "load_session",
    ClaimSession = "claim_session",
    TouchSession = "touch_session",
    RenewSessions = "renew_sessions",
    ExpiredSessions = "expired_sessions",
    FreeSession = "free_session",
    ForgetSessions = "forget_sessions",
    AppendTurn = "append_turn",
    ReadTurns = "read_turns",
    LastTurn = "last_turn",
    ReadStatus = "read_status",
    WaitsToStart = "waits_to_start",
    CreateExecution = "create_execution",
    PinExecution = "pin_execution",
    EndExecution = "end_execution",
    SetCustomStatus = "set_custom_status",
    KvClearDelta = "kv_clear_delta",
    KvClearStore = "kv_clear_store",
    KvChange = "kv_change",
    KvFoldValues = "kv_fold_values",
    KvAnyDelta = "kv_any_delta",
    KvFoldTombstones = "kv_fold_tombstones",
    KvEmptyDelta = "kv_empty_delta",
    KvSnapshot = "kv_snapshot",
    KvMerged = "kv_merged",
    KvDeltaValue = "kv_delta_value",
    KvStoreValue = "kv_store_value",
    Unbroken = "unbroken",
    BreakExecutions = "break_executions",
    LastPrunable = "last_prunable",
    PrunableExecutions = "prunable_executions",
    PrunableByEnd = "prunable_by_end",
    CountEvents = "count_events",
    DeleteTurns = "delete_turns",
    DeleteExecutions = "delete_executions",
    CustomStatus = "custom_status",
    SeenRequest = "seen_request",
    RememberRequest = "remember_request",
    AnyForgottenRequest = "any_forgotten_request",
    ForgetRequests = "forget_requests",
    ListNewest = "list_newest",
    ListByStatus = "list_by_status",
    ListExecutions = "list_executions",
    InstanceInfo = "instance_info",
    ExecutionInfo = "execution_info",
    CountInstances = "count_instances",
    CountRunning = "count_running",
    CountExecutions = "count_executions",
    CountAllEvents = "count_all_events",
    CountMessages = "count_messages",
    LeasedMessages = "leased_messages",
    HasMessage = "has_message",
    CountWaitingWork = "count_waiting_work",
    Children = "children",
    HasSuccessor = "has_successor",
    EndedRoots = "ended_roots",
    EndedChildren = "ended_children",
    PrunableInstances = "prunable_instances",
    ExecutionEnd = "execution_end",
    UnbornChildren = "unborn_children",
    DeleteMessageAt = "delete_message_at",
    DeleteMailbox = "delete_mailbox",
    DeleteMessages = "delete_messages",
    DeleteAllWork = "delete_all_work",
    DeleteAllTurns = "delete_all_turns",
    DeleteAllExecutions = "delete_all_executions",
    CountEventsOfInstance = "count_events_of_instance",
    DeleteCustomStatus = "delete_custom_status",
    KvEmptyStore = "kv_empty_store",
    DeleteUnreadMail = "delete_unread_mail",
    DeleteDeadLetters = "delete_dead_letters",
    SizeOfMailbox = "size_of_mailbox",
    LeasedWorkOf = "leased_work_of",
    HasWork = "has_work",
    AnyChild = "any_child",
    BuryMailbox = "bury_mailbox",
    ReleaseTombstone = "release_tombstone",
    NextRemoval = "next_removal",
    DueTombstone = "due_tombstone",
    IsTombstone = "is_tombstone",
    DeleteTombstone = "delete_tombstone",
    RemoveWork = "remove_work",
    RemoveMessages = "remove_messages",
    RemoveTurns = "remove_turns",
    RemoveExecutions = "remove_executions",
    RemoveKvStore = "remove_kv_store",
    RemoveKvDelta = "remove_kv_delta",
    WeighWork = "weigh_work",
    WeighMessages = "weigh_messages",
    WeighTurns = "weigh_turns",
    WeighExecutions = "weigh_executions",
    WeighKvStore = "weigh_kv_store",
    WeighKvDelta = "weigh_kv_delta",
    WeighPast = "weigh_past",
    CountDeleted = "count_deleted",
    SaveBlock = "save_block",
    LoadBlock = "load_block",
    HealBlock = "heal_block",
    SetRetry = "set_retry",
    StartRetryClock = "start_retry_clock",
    DeleteBlock = "delete_block",
    BlockOf = "block_of",
    HoldsOf = "holds_of",
    Overview = "overview",
    OverviewStart = "overview_start",
    OverviewWork = "overview_work",
    ChildOf = "child_of",
    ListBlocks = "list_blocks",
    ListHolds = "list_holds",
    CountBlocks = "count_blocks",
    CountHolds = "count_holds",
    AnnounceNode = "announce_node",
    ForgetNode = "forget_node",
    NodesOfOwner = "nodes_of_owner",
    ListNodes = "list_nodes",
    RegisterOwner = "register_owner",
    ListOwners = "list_owners",
    ForgetOwner = "forget_owner",
}

/// The prepared statements of one connection.
pub(crate) struct Statements<'c> {
    connection: &'c Connection,
    prepared: Vec<RefCell<Option<Statement<'c>>>>,
}

impl<'c> Statements<'c> {
    pub(crate) fn new(connection: &'c Connection) -> Self {
        Self { connection, prepared: Sql::ALL.iter().map(|_| RefCell::new(None)).collect() }
    }

    pub(crate) fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Runs a statement that returns nothing, and says how many rows it changed.
    pub(crate) fn execute(&self, sql: Sql, params: impl Params) -> rusqlite::Result<usize> {
        self.with(sql, |statement| statement.execute(params))
    }

    /// The first row, if there is one.
    pub(crate) fn row<T>(
        &self,
        sql: Sql,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.with(sql, |statement| {
            let mut rows = statement.query(params)?;
            rows.next()?.map(read).transpose()
        })
    }

    /// Every row.
    pub(crate) fn rows<T>(
        &self,
        sql: Sql,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.with(sql, |statement| {
            let mut rows = statement.query(params)?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(read(row)?);
            }
            Ok(found)
        })
    }

    /// Rows as long as `visit` asks for more.
    pub(crate) fn rows_while(
        &self,
        sql: Sql,
        params: impl Params,
        mut visit: impl FnMut(&Row<'_>) -> rusqlite::Result<std::ops::ControlFlow<()>>,
    ) -> rusqlite::Result<()> {
        self.with(sql, |statement| {
            let mut rows = statement.query(params)?;
            while let Some(row) = rows.next()? {
                if visit(row)?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Runs and virtual-machine instructions so far, of every statement that was prepared. For tests that pin costs.
    pub(crate) fn costs(&self) -> Vec<(&'static str, u64, u64)> {
        let count =
            |statement: &Statement<'_>, status| u64::try_from(statement.get_status(status)).unwrap_or(0);
        let prepared = Sql::ALL.iter().zip(&self.prepared).filter_map(|(sql, slot)| {
            let slot = slot.borrow();
            slot.as_ref().map(|statement| {
                (
                    sql.name(),
                    count(statement, StatementStatus::Run),
                    count(statement, StatementStatus::VmStep),
                )
            })
        });
        prepared.collect()
    }

    fn with<T>(
        &self,
        sql: Sql,
        run: impl FnOnce(&mut Statement<'c>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let Some(slot) = self.prepared.get(slot_of(sql)) else {
            return run(&mut self.connection.prepare(sql.text())?);
        };
        let mut slot = slot.borrow_mut();
        if let Some(statement) = slot.as_mut() {
            return run(statement);
        }
        // It stays: SQLite keeps its quick memory for what statements need while they run.
        let prepared =
            self.connection.prepare_with_flags(sql.text(), PrepFlags::SQLITE_PREPARE_PERSISTENT)?;
        run(slot.insert(prepared))
    }
}

#[expect(clippy::as_conversions, reason = "the discriminant of a fieldless enum, declared as usize")]
const fn slot_of(sql: Sql) -> usize {
    sql as usize
}

#[cfg(test)]
mod tests {
    use rusqlite::params_from_iter;

    use super::*;
    use crate::connect::{Location, Missing};
    use crate::migrate::migrate;
    use crate::options::Durability;

    /// SQLite looks at what is bound to find a plan, and would look again at every binding.
    #[test]
    fn a_statement_is_compiled_once_whatever_is_bound() {
        let mut connection = Location::Memory
            .open_writer(Durability::default(), Missing::Create(crate::permissions::FileMode::default()))
            .unwrap();
        migrate(&mut connection, &Location::Memory).unwrap();
        for sql in Sql::ALL {
            let mut statement = connection.prepare(sql.text()).unwrap();
            let parameters = statement.parameter_count();
            // Nothing is bound; pragmas are among these, which are compiled by every run.
            if parameters == 0 {
                continue;
            }
            for bound in 1..4_i64 {
                let bound = params_from_iter(std::iter::repeat_n(bound, parameters));
                // Some refuse these values; they were bound all the same.
                if let Ok(mut rows) = statement.query(bound) {
                    while let Ok(Some(_)) = rows.next() {}
                }
            }
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{}", sql.name());
        }
    }
}
