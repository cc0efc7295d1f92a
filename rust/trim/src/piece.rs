//! A part of the redacted text that knows where in the source each byte comes from, and where it may be cut.

use std::borrow::Cow;
use std::ops::Range;

use ctxproto_redact::Finding;
use unicode_segmentation::{GraphemeCursor, GraphemeIncomplete};

/// A placeholder and the value it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swap {
    pub(crate) text: Range<usize>,
    pub(crate) source: Range<usize>,
    /// Line breaks in the value.
    pub(crate) breaks: usize,
    pub(crate) rule: u16,
    pub(crate) fingerprint: [u8; 8],
}

/// A place in the redacted text and in its source: the same up to the next value that was replaced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) text: usize,
    pub(crate) source: usize,
}

impl Place {
    /// Goes on to the end of the next value that was replaced.
    pub(crate) fn swap(&mut self, f: &Finding, breaks: usize) -> Swap {
        let start = self.text + (f.start - self.source);
        *self = Self { text: start + f.placed, source: f.end };
        let (rule, fingerprint) = (f.rule, f.fingerprint);
        Swap { text: start..self.text, source: f.start..f.end, breaks, rule, fingerprint }
    }
}

/// Redacted text.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'t> {
    pub(crate) text: Cow<'t, [u8]>,
    /// Where its first byte comes from.
    pub(crate) start: usize,
    pub(crate) swaps: Vec<Swap>,
}

impl<'t> Piece<'t> {
    /// `breaks` counts the line breaks of a part of the source.
    pub(crate) fn new(
        text: Cow<'t, [u8]>,
        start: usize,
        findings: &[Finding],
        breaks: impl Fn(Range<usize>) -> usize,
    ) -> Self {
        let mut place = Place { text: 0, source: start };
        let swaps = findings.iter().map(|f| place.swap(f, breaks(f.start..f.end))).collect();
        Self { text, start, swaps }
    }

    /// How many lines of the source have a part in `range`.
    pub(crate) fn lines(&self, range: Range<usize>) -> usize {
        if range.is_empty() {
            return 0;
        }
        let from = self.swaps.partition_point(|s| s.text.start < range.start);
        let inside = self.swaps[from..].iter().take_while(|s| s.text.start < range.end);
        let breaks = memchr::memchr_iter(b'\n', &self.text[range.start..range.end - 1]).count();
        1 + breaks + inside.map(|s| s.breaks).sum::<usize>()
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The source offset of the byte at `at`; of a placeholder's inside, the end of what it stands for.
    pub(crate) fn source(&self, at: usize) -> usize {
        let next = self.swaps.partition_point(|s| s.text.start < at);
        match next.checked_sub(1).map(|i| &self.swaps[i]) {
            Some(swap) => swap.source.end + at.saturating_sub(swap.text.end),
            None => self.start + at,
        }
    }

    /// The part that is `range`, which ends in no placeholder.
    pub(crate) fn slice(&self, range: Range<usize>) -> Piece<'_> {
        let from = self.swaps.partition_point(|s| s.text.end <= range.start);
        let to = self.swaps.partition_point(|s| s.text.start < range.end).max(from);
        let swaps = self.swaps[from..to].iter();
        Piece {
            text: Cow::Borrowed(&self.text[range.clone()]),
            start: self.source(range.start),
            swaps: swaps
                .map(|s| Swap {
                    text: s.text.start.saturating_sub(range.start)..s.text.end - range.start,
                    ..s.clone()
                })
                .collect(),
        }
    }

    pub(crate) fn into_owned(self) -> Piece<'static> {
        Piece { text: Cow::Owned(self.text.into_owned()), start: self.start, swaps: self.swaps }
    }

    /// The last place up to `at` where the text may be cut.
    pub(crate) fn cut_before(&self, at: usize) -> usize {
        (0..=at).rev().find(|&at| self.may_cut(at)).unwrap_or(0)
    }

    /// The first place from `at` on where the text may be cut.
    pub(crate) fn cut_after(&self, at: usize) -> usize {
        (at..=self.len()).find(|&at| self.may_cut(at)).unwrap_or(self.len())
    }

    /// Whether a cut at `at` leaves characters, escapes and placeholders whole.
    pub(crate) fn may_cut(&self, at: usize) -> bool {
        let text = &self.text;
        if at == 0 || at == text.len() {
            return true;
        }
        let swap = self.swaps.partition_point(|s| s.text.end <= at);
        !(self.swaps.get(swap).is_some_and(|s| s.text.start < at)
            || in_escape(text, at)
            || in_placeholder(text, at)
            || in_mask(text, at)
            || in_character(text, at))
    }
}

/// The longest cluster of characters that is kept whole.
const CLUSTER: usize = 1024;

/// Whether `at` is inside a character, or inside a cluster of characters that are read as one (UAX #29).
fn in_character(text: &[u8], at: usize) -> bool {
    let (before, after) = (text[at - 1], text[at]);
    if before < 0x80 && after < 0x80 {
        return before == b'\r' && after == b'\n';
    }
    // Also where bytes are no UTF-8 but look like it, as lone surrogates do.
    if after & 0xC0 == 0x80 && text[..at].iter().rev().take(3).any(|&b| b >= 0xC0) {
        let lead = text[..at].iter().rposition(|&b| b & 0xC0 != 0x80).unwrap_or(0);
        let len = [2, 2, 3, 4][usize::from(text[lead] >> 4 & 3)];
        return text[lead] >= 0xC0 && at - lead < len;
    }
    let from = at - at.min(CLUSTER);
    let mut start = from;
    for chunk in text[from..text.len().min(at + CLUSTER)].utf8_chunks() {
        let valid = chunk.valid();
        if start < at && at < start + valid.len() {
            let mut cursor = GraphemeCursor::new(at - start, valid.len(), true);
            return match cursor.is_boundary(valid, 0) {
                Ok(boundary) => !boundary,
                Err(GraphemeIncomplete::InvalidOffset | _) => false,
            };
        }
        start += valid.len() + chunk.invalid().len();
    }
    false
}

/// Whether `at` is inside an escape of a JSON string: `\n`, `\u00e9`, a pair of surrogates.
fn in_escape(text: &[u8], at: usize) -> bool {
    let escapes = |slash: usize| {
        let run = text[..=slash].iter().rev().take(CLUSTER).take_while(|&&b| b == b'\\').count();
        run % 2 == 1
    };
    let unicode = |slash: usize| {
        text.get(slash + 1) == Some(&b'u')
            && text.len() >= slash + 6
            && text[slash + 2..slash + 6].iter().all(u8::is_ascii_hexdigit)
    };
    if text[at - 1] == b'\\' && escapes(at - 1) {
        return true;
    }
    let back = at.saturating_sub(5);
    if let Some(slash) = memchr::memrchr(b'\\', &text[back..at]).map(|i| back + i)
        && unicode(slash)
        && escapes(slash)
    {
        return true;
    }
    // Between the two halves of a pair.
    at >= 6
        && text[at] == b'\\'
        && unicode(at)
        && matches!(text.get(at + 2..at + 4), Some([b'd' | b'D', b'c'..=b'f' | b'C'..=b'F']))
        && text[at - 6] == b'\\'
        && unicode(at - 6)
        && matches!(text[at - 4..at - 2], [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B'])
}

/// Whether `at` is inside `[LABEL:REDACTED]`, `[LABEL:3f9a12c4]` or a vault's `[LABEL:V…]`.
fn in_placeholder(text: &[u8], at: usize) -> bool {
    const MOST: usize = 96;
    let inner = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':');
    let before = text[..at].iter().rev().take(MOST).take_while(|b| inner(b)).count();
    let open = at - before;
    if open == 0 || text[open - 1] != b'[' {
        return false;
    }
    let after = text[at..].iter().take(MOST).take_while(|b| inner(b)).count();
    if text.get(at + after) != Some(&b']') {
        return false;
    }
    let words = &text[open..at + after];
    let Some(colon) = memchr::memchr(b':', words) else { return false };
    let (label, value) = (&words[..colon], &words[colon + 1..]);
    let hex = |v: &[u8]| v.iter().all(u8::is_ascii_hexdigit);
    label.iter().any(u8::is_ascii_uppercase)
        && (value == b"REDACTED"
            || value.len() == 8 && hex(value)
            || value.len() == 17 && value[0] == b'V' && hex(&value[1..]))
}

/// Whether `at` is inside `********`.
fn in_mask(text: &[u8], at: usize) -> bool {
    const MASK: usize = 8;
    let before = text[..at].iter().rev().take(MASK).take_while(|&&b| b == b'*').count();
    let after = text[at..].iter().take(MASK).take_while(|&&b| b == b'*').count();
    before > 0 && after > 0 && before + after == MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(text: &str) -> Vec<usize> {
        let piece = Piece { text: Cow::Borrowed(text.as_bytes()), start: 0, swaps: vec![] };
        (1..text.len()).filter(|&at| piece.may_cut(at)).collect()
    }

    #[test]
    fn cuts_only_between() {
        for (text, want) in [
            ("ab\r\nc", vec![1, 2, 4]),
            ("é日", vec![2]),
            ("a👩‍👩‍👧b", vec![1, 19]),
            ("e\u{301}x", vec![3]),
            (r"a\nb\\", vec![1, 3, 4]),
            (r"\u00e9x", vec![6]),
            (r"\\u0041", vec![2, 3, 4, 5, 6]),
            (r"\ud83d\ude00", vec![]),
            ("[AB:REDACTED] ", vec![13]),
            ("[AB:3f9a12c4] ", vec![13]),
            ("[ab:c]", vec![1, 2, 3, 4, 5]),
            ("a********", vec![1]),
            ("*********", (1..9).collect()),
        ] {
            assert_eq!(cuts(text), want, "{text}");
        }
    }

    #[test]
    fn a_surrogate_is_one_character() {
        let piece = Piece { text: Cow::Borrowed(b"a\xED\xA0\x80\x80b\xFF"), start: 0, swaps: vec![] };
        assert_eq!((1..7).filter(|&at| piece.may_cut(at)).collect::<Vec<_>>(), [1, 4, 5, 6]);
    }
}
