//! The encodings: counting, encoding, decoding.

use std::fmt;
use std::str::FromStr;

use crate::cache;
use crate::merge::merge;
use crate::pieces::{self, Next};
use crate::vocabulary::{CL100K, O200K, P50K, R50K, Vocabulary};
use crate::walk::{Counts, walk};

pub use crate::vocabulary::Id;

/// An encoding of `tiktoken`, with the vocabulary inside this library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// GPT-4o, 4.1, 4.5, 5, o-series.
    O200kBase,
    /// gpt-oss: the same tokens, other special ones.
    O200kHarmony,
    /// GPT-4, GPT-3.5, embeddings.
    Cl100kBase,
    /// Codex models.
    P50kBase,
    /// Edit models: the same tokens, other special ones.
    P50kEdit,
    /// GPT-3.
    R50kBase,
    /// GPT-2: the same as [`Encoding::R50kBase`].
    Gpt2,
}

/// Bytes between two looks whether to go on.
const CHECKED: usize = 1 << 20;

/// A name that no encoding has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEncoding;

impl fmt::Display for UnknownEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an encoding is one of ")?;
        for (i, encoding) in Encoding::ALL.iter().enumerate() {
            write!(f, "{}{encoding}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownEncoding {}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        Self::ALL.into_iter().find(|e| e.name() == name).ok_or(UnknownEncoding)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Encoding {
    /// Every encoding, the newest first.
    pub const ALL: [Self; 7] = [
        Self::O200kBase,
        Self::O200kHarmony,
        Self::Cl100kBase,
        Self::P50kBase,
        Self::P50kEdit,
        Self::R50kBase,
        Self::Gpt2,
    ];

    /// What `tiktoken` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::O200kHarmony => "o200k_harmony",
            Self::Cl100kBase => "cl100k_base",
            Self::P50kBase => "p50k_base",
            Self::P50kEdit => "p50k_edit",
            Self::R50kBase => "r50k_base",
            Self::Gpt2 => "gpt2",
        }
    }

    /// The number of the vocabulary, the vocabulary, and how text is split.
    fn parts(self) -> (usize, &'static Vocabulary, Next) {
        match self {
            Self::O200kBase | Self::O200kHarmony => (0, &O200K, pieces::o200k),
            Self::Cl100kBase => (1, &CL100K, pieces::cl100k),
            Self::P50kBase | Self::P50kEdit => (2, &P50K, pieces::r50k),
            Self::R50kBase | Self::Gpt2 => (3, &R50K, pieces::r50k),
        }
    }

    /// How many tokens `text` has. Names of special tokens are ordinary text.
    pub fn count(self, text: &str) -> usize {
        let mut total = 0;
        self.pieces(text.as_bytes(), 0, |_, _, count| {
            total += count;
            true
        });
        total
    }

    /// [`Encoding::count`] for long texts: asks `check` every million bytes or so whether to go on.
    pub fn count_checked<E>(self, text: &str, mut check: impl FnMut() -> Result<(), E>) -> Result<usize, E> {
        let (mut total, mut next) = (0, CHECKED);
        let mut outcome = Ok(());
        self.pieces(text.as_bytes(), 0, |_, end, count| {
            total += count;
            if end >= next {
                next = end + CHECKED;
                outcome = check();
            }
            outcome.is_ok()
        });
        outcome.map(|()| total)
    }

    /// Splits `text` from `at` on and calls `f` with each piece's beginning, end and number of tokens until it says no.
    pub(crate) fn pieces(self, text: &[u8], at: usize, f: impl FnMut(usize, usize, usize) -> bool) {
        let (number, vocabulary, next) = self.parts();
        cache::with(number, |cache| {
            walk(number, next, &mut Counts { vocabulary, cache, tokens: vec![], new: 0 }, text, at, f);
        });
    }

    /// The tokens of `text`.
    pub fn encode(self, text: &str) -> Vec<Id> {
        let (_, vocabulary, next) = self.parts();
        let text = text.as_bytes();
        let mut tokens = Vec::with_capacity(text.len() / 4 + 1);
        let mut at = 0;
        while at < text.len() {
            let end = next(text, at);
            encode_piece(vocabulary, &text[at..end], &mut tokens);
            at = end;
        }
        tokens
    }

    /// The tokens of `text`, in which the names of these special tokens stand for them.
    pub fn encode_with(self, text: &str, specials: &[(String, Id)]) -> Vec<Id> {
        let mut tokens = vec![];
        let (mut from, mut at) = (0, 0);
        while let Some(found) = text[at..].find("<|") {
            at += found;
            let Some((name, id)) = specials.iter().find(|(name, _)| text[at..].starts_with(name)) else {
                at += 2;
                continue;
            };
            tokens.extend(self.encode(&text[from..at]));
            tokens.push(*id);
            at += name.len();
            from = at;
        }
        tokens.extend(self.encode(&text[from..]));
        tokens
    }

    /// The tokens of one piece.
    pub(crate) fn encode_piece(self, piece: &[u8]) -> Vec<Id> {
        let mut tokens = vec![];
        encode_piece(self.parts().1, piece, &mut tokens);
        tokens
    }

    /// The bytes of a token that is no special one; `None` if there is none of that number.
    pub fn token(self, id: Id) -> Option<&'static [u8]> {
        Some(self.parts().1.token(id)).filter(|bytes| !bytes.is_empty())
    }

    /// One more than the highest number of a token that is no special one.
    pub fn end(self) -> Id {
        self.parts().1.end()
    }

    /// The token of these bytes, if there is one.
    pub fn id(self, bytes: &[u8]) -> Option<Id> {
        self.parts().1.whole(bytes)
    }

    /// The special tokens, which only count as such where that is asked for.
    pub fn specials(self) -> Vec<(String, Id)> {
        crate::special::of(self)
    }
}

fn encode_piece(vocabulary: &Vocabulary, piece: &[u8], tokens: &mut Vec<Id>) {
    match vocabulary.whole(piece) {
        Some(id) => tokens.push(id),
        None => merge(vocabulary, piece, tokens),
    }
}
