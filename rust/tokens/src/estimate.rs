//! Counts for models whose tokenizer is not public.

use std::ops::{Add, AddAssign};

use crate::encoding::Encoding;

/// An encoding whose counts are weighed with the characters: an estimate, unless only its tokens count, each as one.
///
/// Other vocabularies differ most in how they cut digits (one by one, or three at once), signs, and the scripts of East
/// Asia; what is left is a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What counts.
    pub encoding: Encoding,
    /// How many tokens of the model come to one of these.
    pub weights: Weights,
}

/// How many tokens of a model something comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// A token of the encoding.
    pub token: f64,
    /// A digit of ASCII, beside its part in a token.
    pub digit: f64,
    /// A sign of ASCII.
    pub sign: f64,
    /// A character from U+3000 on.
    pub wide: f64,
}

/// The characters of a text that have weights of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Characters {
    digits: usize,
    signs: usize,
    wide: usize,
}

impl Weights {
    /// Those of the encoding itself.
    pub const EXACT: Self = Self { token: 1.0, digit: 0.0, sign: 0.0, wide: 0.0 };
}

impl Characters {
    /// Those of UTF-8, also of a part that begins or ends inside a character.
    pub fn of(text: &[u8]) -> Self {
        // Blocks small enough for sums of a byte each, which become vector code.
        text.chunks(255).map(Self::of_some).fold(Self::default(), Self::add)
    }

    fn of_some(text: &[u8]) -> Self {
        let (mut digits, mut signs, mut wide) = (0u8, 0u8, 0u8);
        for b in text {
            digits += u8::from(b.is_ascii_digit());
            signs += u8::from(b.is_ascii_punctuation());
            // The first bytes of characters from U+3000 on.
            wide += u8::from(*b >= 0xE3);
        }
        Self { digits: digits.into(), signs: signs.into(), wide: wide.into() }
    }
}

impl Add for Characters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            digits: self.digits + other.digits,
            signs: self.signs + other.signs,
            wide: self.wide + other.wide,
        }
    }
}

impl AddAssign for Characters {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

// No text has as many tokens as a float cannot hold.
#[expect(clippy::cast_precision_loss, clippy::cast_sign_loss)]
impl Estimate {
    /// Whether the counts are the encoding's own.
    pub fn is_exact(&self) -> bool {
        self.weights == Weights::EXACT
    }

    /// Whether characters have no weights of their own.
    fn is_plain(&self) -> bool {
        self.weights == Weights { token: self.weights.token, ..Weights::EXACT }
    }

    /// The tokens of the model that a text of so many tokens of the encoding has, rounded up.
    pub fn of(&self, tokens: usize, text: &[u8]) -> usize {
        self.sum(tokens, if self.is_plain() { Characters::default() } else { Characters::of(text) })
    }

    /// The same for characters that have been counted.
    pub fn sum(&self, tokens: usize, characters: Characters) -> usize {
        if self.is_exact() || tokens == 0 {
            return tokens;
        }
        let Weights { token, digit, sign, wide } = self.weights;
        let Characters { digits, signs, wide: wides } = characters;
        let sum = tokens as f64 * token + digits as f64 * digit + signs as f64 * sign + wides as f64 * wide;
        (sum.ceil() as usize).max(1)
    }

    /// The most tokens of the encoding whose part of a text comes to `most` tokens of the model. `part` tells of the
    /// longest part of at most so many tokens how many it has, and its characters.
    pub fn within(&self, most: usize, part: impl Fn(usize) -> (usize, Characters)) -> usize {
        if self.is_exact() {
            return most;
        }
        // What fits, what does not, and a guess between that the last outcome makes.
        let (mut fits, mut over) = (0, None);
        let mut next = (most as f64 / self.weights.token) as usize;
        loop {
            let (tokens, characters) =
                if self.is_plain() { (next, Characters::default()) } else { part(next) };
            let sum = self.sum(tokens, characters);
            if sum > most {
                over = Some(next);
            } else if tokens < next || next == usize::MAX {
                // The text has no more.
                return next;
            } else {
                fits = next;
            }
            let guess = (next as f64 * most as f64 / sum.max(1) as f64) as usize;
            next = match over {
                Some(over) if over <= fits + 1 => return fits,
                Some(over) => guess.clamp(fits + 1, over - 1),
                None => guess.max(fits + 1),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn estimates() -> impl Strategy<Value = Estimate> {
        (0.3..3.0f64, -0.1..0.8f64, -0.1..0.8f64, -0.2..0.8f64).prop_map(|(token, digit, sign, wide)| {
            Estimate { encoding: Encoding::O200kBase, weights: Weights { token, digit, sign, wide } }
        })
    }

    proptest! {
        #[test]
        fn characters_are_counted_wherever_the_text_is_cut(text in "[a-z0-9.,;é漢あ😀 ]{0,600}", cut in 0..600usize) {
            let all = Characters::of(text.as_bytes());
            prop_assert_eq!(all.digits, text.chars().filter(char::is_ascii_digit).count());
            prop_assert_eq!(all.signs, text.chars().filter(char::is_ascii_punctuation).count());
            prop_assert_eq!(all.wide, text.chars().filter(|&c| c >= '\u{3000}').count());
            let (left, right) = text.as_bytes().split_at(cut.min(text.len()));
            prop_assert_eq!(Characters::of(left) + Characters::of(right), all);
        }

        #[test]
        fn a_part_within_a_budget_is_the_longest(
            estimate in estimates(), text in "[a-z]{1,9}( [a-z]{1,9}|[0-9]{1,4}|[.,]|漢){0,60}", most in 0..80usize,
        ) {
            let encoding = estimate.encoding;
            let part = |tokens| &text[..encoding.limit(&text, tokens)];
            let told = |tokens| (encoding.count(part(tokens)).min(tokens), Characters::of(part(tokens).as_bytes()));
            let tokens = estimate.within(most, told);
            let fits = |tokens| estimate.sum(told(tokens).0, told(tokens).1) <= most;
            prop_assert!(tokens == 0 || fits(tokens));
            // One more token is more, but where a weight takes something off.
            if estimate.weights.digit >= 0.0 && estimate.weights.sign >= 0.0 && estimate.weights.wide >= 0.0 {
                prop_assert!(part(tokens).len() == text.len() || !fits(tokens + 1));
            }
        }
    }
}
