//! Blocked instances and held activities: what nobody may lease for now, and why.

use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{
    Block, BlockInstance, BlockKind, BlockedCounts, BlockedInstance, HoldWork, Lane, Operation, Refusals,
    RefusedExecution, StoreError, cut_detail,
};
use tokio_postgres::Row;

use crate::PostgresProvider;
use crate::encode::{column, number, time};
use crate::news::News;
use crate::node::call::Values;
use crate::routes::{read_refused, refused_column};
use crate::rows::BlockRow;
use crate::statements::Sql;
use crate::text::{spelt, unspell};
use crate::token::{MailboxToken, WorkToken};

/// Refusals change under a lease, and when an operator retries. Each round starts from what the last one read.
const ROUNDS: usize = 8;

impl BlockRow {
    /// What a lease tells of it.
    pub(crate) fn told(self) -> RefusedExecution {
        RefusedExecution {
            by: read_refused(&self.refused),
            retry_after: self.retry_after.map(|pause| Duration::from_millis(number(pause))),
            is_retry_due: self.is_open,
            block: self.kind.map(|kind| {
                let event_id = self.event.map(number);
                block_of(&kind, time(self.since), unspell(self.detail), unspell(self.build), event_id)
            }),
        }
    }
}

pub(crate) fn block_of(
    kind: &str,
    since: Timestamp,
    detail: String,
    build: String,
    event_id: Option<u64>,
) -> Block {
    // If the kind is damaged, the instance is still blocked, and something of it is corrupt.
    let kind = kind.parse().unwrap_or(BlockKind::Corrupt);
    Block { kind, since, detail, build, event_id, holds_activity: false }
}

/// Reads what `read_blocks` and `list_blocked` return.
fn blocked_instance(row: &Row) -> Result<BlockedInstance, tokio_postgres::Error> {
    let kind: String = row.try_get(2)?;
    let event_id = row.try_get::<_, Option<i64>>(6)?.map(number);
    let (detail, build) = (unspell(row.try_get(4)?), unspell(row.try_get(5)?));
    let block = block_of(&kind, time(row.try_get(3)?), detail, build, event_id);
    Ok(BlockedInstance {
        instance: unspell(row.try_get(0)?),
        orchestration_name: unspell(row.try_get(1)?),
        block: Block { holds_activity: row.try_get(7)?, ..block },
    })
}

impl PostgresProvider {
    pub(crate) async fn block(&self, block: BlockInstance) -> Result<(), StoreError> {
        let operation = Operation::BlockInstance;
        let lost = || StoreError::lease_lost(operation);
        let token = MailboxToken::parse(&block.token).ok_or_else(lost)?;
        let detail = spelt(&cut_detail(block.detail));
        let retry_after = block.retry_after.map(pause_column);
        let mut known: Option<String> = None;
        for _ in 0..ROUNDS {
            let before = known.as_deref().map(read_refused).unwrap_or_default();
            let refused = if retry_after.is_some() { before.with(&block.build) } else { Refusals::All };
            let values: Values = vec![
                Box::new(token.mailbox),
                Box::new(token.nonce),
                Box::new(known),
                Box::new(refused_column(&refused)),
                Box::new(retry_after),
                Box::new(block.kind.as_str()),
                Box::new(detail.clone()),
                Box::new(spelt(&block.build)),
                Box::new(block.event_id.map(column)),
            ];
            let row = self.one_row(operation, Sql::BlockInstance, values).await?;
            match row.get::<_, &str>("outcome") {
                "ok" => {
                    let mut news = News::of_instances(row.get("wakes"), row.get("due_at"));
                    news.set_changed(row.get::<_, Option<String>>("instance").map(unspell));
                    self.shared.tell(news);
                    return Ok(());
                }
                "moved" => known = row.get("known"),
                _ => return Err(lost()),
            }
        }
        Err(StoreError::not_applied(operation, "the refusals of the instance keep changing; block it again"))
    }

    pub(crate) async fn hold(&self, hold: HoldWork) -> Result<(), StoreError> {
        let operation = Operation::HoldWork;
        let lost = || StoreError::lease_lost(operation);
        let token = WorkToken::parse(&hold.token).ok_or_else(lost)?;
        let detail = spelt(&cut_detail(hold.detail));
        let values: Values =
            vec![Box::new(token.no), Box::new(token.nonce), Box::new(detail), Box::new(spelt(&hold.build))];
        let row = self.one_row(operation, Sql::HoldWork, values).await?;
        let instance = row.get::<_, Option<String>>(0).ok_or_else(lost)?;
        self.shared.forget_lease(token);
        let mut news = News::default();
        news.set_changed([unspell(instance)]);
        self.shared.tell(news);
        Ok(())
    }

    /// The code of a suspect is about to run: from now on its lease counts.
    pub(crate) async fn begin(&self, lane: Lane, token: &str) -> Result<(), StoreError> {
        let operation = Operation::BeginSuspect;
        let lost = || StoreError::lease_lost(operation);
        let (is_work, row, nonce) = match lane {
            Lane::Instances => {
                let token = MailboxToken::parse(token).ok_or_else(lost)?;
                (false, token.mailbox, token.nonce)
            }
            Lane::Work => {
                let token = WorkToken::parse(token).ok_or_else(lost)?;
                (true, token.no, token.nonce)
            }
        };
        let values: Values = vec![Box::new(is_work), Box::new(row), Box::new(nonce)];
        let row = self.one_row(operation, Sql::BeginSuspect, values).await?;
        if row.get(0) { Ok(()) } else { Err(lost()) }
    }

    pub(crate) async fn retry(&self, instance: &str) -> Result<bool, StoreError> {
        let operation = Operation::RetryBlocked;
        let row = self.one_row(operation, Sql::RetryBlocked, vec![Box::new(spelt(instance))]).await?;
        let was_blocked = row.get::<_, Option<bool>>("was_blocked").unwrap_or(false);
        let mut news = News::of_instances(row.get("wakes"), row.get("due_at"));
        news.set_work(row.get("routes"));
        if was_blocked {
            news.set_changed([instance.to_owned()]);
        }
        self.shared.tell(news);
        Ok(was_blocked)
    }

    pub(crate) async fn blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, StoreError> {
        let operation = Operation::ReadBlocks;
        self.read_blocked(operation, Sql::ReadBlocks, vec![Box::new(spelt(instance))]).await
    }

    /// Up to so many, those that were blocked first first.
    pub(crate) async fn blocked(
        &self,
        operation: Operation,
        limit: usize,
    ) -> Result<Vec<BlockedInstance>, StoreError> {
        let rows = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut blocked = self.read_blocked(operation, Sql::ListBlocked, vec![Box::new(rows)]).await?;
        blocked.sort_by(|one, other| {
            let one_key = (one.block.since, &one.instance, one.block.holds_activity, one.block.event_id);
            let key = (other.block.since, &other.instance, other.block.holds_activity, other.block.event_id);
            one_key.cmp(&key)
        });
        blocked.truncate(limit);
        Ok(blocked)
    }

    pub(crate) async fn blocked_counts(&self) -> Result<BlockedCounts, StoreError> {
        let operation = Operation::CountBlocked;
        let rows = self.rows(operation, Sql::CountBlocked, Vec::new()).await?;
        let count_of = |kind: BlockKind| {
            let is_of_kind = |row: &&Row| row.get::<_, &str>(0).parse().unwrap_or(BlockKind::Corrupt) == kind;
            rows.iter().filter(is_of_kind).map(|row| number(row.get(1))).sum::<u64>()
        };
        let by_kind = BlockKind::ALL.map(|kind| (kind, count_of(kind)));
        let by_kind = by_kind.into_iter().filter(|(_, count)| *count > 0).collect();
        Ok(BlockedCounts { by_kind, oldest: self.blocked(operation, 1).await?.pop() })
    }

    async fn read_blocked(
        &self,
        operation: Operation,
        sql: Sql,
        values: Values,
    ) -> Result<Vec<BlockedInstance>, StoreError> {
        let rows = self.rows(operation, sql, values).await?;
        let blocked: Result<Vec<_>, _> = rows.iter().map(blocked_instance).collect();
        blocked.map_err(|error| crate::error::CallError::from(error).of(operation))
    }
}

/// The longest pause that fits beside a time. Nobody waits for it.
const LONGEST_PAUSE: i64 = i64::MAX / 4;

fn pause_column(pause: Duration) -> i64 {
    i64::try_from(pause.as_millis()).unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE)
}
