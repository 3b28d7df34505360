//! Running what is the user's: code, destructors, wakers.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs something of the user's; `Err` says with what it panicked.
pub(crate) fn contained<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(panic_message)
}

/// What a panic said. The payload is the user's: its destructor may panic in turn.
fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let message = payload
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "orchestration panicked".to_owned());
    if let Err(another) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        // And so may that of the second payload: leaking it ends the chain.
        Box::leak(another);
    }
    message
}
