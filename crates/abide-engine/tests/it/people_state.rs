//! Errors for people: children, detached instances, custom status, key-value state and prunes that changed.
//!
//! Every message begins with the documented text, names the event, and prints both sides in full.

use abide_engine::OrchestrationContext;
use abide_engine::model::PruneOptions;
use expect_test::expect;

use crate::support::code;
use crate::support::disagree::{asks, complaint, disagree, started};
use crate::support::drive::recorded;
use crate::support::mail::start;

#[test]
fn a_changed_name_of_a_child_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_sub_orchestration("Child", "1")),
        started(),
        asks(|ctx| ctx.schedule_sub_orchestration("Kid", "1")),
        expect![[r#"
            schedule mismatch: action=StartSubOrchestration { scheduling_event_id: 0, name: "Kid", version: None, instance: "sub::pending_1", input: "1" } vs event=SubOrchestrationScheduled { name: "Child", instance: "sub::2", input: "1" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its name
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_input_of_a_child_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_sub_orchestration("Child", "1")),
        started(),
        asks(|ctx| ctx.schedule_sub_orchestration("Child", "2")),
        expect![[r#"
            schedule mismatch: action=StartSubOrchestration { scheduling_event_id: 0, name: "Child", version: None, instance: "sub::pending_1", input: "2" } vs event=SubOrchestrationScheduled { name: "Child", instance: "sub::2", input: "1" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its input
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_instance_of_a_child_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_sub_orchestration_with_id("Child", "one", "1")),
        started(),
        asks(|ctx| ctx.schedule_sub_orchestration_with_id("Child", "two", "1")),
        expect![[r#"
            schedule mismatch: action=StartSubOrchestration { scheduling_event_id: 0, name: "Child", version: None, instance: "two", input: "1" } vs event=SubOrchestrationScheduled { name: "Child", instance: "one", input: "1" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its instance
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_child_that_lost_the_id_it_was_given_is_named() {
    disagree(
        asks(|ctx| ctx.schedule_sub_orchestration_with_id("Child", "one", "1")),
        started(),
        asks(|ctx| ctx.schedule_sub_orchestration("Child", "1")),
        expect![[r#"
            schedule mismatch: action=StartSubOrchestration { scheduling_event_id: 0, name: "Child", version: None, instance: "sub::pending_1", input: "1" } vs event=SubOrchestrationScheduled { name: "Child", instance: "one", input: "1" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its instance
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_detached_start_is_named() {
    let was = || asks(|ctx| ctx.schedule_orchestration("Mailer", "m-1", "1"));
    disagree(
        was(),
        started(),
        asks(|ctx| ctx.schedule_orchestration("Posts", "m-1", "1")),
        expect![[r#"
            schedule mismatch: action=StartOrchestrationDetached { scheduling_event_id: 0, name: "Posts", version: None, instance: "m-1", input: "1" } vs event=OrchestrationChained { name: "Mailer", instance: "m-1", input: "1" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its name
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        was(),
        started(),
        asks(|ctx| ctx.schedule_orchestration("Mailer", "m-2", "1")),
        expect![[r#"
            schedule mismatch: action=StartOrchestrationDetached { scheduling_event_id: 0, name: "Mailer", version: None, instance: "m-2", input: "1" } vs event=OrchestrationChained { name: "Mailer", instance: "m-1", input: "1" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its instance
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        was(),
        started(),
        asks(|ctx| ctx.schedule_orchestration("Mailer", "m-1", "2")),
        expect![[r#"
            schedule mismatch: action=StartOrchestrationDetached { scheduling_event_id: 0, name: "Mailer", version: None, instance: "m-1", input: "2" } vs event=OrchestrationChained { name: "Mailer", instance: "m-1", input: "1" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its input
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_detached_start_that_is_no_longer_made_is_shown() {
    disagree(
        code(|ctx, _| async move {
            ctx.schedule_timer(std::time::Duration::ZERO).await;
            ctx.schedule_orchestration("Mailer", "m-1", "1");
            Ok(ctx.schedule_wait("end").await)
        }),
        vec![vec![start("in")], vec![crate::support::mail::fired(2, 1_000)]],
        code(|ctx, _| async move {
            ctx.schedule_timer(std::time::Duration::ZERO).await;
            std::future::pending().await
        }),
        expect![[r#"
            history OrchestrationChained but no emitted action
              at event 4 of execution 1 of instance 'i', recorded by version 0.2.0
              history holds: OrchestrationChained { name: "Mailer", instance: "m-1", input: "1" }
              but the code asks for nothing here
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_custom_status_is_named() {
    let was = || asks(|ctx| ctx.set_custom_status("half"));
    disagree(
        was(),
        started(),
        asks(|ctx| ctx.set_custom_status("most")),
        expect![[r#"
            custom status mismatch: action=UpdateCustomStatus { status: Some("most") } vs event=CustomStatusUpdated { status: Some("half") }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its status
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        was(),
        started(),
        asks(OrchestrationContext::reset_custom_status),
        expect![[r#"
            custom status mismatch: action=UpdateCustomStatus { status: None } vs event=CustomStatusUpdated { status: Some("half") }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its status
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        was(),
        started(),
        asks(|_| ()),
        expect![[r#"
            custom status mismatch: action=WaitExternal { scheduling_event_id: 0, name: "end" } vs event=CustomStatusUpdated { status: Some("half") }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its kind
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_key_value_write_is_named() {
    let was = || asks(|ctx| ctx.set_kv_value("k", "1"));
    disagree(
        was(),
        started(),
        asks(|ctx| ctx.set_kv_value("k", "2")),
        expect![[r#"
            kv set mismatch: action=SetKeyValue { key: "k", value: "2", last_updated_at_ms: 1000 } vs event=KeyValueSet { key: "k", value: "1", last_updated_at_ms: 1000 }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its value
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        was(),
        started(),
        asks(|ctx| ctx.set_kv_value("q", "1")),
        expect![[r#"
            kv set mismatch: action=SetKeyValue { key: "q", value: "1", last_updated_at_ms: 1000 } vs event=KeyValueSet { key: "k", value: "1", last_updated_at_ms: 1000 }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its key
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        was(),
        started(),
        asks(|ctx| ctx.clear_kv_value("k")),
        expect![[r#"
            kv set mismatch: action=ClearKeyValue { key: "k" } vs event=KeyValueSet { key: "k", value: "1", last_updated_at_ms: 1000 }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its kind
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_clear_is_named() {
    let was = || asks(|ctx| ctx.clear_kv_value("k"));
    disagree(
        was(),
        started(),
        asks(|ctx| ctx.clear_kv_value("q")),
        expect![[r#"
            kv clear mismatch: action=ClearKeyValue { key: "q" } vs event=KeyValueCleared { key: "k" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its key
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        was(),
        started(),
        asks(OrchestrationContext::clear_all_kv_values),
        expect![[r#"
            kv clear mismatch: action=ClearKeyValues vs event=KeyValueCleared { key: "k" }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its kind
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_clear_of_all_is_named() {
    disagree(
        asks(OrchestrationContext::clear_all_kv_values),
        started(),
        asks(|ctx| ctx.set_kv_value("k", "1")),
        expect![[r#"
            kv clear_all mismatch: action=SetKeyValue { key: "k", value: "1", last_updated_at_ms: 1000 } vs event=KeyValuesCleared
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its kind
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn changed_prune_options_are_named() {
    let keeps = |keep_last, completed_before| {
        code(move |ctx, _| async move {
            let pruned = ctx.prune_history(PruneOptions { keep_last, completed_before }).await;
            ctx.schedule_wait("end").await;
            pruned.map(|result| result.events_deleted.to_string())
        })
    };
    disagree(
        keeps(Some(2), None),
        started(),
        keeps(Some(3), None),
        expect![[r#"
            schedule mismatch: action=PruneHistory { scheduling_event_id: 0, keep_last: Some(3), completed_before: None } vs event=HistoryPruneRequested { keep_last: Some(2), completed_before: None }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its keep_last
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
    disagree(
        keeps(Some(2), None),
        started(),
        keeps(None, Some(7)),
        expect![[r#"
            schedule mismatch: action=PruneHistory { scheduling_event_id: 0, keep_last: None, completed_before: Some(7) } vs event=HistoryPruneRequested { keep_last: Some(2), completed_before: None }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its keep_last, completed_before
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_prune_that_is_no_longer_made_is_shown() {
    disagree(
        code(|ctx, _| async move {
            let options = PruneOptions { keep_last: Some(2), completed_before: None };
            ctx.prune_history(options).await?;
            Ok(ctx.schedule_wait("end").await)
        }),
        started(),
        asks(|_| ()),
        expect![[r#"
            schedule mismatch: action=WaitExternal { scheduling_event_id: 0, name: "end" } vs event=HistoryPruneRequested { keep_last: Some(2), completed_before: None }
              at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
              what the code asks for differs in its kind
              The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]],
    );
}

#[test]
fn a_changed_input_of_the_successor_is_shown() {
    let goes_on = |input: &'static str| code(move |ctx, _| async move { ctx.continue_as_new(input).await });
    expect![[r#"
        outcome mismatch: history ends in another way than the code
          at event 2 of execution 1 of instance 'i', recorded by version 0.2.0
          history holds: OrchestrationContinuedAsNew { input: "1" }
          but the code continues as new with "2"
          The code was changed in a way its running executions cannot follow: restore it, or register the change as a new version."#]].assert_eq(&complaint(&goes_on("2"), recorded(&goes_on("1"), &started())));
}

#[test]
fn what_a_value_holds_is_printed_in_full_and_once() {
    let long = |end: &'static str| {
        asks(move |ctx| ctx.schedule_activity("a", format!("{}{end}", "x".repeat(5_000))))
    };
    let said = complaint(&long("!"), recorded(&long("?"), &started()));
    assert_eq!(said.matches(&format!("{}!", "x".repeat(5_000))).count(), 1, "what the code asks");
    assert_eq!(said.matches(&format!("{}?", "x".repeat(5_000))).count(), 1, "what history holds");
}
