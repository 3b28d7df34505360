//! The bugs, by subject.

mod attempts;
mod blocks;
mod bulk;
mod changes;
mod commits;
mod deletion;
mod executions;
mod listing;
mod looking;
mod mail;
mod odd_mail;
mod overviews;
mod provided;
mod prune;
mod revoking;
mod sessions;
mod starts;
mod status;
mod step_tries;
mod suspects;
mod tags;
mod tokens;
mod values;
mod versions;
mod waiting;
mod work;

use crate::planted::Planted;

/// All bugs.
#[must_use]
pub fn all() -> Vec<&'static Planted> {
    let subjects = [
        tokens::BUGS,
        attempts::BUGS,
        mail::BUGS,
        odd_mail::BUGS,
        commits::BUGS,
        step_tries::BUGS,
        executions::BUGS,
        versions::BUGS,
        values::BUGS,
        work::BUGS,
        tags::BUGS,
        sessions::BUGS,
        deletion::BUGS,
        bulk::BUGS,
        prune::BUGS,
        looking::BUGS,
        listing::BUGS,
        provided::BUGS,
        starts::BUGS,
        status::BUGS,
        waiting::BUGS,
        changes::BUGS,
        blocks::BUGS,
        suspects::BUGS,
        revoking::BUGS,
        overviews::BUGS,
    ];
    subjects.into_iter().flatten().collect()
}
