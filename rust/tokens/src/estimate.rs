//! Counts for models whose tokenizer is not public.

use crate::encoding::Encoding;

/// An encoding whose counts are multiplied: an estimate, unless the factor is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What counts.
    pub encoding: Encoding,
    /// How many tokens of the model come to one of the encoding.
    pub factor: f64,
}

// No text has as many tokens as a float cannot hold.
#[expect(clippy::cast_precision_loss, clippy::cast_sign_loss)]
impl Estimate {
    /// As many tokens of the model as `tokens` of the encoding come to, rounded up.
    pub fn scaled(&self, tokens: usize) -> usize {
        if self.is_exact() { tokens } else { (tokens as f64 * self.factor).ceil() as usize }
    }

    /// As many tokens of the encoding as surely come to no more than `most` of the model.
    pub fn within(&self, most: usize) -> usize {
        if self.is_exact() {
            return most;
        }
        let mut tokens = (most as f64 / self.factor).floor() as usize;
        while tokens > 0 && self.scaled(tokens) > most {
            tokens -= 1;
        }
        tokens
    }

    /// Whether the counts are the encoding's own.
    #[expect(clippy::float_cmp, reason = "1 is a mark, not the outcome of a sum")]
    pub fn is_exact(&self) -> bool {
        self.factor == 1.0
    }
}
