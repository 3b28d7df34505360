//! Running what is the user's: code, destructors, wakers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use abide_model::panic_text;

/// Runs something of the user's; `Err` says with what it panicked.
pub(crate) fn contained<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let ran = catch_unwind(AssertUnwindSafe(run));
    ran.map_err(|payload| panic_text(payload).unwrap_or_else(|| "orchestration panicked".to_owned()))
}
