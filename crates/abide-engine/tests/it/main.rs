//! The engine's tests: data in, text out, no time passes.

mod support;

mod coverage;
mod mutants;
mod program;
mod properties;
mod smoke;
