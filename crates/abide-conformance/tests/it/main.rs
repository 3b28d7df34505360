//! The suite on the reference model, and proof that it can fail.

mod model;
mod on_memory;
