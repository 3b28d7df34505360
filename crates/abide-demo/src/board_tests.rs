//! The board on terminals of different sizes.

use expect_test::{Expect, expect};

use super::*;
use crate::shop::{Reason, purchases};

fn at(tenths: u64) -> Duration {
    Duration::from_millis(tenths * 100)
}

fn busy_board() -> Board {
    let mut board = Board::new(&purchases(6, 1));
    board.worker = WorkerState::Running { process: 4711 };
    board.happenings = 17;
    let states = [
        State::Ended(Outcome::Shipped { parcel: "parcel-01".to_owned() }),
        State::At(Step::Charging),
        State::At(Step::Undoing),
        State::Ended(Outcome::Cancelled { reason: Reason::CardDeclined }),
        State::Placed,
    ];
    for (index, state) in states.into_iter().enumerate() {
        assert!(board.update(index, State::Placed, at(5)));
        assert_eq!(board.update(index, state.clone(), at(30)), state != State::Placed);
    }
    board
}

fn check(columns: usize, rows: usize, expected: &Expect) {
    let size = Size { columns, rows };
    let lines = busy_board().lines(size, at(42));
    assert!(lines.len() < rows);
    assert!(lines.iter().all(|line| line.width() <= columns));
    let text: Vec<String> = lines.iter().map(Line::plain).collect();
    expected.assert_eq(&text.join("\n"));
}

#[test]
fn an_ordinary_terminal() {
    check(
        80,
        24,
        &expect![[r#"

            4.2 s  2 of 6 orders done   worker 4711 at work   3 under way, 17 effects so far
            ────────────────────────────────────────────────────────────────────────────────
            order-01  needs approval  ████████████  shipped as parcel-01            2.5 s
            order-02  flaky payment   ███░░░░░░░░░  charging the card               3.7 s
            order-03  plain           ████████░░░░  undoing what was done           3.7 s
            order-04  bad card        ████████████  cancelled: card declined        2.5 s
            order-05  plain           ░░░░░░░░░░░░  placed                          3.7 s
            order-06  not approved    ░░░░░░░░░░░░
            ────────────────────────────────────────────────────────────────────────────────"#]],
    );
}

#[test]
fn a_narrow_one() {
    check(
        54,
        24,
        &expect![[r#"

            4.2 s  2 of 6 orders done   worker 4711 at work   3 u…
            ──────────────────────────────────────────────────────
            order-01  shipped as parcel-01            2.5 s
            order-02  charging the card               3.7 s
            order-03  undoing what was done           3.7 s
            order-04  cancelled: card declined        2.5 s
            order-05  placed                          3.7 s
            order-06
            ──────────────────────────────────────────────────────"#]],
    );
    check(
        40,
        24,
        &expect![[r#"

            4.2 s  2 of 6 orders done   worker 4711…
            ────────────────────────────────────────
            order-01  shipped as parcel-01
            order-02  charging the card
            order-03  undoing what was done
            order-04  cancelled: card declined
            order-05  placed
            order-06
            ────────────────────────────────────────"#]],
    );
}

#[test]
fn a_low_one_shows_what_is_under_way() {
    check(
        80,
        7,
        &expect![[r#"
            4.2 s  2 of 6 orders done   worker 4711 at work   3 under way, 17 effects so far
            ────────────────────────────────────────────────────────────────────────────────
            order-02  flaky payment   ███░░░░░░░░░  charging the card               3.7 s
            order-03  plain           ████████░░░░  undoing what was done           3.7 s
            … and 4 more, 1 of them not placed yet
            ────────────────────────────────────────────────────────────────────────────────"#]],
    );
}

#[test]
fn hardly_any() {
    check(20, 3, &expect!["4.2 s  2 of 6 order…"]);
    check(1, 2, &expect!["…"]);
    assert_eq!(busy_board().lines(Size { columns: 80, rows: 1 }, at(42)), []);
}

#[test]
fn a_line_of_news() {
    expect!["  3.0 s  order-04   cancelled: card declined"].assert_eq(&busy_board().news(3, at(30)).plain());
}
