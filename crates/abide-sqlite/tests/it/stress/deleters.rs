//! Those who look, delete and prune, in every way there is. What one of them names, no other names.

use std::time::Duration;

use abide_model::{Clock as _, PruneOptions};
use abide_provider::{Force, InstanceFilter, OrphanFilter, Retention};

use super::call::{Call, Look, Outcome};
use super::crowd::{DELETERS, Entry, Member, ROOTS, names_below};

pub(crate) fn delete(mut member: Member<'_>, number: u64) -> Vec<Entry> {
    while !member.is_done() {
        let root = own_root(&mut member, number);
        let call = match member.dice.below(30) {
            0..=3 => Call::Delete { instance: root, force: force(&mut member, 20) },
            4 => Call::Delete { instance: member.dice.below_of(root), force: force(&mut member, 50) },
            5..=9 => tree(&mut member, &root),
            10 => {
                let ids = vec![member.dice.below_of(root)];
                Call::DeleteSet { ids, force: force(&mut member, 50) }
            }
            11..=12 => Call::DeleteBulk(filter(&mut member, number)),
            13..=14 => retention(&mut member),
            15..=17 => orphans(&mut member),
            18..=19 => Call::Prune { instance: member.dice.below_of(root), options: options(&mut member) },
            20 => Call::PruneBulk { filter: filter(&mut member, number), options: options(&mut member) },
            21..=22 => Call::Look(Look::Tree { instance: root }),
            23..=24 => Call::Look(Look::Info { instance: member.dice.name() }),
            25 => Call::Look(Look::List),
            26..=27 => Call::Look(Look::History { instance: member.dice.name() }),
            _ => Call::Look(Look::Values { instance: member.dice.name() }),
        };
        member.make(call);
    }
    member.entries
}

/// Deletes a tree by name: all that can be in it, or what was seen, or not quite all.
fn tree(member: &mut Member<'_>, root: &str) -> Call {
    let mut ids = names_below(root);
    let force = force(member, 25);
    if member.dice.percent(50) {
        // As it stands now, which may be over before it is used.
        let seen = member.make(Call::Look(Look::Tree { instance: root.to_owned() }));
        if let Outcome::Seen(text) = seen {
            ids.retain(|id| text.contains(&format!("\"{id}\"")));
        }
    } else if member.dice.percent(40) {
        // One of the children, which may be there.
        ids.remove(1 + member.dice.index(2));
    }
    if member.dice.percent(10) {
        ids.extend(ids.first().cloned());
    }
    Call::DeleteSet { ids, force }
}

fn force(member: &mut Member<'_>, chance: u64) -> Force {
    member.dice.percent(chance).into()
}

fn own_root(member: &mut Member<'_>, number: u64) -> String {
    let own = member.dice.below(ROOTS / DELETERS);
    format!("r{}", own * DELETERS + number)
}

fn filter(member: &mut Member<'_>, number: u64) -> InstanceFilter {
    let own: Vec<String> = (0..ROOTS / DELETERS).map(|own| format!("r{}", own * DELETERS + number)).collect();
    let now = member.clock.wall().as_millis();
    InstanceFilter {
        instance_ids: member.dice.percent(40).then_some(own),
        completed_before: member.dice.percent(40).then(|| now - member.dice.below(30)),
        limit: member.dice.percent(60).then(|| 1 + u32::try_from(member.dice.below(3)).unwrap()),
    }
}

fn retention(member: &mut Member<'_>) -> Call {
    let keep_for = Duration::from_millis(member.dice.below(30));
    let limit = 1 + u32::try_from(member.dice.below(3)).unwrap();
    Call::Retention(Retention { keep_for, limit, host_time: member.clock.wall() })
}

fn orphans(member: &mut Member<'_>) -> Call {
    let now = member.clock.wall().as_millis();
    Call::Orphans(OrphanFilter {
        parent_completed_before: member.dice.percent(30).then(|| now - member.dice.below(30)),
        child_status: if member.dice.percent(30) { vec!["Completed".to_owned()] } else { Vec::new() },
        limit: member.dice.percent(50).then(|| 1 + u32::try_from(member.dice.below(3)).unwrap()),
    })
}

fn options(member: &mut Member<'_>) -> PruneOptions {
    let now = member.clock.wall().as_millis();
    PruneOptions {
        keep_last: member.dice.percent(60).then(|| 1 + u32::try_from(member.dice.below(2)).unwrap()),
        completed_before: member.dice.percent(20).then(|| now - member.dice.below(30)),
    }
}
