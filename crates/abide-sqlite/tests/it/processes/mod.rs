//! Several processes on one file.
//!
//! [`sharing`]: they work the same queue. [`dying`]: one is killed, stopped, or closed. [`opening`]: all come at once.

mod alone;
mod dying;
mod opening;
mod puppet;
mod sharing;
