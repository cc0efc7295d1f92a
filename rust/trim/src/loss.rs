//! What was lost: numbers that add up, and the marker that tells the reader.

use std::fmt::Write;
use std::ops::Range;

/// An amount of source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes.
    pub bytes: usize,
    /// Lines; a last one without a line break counts.
    pub lines: usize,
}

impl Size {
    pub(crate) fn of(text: &[u8]) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text).count();
        let open = text.last().is_some_and(|&b| b != b'\n');
        Self { bytes: text.len(), lines: breaks + usize::from(open) }
    }
}

/// A number of tokens, and whether it was counted or is in proportion to what was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// How many.
    pub count: usize,
    /// Whether they were counted.
    pub exact: bool,
}

/// Parts that the source itself is made of: rows, items, fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// What they are called.
    pub name: &'static str,
    /// How many were kept.
    pub kept: usize,
    /// How many there were.
    pub total: usize,
}

/// What was kept and what was not. Everything but tokens is counted in the source, as it was before redaction; what
/// was replaced by a placeholder counts as kept. A line of which a part was kept counts as kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The strategy that was used: `whole` when nothing was left out.
    pub strategy: &'static str,
    /// Why it is not the one that was asked for.
    pub instead: Option<&'static str>,
    /// The source; what was read of it when reading stopped early.
    pub source: Size,
    /// What was kept.
    pub kept: Size,
    /// What was left out: `source` less `kept`.
    pub dropped: Size,
    /// Where the source was left out, in order.
    pub ranges: Vec<Range<usize>>,
    /// Rows, items, fields, where the source is made of some.
    pub units: Option<Units>,
    /// Tokens of the result, counted.
    pub tokens: usize,
    /// Tokens that the redacted source would have taken: counted when nothing was left out, else in proportion.
    pub source_tokens: Tokens,
    /// Whether the source was read to its end.
    pub complete: bool,
}

impl Loss {
    /// `kept` is in order; `lines` of the source's lines have a part in it.
    pub(crate) fn new(
        strategy: &'static str,
        source: Size,
        kept: &[Range<usize>],
        lines: usize,
        units: Option<Units>,
    ) -> Self {
        let mut ranges = vec![];
        let mut at = 0;
        let mut bytes = 0;
        for part in kept.iter().filter(|k| !k.is_empty()) {
            if part.start > at {
                ranges.push(at..part.start);
            }
            bytes += part.len();
            at = part.end;
        }
        if at < source.bytes {
            ranges.push(at..source.bytes);
        }
        let kept = Size { bytes, lines };
        let dropped = Size { bytes: source.bytes - bytes, lines: source.lines - lines };
        let tokens = Tokens { count: 0, exact: false };
        Self {
            strategy,
            instead: None,
            source,
            kept,
            dropped,
            ranges,
            units,
            tokens: 0,
            source_tokens: tokens,
            complete: true,
        }
    }

    /// Enters the exact count of a result of `text` bytes, and what follows from it for the source.
    pub(crate) fn count(&mut self, tokens: usize, text: usize) {
        self.tokens = tokens;
        self.source_tokens = if self.dropped.bytes == 0 {
            Tokens { count: tokens, exact: true }
        } else {
            let rate = tokens as u128 * self.source.bytes as u128;
            Tokens { count: (rate / text.max(1) as u128) as usize, exact: false }
        };
    }

    /// What stands at the top of the result. `hint` says how to get the rest, if the caller knows a way.
    pub(crate) fn marker(&self, hint: Option<&str>) -> String {
        let Self { kept, source, .. } = self;
        let mut text = String::from("[trimmed: ");
        // Writing to a string does not fail.
        let _ = if !self.complete {
            write!(text, "the first {} lines, {} bytes kept of a source that goes on", kept.lines, kept.bytes)
        } else if let Some(Units { name, kept: some, total }) = self.units {
            write!(text, "{some} of {total} {name}, {} of {} bytes kept", kept.bytes, source.bytes)
        } else if source.lines > 1 {
            write!(
                text,
                "{} of {} lines, {} of {} bytes kept",
                kept.lines, source.lines, kept.bytes, source.bytes
            )
        } else {
            write!(text, "{} of {} bytes kept", kept.bytes, source.bytes)
        };
        if let Some(hint) = hint {
            let _ = write!(text, "; {hint}");
        }
        text.push(']');
        text
    }
}

/// What stands where something was left out.
pub(crate) fn mark(lines: usize, bytes: usize) -> String {
    match (lines, bytes) {
        (0, bytes) => format!("[{bytes} bytes cut]"),
        (1, _) => "[1 line cut]".to_owned(),
        (lines, _) => format!("[{lines} lines cut]"),
    }
}

/// How many lines of `text` have a part in `ranges`, which are in order.
pub(crate) fn lines_in(text: &[u8], ranges: &[Range<usize>]) -> usize {
    let mut lines = 0;
    let mut before: Option<usize> = None;
    for range in ranges.iter().filter(|r| !r.is_empty()) {
        lines += 1 + memchr::memchr_iter(b'\n', &text[range.start..range.end - 1]).count();
        if before.is_some_and(|end| memchr::memchr(b'\n', &text[end - 1..range.start]).is_none()) {
            lines -= 1;
        }
        before = Some(range.end);
    }
    lines
}
