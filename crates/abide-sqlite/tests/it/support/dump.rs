//! Everything a SQLite store holds, in the form of the reference model, so that the two can be compared.
//!
//! The rules are those of [`abide_memory::dump`]: what the clock has decided counts as done, whether or not the store
//! has got round to it. To be read on the writer's connection (`inspect`), so that nothing is in between.

use std::collections::{BTreeMap, BTreeSet};

use abide_memory::dump::{Dump, ExecutionDump, InstanceDump, MessageDump, SessionDump, WorkDump};
use abide_model::{Event, StepTry};
use rusqlite::{Connection, Result, Row};

const HOUR_MS: u64 = 3_600_000;

/// What the store behind this connection holds at `now`.
pub(crate) fn read_dump(connection: &Connection, now: u64) -> Result<Dump> {
    Reader { connection, now }.dump()
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
            }
        }
        dump.executions = self.executions(&mailboxes.names)?;
        self.add_kv(&mut dump, &mailboxes.names)?;
        dump.forget_gone_mail();
        Ok(dump)
    }

    fn mailboxes(&self) -> Result<Mailboxes> {
        let mut found = Mailboxes::default();
        let query = "SELECT m.no, m.id, m.execution, m.last_event, m.status, m.pin, m.name, m.version, m.parent,
                            m.parent_execution, m.parent_event, m.created_at, m.updated_at, m.leased_until, m.batch,
                            c.value, c.version, b.refused, b.retry_after, b.retry_at, b.kind, b.build,
                            (SELECT min(visible_at) FROM message WHERE mailbox = m.no AND visible_at > 0), m.waiting, m.lease_counts
                     FROM mailbox AS m LEFT JOIN custom_status AS c ON c.mailbox = m.no
                     LEFT JOIN block AS b ON b.mailbox = m.no";
        self.each(query, |row| {
            let (no, id): (i64, String) = (row.get(0)?, row.get(1)?);
            let batch = batch_of(row)?;
            let leased_until = some_number(row, 13)?;
            let is_void = leased_until.is_some_and(|until| until <= self.now);
            let mut instance = InstanceDump { incarnation: no.unsigned_abs(), ..InstanceDump::default() };
            if is_void {
                found.void.extend(batch.into_iter().filter(|_| row.get(24).unwrap()));
            } else {
                (instance.leased_until, instance.batch) = (leased_until, batch);
            }
            if number(row, 2)? > 0 {
                describe(&mut instance, row)?;
            }
            self.add_refused(&mut instance, row)?;
            found.names.insert(no, id);
            found.instances.insert(no, instance);
            Ok(())
        })?;
        Ok(found)
    }

    /// Who refused it, and what blocks it. Columns: [`Reader::mailboxes`].
    fn add_refused(&self, instance: &mut InstanceDump, row: &Row<'_>) -> Result<()> {
        let Some(refused) = row.get::<_, Option<String>>(17)? else { return Ok(()) };
        instance.refused_by = match refused.as_str() {
            "" => Vec::new(),
            "*" => vec!["*".to_owned()],
            builds => serde_json::from_str(builds).unwrap(),
        };
        let unseen = some_number(row, 22)?.filter(|time| *time <= self.now);
        let starts_now = || Some(unseen? + some_number(row, 18).unwrap()?);
        let retry_at = some_number(row, 19)?.or_else(starts_now);
        instance.is_open = retry_at.is_some_and(|time| time <= self.now);
        instance.retry_at = retry_at.filter(|time| *time > self.now);
        instance.block = row.get::<_, Option<String>>(20)?.zip(row.get(21)?);
        Ok(())
    }

    fn messages(&self, mailboxes: &Mailboxes) -> Result<BTreeMap<u64, MessageDump>> {
        let mut messages = BTreeMap::new();
        let query = "SELECT no, mailbox, class, visible_at, attempts, item,
                            iif((SELECT m.flags & 4 FROM mailbox AS m WHERE m.no = mailbox), expires_at, NULL) FROM message";
        self.each(&alive(query), |row| {
            let no = number(row, 0)?;
            let expires_at = some_number(row, 6)?;
            if expires_at.is_some_and(|time| time <= self.now) {
                return Ok(()); // it is still to be removed
            }
            let void_leases = u32::from(mailboxes.void.contains(&no));
            let message = MessageDump {
                mailbox: mailboxes.names[&row.get(1)?].clone(),
                class: class_text(row.get(2)?).to_owned(),
                visible_at: self.still_to_come(number(row, 3)?),
                attempts: row.get::<_, u32>(4)? + void_leases,
                expires_at,
                json: row.get(5)?,
            };
            assert!(messages.insert(no, message).is_none(), "two messages have the number {no}");
            Ok(())
        })?;
        Ok(messages)
    }

    fn work(&self, mailboxes: &Mailboxes) -> Result<BTreeMap<u64, WorkDump>> {
        let mut all = BTreeMap::new();
        let query =
            "SELECT no, mailbox, execution, activity, session, tag, visible_at, attempts, leased_until, item,
                            held_since IS NOT NULL, first_try, try_no
                     FROM work";
        self.each(&alive(query), |row| {
            let no = number(row, 0)?;
            let tag: String = row.get(5)?;
            let work = WorkDump {
                instance: mailboxes.names[&row.get(1)?].clone(),
                execution: number(row, 2)?,
                activity: number(row, 3)?,
                step: Some(StepTry {
                    first_event_id: some_number(row, 11)?.unwrap_or(number(row, 3)?),
                    number: row.get::<_, Option<u32>>(12)?.unwrap_or(1),
                }),
                session: row.get(4)?,
                tag: tag.strip_prefix('=').map(ToOwned::to_owned),
                visible_at: self.still_to_come(number(row, 6)?),
                attempts: row.get(7)?,
                leased_until: some_number(row, 8)?.filter(|until| *until > self.now),
                json: row.get(9)?,
                is_held: row.get(10)?,
            };
            assert!(all.insert(no, work).is_none(), "two activities have the number {no}");
            Ok(())
        })?;
        Ok(all)
    }

    fn executions(&self, names: &BTreeMap<i64, String>) -> Result<BTreeMap<(String, u64), ExecutionDump>> {
        let mut executions = BTreeMap::new();
        let query = "SELECT mailbox, no, status, output, pin, started_at, completed_at FROM execution";
        self.each(&alive(query), |row| {
            let execution = ExecutionDump {
                status: row.get(2)?,
                output: row.get(3)?,
                pin: some_text(row.get(4)?),
                started: number(row, 5)?,
                completed: some_number(row, 6)?,
                ..ExecutionDump::default()
            };
            executions.insert((names[&row.get(0)?].clone(), number(row, 1)?), execution);
            Ok(())
        })?;
        let query = alive("SELECT mailbox, execution, first_event, last_event, events FROM turn");
        self.each(&format!("{query} ORDER BY first_event"), |row| {
            let key = (names[&row.get(0)?].clone(), number(row, 1)?);
            let execution: &mut ExecutionDump = executions.get_mut(&key).expect("a turn has an execution");
            let text: String = row.get(4)?;
            match serde_json::from_str::<Vec<Event>>(&text) {
                Ok(events) => add_events(execution, &events, (number(row, 2)?, number(row, 3)?)),
                Err(_) => execution.events.push(text),
            }
            Ok(())
        })?;
        Ok(executions)
    }

    fn sessions(&self) -> Result<BTreeMap<String, SessionDump>> {
        let mut sessions = BTreeMap::new();
        self.each("SELECT name, owner, locked_until, last_active_at FROM session", |row| {
            let session = SessionDump {
                owner: row.get(1)?,
                locked_until: number(row, 2)?,
                last_activity: number(row, 3)?,
            };
            sessions.insert(row.get(0)?, session);
            Ok(())
        })?;
        Ok(sessions)
    }

    fn add_kv(&self, dump: &mut Dump, names: &BTreeMap<i64, String>) -> Result<()> {
        self.each(&alive("SELECT mailbox, key, value, updated_at FROM kv_store"), |row| {
            let key = (names[&row.get(0)?].clone(), row.get(1)?);
            dump.kv_store.insert(key, (row.get(2)?, number(row, 3)?));
            Ok(())
        })?;
        self.each(&alive("SELECT mailbox, key, value, updated_at FROM kv_delta"), |row| {
            let key = (names[&row.get(0)?].clone(), row.get(1)?);
            let updated_at = number(row, 3)?;
            dump.kv_delta.insert(key, row.get::<_, Option<String>>(2)?.map(|value| (value, updated_at)));
            Ok(())
        })
    }

    fn requests(&self) -> Result<BTreeMap<String, u64>> {
        let mut requests = BTreeMap::new();
        self.each("SELECT hex(key), seen_at FROM request", |row| {
            let (key, seen_at): (String, _) = (row.get(0)?, number(row, 1)?);
            if seen_at + HOUR_MS > self.now {
                requests.insert(key.to_lowercase(), seen_at);
            }
            Ok(())
        })?;
        Ok(requests)
    }

    fn count(&self, query: &str) -> Result<usize> {
        let count = self.connection.prepare_cached(query)?.query_row([], |row| number(row, 0))?;
        Ok(usize::try_from(count).unwrap())
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

/// Without the rows of deleted mailboxes, which nothing reads any more.
fn alive(query: &str) -> String {
    format!("{query} WHERE mailbox NOT IN (SELECT mailbox FROM tombstone)")
}

/// What is said of an instance and of nothing else. Columns: [`Reader::mailboxes`].
fn describe(instance: &mut InstanceDump, row: &Row<'_>) -> Result<()> {
    let parent: Option<String> = row.get(8)?;
    let (parent_execution, parent_event) = (some_number(row, 9)?, some_number(row, 10)?);
    instance.is_instance = true;
    instance.execution = number(row, 2)?;
    instance.last_event_id = number(row, 3)?;
    instance.status = some_text(row.get(4)?);
    instance.pin = some_text(row.get(5)?);
    instance.name = row.get(6)?;
    instance.version = row.get(7)?;
    instance.parent = parent.map(|parent| (parent, parent_execution, parent_event));
    instance.created = number(row, 11)?;
    instance.updated = number(row, 12)?;
    instance.custom_status = row.get(15)?;
    instance.custom_status_version = some_number(row, 16)?.unwrap_or(0);
    instance.waiting = row.get(23)?;
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
    ["Other", "Start", "ContinueAsNew", "Queue", "Timer", "Cancel", "Answer"][usize::try_from(class).unwrap()]
}

fn some_text(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn number(row: &Row<'_>, column: usize) -> Result<u64> {
    Ok(some_number(row, column)?.unwrap_or(0))
}

fn some_number(row: &Row<'_>, column: usize) -> Result<Option<u64>> {
    let found: Option<i64> = row.get(column)?;
    Ok(found.map(|number| u64::try_from(number).expect("no column of ours is negative")))
}
