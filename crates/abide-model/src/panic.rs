//! What a panic said.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic said, if it said a text.
///
/// The payload is that of whoever panicked, and its destructor may panic in turn: it ends here and harms nobody.
#[must_use]
pub fn panic_text(payload: Box<dyn Any + Send>) -> Option<String> {
    let text = payload.downcast_ref::<&'static str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    if let Err(another) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        // And so may that of the second payload: leaking it ends the chain.
        Box::leak(another);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                std::panic::panic_any(Self(self.0 - 1));
            }
        }
    }

    fn said_by(panics: impl FnOnce()) -> Option<String> {
        panic_text(catch_unwind(AssertUnwindSafe(panics)).unwrap_err())
    }

    #[test]
    fn texts_are_found_and_nothing_else_is() {
        assert_eq!(said_by(|| panic!("no")), Some("no".to_owned()));
        assert_eq!(said_by(|| panic!("no {}", 1)), Some("no 1".to_owned()));
        assert_eq!(said_by(|| std::panic::panic_any(7)), None);
    }

    #[test]
    fn a_payload_that_panics_when_it_is_dropped_harms_nobody() {
        for chain in 0..3 {
            assert_eq!(said_by(|| std::panic::panic_any(Bomb(chain))), None);
        }
    }
}
