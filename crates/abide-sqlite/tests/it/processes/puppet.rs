//! A process with a store of its own, that does what it is told.
//!
//! It reads commands from its input, one per line, and notes one answer for each. Work is of an instance that does not
//! exist, so its completions stay in the queue and can be counted.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{
    FinishedWork, InstanceLease, LeaseInstances, LeaseWork, Provider, StoreError, TagFilter, WorkLease,
};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use crate::support::folder::{Folder, url};
use crate::support::load;
use crate::support::process::{Journal, Lines, PATIENCE, Running, child_of, is_child, told};

const CHILD: &str = "processes::puppet::does_what_it_is_told";

#[test]
#[ignore = "the child of other tests"]
fn does_what_it_is_told() {
    if !is_child(CHILD) {
        return;
    }
    let journal = Journal::append_to(Path::new(&told("ABIDE_JOURNAL")));
    let mut puppet =
        Inside { url: told("ABIDE_URL"), store: None, work: BTreeMap::new(), turns: BTreeMap::new() };
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        if words == ["work"] {
            puppet.work_for_ever(&journal);
        }
        journal.note(&puppet.obey(&words));
    }
}

/// What a puppet has inside.
struct Inside {
    url: String,
    store: Option<SqliteProvider>,
    work: BTreeMap<u64, WorkLease>,
    turns: BTreeMap<String, InstanceLease>,
}

impl Inside {
    fn obey(&mut self, words: &[&str]) -> String {
        match words {
            ["open"] => match block_on(SqliteProvider::new(&self.url, None)) {
                Ok(store) => {
                    self.store = Some(store);
                    "open".to_owned()
                }
                Err(error) => format!("failed: {error}"),
            },
            ["close"] => {
                self.store = None;
                "closed".to_owned()
            }
            ["enqueue", id] => describe(&block_on(self.store().enqueue_for_worker(job(id.parse().unwrap())))),
            ["start", instance] => {
                describe(&block_on(self.store().enqueue_for_orchestrator(load::start(instance), None)))
            }
            ["lease", lease, wait] => self.lease(millis(lease), millis(wait)),
            ["finish", id] => {
                let work = self.work.get(&id.parse().unwrap()).unwrap();
                describe(&finish(self.store(), work))
            }
            ["lease-instance", lease, wait] => self.lease_instance(millis(lease), millis(wait)),
            ["commit", instance] => {
                let turn = load::turn_of(&self.turns[*instance]).unwrap();
                describe(&block_on(self.store().commit_turns(vec![turn])).pop().unwrap())
            }
            _ => format!("what is {words:?}?"),
        }
    }

    fn store(&self) -> &SqliteProvider {
        self.store.as_ref().unwrap()
    }

    fn lease(&mut self, lease: Duration, wait: Duration) -> String {
        match block_on(self.store().lease_work(one_job(lease, wait))).map(|mut leases| leases.pop()) {
            Ok(Some(work)) => {
                let (id, attempt) = (id_of(&work), work.attempt);
                self.work.insert(id, work);
                format!("leased {id} {attempt}")
            }
            Ok(None) => "nothing".to_owned(),
            Err(error) => format!("failed: {error}"),
        }
    }

    fn lease_instance(&mut self, lease: Duration, wait: Duration) -> String {
        let request = LeaseInstances { limit: 1, lease_for: lease, wait, capabilities: None, serving: None };
        match block_on(self.store().lease_instances(request)).map(|mut leases| leases.pop()) {
            Ok(Some(lease)) => {
                let answer = format!("leased {} {}", lease.instance, lease.attempt);
                self.turns.insert(lease.instance.clone(), lease);
                answer
            }
            Ok(None) => "nothing".to_owned(),
            Err(error) => format!("failed: {error}"),
        }
    }

    /// Does whatever comes, and notes it. Ends when it is killed.
    fn work_for_ever(&self, journal: &Journal) -> ! {
        loop {
            let leased = block_on(self.store().lease_work(one_job(LONG, PATIENCE)));
            for work in leased.unwrap_or_else(|error| panic!("{error}")) {
                match finish(self.store(), &work) {
                    Ok(()) => journal.note(&format!("did {}", id_of(&work))),
                    Err(error) => journal.note(&format!("failed: {error}")),
                }
            }
        }
    }
}

/// Longer than any test.
pub(super) const LONG: Duration = Duration::from_secs(600);

fn describe<T>(answer: &Result<T, impl std::fmt::Debug>) -> String {
    match answer {
        Ok(_) => "ok".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

fn millis(word: &str) -> Duration {
    Duration::from_millis(word.parse().unwrap())
}

/// The instance that all work belongs to. It does not exist.
pub(super) const JOBS: &str = "jobs";

pub(super) fn job(id: u64) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: JOBS.to_owned(),
        execution_id: 1,
        id,
        name: "job".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    }
}

pub(super) fn one_job(lease_for: Duration, wait: Duration) -> LeaseWork {
    LeaseWork { limit: 1, lease_for, wait, session: None, tags: TagFilter::DefaultOnly, serving: None }
}

pub(super) fn id_of(work: &WorkLease) -> u64 {
    if let WorkItem::ActivityExecute { id, .. } = &work.item { *id } else { panic!("{work:?}") }
}

pub(super) fn finish(store: &SqliteProvider, work: &WorkLease) -> Result<(), StoreError> {
    let completion = WorkItem::ActivityCompleted {
        instance: JOBS.to_owned(),
        execution_id: 1,
        id: id_of(work),
        result: String::new(),
    };
    let finished = FinishedWork { token: work.token.clone(), completion: Some(completion) };
    block_on(store.finish_work(vec![finished])).pop().unwrap()
}

/// A puppet, from outside.
pub(super) struct Puppet {
    pub(super) running: Running,
    lines: Lines,
    read: usize,
}

impl Puppet {
    /// Starts one; it has not opened the database yet.
    pub(super) fn start(folder: &Folder, database: &Path) -> Self {
        let journal = journal_for(folder);
        let mut command = child_of(CHILD);
        command.env("ABIDE_URL", url(database)).env("ABIDE_JOURNAL", &journal);
        Self { running: Running::start(command), lines: Lines::of(&journal), read: 0 }
    }

    /// Starts one that has opened the database.
    pub(super) fn on(folder: &Folder, database: &Path) -> Self {
        let mut puppet = Self::start(folder, database);
        assert_eq!(puppet.ask("open"), "open");
        puppet
    }

    /// Gives a command without waiting for the answer.
    pub(super) fn tell(&mut self, command: &str) {
        self.running.tell(command);
    }

    /// Waits for the next answer.
    pub(super) fn answer(&mut self) -> String {
        self.read += 1;
        self.lines.wait_for(self.read - 1, PATIENCE).0
    }

    /// Whether the next answer is there already.
    pub(super) fn has_answered(&self) -> bool {
        self.lines.all().len() > self.read
    }

    /// Waits for the next answer, and says how long that took.
    pub(super) fn timed_answer(&mut self) -> (String, Duration) {
        self.read += 1;
        self.lines.wait_for(self.read - 1, PATIENCE)
    }

    pub(super) fn ask(&mut self, command: &str) -> String {
        self.tell(command);
        self.answer()
    }

    /// Everything it has noted.
    pub(super) fn notes(&self) -> Vec<String> {
        self.lines.all()
    }
}

fn journal_for(folder: &Folder) -> PathBuf {
    let taken = folder.names().into_iter().filter(|name| name.starts_with("journal-")).count();
    let path = folder.file(&format!("journal-{taken}"));
    // The name is taken now, before the child gets to it.
    drop(Journal::append_to(&path));
    path
}
