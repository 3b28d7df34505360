//! What is asked for on the command line.

use crate::support::{Temp, text};

#[test]
fn help_explains_every_option() {
    let temp = Temp::new("help");
    for arguments in [&["--help"][..], &["-h"], &["--orders", "5", "--help"]] {
        let output = temp.run(arguments);
        assert!(output.status.success());
        assert_eq!(text(&output.stderr), "");
        for option in ["--orders", "--no-crash", "--seed", "--keep", "--dir", "--db", "--plain", "--help"] {
            assert!(text(&output.stdout).contains(option), "{option}");
        }
    }
    temp.assert_clean();
}

#[test]
fn a_mistake_is_one_line_and_nothing_happens() {
    let temp = Temp::new("mistakes");
    for (arguments, expected) in [
        (&["--ordres", "5"][..], "there is no option '--ordres'"),
        (&["shop"], "there is no option 'shop'"),
        (&["--orders"], "--orders needs a value"),
        (&["--orders", "201"], "--orders takes a number from 1 to 200, not '201'"),
        (&["--seed", "x"], "--seed takes a number, not 'x'"),
        (&["--db", "mysql://db/shop"], "--db: this is no address of a store"),
        (&["--db", ":memory:"], "--db: a store in memory cannot be shared with a worker process"),
    ] {
        let output = temp.run(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(text(&output.stdout), "");
        let told = text(&output.stderr);
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.contains(expected), "{told}");
    }
    temp.assert_clean();
}
