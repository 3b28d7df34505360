//! The engine's tests: data in, text out, no time passes.

mod support;

mod smoke;
