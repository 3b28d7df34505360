//! Faults are not failures: whatever the store does wrong for a while, a program's outcome is the same.
//!
//! [`programs`] is what is run, [`digest`] what must not change, [`trial`] one run. The other files each make something
//! else go wrong. Everything runs in virtual time on the store in memory, so a case takes a millisecond or two and all
//! calls can have their turn.

mod campaign;
mod digest;
mod programs;
mod trial;

mod clocks;
mod crashes;
mod every_call;
mod leases;
mod outages;
mod refusals;
mod restarts;
mod torture;
