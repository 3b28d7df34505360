//! Which situations the sequences have met.

use abide_memory::Dump;

use super::op::Op;
use super::pair::Done;
use super::world::World;

/// Situations, and how often they were met.
#[derive(Debug, Default)]
pub(crate) struct Coverage;

impl Coverage {
    pub(crate) fn observe(&mut self, _op: &Op, _before: &Dump, _world: &World, _done: &Done) {}
}
