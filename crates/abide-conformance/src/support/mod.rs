//! What every area needs: items, turns, and a provider with short calls.

mod items;
mod subject;
mod turns;

pub(crate) use items::*;
pub(crate) use subject::*;
pub(crate) use turns::*;
