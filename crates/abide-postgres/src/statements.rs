//! Every statement, by name. Each is a file in `sql/`; what it calls is a file in `functions/`.

use crate::schema::Schema;

/// Defines the statements once: a variant, and the file with its text.
macro_rules! statements {
    ($($variant:ident = $file:literal),* $(,)?) => {
        /// A statement that is prepared once per connection.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Sql {
            $($variant,)*
        }

        impl Sql {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $file,)* }
            }

            const fn text(self) -> &'static str {
                match self { $(Self::$variant => include_str!(concat!("../sql/", $file, ".sql")),)* }
            }
        }
    };
}

statements! {
    AbandonInstances = "abandon_instances",
    AbandonWork = "abandon_work",
    Alone = "alone",
    AnnounceNode = "announce_node",
    BeginSuspect = "begin_suspect",
    BlockInstance = "block_instance",
    Children = "children",
    CommitOne = "commit_one",
    CommitTurns = "commit_turns",
    CountBlocked = "count_blocked",
    CountDeleted = "count_deleted",
    CountExecutions = "count_executions",
    CountInstances = "count_instances",
    CountRunning = "count_running",
    CustomStatus = "custom_status",
    DeleteInstances = "delete_instances",
    DeleteUnborn = "delete_unborn",
    EndedChildren = "ended_children",
    EndedRoots = "ended_roots",
    EnqueueMessages = "enqueue_messages",
    EnqueueWork = "enqueue_work",
    ExecutionInfo = "execution_info",
    FinishWork = "finish_work",
    ForgetNode = "forget_node",
    ForgetSessions = "forget_sessions",
    HoldWork = "hold_work",
    InstanceInfo = "instance_info",
    InstanceStats = "instance_stats",
    KvLeased = "kv_leased",
    KvMerged = "kv_merged",
    KvValue = "kv_value",
    LeaseInstances = "lease_instances",
    LeaseWork = "lease_work",
    ListBlocked = "list_blocked",
    ListByStatus = "list_by_status",
    ListExecutions = "list_executions",
    ListNewest = "list_newest",
    ListNodes = "list_nodes",
    LostWork = "lost_work",
    NextMailboxDue = "next_mailbox_due",
    NextWorkDue = "next_work_due",
    PrunableInstances = "prunable_instances",
    PruneExecutions = "prune_executions",
    QueueDepths = "queue_depths",
    ReadBlocks = "read_blocks",
    ReadCurrent = "read_current",
    ReadExecution = "read_execution",
    ReadLeased = "read_leased",
    ReadChildren = "read_children",
    ReadOverview = "read_overview",
    ReadStatuses = "read_statuses",
    ReleaseTombstones = "release_tombstones",
    RemovePart = "remove_part",
    RenewInstances = "renew_instances",
    RenewSessions = "renew_sessions",
    RenewWork = "renew_work",
    RetryBlocked = "retry_blocked",
    RevokeWork = "revoke_work",
    ServerTime = "server_time",
    SetMessagesAside = "set_messages_aside",
    ParentsOfStarts = "parents_of_starts",
    SetWorkAside = "set_work_aside",
    StartOne = "start_one",
    TableSizes = "table_sizes",
    Tell = "tell",
    Tree = "tree",
}

/// The texts of all statements, for one schema.
#[derive(Debug)]
pub(crate) struct Texts(Vec<String>);

impl Texts {
    pub(crate) fn of(schema: &Schema) -> Self {
        Self(Sql::ALL.iter().map(|sql| schema.qualify(sql.text())).collect())
    }

    pub(crate) fn get(&self, sql: Sql) -> &str {
        let place = Sql::ALL.iter().position(|other| *other == sql);
        place.and_then(|place| self.0.get(place)).map_or("", String::as_str)
    }
}
