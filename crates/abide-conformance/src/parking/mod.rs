//! A lease call that finds nothing waits in the store, and is served when there is something.
//!
//! These tests wait in real time, because waiting is what they are about: a provider that answers before there is
//! something, or only when the wait is over, is not parking.

mod dropping;
mod waiting;
mod waking;

pub use dropping::*;
pub use waiting::*;
pub use waking::*;

use crate::suite::area;

area! {
    parking;
    test_lease_calls_wait_as_long_as_they_are_told: Need::Ability(abide_provider::Ability::Parking);
    test_lease_calls_that_may_not_wait_answer_at_once: Need::Ability(abide_provider::Ability::Parking);
    test_what_is_there_is_leased_without_waiting: Need::Ability(abide_provider::Ability::Parking);
    test_new_mail_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_new_work_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_commit_wakes_who_waits_for_what_it_sends: Need::Ability(abide_provider::Ability::Parking);
    test_finished_activity_wakes_who_waits_for_its_instance: Need::Ability(abide_provider::Ability::Parking);
    test_lease_on_an_instance_given_back_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_commit_wakes_who_waits_for_mail_behind_its_lease: Need::Ability(abide_provider::Ability::Parking);
    test_lease_on_work_given_back_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_timer_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_message_that_becomes_visible_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_work_that_becomes_visible_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_end_of_a_lease_on_an_instance_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_end_of_a_lease_on_work_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_session_that_becomes_free_wakes_who_waits: Need::Ability(abide_provider::Ability::Parking);
    test_timer_set_while_somebody_waits_wakes_them: Need::Ability(abide_provider::Ability::Parking);
    test_mail_for_nobody_wakes_nobody: Need::Ability(abide_provider::Ability::Parking);
    test_work_goes_to_who_wants_it: Need::Ability(abide_provider::Ability::Parking);
    test_of_many_who_wait_one_is_served: Need::Ability(abide_provider::Ability::Parking);
    test_dropping_a_parked_call_loses_nothing: Need::Ability(abide_provider::Ability::Parking);
    test_dropping_a_call_while_it_is_served_loses_nothing: Need::Ability(abide_provider::Ability::Parking);
    test_waiting_fetches_are_woken:
        Need::Ability(abide_provider::Ability::Parking), Need::Polling(crate::Polling::Long);
}
