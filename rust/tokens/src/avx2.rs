//! Windows and cache lines by 256-bit vectors.
#![allow(unsafe_code)] // unaligned loads, and calls that need a processor feature. What it brings: `DESIGN.md`.

use std::arch::x86_64::{
    __m256i, _MM_HINT_T0, _mm_prefetch, _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi8,
    _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_movemask_pd,
    _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_slli_epi16,
    _mm256_sub_epi8, _mm256_xor_si256,
};

use crate::key::{Key, LONGEST, Set, USED, note};
use crate::pieces::Next;
use crate::walk::Counts;
use crate::windows::{Bytes, Masks, starts};

/// Whether the processor has all that is used here.
pub(crate) fn is_there() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("popcnt")
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes are readable behind the reference; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn bits(bytes: __m256i) -> u64 {
    u64::from(_mm256_movemask_epi8(bytes).cast_unsigned())
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal(bytes: __m256i, b: u8) -> __m256i {
    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b.cast_signed()))
}

/// Bytes from `first` on, `more` of them after it.
#[inline]
#[target_feature(enable = "avx2")]
fn range(bytes: __m256i, first: u8, more: u8) -> __m256i {
    let from = _mm256_sub_epi8(bytes, _mm256_set1_epi8(first.cast_signed()));
    _mm256_cmpeq_epi8(from, _mm256_min_epu8(from, _mm256_set1_epi8(more.cast_signed())))
}

#[inline]
#[target_feature(enable = "avx2")]
fn half(bytes: &[u8; 32]) -> Masks {
    let bytes = load(bytes);
    let letters = bits(range(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), b'a', 25));
    // The bit that tells small letters from capitals, moved to where it is looked for.
    let small = bits(_mm256_slli_epi16::<2>(bytes));
    let space = equal(bytes, b' ');
    let lines = bits(_mm256_or_si256(equal(bytes, b'\n'), equal(bytes, b'\r')));
    Masks {
        upper: letters & !small,
        lower: letters & small,
        digits: bits(range(bytes, b'0', 9)),
        lines,
        blanks: bits(_mm256_or_si256(range(bytes, b'\t', 4), space)) & !lines,
        space: bits(space),
        slashes: bits(equal(bytes, b'/')),
        apostrophes: bits(equal(bytes, b'\'')),
        wide: bits(bytes),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn masks(text: &Bytes) -> Masks {
    let ([low, high], []) = text.as_chunks() else { unreachable!("64 bytes are two halves") };
    let (low, high) = (half(low), half(high));
    Masks {
        upper: low.upper | high.upper << 32,
        lower: low.lower | high.lower << 32,
        digits: low.digits | high.digits << 32,
        lines: low.lines | high.lines << 32,
        blanks: low.blanks | high.blanks << 32,
        space: low.space | high.space << 32,
        slashes: low.slashes | high.slashes << 32,
        apostrophes: low.apostrophes | high.apostrophes << 32,
        wide: low.wide | high.wide << 32,
    }
}

/// [`Set::find`] without a branch for each entry.
#[inline]
#[target_feature(enable = "avx2")]
fn find(set: &Set, key: Key) -> Option<(usize, u8)> {
    let ([one, two], []) = set.0.as_chunks() else { unreachable!("four entries are two pairs") };
    let halves = same(one, key) | same(two, key) << 4;
    let found = halves & halves >> 1 & 0x55;
    if found == 0 {
        return None;
    }
    let i = (found.trailing_zeros() as usize / 2) & 3;
    Some((i, note(set.0[i])))
}

/// A bit for each eight bytes that are those of the key.
#[inline]
#[target_feature(enable = "avx2")]
fn same(entries: &[u128; 2], key: Key) -> i32 {
    let (low, high) = key.halves();
    let key = _mm256_set_epi64x(high, low, high, low);
    let used = _mm256_set_epi64x(USED, -1, USED, -1);
    // SAFETY: 32 bytes are readable behind the reference; the load needs no alignment.
    let entries = unsafe { _mm256_loadu_si256(entries.as_ptr().cast()) };
    let differ = _mm256_and_si256(_mm256_xor_si256(entries, key), used);
    _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(differ, _mm256_setzero_si256())))
}

/// New pieces in a batch that are worth a look ahead in the next one.
const FEW: usize = 1;

/// Pieces that are split before they are counted.
const BATCH: usize = 64;

/// [`crate::walk::walk`] for the first two encodings.
pub(crate) fn walk(
    number: usize,
    next: Next,
    counts: &mut Counts<'_>,
    text: &[u8],
    at: usize,
    f: impl FnMut(usize, usize, usize) -> bool,
) {
    assert!(is_there() && number < 2);
    // SAFETY: the processor has the features.
    unsafe {
        if number == 0 {
            walk_as::<true>(next, counts, text, at, f);
        } else {
            walk_as::<false>(next, counts, text, at, f);
        }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn walk_as<const O200K: bool>(
    next: Next,
    counts: &mut Counts<'_>,
    text: &[u8],
    mut at: usize,
    mut f: impl FnMut(usize, usize, usize) -> bool,
) {
    // A window is at most 64 more.
    let mut ends = [0; BATCH + 64];
    while at < text.len() {
        let (mut n, mut split) = (0, at);
        while n < BATCH && split < text.len() {
            if let Some(window) = text[split..].first_chunk()
                && window[0] < 0x80
            {
                let mut starts = starts::<O200K>(window, &masks(window));
                if starts != 0 {
                    let found = starts.count_ones() as usize;
                    let from = split;
                    // In eights, the last of them for nothing: cheaper than a loop that ends anywhere.
                    for eight in ends[n..n + found.next_multiple_of(8)].as_chunks_mut::<8>().0 {
                        for end in eight {
                            *end = from + starts.trailing_zeros() as usize;
                            starts &= starts.wrapping_sub(1);
                        }
                    }
                    n += found;
                    split = ends[n - 1];
                    continue;
                }
            }
            split = next(text, split);
            ends[n] = split;
            n += 1;
        }
        // Where much is new, memory is waited for: it is asked for all pieces before the first is looked up.
        if counts.new > FEW {
            look_ahead(counts, text, at, &ends[..n]);
        }
        counts.new = 0;
        for &end in &ends[..n] {
            if !f(at, end, counts.of(text, at, end, |set, key| find(set, key))) {
                return;
            }
            at = end;
        }
    }
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi2")]
fn look_ahead(counts: &Counts<'_>, text: &[u8], mut at: usize, ends: &[usize]) {
    for &end in ends {
        let key = Key::new(text, at, end.min(at + LONGEST));
        counts.lines(key, |line| _mm_prefetch::<_MM_HINT_T0>(line.cast()));
        at = end;
    }
}

/// [`masks`], for tests.
#[cfg(test)]
pub(crate) fn masks_if_there(text: &Bytes) -> Option<Masks> {
    // SAFETY: the processor has the features.
    is_there().then(|| unsafe { masks(text) })
}
