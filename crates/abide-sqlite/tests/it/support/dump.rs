//! Everything a SQLite store holds, in the form of the reference model, so that the two can be compared.
//!
//! The rules are those of [`abide_memory::dump`]: what the clock has decided counts as done, whether or not the store
//! has got round to it. Read on the writer's connection, so that nothing is in between.

use std::collections::{BTreeMap, BTreeSet};

use abide_memory::dump::{Dump, ExecutionDump, InstanceDump, MessageDump, SessionDump, WorkDump};
use abide_model::Event;
use abide_sqlite::SqliteProvider;
use rusqlite::{Connection, Result, Row};

const HOUR_MS: u64 = 3_600_000;

/// What the store holds at `now`, or why it cannot be read.
pub(crate) async fn dump_of(provider: &SqliteProvider, now: u64) -> std::result::Result<Dump, String> {
    match provider.inspect(move |connection| Reader { connection, now }.dump()).await {
        Some(dump) => dump.map_err(|error| format!("a table cannot be read: {error}")),
        None => Err("what is stored contradicts itself: see the panic of the writer's thread".to_owned()),
    }
}

/// A connection, and the time to judge by.
struct Reader<'a> {
    connection: &'a Connection,
    now: u64,
}

/// The rows that say of a mailbox that it is there, and the messages whose lease ran out.
#[derive(Default)]
struct Mailboxes {
    names: BTreeMap<i64, String>,
    instances: BTreeMap<i64, InstanceDump>,
    void: BTreeSet<u64>,
}

impl Reader<'_> {
    fn dump(&self) -> Result<Dump> {
        let mailboxes = self.mailboxes()?;
        let mut dump = Dump {
            messages: self.messages(&mailboxes)?,
            work: self.work(&mailboxes)?,
            sessions: self.sessions()?,
            request_keys: self.requests()?,
            dead_letters: self.count("SELECT count(*) FROM dead_letter")?,
            ..Dump::default()
        };
        for (no, instance) in mailboxes.instances {
            let name = &mailboxes.names[&no];
            let holds_something = dump.messages.values().any(|message| message.mailbox == *name)
                || dump.work.values().any(|work| work.instance == *name);
            if instance.is_instance || holds_something {
                dump.instances.insert(name.clone(), instance);
                self.add_kv(&mut dump, no, name)?;
            }
        }
        dump.executions = self.executions(&mailboxes.names)?;
        Ok(dump)
    }

    fn mailboxes(&self) -> Result<Mailboxes> {
        let mut found = Mailboxes::default();
        let query = "SELECT m.no, m.id, m.execution, m.last_event, m.status, m.pin, m.name, m.version, m.parent,
                            m.parent_execution, m.parent_event, m.created_at, m.updated_at, m.leased_until, m.batch,
                            c.value, c.version
                     FROM mailbox AS m LEFT JOIN custom_status AS c ON c.mailbox = m.no";
        self.each(query, |row| {
            let (no, id): (i64, String) = (row.get(0)?, row.get(1)?);
            let batch = batch_of(row)?;
            let leased_until: Option<u64> = row.get(13)?;
            let is_void = leased_until.is_some_and(|until| until <= self.now);
            let mut instance = InstanceDump { incarnation: no.unsigned_abs(), ..InstanceDump::default() };
            if is_void {
                found.void.extend(batch);
            } else {
                (instance.leased_until, instance.batch) = (leased_until, batch);
            }
            if row.get::<_, u64>(2)? > 0 {
                describe(&mut instance, row)?;
            }
            found.names.insert(no, id);
            found.instances.insert(no, instance);
            Ok(())
        })?;
        Ok(found)
    }

    fn messages(&self, mailboxes: &Mailboxes) -> Result<BTreeMap<u64, MessageDump>> {
        let mut messages = BTreeMap::new();
        self.each("SELECT no, mailbox, class, visible_at, attempts, item FROM message", |row| {
            let number = row.get(0)?;
            let void_leases = u32::from(mailboxes.void.contains(&number));
            let message = MessageDump {
                mailbox: mailboxes.names[&row.get(1)?].clone(),
                class: class_text(row.get(2)?).to_owned(),
                visible_at: self.still_to_come(row.get(3)?),
                attempts: row.get::<_, u32>(4)? + void_leases,
                json: row.get(5)?,
            };
            assert!(messages.insert(number, message).is_none(), "two messages have the number {number}");
            Ok(())
        })?;
        Ok(messages)
    }

    fn work(&self, mailboxes: &Mailboxes) -> Result<BTreeMap<u64, WorkDump>> {
        let mut all = BTreeMap::new();
        let query =
            "SELECT no, mailbox, execution, activity, session, tag, visible_at, attempts, leased_until, item
                     FROM work";
        self.each(query, |row| {
            let number = row.get(0)?;
            let tag: String = row.get(5)?;
            let work = WorkDump {
                instance: mailboxes.names[&row.get(1)?].clone(),
                execution: row.get(2)?,
                activity: row.get(3)?,
                session: row.get(4)?,
                tag: tag.strip_prefix('=').map(ToOwned::to_owned),
                visible_at: self.still_to_come(row.get(6)?),
                attempts: row.get(7)?,
                leased_until: row.get::<_, Option<u64>>(8)?.filter(|until| *until > self.now),
                json: row.get(9)?,
            };
            assert!(all.insert(number, work).is_none(), "two activities have the number {number}");
            Ok(())
        })?;
        Ok(all)
    }

    fn executions(&self, names: &BTreeMap<i64, String>) -> Result<BTreeMap<(String, u64), ExecutionDump>> {
        let mut executions = BTreeMap::new();
        let query = "SELECT mailbox, no, status, output, pin, started_at, completed_at FROM execution";
        self.each(query, |row| {
            let execution = ExecutionDump {
                status: row.get(2)?,
                output: row.get(3)?,
                pin: some_text(row.get(4)?),
                started: row.get(5)?,
                completed: row.get(6)?,
                ..ExecutionDump::default()
            };
            executions.insert((names[&row.get(0)?].clone(), row.get(1)?), execution);
            Ok(())
        })?;
        let query =
            "SELECT mailbox, execution, first_event, last_event, events FROM turn ORDER BY first_event";
        self.each(query, |row| {
            let key = (names[&row.get(0)?].clone(), row.get(1)?);
            let execution: &mut ExecutionDump = executions.get_mut(&key).expect("a turn has an execution");
            let text: String = row.get(4)?;
            match serde_json::from_str::<Vec<Event>>(&text) {
                Ok(events) => add_events(execution, &events, (row.get(2)?, row.get(3)?)),
                Err(_) => execution.events.push(text),
            }
            Ok(())
        })?;
        Ok(executions)
    }

    fn sessions(&self) -> Result<BTreeMap<String, SessionDump>> {
        let mut sessions = BTreeMap::new();
        self.each("SELECT name, owner, locked_until, last_active_at FROM session", |row| {
            let session =
                SessionDump { owner: row.get(1)?, locked_until: row.get(2)?, last_activity: row.get(3)? };
            sessions.insert(row.get(0)?, session);
            Ok(())
        })?;
        Ok(sessions)
    }

    fn add_kv(&self, dump: &mut Dump, mailbox: i64, name: &str) -> Result<()> {
        let query = format!("SELECT key, value, updated_at FROM kv_store WHERE mailbox = {mailbox}");
        self.each(&query, |row| {
            dump.kv_store.insert((name.to_owned(), row.get(0)?), (row.get(1)?, row.get(2)?));
            Ok(())
        })?;
        let query = format!("SELECT key, value, updated_at FROM kv_delta WHERE mailbox = {mailbox}");
        self.each(&query, |row| {
            let updated_at = row.get(2)?;
            let value = row.get::<_, Option<String>>(1)?.map(|value| (value, updated_at));
            dump.kv_delta.insert((name.to_owned(), row.get(0)?), value);
            Ok(())
        })
    }

    fn requests(&self) -> Result<BTreeMap<String, u64>> {
        let mut requests = BTreeMap::new();
        self.each("SELECT hex(key), seen_at FROM request", |row| {
            let (key, seen_at): (String, u64) = (row.get(0)?, row.get(1)?);
            if seen_at + HOUR_MS > self.now {
                requests.insert(key.to_lowercase(), seen_at);
            }
            Ok(())
        })?;
        Ok(requests)
    }

    fn count(&self, query: &str) -> Result<usize> {
        self.connection.prepare_cached(query)?.query_row([], |row| row.get(0))
    }

    fn each(&self, query: &str, mut take: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
        let mut statement = self.connection.prepare_cached(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
        Ok(())
    }

    fn still_to_come(&self, visible_at: u64) -> Option<u64> {
        (visible_at > self.now).then_some(visible_at)
    }
}

/// What is said of an instance and of nothing else. Columns: [`Reader::mailboxes`].
fn describe(instance: &mut InstanceDump, row: &Row<'_>) -> Result<()> {
    let parent: Option<String> = row.get(8)?;
    let (parent_execution, parent_event) = (row.get(9)?, row.get(10)?);
    instance.is_instance = true;
    instance.execution = row.get(2)?;
    instance.last_event_id = row.get(3)?;
    instance.status = some_text(row.get(4)?);
    instance.pin = some_text(row.get(5)?);
    instance.name = row.get(6)?;
    instance.version = row.get(7)?;
    instance.parent = parent.map(|parent| (parent, parent_execution, parent_event));
    instance.created = row.get(11)?;
    instance.updated = row.get(12)?;
    instance.custom_status = row.get(15)?;
    instance.custom_status_version = row.get::<_, Option<u64>>(16)?.unwrap_or(0);
    Ok(())
}

fn batch_of(row: &Row<'_>) -> Result<Vec<u64>> {
    let text: Option<String> = row.get(14)?;
    let numbers = text.iter().flat_map(|text| text.split(',')).filter(|number| !number.is_empty());
    let mut batch: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
    batch.sort_unstable();
    Ok(batch)
}

fn add_events(execution: &mut ExecutionDump, events: &[Event], (first, last): (u64, u64)) {
    let ends = (events.first().map(Event::event_id), events.last().map(Event::event_id));
    assert_eq!(ends, (Some(first), Some(last)), "the columns of a turn tell what is in it");
    execution.event_ids.extend(events.iter().map(Event::event_id));
    execution.events.extend(events.iter().map(|event| serde_json::to_string(event).unwrap()));
}

fn class_text(class: i64) -> &'static str {
    ["Other", "Start", "ContinueAsNew", "Queue", "Timer"][usize::try_from(class).unwrap()]
}

fn some_text(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
