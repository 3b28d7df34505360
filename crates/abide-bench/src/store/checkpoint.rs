//! Who copies the WAL back into the database, and what a busy writer feels of it.
//!
//! The WAL begins again only if the writer finds all of it copied when it begins a transaction. Another thread that
//! copies beside a busy writer is always a few pages behind, so the WAL grows without end; `RESTART` instead of
//! `PASSIVE` does not help, because it waits for a moment without a transaction and hardly ever finds one. The
//! writer must therefore copy the last pages itself. And the library syncs the database only together with the very
//! last page, so unless the other thread has synced the file before, that short copy pays for all of the pages.

use std::fs::File;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times, millis};
use crate::store::file::{StoreFile, WalGauge, checkpoint};
use crate::store::groups::{Groups, commit_groups};
use crate::store::schema::{APPENDED_TURNS, Writer};
use crate::store::traffic::{GROUP, Texts, Traffic};

/// Who checkpoints, once the WAL has so many pages.
#[derive(Debug, Clone, Copy)]
struct Policy {
    name: &'static str,
    pages: u64,
    by: By,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The writer, at the end of a commit.
    Writer,
    /// Another thread.
    Other,
    /// Another thread, and then the writer, which copies what it added meanwhile.
    Both,
    /// The same, but before the writer's turn the other thread syncs the file and copies and syncs once more.
    BothSynced,
}

const POLICIES: &[Policy] = &[
    Policy { name: "writer at 1000", pages: 1_000, by: By::Writer },
    Policy { name: "writer at 4000", pages: 4_000, by: By::Writer },
    Policy { name: "other at 4000", pages: 4_000, by: By::Other },
    Policy { name: "both at 4000", pages: 4_000, by: By::Both },
    Policy { name: "both at 4000, synced", pages: 4_000, by: By::BothSynced },
    Policy { name: "both at 1000, synced", pages: 1_000, by: By::BothSynced },
];

pub(crate) fn measure(
    preloaded: &(StoreFile, Traffic),
    texts: &Texts,
    span: Duration,
) -> Fallible<Vec<Value>> {
    POLICIES.iter().map(|policy| measure_one(*policy, preloaded, texts, span)).collect()
}

fn measure_one(
    policy: Policy,
    (file, traffic): &(StoreFile, Traffic),
    texts: &Texts,
    span: Duration,
) -> Fallible<Value> {
    let (file, mut traffic) = (file.copy("checkpoint")?, traffic.clone());
    // Before the connections, so that it is closed after them.
    let handle = &file.open()?;
    let mut connection = file.connect()?;
    let inline = (policy.by == By::Writer).then_some(policy.pages);
    let wal = WalGauge::attach(&mut connection, inline)?;
    let mut writer = Writer::new(&connection, &APPENDED_TURNS, texts)?;
    let (mut help, helper) = helped(policy);

    let (groups, copies) = std::thread::scope(|scope| -> Fallible<(Groups, Vec<Duration>)> {
        let others = file.connect()?;
        let thread = scope.spawn(move || helper.run(&others, handle));
        let groups = commit_groups(
            &connection,
            GROUP,
            span,
            || Ok(writer.write(traffic.turn())?),
            || help.after_commit(&connection, wal.pages()),
        );
        let Help { orders, copies, .. } = help;
        drop(orders);
        // If the helper failed, that is why the writer did.
        thread.join().map_err(|_| "the helper panicked")??;
        Ok((groups?, copies))
    })?;

    let mut line = groups.to_json();
    line["bench"] = json!("checkpoint");
    line["policy"] = json!(policy.name);
    line["most_wal_bytes"] = json!(wal.most_bytes());
    if !copies.is_empty() {
        let copies = Times::from(copies);
        line["writer_copies_ms"] = json!({ "mean": millis(copies.mean()), "max": millis(copies.longest()) });
    }
    Ok(line)
}

/// What the writer knows of its helper.
#[derive(Debug)]
struct Help {
    policy: Policy,
    orders: SyncSender<()>,
    reports: Receiver<()>,
    helper_is_busy: bool,
    /// How long the writer's own copies took.
    copies: Vec<Duration>,
}

/// The thread that checkpoints beside the writer.
#[derive(Debug)]
struct Helper {
    by: By,
    orders: Receiver<()>,
    reports: SyncSender<()>,
}

fn helped(policy: Policy) -> (Help, Helper) {
    let (orders, taken) = sync_channel(1);
    let (made, reports) = sync_channel(1);
    let help = Help { policy, orders, reports, helper_is_busy: false, copies: Vec::new() };
    (help, Helper { by: policy.by, orders: taken, reports: made })
}

impl Help {
    fn after_commit(&mut self, connection: &Connection, wal_pages: u64) -> Fallible<()> {
        if self.policy.by == By::Writer {
            return Ok(());
        }
        if !self.helper_is_busy {
            if wal_pages >= self.policy.pages {
                self.orders.send(())?;
                self.helper_is_busy = true;
            }
            return Ok(());
        }
        match self.reports.try_recv() {
            Err(TryRecvError::Empty) => return Ok(()),
            report => report?,
        }
        self.helper_is_busy = false;
        if matches!(self.policy.by, By::Both | By::BothSynced) {
            let watch = Stopwatch::start();
            checkpoint(connection, "PASSIVE")?;
            self.copies.push(watch.elapsed());
        }
        Ok(())
    }
}

impl Helper {
    /// Works until there is nobody left to order anything.
    fn run(&self, connection: &Connection, file: &File) -> Fallible<()> {
        while self.orders.recv().is_ok() {
            checkpoint(connection, "PASSIVE")?;
            if self.by == By::BothSynced {
                file.sync_data()?;
                checkpoint(connection, "PASSIVE")?;
                file.sync_data()?;
            }
            self.reports.send(())?;
        }
        Ok(())
    }
}
