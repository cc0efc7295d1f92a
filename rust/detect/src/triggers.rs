//! From class bits to the few places where a check is worth its time.

// What is inlined always is compiled anew for each instruction set: a call would leave the caller's.
#![allow(clippy::inline_always)]

use crate::index::RUN;
#[cfg(target_arch = "x86_64")]
use crate::masks::Level::{Avx2, Avx512};
use crate::masks::{BLOCK, Class, Lane, Level, Masks, ROWS, WORDS, Wordlists};
#[cfg(target_arch = "x86_64")]
use crate::{avx2, avx512};

/// Why a place is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
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

const KINDS: [Kind; 12] = [
    Kind::Run,
    Kind::Literal,
    Kind::Stem,
    Kind::Url,
    Kind::Flag,
    Kind::Mark,
    Kind::Dashes,
    Kind::Ssn,
    Kind::Digits,
    Kind::Iban,
    Kind::At,
    Kind::Word,
];
/// Those that most words of a text have none of.
const RARE: std::ops::Range<usize> = 3..12;

/// Which of the dear triggers a policy needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) numbers: bool,
    pub(crate) at: bool,
    pub(crate) words: bool,
}

/// The places of each kind, in the order of [`KINDS`], and where any of the rare ones are.
#[derive(Debug)]
pub(crate) struct Lanes {
    kinds: [Lane; KINDS.len()],
    rare: Lane,
    /// Runs of two, four and eight on the way to longer ones.
    steps: [Lane; 3],
}

/// The bits of `lane` that are `by` places on.
#[inline(always)]
fn ahead(lane: &Lane, row: usize, by: u32) -> u64 {
    lane[row] >> by | lane[row + 1] << (64 - by)
}

/// The first bits of runs in `lane`.
#[inline(always)]
fn firsts(lane: &Lane, row: usize) -> u64 {
    lane[row] & !(lane[row] << 1 | lane[row - 1] >> 63)
}

/// `out[row] = f(row)` for the rows of `words` words and the row after them: a loop without branches, which becomes
/// vector code.
#[inline(always)]
fn fill(out: &mut Lane, words: usize, f: impl Fn(usize) -> u64) {
    // With an iterator this is no vector code, and a scan takes twice as long.
    #[allow(clippy::needless_range_loop)]
    for row in 1..words.min(WORDS) + 2 {
        out[row] = f(row);
    }
}

/// Turns the classes of a block into triggers.
#[inline(always)]
pub(crate) fn combine(masks: &Masks, words: usize, wanted: Wanted, lanes: &mut Lanes) {
    let [token, dash, space] = [Class::Token, Class::Dash, Class::Space].map(|c| masks.lane(c));
    let [colon, slash, backslash] = [Class::Colon, Class::Slash, Class::Backslash].map(|c| masks.lane(c));
    let [hexer, literal, opener] = [Class::Hexer, Class::Literal, Class::Opener].map(|c| masks.lane(c));
    let [run, word, stem, url, flag, mark, dashes, ssn, digits, iban, at, words_lane] = &mut lanes.kinds;

    const { assert!(RUN == 16) };
    let [two, four, eight] = &mut lanes.steps;
    fill(two, words, |r| token[r] & ahead(token, r, 1));
    fill(four, words, |r| two[r] & ahead(two, r, 2));
    fill(eight, words, |r| four[r] & ahead(four, r, 4));
    fill(run, words, |r| eight[r] & ahead(eight, r, 8) & firsts(token, r));

    // Where an escape goes before, the word begins one later.
    fill(word, words, |r| {
        (firsts(token, r) | opener[r]) & literal[r]
            | backslash[r] & !ahead(backslash, r, 1) & ahead(literal, r, 2)
    });
    stem.copy_from_slice(masks.lane(Class::Stem));
    fill(url, words, |r| colon[r] & ahead(slash, r, 1) & ahead(slash, r, 2));
    fill(flag, words, |r| space[r] & ahead(dash, r, 1) & ahead(space, r, 3) & !ahead(space, r, 2));
    fill(mark, words, |r| masks.lane(Class::Mark)[r] | backslash[r] & ahead(hexer, r, 1));
    fill(dashes, words, |r| (1..5).fold(firsts(dash, r), |all, k| all & ahead(dash, r, k)));
    if wanted.numbers {
        let [digit, upper] = [Class::Digit, Class::Upper].map(|c| masks.lane(c));
        fill(two, words, |r| digit[r] & ahead(digit, r, 1));
        fill(four, words, |r| two[r] & ahead(two, r, 2));
        let twelve = eight;
        fill(twelve, words, |r| four[r] & ahead(four, r, 4) & ahead(four, r, 8));
        fill(ssn, words, |r| {
            let area = two[r] & ahead(digit, r, 2) & ahead(dash, r, 3);
            area & ahead(two, r, 4) & ahead(dash, r, 6) & ahead(four, r, 7) & firsts(digit, r)
        });
        fill(digits, words, |r| {
            let grouped = four[r] & (ahead(dash, r, 4) | ahead(space, r, 4)) & ahead(four, r, 5);
            (twelve[r] | grouped) & firsts(digit, r)
        });
        fill(iban, words, |r| {
            let country = upper[r] & ahead(upper, r, 1) & ahead(two, r, 2) & firsts(token, r);
            country & (ahead(space, r, 4) | ahead(dash, r, 4) | ahead(twelve, r, 2))
        });
    } else {
        for lane in [ssn, digits, iban] {
            fill(lane, words, |_| 0);
        }
    }
    let (ats, every) = (masks.lane(Class::At), if wanted.words { !0 } else { 0 });
    fill(at, words, |r| if wanted.at { ats[r] } else { 0 });
    fill(words_lane, words, |r| firsts(token, r) & every);
    let kinds = &lanes.kinds;
    fill(&mut lanes.rare, words, |r| RARE.fold(0, |all, k| all | kinds[k][r]));
}

/// A place to look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trigger {
    pub(crate) kind: Kind,
    pub(crate) at: usize,
    /// Of a [`Kind::Run`], how long it is; 0 where that is not known yet.
    pub(crate) len: usize,
}

/// Calls `visit` for every trigger at or after `from`, kind by kind within each 64 bytes.
#[inline]
pub(crate) fn each(
    level: Level,
    lists: &Wordlists,
    wanted: Wanted,
    text: &[u8],
    from: usize,
    mut visit: impl FnMut(Trigger),
) {
    let mut spare = take();
    let (masks, lanes) = &mut *spare;
    let mut base = from;
    while base < text.len() {
        let words = level.fill(lists, masks, text, base);
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level is only made where the processor has its features.
            #[allow(unsafe_code)]
            Avx512 => unsafe { avx512::combine(masks, words, wanted, lanes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            #[allow(unsafe_code)]
            Avx2 => unsafe { avx2::combine(masks, words, wanted, lanes) },
            Level::Portable => combine(masks, words, wanted, lanes),
        }
        let token = masks.lane(Class::Token);
        for row in 1..=words {
            let start = base + (row - 1) * 64;
            let mut bits = lanes.kinds[0][row];
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let here = u128::from(token[row]) | u128::from(token[row + 1]) << 64;
                let len = (here >> bit).trailing_ones();
                let at = start + bit as usize;
                // A run that reaches the end of what is known may go on.
                let known = len < 128 - bit && at + (len as usize) < text.len();
                visit(Trigger { kind: Kind::Run, at, len: if known { len as usize } else { 0 } });
            }
            let mut lane = |kind: Kind, mut bits: u64| {
                while bits != 0 {
                    visit(Trigger { kind, at: start + bits.trailing_zeros() as usize, len: 0 });
                    bits &= bits - 1;
                }
            };
            lane(Kind::Literal, lanes.kinds[1][row]);
            lane(Kind::Stem, lanes.kinds[2][row]);
            if lanes.rare[row] != 0 {
                for k in RARE {
                    lane(KINDS[k], lanes.kinds[k][row]);
                }
            }
        }
        base += BLOCK;
    }
    SPARE.set(Some(spare));
}

std::thread_local! {
    /// One set of masks a thread: filling new memory would cost more than a short message.
    static SPARE: std::cell::Cell<Option<Box<(Masks, Lanes)>>> = const { std::cell::Cell::new(None) };
}

fn take() -> Box<(Masks, Lanes)> {
    SPARE.take().unwrap_or_else(|| {
        Box::new((
            Masks::new(),
            Lanes { kinds: [[0; ROWS]; KINDS.len()], rare: [0; ROWS], steps: [[0; ROWS]; 3] },
        ))
    })
}
