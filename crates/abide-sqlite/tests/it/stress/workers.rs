//! Those who start instances, run their turns, and finish their work.

use abide_provider::{FinishedWork, InstanceLease, Rejection, WorkLease};

use super::call::{Call, Outcome};
use super::crowd::{Entry, Member};
use super::program;

/// How many leases somebody keeps for later, when what they are on may be gone.
const HOLDS: usize = 3;

/// Starts roots, and sends mail to whoever may be there.
pub(crate) fn send(mut member: Member<'_>) -> Vec<Entry> {
    while !member.is_done() {
        let mark = member.mark();
        let item = match member.dice.below(10) {
            0..=4 => program::start(&member.dice.root(), &mark),
            5..=7 => program::signal(&member.dice.name(), &mark),
            _ => program::queued(&member.dice.name(), &mark),
        };
        member.make(Call::Enqueue(item));
    }
    member.entries
}

/// Runs turns. Now and then a lease is kept for a while, or given back, or given back and used all the same.
pub(crate) fn take_turns(mut member: Member<'_>) -> Vec<Entry> {
    let mut held: Vec<InstanceLease> = Vec::new();
    while !member.is_done() {
        let limit = 1 + member.dice.index(3);
        if let Outcome::Instances(leases) = member.make(Call::LeaseInstances { limit }) {
            held.extend(leases);
        }
        while held.len() > HOLDS || (!held.is_empty() && member.dice.percent(60)) {
            let lease = held.swap_remove(member.dice.index(held.len()));
            take_turn(&mut member, lease, &mut held);
        }
    }
    while let Some(lease) = held.pop() {
        take_turn(&mut member, lease, &mut held);
    }
    member.entries
}

fn take_turn(member: &mut Member<'_>, lease: InstanceLease, held: &mut Vec<InstanceLease>) {
    if member.dice.percent(8) {
        member.make(Call::AbandonInstance { token: lease.token.clone() });
        if member.dice.percent(60) {
            held.push(lease);
        }
        return;
    }
    let mark = member.mark();
    let commit = program::turn_of(&mut member.dice, &lease, &mark);
    member.make(Call::Commit(Box::new(commit)));
}

/// Finishes activities: plainly, or with the turn that takes them in.
pub(crate) fn finish_work(mut member: Member<'_>) -> Vec<Entry> {
    let mut held: Vec<WorkLease> = Vec::new();
    while !member.is_done() {
        let limit = 1 + member.dice.index(3);
        if let Outcome::Work(leases) = member.make(Call::LeaseWork { limit }) {
            held.extend(leases);
        }
        while held.len() > HOLDS || (!held.is_empty() && member.dice.percent(60)) {
            let work = held.swap_remove(member.dice.index(held.len()));
            finish(&mut member, work, &mut held);
        }
    }
    while let Some(work) = held.pop() {
        finish(&mut member, work, &mut held);
    }
    member.entries
}

fn finish(member: &mut Member<'_>, work: WorkLease, held: &mut Vec<WorkLease>) {
    if member.dice.percent(10) {
        member.make(Call::AbandonWork { token: work.token.clone() });
        if member.dice.percent(60) {
            held.push(work);
        }
        return;
    }
    if member.dice.percent(40)
        && let Some(fused) = program::fused_turn_of(&work, &member.mark())
        && member.make(Call::Commit(Box::new(fused))).rejection() != Some(Rejection::Busy)
    {
        return;
    }
    let completion =
        if member.dice.percent(90) { program::completion_of(&work, &member.mark()) } else { None };
    member.make(Call::Finish(FinishedWork { token: work.token, completion }));
}
