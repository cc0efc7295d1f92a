//! Counts of pieces seen before, a table for each call that runs.

use std::hint;
use std::sync::Mutex;

use crate::key::{Key, LONGEST, Set};

/// Of short pieces: 2 MiB.
const SETS: usize = 1 << 15;

/// Of long ones, which fit into a line of the processor's cache with length and count: 4 MiB.
const LONG_SETS: usize = 1 << 16;

/// Of even longer ones, rulers and indents: 256 KiB.
const LINES: usize = 1 << 10;

/// Caches of a vocabulary that stay when nobody counts.
const KEPT: usize = 16;

/// How often the lock on them is tried: it is held for some nanoseconds.
const TRIES: usize = 1000;

/// The tables.
pub(crate) struct Cache {
    short: Vec<Set>,
    long: Table<64>,
    lines: Table<256>,
}

impl Cache {
    fn new() -> Self {
        Self { short: vec![Set::EMPTY; SETS], long: Table::new(LONG_SETS), lines: Table::new(LINES) }
    }

    /// Where the count of a piece is kept.
    #[inline]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn set(&self, key: Key) -> &Set {
        &self.short[key.hash() as usize & (SETS - 1)]
    }

    /// The count of a piece: the one kept, or what `count` gives. Counts above 15 are not kept.
    #[inline]
    pub(crate) fn short(
        &mut self,
        key: Key,
        find: impl Fn(&Set, Key) -> Option<(usize, u8)>,
        count: impl FnOnce() -> usize,
    ) -> usize {
        let set = &mut self.short[key.hash() as usize & (SETS - 1)];
        if let Some((_, n)) = find(set, key) {
            return n.into();
        }
        let n = count();
        if n < 16 {
            // The newest stands first, the oldest goes.
            set.0 = [key.with(n as u8), set.0[0], set.0[1], set.0[2]];
        }
        n
    }

    /// The same for a piece of more bytes than fit into a key.
    #[inline]
    pub(crate) fn long(&mut self, piece: &[u8], count: impl FnOnce() -> usize) -> usize {
        match piece.len() {
            ..=62 => self.long.get(piece, count),
            63..=254 => self.lines.get(piece, count),
            _ => count(),
        }
    }
}

/// Pieces by a hash, two for each place: the bytes, their number, and the count in the last one. Memory that starts as zeros
/// costs nothing before it is used.
struct Table<const N: usize>(Vec<[u8; N]>);

impl<const N: usize> Table<N> {
    fn new(entries: usize) -> Self {
        Self(vec![[0; N]; entries])
    }

    /// The count of a piece of up to `N - 2` bytes.
    #[inline]
    fn get(&mut self, piece: &[u8], count: impl FnOnce() -> usize) -> usize {
        let at = hash(piece) & (self.0.len() - 2);
        let is = |entry: &[u8; N]| usize::from(entry[N - 2]) == piece.len() && entry[..piece.len()] == *piece;
        for entry in &self.0[at..at + 2] {
            if is(entry) {
                return entry[N - 1].into();
            }
        }
        let n = count();
        // The newest stands first.
        self.0[at + 1] = self.0[at];
        let entry = &mut self.0[at];
        entry[..piece.len()].copy_from_slice(piece);
        // Tokens are no more than bytes.
        (entry[N - 2], entry[N - 1]) = (piece.len() as u8, n as u8);
        n
    }
}

/// A hash of more than 15 bytes, eight at a time; the last eight overlap with those before.
#[inline]
fn hash(bytes: &[u8]) -> usize {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    const { assert!(LONGEST >= 8) };
    let mut x = bytes.len() as u64;
    let mut mix = |eight: &[u8; 8]| x = (x.rotate_left(23) ^ u64::from_le_bytes(*eight)).wrapping_mul(K);
    for eight in bytes.as_chunks().0 {
        mix(eight);
    }
    mix(bytes.last_chunk().expect("long pieces"));
    (x >> 36) as usize
}

/// Calls `f` with a cache of one of the vocabularies that no one else uses. Caches outlive the threads that filled them:
/// there are as many as calls ran at once, and at most [`KEPT`] of them stay.
pub(crate) fn with<T>(vocabulary: usize, f: impl FnOnce(&mut Cache) -> T) -> T {
    static CACHES: [Mutex<Vec<Cache>>; 4] = [const { Mutex::new(vec![]) }; 4];
    // Held for a moment only. Not waited for: a process forked while another thread held it would wait for ever.
    let caches = || {
        (0..TRIES).find_map(|_| {
            hint::spin_loop();
            CACHES[vocabulary].try_lock().ok()
        })
    };
    let kept = caches().and_then(|mut caches| caches.pop());
    let mut cache = kept.unwrap_or_else(Cache::new);
    let result = f(&mut cache);
    if let Some(mut caches) = caches()
        && caches.len() < KEPT
    {
        caches.push(cache);
    }
    result
}
