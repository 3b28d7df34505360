//! Who may depend on what, and why.
//!
//! A crate that is not here, or a dependency that is not in its row, fails `cargo xtask tidy`. To add one, add a row
//! with the reason a reviewer should believe. Dev-dependencies need no row: they reach no user.

pub(crate) const THIS_FILE: &str = "xtask/src/tidy/dependency_table.rs";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defaults {
    Allowed,
    MustBeOff,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) dependency: &'static str,
    pub(crate) defaults: Defaults,
    pub(crate) reason: &'static str,
}

#[derive(Debug)]
pub(crate) struct CrateRows {
    pub(crate) name: &'static str,
    pub(crate) may_depend_on: &'static [Row],
}

const fn row(dependency: &'static str, reason: &'static str) -> Row {
    Row { dependency, defaults: Defaults::Allowed, reason }
}

const fn without_defaults(dependency: &'static str, reason: &'static str) -> Row {
    Row { dependency, defaults: Defaults::MustBeOff, reason }
}

pub(crate) const DIRECT: &[CrateRows] = &[
    CrateRows {
        name: "abide-model",
        may_depend_on: &[
            row("semver", "versions of orchestrations are part of events"),
            row("serde", "events and work items have a frozen JSON form"),
            row("serde_json", "that form, and the typed payloads"),
            row("thiserror", "error types without handwritten `Display`"),
        ],
    },
    CrateRows {
        name: "abide-engine",
        may_depend_on: &[
            row("abide-model", "the words it decides about"),
            row("async-trait", "the handler trait users implement is an async trait object"),
            without_defaults(
                "futures-util",
                "joins that poll only what is ready; its defaults bring macros and channels",
            ),
            row("semver", "the version pin selects the replay policy"),
            row("serde", "typed inputs and outputs"),
            row("serde_json", "typed inputs and outputs"),
            row("slab", "open futures, found in constant time"),
            row("thiserror", "error types without handwritten `Display`"),
        ],
    },
    CrateRows {
        name: "abide-provider",
        may_depend_on: &[
            row("abide-model", "the words the contract is made of"),
            row("async-trait", "the contract is an async trait object, with a frozen signature"),
            without_defaults("futures-core", "the trait of the stream of stolen leases, and nothing else"),
            row("semver", "executions are pinned to versions"),
            row("serde", "what a node announces is stored as JSON"),
            row("strsim", "did you mean: the nearest registered name"),
            row("thiserror", "error types without handwritten `Display`"),
            without_defaults("tracing", "the warning of mail that waits for a start, one for all stores"),
        ],
    },
    CrateRows {
        name: "abide-host",
        may_depend_on: &[
            row("abide-model", "the seams it stands behind"),
            row("getrandom", "the system's entropy"),
        ],
    },
    CrateRows {
        name: "abide-memory",
        may_depend_on: &[
            row("abide-host", "the clock and entropy of its plain constructor"),
            row("abide-model", "what it keeps"),
            row("abide-provider", "the contract it models"),
            row("async-trait", "the contract is an async trait"),
            row("futures-channel", "waking callers that wait, under any async runtime"),
            row("semver", "executions are pinned to versions"),
            row("serde_json", "sizes of stored forms"),
        ],
    },
    CrateRows {
        name: "abide-postgres",
        may_depend_on: &[
            row("abide-host", "the clock and entropy of its default options"),
            row("abide-model", "what it keeps"),
            row("abide-provider", "the contract it implements"),
            row("async-trait", "the contract is an async trait"),
            row("futures-channel", "answers to callers, under any async runtime"),
            without_defaults("futures-util", "waiting for the first of two things"),
            row("percent-encoding", "names of files in URLs"),
            row("postgres-types", "rows of the functions' arguments, derived"),
            without_defaults("rustls", "encrypted connections; behind a feature"),
            row("semver", "executions are pinned to versions"),
            row("serde", "encoding of any stored form"),
            row("serde_json", "the stored form"),
            row("thiserror", "error types without handwritten `Display`"),
            without_defaults("tokio", "the thread that drives the connections"),
            row("tokio-postgres", "PostgreSQL's protocol"),
            without_defaults("tokio-postgres-rustls", "encrypted connections; behind a feature"),
            without_defaults("tracing", "what an operator must know and no caller can be told"),
            row("webpki-roots", "whom to trust if nobody says so; behind a feature"),
        ],
    },
    CrateRows {
        name: "abide-sqlite",
        may_depend_on: &[
            row("abide-host", "the clock and entropy of its default options"),
            row("abide-model", "what it keeps"),
            row("abide-provider", "the contract it implements"),
            row("async-trait", "the contract is an async trait"),
            row(
                "crossbeam-channel",
                "the writer's inbox: many senders, one thread that waits with a deadline",
            ),
            row("futures-channel", "answers to callers, under any async runtime"),
            row("rusqlite", "SQLite, compiled in"),
            row("semver", "executions are pinned to versions"),
            row("serde", "encoding of any stored form"),
            row("serde_json", "the stored form"),
            row("thiserror", "error types without handwritten `Display`"),
            without_defaults("tracing", "what an operator must know and no caller can be told"),
        ],
    },
    CrateRows {
        name: "abide-conformance",
        may_depend_on: &[
            row("abide-client", "scenes with a runtime; behind a feature"),
            row("abide-engine", "scenes with a runtime; behind a feature"),
            row("abide-host", "the real clock, for stores that have no other"),
            row("abide-model", "what it stores"),
            row("abide-provider", "the contract it tries"),
            row("abide-runtime", "scenes with a runtime; behind a feature"),
            row("async-trait", "the factory is an async trait"),
            without_defaults("futures-util", "a failed assertion is an outcome, not the end of the suite"),
            row("semver", "executions are pinned to versions"),
            row("serde", "the configuration of the stress harness; behind a feature"),
            row("serde_json", "the inputs of the stress harness; behind a feature"),
            row("tokio", "real time passes, and callers run beside each other"),
        ],
    },
    CrateRows {
        name: "abide-broken",
        may_depend_on: &[
            row("abide-conformance", "the suite that must notice"),
            row("abide-memory", "the form in which bugs see what a store holds"),
            row("abide-model", "what is stored, and the seams"),
            row("abide-provider", "the contract that is broken"),
            row("async-trait", "the contract is an async trait"),
            without_defaults("futures-executor", "a call that is made while time is bent is waited for"),
            without_defaults("futures-util", "validations that wait do so beside each other"),
            row("semver", "executions are pinned to versions"),
            row("tokio", "what the suite runs on"),
        ],
    },
    CrateRows {
        name: "abide-differential",
        may_depend_on: &[
            row("abide-memory", "the model that a store is compared with"),
            row("abide-model", "what is stored, and the seams"),
            row("abide-provider", "the calls that are made to both"),
            without_defaults("futures-executor", "calls are made one after the other, from no async runtime"),
            without_defaults("futures-util", "what listeners were told, without waiting for more"),
            row("semver", "executions are pinned to versions"),
            row("serde_json", "mail of the model is looked into, to answer it"),
        ],
    },
    CrateRows {
        name: "abide-client",
        may_depend_on: &[
            row("abide-host", "the machine's clock and entropy, where no others are given"),
            row("abide-model", "what it sends and reads"),
            row("abide-provider", "the store it talks to"),
            without_defaults("futures-core", "the trait of the stream of changes"),
            without_defaults("futures-util", "waiting for whichever comes first"),
            row("semver", "a start with what is no version is refused"),
            row("serde", "typed inputs and outputs"),
            row("serde_json", "typed values of the key-value store"),
            row("thiserror", "error types without handwritten `Display`"),
        ],
    },
    CrateRows {
        name: "abide-runtime",
        may_depend_on: &[
            row("abide-client", "activities have a client"),
            row("abide-engine", "what decides a turn"),
            row("abide-host", "the machine's clock and entropy, where no others are given"),
            row("abide-model", "the words"),
            row("abide-provider", "the store it runs on"),
            row("abide-sqlite", "`Runtime::start` brings its own store; behind a feature"),
            row("async-trait", "the handler trait users implement is an async trait object"),
            without_defaults(
                "futures-util",
                "catching panics of handlers; waiting for whichever comes first",
            ),
            row("metrics", "the facade users have their exporters for"),
            row("semver", "versions of orchestrations"),
            row("serde", "typed inputs and outputs"),
            row("serde_json", "poison messages and system calls are JSON"),
            row("thiserror", "error types without handwritten `Display`"),
            without_defaults("tokio", "tasks, and timers that cost little"),
            without_defaults("tokio-util", "cancellation tokens are part of the API; task tracking"),
            without_defaults("tracing", "spans and events"),
            without_defaults("tracing-subscriber", "`init_logging`; behind a feature"),
        ],
    },
    CrateRows {
        name: "abide-sim",
        may_depend_on: &[
            row("abide-memory", "the store that virtual time is about"),
            row("abide-model", "the seams it stands behind"),
            row("abide-provider", "the store it makes fail"),
            row("async-trait", "a store is an async trait object"),
            without_defaults("futures-executor", "a store with threads of its own, in virtual time"),
            without_defaults("futures-util", "waiting for whichever comes first"),
            without_defaults("tokio", "its paused clock is the virtual time"),
        ],
    },
    CrateRows {
        name: "abide",
        may_depend_on: &[
            row("abide-client", "re-exported"),
            row("abide-conformance", "re-exported, behind a feature"),
            row("abide-engine", "re-exported"),
            row("abide-memory", "re-exported"),
            row("abide-model", "re-exported"),
            row("abide-postgres", "re-exported, behind a feature"),
            row("abide-provider", "re-exported"),
            row("abide-runtime", "re-exported"),
            row("abide-sim", "re-exported, behind a feature"),
            row("abide-sqlite", "re-exported, behind a feature"),
        ],
    },
    CrateRows {
        name: "coming-from-duroxide",
        may_depend_on: &[
            row("abide", "what it shows"),
            row("semver", "versions of orchestrations"),
            row("serde", "typed inputs and outputs"),
            row("serde_json", "typed inputs and outputs, by hand"),
            row("tokio", "what programs of its kind run on"),
        ],
    },
    CrateRows {
        name: "abide-demo",
        may_depend_on: &[
            row("abide", "what it shows"),
            without_defaults("futures-util", "waiting for several things at once"),
            row("serde", "orders and outcomes are typed"),
            row("terminal_size", "a board must fit, and there is no safe way to ask without it"),
            row("thiserror", "error types without handwritten `Display`"),
            without_defaults("tokio", "what the runtime runs on; Ctrl-C"),
        ],
    },
    CrateRows {
        name: "abide-bench",
        may_depend_on: &[
            row("abide", "what it measures"),
            row("abide-engine", "what it measures"),
            row("abide-model", "what it measures"),
            row("abide-provider", "what it measures"),
            row("abide-sqlite", "what it measures"),
            row("abide-throwaway", "the PostgreSQL server that it measures on"),
            row("futures", "drives the store's lanes on one thread"),
            row("rusqlite", "the file beneath a store, measured without one"),
            row("serde_json", "results are written as JSON"),
            without_defaults("tokio", "what the runtime runs on"),
            row("tokio-postgres", "a database per measurement, and what the server allows without a store"),
        ],
    },
    CrateRows {
        name: "abide-workloads",
        may_depend_on: &[
            row("abide", "what it measures, by a name that the reference can have as well"),
            row("async-trait", "the contract is an async trait, and its calls are counted"),
            row("futures", "callers beside each other"),
            row("serde_json", "results are written as JSON"),
            row("stats_alloc", "allocations are counted, and nothing here may be unsafe"),
            without_defaults("tokio", "what the runtime runs on"),
        ],
    },
    CrateRows {
        name: "reference-workloads",
        may_depend_on: &[
            row("duroxide", "what abide is compared with, outside of the workspace"),
            row("duroxide-pg", "its store on PostgreSQL"),
            row("futures", "as abide-workloads, whose files it builds"),
            row("serde_json", "as abide-workloads"),
            row("stats_alloc", "as abide-workloads"),
            without_defaults("tokio", "as abide-workloads"),
        ],
    },
    CrateRows {
        name: "duroxide-files",
        may_depend_on: &[
            row("duroxide", "what writes the sample files of the import, outside of the workspace"),
            without_defaults("tokio", "what its runtime runs on"),
        ],
    },
    CrateRows {
        name: "abide-chaos",
        may_depend_on: &[
            row("abide", "what it runs, as a user would"),
            row("abide-host", "the time that the journals show"),
            row("metrics", "the runtime tells only its metrics that a commit was refused"),
            row("rusqlite", "the file, once nobody uses it"),
            row("serde", "journals are JSON"),
            row("serde_json", "journals are JSON"),
            row("thiserror", "error types without handwritten `Display`"),
            without_defaults("tokio", "a worker's threads, and the signals that end it"),
        ],
    },
    CrateRows { name: "abide-throwaway", may_depend_on: &[] },
    CrateRows {
        name: "xtask",
        may_depend_on: &[
            row("abide-throwaway", "the PostgreSQL server that the tests share"),
            row("anyhow", "its errors are read by people only"),
            row("proc-macro2", "line numbers of what syn parsed"),
            row("serde_json", "cargo's messages name the test binary it built"),
            row("syn", "rules look at code, not at text that looks like code"),
            row("toml", "manifests and clippy.toml"),
        ],
    },
];

/// Everything that is linked into `abide-engine`, direct or not; what only runs in the compiler is left out.
///
/// That none of these does I/O, reads a clock or draws a random number was looked at when its row was added.
pub(crate) const LINKED_INTO_ENGINE: &[(&str, &str)] = &[
    ("abide-engine", "itself"),
    ("abide-model", "direct; checked like the engine"),
    ("futures-core", "of futures-util: the traits"),
    ("futures-task", "of futures-util: wakers"),
    ("futures-util", "direct"),
    ("itoa", "of serde_json: integers to text"),
    ("memchr", "of serde_json: byte search"),
    ("pin-project-lite", "of futures-util: a macro"),
    ("semver", "direct"),
    ("serde", "direct"),
    ("serde_core", "of serde: the traits"),
    ("serde_json", "direct"),
    ("slab", "direct, and of futures-util"),
    ("thiserror", "direct"),
    ("zmij", "of serde_json: floats to text"),
];

/// Crates whose presence in the engine is wrong whatever the reason, because of what they are.
pub(crate) const NEVER_IN_ENGINE: &[(&str, &str)] = &[
    ("async-executor", "an async runtime"),
    ("async-io", "I/O"),
    ("async-std", "an async runtime"),
    ("chrono", "a clock"),
    ("crossbeam-channel", "threads"),
    ("env_logger", "a logger"),
    ("fastrand", "a random number generator"),
    ("futures-executor", "an async runtime"),
    ("futures-timer", "a clock"),
    ("getrandom", "a random number generator"),
    ("hyper", "I/O"),
    ("jiff", "a clock"),
    ("libsqlite3-sys", "a database"),
    ("log", "a logger"),
    ("metrics", "a recorder of metrics"),
    ("mio", "I/O"),
    ("oorandom", "a random number generator"),
    ("polling", "I/O"),
    ("rand", "a random number generator"),
    ("rand_core", "a random number generator"),
    ("rayon", "threads"),
    ("reqwest", "I/O"),
    ("rusqlite", "a database"),
    ("smol", "an async runtime"),
    ("socket2", "I/O"),
    ("sqlx", "a database"),
    ("sqlx-core", "a database"),
    ("time", "a clock"),
    ("tokio", "an async runtime"),
    ("tokio-postgres", "a database"),
    ("tracing", "a logger"),
    ("tracing-core", "a logger"),
    ("tracing-subscriber", "a logger"),
    ("uuid", "a random number generator"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_reason() {
        let direct =
            DIRECT.iter().flat_map(|rows| rows.may_depend_on).map(|row| (row.dependency, row.reason));
        let linked = LINKED_INTO_ENGINE.iter().chain(NEVER_IN_ENGINE).copied();
        for (name, reason) in direct.chain(linked) {
            assert!(!reason.trim().is_empty(), "`{name}` has no reason");
        }
    }

    #[test]
    fn nothing_is_both_listed_and_banned() {
        for (banned, kind) in NEVER_IN_ENGINE {
            assert!(LINKED_INTO_ENGINE.iter().all(|(name, _)| name != banned), "`{banned}` is {kind}");
        }
    }
}
