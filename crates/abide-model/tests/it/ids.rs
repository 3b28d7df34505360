//! Numbers and names that identify.

use abide_model::{
    EventId, INITIAL_EVENT_ID, INITIAL_EXECUTION_ID, SUB_ORCH_AUTO_PREFIX, auto_child_suffix,
    build_child_instance_id, is_auto_generated_sub_orch_id, is_reserved_root_id, pending_child_suffix,
};

#[test]
fn executions_and_events_count_from_one() {
    assert_eq!((INITIAL_EXECUTION_ID, INITIAL_EVENT_ID), (1, 1));
    assert_eq!(EventId::FIRST, EventId::new(1));
}

#[test]
fn an_event_id_is_followed_by_the_next() {
    assert_eq!(EventId::FIRST.next(), Some(EventId::new(2)));
    assert!(EventId::new(2) < EventId::new(10));
    assert_eq!(EventId::new(7).to_string(), "7");
}

#[test]
fn event_ids_end_where_stores_do() {
    let last = u64::try_from(i64::MAX).unwrap();
    assert_eq!(EventId::new(last - 1).next().map(EventId::get), Some(last));
    assert_eq!(EventId::new(last).next(), None);
    assert_eq!(EventId::new(u64::MAX).next(), None);
}

#[test]
fn a_generated_child_is_named_after_the_request_for_it() {
    assert_eq!(auto_child_suffix(1, 2), "sub::2");
    assert_eq!(auto_child_suffix(3, 2), "sub::3_2");
    assert_eq!(pending_child_suffix(4), "sub::pending_4");
}

#[test]
fn a_generated_child_lives_below_its_parent() {
    let child = build_child_instance_id("root", &auto_child_suffix(1, 2));
    assert_eq!(child, "root::sub::2");
    assert_eq!(build_child_instance_id(&child, &auto_child_suffix(1, 2)), "root::sub::2::sub::2");
}

#[test]
fn a_chosen_child_id_is_used_verbatim() {
    for id in ["invoice-7", "root::sub::2", "", "sub:2"] {
        assert_eq!(build_child_instance_id("root", id), id);
        assert!(!is_auto_generated_sub_orch_id(id));
    }
    assert!(is_auto_generated_sub_orch_id(SUB_ORCH_AUTO_PREFIX));
}

#[test]
fn roots_may_not_look_like_generated_children() {
    for id in ["sub::2", "root::sub::2", "::sub::", "sub::"] {
        assert!(is_reserved_root_id(id), "{id}");
    }
    for id in ["root", "", "sub:2", "sub", "a::b", "pub::sub", "a:sub::b"] {
        assert!(!is_reserved_root_id(id), "{id}");
    }
}
