//! What the tokenizer must be able to do.

use ctxproto_tokens::{Characters, Encoding, Estimate};

/// Counts text as a model will. Any bytes count, also those that are no UTF-8.
///
/// Counts need not add up, and a longer text may count less than a shorter one: what is returned to a caller is always
/// counted as a whole before it is returned.
pub trait Count: Send + Sync {
    /// Tokens of the text on its own.
    fn count(&self, text: &[u8]) -> usize;

    /// Where the longest prefix of at most `most` tokens ends. Reads no more of the text than that takes.
    fn limit(&self, text: &[u8], most: usize) -> usize;

    /// Where the longest suffix of at most `most` tokens begins. Reads no more of the text than that takes.
    fn limit_back(&self, text: &[u8], most: usize) -> usize;

    /// Whether the text has more than `most` tokens.
    fn exceeds(&self, text: &[u8], most: usize) -> bool {
        self.limit(text, most) < text.len()
    }
}

/// Exact counts. Bytes that are no UTF-8 count as U+FFFD, as text of that kind is decoded.
impl Count for Encoding {
    fn count(&self, text: &[u8]) -> usize {
        Self::count(*self, &String::from_utf8_lossy(text))
    }

    fn limit(&self, text: &[u8], most: usize) -> usize {
        // A budget's worth is decoded, not the whole: no token is longer than 128 bytes.
        let near = &text[..text.len().min(most.saturating_add(1).saturating_mul(LONGEST))];
        match std::str::from_utf8(near) {
            Ok(near) => Self::limit(*self, near, most),
            // The window may end inside a character.
            Err(error) if error.error_len().is_none() && near.len() < text.len() => {
                let valid = String::from_utf8_lossy(&near[..error.valid_up_to()]);
                Self::limit(*self, &valid, most)
            }
            Err(_) => {
                let decoded = String::from_utf8_lossy(near);
                source_of(near, Self::limit(*self, &decoded, most))
            }
        }
    }

    fn limit_back(&self, text: &[u8], most: usize) -> usize {
        let mut start = text.len() - text.len().min(most.saturating_add(1).saturating_mul(LONGEST));
        while start > 0 && start < text.len() && text[start] & 0xC0 == 0x80 {
            start += 1;
        }
        let near = &text[start..];
        let at = if let Ok(near) = std::str::from_utf8(near) {
            Self::limit_back(*self, near, most)
        } else {
            source_of(near, Self::limit_back(*self, &String::from_utf8_lossy(near), most))
        };
        start + at
    }

    fn exceeds(&self, text: &[u8], most: usize) -> bool {
        has_more_words(text, most) || Count::limit(self, text, most) < text.len()
    }
}

/// Whether there are more words than `most`, as far as a blank and a letter of ASCII tell. A token is begun with each: the
/// blank goes with the word, in all encodings.
fn has_more_words(text: &[u8], most: usize) -> bool {
    const SOME: usize = 4096;
    let mut words = 0;
    for start in (0..text.len()).step_by(SOME) {
        let chunk = &text[start..text.len().min(start + SOME + 1)];
        let begins = |(before, at): (&u8, &u8)| u32::from(*before == b' ' && at.is_ascii_alphabetic());
        words += chunk.iter().zip(&chunk[1..]).map(begins).sum::<u32>() as usize;
        if words > most {
            return true;
        }
    }
    false
}

/// The counts of the encoding, weighed.
impl Count for Estimate {
    fn count(&self, text: &[u8]) -> usize {
        let text = String::from_utf8_lossy(text);
        self.of(self.encoding.count(&text), &text)
    }

    fn limit(&self, text: &[u8], most: usize) -> usize {
        let end = |tokens| Count::limit(&self.encoding, text, tokens);
        end(self.within(most, |tokens| told(self.encoding, &text[..end(tokens)], text, tokens)))
    }

    fn limit_back(&self, text: &[u8], most: usize) -> usize {
        let start = |tokens| Count::limit_back(&self.encoding, text, tokens);
        start(self.within(most, |tokens| told(self.encoding, &text[start(tokens)..], text, tokens)))
    }

    fn exceeds(&self, text: &[u8], most: usize) -> bool {
        if self.is_exact() { self.encoding.exceeds(text, most) } else { self.limit(text, most) < text.len() }
    }
}

/// How many tokens a part of a text has that was limited to `most`, and its characters.
fn told(encoding: Encoding, part: &[u8], whole: &[u8], most: usize) -> (usize, Characters) {
    let text = String::from_utf8_lossy(part);
    // What was cut has all that it may have, or little less.
    let tokens = if part.len() < whole.len() { most } else { encoding.count(&text).min(most) };
    (tokens, Characters::of(&text))
}

/// Bytes of the longest token of any encoding.
const LONGEST: usize = 128;

/// The place in `bytes` that is `at` in their decoded form.
fn source_of(bytes: &[u8], at: usize) -> usize {
    let (mut source, mut decoded) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        if at <= decoded + chunk.valid().len() {
            return source + at - decoded;
        }
        source += chunk.valid().len() + chunk.invalid().len();
        decoded += chunk.valid().len() + if chunk.invalid().is_empty() { 0 } else { '\u{fffd}'.len_utf8() };
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exceeds_what_it_counts(parts in proptest::collection::vec("[ab]{1,3}| {1,3}|[.,'1é\n\r\t]|<\\|endoftext\\|>", 0..60), most in 0usize..30, name in 0usize..7) {
            let encoding = Encoding::ALL[name];
            let text = parts.concat();
            let text = text.as_bytes();
            prop_assert_eq!(Count::exceeds(&encoding, text, most), Count::limit(&encoding, text, most) < text.len());
            if has_more_words(text, most) {
                prop_assert!(Count::count(&encoding, text) > most);
            }
        }

        #[test]
        fn limits_hold_for_any_bytes(text in proptest::collection::vec(prop_oneof![any::<u8>(), 32u8..127], 0..200), most in 0usize..30) {
            let encoding: &dyn Count = &Encoding::O200kBase;
            let end = encoding.limit(&text, most);
            prop_assert!(encoding.count(&text[..end]) <= most);
            let start = encoding.limit_back(&text, most);
            prop_assert!(encoding.count(&text[start..]) <= most);
            if encoding.count(&text) <= most {
                prop_assert_eq!((start, end), (0, text.len()));
            }
        }
    }
}
