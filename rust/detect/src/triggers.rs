//! From class bits to the few places where a check is worth its time.

use crate::index::{RUN, Starts};
use crate::masks::{BLOCK, Beginnings, Class, Level, Masks};

/// Why a place is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A run of 16 or more token characters begins.
    Run,
    /// A key word may begin.
    Stem,
    /// The prefix of a rule may begin, of those that runs do not lead to.
    Literal,
    /// `://`
    Url,
    /// A flag of one letter: ` -p `.
    Flag,
    /// Five or more dashes begin.
    Dashes,
    /// `ddd-dd-dddd`
    Ssn,
    /// Twelve or more digits, or four with a separator and four more.
    Digits,
    /// Two letters and two digits as an IBAN begins.
    Iban,
    /// A character that may hide another: escapes, zero-width and full-width characters, terminal codes.
    Mark,
    /// `@`
    At,
    /// A word begins (only when rules need every word).
    Word,
}

/// Which of the dear triggers a policy needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) numbers: bool,
    pub(crate) at: bool,
    pub(crate) words: bool,
}

/// Calls `visit` for every trigger at or after `from`, kind by kind within each 64 bytes.
#[inline]
pub(crate) fn each(
    level: Level,
    stems: &Beginnings,
    literals: &Starts,
    wanted: Wanted,
    text: &[u8],
    from: usize,
    mut visit: impl FnMut(Kind, usize),
) {
    let mut masks = take_masks();
    let mut base = from;
    while base < text.len() {
        let words = level.fill(stems, &mut masks, &text[base..]);
        let before = base.checked_sub(1).map(|i| text[i]);
        let mut token_before = u64::from(before.is_some_and(|b| crate::class::TOKEN.has(b)));
        let mut digit_before = u64::from(before.is_some_and(|b| b.is_ascii_digit()));
        let mut dash_before = u64::from(before == Some(b'-'));
        for w in 0..words {
            let token = masks.pair(Class::Token, w);
            let here = token as u64;
            let starts = here & !(here << 1 | token_before);
            token_before = here >> 63;
            const { assert!(RUN == 16) };
            let mut run = token & token >> 1;
            run &= run >> 2;
            run &= run >> 4;
            run &= run >> 8;
            let run = run as u64 & starts;

            let stem = masks.pair(Class::Stem, w) as u64;
            let slash = masks.pair(Class::Slash, w);
            let url = (masks.pair(Class::Colon, w) & slash >> 1 & slash >> 2) as u64;

            let dash = masks.pair(Class::Dash, w);
            let first = dash as u64 & !((dash as u64) << 1 | dash_before);
            dash_before = dash as u64 >> 63;
            let dashes = (dash & dash >> 1 & dash >> 2 & dash >> 3 & dash >> 4) as u64 & first;

            let space = masks.pair(Class::Space, w);
            let flag = (space & dash >> 1 & space >> 3 & !space >> 2) as u64;

            let hexer = masks.pair(Class::Hexer, w) >> 1;
            let mark = (masks.pair(Class::Escape, w)
                | masks.pair(Class::Lead, w)
                | masks.pair(Class::Percent, w)
                | masks.pair(Class::Amp, w)
                | masks.pair(Class::Backslash, w) & hexer) as u64;

            let (mut ssn, mut digits, mut iban) = (0, 0, 0);
            if wanted.numbers {
                let digit = masks.pair(Class::Digit, w);
                let first = digit as u64 & !((digit as u64) << 1 | digit_before);
                digit_before = digit as u64 >> 63;
                let two = digit & digit >> 1;
                let three = two & digit >> 2;
                let four = two & two >> 2;
                ssn = (three & dash >> 3 & two >> 4 & dash >> 6 & four >> 7) as u64 & first;
                let twelve = four & four >> 4 & four >> 8;
                digits = (twelve | four & (dash | space) >> 4 & four >> 5) as u64 & first;
                let upper = masks.pair(Class::Upper, w);
                iban = (upper & upper >> 1 & two >> 2 & (space >> 4 | twelve >> 2)) as u64 & starts;
            }
            let at = if wanted.at { masks.pair(Class::At, w) as u64 } else { 0 };
            let words = if wanted.words { starts } else { 0 };

            // Words of three letters or more, or shorter ones with a dot or slash after them.
            let joint = masks.pair(Class::Dot, w) | slash;
            let long = token >> 1 & (token >> 2 | joint >> 2) | joint >> 1;
            let mut tries = (long as u64 & starts | masks.pair(Class::Opener, w) as u64)
                & masks.pair(Class::Literal, w) as u64;
            // Where an escape goes before, the word begins one later.
            let slashes = masks.pair(Class::Backslash, w) as u64;
            tries |= slashes & !(slashes >> 1) & (masks.pair(Class::Literal, w) >> 2) as u64;
            let mut literal = 0;
            while tries != 0 {
                let bit = tries & tries.wrapping_neg();
                let place = base + w * 64 + tries.trailing_zeros() as usize;
                tries ^= bit;
                if literals.may(text, place + 2 * usize::from(text[place] == b'\\')) {
                    literal |= bit;
                }
            }

            // The three common kinds by themselves; the rest in a loop that most words skip.
            let mut each_bit = |kind: Kind, mut bits: u64| {
                while bits != 0 {
                    visit(kind, base + w * 64 + bits.trailing_zeros() as usize);
                    bits &= bits - 1;
                }
            };
            each_bit(Kind::Run, run);
            each_bit(Kind::Literal, literal);
            each_bit(Kind::Stem, stem);
            if url | flag | mark | dashes | ssn | digits | iban | at | words != 0 {
                for (kind, bits) in [
                    (Kind::Url, url),
                    (Kind::Flag, flag),
                    (Kind::Mark, mark),
                    (Kind::Dashes, dashes),
                    (Kind::Ssn, ssn),
                    (Kind::Digits, digits),
                    (Kind::Iban, iban),
                    (Kind::At, at),
                    (Kind::Word, words),
                ] {
                    each_bit(kind, bits);
                }
            }
        }
        base += BLOCK;
    }
    put_masks(masks);
}

std::thread_local! {
    /// One set of masks a thread: filling new memory would cost more than a short message.
    static SPARE: std::cell::Cell<Option<Box<Masks>>> = const { std::cell::Cell::new(None) };
}

fn take_masks() -> Box<Masks> {
    SPARE.take().unwrap_or_else(|| Box::new(Masks::new()))
}

fn put_masks(masks: Box<Masks>) {
    SPARE.set(Some(masks));
}
