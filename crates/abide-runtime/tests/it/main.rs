//! Tests of the runtime, over stores in memory and on disk.

mod options;
mod registry;
mod smoke;
mod support;
