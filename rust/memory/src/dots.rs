//! Dot products and differing bits of one vector with many, by the widest vectors the processor has.
#![allow(unsafe_code)] // calls that need a processor feature, after a look whether it is there; 5 to 9 times as fast

/// Vectors of bits stand in blocks of so many, the same word of each side by side.
pub(crate) const BLOCK: usize = 8;

/// The dot products of `one` with each row of `rows`.
pub(crate) fn dots(one: &[f32], rows: &[f32], found: &mut Vec<f32>) {
    found.clear();
    found.reserve(rows.len() / one.len().max(1));
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature is there.
            return unsafe { x86::dots_512(one, rows, found) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: both features are there.
            return unsafe { x86::dots_256(one, rows, found) };
        }
    }
    each_dot(one, rows, found, |a, b, sum| a * b + sum);
}

/// The dot products of `one` with those rows that `which` numbers, wherever they are.
pub(crate) fn dots_of(one: &[f32], rows: &[f32], which: &[usize], found: &mut Vec<f32>) {
    let (mut dot, dims) = (vec![], one.len());
    found.clear();
    // Most are far from each other: the next ones are fetched while one is read.
    for first in which.iter().take(AHEAD) {
        fetch(&rows[first * dims..][..dims]);
    }
    for (at, row) in which.iter().enumerate() {
        if let Some(next) = which.get(at + AHEAD) {
            fetch(&rows[next * dims..][..dims]);
        }
        dots(one, &rows[row * dims..][..dims], &mut dot);
        found.extend(&dot);
    }
}

/// Rows that are fetched before they are read.
const AHEAD: usize = 4;

#[cfg(target_arch = "x86_64")]
fn fetch(row: &[f32]) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for line in row.chunks(16) {
        // SAFETY: a hint; the address is that of a number that is there.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn fetch(_: &[f32]) {}

/// In how many bits `one` differs from each vector of `blocks`.
pub(crate) fn differing(one: &[u64], blocks: &[u64], found: &mut Vec<u16>) {
    found.clear();
    found.reserve(blocks.len() / one.len().max(1));
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: both features are there.
            return unsafe { x86::differing_512(one, blocks, found) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
            // SAFETY: both features are there.
            return unsafe { x86::differing_256(one, blocks, found) };
        }
    }
    each_difference(one, blocks, found);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{each_difference, each_dot};

    #[target_feature(enable = "avx512f,fma")]
    pub(super) fn dots_512(one: &[f32], rows: &[f32], found: &mut Vec<f32>) {
        each_dot(one, rows, found, f32::mul_add);
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn dots_256(one: &[f32], rows: &[f32], found: &mut Vec<f32>) {
        each_dot(one, rows, found, f32::mul_add);
    }

    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vpopcntdq")]
    pub(super) fn differing_512(one: &[u64], blocks: &[u64], found: &mut Vec<u16>) {
        each_difference(one, blocks, found);
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn differing_256(one: &[u64], blocks: &[u64], found: &mut Vec<u16>) {
        each_difference(one, blocks, found);
    }
}

#[expect(clippy::inline_always, reason = "compiled anew for the features of each caller")]
#[inline(always)]
fn each_dot(one: &[f32], rows: &[f32], found: &mut Vec<f32>, add: impl Fn(f32, f32, f32) -> f32 + Copy) {
    let (wide, rest) = one.as_chunks::<LANES>();
    for row in rows.chunks_exact(one.len().max(1)) {
        let (others, other_rest) = row.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (a, b) in wide.iter().zip(others) {
            for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                *sum = add(*a, *b, *sum);
            }
        }
        for ((sum, a), b) in sums.iter_mut().zip(rest).zip(other_rest) {
            *sum = add(*a, *b, *sum);
        }
        let mut half = LANES / 2;
        while half > 0 {
            for at in 0..half {
                sums[at] += sums[at + half];
            }
            half /= 2;
        }
        found.push(sums[0]);
    }
}

/// Sums that go on beside each other: as many as hide how long one takes.
const LANES: usize = 64;

#[expect(clippy::inline_always, reason = "compiled anew for the features of each caller")]
#[inline(always)]
fn each_difference(one: &[u64], blocks: &[u64], found: &mut Vec<u16>) {
    for block in blocks.chunks_exact((one.len() * BLOCK).max(1)) {
        let mut sums = [0_u64; BLOCK];
        for (word, others) in one.iter().zip(block.as_chunks::<BLOCK>().0) {
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum += u64::from((word ^ other).count_ones());
            }
        }
        found.extend(sums.map(|sum| sum as u16));
    }
}

/// The bits of a vector: whether each number is above 0.
pub(crate) fn bits(vector: &[f32]) -> Vec<u64> {
    let word = |numbers: &[f32]| {
        numbers.iter().enumerate().fold(0, |word, (at, number)| word | u64::from(*number > 0.0) << at)
    };
    vector.chunks(64).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the processor and the number of dimensions.
        #[test]
        fn as_the_plain_sums(dims in 1_usize..200, rows in 0_usize..20, seed: u32) {
            let mut state = seed;
            let mut draw = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f32::from((state >> 16) as u16) / 65536.0 - 0.5
            };
            let one: Vec<f32> = (0..dims).map(|_| draw()).collect();
            let others: Vec<f32> = (0..dims * rows).map(|_| draw()).collect();
            let mut found = vec![1.0];
            dots(&one, &others, &mut found);
            prop_assert_eq!(found.len(), rows);
            let mut plain = vec![];
            each_dot(&one, &others, &mut plain, |a, b, sum| a * b + sum);
            for ((row, found), portable) in others.chunks(dims).zip(found).zip(plain) {
                let sum: f64 = one.iter().zip(row).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                prop_assert!((sum - f64::from(found)).abs() < 1e-5);
                prop_assert!((sum - f64::from(portable)).abs() < 1e-5);
            }
        }

        #[test]
        fn as_the_bits_that_differ(words in 1_usize..14, blocks in 0_usize..6, seed: u64) {
            let mut state = seed;
            let mut draw = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state.rotate_left(23)
            };
            let one: Vec<u64> = (0..words).map(|_| draw()).collect();
            let others: Vec<u64> = (0..words * blocks * BLOCK).map(|_| draw()).collect();
            let (mut found, mut plain) = (vec![7], vec![]);
            differing(&one, &others, &mut found);
            each_difference(&one, &others, &mut plain);
            prop_assert_eq!(&found, &plain);
            for (at, found) in found.iter().enumerate() {
                let place = |word| at / BLOCK * BLOCK * words + word * BLOCK + at % BLOCK;
                let sum: u32 = (0..words).map(|word| (one[word] ^ others[place(word)]).count_ones()).sum();
                prop_assert_eq!(u32::from(*found), sum);
            }
        }
    }

    #[test]
    fn a_bit_for_each_number() {
        let mut vector = vec![-1.0; 70];
        (vector[0], vector[65], vector[69]) = (0.5, 2.0, 0.0);
        assert_eq!(bits(&vector), [1, 2]);
    }
}
