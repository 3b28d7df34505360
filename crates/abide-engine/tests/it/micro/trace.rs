//! Log lines: how loud they are, and when they are heard.

use abide_engine::{LineLevel, LogLine, OrchestrationContext};

use crate::support::drive::{Shelf, cold, feed, fresh};
use crate::support::mail::{done, start};
use crate::support::{code, history_of, run};

#[test]
fn levels_are_read_in_any_case_and_unknown_ones_are_kept_by_name() {
    let names = ["error", "WARN", "Warning", "info", "dEbUg", "TRACE", "Audit", ""];
    let code = code(move |ctx, _| async move {
        for name in names {
            ctx.trace(name, format!("at {name}"));
        }
        Ok(String::new())
    });
    let levels = [
        LineLevel::Error,
        LineLevel::Warn,
        LineLevel::Warn,
        LineLevel::Info,
        LineLevel::Debug,
        LineLevel::Trace,
        LineLevel::Custom("Audit".to_owned()),
        LineLevel::Custom(String::new()),
    ];
    let line = |(level, name)| LogLine { level, message: format!("at {name}") };
    let expected: Vec<_> = levels.into_iter().zip(names).map(line).collect();
    assert_eq!(feed(&mut fresh(&code), vec![start("in")]).lines, expected);
}

#[test]
fn the_named_methods_have_the_level_of_their_name() {
    let code = code(|ctx, _| async move {
        ctx.trace_error("e");
        ctx.trace_warn("w");
        ctx.trace_info("i");
        ctx.trace_debug("d");
        Ok(String::new())
    });
    let lines = feed(&mut fresh(&code), vec![start("in")]).lines;
    let levels: Vec<_> = lines.into_iter().map(|line| line.level).collect();
    assert_eq!(levels, [LineLevel::Error, LineLevel::Warn, LineLevel::Info, LineLevel::Debug]);
}

#[test]
fn logging_is_enabled_only_while_the_code_does_something_for_the_first_time() {
    let (enabled, contexts) = (Shelf::new(), Shelf::new());
    let code = {
        let (enabled, contexts) = (enabled.clone(), contexts.clone());
        code(move |ctx, _| {
            let (enabled, contexts) = (enabled.clone(), contexts.clone());
            async move {
                contexts.put(ctx.clone());
                for name in ["a", "b"] {
                    enabled.put((name, ctx.is_logging_enabled(), ctx.is_replaying()));
                    ctx.schedule_activity(name, "").await?;
                }
                Ok(String::new())
            }
        })
    };
    let history = history_of(&run(&code, &[vec![start("in")]]));
    assert_eq!(enabled.take_all(), [("a", true, false)]);

    let mut execution = cold(&code, history);
    feed(&mut execution, vec![done(2, "")]);
    assert_eq!(enabled.take_all(), [("a", false, true), ("b", true, false)]);

    feed(&mut execution, vec![done(4, "")]);
    let ctx: OrchestrationContext = contexts.take();
    assert!(!ctx.is_logging_enabled(), "nobody listens after the end");
}
