//! What a build is told on its command line.

use std::path::PathBuf;
use std::time::Duration;

use abide::RuntimeOptions;
use abide::runtime::UnregisteredBackoffConfig;

use super::Code;
use crate::store::Store;
use crate::worker::{WorkerError, number};

/// `--db FILE-OR-URL [--schema NAME] --build ID --code NAME --effects FILE [--constructor builder|reference]
/// [--lease-ms N] [--max-attempts N] [--slots N] [--unregistered-ms N]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where everything is kept.
    pub store: Store,
    /// Its build id.
    pub build: String,
    /// What its handlers do.
    pub code: Code,
    /// The file to which its activities append a line each time they run.
    pub effects: PathBuf,
    /// Whose policies it has.
    pub constructor: Constructor,
    /// How long leases last; the runtime's defaults unless told.
    pub lease: Option<Duration>,
    /// How many crashes an item may be under way in; the runtime's default unless told.
    pub max_attempts: Option<u32>,
    /// How many activities it runs at once; the runtime's default unless told.
    pub slots: Option<usize>,
    /// How long work waits whose handler it does not have; the runtime's defaults unless told.
    pub unregistered: Option<Duration>,
}

/// The policies for what an instance cannot go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constructor {
    /// Those of `Runtime::builder()`.
    Builder,
    /// Those of the reference's constructors.
    Reference,
}

impl Options {
    /// Understands a command line.
    ///
    /// # Errors
    ///
    /// [`WorkerError::Usage`] if it makes no sense.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, WorkerError> {
        let usage = |problem: String| WorkerError::Usage(problem);
        let mut words = arguments.into_iter();
        let (mut db, mut schema, mut build, mut code, mut effects) = (None, None, None, None, None);
        let mut constructor = Constructor::Builder;
        let (mut lease, mut max_attempts, mut slots, mut unregistered) = (None, None, None, None);
        while let Some(option) = words.next() {
            let value = words.next().ok_or_else(|| usage(format!("{option} needs a value")))?;
            match option.as_str() {
                "--db" => db = Some(value),
                "--schema" => schema = Some(value),
                "--build" => build = Some(value),
                "--code" => {
                    code = Some(Code::named(&value).ok_or_else(|| usage(format!("no code is {value}")))?);
                }
                "--effects" => effects = Some(value.into()),
                "--constructor" if value == "builder" => constructor = Constructor::Builder,
                "--constructor" if value == "reference" => constructor = Constructor::Reference,
                "--lease-ms" => lease = Some(Duration::from_millis(number(&option, &value)?)),
                "--max-attempts" => max_attempts = Some(number(&option, &value)?),
                "--slots" => slots = Some(number(&option, &value)?),
                "--unregistered-ms" => unregistered = Some(Duration::from_millis(number(&option, &value)?)),
                unknown => return Err(usage(format!("there is no option {unknown} {value}"))),
            }
        }
        let missing = |name: &str| usage(format!("{name} is missing"));
        Ok(Self {
            store: Store::named(db.ok_or_else(|| missing("--db"))?, schema),
            build: build.ok_or_else(|| missing("--build"))?,
            code: code.ok_or_else(|| missing("--code"))?,
            effects: effects.ok_or_else(|| missing("--effects"))?,
            constructor,
            lease,
            max_attempts,
            slots,
            unregistered,
        })
    }

    pub(super) fn runtime_options(&self) -> RuntimeOptions {
        let mut options = RuntimeOptions { build_id: Some(self.build.clone()), ..RuntimeOptions::default() };
        if let Some(lease) = self.lease {
            options.orchestrator_lock_timeout = lease;
            options.worker_lock_timeout = lease;
        }
        if let Some(delay) = self.unregistered {
            options.unregistered_backoff = UnregisteredBackoffConfig { base_delay: delay, max_delay: delay };
        }
        options.max_attempts = self.max_attempts.unwrap_or(options.max_attempts);
        options.worker_concurrency = self.slots.unwrap_or(options.worker_concurrency);
        options
    }
}
