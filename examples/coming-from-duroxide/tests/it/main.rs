//! Every program is run, says what it should, and leaves nothing behind.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

use std::process::Command;

/// Runs a program with a folder for temporary files of its own, and returns what it said.
fn run(program: &str) -> String {
    let folder =
        std::env::temp_dir().join(format!("running-{}-{}", program_name(program), std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();

    let output = Command::new(program).env("TMPDIR", &folder).env("TMP", &folder).output().unwrap();

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Refuses a folder that is not empty.
    std::fs::remove_dir(&folder).unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn program_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap()
}

macro_rules! programs {
    ($($name:ident: $($line:literal),+;)*) => {
        $(#[test]
        fn $name() {
            let said = run(env!(concat!("CARGO_BIN_EXE_", stringify!($name))));
            assert_eq!(said.lines().collect::<Vec<_>>(), [$($line),+]);
        })*

        #[test]
        fn none_is_forgotten() {
            let listed = [$(stringify!($name)),*].map(|name| format!("{name}.rs"));
            let mut there: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin"))
                .unwrap()
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            there.sort();
            assert_eq!(there, listed);
        }
    };
}

programs! {
    cancelling:
        "encoding film",
        "stopped: true",
        "parent: the film is bad",
        "child: parent canceled";
    chaining:
        "order-1: two boxes, reserved, paid, shipped",
        "order-2 failed: there is nothing to pay";
    eternal_loop:
        "7 readings, 28 in sum",
        "3 executions",
        "2 of them pruned";
    fan_out_fan_in:
        "630 words, the most on page 20";
    human_approval:
        "a chair approved by Ada",
        "no: a yacht rejected by Ada",
        "a lamp escalated";
    progress:
        "2031 is in: 5 of 5, 5 changes";
    request_response:
        "r-1: done, balance 120",
        "r-2: refused, balance 120",
        "r-3: done, balance 70",
        "the audit saw 70",
        "closed with 70";
    restart:
        "before: users copied 1 time(s)",
        "after: users copied 1 time(s), switched over",
        "7 events, 1 of them a scheduled activity";
    retries:
        "a page, at attempt 3",
        "Err(\"no nowhere at attempt 5\")",
        "Err(\"timeout: activity timed out\")";
    saga:
        "3 bookings for Ada",
        "Bob stays at home: BookCar: no licence",
        "booked: BookFlight/Ada, BookHotel/Ada, BookCar/Ada";
    sessions:
        "what rust, why rust",
        "what tea, why tea",
        "what time, why time",
        "what trains, why trains";
    sub_orchestrations:
        "x86.bin.sig, arm.bin.sig, no vax (no such machine)",
        "announced: 3 results",
        "6 instances in the tree",
        "6 deleted with it";
    tags:
        "prepare a bridge: office, no tag",
        "render a bridge: farm, gpu",
        "print a bridge: cellar, printer";
    versions:
        "hello Ada (1.0.0)",
        "welcome Bob (2.0.0, 36 digits)",
        "hello Cid (1.0.0)",
        "hello Dan (1.0.0)";
}
