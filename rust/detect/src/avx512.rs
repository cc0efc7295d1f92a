//! The masks with 512-bit vectors: a table of 128 entries is one instruction (VBMI).
#![allow(unsafe_code)] // unaligned loads, and calls that need a processor feature; see `avx2.rs`

use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_cmpeq_epi8_mask, _mm512_loadu_si512, _mm512_mask_mov_epi8,
    _mm512_maskz_permutex2var_epi8, _mm512_movepi8_mask, _mm512_permutex2var_epi8, _mm512_set1_epi8,
    _mm512_test_epi8_mask,
};

use crate::beginnings::{Beginnings, PLACES};
use crate::masks::{BYTES, Bytes, CLASSES, Class, LEADS, Masks, SINGLE, Wordlists, word};
use crate::triggers::{self, Lanes, Wanted};

/// Whether the processor has all that is used here.
pub(crate) fn is_there() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vbmi")
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn load(bytes: &[u8]) -> __m512i {
    let bytes: &[u8; 64] = bytes.first_chunk().expect("callers slice 64 bytes or more");
    // SAFETY: 64 bytes are readable behind the reference; the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// A table of the ASCII characters, in two halves.
#[derive(Clone, Copy)]
struct Table(__m512i, __m512i);

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn table(bytes: &[u8; 256]) -> Table {
    Table(load(bytes), load(&bytes[64..]))
}

/// Tables of a list's banks and places, and the entry of what is beyond them.
type List<const BANKS: usize> = [[(Table, __m512i); PLACES]; BANKS];

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn list<const BANKS: usize>(list: &Beginnings<BANKS>) -> List<BANKS> {
    std::array::from_fn(|bank| {
        std::array::from_fn(|place| {
            let beyond = list.beyond[place][bank].cast_signed();
            (table(&list.exact[place][bank]), _mm512_set1_epi8(beyond))
        })
    })
}

/// 64 bytes from each of the places on, and which of them are beyond ASCII.
struct Places {
    bytes: [__m512i; PLACES],
    wide: [u64; PLACES],
    ascii: bool,
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn places(bytes: &Bytes) -> Places {
    let bytes: [__m512i; PLACES] = std::array::from_fn(|i| load(&bytes[i..]));
    let wide = bytes.map(|b| _mm512_movepi8_mask(b));
    const { assert!(PLACES == 4) };
    Places { bytes, wide, ascii: wide[0] | wide[3] == 0 }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn may_begin<const BANKS: usize>(list: &List<BANKS>, at: &Places) -> u64 {
    let mut hits = 0;
    for bank in list {
        let found: [__m512i; PLACES] = std::array::from_fn(|place| {
            let (Table(low, high), beyond) = bank[place];
            let found = _mm512_permutex2var_epi8(low, at.bytes[place], high);
            if at.ascii { found } else { _mm512_mask_mov_epi8(found, at.wide[place], beyond) }
        });
        let one = _mm512_and_si512(found[0], found[1]);
        let two = _mm512_and_si512(found[2], found[3]);
        hits |= _mm512_test_epi8_mask(one, two);
    }
    hits
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn fill(lists: &Wordlists, masks: &mut Masks, text: &[u8], rows: usize) {
    let (keys, literals) = (list(&lists.keys), list(&lists.literals));
    let (first, second) = (table(&BYTES[0]), table(&BYTES[1]));
    let mut spare = [0; 64 + 8];
    for w in 0..rows {
        let at = places(word(text, w, &mut spare));
        let mut lanes = [0u64; CLASSES];
        let one = _mm512_maskz_permutex2var_epi8(!at.wide[0], first.0, at.bytes[0], first.1);
        let two = _mm512_maskz_permutex2var_epi8(!at.wide[0], second.0, at.bytes[0], second.1);
        for (class, lane) in lanes[..SINGLE].iter_mut().enumerate() {
            let bit = _mm512_set1_epi8((1u8 << (class % 8)).cast_signed());
            *lane = _mm512_test_epi8_mask(if class < 8 { one } else { two }, bit);
        }
        if at.wide[0] != 0 {
            for lead in LEADS {
                let lead = _mm512_set1_epi8(lead.cast_signed());
                lanes[Class::Mark as usize] |= _mm512_cmpeq_epi8_mask(at.bytes[0], lead);
            }
        }
        lanes[Class::Stem as usize] = may_begin(&keys, &at);
        lanes[Class::Literal as usize] = may_begin(&literals, &at);
        masks.put(w + 1, lanes);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn beginnings<const BANKS: usize>(of: &Beginnings<BANKS>, bytes: &Bytes) -> u64 {
    may_begin(&list(of), &places(bytes))
}

/// [`triggers::combine`], compiled for these vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn combine(masks: &Masks, words: usize, wanted: Wanted, lanes: &mut Lanes) {
    triggers::combine(masks, words, wanted, lanes);
}
