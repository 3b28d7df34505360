//! The suite on the reference model. That it can fail is shown by `abide-broken`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

mod defaults;
mod guide;
mod model;
mod names;
mod on_memory;
