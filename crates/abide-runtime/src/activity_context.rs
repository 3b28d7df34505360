//! What an activity knows about itself.

/// What an activity knows about itself.
#[derive(Clone, Debug)]
pub struct ActivityContext {
    _private: (),
}
