//! Both queues: order, peek-lock, visibility, and mail for nobody.

mod mail;
mod visibility;
mod work;

pub use mail::*;
pub use visibility::*;
pub use work::*;

use crate::suite::area;

area! {
    queue_semantics;
    test_worker_queue_fifo_ordering;
    test_worker_peek_lock_semantics;
    test_worker_ack_atomicity;
    test_timer_delayed_visibility;
    test_lost_lock_token_handling;
    test_worker_item_immediate_visibility;
    test_worker_delayed_visibility_skips_future_items;
    test_orphan_queue_messages_dropped;
    test_concurrent_work_acks_complete_once;
    test_concurrent_workers_get_different_work;
    test_work_arrives_as_sent;
    test_failed_activity_tells_its_instance;
    test_delayed_message_waits_its_time;
    test_enqueued_timer_waits_for_its_time;
    test_timer_of_the_past_is_visible_at_once;
    test_timers_of_a_turn_stay_hidden_for_its_slack;
    test_hidden_message_keeps_its_place;
    test_messages_arrive_in_order_of_enqueueing;
    test_messages_arrive_as_sent;
    test_committed_messages_reach_other_instances;
    test_child_result_reaches_its_parent;
    test_empty_turn_consumes_its_batch;
    test_queue_messages_of_a_starting_instance_are_kept;
    test_ack_appends_without_rewriting;
}
