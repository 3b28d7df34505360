//! Nodes that are killed, or stopped beyond their leases, again and again. A dead node is not seen to be dead: what it held comes
//! free when its lease is over.

use std::time::Duration;

use abide_chaos::check::Figures;

use crate::support::database::Database;
use crate::support::fleet::Fleet;
use crate::support::site::Site;
use crate::support::weather::{hit_everything, hit_something, weather};

const LEASE: Duration = Duration::from_secs(1);

#[test]
fn nothing_is_lost_when_nodes_are_killed_all_the_time() {
    let Some(database) = Database::shared() else { return };
    let fleet = Fleet::at(Site::on("killed", database), 3).with_lease(LEASE);
    let pause = Duration::from_millis(200);
    let killed =
        weather(fleet, 4, hit_everything, |fleet, dice, season| fleet.kill_every(pause, 8, dice, season));
    assert!(hit_everything(&killed.figures), "{}", killed.figures);
}

#[test]
fn nothing_is_lost_when_nodes_are_stopped_beyond_their_leases() {
    let Some(database) = Database::shared() else { return };
    let fleet = Fleet::at(Site::on("stopped", database), 3).with_lease(LEASE);
    let pause = Duration::from_millis(500);
    let stopped =
        weather(fleet, 4, came_too_late, |fleet, dice, season| fleet.stop_every(pause, 2, dice, season));
    assert!(came_too_late(&stopped.figures), "{}", stopped.figures);
}

/// Something was run again, and whoever was stopped tried to commit what was not theirs any more. The rules say that nobody succeeded.
fn came_too_late(figures: &Figures) -> bool {
    let was_refused =
        |operation: &str| figures.refused.contains_key(&(operation.to_owned(), "lease_lost".to_owned()));
    hit_something(figures) && (was_refused("commit_turn") || was_refused("finish_work"))
}
