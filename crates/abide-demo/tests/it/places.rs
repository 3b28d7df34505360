//! Where the files are, and what becomes of them.

use crate::support::{Running, Temp, text};

#[test]
fn an_interrupted_day_goes_on_where_it_stopped() {
    let temp = Temp::new("resume");
    let folder = temp.path().join("shop");
    let folder = folder.to_str().unwrap();

    let mut first = Running::start(&temp, &["--dir", folder, "--orders", "5", "--no-crash"]);
    first.wait_for("cooling-off time");
    first.signal_group("INT");
    let (status, said, complaints) = first.finish();
    assert_eq!((status.code(), complaints.as_str()), (Some(130), ""));
    assert!(said.contains(&format!("The files are in {folder}")), "{said}");

    let second = temp.run(&["--dir", folder]);
    let said = text(&second.stdout);
    assert!(second.status.success(), "{said}\n{}", text(&second.stderr));
    assert!(said.contains("It goes on where it stopped"), "{said}");
    assert!(said.contains("Every order ended exactly right: 4 shipped, 1 cancelled and undone."), "{said}");

    let third = temp.run(&["--dir", folder, "--orders", "6"]);
    assert_eq!(third.status.code(), Some(2));
    assert!(text(&third.stderr).contains("has 5 orders and seed 1"), "{}", text(&third.stderr));
    assert_eq!(temp.processes(), [0_u32; 0]);
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let temp = Temp::new("foreign");
    let thesis = temp.path().join("thesis.txt");
    std::fs::write(&thesis, "do not touch").unwrap();
    let output = temp.run(&["--dir", temp.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    assert!(text(&output.stderr).contains("is not empty and not from this demo"));
    assert_eq!(std::fs::read_to_string(&thesis).unwrap(), "do not touch");
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn kept_files_stay_and_are_named() {
    let temp = Temp::new("keep");
    let output = temp.run(&["--keep", "--orders", "1", "--no-crash"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", text(&output.stderr));
    let folder = said.lines().find_map(|line| line.strip_prefix("The files are in ")).unwrap();
    let names = |entry: Result<std::fs::DirEntry, _>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(names).collect();
    names.sort();
    assert_eq!(names, ["abide-demo.txt", "effects.log", "shop.db", "worker.log"]);
    assert_eq!(std::fs::read_to_string(format!("{folder}/worker.log")).unwrap(), "");
}

/// As when somebody builds while the demo is running.
#[cfg(target_os = "linux")]
#[test]
fn the_program_may_be_replaced_while_it_runs() {
    let temp = Temp::new("replaced");
    // A link, not a copy: a file that is still open for writing somewhere cannot be run.
    let program = temp.path().join("demo");
    std::fs::hard_link(crate::support::DEMO, &program).unwrap();
    let mut demo = Running::start_program(&program, &temp, &["--orders", "1"]);
    demo.wait_for("A worker was started");
    std::fs::remove_file(&program).unwrap();
    let (status, said, complaints) = demo.finish();
    assert!(status.success(), "{said}\n{complaints}");
    assert!(said.contains("Another worker was started"), "{said}");
    temp.assert_clean();
}
