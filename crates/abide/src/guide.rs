//! The guide, the README and the page for users of duroxide, as tests: each of their programs is compiled and run.
//!
//! Deliberately absent: these pages in the documentation of the crate. They link to each other as files, and are no part of
//! the package.

#[doc = include_str!("../../../README.md")]
struct Readme;

#[doc = include_str!("../../../docs/coming-from-duroxide.md")]
struct ComingFromDuroxide;

#[doc = include_str!("../../../docs/guide/index.md")]
struct Index;

#[doc = include_str!("../../../docs/guide/concepts.md")]
struct Concepts;

#[doc = include_str!("../../../docs/guide/determinism.md")]
struct Determinism;

#[doc = include_str!("../../../docs/guide/errors-and-retries.md")]
struct ErrorsAndRetries;

#[doc = include_str!("../../../docs/guide/idempotency.md")]
struct Idempotency;

#[doc = include_str!("../../../docs/guide/events-and-queues.md")]
struct EventsAndQueues;

#[doc = include_str!("../../../docs/guide/cancellation.md")]
struct Cancellation;

#[doc = include_str!("../../../docs/guide/versions-and-upgrades.md")]
struct VersionsAndUpgrades;

#[doc = include_str!("../../../docs/guide/testing.md")]
struct Testing;

#[doc = include_str!("../../../docs/guide/operating.md")]
struct Operating;

#[doc = include_str!("../../../docs/guide/stuck.md")]
struct Stuck;

#[doc = include_str!("../../../docs/guide/deploys.md")]
struct Deploys;

#[doc = include_str!("../../../docs/guide/services.md")]
struct Services;

#[doc = include_str!("../../../docs/guide/postgresql.md")]
struct Postgresql;
