//! A turn as text, before it meets the writer.
//!
//! Encoding happens on the caller's thread: the writer is one thread for everybody, and should only write.

use abide_model::{Timestamp, WorkItem};
use abide_provider::rows::{MessageClass, MessageRow, Starter, WorkRow};
use abide_provider::{CommitRows, Operation, ParentLink, Rejection, StoreError};

use crate::store::route::WorkRoute;
use crate::text::Text;

/// A message, ready to be written.
#[derive(Debug)]
pub(crate) struct EncodedMessage {
    pub(crate) to: String,
    pub(crate) visible_at: Option<Timestamp>,
    pub(crate) class: MessageClass,
    /// Who waits for the child that it starts.
    pub(crate) parent: Option<ParentLink>,
    /// Name and version of what it starts.
    pub(crate) starter: Option<(String, String)>,
    pub(crate) json: String,
}

/// An activity, ready to be written.
#[derive(Debug)]
pub(crate) struct EncodedWork {
    pub(crate) instance: String,
    pub(crate) execution: i64,
    pub(crate) activity: i64,
    pub(crate) session: Option<Text>,
    pub(crate) tag: Text,
    /// Of a retry: the event of the first try, and the number of this one.
    pub(crate) first_try: Option<i64>,
    pub(crate) try_no: Option<u32>,
    pub(crate) route: WorkRoute,
    pub(crate) json: String,
}

/// A turn, ready to be written. What the rows held of events, messages and work is in the texts.
#[derive(Debug)]
pub(crate) struct EncodedTurn {
    pub(crate) rows: CommitRows,
    pub(crate) events: Option<EncodedEvents>,
    pub(crate) messages: Vec<EncodedMessage>,
    pub(crate) work: Vec<EncodedWork>,
    pub(crate) creates_instance: bool,
}

/// The events of a turn.
#[derive(Debug)]
pub(crate) struct EncodedEvents {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) length: i64,
    pub(crate) json: String,
}

impl EncodedTurn {
    pub(crate) fn of(mut rows: CommitRows, operation: Operation) -> Result<Self, StoreError> {
        let creates_instance = rows.creates_instance();
        let history = std::mem::take(&mut rows.history);
        let events = match (history.first(), history.last()) {
            (Some(first), Some(last)) => Some(EncodedEvents {
                first: column(first.event_id),
                last: column(last.event_id),
                length: i64::try_from(history.len()).unwrap_or(i64::MAX),
                json: json(operation, &history)?,
            }),
            (None, _) | (_, None) => None,
        };
        let messages = std::mem::take(&mut rows.messages);
        let messages =
            messages.into_iter().map(|row| EncodedMessage::of(row, operation)).collect::<Result<_, _>>()?;
        let work = std::mem::take(&mut rows.work);
        let work = work.into_iter().map(|row| EncodedWork::of(row, operation)).collect::<Result<_, _>>()?;
        Ok(Self { rows, events, messages, work, creates_instance })
    }
}

impl EncodedMessage {
    pub(crate) fn of(row: MessageRow, operation: Operation) -> Result<Self, StoreError> {
        let json = json(operation, &row.item)?;
        let parent = row.parent_link();
        let starter = Starter::of(&row.item);
        let starter = starter.map(|starter| (starter.orchestration_name, starter.orchestration_version));
        Ok(Self { to: row.to, visible_at: row.visible_at, class: row.class, parent, starter, json })
    }
}

impl EncodedWork {
    pub(crate) fn of(row: WorkRow, operation: Operation) -> Result<Self, StoreError> {
        let json = json(operation, &row.item)?;
        let tag = tag_column(row.tag.as_deref());
        let name = if let WorkItem::ActivityExecute { name, .. } = &row.item { name.as_str() } else { "" };
        Ok(Self {
            route: WorkRoute::new(name, tag.clone()),
            instance: row.activity.instance,
            execution: column(row.activity.execution_id),
            activity: column(row.activity.activity_id),
            session: row.session.map(Text::from),
            tag,
            first_try: row.retry.map(|step| column(step.first_event_id)),
            try_no: row.retry.map(|step| step.number),
            json,
        })
    }
}

/// A number as a column holds it. Ids are checked to fit before they come here; others stop at the end of the range.
pub(crate) fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A column as a number.
pub(crate) fn number(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

/// A time as a column holds it. Zero means "visible", so the epoch itself is one millisecond later.
pub(crate) fn visible_column(visible_at: Option<Timestamp>) -> i64 {
    visible_at.map_or(0, |time| column(time.as_millis()).max(1))
}

/// A tag as a column holds it: no tag is the empty text.
pub(crate) fn tag_column(tag: Option<&str>) -> Text {
    tag.map_or_else(Text::default, |tag| Text::from(format!("={tag}")))
}

fn json<T: serde::Serialize>(operation: Operation, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::rejected(operation, Rejection::Invalid, error.to_string()))
}
