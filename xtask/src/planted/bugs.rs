//! The planted bugs: mistakes somebody could make in the engine, each with the test that catches it.
//!
//! To plant one: find the line that keeps a promise, write down what would happen to a user without it, and name the
//! test that fails then. `cargo xtask planted NAME` shows whether it does.

/// A change to one file that must not survive the tests.
#[derive(Debug)]
pub(crate) struct PlantedBug {
    /// Short, and typed on the command line: `lost-signal`.
    pub(crate) name: &'static str,
    /// What happens to a user of a build with this bug, in one sentence.
    pub(crate) story: &'static str,
    /// From the root of the workspace, under `crates/`.
    pub(crate) file: &'static str,
    /// What is changed in it. Most bugs are one edit.
    pub(crate) edits: &'static [Edit],
    /// Full names of tests of the binary `it` of `abide-engine`; at least one of them must fail.
    pub(crate) caught_by: &'static [&'static str],
}

/// A piece of text and what takes its place.
#[derive(Debug)]
pub(crate) struct Edit {
    /// Occurs exactly once in the file.
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
}

pub(crate) const PLANTED_BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "poll-between-asks",
        story: "A message that waits for the first of two dequeues is read before the second exists; after a restart it is read in the other order, and the orchestration fails as nondeterministic.",
        file: "crates/abide-engine/src/settle.rs",
        edits: &[
            Edit {
                find: "while let Some(ask) = self.pending.asks.pop_front() {",
                replace: "if let Some(ask) = self.pending.asks.pop_front() {",
            },
            Edit {
                find: "                self.record_asks()?;\n                continue;",
                replace: "                self.record_asks()?;\n                break;",
            },
        ],
        caught_by: &["properties::replaying_a_history_is_silent", "properties::resident_equals_cold"],
    },
    PlantedBug {
        name: "poll-after-each-bind",
        story: "The code runs between two recorded asks of one poll, but only after a restart: it decides differently from the first time.",
        file: "crates/abide-engine/src/settle.rs",
        edits: &[Edit {
            find: "            if !matched {\n                break;",
            replace: "            if !matched || self.live.is_none() {\n                break;",
        }],
        caught_by: &["properties::replaying_a_history_is_silent", "properties::resident_equals_cold"],
    },
    PlantedBug {
        name: "drops-at-the-end-of-the-turn",
        story: "A cancellation is recorded behind whatever else the batch brought, so the history depends on how messages were batched.",
        file: "crates/abide-engine/src/settle.rs",
        edits: &[
            Edit {
                find: "        self.asks.is_empty() && self.drops.is_empty()",
                replace: "        self.asks.is_empty()",
            },
            Edit {
                find: "        for (id, family) in std::mem::take(&mut self.pending.drops) {",
                replace: "        let last = self.live.as_ref().is_some_and(|live| live.inbox.is_empty());\n        let drops = if last { std::mem::take(&mut self.pending.drops) } else { BTreeMap::new() };\n        for (id, family) in drops {",
            },
        ],
        caught_by: &[
            "properties::a_batch_decides_what_its_messages_decide_one_by_one",
            "properties::histories_are_well_formed",
            "properties::replaying_a_history_is_silent",
        ],
    },
    PlantedBug {
        name: "unordered-map",
        story: "Two runs of the same turn enqueue the same work in different orders.",
        file: "crates/abide-engine/src/effects.rs",
        edits: &[Edit {
            find: "use std::collections::BTreeMap;",
            replace: "use std::collections::HashMap as BTreeMap;",
        }],
        caught_by: &["properties::the_same_bytes_twice", "properties::resident_equals_cold"],
    },
    PlantedBug {
        name: "duplicate-completion-accepted",
        story: "An activity whose completion is delivered twice fails the orchestration.",
        file: "crates/abide-engine/src/inbox.rs",
        edits: &[Edit {
            find: "                Ok(Fate::Dropped(Notice::DuplicateMessage { kind, source_event_id: source.get() }))",
            replace: "                Ok(Fate::Recorded(Entry::about(source, event)))",
        }],
        caught_by: &["properties::repeating_a_message_changes_nothing"],
    },
    PlantedBug {
        name: "stale-completion-accepted",
        story: "The late result of an activity of the execution before is taken for an answer to the current one.",
        file: "crates/abide-engine/src/inbox.rs",
        edits: &[Edit {
            find: "        if execution_id != self.who.execution_id {",
            replace: "        if execution_id > self.who.execution_id {",
        }],
        caught_by: &["properties::histories_are_well_formed"],
    },
    PlantedBug {
        name: "carried-messages-reordered",
        story: "After a continue-as-new, queue messages come in another order than they were sent.",
        file: "crates/abide-engine/src/signals.rs",
        edits: &[Edit {
            find: "        unread.sort_by_key(|(_, message)| message.arrival);\n",
            replace: "        unread.sort_by_key(|(_, message)| std::cmp::Reverse(message.arrival));\n",
        }],
        caught_by: &["properties::queue_messages_are_conserved"],
    },
    PlantedBug {
        name: "carried-messages-lost",
        story: "An execution that continues as new before it has taken all messages carried to it loses the rest.",
        file: "crates/abide-engine/src/ending.rs",
        edits: &[Edit {
            find: "        carry_forward_events.extend(self.carried.drain(..));\n",
            replace: "",
        }],
        caught_by: &["properties::queue_messages_are_conserved"],
    },
    PlantedBug {
        name: "batch-delivered-at-once",
        story: "All messages of a batch arrive before the code runs: which branch of a select wins depends on the batching.",
        file: "crates/abide-engine/src/execution.rs",
        edits: &[Edit {
            find: "        if self.wants_poll()? {",
            replace: "        if self.live.as_ref().is_none_or(|live| live.inbox.is_empty()) && self.wants_poll()? {",
        }],
        caught_by: &[
            "properties::a_batch_decides_what_its_messages_decide_one_by_one",
            "properties::a_crash_at_any_turn_ends_the_same",
        ],
    },
    PlantedBug {
        name: "times-stamped-anew",
        story: "On replay every key-value write looks as young as the replay, and pruning by age decides differently.",
        file: "crates/abide-engine/src/tape/kv.rs",
        edits: &[Edit {
            find: "        let at_ms = self.recorded_writes.next().unwrap_or_else(|| self.now.as_millis());",
            replace: "        let at_ms = self.recorded_writes.next().map_or_else(|| self.now.as_millis(), |_| self.now.as_millis());",
        }],
        caught_by: &["properties::replaying_a_history_is_silent", "properties::resident_equals_cold"],
    },
    PlantedBug {
        name: "lines-spoken-twice",
        story: "Every log line of the past is printed again by every replay.",
        file: "crates/abide-engine/src/tape/user_side.rs",
        edits: &[Edit {
            find: "        if cell.phase == Phase::Live {",
            replace: "        if cell.phase != Phase::Closed {",
        }],
        caught_by: &["properties::replaying_a_history_is_silent", "properties::resident_equals_cold"],
    },
    PlantedBug {
        name: "children-run-on",
        story: "A parent that ends leaves its children running, and their work goes on for nobody.",
        file: "crates/abide-engine/src/effects.rs",
        edits: &[Edit {
            find: "                } else {\n                    self.replies.push(cancel);",
            replace: "                } else if reason.is_empty() {\n                    self.replies.push(cancel);",
        }],
        caught_by: &["properties::histories_are_well_formed"],
    },
    PlantedBug {
        name: "dropped-child-runs",
        story: "A child that was dropped in the turn that started it does its first step before it is canceled.",
        file: "crates/abide-engine/src/effects.rs",
        edits: &[Edit {
            find: "cancelled_starts.remove(&id).into_iter().chain(Some(*item))",
            replace: "Some(*item).into_iter().chain(cancelled_starts.remove(&id))",
        }],
        caught_by: &["micro::cancel::what_is_dropped_in_the_poll_that_made_it_is_recorded_and_never_runs"],
    },
    PlantedBug {
        name: "warned-at-every-turn",
        story: "An orchestration that waits for nothing is warned about with every message it gets.",
        file: "crates/abide-engine/src/execution.rs",
        edits: &[Edit {
            find: "if waits_for_nothing && !self.waited_for_nothing {",
            replace: "if waits_for_nothing || self.waited_for_nothing {",
        }],
        caught_by: &["waiting_for_nothing::only_the_turn_after_which_it_waits_for_nothing_warns"],
    },
    PlantedBug {
        name: "dead-timer-recorded",
        story: "A timeout that was not needed comes back later as an event, and costs a turn.",
        file: "crates/abide-engine/src/inbox.rs",
        edits: &[Edit {
            find: "            Standing::Cancelled if family == Family::Timer => {",
            replace: "            Standing::Cancelled if family == Family::Prune => {",
        }],
        caught_by: &["properties::histories_are_well_formed"],
    },
    PlantedBug {
        name: "answered-future-cancelled",
        story: "An activity that has completed is recorded as cancelled when its future is dropped.",
        file: "crates/abide-engine/src/settle.rs",
        edits: &[Edit {
            find: "            Family::Activity | Family::Child | Family::Wait if answered == Answered::Yes => {",
            replace: "            Family::Activity | Family::Child | Family::Wait if self.host_calls.len() > 99 => {",
        }],
        caught_by: &["properties::histories_are_well_formed"],
    },
    PlantedBug {
        name: "successor-robbed",
        story: "Messages that arrive behind a continue-as-new in the same batch are used up by the execution that has ended.",
        file: "crates/abide-engine/src/inbox.rs",
        edits: &[Edit {
            find: "            self.use_up_repeated_starts();\n            return Progress::Rest;",
            replace: "            self.use_up_repeated_starts();",
        }],
        caught_by: &["properties::what_follows_a_continue_as_new_stays_queued"],
    },
    PlantedBug {
        name: "detached-start-lost",
        story: "A fire-and-forget start is recorded, but the instance is never started.",
        file: "crates/abide-engine/src/effects.rs",
        edits: &[Edit {
            find: "        queue.insert(id, Box::new(item));",
            replace: "        if !matches!(item, WorkItem::StartOrchestration { parent_instance: None, .. }) {\n            queue.insert(id, Box::new(item));\n        }",
        }],
        caught_by: &["properties::histories_are_well_formed"],
    },
    PlantedBug {
        name: "newest-wait-first",
        story: "A signal goes to the youngest wait of its name; the oldest waits for ever.",
        file: "crates/abide-engine/src/signals.rs",
        edits: &[Edit {
            find: "        let oldest = waits.pop_first();",
            replace: "        let oldest = waits.pop_last();",
        }],
        caught_by: &[
            "models::signals_follow_the_model",
            "traces::two_waits_get_two_signals_in_the_order_they_were_made",
        ],
    },
    PlantedBug {
        name: "dropped-dequeue-keeps-its-place",
        story: "A dequeue that lost a select still counts: the next message waits for a reader that is gone.",
        file: "crates/abide-engine/src/tape/user_side.rs",
        edits: &[Edit {
            find: "                        woken = cell.queues.close(&slot.name, id).and_then(|next| cell.resolve(next));",
            replace: "                        woken = cell.queues.close(&slot.name, EventId::new(id.get().saturating_add(1))).and_then(|next| cell.resolve(next));",
        }],
        caught_by: &["models::dequeues_dropped_in_any_order_follow_the_model"],
    },
    PlantedBug {
        name: "ready-dequeue-not-woken",
        story: "A message that came before its dequeue is not seen until something else arrives.",
        file: "crates/abide-engine/src/tape/engine_side.rs",
        edits: &[Edit {
            find: "        if ready {\n            let waker",
            replace: "        if ready && token.get() == 0 {\n            let waker",
        }],
        caught_by: &[
            "traces::a_queue_message_waits_for_its_dequeue",
            "spinning::reading_twenty_thousand_messages_in_one_go_is_no_self_wake",
        ],
    },
    PlantedBug {
        name: "unwinding-drops-recorded",
        story: "A panic is recorded as if the code had decided to drop everything it held.",
        file: "crates/abide-engine/src/tape/engine_side.rs",
        edits: &[Edit {
            find: "            Unwound::Yes => collected.drops.retain(|dropped| dropped.unwinding == Unwound::No),",
            replace: "            Unwound::Yes => {}",
        }],
        caught_by: &["panics::asks_before_a_panic_are_recorded_and_drops_while_unwinding_are_not"],
    },
    PlantedBug {
        name: "child-id-reused",
        story: "The child of a later execution gets the id of an earlier one's, and is refused as a duplicate.",
        file: "crates/abide-engine/src/ask/record.rs",
        edits: &[Edit {
            find: "        auto_child_suffix(place.execution_id, place.id.get())",
            replace: "        auto_child_suffix(1, place.id.get())",
        }],
        caught_by: &["lessons::releases::a_child_of_a_later_execution_has_an_id_of_its_own"],
    },
    PlantedBug {
        name: "additional-ask-overlooked",
        story: "Code that asks for something new in the middle of its history is not noticed until it goes wrong.",
        file: "crates/abide-engine/src/settle.rs",
        edits: &[Edit {
            find: "    fn pass_over_pending(&self) -> Result<bool, Fault> {\n        if self.policy.allows(Leniency::LateBinding) {",
            replace: "    fn pass_over_pending(&self) -> Result<bool, Fault> {\n        if !self.pending.is_empty() {",
        }],
        caught_by: &["people::an_additional_ask_before_an_arrival"],
    },
    PlantedBug {
        name: "foreign-wake-overlooked",
        story: "A tokio sleep inside an orchestration hangs it for ever, without a word.",
        file: "crates/abide-engine/src/window.rs",
        edits: &[Edit {
            find: "        self.foreign.get().copied()",
            replace: "        self.foreign.get().copied().filter(|_| false)",
        }],
        caught_by: &["foreign::a_thread_that_wakes_it_later_fails_it_at_its_next_live_step"],
    },
    PlantedBug {
        name: "start-begins-twice",
        story: "A continue-as-new message that is delivered twice begins two executions with the same input, and the messages it carries are read twice.",
        file: "crates/abide-engine/src/inbox.rs",
        edits: &[Edit {
            find: "            self.use_up_repeated_starts();\n            return Progress::Rest;",
            replace: "            return Progress::Rest;",
        }],
        caught_by: &["properties::what_follows_a_continue_as_new_stays_queued"],
    },
    PlantedBug {
        name: "shown-write-kept",
        story: "A resident execution that is told of a commit in pieces records its next key-value write with an old time.",
        file: "crates/abide-engine/src/tape/kv.rs",
        edits: &[Edit {
            find: "            Some(ahead) => self.ahead = ahead,",
            replace: "            Some(_) => self.times.push_back(at_ms),",
        }],
        caught_by: &["properties::a_tail_of_history_can_be_replayed_into_a_resident_execution"],
    },
    PlantedBug {
        name: "old-drops-refused",
        story: "Instances that dropped a future under an older release cannot go on after the upgrade.",
        file: "crates/abide-engine/src/settle.rs",
        edits: &[Edit {
            find: "        let made = self.pending.drops.remove(&source).or_else(|| self.pending.tolerated.remove(&source));",
            replace: "        let made = if strict { self.pending.drops.remove(&source) } else { self.pending.tolerated.remove(&source) };",
        }],
        caught_by: &["properties::a_strict_history_replays_under_an_older_pin"],
    },
    PlantedBug {
        name: "join-polls-everything",
        story: "A join of ten thousand polls every future for every result.",
        file: "crates/abide-engine/src/context/several.rs",
        edits: &[
            Edit {
                find: "        futures.into_iter().collect::<FuturesOrdered<_>>().collect().await",
                replace: "    let mut open: Vec<_> = futures.into_iter().map(|future| Box::pin(future_util_done(future))).collect();\n    poll_fn(|cx| {\n        let waiting = open.iter_mut().filter_map(|future| future.as_mut().poll(cx).is_pending().then_some(())).count();\n        if waiting == 0 { Poll::Ready(()) } else { Poll::Pending }\n    })\n    .await;\n    open.into_iter().filter_map(|mut future| future.as_mut().take_output()).collect()",
            },
            Edit {
                find: "use futures_util::future;",
                replace: "use futures_util::future::{self, maybe_done as future_util_done};",
            },
        ],
        caught_by: &["counts::a_join_costs_two_polls_a_future"],
    },
];

impl PlantedBug {
    /// The file's text with the bug in it, or why the bug no longer applies.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        self.edits.iter().try_fold(text.to_owned(), |text, edit| edit.apply(&text, self.file))
    }
}

impl Edit {
    fn apply(&self, text: &str, file: &str) -> Result<String, String> {
        let remedy = "it no longer applies; look at what became of the line";
        match text.matches(self.find).count() {
            _ if self.find == self.replace => Err(format!("`replace` changes nothing; {remedy}")),
            0 => Err(format!("`find` does not occur in {file}; {remedy}")),
            1 => Ok(text.replacen(self.find, self.replace, 1)),
            count => Err(format!("`find` occurs {count} times in {file}; {remedy}, or make `find` longer")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BUG: PlantedBug = PlantedBug {
        name: "wrong-sign",
        story: "Sums are differences.",
        file: "crates/abide-engine/src/lib.rs",
        edits: &[Edit { find: "a + b", replace: "a - b" }],
        caught_by: &["sums"],
    };

    #[test]
    fn every_bug_still_applies() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for bug in PLANTED_BUGS {
            let text = std::fs::read_to_string(root.join(bug.file)).unwrap();
            assert!(bug.apply(&text).is_ok(), "`{}`: {}", bug.name, bug.apply(&text).unwrap_err());
        }
    }

    #[test]
    fn a_bug_is_planted_where_its_text_occurs_once() {
        assert_eq!(BUG.apply("let c = a + b;"), Ok("let c = a - b;".to_owned()));
    }

    #[test]
    fn a_bug_whose_text_is_gone_or_ambiguous_no_longer_applies() {
        for (text, complaint) in [("", "does not occur"), ("a + b; a + b", "occurs 2 times")] {
            let objection = BUG.apply(text).unwrap_err();
            assert!(objection.contains(complaint) && objection.contains("no longer applies"), "{objection}");
        }
        assert!(
            PlantedBug { edits: &[Edit { find: "a + b", replace: "a + b" }], ..BUG }.apply("a + b").is_err()
        );
    }

    #[test]
    fn every_property_is_shown_to_fail_for_some_bug() {
        let properties = include_str!("../../../crates/abide-engine/tests/it/properties.rs");
        let names = properties.split("#[test]\n    fn ").skip(1).filter_map(|rest| rest.split('(').next());
        let catchers: BTreeSet<&str> = PLANTED_BUGS.iter().flat_map(|bug| bug.caught_by).copied().collect();
        let unproven: Vec<&str> =
            names.filter(|name| !catchers.contains(format!("properties::{name}").as_str())).collect();
        assert!(unproven.is_empty(), "no planted bug shows that these can fail: {unproven:?}");
    }

    #[test]
    fn names_in_the_table_are_unique() {
        let names: BTreeSet<&str> = PLANTED_BUGS.iter().map(|bug| bug.name).collect();
        assert_eq!(names.len(), PLANTED_BUGS.len());
    }
}
