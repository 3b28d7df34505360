//! One page of instances, in one statement.
//!
//! The statement is put together from the parts that the query has, so that every shape of query gets the index made for
//! it; values are bound, never written into the text. Instances of one status (and name), roots and others apart, are an index
//! in the order of creation, so a page is a merge of a few short ranges, each no longer than the page. What is left over
//! (version, prefix) is looked at row by row within those ranges. Blocked instances are looked for among those that are
//! blocked: however many instances there are, these are few.

use std::collections::BTreeSet;

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::{
    BlockFilter, BlockKind, BlockSummary, InstanceOrder, InstancePage, InstanceQuery, InstanceSummary,
    InvalidQuery, PageCursor, Parentage,
};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, StatementStatus, params_from_iter};

use crate::encode::{column, number};
use crate::statements::Statements;
use crate::text::{lossy, lossy_or_null};

const COLUMNS: &str = "m.id, m.name, m.version, m.execution, m.status, c.value, m.created_at, m.updated_at, \
                       m.completed_at, m.parent, m.no, b.kind, b.since, (\
                           SELECT w.held_since FROM work AS w INDEXED BY work_held_of \
                           WHERE w.mailbox = m.no AND w.held_since IS NOT NULL ORDER BY w.activity, w.no LIMIT 1)";

/// A statement and its values.
#[derive(Debug)]
pub(crate) struct Listing {
    text: String,
    values: Vec<Value>,
    order: InstanceOrder,
    size: usize,
}

impl Listing {
    pub(crate) fn of(query: &InstanceQuery) -> Result<Self, InvalidQuery> {
        let size = query.page_size()?;
        let start = query.start()?;
        // One more tells whether there is another page.
        let limit = i64::from(size) + 1;
        let mut parts = Parts::default();
        let text = match (query.blocked, query.order) {
            (BlockFilter::Any, InstanceOrder::ById) => parts.by_id(query, start, limit),
            (BlockFilter::Any, InstanceOrder::NewestFirst | InstanceOrder::OldestFirst) => {
                let range = Range::of(query, start)?;
                parts.by_creation(query, &range, limit)
            }
            (_, InstanceOrder::ById) => {
                let meant = parts.meant_by_id(query, start);
                parts.among_blocked(query, &meant, "id", limit)
            }
            (_, order @ (InstanceOrder::NewestFirst | InstanceOrder::OldestFirst)) => {
                let meant = parts.meant_by_creation(query, &Range::of(query, start)?);
                let direction = direction_of(order);
                parts.among_blocked(query, &meant, &format!("created_at {direction}, no {direction}"), limit)
            }
        };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        Ok(Self { text, values: parts.values, order: query.order, size })
    }

    /// The text, for tests that ask for its plan.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// How many instructions it takes, for tests that pin costs.
    pub(crate) fn cost(self, connection: &Connection) -> rusqlite::Result<u64> {
        let mut statement = connection.prepare(&self.text)?;
        let rows = statement.query_map(params_from_iter(self.values), |_| Ok(()))?;
        let _found = rows.count();
        Ok(u64::try_from(statement.get_status(StatementStatus::VmStep)).unwrap_or(0))
    }

    pub(crate) fn read(self, sql: &Statements<'_>) -> rusqlite::Result<InstancePage> {
        let mut statement = sql.connection().prepare_cached(&self.text)?;
        let rows =
            statement.query_map(params_from_iter(self.values), |row| Ok((read(row)?, row.get(10)?)))?;
        let mut found = rows.collect::<rusqlite::Result<Vec<(InstanceSummary, i64)>>>()?;
        let has_more = found.len() > self.size;
        found.truncate(self.size);
        let last = found.last().filter(|_| has_more);
        let next = last.map(|(summary, no)| match self.order {
            InstanceOrder::ById => PageCursor::id(&summary.instance_id),
            order @ (InstanceOrder::NewestFirst | InstanceOrder::OldestFirst) => {
                PageCursor::created(order, summary.created_at, no.to_string())
            }
        });
        Ok(InstancePage { instances: found.into_iter().map(|(summary, _)| summary).collect(), next })
    }
}

/// Reads [`COLUMNS`].
fn read(row: &Row<'_>) -> rusqlite::Result<InstanceSummary> {
    Ok(InstanceSummary {
        instance_id: lossy(row, 0)?,
        orchestration_name: lossy(row, 1)?,
        orchestration_version: lossy(row, 2)?,
        execution_id: number(row.get(3)?),
        status: lossy(row, 4)?.parse().unwrap_or(ExecutionStatus::Running),
        custom_status: lossy_or_null(row, 5)?,
        created_at: number(row.get(6)?),
        updated_at: number(row.get(7)?),
        completed_at: row.get::<_, Option<i64>>(8)?.map(number),
        parent_instance_id: lossy_or_null(row, 9)?,
        block: read_block(row)?,
    })
}

/// Its own block, else that of its held work.
fn read_block(row: &Row<'_>) -> rusqlite::Result<Option<BlockSummary>> {
    let summary = |kind, since, holds_activity| {
        Some(BlockSummary { kind, since: Timestamp::from_millis(number(since)), holds_activity })
    };
    if let Some(kind) = lossy_or_null(row, 11)? {
        let kind = kind.parse().unwrap_or(BlockKind::Corrupt);
        return Ok(summary(kind, row.get(12)?, false));
    }
    Ok(row.get::<_, Option<i64>>(13)?.and_then(|since| summary(BlockKind::Quarantine, since, true)))
}

const fn direction_of(order: InstanceOrder) -> &'static str {
    match order {
        InstanceOrder::OldestFirst => "ASC",
        InstanceOrder::NewestFirst | InstanceOrder::ById => "DESC",
    }
}

/// From where to where, in the order of creation. Numbers begin at one, so `(time, 0)` is before everything created then.
struct Range {
    after: Option<(i64, i64)>,
    before: Option<(i64, i64)>,
}

impl Range {
    fn of(query: &InstanceQuery, start: Option<&PageCursor>) -> Result<Self, InvalidQuery> {
        let mut after = query.created_from.map(|time| (column(time), 0));
        let mut before = query.created_before.map(|time| (column(time), 0));
        if let Some(cursor) = start {
            let invalid = |_| InvalidQuery::Cursor { text: cursor.to_string() };
            let place = (column(cursor.created_at()), column(cursor.tie().parse().map_err(invalid)?));
            match query.order {
                InstanceOrder::OldestFirst => after = after.max(Some(place)),
                InstanceOrder::NewestFirst | InstanceOrder::ById => {
                    before = Some(before.map_or(place, |before| before.min(place)));
                }
            }
        }
        Ok(Self { after, before })
    }
}

/// The values of a statement as its text grows.
#[derive(Default)]
struct Parts {
    values: Vec<Value>,
}

impl Parts {
    /// Binds a value, and says how the text names it.
    fn bind(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn by_creation(&mut self, query: &InstanceQuery, range: &Range, limit: i64) -> String {
        let direction = direction_of(query.order);
        let limit = self.bind(limit);
        let ranges = self.ranges(query.order, range);
        let mut rest = self.unindexed(query);
        rest.extend(self.prefix(query));
        let order = format!("ORDER BY created_at {direction}, no {direction} LIMIT {limit}");
        let index = match query {
            InstanceQuery { parentage: Parentage::ChildOf(_), .. } => "mailbox_parent",
            InstanceQuery { name: Some(_), .. } => "mailbox_name",
            InstanceQuery { name: None, .. } => "mailbox_status",
        };
        let places = self.places(query);
        let arms = places.iter().flat_map(|place| ranges.iter().map(move |range| (place, range)));
        let arms = arms.map(|(place, range)| {
            let meant = [&place[..], &range[..], &rest[..]].concat().join(" AND ");
            format!(
                "SELECT * FROM (SELECT no, created_at FROM mailbox INDEXED BY {index} WHERE {meant} {order})"
            )
        });
        let arms = arms.collect::<Vec<_>>().join(" UNION ALL ");
        described(&arms, &format!("k.created_at {direction}, k.no {direction} LIMIT {limit}"))
    }

    /// The places of an index that hold what is meant, each in the order of creation.
    fn places(&mut self, query: &InstanceQuery) -> Vec<Vec<String>> {
        let mut place = vec!["execution > 0".to_owned()];
        place.extend(self.name(query));
        let kinds = match &query.parentage {
            Parentage::ChildOf(parent) => {
                place.push(format!("parent = {}", self.bind(parent.clone())));
                place.extend(self.statuses(query));
                return vec![place];
            }
            Parentage::Root => &["(parent IS NULL) = 1"][..],
            Parentage::Any => &["(parent IS NULL) = 1", "(parent IS NULL) = 0"][..],
        };
        let statuses =
            if query.statuses.is_empty() { &ExecutionStatus::ALL[..] } else { &query.statuses[..] };
        let distinct: BTreeSet<&str> = statuses.iter().map(|status| status.as_str()).collect();
        let mut places = Vec::new();
        for status in distinct {
            let status = format!("status = {}", self.bind(status.to_owned()));
            for kind in kinds {
                places.push([&place[..], &[status.clone(), (*kind).to_owned()]].concat());
            }
        }
        places
    }

    /// Where the page begins is a place, where it ends is a time. An index is searched for a time, and then for a number, but
    /// not for both at once: what was created at the same time as the place, and what was created beyond, are two ranges.
    fn ranges(&mut self, order: InstanceOrder, range: &Range) -> Vec<Vec<String>> {
        let (begin, beyond, end) = match order {
            InstanceOrder::OldestFirst => (range.after, ">", range.before.map(|(time, _)| ("<", time))),
            InstanceOrder::NewestFirst | InstanceOrder::ById => {
                (range.before, "<", range.after.map(|(time, _)| (">=", time)))
            }
        };
        let end: Vec<String> =
            end.map(|(sign, time)| format!("created_at {sign} {}", self.bind(time))).into_iter().collect();
        let Some((time, number)) = begin else { return vec![end] };
        let (time, number) = (self.bind(time), self.bind(number));
        let at_once = vec![format!("created_at = {time}"), format!("no {beyond} {number}")];
        let later = vec![format!("created_at {beyond} {time}")];
        vec![[at_once, end.clone()].concat(), [later, end].concat()]
    }

    fn by_id(&mut self, query: &InstanceQuery, start: Option<&PageCursor>, limit: i64) -> String {
        let (meant, limit) = (self.meant_by_id(query, start).join(" AND "), self.bind(limit));
        let page = format!(
            "SELECT no, id FROM mailbox INDEXED BY mailbox_id WHERE {meant} ORDER BY id LIMIT {limit}"
        );
        described(&page, "k.id")
    }

    /// A page of blocked instances: all of them are looked at, and no other.
    fn among_blocked(&mut self, query: &InstanceQuery, meant: &[String], order: &str, limit: i64) -> String {
        let (blocked, meant, limit) = (self.blocked(query.blocked), meant.join(" AND "), self.bind(limit));
        let page = format!(
            "SELECT no, id, created_at FROM ({blocked}) AS x CROSS JOIN mailbox AS m ON m.no = x.mailbox \
             WHERE {meant} ORDER BY {order} LIMIT {limit}"
        );
        let order: Vec<String> = order.split(", ").map(|column| format!("k.{column}")).collect();
        described(&page, &order.join(", "))
    }

    /// The numbers of the mailboxes that are blocked, as their summaries show it: a block hides held work.
    fn blocked(&mut self, filter: BlockFilter) -> String {
        const BLOCKS: &str = "SELECT mailbox FROM block INDEXED BY block_since WHERE kind IS NOT NULL";
        const HELD: &str = "SELECT mailbox FROM work INDEXED BY work_held WHERE held_since IS NOT NULL";
        match filter {
            BlockFilter::By(BlockKind::Quarantine) => {
                let kind = self.bind(BlockKind::Quarantine.as_str().to_owned());
                format!("{BLOCKS} AND kind = {kind} UNION SELECT * FROM ({HELD} EXCEPT {BLOCKS})")
            }
            // A kind that cannot be read is shown as corrupt.
            BlockFilter::By(BlockKind::Corrupt) => {
                let others = BlockKind::ALL.into_iter().filter(|kind| *kind != BlockKind::Corrupt);
                let others: Vec<_> = others.map(|kind| self.bind(kind.as_str().to_owned())).collect();
                format!("{BLOCKS} AND kind NOT IN ({})", others.join(", "))
            }
            BlockFilter::By(kind) => format!("{BLOCKS} AND kind = {}", self.bind(kind.as_str().to_owned())),
            BlockFilter::Any | BlockFilter::Blocked => format!("{BLOCKS} UNION {HELD}"),
        }
    }

    /// Everything that a query by creation asks for, of one row.
    fn meant_by_creation(&mut self, query: &InstanceQuery, range: &Range) -> Vec<String> {
        let mut meant = self.meant_of_row(query);
        meant.extend(self.prefix(query));
        let mut bound = |sign: &str, place: Option<(i64, i64)>| {
            place
                .map(|(time, no)| format!("(created_at, no) {sign} ({}, {})", self.bind(time), self.bind(no)))
        };
        meant.extend([bound(">", range.after), bound("<", range.before)].into_iter().flatten());
        meant
    }

    /// Everything that a query by id asks for, of one row.
    fn meant_by_id(&mut self, query: &InstanceQuery, start: Option<&PageCursor>) -> Vec<String> {
        let prefix = query.id_prefix.as_deref().unwrap_or_default();
        let mut meant = vec![match start {
            Some(cursor) if cursor.tie() >= prefix => format!("id > {}", self.bind(cursor.tie().to_owned())),
            Some(_) | None => format!("id >= {}", self.bind(prefix.to_owned())),
        }];
        meant.extend(end_of_prefix(prefix).map(|end| format!("id < {}", self.bind(end))));
        meant.extend(self.meant_of_row(query));
        meant.extend(query.created_from.map(|from| format!("created_at >= {}", self.bind(column(from)))));
        meant
            .extend(query.created_before.map(|before| format!("created_at < {}", self.bind(column(before)))));
        meant
    }

    /// Everything but ids and times.
    fn meant_of_row(&mut self, query: &InstanceQuery) -> Vec<String> {
        let mut meant = vec!["execution > 0".to_owned()];
        meant.extend(self.name(query));
        meant.extend(self.statuses(query));
        meant.extend(self.unindexed(query));
        match &query.parentage {
            Parentage::Any => {}
            Parentage::Root => meant.push("parent IS NULL".to_owned()),
            Parentage::ChildOf(parent) => meant.push(format!("parent = {}", self.bind(parent.clone()))),
        }
        meant
    }

    /// What no index knows.
    fn unindexed(&mut self, query: &InstanceQuery) -> Vec<String> {
        query.version.clone().map(|version| format!("version = {}", self.bind(version))).into_iter().collect()
    }

    fn prefix(&mut self, query: &InstanceQuery) -> Vec<String> {
        let Some(prefix) = &query.id_prefix else { return Vec::new() };
        let begin = format!("id >= {}", self.bind(prefix.clone()));
        let end = end_of_prefix(prefix).map(|end| format!("id < {}", self.bind(end)));
        [begin].into_iter().chain(end).collect()
    }

    fn name(&mut self, query: &InstanceQuery) -> Option<String> {
        query.name.clone().map(|name| format!("name = {}", self.bind(name)))
    }

    fn statuses(&mut self, query: &InstanceQuery) -> Option<String> {
        let distinct: BTreeSet<&str> = query.statuses.iter().map(|status| status.as_str()).collect();
        let statuses: Vec<_> = distinct.into_iter().map(|status| self.bind(status.to_owned())).collect();
        (!statuses.is_empty()).then(|| format!("status IN ({})", statuses.join(", ")))
    }
}

/// The page, whose instances `keys` selects by number, with all that is said about them.
fn described(keys: &str, order: &str) -> String {
    format!(
        "SELECT {COLUMNS} FROM ({keys}) AS k JOIN mailbox AS m ON m.no = k.no \
         LEFT JOIN custom_status AS c ON c.mailbox = m.no \
         LEFT JOIN block AS b ON b.mailbox = m.no AND b.kind IS NOT NULL ORDER BY {order}"
    )
}

/// The first text behind all that begin like this; `None` if there is no such text.
fn end_of_prefix(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}
