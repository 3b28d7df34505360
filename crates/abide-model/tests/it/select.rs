//! The winner of a race.

use abide_model::{Either2, Either3};

#[test]
fn the_winner_of_two_knows_its_position() {
    let first = Either2::<u8, u8>::First(7);
    assert!(first.is_first() && !first.is_second());
    assert_eq!((first.index(), first.into_tuple()), (0, (0, 7)));

    let second = Either2::<u8, u8>::Second(8);
    assert!(second.is_second() && !second.is_first());
    assert_eq!((second.index(), second.into_tuple()), (1, (1, 8)));
}

#[test]
fn the_winner_of_three_knows_its_position() {
    let racers = [Either3::First(7), Either3::Second(8), Either3::Third(9)];
    assert_eq!(racers.each_ref().map(Either3::index), [0, 1, 2]);
    assert_eq!(racers.map(Either3::into_tuple), [(0, 7), (1, 8), (2, 9)]);
}
