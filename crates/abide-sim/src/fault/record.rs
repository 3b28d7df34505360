//! What was called since the plan began, what went wrong, and who is held where.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{Operation, RequestKey};

use super::{Call, Fault, FaultPlan};
use crate::Gate;

#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) plan: Arc<FaultPlan>,
    pub(super) calls: Vec<(Operation, u64)>,
    pub(super) injected: Vec<(Call, Fault)>,
    gates: Vec<Post>,
    keys: u64,
}

/// A gate, and whom it holds.
#[derive(Debug)]
struct Post {
    operation: Operation,
    side: Side,
    gate: Gate,
}

/// On which side of its effect a call is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl Record {
    pub(super) fn enter(&mut self, operation: Operation, at: Duration) -> Call {
        let ordinal = self.count(operation) + 1;
        self.calls.push((operation, ordinal));
        let number = u64::try_from(self.calls.len()).unwrap_or(u64::MAX);
        Call { operation, ordinal, number, at }
    }

    pub(super) fn count(&self, operation: Operation) -> u64 {
        let last = self.calls.iter().rev().find(|(called, _)| *called == operation);
        last.map_or(0, |(_, ordinal)| *ordinal)
    }

    /// A key that no request has had.
    pub(super) fn fresh_key(&mut self) -> RequestKey {
        self.keys += 1;
        RequestKey((u128::MAX - u128::from(self.keys)).to_be_bytes())
    }

    pub(super) fn post(&mut self, operation: Operation, side: Side, gate: Gate) {
        self.gates.push(Post { operation, side, gate });
    }

    /// The gates on the way of a call, in the order in which they were put there.
    pub(super) fn gates(&self, operation: Operation, side: Side) -> Vec<Gate> {
        let on_the_way = self.gates.iter().filter(|post| post.operation == operation && post.side == side);
        on_the_way.map(|post| post.gate.clone()).collect()
    }
}
