//! Tests of the runtime, over stores in memory and on disk.
#![allow(missing_docs, reason = "tests are named after what they show")]

mod recorder;

mod instrumented;
mod metrics;
mod options;
mod registry;
mod smoke;
mod support;
