//! What is told of one instance: one bounded statement.

use abide_model::{Timestamp, WorkItem};
use abide_provider::rows::Starter;
use abide_provider::{
    Block, ChildOverview, InstanceOverview, LeaseOverview, ParentLink, WorkOverview, cut_output,
};
use tokio_postgres::Row;

use crate::blocked::block_of;
use crate::encode::{number, time};
use crate::text::unspell;

/// Reads the columns of `read_overview`; `None` if there is neither an instance nor a start.
pub(crate) fn overview_of(row: &Row) -> Option<InstanceOverview> {
    let now = time(row.get(0));
    let has_begun = number(row.get(1)) > 0;
    let start: Option<String> = row.get(19);
    let overview = InstanceOverview {
        store_time: Some(now),
        mail: number(row.get(16)).min(abide_provider::OVERVIEW_COUNT),
        starts_at: row.get::<_, Option<i64>>(20).and_then(|visible_at| later(visible_at, now)),
        lease: lease_of(row.get(14), now),
        ..InstanceOverview::default()
    };
    if has_begun { Some(begun(row, overview, now)) } else { start.map(|item| not_begun(&item, overview)) }
}

fn begun(row: &Row, overview: InstanceOverview, now: Timestamp) -> InstanceOverview {
    let text = |place: usize| row.get::<_, Option<String>>(place).map(unspell);
    let parent = text(11).map(|instance| ParentLink {
        instance,
        execution_id: row.get::<_, Option<i64>>(12).map(number),
        event_id: row.get::<_, Option<i64>>(13).map(number),
    });
    InstanceOverview {
        orchestration_name: text(2).unwrap_or_default(),
        orchestration_version: text(3).unwrap_or_default(),
        pin: text(4).filter(|pin| !pin.is_empty()),
        execution_id: number(row.get(1)),
        executions: number(row.get(15)),
        status: row.get::<_, String>(5).parse().ok(),
        output: text(6).as_deref().map(cut_output),
        created: Some(time(row.get(7))),
        updated: Some(time(row.get(8))),
        completed: row.get::<_, Option<i64>>(9).map(time),
        waiting: text(10),
        parent,
        children: row.get::<_, Vec<String>>(18).into_iter().map(unspell).collect(),
        child_count: number(row.get(17)),
        work: work_of(row, now),
        ..overview
    }
}

/// Reads the columns of `read_children`; `None` if there is neither an instance nor a start.
pub(crate) fn child_of(row: &Row) -> Option<ChildOverview> {
    let text = |place: usize| row.get::<_, Option<String>>(place).map(unspell);
    let has_begun = number(row.get(1)) > 0;
    let overview = if has_begun {
        InstanceOverview {
            orchestration_name: text(2).unwrap_or_default(),
            orchestration_version: text(3).unwrap_or_default(),
            pin: text(4).filter(|pin| !pin.is_empty()),
            status: row.get::<_, String>(5).parse().ok(),
            ..InstanceOverview::default()
        }
    } else {
        not_begun(&row.get::<_, Option<String>>(7)?, InstanceOverview::default())
    };
    let block = row.get::<_, Option<String>>(8).map(|kind| Block {
        holds_activity: row.get(13),
        ..block_of(
            &kind,
            time(row.get(9)),
            unspell(row.get(10)),
            unspell(row.get(11)),
            row.get::<_, Option<i64>>(12).map(number),
        )
    });
    Some(ChildOverview {
        instance: unspell(row.get(0)),
        orchestration_name: overview.orchestration_name,
        orchestration_version: overview.orchestration_version,
        pin: overview.pin,
        status: overview.status,
        is_leased: row.get(6),
        block,
    })
}

/// What the start says of an instance that has had no turn. One that cannot be read says nothing.
fn not_begun(item: &str, overview: InstanceOverview) -> InstanceOverview {
    let item = serde_json::from_str::<WorkItem>(item).ok();
    let Some(starter) = item.as_ref().and_then(Starter::of) else { return overview };
    InstanceOverview {
        orchestration_name: starter.orchestration_name,
        orchestration_version: starter.orchestration_version,
        parent: starter.parent,
        ..overview
    }
}

/// The columns of work are arrays, one element per activity; missing if there is none.
fn work_of(row: &Row, now: Timestamp) -> Vec<WorkOverview> {
    let activities = row.get::<_, Option<Vec<i64>>>(21).unwrap_or_default();
    let attempts = row.get::<_, Option<Vec<i32>>>(22).unwrap_or_default();
    let due = row.get::<_, Option<Vec<Option<i64>>>>(23).unwrap_or_default();
    let leased = row.get::<_, Option<Vec<Option<i64>>>>(24).unwrap_or_default();
    let held = row.get::<_, Option<Vec<bool>>>(25).unwrap_or_default();
    let names = row.get::<_, Option<Vec<Option<String>>>>(26).unwrap_or_default();
    let tags = row.get::<_, Option<Vec<String>>>(27).unwrap_or_default();
    let all = activities.into_iter().zip(attempts).zip(due).zip(leased).zip(held).zip(names).zip(tags);
    all.map(|((((((activity, attempts), due), leased), is_held), name), tag)| {
        // Both are stored behind a '=', so that what cannot be read differs from an empty name.
        let name = name.map(unspell).and_then(|name| name.get(1..).map(str::to_owned));
        let tag = unspell(tag).get(1..).map(str::to_owned);
        WorkOverview {
            event_id: number(activity),
            // What cannot be read has neither.
            tag: tag.filter(|_| name.is_some()),
            name: name.unwrap_or_default(),
            attempts: u32::try_from(attempts).unwrap_or_default(),
            // Of leased work it is the end of the lease, of held work the end of time.
            visible_at: due.filter(|_| leased.is_none() && !is_held).and_then(|due| later(due, now)),
            is_held,
            lease: lease_of(leased, now),
        }
    })
    .collect()
}

/// A lease that ran out is none. Which node holds it is not stored.
fn lease_of(until: Option<i64>, now: Timestamp) -> Option<LeaseOverview> {
    until.and_then(|until| later(until, now)).map(|until| LeaseOverview { node: None, until })
}

fn later(column: i64, now: Timestamp) -> Option<Timestamp> {
    Some(time(column)).filter(|time| *time > now)
}
