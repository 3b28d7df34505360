//! The process dies at every call of the store, before and after its effect, while it cancels, prunes and continues.
//!
//! At every call, also of those who take over, the store is looked at: nothing is ever half done.

use std::sync::{Arc, Mutex};

use abide_memory::Dump;
use abide_model::EventKind;
use abide_provider::Operation;
use abide_runtime::AutoPruneConfig;
use abide_sim::{Fault, FaultPlan, LocalTasks, simulate};
use futures::FutureExt as _;
use futures::future::{BoxFuture, join};
use tokio::sync::Notify;

use super::past::{Past, require};
use super::{keep, keeps};
use crate::lessons::scene::{Code, LONG, Scene, Way};

/// How many that ended are kept.
const KEEP: u32 = 2;

/// The last execution.
const LAST: u64 = 4;

/// Something to run, and what must hold.
struct Program {
    code: fn() -> Code,
    /// What a client does, until everything has ended.
    script: fn(Scene) -> BoxFuture<'static, ()>,
    /// At any moment.
    always: fn(&Dump, Way) -> Result<(), String>,
    /// At the end.
    finally: fn(&Dump, Way) -> Result<(), String>,
}

/// When the process dies.
#[derive(Debug, Clone, Copy)]
struct Death {
    call: u64,
    at: Fault,
}

/// What was wrong when somebody looked.
type Wrong = Arc<Mutex<Vec<String>>>;

fn at_every_call(program: &'static Program) {
    let mut cases = 0;
    for way in Way::ALL {
        let calls = play(program, way, None);
        for call in 1..=calls {
            for at in [Fault::HangBefore, Fault::HangAfter] {
                let death = Death { call, at };
                println!("{way:?}: {death:?}");
                play(program, way, Some(death));
                cases += 1;
            }
        }
    }
    assert!(cases > 50, "only {cases} cases");
}

/// Runs a program, with a death or without; says how many calls it took.
fn play(program: &'static Program, way: Way, death: Option<Death>) -> u64 {
    simulate(LONG, async {
        let scene = Scene::new(way);
        let wrong = Wrong::default();
        let (doomed, died) = (Arc::new(LocalTasks::new()), Arc::new(Notify::new()));
        let plan = watched(program, &scene, &wrong);
        let plan = match death {
            None => plan,
            Some(death) => dying(plan, death, doomed.clone(), died.clone()),
        };
        scene.faults.set_plan(plan);
        let first = match death {
            None => scene.node((program.code)()).map(drop).boxed_local(),
            Some(_) => scene.mortal_node(doomed.clone(), (program.code)()).map(drop).boxed_local(),
        };
        first.await;
        let takes_over = async {
            if death.is_some() {
                died.notified().await;
                doomed.all_ended().await;
                scene.faults.set_plan(watched(program, &scene, &wrong));
                scene.node((program.code)()).await;
            }
        };
        join((program.script)(scene.clone()), takes_over).await;
        let calls = u64::try_from(scene.faults.calls().len()).unwrap();
        scene.close().await;
        let end = (program.finally)(&scene.world.memory.dump(), way);
        wrong.lock().unwrap().extend(end.err());
        assert_eq!(*wrong.lock().unwrap(), [""; 0]);
        calls
    })
}

/// Nothing goes wrong, but somebody looks at every call. What is wrong is noted: a store that panics is only a fault.
fn watched(program: &'static Program, scene: &Scene, wrong: &Wrong) -> FaultPlan {
    let (memory, way, wrong) = (scene.world.memory.clone(), scene.way, wrong.clone());
    FaultPlan::none().when(move |call| {
        let seen = (program.always)(&memory.dump(), way);
        wrong.lock().unwrap().extend(seen.err().map(|what| format!("at {call:?}: {what}")));
        None
    })
}

fn dying(plan: FaultPlan, death: Death, tasks: Arc<LocalTasks>, died: Arc<Notify>) -> FaultPlan {
    plan.when(move |call| {
        (call.number == death.call).then(|| {
            tasks.kill();
            died.notify_one();
            death.at
        })
    })
}

/// Runs `Eternal` as `i`: four executions, with a step each, so that one lost or done twice would show.
fn runs_eternal(scene: Scene) -> BoxFuture<'static, ()> {
    async move { assert_eq!(scene.run("i", "Eternal", "").await.unwrap(), "++++") }.boxed()
}

/// Both, or neither; a store that can only do one after the other may be late with the second.
fn continued_and_pruned(dump: &Dump, way: Way) -> Result<(), String> {
    let Some(past) = Past::in_memory(dump, "i") else { return Ok(()) };
    past.whole()?;
    let (ids, expected) = (past.ids(), past.expected(u64::from(KEEP)));
    let is_right = match way {
        Way::Fused | Way::Resident | Way::Cold => ids == expected,
        Way::Plain => ids.ends_with(&expected),
    };
    require(is_right, || format!("{ids:?} instead of {expected:?}"))
}

/// Not more than one is left over.
fn all_but_one_pruned(dump: &Dump, way: Way) -> Result<(), String> {
    continued_and_pruned(dump, way)?;
    let past = Past::in_memory(dump, "i").ok_or("it is gone")?;
    let (ids, expected) = (past.ids(), past.expected(u64::from(KEEP)));
    require(ids.len() <= expected.len() + 1 && past.has_ended(), || format!("{ids:?} at the end"))
}

#[test]
fn continue_with_prune() {
    at_every_call(&Program {
        code: || {
            Code::bare().orchestration("Eternal", |ctx, input| async move {
                let said = ctx.schedule_activity("Echo", format!("{input}+")).await?;
                match ctx.execution_id() {
                    LAST => Ok(said),
                    _ => ctx.continue_as_new_pruned(said, keep(KEEP)).await,
                }
            })
        },
        script: runs_eternal,
        always: continued_and_pruned,
        finally: all_but_one_pruned,
    });
}

#[test]
fn continue_by_policy() {
    at_every_call(&Program {
        code: || {
            let code = Code::bare().orchestration("Eternal", |ctx, input| async move {
                let said = ctx.schedule_activity("Echo", format!("{input}+")).await?;
                if ctx.execution_id() == LAST { Ok(said) } else { ctx.continue_as_new(said).await }
            });
            code.options(|options| {
                let default_policy = Some(keeps(KEEP));
                options.auto_prune = AutoPruneConfig { default_policy, ..AutoPruneConfig::default() };
            })
        },
        script: runs_eternal,
        always: continued_and_pruned,
        finally: all_but_one_pruned,
    });
}

fn asks(kind: &EventKind) -> bool {
    matches!(kind, EventKind::HistoryPruneRequested { .. })
}

fn answers(kind: &EventKind) -> bool {
    matches!(kind, EventKind::HistoryPruned { error: None, .. })
}

/// What is recorded as pruned is; and the question and its answer come together.
fn recorded_if_pruned(dump: &Dump, way: Way) -> Result<(), String> {
    let Some(past) = Past::in_memory(dump, "i") else { return Ok(()) };
    past.whole()?;
    let (asked, answered) = (past.has(asks), past.has(answers));
    require(asked == answered, || format!("asked: {asked}, answered: {answered}"))?;
    let alone = past.ids().len() == 1;
    // Where a prune follows its commit, it may not have come yet.
    require(!answered || alone || way == Way::Plain, || format!("{:?} after a prune", past.ids()))
}

fn only_the_last_is_left(dump: &Dump, way: Way) -> Result<(), String> {
    recorded_if_pruned(dump, way)?;
    let past = Past::in_memory(dump, "i").ok_or("it is gone")?;
    let is_right = past.ids() == [LAST] || (way == Way::Plain && past.ids() == [LAST - 1, LAST]);
    require(is_right && past.has(answers), || format!("{:?} at the end", past.ids()))
}

#[test]
fn prune_then_continue() {
    at_every_call(&Program {
        code: || {
            Code::bare().orchestration("Eternal", |ctx, input| async move {
                let said = ctx.schedule_activity("Echo", format!("{input}+")).await?;
                ctx.prune_history(keep(1)).await?;
                if ctx.execution_id() == LAST { Ok(said) } else { ctx.continue_as_new(said).await }
            })
        },
        script: runs_eternal,
        always: recorded_if_pruned,
        finally: only_the_last_is_left,
    });
}

#[test]
fn prune_before_anything_else() {
    at_every_call(&Program {
        code: || {
            Code::bare().orchestration("Eternal", |ctx, input| async move {
                ctx.prune_history(keep(1)).await?;
                let said = ctx.schedule_activity("Echo", format!("{input}+")).await?;
                if ctx.execution_id() == LAST { Ok(said) } else { ctx.continue_as_new(said).await }
            })
        },
        script: runs_eternal,
        always: recorded_if_pruned,
        finally: only_the_last_is_left,
    });
}

/// The one moment in which something is pruned and nothing says so. It is asked for again, and there is nothing left to do.
#[test]
fn between_the_prune_and_its_record() {
    for way in Way::ALL {
        simulate(LONG, async {
            let scene = Scene::new(way);
            let code = || {
                Code::bare().orchestration("Main", |ctx, input| async move {
                    ctx.schedule_activity("Echo", "").await?;
                    if ctx.execution_id() == 1 {
                        return ctx.continue_as_new(input).await;
                    }
                    let pruned = ctx.prune_history(keep(1)).await?;
                    Ok(format!("{} deleted", pruned.executions_deleted))
                })
            };
            let (doomed, died) = (Arc::new(LocalTasks::new()), Arc::new(Notify::new()));
            let (tasks, tell) = (doomed.clone(), died.clone());
            scene.faults.set_plan(FaultPlan::none().when(move |call| {
                let it = call.operation == Operation::PruneExecutions;
                it.then(|| {
                    tasks.kill();
                    tell.notify_one();
                    Fault::HangAfter
                })
            }));
            scene.mortal_node(doomed.clone(), code()).await;
            scene.start("i", "Main", "").await;
            died.notified().await;
            doomed.all_ended().await;
            let past = Past::in_memory(&scene.world.memory.dump(), "i").unwrap();
            past.whole().unwrap();
            assert!(past.ids() == [2] && !past.has(asks) && !past.has(answers), "{past:#?}");
            scene.faults.set_plan(FaultPlan::none());
            scene.node(code()).await;
            assert_eq!(scene.end_of("i").await.unwrap(), "0 deleted");
            scene.close().await;
        });
    }
}

/// An activity, a child and a timer are open when `i` is cancelled.
fn cancels(scene: Scene) -> BoxFuture<'static, ()> {
    async move {
        scene.start("i", "Family", "").await;
        let is_open = |dump: &Dump| {
            !dump.work.is_empty() && dump.instances.get("child").is_some_and(|it| it.is_instance)
        };
        scene.until(is_open).await;
        scene.client().cancel_instance("i", "enough").await.unwrap();
        let end = scene.end_of("i").await.unwrap_err();
        assert!(end.starts_with("canceled: "), "{end}");
        let end = scene.end_of("child").await.unwrap_err();
        assert!(end.starts_with("canceled: "), "{end}");
    }
    .boxed()
}

/// Cancelled with everything that was open, or not at all.
fn cancelled_as_a_whole(dump: &Dump, way: Way) -> Result<(), String> {
    let Some(past) = Past::in_memory(dump, "i") else { return Ok(()) };
    past.whole()?;
    let work = dump.work.values().filter(|work| work.instance == "i").count();
    let timers = dump.messages.values().filter(|mail| mail.mailbox == "i" && mail.class == "Timer").count();
    let told =
        dump.messages.values().any(|mail| mail.mailbox == "child" && mail.json.contains("CancelInstance"));
    let child = Past::in_memory(dump, "child");
    let child_ended = child.is_some_and(|child| child.has_ended());
    if !past.has_ended() {
        return require(work == 1 && timers == 1 && !told && !child_ended, || {
            format!("it runs: {work} activities, {timers} timers, child told: {told}, ended: {child_ended}")
        });
    }
    let recorded = past.has(|kind| matches!(kind, EventKind::ActivityCancelRequested { .. }))
        && past.has(|kind| matches!(kind, EventKind::SubOrchestrationCancelRequested { .. }));
    // Timers that nobody waits for stay until their time where a store cannot remove them.
    let gone = work == 0 && (timers == 0 || way == Way::Plain);
    require(recorded && gone && (told || child_ended), || {
        format!(
            "it ended: {work} activities, {timers} timers, recorded: {recorded}, told: {told}, {child_ended}"
        )
    })
}

#[test]
fn cancel() {
    at_every_call(&Program {
        code: || {
            Code::new().orchestration("Family", |ctx, _| async move {
                let _child = ctx.schedule_sub_orchestration_with_id("Wait", "child", "");
                let _timer = ctx.schedule_timer(LONG / 2);
                ctx.schedule_activity("Sleep", "36000000").await
            })
        },
        script: cancels,
        always: cancelled_as_a_whole,
        finally: |dump, way| {
            cancelled_as_a_whole(dump, way)?;
            let child = Past::in_memory(dump, "child").ok_or("the child is gone")?;
            require(child.has_ended() && dump.work.is_empty(), || "something is left".to_owned())
        },
    });
}
