//! The shop: what it sells, how an order is processed, and what that does to the world outside.
//!
//! `orchestrations.rs` is what this demo is about: the whole life of an order as one async function. `activities.rs` is the
//! work it asks for. Neither knows that the process is going to be killed.

pub(crate) mod activities;
pub(crate) mod orchestrations;

mod orders;
mod outcome;
mod step;

pub(crate) use orders::{Address, Card, Kind, MOST_ORDERS, Order, Purchase, purchases};
pub(crate) use outcome::{Decision, Outcome, Reason};
pub(crate) use step::Step;
