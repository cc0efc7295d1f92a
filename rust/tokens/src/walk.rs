//! From a text to its pieces and their counts.

use crate::cache::Cache;
use crate::key::{Key, LONGEST, Set};
use crate::merge::{count_short, merge};
use crate::pieces::Next;
use crate::vocabulary::{Id, Vocabulary};

/// What counts of pieces come from.
pub(crate) struct Counts<'a> {
    pub(crate) vocabulary: &'a Vocabulary,
    pub(crate) cache: &'a mut Cache,
    /// Kept for its memory.
    pub(crate) tokens: Vec<Id>,
    /// Short pieces that were not in the cache.
    pub(crate) new: usize,
}

impl Counts<'_> {
    /// How many tokens the piece is; `find` is [`Set::find`].
    #[inline]
    pub(crate) fn of(
        &mut self,
        text: &[u8],
        at: usize,
        end: usize,
        find: impl Fn(&Set, Key) -> Option<(usize, u8)>,
    ) -> usize {
        let Self { vocabulary, cache, tokens, new } = self;
        let piece = &text[at..end];
        if piece.len() <= LONGEST {
            let key = Key::new(text, at, end);
            let count = || fresh(vocabulary, key, new);
            cache.short(key, find, count)
        } else {
            let count =
                || if vocabulary.whole(piece).is_some() { 1 } else { merged(vocabulary, piece, tokens) };
            cache.long(piece, count)
        }
    }
}

impl Counts<'_> {
    /// Calls `f` with the lines of memory that are looked at for a new piece.
    #[inline]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn lines(&self, key: Key, f: impl Fn(*const Set)) {
        f(self.cache.set(key));
        f(self.vocabulary.set(key));
    }
}

#[inline(never)]
fn fresh(vocabulary: &Vocabulary, key: Key, new: &mut usize) -> usize {
    *new += 1;
    if vocabulary.has(key) { 1 } else { count_short(vocabulary, key) }
}

#[inline(never)]
fn merged(vocabulary: &Vocabulary, piece: &[u8], tokens: &mut Vec<Id>) -> usize {
    tokens.clear();
    merge(vocabulary, piece, tokens);
    tokens.len()
}

/// Splits `text` from `at` on and calls `f` with each piece's beginning, end and count until it says no.
pub(crate) fn walk(
    number: usize,
    next: Next,
    counts: &mut Counts<'_>,
    text: &[u8],
    mut at: usize,
    mut f: impl FnMut(usize, usize, usize) -> bool,
) {
    #[cfg(target_arch = "x86_64")]
    if number < 2 && text.len() - at >= 64 && crate::avx2::is_there() {
        return crate::avx2::walk(number, next, counts, text, at, f);
    }
    // Which encoding it is matters to windows alone.
    let _ = number;
    while at < text.len() {
        let end = next(text, at);
        if !f(at, end, counts.of(text, at, end, Set::find)) {
            return;
        }
        at = end;
    }
}
