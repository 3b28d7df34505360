//! What a runtime tells about itself.

mod config;
mod metrics;

pub use config::{LogFormat, ObservabilityConfig};
pub use metrics::*;
/// stub
#[derive(Debug)]
pub struct InstrumentedProvider;
impl InstrumentedProvider {
    /// stub
    pub fn with_clock(
        p: std::sync::Arc<dyn abide_provider::Provider>,
        _: Option<std::sync::Arc<MetricsProvider>>,
        _: std::sync::Arc<dyn abide_model::Clock>,
    ) -> std::sync::Arc<dyn abide_provider::Provider> {
        p
    }
}
