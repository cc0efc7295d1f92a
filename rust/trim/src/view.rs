//! The source as strategies see it: redacted, as far as they look.

use std::borrow::Cow;
use std::ops::Range;

use ctxproto_redact::{Format, Redactor};

use crate::loss::Size;
use crate::piece::Piece;

/// A source and its redactor.
#[derive(Clone, Copy)]
pub(crate) struct View<'t, 'r> {
    pub(crate) raw: &'t [u8],
    pub(crate) redactor: Option<&'r Redactor>,
}

/// One end of the text, or all of it.
#[derive(Clone, Debug)]
pub(crate) struct Look<'t> {
    pub(crate) piece: Piece<'t>,
    /// Whether there is no more than this.
    pub(crate) whole: bool,
}

/// Text that is looked at from its ends.
pub(crate) trait Windows<'t> {
    /// Exactly the first `want` bytes of the redacted text, or all that there are to be had.
    fn head(&self, want: usize) -> Look<'t>;
    /// Exactly the last `want` bytes of the redacted text, or all that there are to be had.
    fn tail(&self, want: usize) -> Look<'t>;
    /// What the source is in all.
    fn size(&self) -> Size;
}

impl<'t> Windows<'t> for View<'t, '_> {
    fn head(&self, want: usize) -> Look<'t> {
        let Some(redactor) = self.redactor else {
            let end = want.min(self.raw.len());
            return Look::plain(&self.raw[..end], 0, end == self.raw.len());
        };
        let excerpt = redactor.head(self.raw, Format::Auto, want);
        let whole = excerpt.source.end == self.raw.len() && excerpt.text.len() <= want;
        let piece = Piece::new(excerpt.text, 0, &excerpt.findings, |r| self.breaks(r));
        Look { piece: first(piece, want), whole }
    }

    fn tail(&self, want: usize) -> Look<'t> {
        let Some(redactor) = self.redactor else {
            let start = self.raw.len() - want.min(self.raw.len());
            return Look::plain(&self.raw[start..], start, start == 0);
        };
        let excerpt = redactor.tail(self.raw, Format::Auto, want);
        let whole = excerpt.source.start == 0 && excerpt.text.len() <= want;
        let piece = Piece::new(excerpt.text, excerpt.source.start, &excerpt.findings, |r| self.breaks(r));
        Look { piece: last(piece, want), whole }
    }

    fn size(&self) -> Size {
        Size::of(self.raw)
    }
}

impl<'t> View<'t, '_> {
    fn breaks(self, range: Range<usize>) -> usize {
        memchr::memchr_iter(b'\n', &self.raw[range]).count()
    }

    /// All of it.
    pub(crate) fn all(self) -> Look<'t> {
        self.head(usize::MAX)
    }
}

impl<'t> Look<'t> {
    fn plain(text: &'t [u8], start: usize, whole: bool) -> Self {
        let piece = Piece { text: Cow::Borrowed(text), start, swaps: vec![] };
        Self { piece, whole }
    }
}

/// The first `want` bytes of a piece.
pub(crate) fn first(mut piece: Piece<'_>, want: usize) -> Piece<'_> {
    if piece.len() > want {
        match &mut piece.text {
            Cow::Borrowed(text) => *text = &text[..want],
            Cow::Owned(text) => text.truncate(want),
        }
    }
    piece
}

/// The last `want` bytes of a piece. A placeholder that is cut stays whole for the question where a cut may be.
pub(crate) fn last(mut piece: Piece<'_>, want: usize) -> Piece<'_> {
    let Some(skip) = piece.len().checked_sub(want).filter(|&skip| skip > 0) else { return piece };
    piece.start = piece.source(skip);
    piece.swaps.retain(|s| s.text.end > skip);
    for swap in &mut piece.swaps {
        swap.text = swap.text.start.saturating_sub(skip)..swap.text.end - skip;
    }
    match &mut piece.text {
        Cow::Borrowed(text) => *text = &text[skip..],
        Cow::Owned(text) => drop(text.drain(..skip)),
    }
    piece
}
