//! Counts of whole texts seen before: what is sent to a model again and again is counted once.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use ctxproto_once::Once;
use twox_hash::XxHash3_128;

use crate::encoding::Encoding;

/// Places, of two entries each: 2 MiB in all, and only what is used of it.
const PLACES: usize = 1 << 16;

/// An entry is a count and the length of its text in one word, and the text's hash, crossed with it, in the other. A
/// reader that meets a writer in between finds two words that do not belong together, and takes them for another
/// text's: no lock, so nothing to wait for, not even in a process forked at the wrong moment.
struct Entry {
    crossed: AtomicU64,
    data: AtomicU64,
}

struct Table {
    seed: u64,
    entries: Vec<Entry>,
}

static TABLE: Once<Table> = Once::new(|| Table {
    // Nobody outside knows which texts share a hash.
    seed: RandomState::new().hash_one(PLACES),
    entries: std::iter::repeat_with(|| Entry { crossed: AtomicU64::new(0), data: AtomicU64::new(0) })
        .take(2 * PLACES)
        .collect(),
});

/// Where a text's count stands, and how it is known again.
#[derive(Clone, Copy, Debug)]
struct Known {
    place: usize,
    hash: u64,
    length: u32,
}

impl Known {
    /// The name of a text among the counts of an encoding; none for one without letters, or of more than 4 GiB.
    fn of(encoding: Encoding, text: &str) -> Option<Self> {
        let length = u32::try_from(text.len()).ok().filter(|&length| length > 0)?;
        let seed = TABLE.seed.wrapping_add(encoding as u64);
        let hash = XxHash3_128::oneshot_with_seed(seed, text.as_bytes());
        Some(Self { place: (hash >> 64) as usize % PLACES * 2, hash: hash as u64, length })
    }

    fn read(self) -> Option<usize> {
        TABLE.entries[self.place..self.place + 2].iter().find_map(|entry| {
            let (crossed, data) = (entry.crossed.load(Ordering::Relaxed), entry.data.load(Ordering::Relaxed));
            (crossed ^ data == self.hash && (data >> 32) as u32 == self.length)
                .then_some(data as u32 as usize)
        })
    }

    fn write(self, count: usize) {
        let [first, second] = [0, 1].map(|way| &TABLE.entries[self.place + way]);
        // The newest stands first.
        second.crossed.store(first.crossed.load(Ordering::Relaxed), Ordering::Relaxed);
        second.data.store(first.data.load(Ordering::Relaxed), Ordering::Relaxed);
        // Tokens are no more than bytes.
        let data = u64::from(self.length) << 32 | u64::from(count as u32);
        first.crossed.store(self.hash ^ data, Ordering::Relaxed);
        first.data.store(data, Ordering::Relaxed);
    }
}

impl Encoding {
    /// The count of a text, if it was given lately: see [`Encoding::remember`].
    pub fn remembered(self, text: &str) -> Option<usize> {
        match Known::of(self, text) {
            Some(known) => known.read(),
            None => text.is_empty().then_some(0),
        }
    }

    /// Keeps the `count` of a text, among some hundred thousand others, for all threads. Two texts are taken for one when
    /// they are as long and 80 bits of their seeded XXH3 are the same.
    pub fn remember(self, text: &str, count: usize) {
        if let Some(known) = Known::of(self, text) {
            known.write(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn again(encoding: Encoding, text: &str) -> usize {
        encoding.remembered(text).unwrap_or_else(|| {
            encoding.remember(text, encoding.count(text));
            encoding.count(text)
        })
    }

    #[test]
    fn the_same_at_any_time_from_any_thread() {
        let texts: Vec<String> =
            (0..3000).map(|n| format!("text {n} {}", "of words ".repeat(n % 50))).collect();
        let encodings = [Encoding::O200kBase, Encoding::R50kBase];
        let expected: Vec<[usize; 2]> = texts.iter().map(|t| encodings.map(|e| e.count(t))).collect();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..3 {
                        for (text, counts) in texts.iter().zip(&expected) {
                            assert_eq!(encodings.map(|e| again(e, text)), *counts);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn knows_what_it_has_counted() {
        let text = "never counted before this test: \u{1f980}";
        assert_eq!(Encoding::Cl100kBase.remembered(text), None);
        let count = again(Encoding::Cl100kBase, text);
        assert_eq!(Encoding::Cl100kBase.remembered(text), Some(count));
        assert_eq!(Encoding::P50kBase.remembered(text), None);
        assert_eq!((Encoding::P50kBase.remembered(""), again(Encoding::P50kBase, "")), (Some(0), 0));
    }

    #[test]
    fn the_oldest_of_a_place_goes() {
        let known = |hash| Known { place: 0, hash, length: 7 };
        for hash in 1..=3 {
            known(hash).write(hash as usize);
        }
        assert_eq!([1, 2, 3].map(|hash| known(hash).read()), [None, Some(2), Some(3)]);
        assert_eq!(Known { length: 8, ..known(3) }.read(), None);
    }
}
