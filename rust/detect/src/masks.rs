//! The first pass: one bit for every byte and class of bytes, 64 bytes at a time.
//!
//! Two shuffles by nibble give sixteen classes; a third pair of tables, one for each of three bytes in a row, gives the
//! places where a key word may begin (the "Teddy" idea of Hyperscan, with both cases in the same tables). The portable
//! version computes the same bits by table and 8x8 bit transposition, and the tests hold the two equal.

/// Words of 64 bytes in one block.
pub(crate) const WORDS: usize = 64;
/// Bytes in one block.
pub(crate) const BLOCK: usize = WORDS * 64;

/// The classes. The first eight come from the first pair of nibble tables, the next eight from the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Class {
    /// `[A-Za-z0-9_-]`
    Token,
    Digit,
    Dash,
    Space,
    Upper,
    At,
    Colon,
    Slash,
    Percent,
    Amp,
    Backslash,
    Escape,
    /// First bytes of the UTF-8 sequences that zero-width and full-width characters have.
    Lead,
    /// `u`, `x` in either case: after a backslash, a numeric escape.
    Hexer,
    Dot,
    /// `$` and `{`, with which the forms of password hashes begin.
    Opener,
    /// The first byte of a key word, as far as three bytes tell.
    Stem,
    /// The first byte of a prefix that no run leads to, as far as three bytes tell.
    Literal,
}

const CLASSES: usize = 18;

/// One bit a byte for each class, for a block and one word beyond it.
#[derive(Debug)]
pub(crate) struct Masks([[u64; WORDS + 1]; CLASSES]);

impl Masks {
    pub(crate) fn new() -> Self {
        Self([[0; WORDS + 1]; CLASSES])
    }

    /// The bits of word `w` and of the one after it.
    #[inline]
    pub(crate) fn pair(&self, class: Class, w: usize) -> u128 {
        let lane = &self.0[class as usize];
        u128::from(lane[w]) | u128::from(lane[w + 1]) << 64
    }
}

/// What the bits are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Level {
    /// The best this processor has.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        Self::Portable
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }

    /// Fills the masks of the first [`BLOCK`] + 64 bytes of `text`, or of as many as there are.
    pub(crate) fn fill(self, stems: &Beginnings, masks: &mut Masks, text: &[u8]) -> usize {
        let text = &text[..text.len().min(BLOCK + 64)];
        let whole = text.len() / 64;
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Avx2` is only made where the processor has the feature.
            #[allow(unsafe_code)]
            Self::Avx2 => unsafe { avx2::fill(stems, masks, text, whole) },
            Self::Portable => portable(stems, masks, text, whole),
        }
        // The last word may be part of one: its missing bytes are zeros, which are in no class.
        let rest = &text[whole * 64..];
        if whole <= WORDS {
            let mut last = [0u8; 66];
            last[..rest.len()].copy_from_slice(rest);
            portable_word(stems, masks, whole, &last);
            if let Some(next) = (whole < WORDS).then_some(whole + 1) {
                masks.0.iter_mut().for_each(|lane| lane[next] = 0);
            }
        }
        text.len().div_ceil(64).min(WORDS)
    }
}

/// Three-byte beginnings as tables of eight buckets: for each of the three places, the buckets that a byte may belong
/// to. A byte triple that shares a bucket in all three may be one of the beginnings.
#[derive(Debug)]
pub(crate) struct Stems {
    low: [[u8; 16]; 3],
    high: [[u8; 16]; 3],
}

impl Stems {
    /// Tables that find each of `stems`; with `any_case`, in either case (`stems` are lower case then).
    pub(crate) fn new(stems: &[[u8; 3]], any_case: bool) -> Self {
        let mut t = Self { low: [[0; 16]; 3], high: [[0; 16]; 3] };
        let mut sorted = stems.to_vec();
        sorted.sort_unstable();
        // Neighbours share a bucket: the fewer first letters in one, the fewer others pass by mixing nibbles.
        let each = sorted.len().div_ceil(8).max(1);
        for (n, stem) in sorted.iter().enumerate() {
            let bucket = 1u8 << (n / each);
            for (i, &letter) in stem.iter().enumerate() {
                let other = if any_case { letter.to_ascii_uppercase() } else { letter };
                for b in [letter, other] {
                    t.low[i][usize::from(b & 15)] |= bucket;
                    t.high[i][usize::from(b >> 4)] |= bucket;
                }
            }
        }
        t
    }

    fn of(&self, i: usize, b: u8) -> u8 {
        self.low[i][usize::from(b & 15)] & self.high[i][usize::from(b >> 4)]
    }
}

/// The two sets of beginnings a policy looks for.
#[derive(Debug)]
pub(crate) struct Beginnings {
    pub(crate) keys: Stems,
    pub(crate) literals: Stems,
}

/// Nibble tables: a byte is in a class when its low-nibble and high-nibble entries share the class's bit.
struct Nibbles {
    low: [u8; 16],
    high: [u8; 16],
}

/// Bits of the first table: parts of the token alphabet, told apart where a trigger needs it.
const LETTERS_1: u8 = 1; // a-o A-O
const LETTERS_2: u8 = 2; // p-z P-Z
const DIGITS: u8 = 4;
const DASH: u8 = 8;
const UNDERSCORE: u8 = 16;
const SPACE: u8 = 32;
const AT: u8 = 64;
const COLON: u8 = 128;

const fn table_1() -> Nibbles {
    let mut t = Nibbles { low: [0; 16], high: [0; 16] };
    let mut n = 0;
    while n < 16 {
        if n >= 1 {
            t.low[n] |= LETTERS_1;
        }
        if n <= 10 {
            t.low[n] |= LETTERS_2;
        }
        if n <= 9 {
            t.low[n] |= DIGITS;
        }
        n += 1;
    }
    t.high[4] |= LETTERS_1 | AT;
    t.high[6] |= LETTERS_1;
    t.high[5] |= LETTERS_2 | UNDERSCORE;
    t.high[7] |= LETTERS_2;
    t.high[3] |= DIGITS | COLON;
    t.high[2] |= DASH | SPACE;
    t.low[0xD] |= DASH;
    t.low[0xF] |= UNDERSCORE;
    t.low[0] |= SPACE | AT;
    t.low[0xA] |= COLON;
    t
}

/// The second table's classes, in the order of [`Class::Slash`] onward.
const fn table_2() -> Nibbles {
    let mut t = Nibbles { low: [0; 16], high: [0; 16] };
    let single: [u8; 5] = [b'/', b'%', b'&', b'\\', 0x1b];
    let mut k = 0;
    while k < single.len() {
        t.low[(single[k] & 15) as usize] |= 1 << k;
        t.high[(single[k] >> 4) as usize] |= 1 << k;
        k += 1;
    }
    // E2 and EF (C2, CF come along; the check behind the trigger sorts them out).
    t.low[2] |= 1 << 5;
    t.low[15] |= 1 << 5;
    t.high[0xE] |= 1 << 5;
    t.high[0xC] |= 1 << 5;
    // u, x, U, X
    t.low[5] |= 1 << 6;
    t.low[8] |= 1 << 6;
    t.high[7] |= 1 << 6;
    t.high[5] |= 1 << 6;
    t.low[14] |= 1 << 7;
    t.high[2] |= 1 << 7;
    t
}

const TABLE_1: Nibbles = table_1();
const TABLE_2: Nibbles = table_2();

/// The class bits of one byte by both tables: the first eight as [`Class`] numbers them.
const fn bits(b: u8) -> (u8, u8) {
    let one = TABLE_1.low[(b & 15) as usize] & TABLE_1.high[(b >> 4) as usize];
    let two = TABLE_2.low[(b & 15) as usize] & TABLE_2.high[(b >> 4) as usize];
    let token = one & (LETTERS_1 | LETTERS_2 | DIGITS | DASH | UNDERSCORE) != 0;
    let upper = b >= b'A' && b <= b'Z';
    let first = token as u8
        | ((one & DIGITS != 0) as u8) << 1
        | ((one & DASH != 0) as u8) << 2
        | ((one & SPACE != 0) as u8) << 3
        | (upper as u8) << 4
        | ((one & AT != 0) as u8) << 5
        | ((one & COLON != 0) as u8) << 6
        | (two & 1) << 7;
    (first, two >> 1)
}

const BYTES: [(u8, u8); 256] = {
    let mut t = [(0, 0); 256];
    let mut b = 0;
    while b < 256 {
        t[b] = bits(b as u8);
        b += 1;
    }
    t
};

/// Turns eight rows of eight bits on their side.
fn transpose(mut x: u64) -> u64 {
    let mut t = (x ^ (x >> 7)) & 0x00AA_00AA_00AA_00AA;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000_CCCC_0000_CCCC;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x0000_0000_F0F0_F0F0;
    x ^ t ^ (t << 28)
}

fn portable(stems: &Beginnings, masks: &mut Masks, text: &[u8], whole: usize) {
    for w in 0..whole {
        let end = text.len().min(w * 64 + 66);
        let mut word = [0u8; 66];
        word[..end - w * 64].copy_from_slice(&text[w * 64..end]);
        portable_word(stems, masks, w, &word);
    }
}

/// The bits of 64 bytes; two more are there for the stems that begin at the end.
fn portable_word(stems: &Beginnings, masks: &mut Masks, w: usize, word: &[u8; 66]) {
    let mut lanes = [0u64; CLASSES];
    for group in 0..8 {
        let mut rows = [0u64; 2];
        for i in 0..8 {
            let (first, second) = BYTES[usize::from(word[group * 8 + i])];
            rows[0] |= u64::from(first) << (8 * i);
            rows[1] |= u64::from(second) << (8 * i);
        }
        for (half, row) in rows.into_iter().enumerate() {
            let turned = transpose(row).to_le_bytes();
            for (lane, bits) in lanes[half * 8..].iter_mut().zip(turned) {
                *lane |= u64::from(bits) << (8 * group);
            }
        }
    }
    let mut stem = 0u64;
    let mut literal = 0u64;
    let mut opener = 0u64;
    for i in 0..64 {
        opener |= u64::from(matches!(word[i], b'$' | b'{')) << i;
        let hit = |t: &Stems| t.of(0, word[i]) & t.of(1, word[i + 1]) & t.of(2, word[i + 2]) != 0;
        stem |= u64::from(hit(&stems.keys)) << i;
        literal |= u64::from(hit(&stems.literals)) << i;
    }
    lanes[Class::Stem as usize] = stem;
    lanes[Class::Literal as usize] = literal;
    lanes[Class::Opener as usize] = opener;
    for (lane, bits) in masks.0.iter_mut().zip(lanes) {
        lane[w] = bits;
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    //! The only unsafe code of the crate: unaligned loads, and calls that need a processor feature. Without it clean
    //! logs pass at the portable version's speed, several times slower (`benches/`).

    use std::arch::x86_64::{
        __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
        _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
        _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi16, _mm256_srli_epi16,
    };

    use super::{
        AT, Beginnings, CLASSES, COLON, Class, DASH, DIGITS, LETTERS_1, LETTERS_2, Masks, Nibbles, SPACE,
        Stems, TABLE_1, TABLE_2, UNDERSCORE,
    };

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 32]) -> __m256i {
        // SAFETY: 32 bytes are readable behind the reference; the load needs no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn table(bytes: &[u8; 16]) -> __m256i {
        // SAFETY: 16 bytes are readable behind the reference; the load needs no alignment.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn look_up(bytes: __m256i, low: __m256i, high: __m256i) -> __m256i {
        let nibble = _mm256_set1_epi8(15);
        let lower = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, nibble));
        let upper = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble));
        _mm256_and_si256(lower, upper)
    }

    /// One bit a byte that shares a bit with `wanted`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn any_of(bytes: __m256i, wanted: u8) -> u32 {
        let none = _mm256_cmpeq_epi8(
            _mm256_and_si256(bytes, _mm256_set1_epi8(wanted.cast_signed())),
            _mm256_setzero_si256(),
        );
        !_mm256_movemask_epi8(none).cast_unsigned()
    }

    /// Bit `7 - LEFT` of every byte.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bit<const LEFT: i32>(bytes: __m256i) -> u32 {
        _mm256_movemask_epi8(_mm256_slli_epi16::<LEFT>(bytes)).cast_unsigned()
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn fill(stems: &Beginnings, masks: &mut Masks, text: &[u8], whole: usize) {
        let nibbles = |t: &Nibbles| (table(&t.low), table(&t.high));
        let (low_1, high_1) = nibbles(&TABLE_1);
        let (low_2, high_2) = nibbles(&TABLE_2);
        let tables = |t: &Stems| [0, 1, 2].map(|i| (table(&t.low[i]), table(&t.high[i])));
        let (key, literal) = (tables(&stems.keys), tables(&stems.literals));
        for w in 0..whole {
            let mut lanes = [0u64; CLASSES];
            for half in 0..2 {
                let at = w * 64 + half * 32;
                let here: &[u8; 32] = text[at..at + 32].first_chunk().expect("32 bytes were sliced");
                let bytes = load(here);
                let mut put =
                    |class: Class, bits: u32| lanes[class as usize] |= u64::from(bits) << (32 * half);

                let one = look_up(bytes, low_1, high_1);
                put(Class::Token, any_of(one, LETTERS_1 | LETTERS_2 | DIGITS | DASH | UNDERSCORE));
                put(Class::Digit, bit::<5>(one));
                put(Class::Dash, bit::<4>(one));
                put(Class::Space, bit::<2>(one));
                put(Class::At, bit::<1>(one));
                put(Class::Colon, bit::<0>(one));
                let above = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0x40));
                let below = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x5b), bytes);
                put(Class::Upper, _mm256_movemask_epi8(_mm256_and_si256(above, below)).cast_unsigned());

                let two = look_up(bytes, low_2, high_2);
                put(Class::Slash, bit::<7>(two));
                put(Class::Percent, bit::<6>(two));
                put(Class::Amp, bit::<5>(two));
                put(Class::Backslash, bit::<4>(two));
                put(Class::Escape, bit::<3>(two));
                put(Class::Lead, bit::<2>(two));
                put(Class::Hexer, bit::<1>(two));
                put(Class::Dot, bit::<0>(two));
                let dollar = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x24));
                let brace = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7b));
                put(Class::Opener, _mm256_movemask_epi8(_mm256_or_si256(dollar, brace)).cast_unsigned());

                // The second and third letters: the same bytes one and two places on.
                let mut keys = look_up(bytes, key[0].0, key[0].1);
                let mut literals = look_up(bytes, literal[0].0, literal[0].1);
                for i in 1..3 {
                    let shifted =
                        if let Some(shifted) = text.get(at + i..at + i + 32).and_then(<[u8]>::first_chunk) {
                            load(shifted)
                        } else {
                            let mut tail = [0u8; 32];
                            let rest = &text[at + i..];
                            tail[..rest.len()].copy_from_slice(rest);
                            load(&tail)
                        };
                    keys = _mm256_and_si256(keys, look_up(shifted, key[i].0, key[i].1));
                    literals = _mm256_and_si256(literals, look_up(shifted, literal[i].0, literal[i].1));
                }
                put(Class::Stem, any_of(keys, 0xff));
                put(Class::Literal, any_of(literals, 0xff));
            }
            for (lane, bits) in masks.0.iter_mut().zip(lanes) {
                lane[w] = bits;
            }
        }
        const { assert!(SPACE == 32 && AT == 64 && COLON == 128 && DIGITS == 4 && DASH == 8) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEMS: &[[u8; 3]] =
        &[*b"pas", *b"pwd", *b"sec", *b"tok", *b"key", *b"aut", *b"cre", *b"$2a", *b"xz-"];

    fn levels() -> Vec<Level> {
        let mut all = vec![Level::Portable];
        if Level::detect() != Level::Portable {
            all.push(Level::detect());
        }
        all
    }

    fn naive(class: Class, text: &[u8], i: usize) -> bool {
        let b = text[i];
        match class {
            Class::Token => b.is_ascii_alphanumeric() || b == b'_' || b == b'-',
            Class::Digit => b.is_ascii_digit(),
            Class::Dash => b == b'-',
            Class::Space => b == b' ',
            Class::Upper => b.is_ascii_uppercase(),
            Class::At => b == b'@',
            Class::Colon => b == b':',
            Class::Slash => b == b'/',
            Class::Percent => b == b'%',
            Class::Amp => b == b'&',
            Class::Backslash => b == b'\\',
            Class::Escape => b == 0x1b,
            Class::Lead => matches!(b, 0xE2 | 0xEF | 0xC2 | 0xCF),
            Class::Hexer => matches!(b, b'u' | b'U' | b'x' | b'X'),
            Class::Dot => b == b'.',
            Class::Opener => b == b'$' || b == b'{',
            Class::Literal => STEMS.iter().any(|s| text[i..].starts_with(s)),
            Class::Stem => {
                STEMS.iter().any(|s| text[i..].len() >= 3 && text[i..i + 3].eq_ignore_ascii_case(s))
            }
        }
    }

    const ALL: [Class; CLASSES] = [
        Class::Token,
        Class::Digit,
        Class::Dash,
        Class::Space,
        Class::Upper,
        Class::At,
        Class::Colon,
        Class::Slash,
        Class::Percent,
        Class::Amp,
        Class::Backslash,
        Class::Escape,
        Class::Lead,
        Class::Hexer,
        Class::Dot,
        Class::Opener,
        Class::Stem,
        Class::Literal,
    ];

    #[test]
    fn every_level_gives_the_same_bits_at_every_length() {
        let mut x = 7u64;
        let beginnings = Beginnings { keys: Stems::new(STEMS, true), literals: Stems::new(STEMS, false) };
        for n in (0..300).chain([BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 63, BLOCK + 64, BLOCK + 200]) {
            let text: Vec<u8> = (0..n)
                .map(|_| {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let b = (x >> 33) as u8;
                    if b & 1 == 0 { b"paswdekyto$2xzEN"[usize::from(b >> 4)] } else { (x >> 45) as u8 }
                })
                .collect();
            let seen = &text[..n.min(BLOCK + 64)];
            for level in levels() {
                let mut masks = Masks::new();
                masks.0.iter_mut().for_each(|lane| lane.fill(!0));
                level.fill(&beginnings, &mut masks, &text);
                for class in ALL {
                    // One word beyond the text is read too.
                    for i in 0..((seen.len() / 64 + 2) * 64).min((WORDS + 1) * 64) {
                        let got = masks.0[class as usize][i / 64] >> (i % 64) & 1 != 0;
                        if matches!(class, Class::Stem | Class::Literal) {
                            // A filter: it may say yes too often, never no wrongly.
                            let want = i < seen.len() && naive(class, seen, i);
                            assert!(got || !want, "{class:?} at {i} of {n}, {level:?}");
                        } else {
                            let want = i < seen.len() && naive(class, seen, i);
                            assert_eq!(got, want, "{class:?} at {i} of {n}, {level:?}");
                        }
                    }
                }
            }
        }
    }
}
