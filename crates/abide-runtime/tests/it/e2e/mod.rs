//! Every behaviour, end to end.

mod support;

mod cancelling;
mod composition;
mod dropping;
mod futures;
mod stopping;
