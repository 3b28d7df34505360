//! The orders in a store that was chosen: a file, or a server.

use abide::prelude::*;

use crate::database::Database;
use crate::support::{Running, Temp, text};

#[test]
fn a_day_on_postgresql_with_a_crash_ends_right_and_so_does_the_next() {
    let Some(database) = Database::new() else { return };
    let temp = Temp::new("postgres");
    // Another seed is another day: nothing of the first may be left.
    for seed in ["1", "2"] {
        let output = temp.run(&["--db", database.url(), "--orders", "4", "--seed", seed]);
        let said = text(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "");
        for expected in [
            ": 4 orders, PostgreSQL at ",
            "(schema abide_demo), a worker process.",
            "Another worker was started",
            "Every order ended exactly right: 3 shipped, 1 cancelled and undone.",
        ] {
            assert!(said.contains(expected), "no '{expected}' in:\n{said}");
        }
        assert!(!said.contains("postgres://"), "{said}");
        temp.assert_clean();
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_day_on_postgresql_goes_on_where_it_stopped() {
    let Some(database) = Database::new() else { return };
    let temp = Temp::new("postgres-int");
    let folder = temp.path().join("shop");
    let arguments = ["--orders", "3", "--db", database.url(), "--dir", folder.to_str().unwrap()];
    let mut demo = Running::start(&temp, &arguments);
    demo.wait_for("charging the card");
    demo.signal_group("INT");
    let (status, said, complaints) = demo.finish();
    assert_eq!((status.code(), complaints.as_str()), (Some(130), ""), "{said}");
    assert_eq!(temp.processes(), [0_u32; 0]);

    let elsewhere = temp.run(&["--dir", folder.to_str().unwrap()]);
    assert_eq!(elsewhere.status.code(), Some(2));
    let told = text(&elsewhere.stderr);
    assert!(
        told.contains("has its orders in PostgreSQL at ") && told.contains("say the same with --db"),
        "{told}"
    );

    let next = temp.run(&arguments);
    let said = text(&next.stdout);
    assert!(next.status.success(), "{said}\n{}", text(&next.stderr));
    assert!(said.contains("It goes on where it stopped"), "{said}");
    assert!(said.contains("Every order ended exactly right"), "{said}");
}

#[test]
fn a_file_that_was_chosen_stays_and_serves_again() {
    let temp = Temp::new("file");
    for _ in 0..2 {
        let output = temp.run(&["--db", "./orders.db", "--orders", "1", "--no-crash"]);
        let said = text(&output.stdout);
        assert!(output.status.success(), "{said}\n{}", text(&output.stderr));
        assert!(said.contains("The orders are in SQLite at ./orders.db, until the next run."), "{said}");
        let left = std::fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["orders.db"]);
    }
}

#[test]
fn orchestrations_of_somebody_else_are_left_alone() {
    let temp = Temp::new("somebody");
    let file = temp.path().join("work.db").to_str().unwrap().to_owned();
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // The name is that of an order, the orchestration is not.
    executor.block_on(async {
        let store = abide::providers::open(&file).await.unwrap();
        let ours = |_: OrchestrationContext, _: String| async { Ok(String::new()) };
        let orchestrations = OrchestrationRegistry::builder().register("Theirs", ours).build();
        let runtime = Runtime::builder().with_provider(store.clone()).with_orchestrations(orchestrations);
        let runtime = runtime.build().await.unwrap();
        let client = Client::new(store);
        client.start_orchestration("order-01", "Theirs", "").await.unwrap();
        client.wait_for_orchestration("order-01", std::time::Duration::from_secs(30)).await.unwrap();
        runtime.shutdown(None).await;
    });

    let output = temp.run(&["--db", &file]);

    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_eq!((text(&output.stdout).as_str(), told.lines().count()), ("", 1), "{told}");
    assert!(told.contains("orchestrations that are not of this demo"), "{told}");
    executor.block_on(async {
        let client = Client::new(abide::providers::open(&file).await.unwrap());
        let status = client.get_orchestration_status("order-01").await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
    });
}

#[test]
fn a_server_that_is_not_there_is_one_sentence() {
    let temp = Temp::new("nobody");
    // A port that was free a moment ago, and is not one that servers are given.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://ada:secret@127.0.0.1:{port}/shop");
    let output = temp.run(&["--db", &url]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_eq!((text(&output.stdout).as_str(), told.lines().count()), ("", 1), "{told}");
    assert!(told.contains(&format!("cannot connect to PostgreSQL at 127.0.0.1:{port}/shop")), "{told}");
    assert!(!told.contains("secret"), "{told}");
    temp.assert_clean();
}

/// It accepts, and says nothing.
#[cfg(unix)]
#[test]
fn a_server_that_does_not_answer_can_be_interrupted() {
    let temp = Temp::new("silent");
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://ada:secret@{}/shop", server.local_addr().unwrap());
    let demo = Running::start(&temp, &["--db", &url]);
    let _connection = server.accept().unwrap();
    demo.signal_group("INT");
    let (status, said, complaints) = demo.finish();
    assert_eq!((status.code(), complaints.as_str()), (Some(130), ""), "{said}");
    temp.assert_clean();
}
