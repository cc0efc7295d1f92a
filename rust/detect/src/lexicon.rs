//! Lists of words: found anywhere in a text, or looked up whole.

use crate::beginnings::{self, Beginnings};
use crate::masks::{Level, word};

/// Words that are looked for inside a text, in either case.
#[derive(Debug)]
pub struct Lexicon {
    words: Vec<Vec<u8>>,
    starts: Box<Beginnings<2>>,
    /// A bit for each hash of four letters with which a word may begin: most places end here.
    hashes: Box<[u64; 1024]>,
    /// By a hash of a word's first four letters, where its heads are.
    places: Vec<(u32, u32)>,
    heads: Vec<Head>,
}

/// The first eight letters of a word, in lower case, and a mask of those it has.
#[derive(Clone, Copy, Debug)]
struct Head {
    letters: u64,
    mask: u64,
    word: u16,
}

/// Makes letters lower case, and a few others into what they are not: enough for a filter.
const LOWER: u64 = 0x2020_2020_2020_2020;

/// A hash of the first four of eight letters in lower case.
#[inline]
fn hash(letters: u64) -> u16 {
    ((letters as u32).wrapping_mul(0x9E37_79B1) >> 16) as u16
}

impl Lexicon {
    /// A list of words in lower case, of two letters or more.
    pub fn new<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> Self {
        let words: Vec<Vec<u8>> = words.into_iter().map(|w| w.as_ref().to_vec()).collect();
        let mut hashes = Box::new([0; 1024]);
        let mut lists = vec![vec![]; (words.len() * 2).next_power_of_two().clamp(64, 1 << 13)];
        for (i, word) in words.iter().enumerate() {
            let len = word.len().min(8);
            let mut letters = [0; 8];
            letters[..len].copy_from_slice(&word[..len]);
            let mask = u64::MAX >> (64 - 8 * len);
            let head = Head { letters: (u64::from_le_bytes(letters) | LOWER) & mask, mask, word: i as u16 };
            // After a shorter word any letters may stand.
            let after = 8 * len.min(4);
            let mut slots: Vec<usize> = (0..1u64 << (32 - after).min(16))
                .map(|any| hash(head.letters & 0xFFFF_FFFF | any << after | LOWER))
                .inspect(|hash| hashes[usize::from(hash / 64)] |= 1 << (hash % 64))
                .map(|hash| usize::from(hash) & (lists.len() - 1))
                .collect();
            slots.sort_unstable();
            slots.dedup();
            for slot in slots {
                lists[slot].push(head);
            }
        }
        let mut heads = vec![];
        let places = lists
            .into_iter()
            .map(|mut list| {
                let from = heads.len() as u32;
                heads.append(&mut list);
                (from, heads.len() as u32)
            })
            .collect();
        let starts = Box::new(Beginnings::new(words.iter().map(|w| beginnings::start(w, None, true))));
        Self { words, starts, hashes, places, heads }
    }

    /// Calls `found` with the number of each word that stands in `text`, until it says true; whether it did.
    #[inline]
    pub(crate) fn find(&self, text: &[u8], mut found: impl FnMut(u16) -> bool) -> bool {
        self.find_at(text, text.len(), |_, word| found(word))
    }

    /// Calls `found` with every word that stands in `text`, by where it begins: the place and the word's number.
    pub fn each(&self, text: &[u8], mut found: impl FnMut(usize, u16)) {
        self.find_at(text, text.len(), |at, word| {
            found(at, word);
            false
        });
    }

    /// The same for `text[..end]`: what stands behind it spares a copy.
    #[inline]
    pub(crate) fn find_at(&self, text: &[u8], end: usize, mut found: impl FnMut(usize, u16) -> bool) -> bool {
        let level = Level::best();
        let mut spare = [0; 64 + 8];
        for base in (0..end).step_by(64) {
            let rest = &text[base..end];
            let bytes = word(text, base / 64, &mut spare);
            let mut hits =
                level.beginnings(&self.starts, bytes) & u64::MAX >> 64usize.saturating_sub(rest.len());
            while hits != 0 {
                let at = hits.trailing_zeros() as usize;
                hits &= hits - 1;
                let letters = u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i])) | LOWER;
                let hash = hash(letters);
                if self.hashes[usize::from(hash / 64)] >> (hash % 64) & 1 == 0 {
                    continue;
                }
                let (from, to) = self.places[usize::from(hash) & (self.places.len() - 1)];
                for head in &self.heads[from as usize..to as usize] {
                    if (letters ^ head.letters) & head.mask != 0 {
                        continue;
                    }
                    let word = &self.words[usize::from(head.word)];
                    let here = rest.get(at..at + word.len());
                    if here.is_some_and(|here| here.eq_ignore_ascii_case(word)) && found(base + at, head.word)
                    {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Whether any of the words stands in `text`.
    #[inline]
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        self.find(text, |_| true)
    }
}

/// Which of several lists a word is in.
#[derive(Debug)]
pub(crate) struct Dictionary {
    slots: Vec<(&'static str, u32)>,
}

impl Dictionary {
    /// Bit n of a word's entry says that it is in `lists[n]`.
    pub(crate) fn new(lists: &[&[&'static str]]) -> Self {
        let count: usize = lists.iter().map(|list| list.len()).sum();
        let mut all = Self { slots: vec![("", 0); (count * 4).next_power_of_two()] };
        for (n, list) in lists.iter().enumerate() {
            for word in *list {
                let slot = all.slot(word.as_bytes());
                all.slots[slot] = (word, all.slots[slot].1 | 1 << n);
            }
        }
        all
    }

    /// The slot of a word, or the empty one where it would stand.
    fn slot(&self, word: &[u8]) -> usize {
        let (first, last) = if let (Some(first), Some(last)) = (word.first_chunk(), word.last_chunk()) {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else {
            let mut all = [0; 8];
            all[..word.len()].copy_from_slice(word);
            (u64::from_le_bytes(all), 0)
        };
        let hash = (first ^ last.rotate_left(29) ^ word.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (hash >> 40) as usize & (self.slots.len() - 1);
        while !self.slots[at].0.is_empty() && self.slots[at].0.as_bytes() != word {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// The lists that `word` (in lower case) is in, a bit each.
    #[inline]
    pub(crate) fn get(&self, word: &[u8]) -> u32 {
        self.slots[self.slot(word)].1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_search_finds(
            words in proptest::collection::vec("[ab_.]{2,10}", 1..40),
            text in "[abAB_.x]{0,150}",
            end in 0..=150usize,
        ) {
            let lexicon = Lexicon::new(&words);
            let (mut found, end) = (vec![], end.min(text.len()));
            lexicon.find_at(text.as_bytes(), end, |_, w| { found.push(words[usize::from(w)].clone()); false });
            let lower = text[..end].to_ascii_lowercase();
            for word in &words {
                prop_assert_eq!(found.contains(word), lower.contains(word.as_str()), "{}", word);
            }
        }

        #[test]
        fn words_are_in_their_lists(words in proptest::collection::vec("[a-c]{1,12}", 1..30), other in "[a-d]{0,12}") {
            let words: Vec<&'static str> = words.into_iter().map(|w| &*w.leak()).collect();
            let (one, two) = words.split_at(words.len() / 2);
            let dictionary = Dictionary::new(&[one, two]);
            for word in words.iter().copied().chain([&*other.leak()]) {
                let want = u32::from(one.contains(&word)) | u32::from(two.contains(&word)) << 1;
                prop_assert_eq!(dictionary.get(word.as_bytes()), want);
            }
        }
    }
}
