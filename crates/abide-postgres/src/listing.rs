//! One page of instances, in one statement.
//!
//! The statement is put together from the parts that the query has, so that every shape of query gets the index made for it; values are
//! bound, never written into the text. Instances of one status (and name), roots and others apart, are an index in the order of creation, so
//! a page is a merge of a few short ranges, each no longer than the page. What is left over (version, prefix) is looked at row by row within
//! those ranges. Blocked instances are looked for among those that are blocked: however many instances there are, these are few.

use std::collections::BTreeSet;

use abide_model::ExecutionStatus;
use abide_provider::{
    BlockFilter, BlockKind, BlockSummary, InstanceOrder, InstancePage, InstanceQuery, InstanceSummary,
    InvalidQuery, PageCursor, Parentage,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::encode::{column, number, time};
use crate::node::call::Values;
use crate::schema::Schema;
use crate::text::{spelt, unspell};

const COLUMNS: &str = "i.id, i.name, i.version, b.execution, i.status, i.custom_status, i.created_at, b.updated_at, \
                       i.completed_at, i.parent, i.no, n.kind, n.since, h.held_since";

/// A statement and its values.
pub(crate) struct Listing {
    pub(crate) text: String,
    pub(crate) values: Values,
    order: InstanceOrder,
    size: usize,
}

impl Listing {
    pub(crate) fn of(query: &InstanceQuery, schema: &Schema) -> Result<Self, InvalidQuery> {
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
        Ok(Self { text: schema.qualify(&text), values: parts.values, order: query.order, size })
    }

    /// How to make a page of what the statement answers.
    pub(crate) fn reader(&self) -> PageReader {
        PageReader { order: self.order, size: self.size }
    }
}

/// Makes a page of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageReader {
    order: InstanceOrder,
    size: usize,
}

impl PageReader {
    pub(crate) fn page(self, rows: &[Row]) -> InstancePage {
        let mut found: Vec<(InstanceSummary, i64)> =
            rows.iter().map(|row| (read(row), row.get(10))).collect();
        let has_more = found.len() > self.size;
        found.truncate(self.size);
        let last = found.last().filter(|_| has_more);
        let next = last.map(|(summary, no)| match self.order {
            InstanceOrder::ById => PageCursor::id(&summary.instance_id),
            order @ (InstanceOrder::NewestFirst | InstanceOrder::OldestFirst) => {
                PageCursor::created(order, summary.created_at, no.to_string())
            }
        });
        InstancePage { instances: found.into_iter().map(|(summary, _)| summary).collect(), next }
    }
}

/// Reads [`COLUMNS`].
fn read(row: &Row) -> InstanceSummary {
    InstanceSummary {
        instance_id: unspell(row.get(0)),
        orchestration_name: unspell(row.get(1)),
        orchestration_version: unspell(row.get(2)),
        execution_id: number(row.get(3)),
        status: row.get::<_, &str>(4).parse().unwrap_or(ExecutionStatus::Running),
        custom_status: row.get::<_, Option<String>>(5).map(unspell),
        created_at: number(row.get(6)),
        updated_at: number(row.get(7)),
        completed_at: row.get::<_, Option<i64>>(8).map(number),
        parent_instance_id: row.get::<_, Option<String>>(9).map(unspell),
        block: read_block(row),
    }
}

/// Its own block, else that of its held work.
fn read_block(row: &Row) -> Option<BlockSummary> {
    let summary =
        |kind, since: i64, holds_activity| Some(BlockSummary { kind, since: time(since), holds_activity });
    if let Some(kind) = row.get::<_, Option<&str>>(11) {
        return summary(kind.parse().unwrap_or(BlockKind::Corrupt), row.get(12), false);
    }
    summary(BlockKind::Quarantine, row.get::<_, Option<i64>>(13)?, true)
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
    values: Values,
}

impl Parts {
    /// Binds a value, and says how the text names it.
    fn bind(&mut self, value: impl ToSql + Send + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    fn by_creation(&mut self, query: &InstanceQuery, range: &Range, limit: i64) -> String {
        let direction = direction_of(query.order);
        let limit = self.bind(limit);
        let mut rest = self.range(range);
        rest.extend(self.unindexed(query));
        rest.extend(self.prefix(query));
        let order = format!("ORDER BY created_at {direction}, no {direction} LIMIT {limit}");
        let places = self.places(query);
        let arms = places.iter().map(|place| {
            let meant = [&place[..], &rest[..]].concat().join(" AND ");
            format!("(SELECT no, created_at FROM abide.instance WHERE {meant} {order})")
        });
        let arms = arms.collect::<Vec<_>>().join(" UNION ALL ");
        described(&arms, &format!("k.created_at {direction}, k.no {direction} LIMIT {limit}"))
    }

    /// The places of an index that hold what is meant, each in the order of creation.
    fn places(&mut self, query: &InstanceQuery) -> Vec<Vec<String>> {
        let mut place = vec!["status <> ''".to_owned()];
        place.extend(self.name(query));
        let kinds = match &query.parentage {
            Parentage::ChildOf(parent) => {
                place.push(format!("parent = {}", self.bind(spelt(parent))));
                place.extend(self.statuses(query));
                return vec![place];
            }
            Parentage::Root => &["is_root"][..],
            Parentage::Any => &["is_root", "NOT is_root"][..],
        };
        let statuses =
            if query.statuses.is_empty() { &ExecutionStatus::ALL[..] } else { &query.statuses[..] };
        let distinct: BTreeSet<&'static str> = statuses.iter().map(|status| status.as_str()).collect();
        let mut places = Vec::new();
        for status in distinct {
            let status = format!("status = {}", self.bind(status));
            for kind in kinds {
                places.push([&place[..], &[status.clone(), (*kind).to_owned()]].concat());
            }
        }
        places
    }

    fn range(&mut self, range: &Range) -> Vec<String> {
        let mut bound = |sign: &str, place: Option<(i64, i64)>| {
            place
                .map(|(time, no)| format!("(created_at, no) {sign} ({}, {})", self.bind(time), self.bind(no)))
        };
        [bound(">", range.after), bound("<", range.before)].into_iter().flatten().collect()
    }

    fn by_id(&mut self, query: &InstanceQuery, start: Option<&PageCursor>, limit: i64) -> String {
        let (meant, limit) = (self.meant_by_id(query, start).join(" AND "), self.bind(limit));
        let page = format!("SELECT no, id FROM abide.instance WHERE {meant} ORDER BY id LIMIT {limit}");
        described(&page, "k.id")
    }

    /// A page of blocked instances: all of them are looked at, and no other.
    fn among_blocked(&mut self, query: &InstanceQuery, meant: &[String], order: &str, limit: i64) -> String {
        let (blocked, meant, limit) = (self.blocked(query.blocked), meant.join(" AND "), self.bind(limit));
        let page = format!(
            "SELECT no, id, created_at FROM ({blocked}) AS x \
             JOIN abide.instance AS i ON i.no = ANY (ARRAY[x.mailbox]) WHERE {meant} ORDER BY {order} LIMIT {limit}"
        );
        let order: Vec<String> = order.split(", ").map(|column| format!("k.{column}")).collect();
        described(&page, &order.join(", "))
    }

    /// The numbers of the mailboxes that are blocked, as their summaries show it: a block hides held work.
    fn blocked(&mut self, filter: BlockFilter) -> String {
        const BLOCKS: &str = "SELECT mailbox FROM abide.block WHERE kind IS NOT NULL";
        const HELD: &str = "SELECT mailbox FROM abide.work WHERE held_since > 0";
        match filter {
            BlockFilter::By(BlockKind::Quarantine) => {
                let kind = self.bind(BlockKind::Quarantine.as_str());
                format!("{BLOCKS} AND kind = {kind} UNION ({HELD} EXCEPT {BLOCKS})")
            }
            // A kind that cannot be read is shown as corrupt.
            BlockFilter::By(BlockKind::Corrupt) => {
                let others = BlockKind::ALL.into_iter().filter(|kind| *kind != BlockKind::Corrupt);
                let others: Vec<_> = others.map(|kind| self.bind(kind.as_str())).collect();
                format!("{BLOCKS} AND kind NOT IN ({})", others.join(", "))
            }
            BlockFilter::By(kind) => format!("{BLOCKS} AND kind = {}", self.bind(kind.as_str())),
            BlockFilter::Any | BlockFilter::Blocked => format!("{BLOCKS} UNION {HELD}"),
        }
    }

    /// Everything that a query by creation asks for, of one row.
    fn meant_by_creation(&mut self, query: &InstanceQuery, range: &Range) -> Vec<String> {
        let mut meant = self.meant_of_row(query);
        meant.extend(self.prefix(query));
        meant.extend(self.range(range));
        meant
    }

    /// Everything that a query by id asks for, of one row.
    fn meant_by_id(&mut self, query: &InstanceQuery, start: Option<&PageCursor>) -> Vec<String> {
        let prefix = query.id_prefix.as_deref().unwrap_or_default();
        let mut meant = vec![match start {
            Some(cursor) if cursor.tie() >= prefix => format!("id > {}", self.bind(spelt(cursor.tie()))),
            Some(_) | None => format!("id >= {}", self.bind(spelt(prefix))),
        }];
        meant.extend(end_of_prefix(prefix).map(|end| format!("id < {}", self.bind(spelt(&end)))));
        meant.extend(self.meant_of_row(query));
        meant.extend(query.created_from.map(|from| format!("created_at >= {}", self.bind(column(from)))));
        meant
            .extend(query.created_before.map(|before| format!("created_at < {}", self.bind(column(before)))));
        meant
    }

    /// Everything but ids and times.
    fn meant_of_row(&mut self, query: &InstanceQuery) -> Vec<String> {
        let mut meant = vec!["status <> ''".to_owned()];
        meant.extend(self.name(query));
        meant.extend(self.statuses(query));
        meant.extend(self.unindexed(query));
        match &query.parentage {
            Parentage::Any => {}
            Parentage::Root => meant.push("is_root".to_owned()),
            Parentage::ChildOf(parent) => meant.push(format!("parent = {}", self.bind(spelt(parent)))),
        }
        meant
    }

    /// What no index knows.
    fn unindexed(&mut self, query: &InstanceQuery) -> Vec<String> {
        let version = query.version.as_deref().map(spelt);
        version.map(|version| format!("version = {}", self.bind(version))).into_iter().collect()
    }

    fn prefix(&mut self, query: &InstanceQuery) -> Vec<String> {
        let Some(prefix) = &query.id_prefix else { return Vec::new() };
        let begin = format!("id >= {}", self.bind(spelt(prefix)));
        let end = end_of_prefix(prefix).map(|end| format!("id < {}", self.bind(spelt(&end))));
        [begin].into_iter().chain(end).collect()
    }

    fn name(&mut self, query: &InstanceQuery) -> Option<String> {
        query.name.as_deref().map(spelt).map(|name| format!("name = {}", self.bind(name)))
    }

    fn statuses(&mut self, query: &InstanceQuery) -> Option<String> {
        let distinct: BTreeSet<&'static str> = query.statuses.iter().map(|status| status.as_str()).collect();
        let statuses: Vec<_> = distinct.into_iter().map(|status| self.bind(status)).collect();
        (!statuses.is_empty()).then(|| format!("status IN ({})", statuses.join(", ")))
    }
}

/// The page, whose instances `keys` selects by number, with all that is said about them.
fn described(keys: &str, order: &str) -> String {
    format!(
        "SELECT {COLUMNS} FROM ({keys}) AS k JOIN abide.instance AS i ON i.no = ANY (ARRAY[k.no]) \
         JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[k.no]) \
         LEFT JOIN abide.block AS n ON n.mailbox = ANY (ARRAY[k.no]) AND (n.kind IS NOT NULL) IS TRUE \
         LEFT JOIN LATERAL (\
             SELECT w.held_since FROM abide.work AS w WHERE w.mailbox = k.no AND w.held_since IS NOT NULL \
             ORDER BY w.activity, w.no LIMIT 1) AS h ON true \
         ORDER BY {order}"
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
