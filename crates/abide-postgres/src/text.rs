//! Texts of users, without NUL.
//!
//! PostgreSQL keeps any Unicode text, but for the one character U+0000. So two characters are spelt by two: NUL as U+0001 and `0`, U+0001
//! as U+0001 and `1`. Order and prefixes stay what they were, and everything else looks in the database as it does outside. JSON needs no
//! such thing: it spells control characters itself.

use std::borrow::Cow;

const ESCAPE: char = '\u{1}';

/// A text as a column holds it.
pub(crate) fn spell(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte <= 1) {
        return Cow::Borrowed(text);
    }
    let mut spelt = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => spelt.extend([ESCAPE, '0']),
            ESCAPE => spelt.extend([ESCAPE, '1']),
            other => spelt.push(other),
        }
    }
    Cow::Owned(spelt)
}

/// The same, to be kept.
pub(crate) fn spelt(text: &str) -> String {
    spell(text).into_owned()
}

/// A column as a text.
pub(crate) fn unspell(column: String) -> String {
    if !column.contains(ESCAPE) {
        return column;
    }
    let mut text = String::with_capacity(column.len());
    let mut characters = column.chars();
    while let Some(character) = characters.next() {
        match character {
            ESCAPE => match characters.next() {
                Some('0') => text.push('\0'),
                Some('1') | None => text.push(ESCAPE),
                Some(other) => text.extend([ESCAPE, other]), // not by us: left as it is
            },
            other => text.push(other),
        }
    }
    text
}

/// A tag as a column holds it: no tag is the empty text.
pub(crate) fn tag_column(tag: Option<&str>) -> String {
    tag.map_or_else(String::new, |tag| format!("={}", spell(tag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_holds_a_nul() {
        for text in ["", "a", "\0", "\u{1}", "\0\u{1}0\u{1}1", "a\0b", "\u{1}\0", "grüße \u{10ffff}", "\u{2}"]
        {
            let spelt = spelt(text);
            assert!(!spelt.contains('\0'), "{spelt:?}");
            assert_eq!(unspell(spelt), text);
        }
    }

    #[test]
    fn order_and_prefixes_stay() {
        let texts =
            ["", "\0", "\0\0", "\0a", "\u{1}", "\u{1}0", "\u{2}", "0", "1", "a", "a\0", "a\u{1}", "aa"];
        for left in texts {
            for right in texts {
                assert_eq!(spelt(left).cmp(&spelt(right)), left.cmp(right), "{left:?} {right:?}");
                assert_eq!(
                    spelt(left).starts_with(&spelt(right)),
                    left.starts_with(right),
                    "{left:?} {right:?}"
                );
            }
        }
    }
}
