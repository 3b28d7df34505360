//! What went wrong elsewhere, and must not here: the cases of the design's `lessons.md` that concern a store.
//!
//! Each test is named after its lesson: `lesson_…` is a defect of §3, `v0_1_…` the version that fixed a bug of §7.

mod administration;
mod defects;
mod regressions;
mod tokens;
