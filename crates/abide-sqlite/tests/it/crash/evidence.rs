//! What a database says, compared with itself and with what was acknowledged.
//!
//! With itself: a turn is there with everything it wrote, or not at all; each activity is waiting, answered or taken in,
//! and never two of these. With the journal: nothing acknowledged is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use abide_model::{Event, EventKind, WorkItem};
use rusqlite::Connection;

use crate::support::load::{COLLECTOR, SINK};

/// What a database says about the load.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    instances: BTreeMap<String, Instance>,
    problems: Vec<String>,
}

#[derive(Debug, Default)]
struct Instance {
    execution: i64,
    last_event: u64,
    status: String,
    events: Vec<Event>,
    /// The last event of each turn.
    ends: Vec<u64>,
    /// The same, by the key-value store and by the messages to the sink.
    kv_end: Option<u64>,
    sunk: Vec<u64>,
    work: Vec<u64>,
    mail: Vec<WorkItem>,
}

/// SQLite's own opinion of a file.
pub(crate) fn integrity(path: &Path) -> String {
    let connection = Connection::open(path).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

impl Evidence {
    /// Reads everything, as any SQLite program would.
    pub(crate) fn read(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        Self::of(&connection).unwrap()
    }

    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let mut evidence = Self::default();
        evidence.read_mailboxes(connection)?;
        evidence.read_histories(connection)?;
        evidence.read_key_values(connection)?;
        evidence.read_queues(connection)?;
        Ok(evidence)
    }

    fn read_mailboxes(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut query = connection.prepare("SELECT id, execution, last_event, status FROM mailbox")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let instance = self.instances.entry(row.get(0)?).or_default();
            (instance.execution, instance.status) = (row.get(1)?, row.get(3)?);
            instance.last_event = number(row.get(2)?);
        }
        Ok(())
    }

    fn read_histories(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut query = connection.prepare(
            "SELECT id, last_event_of_turn, events FROM mailbox JOIN \
             (SELECT mailbox, first_event, last_event AS last_event_of_turn, events FROM turn) ON mailbox = no \
             ORDER BY mailbox, first_event",
        )?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let instance = self.instances.entry(row.get(0)?).or_default();
            instance.ends.push(number(row.get(1)?));
            let text: String = row.get(2)?;
            let events: Vec<Event> = serde_json::from_str(&text).unwrap();
            instance.events.extend(events);
        }
        Ok(())
    }

    fn read_key_values(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut query = connection.prepare(
            "SELECT id, coalesce(d.value, s.value) FROM mailbox \
             LEFT JOIN kv_delta d ON d.mailbox = no LEFT JOIN kv_store s ON s.mailbox = no",
        )?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let value: Option<String> = row.get(1)?;
            let instance = self.instances.entry(row.get(0)?).or_default();
            instance.kv_end = value.map(|value| value.parse().unwrap());
        }
        Ok(())
    }

    fn read_queues(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut query =
            connection.prepare("SELECT id, activity FROM work JOIN mailbox ON mailbox.no = mailbox")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            self.instances.entry(row.get(0)?).or_default().work.push(number(row.get(1)?));
        }
        let mut query =
            connection.prepare("SELECT id, item FROM message JOIN mailbox ON mailbox.no = mailbox")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (id, text): (String, String) = (row.get(0)?, row.get(1)?);
            let item: WorkItem = serde_json::from_str(&text).unwrap();
            if let WorkItem::ExternalRaised { data, .. } = &item
                && id == SINK
            {
                let (from, end) = data.rsplit_once(':').unwrap();
                self.instances.entry(from.to_owned()).or_default().sunk.push(end.parse().unwrap());
            } else {
                self.instances.entry(id).or_default().mail.push(item);
            }
        }
        Ok(())
    }

    /// Compares the database with itself.
    #[must_use]
    pub(crate) fn whole(mut self) -> Self {
        let Self { instances, problems } = &mut self;
        for (id, instance) in instances {
            if id != SINK {
                instance.check(|problem| problems.push(format!("{id}: {problem}")));
            }
        }
        self
    }

    /// Whether everything in the journal is there.
    #[must_use]
    pub(crate) fn holds(mut self, journal: &[String]) -> Self {
        let collected = self.collected();
        for line in journal {
            let words: Vec<&str> = line.split(' ').collect();
            let there = match words.as_slice() {
                ["start", id] => self.instances.get(*id).is_some_and(Instance::is_started),
                ["turn", id, end] => self.instances.get(*id).is_some_and(|it| it.last_event >= parse(end)),
                ["done", id, activity] => {
                    self.instances.get(*id).is_some_and(|it| it.has_answer(parse(activity)))
                }
                ["mail", name] => collected.contains(*name),
                ["bad", ..] => false,
                _ => true,
            };
            if !there {
                self.problems.push(format!("in the journal: {line}"));
            }
        }
        self
    }

    /// Whether nothing is left to be done.
    #[must_use]
    pub(crate) fn finished(mut self) -> Self {
        for (id, instance) in &self.instances {
            let ended = id == COLLECTOR || id == SINK || instance.status == "Completed";
            if !ended || !instance.work.is_empty() || !instance.mail.is_empty() {
                self.problems.push(format!("{id} has not ended: {instance:?}"));
            }
        }
        self
    }

    pub(crate) fn turns(&self) -> usize {
        self.instances.values().map(|instance| instance.ends.len()).sum()
    }

    /// Everything that clients sent and that arrived, each once.
    fn collected(&mut self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let Some(collector) = self.instances.get(COLLECTOR) else { return names };
        let queued = collector.mail.iter().filter_map(|item| {
            if let WorkItem::ExternalRaised { name, .. } = item { Some(name) } else { None }
        });
        let taken_in = collector.events.iter().filter_map(|event| {
            if let EventKind::ExternalEvent { name, .. } = &event.kind { Some(name) } else { None }
        });
        for name in queued.chain(taken_in) {
            if !names.insert(name.clone()) {
                self.problems.push(format!("{name} arrived twice"));
            }
        }
        names
    }

    /// What was found to be wrong.
    pub(crate) fn problems(self) -> Vec<String> {
        self.problems
    }

    /// Nothing was found to be wrong.
    pub(crate) fn must_be_sound(self) -> Self {
        let Self { problems, .. } = &self;
        assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
        self
    }
}

impl Instance {
    fn is_started(&self) -> bool {
        self.execution > 0 || self.mail.iter().any(|item| matches!(item, WorkItem::StartOrchestration { .. }))
    }

    fn has_answer(&self, activity: u64) -> bool {
        self.answers().contains(&activity) || self.is_taken_in(activity)
    }

    /// Completions that wait to be taken in.
    fn answers(&self) -> Vec<u64> {
        let answers = self.mail.iter().filter_map(|item| {
            if let WorkItem::ActivityCompleted { id, .. } = item { Some(*id) } else { None }
        });
        answers.collect()
    }

    fn is_taken_in(&self, activity: u64) -> bool {
        let completed = |event: &&Event| matches!(event.kind, EventKind::ActivityCompleted { .. });
        self.events.iter().filter(completed).any(|event| event.source_event_id == Some(activity))
    }

    fn check(&self, mut problem: impl FnMut(String)) {
        let ids: Vec<u64> = self.events.iter().map(Event::event_id).collect();
        if !ids.iter().copied().eq(1..=self.last_event) {
            problem(format!("its last event is {}, its history has {ids:?}", self.last_event));
        }
        if (self.execution > 0) != (self.last_event > 0)
            || self.ends.last().copied().unwrap_or(0) != self.last_event
        {
            problem(format!(
                "execution {}, last event {}, turns {:?}",
                self.execution, self.last_event, self.ends
            ));
        }
        let mut sunk = self.sunk.clone();
        sunk.sort_unstable();
        if sunk != self.ends {
            problem(format!("its turns are {:?}, but the sink heard of {sunk:?}", self.ends));
        }
        if self.kv_end != self.ends.last().copied() {
            problem(format!("its turns are {:?}, but its value is {:?}", self.ends, self.kv_end));
        }
        let ended = self.events.last().is_some_and(Event::is_terminal);
        if ended != (self.status == "Completed") {
            problem(format!("it stands as {:?} behind {:?}", self.status, self.events.last()));
        }
        self.check_activities(problem);
    }

    /// Each activity is waiting, answered or taken in.
    fn check_activities(&self, mut problem: impl FnMut(String)) {
        let answers = self.answers();
        let mut scheduled = BTreeSet::new();
        for event in &self.events {
            if !matches!(event.kind, EventKind::ActivityScheduled { .. }) {
                continue;
            }
            let id = event.event_id;
            scheduled.insert(id);
            let waiting = self.work.iter().filter(|activity| **activity == id).count();
            let answered = answers.iter().filter(|activity| **activity == id).count();
            let taken_in = usize::from(self.is_taken_in(id));
            if waiting + answered + taken_in != 1 {
                problem(format!(
                    "activity {id}: {waiting} waiting, {answered} answered, {taken_in} taken in"
                ));
            }
        }
        for activity in self.work.iter().chain(&answers) {
            if !scheduled.contains(activity) {
                problem(format!("activity {activity} was never scheduled"));
            }
        }
    }
}

fn number(value: i64) -> u64 {
    u64::try_from(value).unwrap()
}

fn parse(word: &str) -> u64 {
    word.parse().unwrap()
}
