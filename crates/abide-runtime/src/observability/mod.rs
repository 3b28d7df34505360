//! What a runtime tells about itself.

mod config;

pub use config::{LogFormat, ObservabilityConfig};
