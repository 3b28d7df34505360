//! A batch is one call, and goes wrong for all of its elements.

use abide_provider::{ErrorKind, Operation, Provider as _};
use abide_sim::{Fault, FaultPlan, World};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn commits_go_wrong_together() {
    let cases = [
        (Fault::NotApplied, ErrorKind::NotApplied, 0),
        (Fault::UnknownBefore, ErrorKind::Unknown, 0),
        (Fault::Unknown, ErrorKind::Unknown, 2),
    ];
    for (fault, kind, applied) in cases {
        let world = World::new(1);
        let store = world.faulty(FaultPlan::none().at(Operation::CommitTurn, 1, fault));
        let leases = leased(&*store, &["a", "b"]).await;
        let answers = store.commit_turns(leases.iter().map(commit_of).collect()).await;
        let kinds: Vec<_> = answers.into_iter().map(|answer| answer.unwrap_err().kind).collect();
        assert_eq!(kinds, [kind, kind], "{fault:?}");
        let dump = world.memory.dump();
        let created = dump.instances.values().filter(|instance| instance.execution > 0);
        assert_eq!(created.count(), applied, "{fault:?}");
        assert_eq!(store.count(Operation::CommitTurn), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn finished_work_goes_wrong_together() {
    for (fault, applied) in [(Fault::UnknownBefore, 0), (Fault::Unknown, 2)] {
        let world = World::new(1);
        let store = world.faulty(FaultPlan::none().at(Operation::FinishWork, 1, fault));
        let held = [leased_work(&*store, "a").await, leased_work(&*store, "b").await];
        let answers = store.finish_work(vec![finished(&held[0], "a"), finished(&held[1], "b")]).await;
        assert!(answers.iter().all(Result::is_err), "{fault:?}");
        assert_eq!((answers.len(), world.memory.dump().messages.len()), (2, applied), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_batch_is_a_call_too() {
    let store = World::new(1).faulty(FaultPlan::none().at(Operation::CommitTurn, 1, Fault::NotApplied));
    assert_eq!(store.commit_turns(Vec::new()).await, []);
    assert!(store.fired());
}
