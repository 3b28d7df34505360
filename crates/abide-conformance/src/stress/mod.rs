//! Many orchestrations at once on a provider: how many, how fast, and whether any fails.
//!
//! A harness for comparing providers and their settings, not a test: it reports, and asserts nothing.

pub mod core;
pub mod large_payload;
pub mod parallel_orchestrations;

pub use self::core::{
    StressTestConfig, StressTestResult, create_default_activities, create_default_orchestrations,
    print_comparison_table, run_stress_test,
};
