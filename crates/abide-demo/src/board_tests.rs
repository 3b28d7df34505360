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
    check(80, 24, &expect![[r#""#]]);
}

#[test]
fn a_narrow_one() {
    check(54, 24, &expect![[r#""#]]);
    check(40, 24, &expect![[r#""#]]);
}

#[test]
fn a_low_one_shows_what_is_under_way() {
    check(80, 7, &expect![[r#""#]]);
}

#[test]
fn hardly_any() {
    check(20, 3, &expect![[r#""#]]);
    check(1, 2, &expect![[r#""#]]);
    assert_eq!(busy_board().lines(Size { columns: 80, rows: 1 }, at(42)), []);
}

#[test]
fn a_line_of_news() {
    expect![[r#""#]].assert_eq(&busy_board().news(3, at(30)).plain());
}
