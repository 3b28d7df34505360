//! The model does what the model does.

use abide_differential::{Numbers, Reopening, agrees_with_the_model, crowded, directed};

use crate::model::Model;

/// As many as meet every situation.
const SEQUENCES: u64 = 400;

#[test]
fn the_same_numbers_are_compared_as_they_are() {
    agrees_with_the_model(&mut Model::numbered(Numbers::LikeTheModel), SEQUENCES / 10);
}

#[test]
fn numbers_with_gaps_are_paired() {
    agrees_with_the_model(&mut Model::numbered(Numbers::WithGaps), SEQUENCES);
}

#[test]
fn leases_may_outlast_their_process() {
    let mut model = Model::numbered(Numbers::WithGaps).reopening(Reopening::LeasesLast);
    agrees_with_the_model(&mut model, SEQUENCES);
}

#[test]
fn scenes_do_not_depend_on_the_numbers() {
    for scene in [
        directed::a_batch_has_so_many_messages_and_no_more,
        directed::a_batch_has_so_many_bytes_and_one_message_at_least,
        directed::a_cancel_comes_ahead_of_mail_that_fills_a_batch,
        directed::a_call_for_instances_has_so_many_bytes_and_one_lease_at_least,
        directed::a_call_for_work_has_so_many_bytes_and_one_lease_at_least,
        directed::what_nobody_can_read_is_buried_in_the_end,
        crowded::large_trees_are_deleted_in_several_parts,
        crowded::a_bulk_deletion_looks_behind_those_that_must_stay,
        crowded::orphans_and_executions_are_removed_up_to_a_thousand,
    ] {
        scene(&mut Model::numbered(Numbers::WithGaps));
    }
}
