//! Small facts, one each, by what the code asks for: how it is recorded, answered, dropped and limited.

mod activity;
mod cancel;
mod child;
mod event;
mod inbox;
mod kv;
mod limit;
mod next;
mod payload;
mod prune;
mod trace;
