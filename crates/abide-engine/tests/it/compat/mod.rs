//! Histories that the reference recorded replay here; the same differences in one of our own are mismatches.
//!
//! `leniency.rs` has one test for each difference that is let pass, `order.rs` the order in which the
//! reference wrote a turn, `turns.rs` turns of several polls, and `pin.rs` which rules a recorded version
//! stands for.

mod leniency;
mod order;
mod pin;
mod turns;

use crate::support::Code;
use crate::support::past::{OURS, REFERENCE, Row, fit_in_short, past};

/// The reference's own histories fit; says what is wrong with the same rows in one of ours.
#[track_caller]
fn fits_only_the_reference(rows: &[Row], code: &Code) -> String {
    assert_eq!(fit_in_short(code, past(REFERENCE, rows.to_vec())), "fits");
    let ours = fit_in_short(code, past(OURS, rows.to_vec()));
    assert_ne!(ours, "fits");
    ours
}
