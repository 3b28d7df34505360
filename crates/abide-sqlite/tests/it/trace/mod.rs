//! What reaches the disk before an answer leaves, and how often: from the system calls of a child.
//!
//! The child notes every acknowledgement in its journal, right after it; the notes are system calls themselves, so the
//! trace has them in the same order as the writes and fsyncs of the log.

mod calls;
mod child;

use calls::{Call, count, parse};

use crate::support::folder::Folder;
use crate::support::process::{PATIENCE, Running, skipped, traced_child_of, until};

/// The trace of a child that does what its name says, or why there is none.
fn trace(child: &str) -> Result<Vec<Call>, String> {
    let folder = Folder::new("trace");
    let output = folder.file("trace");
    let options = ["-y", "-s", "80", "-e", "trace=write,pwrite64,fsync,fdatasync"];
    let mut command = traced_child_of(child, &output, &options)?;
    command.env("ABIDE_FOLDER", folder.path());
    let mut running = Running::start(command);
    let ended = running.wait(PATIENCE);
    assert!(ended.success(), "{child}: {ended}");
    // The tracer writes its last lines after the child has gone.
    let last_line = |text: &String| text.trim_end().ends_with("+++ exited with 0 +++");
    let (text, _) = until("the end of the trace", PATIENCE, || {
        std::fs::read_to_string(&output).ok().filter(|text| last_line(text) && text.contains("\"end\\n\""))
    });
    Ok(parse(&text))
}

/// The calls, cut behind each note, with the note.
fn stretches(calls: &[Call]) -> Vec<(&[Call], &str)> {
    let cut = calls.split_inclusive(|call| matches!(call, Call::Noted(_)));
    cut.filter_map(|stretch| match stretch.split_last()? {
        (Call::Noted(note), before) => Some((before, note.as_str())),
        _ => None,
    })
    .collect()
}

/// Whether something was written to the log, and all of it was on the disk in the end.
fn is_synced(calls: &[Call]) -> bool {
    let written = calls.iter().rposition(|call| *call == Call::LogWritten);
    let synced = calls.iter().rposition(|call| *call == Call::LogSynced);
    written.is_some() && synced > written
}

#[test]
fn an_answer_that_must_hold_leaves_after_the_fsync() {
    let calls = match trace(child::ONE_BY_ONE) {
        Ok(calls) => calls,
        Err(why) => return skipped("an_answer_that_must_hold_leaves_after_the_fsync", &why),
    };
    let (mut durable, mut leases) = (0, 0);
    for (before, note) in stretches(&calls) {
        if note.starts_with("durable") {
            durable += 1;
            assert!(is_synced(before), "{note}: {before:?}");
        } else if note.starts_with("lease") {
            leases += 1;
            assert!(before.contains(&Call::LogWritten), "{note}: {before:?}");
            assert_eq!(count(before, &Call::LogSynced), 0, "losing a lease frees it: {note}");
        }
    }
    assert!(durable >= 40 && leases >= 20, "{durable} durable answers, {leases} leases");
}

#[test]
fn groups_of_callers_wait_for_their_fsync() {
    let calls = match trace(child::MANY) {
        Ok(calls) => calls,
        Err(why) => return skipped("groups_of_callers_wait_for_their_fsync", &why),
    };
    let rounds: Vec<_> =
        stretches(&calls).into_iter().filter(|(_, note)| note.starts_with("together")).collect();
    assert_eq!(rounds.len(), child::ROUNDS);
    for (before, note) in &rounds {
        assert!(is_synced(before), "{note}: {before:?}");
    }
    let fsyncs: usize = rounds.iter().map(|(before, _)| count(before, &Call::LogSynced)).sum();
    assert!(fsyncs < child::ROUNDS * child::CALLERS / 2, "callers share their fsync: {fsyncs}");
}

/// What so many steps took.
#[derive(Debug)]
struct Cost {
    steps: u64,
    fsyncs: u64,
    /// As the store counts them.
    transactions: u64,
    synced_commits: u64,
}

fn cost_of_steps(calls: &[Call]) -> Cost {
    let notes: Vec<(usize, [u64; 3])> = calls
        .iter()
        .enumerate()
        .filter_map(|(index, call)| {
            let Call::Noted(note) = call else { return None };
            let counts = note.strip_prefix("step ")?.split(' ').map(|word| word.parse().unwrap());
            Some((index, counts.collect::<Vec<_>>().try_into().unwrap()))
        })
        .collect();
    // Away from both ends.
    let (first, last) = (notes[5], notes[notes.len() - 5]);
    let between = &calls[first.0..last.0];
    assert_eq!(count(between, &Call::DatabaseSynced), 0, "the log is too short to be copied");
    let [steps, transactions, synced_commits] = [0, 1, 2].map(|index| last.1[index] - first.1[index]);
    let fsyncs = u64::try_from(count(between, &Call::LogSynced)).unwrap();
    Cost { steps, fsyncs, transactions, synced_commits }
}

#[test]
fn a_plain_step_costs_two_fsyncs() {
    match trace(child::PLAIN) {
        Ok(calls) => {
            let cost = cost_of_steps(&calls);
            println!("{cost:?}");
            let most = 2 * cost.steps;
            assert!(cost.steps > 20 && cost.fsyncs <= most && cost.transactions <= most);
            // One of them may be under way while a step is noted.
            assert!(cost.fsyncs.abs_diff(cost.synced_commits) <= 1, "the store counts what it does");
        }
        Err(why) => skipped("a_plain_step_costs_two_fsyncs", &why),
    }
}

#[test]
fn a_fused_step_costs_one_fsync() {
    match trace(child::FUSED) {
        Ok(calls) => {
            let cost = cost_of_steps(&calls);
            println!("{cost:?}");
            assert!(cost.steps > 20 && cost.fsyncs <= cost.steps && cost.transactions <= cost.steps);
            assert_eq!(cost.fsyncs, cost.synced_commits, "the store counts what it does");
        }
        Err(why) => skipped("a_fused_step_costs_one_fsync", &why),
    }
}
