//! Texts that a policy found nothing in, known again by their hash: a conversation is sent again and again.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use ctxproto_once::Once;
use twox_hash::{XxHash3_64, XxHash3_128};

/// Places, of two entries each: 1 MiB in all, and only what is used of it.
const PLACES: usize = 1 << 16;

/// What one policy has found clean. Of a text it keeps 64 bits of a seeded hash, in a place that 16 others choose:
/// nobody outside knows which texts share them. Nothing is locked, once there is something to look at.
#[derive(Debug)]
pub struct Clean {
    seed: u64,
    entries: Once<Vec<AtomicU64>>,
}

/// A text under a key, as [`Clean`] knows it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    place: usize,
    hash: u64,
}

impl Default for Clean {
    fn default() -> Self {
        let entries = || std::iter::repeat_with(|| AtomicU64::new(0)).take(2 * PLACES).collect();
        Self { seed: RandomState::new().hash_one(PLACES), entries: Once::new(entries) }
    }
}

impl Clean {
    /// The name of a text under a key, which may change what is found in it.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a hash")]
    pub fn name(&self, key: Option<&[u8]>, text: &[u8]) -> Name {
        let seed = key.map_or(self.seed, |key| XxHash3_64::oneshot_with_seed(self.seed, key));
        let hash = XxHash3_128::oneshot_with_seed(seed, text);
        // 0 is for an entry that was never written.
        Name { place: (hash >> 64) as usize % PLACES * 2, hash: (hash as u64).max(1) }
    }

    /// Whether a text was found clean lately.
    #[must_use]
    pub fn knows(&self, name: Name) -> bool {
        self.entries[name.place..name.place + 2].iter().any(|e| e.load(Ordering::Relaxed) == name.hash)
    }

    /// Remembers a text that is clean, in the place of the one that was remembered here the longest ago.
    pub fn remember(&self, name: Name) {
        let [first, second] = [0, 1].map(|way| &self.entries[name.place + way]);
        second.store(first.swap(name.hash, Ordering::Relaxed), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_it_was_told_and_nothing_else() {
        let clean = Clean::default();
        let texts: Vec<String> = (0..2000).map(|n| format!("text {n}")).collect();
        let keys = [None, Some(&b"content"[..]), Some(b"password")];
        for text in &texts {
            for key in keys {
                assert!(!clean.knows(clean.name(key, text.as_bytes())));
            }
            clean.remember(clean.name(keys[1], text.as_bytes()));
        }
        let known = |key| texts.iter().filter(|t| clean.knows(clean.name(key, t.as_bytes()))).count();
        assert!(known(keys[1]) > 1990);
        assert_eq!((known(keys[0]), known(keys[2])), (0, 0));
        // What is clean for one policy may not be for another.
        assert!(!Clean::default().knows(clean.name(keys[1], texts[0].as_bytes())));
    }

    #[test]
    fn the_oldest_of_a_place_goes() {
        let clean = Clean::default();
        for hash in 1..=3 {
            clean.remember(Name { place: 0, hash });
        }
        assert_eq!([1, 2, 3].map(|hash| clean.knows(Name { place: 0, hash })), [false, true, true]);
    }
}
