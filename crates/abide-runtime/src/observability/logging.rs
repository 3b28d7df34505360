//! A subscriber for programs that have none: `init_logging`, with the feature `logging`.
//!
//! Only a program may call it. The library logs through `tracing` and leaves it at that.

#[cfg(feature = "logging")]
use std::ffi::OsStr;
#[cfg(feature = "logging")]
use std::io::IsTerminal as _;

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
/// activities log at the level of `config`, what abide itself logs at `info`, and warnings of everything else. Lines have colours
/// if standard output is a terminal and the environment variable `NO_COLOR` is not set.
///
/// # Errors
///
/// If the process has a subscriber already, if the level or `RUST_LOG` cannot be understood, or if this was built without
/// the feature `logging`.
#[cfg(feature = "logging")]
pub fn init_logging(config: &ObservabilityConfig) -> Result<(), String> {
    let no_color = std::env::var_os("NO_COLOR");
    let has_colours = has_colours(std::io::stdout().is_terminal(), no_color.as_deref());
    let lines = tracing_subscriber::fmt().with_env_filter(filter(config)?).with_ansi(has_colours);
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

/// Returns whether lines have colours: on a terminal, unless `NO_COLOR` is set to something.
#[cfg(feature = "logging")]
#[expect(clippy::fn_params_excessive_bools, reason = "one fact about standard output")]
fn has_colours(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
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
        Ok(_) | Err(_) => Ok(EnvFilter::new(directives(level))),
    }
}

/// What is shown if `RUST_LOG` does not say it.
#[cfg(feature = "logging")]
fn directives(level: LevelFilter) -> String {
    format!("warn,abide=info,abide::orchestration={level},abide::activity={level}")
}

#[cfg(all(test, feature = "logging"))]
mod tests {
    use super::*;

    #[test]
    fn lines_have_colours_on_a_terminal_whose_user_did_not_refuse_them() {
        let table = [
            (true, None, true),
            (true, Some(""), true),
            (true, Some("1"), false),
            (false, None, false),
            (false, Some(""), false),
            (false, Some("1"), false),
        ];
        for (is_terminal, no_color, expected) in table {
            let has = has_colours(is_terminal, no_color.map(OsStr::new));
            assert_eq!(has, expected, "terminal: {is_terminal}, NO_COLOR: {no_color:?}");
        }
    }

    #[test]
    fn abide_is_shown_at_info_and_user_code_at_its_own_level() {
        let shown = directives(LevelFilter::ERROR);
        assert_eq!(shown, "warn,abide=info,abide::orchestration=error,abide::activity=error");
        assert!(EnvFilter::builder().parse(shown).is_ok());
    }
}
