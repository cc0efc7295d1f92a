//! The masks with 512-bit vectors: a table of 128 entries is one instruction (VBMI).
#![allow(unsafe_code)] // unaligned loads, and calls that need a processor feature; see `avx2.rs`

use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_cmpeq_epi8_mask, _mm512_loadu_si512, _mm512_mask_mov_epi8,
    _mm512_maskz_permutex2var_epi8, _mm512_movepi8_mask, _mm512_permutex2var_epi8, _mm512_set1_epi8,
    _mm512_test_epi8_mask,
};

use crate::beginnings::{BANKS, Beginnings, PLACES};
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

/// Tables of a list's places and banks, and the entry of what is beyond them.
type List = [[(Table, __m512i); BANKS]; PLACES];

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn list(list: &Beginnings) -> List {
    std::array::from_fn(|place| {
        std::array::from_fn(|bank| {
            let beyond = list.beyond[place][bank].cast_signed();
            (table(&list.exact[place][bank]), _mm512_set1_epi8(beyond))
        })
    })
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn may_begin(list: &List, bytes: &[__m512i; PLACES], wide: &[u64; PLACES]) -> u64 {
    let mut hits = 0;
    for bank in 0..BANKS {
        let look_up = |place: usize| {
            let (Table(low, high), beyond) = list[place][bank];
            let found = _mm512_permutex2var_epi8(low, bytes[place], high);
            _mm512_mask_mov_epi8(found, wide[place], beyond)
        };
        let one = _mm512_and_si512(look_up(0), look_up(1));
        let two = _mm512_and_si512(look_up(2), look_up(3));
        hits |= _mm512_test_epi8_mask(one, two);
    }
    const { assert!(PLACES == 4) };
    hits
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn places(bytes: &Bytes) -> ([__m512i; PLACES], [u64; PLACES]) {
    let bytes: [__m512i; PLACES] = std::array::from_fn(|i| load(&bytes[i..]));
    (bytes, bytes.map(|b| _mm512_movepi8_mask(b)))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn fill(lists: &Wordlists, masks: &mut Masks, text: &[u8], rows: usize) {
    let (keys, literals) = (list(&lists.keys), list(&lists.literals));
    let (first, second) = (table(&BYTES[0]), table(&BYTES[1]));
    let mut spare = [0; 64 + 8];
    for w in 0..rows {
        let (bytes, wide) = places(word(text, w, &mut spare));
        let mut lanes = [0u64; CLASSES];
        let one = _mm512_maskz_permutex2var_epi8(!wide[0], first.0, bytes[0], first.1);
        let two = _mm512_maskz_permutex2var_epi8(!wide[0], second.0, bytes[0], second.1);
        for (class, lane) in lanes[..SINGLE].iter_mut().enumerate() {
            let bit = _mm512_set1_epi8((1u8 << (class % 8)).cast_signed());
            *lane = _mm512_test_epi8_mask(if class < 8 { one } else { two }, bit);
        }
        if wide[0] != 0 {
            for lead in LEADS {
                let lead = _mm512_set1_epi8(lead.cast_signed());
                lanes[Class::Mark as usize] |= _mm512_cmpeq_epi8_mask(bytes[0], lead);
            }
        }
        lanes[Class::Stem as usize] = may_begin(&keys, &bytes, &wide);
        lanes[Class::Literal as usize] = may_begin(&literals, &bytes, &wide);
        masks.put(w + 1, lanes);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn beginnings(of: &Beginnings, bytes: &Bytes) -> u64 {
    let (bytes, wide) = places(bytes);
    may_begin(&list(of), &bytes, &wide)
}

/// [`triggers::combine`], compiled for these vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn combine(masks: &Masks, words: usize, wanted: Wanted, lanes: &mut Lanes) {
    triggers::combine(masks, words, wanted, lanes);
}
