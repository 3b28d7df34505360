//! Recorded histories, kept as files: what a store holds today must replay tomorrow.
//!
//! Those that begin with `reference-` are pinned to the release before this engine and written by hand in its
//! order: all arrivals of a batch, then what the code asked, then what it dropped, and behind the end the
//! activities that the end took back. Those that begin with `ours-` were recorded by this engine: its next
//! build must write the same bytes. A change that is meant is recorded anew with `UPDATE_HISTORIES=1`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use abide_engine::model::{BackoffStrategy, Either2, Event, PruneOptions, RetryPolicy};

use crate::support::mail::{
    child_done, child_error, child_failed, continued, done, done_in, failed, fired, message, signal, start,
};
use crate::support::past::{OURS, REFERENCE};
use crate::support::{Code, Given, Turn, code, drive, history_of, run_cold, run_resident};

const SECOND: Duration = Duration::from_secs(1);

/// One file: what its execution started from, and its code.
struct Record {
    file: &'static str,
    given: Given,
    code: Code,
    /// How it was recorded, if it was by us.
    script: Option<Vec<Turn>>,
}

fn reference(file: &'static str, code: Code) -> Record {
    Record { file, given: Given::default(), code, script: None }
}

fn ours(file: &'static str, code: Code, script: Vec<Turn>) -> Record {
    Record { file, given: Given::default(), code, script: Some(script) }
}

impl Record {
    fn from(self, given: Given) -> Self {
        Self { given, ..self }
    }

    fn path(&self) -> PathBuf {
        folder().join(self.file)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap_or_else(|error| panic!("{}: {error}", self.file))
    }

    fn history(&self) -> Vec<Event> {
        let decode = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        self.text().lines().map(decode).collect()
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

fn all() -> Vec<Record> {
    let second = || Given::execution(2);
    vec![
        reference("reference-one-activity.jsonl", one_activity()),
        reference("reference-fan-out.jsonl", fan_out()),
        reference("reference-select.jsonl", select()),
        reference("reference-cancelled.jsonl", waits_for_a_child_and_an_activity()),
        reference("reference-continued-1.jsonl", continues()),
        reference("reference-continued-2.jsonl", reads_what_was_carried()).from(second()),
        reference("reference-queue.jsonl", reads_late()),
        reference("reference-early-signal.jsonl", waits_late()),
        reference("reference-retry.jsonl", retries()),
        reference("reference-counter.jsonl", counts()).from(Given::kv(&[("n", "10", 500)])),
        ours("ours-fan-out-and-race.jsonl", fan_out_and_race(), fan_out_and_race_script()),
        ours("ours-queues-1.jsonl", loops_over_a_queue(), loops_over_a_queue_script()),
        ours("ours-queues-2.jsonl", loops_over_a_queue(), successor_script()).from(second()),
        ours("ours-children-and-retries.jsonl", family(), family_script()),
        ours("ours-state-and-prunes.jsonl", keeps_state(), keeps_state_script())
            .from(Given::kv(&[("old", "1", 500), ("n", "7", 600)])),
    ]
}

fn one_activity() -> Code {
    code(|ctx, input| async move { ctx.schedule_activity("a", input).await })
}

fn fan_out() -> Code {
    code(|ctx, _| async move {
        let all = ["x", "y", "z"].map(|input| ctx.schedule_activity("a", input)).into();
        let results: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
        Ok(results?.join(","))
    })
}

fn select() -> Code {
    code(|ctx, _| async move {
        let (slow, timer) = (ctx.schedule_activity("slow", "x"), ctx.schedule_timer(5 * SECOND));
        ctx.select2(slow, timer).await;
        ctx.schedule_activity("next", "").await
    })
}

fn waits_for_a_child_and_an_activity() -> Code {
    code(|ctx, _| async move {
        let (child, activity) =
            (ctx.schedule_sub_orchestration("Child", "c"), ctx.schedule_activity("a", "x"));
        ctx.join2(child, activity).await.0
    })
}

fn continues() -> Code {
    code(|ctx, _| async move {
        ctx.set_custom_status("s");
        ctx.schedule_wait("go").await;
        ctx.continue_as_new("next").await
    })
}

fn reads_what_was_carried() -> Code {
    code(|ctx, _| async move {
        let first = ctx.dequeue_event("q").await;
        let second = ctx.dequeue_event("q").await;
        let status = ctx.get_custom_status().unwrap_or_default();
        ctx.schedule_activity("a", format!("{first}{second} {status}")).await
    })
}

fn reads_late() -> Code {
    code(|ctx, _| async move {
        ctx.schedule_timer(SECOND).await;
        Ok(ctx.dequeue_event("q").await)
    })
}

fn waits_late() -> Code {
    code(|ctx, _| async move {
        ctx.schedule_timer(SECOND).await;
        Ok(ctx.schedule_wait("s").await)
    })
}

fn policy() -> RetryPolicy {
    RetryPolicy::new(3).with_timeout(30 * SECOND).with_backoff(BackoffStrategy::Fixed { delay: SECOND })
}

fn retries() -> Code {
    code(|ctx, _| async move { ctx.schedule_activity_with_retry("a", "x", policy()).await })
}

fn counts() -> Code {
    code(|ctx, _| async move {
        for _ in 0..3 {
            let n: u32 = ctx.get_kv_value("n").unwrap_or_default().parse().unwrap_or_default();
            ctx.set_kv_value("n", (n + 1).to_string());
            ctx.schedule_activity("step", n.to_string()).await?;
        }
        Ok(ctx.get_kv_value("n").unwrap_or_default())
    })
}

fn fan_out_and_race() -> Code {
    code(|ctx, input| async move {
        let quick = ctx.schedule_activity_on_session("quick", &*input, "s1").with_tag("gpu");
        let all = ctx.join(vec![quick, ctx.schedule_activity("plain", input)]).await;
        let (slow, deadline) = (ctx.schedule_activity("slow", ""), ctx.schedule_timer(SECOND));
        let winner = match ctx.select2(slow, deadline).await {
            Either2::First(_) => "activity",
            Either2::Second(()) => "timer",
        };
        let (left, right) = (ctx.schedule_wait("left"), ctx.schedule_wait("right"));
        let signal = ctx.select2(left, right).await.into_tuple().1;
        Ok(format!("{all:?} {winner} {signal}"))
    })
}

fn fan_out_and_race_script() -> Vec<Turn> {
    vec![
        vec![start("in")],
        vec![done(3, "P"), failed(2, "no gpu")],
        vec![fired(7, 3000)],
        vec![done(6, "too late"), signal("right", "→")],
    ]
}

fn loops_over_a_queue() -> Code {
    code(|ctx, round| async move {
        let count: u32 = round.parse().map_err(|error| format!("{error}"))?;
        ctx.set_custom_status(format!("round {count}"));
        let forgotten = ctx.dequeue_event("other");
        let first = ctx.dequeue_event("q").await;
        drop(forgotten);
        ctx.schedule_activity("handle", first).await?;
        if count == 2 { Ok(round) } else { ctx.continue_as_new((count + 1).to_string()).await }
    })
}

fn loops_over_a_queue_script() -> Vec<Turn> {
    vec![
        vec![start("1")],
        vec![message("q", "a"), message("other", "o"), message("q", "b")],
        vec![done(6, "r"), message("q", "stays queued")],
    ]
}

fn successor_script() -> Vec<Turn> {
    let carried = continued("2", &[("other", "o"), ("q", "b")], Some("round 1"));
    vec![vec![carried, message("q", "c")], vec![done_in(2, 7, "r")]]
}

fn family() -> Code {
    code(|ctx, _| async move {
        let child = ctx.schedule_sub_orchestration("Child", "c");
        let named = ctx.schedule_sub_orchestration_with_id("Named", "n-1", "c");
        let (child, named) = ctx.join2(child, named).await;
        ctx.schedule_orchestration("Notify", "d-1", "hello");
        let retried = ctx.schedule_activity_with_retry("flaky", "", policy()).await?;
        let waited = ctx.timeout(SECOND, ctx.schedule_sub_orchestration("Slow", "")).await;
        Ok(format!("{child:?} {named:?} {retried} {}", waited.is_err()))
    })
}

fn family_script() -> Vec<Turn> {
    vec![
        vec![start("in")],
        vec![child_done(2, "C"), child_failed(3, child_error("no"))],
        vec![failed(7, "boom")],
        vec![fired(10, 4000)],
        vec![done(12, "r")],
        vec![fired(16, 6000)],
    ]
}

fn keeps_state() -> Code {
    code(|ctx, _| async move {
        ctx.set_custom_status("begun");
        let n = ctx.get_kv_value("n").unwrap_or_default();
        ctx.set_kv_value_typed("typed", &("text", 5, Some(1.5)));
        ctx.set_kv_value("n", format!("{n}1"));
        ctx.clear_kv_value("old");
        let keep = PruneOptions { keep_last: Some(1), completed_before: None };
        let pruned = ctx.prune_history(keep).await.map(|pruned| pruned.events_deleted);
        ctx.schedule_wait("go").await;
        ctx.clear_all_kv_values();
        ctx.reset_custom_status();
        ctx.set_kv_value("last", format!("{pruned:?}"));
        ctx.schedule_wait("end").await;
        Ok(ctx.get_kv_value("last").unwrap_or_default())
    })
}

fn keeps_state_script() -> Vec<Turn> {
    vec![vec![start("in")], vec![signal("go", ""), message("q", "unread")]]
}

#[test]
fn the_folder_and_the_table_name_the_same_files() {
    let entries = std::fs::read_dir(folder()).unwrap();
    let kept: BTreeSet<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let listed: BTreeSet<_> = all().iter().map(|record| record.file.to_owned()).collect();
    assert_eq!(kept, listed);
    assert_eq!(listed.len(), all().len(), "each once");
}

#[test]
fn every_recorded_history_replays_in_silence() {
    for record in all() {
        let file = record.file;
        let history = record.history();
        let pin = if record.script.is_some() { OURS } else { REFERENCE };
        assert!(history.iter().all(|event| event.duroxide_version == pin), "{file} is pinned to {pin}");
        let has_ended = history.iter().any(Event::is_terminal);

        let mut execution = record.given.cold(&record.code, history);
        assert_eq!(execution.mismatch(), None, "{file}");
        let silent = drive::feed_at(&mut execution, 99_000, vec![]);
        assert_eq!(silent.events, vec![], "{file}");
        assert_eq!(
            (silent.lines, silent.worker_items, silent.orchestrator_items),
            Default::default(),
            "{file}"
        );
        assert_eq!(silent.outcome.is_terminal(), has_ended, "{file}: {:?}", silent.outcome);
    }
}

#[test]
fn the_same_scripts_write_the_same_bytes_today() {
    let is_update = std::env::var_os("UPDATE_HISTORIES").is_some();
    for record in all() {
        let Some(script) = &record.script else { continue };
        let resident = history_of(&run_resident(&record.given, &record.code, script));
        assert_eq!(resident, history_of(&run_cold(&record.given, &record.code, script)), "{}", record.file);
        // A later build stamps its own version; everything else stays as it was.
        let stamped = resident.into_iter().map(|event| Event { duroxide_version: OURS.to_owned(), ..event });
        let written: String = stamped.map(|event| serde_json::to_string(&event).unwrap() + "\n").collect();
        if is_update {
            std::fs::write(record.path(), &written).unwrap();
        }
        assert_eq!(written, record.text(), "{}: UPDATE_HISTORIES=1 records it anew", record.file);
    }
}
