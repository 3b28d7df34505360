//! What every area needs: items, turns, and a provider with short calls.

mod dropped;
mod items;
mod nodes;
mod subject;
mod turns;

pub(crate) use dropped::*;
pub(crate) use items::*;
pub(crate) use nodes::*;
pub(crate) use subject::*;
pub(crate) use turns::*;
