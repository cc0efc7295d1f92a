//! Counts of pieces seen before, a table a thread.

use std::cell::RefCell;

/// Pieces up to this length are kept.
pub(crate) const LONGEST: usize = 15;

/// Sets of two; 512 KiB a thread and vocabulary, which is about what a core has near it.
const SETS: usize = 1 << 14;

/// Up to 15 bytes of a piece, its length in four bits of the last byte and its count in the other four.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u128);

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
        ((x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 50) as usize & (SETS - 1)
    }
}

/// The table.
pub(crate) struct Cache(Vec<[u128; 2]>);

impl Cache {
    fn new() -> Self {
        Self(vec![[0; 2]; SETS])
    }

    /// The count of a piece: the one kept, or what `count` gives. Counts above 15 are not kept.
    #[inline]
    pub(crate) fn get(&mut self, key: Key, count: impl FnOnce() -> usize) -> usize {
        let set = &mut self.0[key.set()];
        for entry in *set {
            if (entry ^ key.0) << (128 - COUNT) == 0 {
                return (entry >> COUNT) as usize;
            }
        }
        let n = count();
        if n < 16 {
            // The newest stands first.
            *set = [key.0 | (n as u128) << COUNT, set[0]];
        }
        n
    }
}

/// Calls `f` with this thread's cache of one of the vocabularies.
pub(crate) fn with<T>(vocabulary: usize, f: impl FnOnce(&mut Cache) -> T) -> T {
    std::thread_local! {
        static CACHES: [RefCell<Option<Box<Cache>>>; 4] = const { [const { RefCell::new(None) }; 4] };
    }
    CACHES.with(|caches| {
        let mut cache = caches[vocabulary].borrow_mut();
        f(cache.get_or_insert_with(|| Box::new(Cache::new())))
    })
}
