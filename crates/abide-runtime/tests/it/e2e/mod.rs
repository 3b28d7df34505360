//! Every behaviour, end to end.

mod support;

mod cancelling;
mod children;
mod collisions;
mod composition;
mod continuing;
mod detached;
mod dropping;
mod futures;
mod pins;
mod poison;
mod stopping;
mod versions;
