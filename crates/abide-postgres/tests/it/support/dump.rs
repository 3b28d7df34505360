//! Everything a PostgreSQL store holds, in the form of the reference model, so that the two can be compared.
//!
//! The rules are those of [`abide_memory::dump`]: what the clock has decided counts as done, whether or not the store has got round to it.

use std::collections::{BTreeMap, BTreeSet};

use abide_memory::dump::{Dump, ExecutionDump, InstanceDump, MessageDump, SessionDump, WorkDump};
use abide_model::{Event, StepTry};
use tokio_postgres::Row;

use super::database::Database;

const HOUR_MS: u64 = 3_600_000;

/// What the store holds at `now`.
pub(crate) fn read_dump(database: &Database, now: u64) -> Dump {
    Reader { database, now }.dump()
}

/// A database, and the time to judge by.
struct Reader<'a> {
    database: &'a Database,
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
    fn dump(&self) -> Dump {
        let mailboxes = self.mailboxes();
        let mut dump = Dump {
            messages: self.messages(&mailboxes),
            work: self.work(&mailboxes),
            sessions: self.sessions(),
            request_keys: self.requests(),
            dead_letters: usize::try_from(self.database.number("SELECT count(*) FROM abide.dead_letter"))
                .unwrap(),
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
        dump.executions = self.executions(&mailboxes.names);
        self.add_kv(&mut dump, &mailboxes.names);
        dump
    }

    fn mailboxes(&self) -> Mailboxes {
        let mut found = Mailboxes::default();
        let query =
            "SELECT b.no, b.id, b.execution, b.last_event, b.status, b.pin, i.name, i.version, i.parent,
                            i.parent_execution, i.parent_event, i.created_at, b.updated_at, b.leased_until,
                            i.custom_status, i.custom_status_version,
                            ARRAY(SELECT h FROM abide.batch(b.no, b.batch_to, b.batch_first, b.batch_cancel) AS h),
                            k.refused, k.retry_after, k.retry_at, k.is_open, k.kind, k.build,
                            (SELECT min(m.visible_at) FROM abide.message AS m WHERE m.mailbox = b.no), b.waiting, b.lease_counts
                     FROM abide.mailbox AS b JOIN abide.instance AS i ON i.no = b.no
                     LEFT JOIN abide.block AS k ON k.mailbox = b.no";
        for row in self.database.rows(query, &[]) {
            let (no, id): (i64, String) = (row.get(0), text(&row, 1));
            let mut batch: Vec<u64> = row.get::<_, Vec<i64>>(16).into_iter().map(unsigned).collect();
            batch.sort_unstable();
            let leased_until = some_number(&row, 13);
            let is_void = leased_until.is_some_and(|until| until <= self.now);
            let mut instance = InstanceDump { incarnation: unsigned(no), ..InstanceDump::default() };
            if is_void {
                found.void.extend(batch.into_iter().filter(|_| row.get(25)));
            } else {
                (instance.leased_until, instance.batch) = (leased_until, batch);
            }
            if number(&row, 2) > 0 {
                describe(&mut instance, &row);
            }
            self.add_refused(&mut instance, &row);
            found.names.insert(no, id);
            found.instances.insert(no, instance);
        }
        found
    }

    /// Who refused it, and what blocks it. Columns: [`Reader::mailboxes`].
    fn add_refused(&self, instance: &mut InstanceDump, row: &Row) {
        let Some(refused) = row.get::<_, Option<String>>(17) else { return };
        instance.refused_by = match refused.as_str() {
            "" => Vec::new(),
            "*" => vec!["*".to_owned()],
            builds => serde_json::from_str(builds).unwrap(),
        };
        let was_open: bool = row.get(20);
        let unseen = some_number(row, 23).filter(|time| *time <= self.now);
        let starts_now = || Some(unseen? + some_number(row, 18)?);
        let retry_at = some_number(row, 19).or_else(|| if was_open { None } else { starts_now() });
        instance.is_open = was_open || retry_at.is_some_and(|time| time <= self.now);
        instance.retry_at = retry_at.filter(|time| *time > self.now);
        instance.block = row.get::<_, Option<String>>(21).zip(some_text(row, 22));
    }

    fn messages(&self, mailboxes: &Mailboxes) -> BTreeMap<u64, MessageDump> {
        let rows = self.database.rows(
            &alive("SELECT no, mailbox, class, visible_at, attempts, item,
                     (SELECT CASE WHEN b.flags & 4 = 4 THEN expires_at END FROM abide.mailbox AS b WHERE b.no = mailbox)
                     FROM abide.message"),
            &[],
        );
        let message = |row: &Row| {
            let no = number(row, 0);
            let expires_at = some_number(row, 6);
            if expires_at.is_some_and(|time| time <= self.now) {
                return None; // it is still to be removed
            }
            let void_leases = u32::from(mailboxes.void.contains(&no));
            let message = MessageDump {
                mailbox: mailboxes.names[&row.get::<_, i64>(1)].clone(),
                class: class_text(row.get(2)).to_owned(),
                visible_at: some_number(row, 3).filter(|time| *time > self.now),
                attempts: u32::try_from(row.get::<_, i32>(4)).unwrap() + void_leases,
                expires_at,
                json: row.get(5),
            };
            Some((no, message))
        };
        rows.iter().filter_map(message).collect()
    }

    fn work(&self, mailboxes: &Mailboxes) -> BTreeMap<u64, WorkDump> {
        let query =
            "SELECT no, mailbox, execution, activity, session, tag, due_at, attempts, leased_until, item,
                     held_since IS NOT NULL, first_try, try_no FROM abide.work";
        let work = |row: &Row| {
            let tag = text(row, 5);
            let leased_until = some_number(row, 8);
            let is_held: bool = row.get(10);
            // What is held is due at the end of time.
            let hidden_until = if leased_until.is_some() || is_held { None } else { some_number(row, 6) };
            let work = WorkDump {
                instance: mailboxes.names[&row.get::<_, i64>(1)].clone(),
                execution: number(row, 2),
                activity: number(row, 3),
                step: Some(StepTry {
                    first_event_id: some_number(row, 11).unwrap_or_else(|| number(row, 3)),
                    number: row.get::<_, Option<i32>>(12).map_or(1, |number| u32::try_from(number).unwrap()),
                }),
                session: some_text(row, 4),
                tag: tag.strip_prefix('=').map(ToOwned::to_owned),
                visible_at: hidden_until.filter(|time| *time > self.now),
                attempts: u32::try_from(row.get::<_, i32>(7)).unwrap(),
                leased_until: leased_until.filter(|until| *until > self.now),
                json: row.get(9),
                is_held,
            };
            (number(row, 0), work)
        };
        self.database.rows(query, &[]).iter().map(work).collect()
    }

    fn executions(&self, names: &BTreeMap<i64, String>) -> BTreeMap<(String, u64), ExecutionDump> {
        let mut executions = BTreeMap::new();
        let query = "SELECT mailbox, no, status, output, pin, started_at, completed_at FROM abide.execution";
        for row in self.database.rows(&alive(query), &[]) {
            let execution = ExecutionDump {
                status: row.get(2),
                output: some_text(&row, 3),
                pin: Some(row.get::<_, String>(4)).filter(|pin| !pin.is_empty()),
                started: number(&row, 5),
                completed: some_number(&row, 6),
                ..ExecutionDump::default()
            };
            executions.insert((names[&row.get::<_, i64>(0)].clone(), number(&row, 1)), execution);
        }
        let query = alive("SELECT mailbox, execution, first_event, last_event, events FROM abide.turn");
        for row in self.database.rows(&format!("{query} ORDER BY first_event"), &[]) {
            let key = (names[&row.get::<_, i64>(0)].clone(), number(&row, 1));
            let execution: &mut ExecutionDump = executions.get_mut(&key).expect("a turn has an execution");
            let events: String = row.get(4);
            match serde_json::from_str::<Vec<Event>>(&events) {
                Ok(events) => add_events(execution, &events, (number(&row, 2), number(&row, 3))),
                Err(_) => execution.events.push(events),
            }
        }
        executions
    }

    fn sessions(&self) -> BTreeMap<String, SessionDump> {
        let query = "SELECT name, owner, locked_until, last_active_at FROM abide.session WHERE last_active_at IS NOT NULL";
        let session = |row: &Row| {
            let session = SessionDump {
                owner: text(row, 1),
                locked_until: number(row, 2),
                last_activity: number(row, 3),
            };
            (text(row, 0), session)
        };
        self.database.rows(query, &[]).iter().map(session).collect()
    }

    fn add_kv(&self, dump: &mut Dump, names: &BTreeMap<i64, String>) {
        for row in
            self.database.rows(&alive("SELECT mailbox, key, value, updated_at FROM abide.kv_store"), &[])
        {
            let key = (names[&row.get::<_, i64>(0)].clone(), text(&row, 1));
            dump.kv_store.insert(key, (text(&row, 2), number(&row, 3)));
        }
        for row in
            self.database.rows(&alive("SELECT mailbox, key, value, updated_at FROM abide.kv_delta"), &[])
        {
            let key = (names[&row.get::<_, i64>(0)].clone(), text(&row, 1));
            dump.kv_delta.insert(key, some_text(&row, 2).map(|value| (value, number(&row, 3))));
        }
    }

    fn requests(&self) -> BTreeMap<String, u64> {
        let rows = self.database.rows("SELECT encode(key, 'hex'), seen_at FROM abide.request", &[]);
        let seen = rows.iter().map(|row| (row.get(0), number(row, 1)));
        seen.filter(|(_, seen_at)| seen_at + HOUR_MS > self.now).collect()
    }
}

/// Without the rows of deleted mailboxes, which nothing reads any more.
fn alive(query: &str) -> String {
    format!("{query} WHERE mailbox NOT IN (SELECT t.mailbox FROM abide.tombstone AS t)")
}

/// What is said of an instance and of nothing else. Columns: [`Reader::mailboxes`].
fn describe(instance: &mut InstanceDump, row: &Row) {
    let parent = some_text(row, 8);
    let (parent_execution, parent_event) = (some_number(row, 9), some_number(row, 10));
    instance.is_instance = true;
    instance.execution = number(row, 2);
    instance.last_event_id = number(row, 3);
    instance.status = some_text(row, 4).filter(|text| !text.is_empty());
    instance.pin = some_text(row, 5).filter(|text| !text.is_empty());
    instance.name = text(row, 6);
    instance.version = text(row, 7);
    instance.parent = parent.map(|parent| (parent, parent_execution, parent_event));
    instance.created = number(row, 11);
    instance.updated = number(row, 12);
    instance.custom_status = some_text(row, 14);
    instance.custom_status_version = number(row, 15);
    instance.waiting = some_text(row, 24);
}

fn add_events(execution: &mut ExecutionDump, events: &[Event], (first, last): (u64, u64)) {
    let ends = (events.first().map(Event::event_id), events.last().map(Event::event_id));
    assert_eq!(ends, (Some(first), Some(last)), "the columns of a turn tell what is in it");
    execution.event_ids.extend(events.iter().map(Event::event_id));
    execution.events.extend(events.iter().map(|event| serde_json::to_string(event).unwrap()));
}

fn class_text(class: i16) -> &'static str {
    ["Other", "Start", "ContinueAsNew", "Queue", "Timer", "Cancel", "Answer"][usize::try_from(class).unwrap()]
}

/// Texts of users are stored without NUL.
fn text(row: &Row, column: usize) -> String {
    some_text(row, column).unwrap_or_default()
}

fn some_text(row: &Row, column: usize) -> Option<String> {
    let stored: Option<String> = row.get(column);
    // In this order: what is spelt with two characters first is not touched by the second.
    stored.map(|text| text.replace("\u{1}0", "\0").replace("\u{1}1", "\u{1}"))
}

fn number(row: &Row, column: usize) -> u64 {
    some_number(row, column).unwrap_or(0)
}

fn some_number(row: &Row, column: usize) -> Option<u64> {
    row.get::<_, Option<i64>>(column).map(unsigned)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).expect("no column of ours is negative")
}
