//! The suite on the reference model, and proof that it can fail.

mod defaults;
mod guide;
mod model;
mod names;
mod on_memory;
