//! Where time, chance and tasks come in.
//!
//! The builders of [clients](crate::client::ClientBuilder), [runtimes](crate::runtime::RuntimeBuilder) and stores take them
//! as arguments. Without, they are the machine's; the feature `testing` has others, under which two runs do not differ.

pub use abide_model::{Clock, Entropy, Sleep, Spawn, Task, Timestamp};
