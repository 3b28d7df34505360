//! The process that deletes a very large instance is killed: right after the call has returned, and in the
//! middle of the removal.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use abide_chaos::skew::SkewedClock;
use abide_chaos::store::Store;
use abide_host::SystemClock;

use super::past::Past;
use super::*;
use crate::support::deployment::on_own_stores;
use crate::support::site::Site;
use crate::support::wait::until;

/// Where the process that deletes finds the store.
const PLACE: &str = "ABIDE_DELETION_STORE";
const SCHEMA: &str = "ABIDE_DELETION_SCHEMA";

/// Whether it starts another instance under the same id.
const STARTS_AGAIN: &str = "ABIDE_DELETION_STARTS_AGAIN";

/// What this process says when the call has returned, and when the new instance under the same id has
/// completed.
const DELETED: &str = "the instance was deleted";
const COMPLETED: &str = "the new instance has completed";

/// How far ahead the clock of the second process is: the rows of a deletion whose caller died are held for a
/// minute.
const LATER: Duration = Duration::from_secs(61);

/// When the process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    AfterTheCall,
    InTheMiddle,
}

#[test]
fn a_removal_survives_the_process_that_deleted() {
    let _alone = alone();
    for moment in [Moment::AfterTheCall, Moment::InTheMiddle] {
        on_own_stores("killed", |site| kill_and_reopen(site, moment));
    }
}

fn kill_and_reopen(site: &Site, moment: Moment) {
    let past = Past::put(site, 0, executions());
    let mut process = Process::start(site, moment);
    process.wait_for(DELETED);
    if moment == Moment::InTheMiddle {
        process.wait_for(COMPLETED);
        until("a third of the rows to be gone", || (past.rows_left() * 3 <= past.rows() * 2).then_some(()));
    }
    drop(process);
    let left = past.rows_left();
    assert!(past.is_being_removed() && left > 0, "the removal was over before the process was killed");

    let threads = threads();
    let clock = Arc::new(SkewedClock::ahead_by(i64::try_from(LATER.as_millis()).unwrap()));
    let store = block_on(site.store().open(clock.clone())).unwrap();
    let node = threads.block_on(start_node(store.clone(), clock));
    let client = Client::new(store);
    if moment == Moment::AfterTheCall {
        block_on(client.start_orchestration(LARGE, ORCHESTRATION, "")).unwrap();
    }
    wait_for_end(&client, LARGE);
    let history = block_on(client.read_execution_history(LARGE, 1)).unwrap();
    past.wait_until_removed();

    println!("{:?}, killed {moment:?}: {left} rows were left of {}", site.store(), past.rows());
    wait_for_end(&client, LARGE);
    assert_eq!(block_on(client.list_executions(LARGE)).unwrap(), [1]);
    assert_eq!(block_on(client.read_execution_history(LARGE, 1)).unwrap(), history);
    threads.block_on(node.shutdown(None));
    drop((client, past));
    assert_eq!(site.complaints(), Vec::<String>::new());
}

/// A process that deletes the instance, and may start another under its id.
struct Process {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(site: &Site, moment: Moment) -> Self {
        let (place, schema) = site.store().names();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["deletion::killed::the_process_that_deletes", "--exact", "--ignored", "--nocapture"])
            .env(PLACE, place)
            .env(SCHEMA, schema.unwrap_or_default())
            .env(STARTS_AGAIN, (moment == Moment::InTheMiddle).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn wait_for(&mut self, line: &str) {
        let mut lines = self.output.by_ref().lines().map_while(Result::ok);
        assert!(lines.any(|said| said.contains(line)), "the process ended before it said: {line}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // As a power cut would.
        let _killed = self.child.kill();
        let _buried = self.child.wait();
    }
}

#[test]
#[ignore = "the process that deletes; the test above starts it"]
fn the_process_that_deletes() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let store = Store::named(place, std::env::var(SCHEMA).ok());
    let threads = threads();
    let clock = Arc::new(SystemClock::new());
    let store = block_on(store.open(clock.clone())).unwrap();
    let _node = threads.block_on(start_node(store.clone(), clock));
    let client = Client::new(store);
    block_on(client.delete_instance(LARGE, true)).unwrap();
    println!("{DELETED}");
    if std::env::var(STARTS_AGAIN).is_ok_and(|starts| starts == "true") {
        complete(&client, LARGE);
        println!("{COMPLETED}");
    }
    // It ends with the test that started it.
    let _input = std::io::read_to_string(std::io::stdin());
    std::process::exit(0);
}
