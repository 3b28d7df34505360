//! The ways to lay out a history in tables.

use rusqlite::types::Value;
use rusqlite::{Connection, Statement};

use crate::store::traffic::{Texts, Turn};

/// A table of histories.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) ddl: &'static str,
    pub(crate) key: Key,
    pub(crate) row: Row,
}

/// What an instance is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Text,
    Number,
}

/// What a row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Row {
    Event,
    Turn,
}

pub(crate) const SCHEMAS: &[&Schema] = &[
    &Schema {
        name: "A",
        what: "row per event, clustered by text",
        ddl: "CREATE TABLE history (instance TEXT NOT NULL, execution INTEGER NOT NULL, event INTEGER NOT NULL, \
              data TEXT NOT NULL, PRIMARY KEY (instance, execution, event)) WITHOUT ROWID, STRICT",
        key: Key::Text,
        row: Row::Event,
    },
    &Schema {
        name: "A2",
        what: "row per event, clustered by number",
        ddl: CLUSTERED,
        key: Key::Number,
        row: Row::Event,
    },
    &Schema {
        name: "A3",
        what: "row per event, appended, indexed",
        ddl: APPENDED,
        key: Key::Number,
        row: Row::Event,
    },
    &APPENDED_TURNS,
    &CLUSTERED_TURNS,
];

pub(crate) const APPENDED_TURNS: Schema = Schema {
    name: "B",
    what: "row per turn, appended, indexed",
    ddl: APPENDED,
    key: Key::Number,
    row: Row::Turn,
};

pub(crate) const CLUSTERED_TURNS: Schema = Schema {
    name: "C",
    what: "row per turn, clustered by number",
    ddl: CLUSTERED,
    key: Key::Number,
    row: Row::Turn,
};

const CLUSTERED: &str = "\
    CREATE TABLE history (instance INTEGER NOT NULL, execution INTEGER NOT NULL, event INTEGER NOT NULL, \
    data TEXT NOT NULL, PRIMARY KEY (instance, execution, event)) WITHOUT ROWID, STRICT";

const APPENDED: &str = "\
    CREATE TABLE history (instance INTEGER NOT NULL, execution INTEGER NOT NULL, event INTEGER NOT NULL, \
    data TEXT NOT NULL) STRICT; \
    CREATE UNIQUE INDEX history_of ON history (instance, execution, event)";

const INSERT: &str = "INSERT INTO history (instance, execution, event, data) VALUES (?1, 1, ?2, ?3)";
pub(crate) const SELECT: &str =
    "SELECT data FROM history WHERE instance = ?1 AND execution = 1 ORDER BY event";

impl Schema {
    /// What the key calls an instance.
    pub(crate) fn key_of(&self, instance: i64) -> Value {
        match self.key {
            Key::Text => text_id(instance).into(),
            Key::Number => instance.into(),
        }
    }
}

fn text_id(instance: i64) -> String {
    format!("order-{instance:08}")
}

/// Writes turns through a statement that is prepared once.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    schema: &'a Schema,
    texts: &'a Texts,
    insert: Statement<'a>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        connection: &'a Connection,
        schema: &'a Schema,
        texts: &'a Texts,
    ) -> rusqlite::Result<Self> {
        Ok(Self { schema, texts, insert: connection.prepare(INSERT)? })
    }

    pub(crate) fn write(&mut self, turn: Turn) -> rusqlite::Result<()> {
        let texts = self.texts;
        match self.schema.row {
            Row::Turn => self.insert(turn.instance, turn.first_event, &texts.turn),
            Row::Event => (turn.first_event..)
                .zip(&texts.events)
                .try_for_each(|(event, data)| self.insert(turn.instance, event, data)),
        }
    }

    fn insert(&mut self, instance: i64, event: i64, data: &str) -> rusqlite::Result<()> {
        match self.schema.key {
            Key::Text => self.insert.execute((text_id(instance), event, data)),
            Key::Number => self.insert.execute((instance, event, data)),
        }
        .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::traffic::EVENTS_PER_TURN;

    #[test]
    fn every_schema_reads_what_it_wrote_in_order_by_key() {
        let texts = Texts::new().unwrap();
        for schema in SCHEMAS {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(schema.ddl).unwrap();
            let mut writer = Writer::new(&connection, schema, &texts).unwrap();
            for first_event in [1, 1 + EVENTS_PER_TURN] {
                for instance in [7, 5, 6] {
                    writer.write(Turn { instance, first_event }).unwrap();
                }
            }
            let [first, second] = &texts.events;
            let expected = match schema.row {
                Row::Event => vec![first, second, first, second],
                Row::Turn => vec![&texts.turn, &texts.turn],
            };
            let mut select = connection.prepare(SELECT).unwrap();
            let read = select.query_map([schema.key_of(5)], |row| row.get::<_, String>(0)).unwrap();
            assert_eq!(
                read.map(Result::unwrap).collect::<Vec<_>>().iter().collect::<Vec<_>>(),
                expected,
                "{schema:?}"
            );

            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {SELECT}")).unwrap();
            let plan = explain.query_map([schema.key_of(5)], |row| row.get::<_, String>(3)).unwrap();
            let plan = plan.map(Result::unwrap).collect::<Vec<_>>().join("; ");
            assert!(plan.starts_with("SEARCH") && !plan.contains("TEMP"), "{}: {plan}", schema.name);
        }
    }
}
