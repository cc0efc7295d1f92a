//! Text that may not be all there yet.
//!
//! Every check in this crate is a pure function of the bytes around one position. When it would have to look past
//! the bytes that have arrived, it answers [`Cut`] instead of guessing, and is asked again when more have come: that
//! is why a stream, whatever its pieces, gives the result of the whole.

use crate::class::ByteSet;

/// The answer depends on text that has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut;

pub(crate) type Look<T> = Result<T, Cut>;

/// The bytes that are here, and whether they are the end of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) ended: bool,
    /// How far `text` is from the beginning of the whole.
    pub(crate) offset: usize,
    /// The end is the end of the input, where a token may have been cut short.
    pub(crate) last: bool,
    /// A candidate waits for the rest of its line, where a comment may allow it.
    pub(crate) lines: bool,
}

/// How far behind a value a comment may stand that allows it.
const COMMENT: usize = 1024;

impl<'a> Window<'a> {
    pub(crate) fn whole(text: &'a [u8]) -> Self {
        Self { text, ended: true, offset: 0, last: true, lines: false }
    }

    /// A text that was taken out of another one.
    pub(crate) fn inner(text: &'a [u8]) -> Self {
        Self { last: false, ..Self::whole(text) }
    }

    /// The byte at `at`, `None` past the end of the text.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> Look<Option<u8>> {
        match self.text.get(at) {
            Some(&b) => Ok(Some(b)),
            None if self.ended => Ok(None),
            None => Err(Cut),
        }
    }

    /// Whether `literal` stands at `at`.
    #[inline]
    pub(crate) fn starts_with(&self, at: usize, literal: &[u8]) -> Look<bool> {
        let here = &self.text[at.min(self.text.len())..];
        if here.len() >= literal.len() || self.ended {
            // Literals are short and mostly differ at once: a loop beats the library's comparison.
            return Ok(here.len() >= literal.len() && here.iter().zip(literal).all(|(a, b)| a == b));
        }
        if literal.starts_with(here) { Err(Cut) } else { Ok(false) }
    }

    /// The same, in either case; `literal` is lower case.
    pub(crate) fn starts_with_any_case(&self, at: usize, literal: &[u8]) -> Look<bool> {
        let here = &self.text[at.min(self.text.len())..];
        let n = here.len().min(literal.len());
        if !here[..n].eq_ignore_ascii_case(&literal[..n]) {
            return Ok(false);
        }
        if n == literal.len() {
            Ok(true)
        } else if self.ended {
            Ok(false)
        } else {
            Err(Cut)
        }
    }

    /// Where the run of `set` that begins at `at` ends, after `max` bytes at most.
    #[inline]
    pub(crate) fn run(&self, at: usize, set: &ByteSet, max: usize) -> Look<usize> {
        let end = self.text.len().min(at.saturating_add(max));
        let here = self.text.get(at..end).unwrap_or_default();
        let n = set.run(here);
        if n == here.len() && n < max && !self.ended { Err(Cut) } else { Ok(at + n) }
    }

    /// Where the line that goes on at `at` ends, as far as it is looked at.
    pub(crate) fn line_end(&self, at: usize) -> Look<usize> {
        let most = self.text.len().min(at + COMMENT);
        match memchr::memchr(b'\n', &self.text[at..most]) {
            Some(i) => Ok(at + i),
            None if self.ended || most == at + COMMENT => Ok(most),
            None => Err(Cut),
        }
    }

    /// The byte before `at`, `None` at the beginning of the text.
    #[inline]
    pub(crate) fn before(&self, at: usize) -> Option<u8> {
        self.text[..at].last().copied()
    }

    /// Up to `max` bytes before `at`.
    #[inline]
    pub(crate) fn back(&self, at: usize, max: usize) -> &'a [u8] {
        &self.text[at.saturating_sub(max)..at]
    }
}
