//! Code that blocks its threads: what happens to leases, to the node and to its shutdown.
//!
//! `unpolled` has an executor in virtual time that stops polling. `blocking` blocks threads for real, on a clock that runs fast.
//! `overrun` does the same with turns beyond `max_turn_time`. `counted` is about metrics. `processes` has a process whose
//! threads are all blocked, and one beside it.

mod blocking;
mod counted;
mod overrun;
mod processes;
mod support;
mod unpolled;
