//! The stored form of every work item.

use abide_model::{WorkItem, kind_of};
use expect_test::expect;

use super::samples::every_work_item;
use super::{check_json, variants_of};

fn tag_of(item: &WorkItem) -> String {
    let json = serde_json::to_value(item).unwrap();
    json.as_object().unwrap().keys().next().unwrap().clone()
}

#[test]
fn the_stored_form_of_every_item_is_frozen() {
    check_json(
        &every_work_item(),
        &expect![[r#"
        {"StartOrchestration":{"instance":"i","orchestration":"N","input":"in","version":null,"parent_instance":null,"parent_id":null,"execution_id":1}}
        {"StartOrchestration":{"instance":"i","orchestration":"N","input":"in","version":"1.0.0","parent_instance":"p","parent_id":2,"parent_execution_id":4,"execution_id":1}}
        {"ContinueAsNew":{"instance":"i","orchestration":"N","input":"n","version":null,"carry_forward_events":[]}}
        {"ContinueAsNew":{"instance":"i","orchestration":"N","input":"n","version":"1.0.0","parent_instance":"p","parent_id":2,"parent_execution_id":4,"carry_forward_events":[["q","a"],["q","b"]],"initial_custom_status":"s"}}
        {"ActivityExecute":{"instance":"i","execution_id":1,"id":2,"name":"A","input":"x"}}
        {"ActivityExecute":{"instance":"i","execution_id":1,"id":2,"name":"A","input":"x","session_id":"s","tag":"gpu"}}
        {"ActivityCompleted":{"instance":"i","execution_id":1,"id":2,"result":"r"}}
        {"ActivityFailed":{"instance":"i","execution_id":1,"id":2,"details":{"Application":{"kind":{"Cancelled":{"reason":"r"}},"message":"","retryable":false}}}}
        {"TimerFired":{"instance":"i","execution_id":1,"id":2,"fire_at_ms":9}}
        {"ExternalRaised":{"instance":"i","name":"go","data":"d"}}
        {"QueueMessage":{"instance":"i","name":"q","data":"d"}}
        {"SubOrchCompleted":{"parent_instance":"p","parent_execution_id":1,"parent_id":2,"result":"r"}}
        {"SubOrchFailed":{"parent_instance":"p","parent_execution_id":1,"parent_id":2,"details":{"Application":{"kind":{"Cancelled":{"reason":"r"}},"message":"","retryable":false}}}}
        {"CancelInstance":{"instance":"i","reason":"r"}}
    "#]],
    );
}

#[test]
fn every_item_comes_back_as_it_went_in() {
    for before in every_work_item() {
        let text = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<WorkItem>(&text).unwrap(), before, "{text}");
    }
}

#[test]
fn the_samples_leave_no_item_out() {
    let sampled = every_work_item().iter().map(tag_of).collect();
    assert_eq!(variants_of::<WorkItem>(r#"{"?":{}}"#), sampled);
}

#[test]
fn an_item_is_named_after_its_variant_but_for_queue_messages() {
    for item in every_work_item() {
        let tag = tag_of(&item);
        let expected = if tag == "QueueMessage" { "ExternalRaisedPersistent" } else { &tag };
        assert_eq!(kind_of(&item), expected);
    }
}

#[test]
fn every_item_but_a_workers_has_an_addressee() {
    let routes: Vec<String> = every_work_item()
        .iter()
        .map(|item| format!("{} -> {}", kind_of(item), item.addressee().unwrap_or("(worker queue)")))
        .collect();
    expect![[r#"
        StartOrchestration -> i
        StartOrchestration -> i
        ContinueAsNew -> i
        ContinueAsNew -> i
        ActivityExecute -> (worker queue)
        ActivityExecute -> (worker queue)
        ActivityCompleted -> i
        ActivityFailed -> i
        TimerFired -> i
        ExternalRaised -> i
        ExternalRaisedPersistent -> i
        SubOrchCompleted -> p
        SubOrchFailed -> p
        CancelInstance -> i
    "#]]
    .assert_eq(&(routes.join("\n") + "\n"));
}
