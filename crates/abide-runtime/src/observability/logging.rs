//! A subscriber for programs that have none: `init_logging`, with the feature `logging`.
//!
//! Only a program may call it. The library logs through `tracing` and leaves it at that.

#[cfg(feature = "logging")]
use tracing_subscriber::EnvFilter;
#[cfg(feature = "logging")]
use tracing_subscriber::filter::LevelFilter;

#[cfg(feature = "logging")]
use super::LogFormat;
use super::ObservabilityConfig;

/// Writes logs to standard output, for the whole process, in the format and at the level of `config`.
///
/// The environment variable `RUST_LOG` decides what is logged, if it is set. Otherwise it is what orchestrations and
/// activities log at the level of `config`, and warnings of everything else.
///
/// # Errors
///
/// If the process has a subscriber already, if the level or `RUST_LOG` cannot be understood, or if this was built without
/// the feature `logging`.
#[cfg(feature = "logging")]
pub fn init_logging(config: &ObservabilityConfig) -> Result<(), String> {
    let lines = tracing_subscriber::fmt().with_env_filter(filter(config)?);
    match config.log_format {
        LogFormat::Json => lines.json().try_init(),
        LogFormat::Pretty => lines.try_init(),
        LogFormat::Compact => lines.compact().try_init(),
    }
    .map_err(|error| format!("logging cannot be initialised: {error}"))
}

/// Writes logs to standard output: not in this build.
///
/// # Errors
///
/// Always: this was built without the feature `logging`.
#[cfg(not(feature = "logging"))]
pub fn init_logging(config: &ObservabilityConfig) -> Result<(), String> {
    let _ = config;
    Err("logging cannot be initialised: this was built without the feature `logging`; enable it, or install a \
         subscriber of `tracing` yourself"
        .to_owned())
}

#[cfg(feature = "logging")]
fn filter(config: &ObservabilityConfig) -> Result<EnvFilter, String> {
    let level = config.log_level.trim();
    // Checked by itself: in a list of directives it could be several, or the name of a target.
    let level: LevelFilter = level.parse().map_err(|_| {
        format!("log_level is {level:?}; it must be one of off, error, warn, info, debug and trace")
    })?;
    match std::env::var(EnvFilter::DEFAULT_ENV) {
        Ok(text) if !text.is_empty() => EnvFilter::builder()
            .parse(&text)
            .map_err(|error| format!("RUST_LOG is {text:?}, which cannot be understood: {error}")),
        Ok(_) | Err(_) => {
            Ok(EnvFilter::new(format!("warn,abide::orchestration={level},abide::activity={level}")))
        }
    }
}
