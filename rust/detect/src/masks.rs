//! The first pass: one bit for every byte and class of bytes, 64 bytes at a time.
//!
//! A table lookup gives the classes, lookups at four bytes in a row the places where a word may begin
//! (`beginnings.rs`). Each level computes the same classes in its own way, and the tests hold them equal.

use crate::avx2;
#[cfg(target_arch = "x86_64")]
use crate::avx512;
use crate::beginnings::Beginnings;
#[cfg(target_arch = "x86_64")]
use ctxproto_once::Once;

/// Words of 64 bytes in one block.
pub(crate) const WORDS: usize = 64;
/// Bytes in one block.
pub(crate) const BLOCK: usize = WORDS * 64;
/// Rows of a lane: the word before the block, the block's words, one after it, and an empty one.
pub(crate) const ROWS: usize = WORDS + 3;

/// One class: a bit for each byte. Row 0 is the word before the block.
pub(crate) type Lane = [u64; ROWS];
/// 64 bytes, and eight after them: a word that begins in them is seen.
pub(crate) type Bytes = [u8; 64 + 8];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Class {
    /// `[A-Za-z0-9_-]`
    Token,
    Digit,
    Dash,
    Space,
    Upper,
    Colon,
    Slash,
    Backslash,
    /// `%`, `&`, control characters that do not end a line, and first bytes of UTF-8 sequences that hide or imitate others: [`LEADS`].
    Mark,
    /// `u`, `x` in either case: after a backslash, a numeric escape.
    Hexer,
    /// `$` and `{`, with which the forms of password hashes begin.
    Opener,
    At,
    /// A key word may begin.
    Stem,
    /// A prefix that no run leads to may begin.
    Literal,
}

/// Classes that one byte decides.
pub(crate) const SINGLE: usize = Class::Stem as usize;
pub(crate) const CLASSES: usize = SINGLE + 2;

/// First bytes of the UTF-8 sequences that zero-width and full-width characters have.
pub(crate) const LEADS: [u8; 7] = [0xC2, 0xCD, 0xCF, 0xE1, 0xE2, 0xEF, 0xF3];

/// The single classes of a byte, a bit each.
const fn classes(b: u8) -> u16 {
    let alnum = b.is_ascii_alphanumeric();
    let mut lead = false;
    let mut i = 0;
    while i < LEADS.len() {
        lead |= LEADS[i] == b;
        i += 1;
    }
    (alnum || b == b'_' || b == b'-') as u16
        | (b.is_ascii_digit() as u16) << Class::Digit as u16
        | ((b == b'-') as u16) << Class::Dash as u16
        | ((b == b' ') as u16) << Class::Space as u16
        | (b.is_ascii_uppercase() as u16) << Class::Upper as u16
        | ((b == b':') as u16) << Class::Colon as u16
        | ((b == b'/') as u16) << Class::Slash as u16
        | ((b == b'\\') as u16) << Class::Backslash as u16
        | ((matches!(b, b'%' | b'&' | 0 | 8 | 0x1b | 0x7f) || lead) as u16) << Class::Mark as u16
        | (matches!(b, b'u' | b'x' | b'U' | b'X') as u16) << Class::Hexer as u16
        | (matches!(b, b'$' | b'{') as u16) << Class::Opener as u16
        | ((b == b'@') as u16) << Class::At as u16
}

/// The single classes of every byte: the first eight, and the rest.
pub(crate) const BYTES: [[u8; 256]; 2] = {
    let mut t = [[0; 256]; 2];
    let mut b = 0;
    while b < 256 {
        [t[0][b], t[1][b]] = classes(b as u8).to_le_bytes();
        b += 1;
    }
    t
};

/// One bit a byte for each class.
#[derive(Debug)]
pub(crate) struct Masks(pub(crate) [Lane; CLASSES]);

impl Masks {
    pub(crate) fn new() -> Self {
        Self([[0; ROWS]; CLASSES])
    }

    pub(crate) fn lane(&self, class: Class) -> &Lane {
        &self.0[class as usize]
    }

    /// Sets row `row` of every class.
    #[inline]
    pub(crate) fn put(&mut self, row: usize, bits: [u64; CLASSES]) {
        for (lane, bits) in self.0.iter_mut().zip(bits) {
            lane[row] = bits;
        }
    }
}

/// What a scan looks for by its beginning.
#[derive(Debug)]
pub(crate) struct Wordlists {
    /// Few words, in either case.
    pub(crate) keys: Beginnings<1>,
    pub(crate) literals: Beginnings<2>,
}

/// What the bits are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Level {
    /// All that this processor has, the best first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![];
        #[cfg(target_arch = "x86_64")]
        {
            if avx512::is_there() {
                all.push(Self::Avx512);
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                all.push(Self::Avx2);
            }
        }
        all.push(Self::Portable);
        all
    }

    pub(crate) fn best() -> Self {
        static BEST: Once<Level> = Once::new(|| Level::all()[0]);
        *BEST
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }

    /// Fills the masks of the block that begins at `base`; returns how many words it has.
    pub(crate) fn fill(self, lists: &Wordlists, masks: &mut Masks, text: &[u8], base: usize) -> usize {
        let before = base.checked_sub(1).map_or(0, |i| classes(text[i]));
        masks.put(0, std::array::from_fn(|class| u64::from(before >> class & 1) << 63));
        let rest = &text[base..];
        let rows = rest.len().div_ceil(64).min(WORDS + 1);
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Avx512` is only made where the processor has the features.
            #[allow(unsafe_code)]
            Self::Avx512 => unsafe { avx512::fill(lists, masks, rest, rows) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Avx2` is only made where the processor has the feature.
            #[allow(unsafe_code)]
            Self::Avx2 => unsafe { avx2::fill(lists, masks, rest, rows) },
            Self::Portable => portable(lists, masks, rest, rows),
        }
        // Rows that are looked at from the last one.
        for row in [rows + 1, rows + 2] {
            if row < ROWS {
                masks.put(row, [0; CLASSES]);
            }
        }
        rows.min(WORDS)
    }

    /// One bit for each of the 64 bytes at which a word may begin.
    pub(crate) fn beginnings<const BANKS: usize>(self, list: &Beginnings<BANKS>, bytes: &Bytes) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            #[allow(unsafe_code)]
            Self::Avx512 => unsafe { avx512::beginnings(list, bytes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            #[allow(unsafe_code)]
            Self::Avx2 => unsafe { avx2::beginnings(list, bytes) },
            Self::Portable => portable_beginnings(list, bytes),
        }
    }
}

/// The bytes of word `w`; past the end of the text there are bytes of no class.
#[inline]
pub(crate) fn word<'a>(text: &'a [u8], w: usize, spare: &'a mut Bytes) -> &'a Bytes {
    let rest = &text[w * 64..];
    rest.first_chunk().unwrap_or_else(|| {
        *spare = padded(rest);
        spare
    })
}

/// `text`, which is shorter, with bytes of no class after it.
#[inline]
pub(crate) fn padded(text: &[u8]) -> Bytes {
    let mut bytes = [1; 64 + 8];
    bytes[..text.len()].copy_from_slice(text);
    bytes
}

fn portable(lists: &Wordlists, masks: &mut Masks, text: &[u8], rows: usize) {
    let mut spare = [0; 64 + 8];
    for w in 0..rows {
        let bytes = word(text, w, &mut spare);
        let mut lanes = [0u64; 16];
        for group in 0..8 {
            for half in 0..2 {
                let row = (0..8).fold(0, |row, i| {
                    row | u64::from(BYTES[half][usize::from(bytes[group * 8 + i])]) << (8 * i)
                });
                for (lane, bits) in lanes[half * 8..].iter_mut().zip(transpose(row).to_le_bytes()) {
                    *lane |= u64::from(bits) << (8 * group);
                }
            }
        }
        lanes[Class::Stem as usize] = portable_beginnings(&lists.keys, bytes);
        lanes[Class::Literal as usize] = portable_beginnings(&lists.literals, bytes);
        masks.put(w + 1, std::array::from_fn(|class| lanes[class]));
    }
}

fn portable_beginnings<const BANKS: usize>(list: &Beginnings<BANKS>, bytes: &Bytes) -> u64 {
    (0..64).fold(0, |bits, i| {
        let four = std::array::from_fn(|k| bytes[i + k]);
        bits | u64::from(list.may(four)) << i
    })
}

/// Turns eight rows of eight bits on their side.
fn transpose(mut x: u64) -> u64 {
    let mut t = (x ^ (x >> 7)) & 0x00AA_00AA_00AA_00AA;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000_CCCC_0000_CCCC;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x0000_0000_F0F0_F0F0;
    x ^ t ^ (t << 28)
}

const _: () = assert!(SINGLE <= 16);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beginnings::start;

    const STEMS: &[&[u8]] =
        &[b"pas", b"pwd", b"sec", b"toke", b"key", b"auth", b"cre", b"$2a", b"xz-", b"s_"];

    fn naive(class: Class, text: &[u8], i: usize) -> bool {
        let b = text[i];
        match class {
            Class::Token => b.is_ascii_alphanumeric() || b == b'_' || b == b'-',
            Class::Digit => b.is_ascii_digit(),
            Class::Dash => b == b'-',
            Class::Space => b == b' ',
            Class::Upper => b.is_ascii_uppercase(),
            Class::Colon => b == b':',
            Class::Slash => b == b'/',
            Class::Backslash => b == b'\\',
            Class::Mark => matches!(b, b'%' | b'&' | 0 | 8 | 0x1b | 0x7f) || LEADS.contains(&b),
            Class::Hexer => matches!(b, b'u' | b'U' | b'x' | b'X'),
            Class::Opener => b == b'$' || b == b'{',
            Class::At => b == b'@',
            Class::Literal => STEMS.iter().any(|s| text[i..].starts_with(s)),
            Class::Stem => STEMS
                .iter()
                .any(|s| text[i..].len() >= s.len() && text[i..i + s.len()].eq_ignore_ascii_case(s)),
        }
    }

    const ALL: [Class; CLASSES] = [
        Class::Token,
        Class::Digit,
        Class::Dash,
        Class::Space,
        Class::Upper,
        Class::Colon,
        Class::Slash,
        Class::Backslash,
        Class::Mark,
        Class::Hexer,
        Class::Opener,
        Class::At,
        Class::Stem,
        Class::Literal,
    ];

    #[test]
    fn every_level_gives_the_same_bits_at_every_length() {
        let mut x = 7u64;
        let starts = |any_case| STEMS.iter().map(move |s| start(s, None, any_case));
        let lists =
            Wordlists { keys: Beginnings::new(starts(true)), literals: Beginnings::new(starts(false)) };
        for n in (0..300).chain([BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 63, BLOCK + 64, BLOCK + 200]) {
            let text: Vec<u8> = (0..n)
                .map(|_| {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let b = (x >> 33) as u8;
                    if b & 1 == 0 { b"paswdekyto$2xzEN"[usize::from(b >> 4)] } else { (x >> 45) as u8 }
                })
                .collect();
            for (level, base) in Level::all().into_iter().flat_map(|l| [(l, 0), (l, n.min(1)), (l, n)]) {
                let mut masks = Masks::new();
                masks.0.iter_mut().for_each(|lane| lane.fill(!0));
                let words = level.fill(&lists, &mut masks, &text, base);
                assert_eq!(words, (n - base).div_ceil(64).min(WORDS));
                for class in ALL {
                    let filter = matches!(class, Class::Stem | Class::Literal);
                    // One word beyond the block is there too, and an empty one beyond the text.
                    for i in 0..(words + 1) * 64 {
                        let got = masks.lane(class)[i / 64 + 1] >> (i % 64) & 1 != 0;
                        let want = base + i < n && naive(class, &text, base + i);
                        // A filter may say yes too often, never no wrongly.
                        assert!(got == want || filter && got, "{class:?} at {i} of {n}, {level:?}");
                    }
                    let before = masks.lane(class)[0] >> 63 != 0;
                    assert!(filter || before == (base > 0 && naive(class, &text, base - 1)));
                }
                let mut spare = [0; 64 + 8];
                if n >= 70 {
                    let bits = level.beginnings(&lists.keys, word(&text, 1, &mut spare));
                    for i in (64..128.min(n)).filter(|&i| naive(Class::Stem, &text, i)) {
                        assert!(bits >> (i - 64) & 1 != 0);
                    }
                }
            }
        }
    }
}
