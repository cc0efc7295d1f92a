//! The masks with 256-bit vectors: tables of sixteen entries, by a byte's low and high half.
#![allow(unsafe_code)] // unaligned loads, and calls that need a processor feature. Without the two vector files clean
// logs pass at the portable version's speed, several times slower (`benches/`).

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
    _mm256_cmpgt_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use crate::beginnings::{Beginnings, PLACES};
use crate::masks::{Bytes, CLASSES, Class, LEADS, Masks, Wordlists, word};
use crate::triggers::{self, Lanes, Wanted};

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8]) -> __m256i {
    let bytes: &[u8; 32] = bytes.first_chunk().expect("callers slice 32 bytes or more");
    // SAFETY: 32 bytes are readable behind the reference; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn table(bytes: &[u8; 16]) -> __m256i {
    // SAFETY: 16 bytes are readable behind the reference; the load needs no alignment.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

/// The low and the high halves of 32 bytes.
type Halves = (__m256i, __m256i);

#[inline]
#[target_feature(enable = "avx2")]
fn halves(bytes: __m256i) -> Halves {
    let half = _mm256_set1_epi8(15);
    (_mm256_and_si256(bytes, half), _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half))
}

#[inline]
#[target_feature(enable = "avx2")]
fn look_up(bytes: Halves, tables: (__m256i, __m256i)) -> __m256i {
    _mm256_and_si256(_mm256_shuffle_epi8(tables.0, bytes.0), _mm256_shuffle_epi8(tables.1, bytes.1))
}

/// One bit a byte that is not zero.
#[inline]
#[target_feature(enable = "avx2")]
fn any(bytes: __m256i) -> u32 {
    !_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal(bytes: __m256i, b: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b.cast_signed()))
}

type List<const BANKS: usize> = [[(__m256i, __m256i); PLACES]; BANKS];

#[inline]
#[target_feature(enable = "avx2")]
fn list<const BANKS: usize>(list: &Beginnings<BANKS>) -> List<BANKS> {
    std::array::from_fn(|bank| {
        std::array::from_fn(|place| (table(&list.low[place][bank]), table(&list.high[place][bank])))
    })
}

#[inline]
#[target_feature(enable = "avx2")]
fn may_begin<const BANKS: usize>(list: &List<BANKS>, bytes: &[Halves; PLACES]) -> u32 {
    let mut hits = _mm256_setzero_si256();
    for bank in list {
        let one = _mm256_and_si256(look_up(bytes[0], bank[0]), look_up(bytes[1], bank[1]));
        let two = _mm256_and_si256(look_up(bytes[2], bank[2]), look_up(bytes[3], bank[3]));
        hits = _mm256_or_si256(hits, _mm256_and_si256(one, two));
    }
    const { assert!(PLACES == 4) };
    any(hits)
}

/// Parts of the token alphabet, each a rectangle of low and high halves.
const A_TO_O: u8 = 1;
const P_TO_Z: u8 = 2;
const DIGITS: u8 = 4;
const DASH: u8 = 8;
const UNDERSCORE: u8 = 16;
const TOKEN: u8 = A_TO_O | P_TO_Z | DIGITS | DASH | UNDERSCORE;
/// `u` and `x`, in either case.
const HEXER: u8 = 32;

const PARTS: ([u8; 16], [u8; 16]) = {
    let (mut low, mut high) = ([0; 16], [0; 16]);
    let mut n = 0;
    while n < 16 {
        low[n] = (if n >= 1 { A_TO_O } else { 0 })
            | (if n <= 10 { P_TO_Z } else { 0 })
            | (if n <= 9 { DIGITS } else { 0 });
        n += 1;
    }
    high[4] = A_TO_O;
    high[6] = A_TO_O;
    high[5] = P_TO_Z | UNDERSCORE | HEXER;
    high[7] = P_TO_Z | HEXER;
    high[3] = DIGITS;
    high[2] = DASH;
    low[0xD] |= DASH;
    low[0xF] |= UNDERSCORE;
    low[0x5] |= HEXER;
    low[0x8] |= HEXER;
    (low, high)
};

#[target_feature(enable = "avx2")]
pub(crate) fn fill(lists: &Wordlists, masks: &mut Masks, text: &[u8], rows: usize) {
    let (keys, literals) = (list(&lists.keys), list(&lists.literals));
    let parts = (table(&PARTS.0), table(&PARTS.1));
    let mut spare = [0; 64 + 8];
    for w in 0..rows {
        let word = word(text, w, &mut spare);
        let mut lanes = [0u64; CLASSES];
        for half in 0..2 {
            let bytes = load(&word[32 * half..]);
            let nibbles: [Halves; PLACES] = std::array::from_fn(|i| halves(load(&word[32 * half + i..])));
            let mut put = |class: Class, bits: u32| lanes[class as usize] |= u64::from(bits) << (32 * half);
            let is = |b: u8| _mm256_movemask_epi8(equal(bytes, b)).cast_unsigned();

            let part = look_up(nibbles[0], parts);
            let of = |bits: u8| any(_mm256_and_si256(part, _mm256_set1_epi8(bits.cast_signed())));
            put(Class::Token, of(TOKEN));
            put(Class::Digit, of(DIGITS));
            put(Class::Hexer, of(HEXER));
            put(Class::Dash, is(b'-'));
            put(Class::Space, is(b' '));
            put(Class::Colon, is(b':'));
            put(Class::Slash, is(b'/'));
            put(Class::Backslash, is(b'\\'));
            put(Class::At, is(b'@'));
            put(Class::Opener, is(b'$') | is(b'{'));
            let above = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0x40));
            let below = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x5b), bytes);
            put(Class::Upper, _mm256_movemask_epi8(_mm256_and_si256(above, below)).cast_unsigned());
            put(Class::Mark, is(b'%') | is(b'&') | is(0) | is(8) | is(0x1b) | is(0x7f));
            if _mm256_movemask_epi8(bytes) != 0 {
                for lead in LEADS {
                    put(Class::Mark, is(lead));
                }
            }
            put(Class::Stem, may_begin(&keys, &nibbles));
            put(Class::Literal, may_begin(&literals, &nibbles));
        }
        masks.put(w + 1, lanes);
    }
}

#[target_feature(enable = "avx2")]
pub(crate) fn beginnings<const BANKS: usize>(of: &Beginnings<BANKS>, bytes: &Bytes) -> u64 {
    let list = list(of);
    (0..2).fold(0, |bits, half| {
        let nibbles: [Halves; PLACES] = std::array::from_fn(|i| halves(load(&bytes[32 * half + i..])));
        bits | u64::from(may_begin(&list, &nibbles)) << (32 * half)
    })
}

/// [`triggers::combine`], compiled for these vectors.
#[target_feature(enable = "avx2")]
pub(crate) fn combine(masks: &Masks, words: usize, wanted: Wanted, lanes: &mut Lanes) {
    triggers::combine(masks, words, wanted, lanes);
}
