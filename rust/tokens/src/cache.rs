//! Counts of pieces seen before, a table for each call that runs.

use std::sync::Mutex;

/// Pieces up to this length are kept.
pub(crate) const LONGEST: usize = 15;

/// Sets of four, each a line of the processor's cache; 2 MiB together.
const SETS: usize = 1 << 15;

/// Up to 15 bytes of a piece, its length in four bits of the last byte and its count in the other four.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u128);

/// Caches of a vocabulary that stay when nobody counts.
const KEPT: usize = 16;

const COUNT: u32 = 124;

impl Key {
    /// The key of `text[at..end]`, of 1 to [`LONGEST`] bytes.
    #[inline]
    pub(crate) fn new(text: &[u8], at: usize, end: usize) -> Self {
        let len = end - at;
        let bytes = text[at..].first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = [0; 16];
            bytes[..len].copy_from_slice(&text[at..end]);
            bytes
        });
        let mask = u128::MAX >> (128 - 8 * len);
        Self(u128::from_le_bytes(bytes) & mask | (len as u128) << 120)
    }

    #[inline]
    fn set(self) -> usize {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let x = (low ^ high.rotate_left(31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 44) as usize & (SETS - 1)
    }
}

/// The table.
pub(crate) struct Cache(Vec<Set>);

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Set([u128; 4]);

impl Cache {
    fn new() -> Self {
        Self(vec![Set([0; 4]); SETS])
    }

    /// The count of a piece: the one kept, or what `count` gives. Counts above 15 are not kept.
    #[inline]
    pub(crate) fn get(&mut self, key: Key, count: impl FnOnce() -> usize) -> usize {
        let Set(set) = &mut self.0[key.set()];
        for entry in *set {
            if (entry ^ key.0) << (128 - COUNT) == 0 {
                return (entry >> COUNT) as usize;
            }
        }
        let n = count();
        if n < 16 {
            // The newest stands first, the oldest goes.
            *set = [key.0 | (n as u128) << COUNT, set[0], set[1], set[2]];
        }
        n
    }
}

/// Calls `f` with a cache of one of the vocabularies that no one else uses. Caches outlive the threads that filled them:
/// there are as many as calls ran at once, and at most [`KEPT`] of them stay.
pub(crate) fn with<T>(vocabulary: usize, f: impl FnOnce(&mut Cache) -> T) -> T {
    static CACHES: [Mutex<Vec<Box<Cache>>>; 4] = [const { Mutex::new(vec![]) }; 4];
    // Only tried: a process forked while another thread held the lock would wait for ever.
    let kept = CACHES[vocabulary].try_lock().ok().and_then(|mut caches| caches.pop());
    let mut cache = kept.unwrap_or_else(|| Box::new(Cache::new()));
    let result = f(&mut cache);
    if let Ok(mut caches) = CACHES[vocabulary].try_lock()
        && caches.len() < KEPT
    {
        caches.push(cache);
    }
    result
}
