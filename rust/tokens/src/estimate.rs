//! Counts for models whose tokenizer is not public.

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
    /// A sign of ASCII that is not the one before it: vocabularies have tokens for rows of the same.
    pub sign: f64,
    /// A character from U+3000 on, but U+FFFD: it stands for what is none.
    pub wide: f64,
}

/// The characters of a text that have weights of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Characters {
    digits: usize,
    signs: usize,
    wide: usize,
    /// The last byte.
    last: u8,
}

impl Weights {
    /// Those of the encoding itself.
    pub const EXACT: Self = Self { token: 1.0, digit: 0.0, sign: 0.0, wide: 0.0 };
}

impl Characters {
    /// Those of a text.
    pub fn of(text: &str) -> Self {
        let mut characters = Self::default();
        characters.add(text);
        characters
    }

    /// The same with more text behind it.
    pub fn add(&mut self, text: &str) {
        // Blocks small enough for sums of a byte each, which become vector code.
        for block in text.as_bytes().chunks(255) {
            let (mut digits, mut signs, mut wide) = (0u8, 0u8, 0u8);
            for b in block {
                digits += u8::from(b.is_ascii_digit());
                // The first bytes of characters from U+3000 on.
                wide += u8::from(*b >= 0xE3);
            }
            let sign = |b: u8, before: u8| u8::from(b.is_ascii_punctuation() && b != before);
            for (b, before) in block[1..].iter().zip(block) {
                signs += sign(*b, *before);
            }
            signs += sign(block[0], self.last);
            self.digits += usize::from(digits);
            self.signs += usize::from(signs);
            self.wide += usize::from(wide);
            self.last = block[block.len() - 1];
        }
        self.wide -= text.matches(char::REPLACEMENT_CHARACTER).count();
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
    pub fn of(&self, tokens: usize, text: &str) -> usize {
        self.sum(tokens, if self.is_plain() { Characters::default() } else { Characters::of(text) })
    }

    /// The same for characters that have been counted.
    pub fn sum(&self, tokens: usize, characters: Characters) -> usize {
        if self.is_exact() || tokens == 0 {
            return tokens;
        }
        let Weights { token, digit, sign, wide } = self.weights;
        let Characters { digits, signs, wide: wides, .. } = characters;
        let alone = tokens as f64 * token;
        let sum = alone + digits as f64 * digit + signs as f64 * sign + wides as f64 * wide;
        // What is taken off is an average: of tokens with many such characters it would leave nothing.
        sum.max(alone / 2.0).ceil() as usize
    }

    /// The most tokens of the encoding whose part of a text comes to `most` tokens of the model. `part` tells of the
    /// longest part of at most so many tokens how many it has, and its characters.
    pub fn within(&self, most: usize, part: impl Fn(usize) -> (usize, Characters)) -> usize {
        if self.is_exact() {
            return most;
        }
        // What fits, what does not, and a guess between that the last outcome makes. A text whose tokens weigh less and
        // less would move it by one at a time: then steps double, and what is left is halved.
        let (mut fits, mut over) = (0, None);
        let (mut step, mut left) = (1, usize::MAX);
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
                Some(over) => {
                    let before = std::mem::replace(&mut left, over - fits);
                    let guess = if left > before / 2 { usize::midpoint(fits, over) } else { guess };
                    guess.clamp(fits + 1, over - 1)
                }
                None => {
                    step *= 2;
                    guess.max(fits.saturating_add(step))
                }
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
        fn characters_are_counted_wherever_the_text_is_cut(text in "[a-z0-9.,;é漢あ😀\u{fffd} ]{0,600}|[-=.]{0,600}", cut in 0..600usize) {
            let all = Characters::of(&text);
            let sign = |(at, c): &(usize, char)| c.is_ascii_punctuation() && !text[..*at].ends_with(*c);
            prop_assert_eq!(all.digits, text.chars().filter(char::is_ascii_digit).count());
            prop_assert_eq!(all.signs, text.char_indices().filter(sign).count());
            prop_assert_eq!(all.wide, text.chars().filter(|&c| c >= '\u{3000}' && c != '\u{fffd}').count());
            let cut = (0..=cut.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).expect("0 is one");
            let mut parts = Characters::of(&text[..cut]);
            parts.add(&text[cut..]);
            prop_assert_eq!(parts, all);
        }

        #[test]
        fn a_part_within_a_budget_is_the_longest(
            estimate in estimates(), text in "[a-z]{1,9}( [a-z]{1,9}|[0-9]{1,4}|[.,]|漢){0,60}", most in 0..80usize,
        ) {
            let encoding = estimate.encoding;
            let part = |tokens| &text[..encoding.limit(&text, tokens)];
            let told = |tokens| (encoding.count(part(tokens)).min(tokens), Characters::of(part(tokens)));
            let tokens = estimate.within(most, told);
            let fits = |tokens| estimate.sum(told(tokens).0, told(tokens).1) <= most;
            prop_assert!(tokens == 0 || fits(tokens));
            // One more token is more, but where a weight takes something off.
            if estimate.weights.digit >= 0.0 && estimate.weights.sign >= 0.0 && estimate.weights.wide >= 0.0 {
                prop_assert!(part(tokens).len() == text.len() || !fits(tokens + 1));
            }
        }
    }

    /// As many looks as it takes to halve what is left, whatever the weights of the first tokens and the others.
    #[test]
    fn few_looks_find_the_place() {
        let weights = Weights { token: 1.0, digit: 0.9, sign: 0.0, wide: -0.3 };
        let estimate = Estimate { encoding: Encoding::O200kBase, weights };
        let all = 1_000_000;
        for heavy in [0, 1_000, 20_000, 999_000] {
            let told = |tokens: usize| {
                let (digits, wide) = (tokens.min(heavy) * 3, tokens.min(all).saturating_sub(heavy) * 9);
                (tokens.min(all), Characters { digits, wide, ..Characters::default() })
            };
            for most in (0..3_000_000).step_by(9_973) {
                let looks = std::cell::Cell::new(0);
                let tokens = estimate.within(most, |tokens| {
                    looks.set(looks.get() + 1);
                    told(tokens)
                });
                assert!(looks.get() <= 50, "{heavy} {most}: {}", looks.get());
                let fits = |tokens| estimate.sum(told(tokens).0, told(tokens).1) <= most;
                assert!(fits(tokens) && (tokens >= all || !fits(tokens + 1)));
            }
        }
    }

    #[test]
    fn nothing_weighs_nothing() {
        let weights = Weights { token: 1.0, digit: 0.0, sign: -0.2, wide: -0.3 };
        let estimate = Estimate { encoding: Encoding::O200kBase, weights };
        for text in ["=".repeat(10_000), "=-".repeat(5_000), "给主人留下些什么吧".repeat(500)] {
            let tokens = Encoding::O200kBase.count(&text);
            assert!((tokens / 2..=tokens).contains(&estimate.of(tokens, &text)));
        }
    }
}
