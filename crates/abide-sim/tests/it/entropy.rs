//! Seeded chance.

use abide_model::Entropy as _;
use abide_sim::SeededEntropy;

#[test]
fn the_numbers_are_those_of_split_mix_64() {
    // The published test vector of seed 1234567.
    let entropy = SeededEntropy::new(1_234_567);
    let drawn: Vec<u64> = (0..5).map(|_| entropy.next_u64()).collect();
    let published = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    assert_eq!(drawn, published);
}

#[test]
fn the_largest_seed_is_one_like_others() {
    let entropy = SeededEntropy::new(u64::MAX);
    assert_ne!(entropy.next_u64(), entropy.next_u64());
}

#[test]
fn every_bit_is_drawn() {
    let entropy = SeededEntropy::new(0);
    let (set, unset) = (0..64).fold((0, 0), |(set, unset), _| {
        let number = entropy.next_u64();
        (set | number, unset | !number)
    });
    assert_eq!((set, unset), (u64::MAX, u64::MAX));
}
