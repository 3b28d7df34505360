//! What went wrong in other durable engines and in the reference, as cases that must go right here.
//!
//! Each test opens with its story. Left out are the cases that belong to the runtime, the client or a store.

mod determinism;
mod endings;
mod families;
mod memory;
mod releases;
