//! What is told of one instance: a few bounded reads of one moment.

use abide_model::{Timestamp, WorkItem};
use abide_provider::rows::Starter;
use abide_provider::{
    ChildOverview, InstanceOverview, LeaseOverview, OVERVIEW_COUNT, OVERVIEW_OUTPUT, OVERVIEW_ROWS,
    ParentLink, WorkOverview, cut_output,
};
use rusqlite::{Row, params};

use crate::encode::{column, number};
use crate::statements::{Sql, Statements};
use crate::text::{Text, lossy, lossy_or_null};

/// The class of messages that continue as new; a start has the one before.
const CONTINUES: i64 = 2;

/// The bytes of the longest character.
const LONGEST_CHARACTER: usize = 4;

impl Statements<'_> {
    pub(crate) fn overview(&self, id: &str, now: Timestamp) -> rusqlite::Result<Option<InstanceOverview>> {
        let at = column(now.as_millis());
        let (most, output) = (column(OVERVIEW_COUNT), length(OVERVIEW_OUTPUT * LONGEST_CHARACTER));
        let found = self.row(Sql::Overview, params![id, at, most, output], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, read_instance(row, now)?))
        })?;
        let Some((no, execution, overview)) = found else { return Ok(None) };
        let has_begun = execution > 0;
        let class = if has_begun { CONTINUES } else { CONTINUES - 1 };
        let start =
            self.row(Sql::OverviewStart, [no, class], |row| Ok((row.get::<_, i64>(0)?, lossy(row, 1)?)))?;
        let overview = match &start {
            Some((visible_at, _)) => InstanceOverview { starts_at: later(*visible_at, now), ..overview },
            None => overview,
        };
        if !has_begun {
            return Ok(start.map(|(_, item)| not_begun(overview, &item)));
        }
        let children =
            self.rows(Sql::Children, params![Text::from(id), length(OVERVIEW_ROWS)], |row| lossy(row, 1))?;
        let work =
            self.rows(Sql::OverviewWork, [no, execution, length(OVERVIEW_ROWS)], |row| read_work(row, now))?;
        Ok(Some(InstanceOverview { children, work, ..overview }))
    }
}

impl Statements<'_> {
    pub(crate) fn children_waited_for(
        &self,
        ids: &[String],
        now: Timestamp,
    ) -> rusqlite::Result<Vec<ChildOverview>> {
        let mut found = Vec::new();
        for id in ids {
            found.extend(self.child_waited_for(id, now)?);
        }
        Ok(found)
    }

    fn child_waited_for(&self, id: &str, now: Timestamp) -> rusqlite::Result<Option<ChildOverview>> {
        let found = self.row(Sql::ChildOf, [id], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, read_child(row, id, now)?))
        })?;
        let Some((no, execution, mut child)) = found else { return Ok(None) };
        if execution == 0 {
            let start = self.row(Sql::OverviewStart, [no, CONTINUES - 1], |row| lossy(row, 1))?;
            let Some(start) = start else { return Ok(None) };
            let overview = not_begun(InstanceOverview::default(), &start);
            child.orchestration_name = overview.orchestration_name;
            child.orchestration_version = overview.orchestration_version;
            child.status = None;
        }
        child.block = self.first_block(id)?;
        Ok(Some(child))
    }
}

fn read_child(row: &Row<'_>, id: &str, now: Timestamp) -> rusqlite::Result<ChildOverview> {
    Ok(ChildOverview {
        instance: id.to_owned(),
        orchestration_name: lossy(row, 2)?,
        orchestration_version: lossy(row, 3)?,
        pin: lossy_or_null(row, 4)?.filter(|pin| !pin.is_empty()),
        status: lossy(row, 5)?.parse().ok(),
        is_leased: row.get::<_, Option<i64>>(6)?.and_then(|until| later(until, now)).is_some(),
        block: None,
    })
}

fn read_instance(row: &Row<'_>, now: Timestamp) -> rusqlite::Result<InstanceOverview> {
    let execution_id = number(row.get(1)?);
    let counted = |place: usize| Ok::<_, rusqlite::Error>(number(row.get(place)?));
    let time = |place: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(place)?.map(timestamp));
    let has_begun = execution_id > 0;
    let parent = lossy_or_null(row, 11)?;
    let (parent_execution, parent_event) = (row.get::<_, Option<i64>>(12)?, row.get::<_, Option<i64>>(13)?);
    Ok(InstanceOverview {
        store_time: Some(now),
        orchestration_name: lossy(row, 2)?,
        orchestration_version: lossy(row, 3)?,
        pin: lossy_or_null(row, 4)?.filter(|pin| !pin.is_empty()),
        execution_id,
        executions: counted(16)?,
        status: lossy(row, 5)?.parse().ok(),
        output: lossy_or_null(row, 6)?.as_deref().map(cut_output),
        created: time(7)?.filter(|_| has_begun),
        updated: time(8)?.filter(|_| has_begun),
        completed: time(9)?,
        waiting: lossy_or_null(row, 10)?,
        parent: parent.map(|instance| ParentLink {
            instance,
            execution_id: parent_execution.map(number),
            event_id: parent_event.map(number),
        }),
        children: Vec::new(),
        child_count: counted(18)?,
        mail: counted(17)?,
        starts_at: None,
        lease: read_lease(row, 14, now)?,
        work: Vec::new(),
    })
}

/// What the start says of an instance that has had no turn. One that cannot be read says nothing.
fn not_begun(overview: InstanceOverview, item: &str) -> InstanceOverview {
    let item = serde_json::from_str::<WorkItem>(item).ok();
    // Others may name it as their parent before it exists: those are not its children.
    let overview =
        InstanceOverview { orchestration_version: String::new(), status: None, child_count: 0, ..overview };
    let Some(starter) = item.as_ref().and_then(Starter::of) else { return overview };
    InstanceOverview {
        orchestration_name: starter.orchestration_name,
        orchestration_version: starter.orchestration_version,
        parent: starter.parent,
        ..overview
    }
}

fn read_work(row: &Row<'_>, now: Timestamp) -> rusqlite::Result<WorkOverview> {
    // Both are stored behind a '=', so that what cannot be read differs from an empty name.
    let name = lossy_or_null(row, 6)?.and_then(|name| name.get(1..).map(str::to_owned));
    let tag = lossy(row, 7)?.get(1..).map(str::to_owned);
    Ok(WorkOverview {
        event_id: number(row.get(0)?),
        attempts: u32::try_from(row.get::<_, i64>(1)?).unwrap_or(u32::MAX),
        visible_at: later(row.get(2)?, now),
        is_held: row.get(3)?,
        lease: read_lease(row, 4, now)?,
        // What cannot be read has neither.
        tag: tag.filter(|_| name.is_some()),
        name: name.unwrap_or_default(),
    })
}

/// Reads the end of a lease and its node from this column on. One that ran out is none.
fn read_lease(row: &Row<'_>, from: usize, now: Timestamp) -> rusqlite::Result<Option<LeaseOverview>> {
    let until = row.get::<_, Option<i64>>(from)?.and_then(|until| later(until, now));
    let node = lossy_or_null(row, from + 1)?;
    Ok(until.map(|until| LeaseOverview { node, until }))
}

fn later(time: i64, now: Timestamp) -> Option<Timestamp> {
    Some(timestamp(time)).filter(|time| *time > now)
}

fn timestamp(time: i64) -> Timestamp {
    Timestamp::from_millis(number(time))
}

fn length(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
