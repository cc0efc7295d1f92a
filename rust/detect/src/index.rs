//! Where to look first: from two bytes at a place to the few rules that may begin there.

use crate::class::TOKEN;
use crate::rule::ShapeRule;

/// Runs shorter than this are no tokens by themselves.
pub(crate) const RUN: usize = 16;
/// How far before a token its context words may stand.
pub(crate) const NEAR: usize = 48;

/// All shape rules of a policy, by the way they are entered.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) rules: Vec<ShapeRule>,
    /// By the two bytes a run (or a part of it after `-` or `_`) begins with.
    inside: Pairs,
    /// By the two bytes before a run: prefixes such as `SG.`, with the distance back to their beginning.
    before: Pairs,
    /// By the first two bytes of a word: prefixes that no run of 16 is certain to follow.
    literal: Pairs,
    /// URL rules, by the two bytes after `://`.
    url: Pairs,
    /// URL rules whose host begins with a class.
    pub(crate) url_any: Vec<(u16, u8)>,
    /// Rules without a prefix.
    pub(crate) near: Near,
    /// By the length of the run: rules with a literal inside and none before.
    pub(crate) fixed: Vec<Vec<u16>>,
    /// PII rules of digits, tried at every word when any is on.
    pub(crate) words: Vec<u16>,
    /// The first three bytes of the prefixes in `literal`.
    pub(crate) starts: Starts,
    /// The same of those in `inside`.
    inside_starts: Starts,
}

/// A set of three-byte beginnings, with false hits: one bit for each hash, small enough to stay in the first cache.
#[derive(Debug)]
pub(crate) struct Starts {
    bits: Box<[u64; 1024]>,
    pub(crate) list: Vec<[u8; 3]>,
}

impl Starts {
    fn new() -> Self {
        Self { bits: Box::new([0; 1024]), list: vec![] }
    }

    fn place(bytes: [u8; 3]) -> (usize, u32) {
        let x = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]).wrapping_mul(0x9E37_79B1) >> 16;
        ((x >> 6) as usize & 1023, x & 63)
    }

    fn insert(&mut self, bytes: [u8; 3]) {
        let (word, bit) = Self::place(bytes);
        self.bits[word] |= 1 << bit;
        self.list.push(bytes);
    }

    /// The third byte is the prefix's own, or any that the body may begin with.
    fn insert_all(&mut self, prefix: &[u8], rule: &ShapeRule) -> Result<(), String> {
        match (prefix.get(2), rule.shape.first_class()) {
            (Some(&third), _) => self.insert([prefix[0], prefix[1], third]),
            (None, Some((set, ..))) => {
                set.iter().for_each(|third| self.insert([prefix[0], prefix[1], third]));
            }
            _ => return Err(format!("{:?} is too short", String::from_utf8_lossy(prefix))),
        }
        Ok(())
    }

    /// Whether a prefix may begin at `at`.
    #[inline]
    pub(crate) fn may(&self, text: &[u8], at: usize) -> bool {
        text.get(at..at + 3).and_then(<[u8]>::first_chunk).is_some_and(|&bytes| {
            let (word, bit) = Self::place(bytes);
            self.bits[word] >> bit & 1 != 0
        })
    }
}

/// Lists of rule numbers by two bytes.
#[derive(Debug)]
struct Pairs {
    /// For each pair of bytes, where its list begins in `lists`; zero is the empty list.
    heads: Box<[u16]>,
    lists: Vec<Vec<(u16, u8)>>,
}

impl Pairs {
    fn new() -> Self {
        Self { heads: vec![0; 1 << 16].into_boxed_slice(), lists: vec![vec![]] }
    }

    fn insert(&mut self, pair: [u8; 2], rule: usize, back: usize) {
        let head = &mut self.heads[usize::from(u16::from_le_bytes(pair))];
        if *head == 0 {
            *head = self.lists.len() as u16;
            self.lists.push(vec![]);
        }
        let list = &mut self.lists[usize::from(*head)];
        if !list.contains(&(rule as u16, back as u8)) {
            list.push((rule as u16, back as u8));
        }
    }

    #[inline]
    fn get(&self, pair: &[u8]) -> &[(u16, u8)] {
        match *pair {
            [a, b] => &self.lists[usize::from(self.heads[usize::from(u16::from_le_bytes([a, b]))])],
            _ => &[],
        }
    }
}

impl Index {
    pub(crate) fn new(rules: Vec<ShapeRule>) -> Result<Self, String> {
        let mut index = Self {
            inside: Pairs::new(),
            before: Pairs::new(),
            literal: Pairs::new(),
            url: Pairs::new(),
            url_any: vec![],
            near: Near::default(),
            fixed: vec![],
            words: vec![],
            starts: Starts::new(),
            inside_starts: Starts::new(),
            rules: vec![],
        };
        for (n, rule) in rules.iter().enumerate() {
            index.insert(n, rule)?;
        }
        index.near.seal();
        index.rules = rules;
        Ok(index)
    }

    fn insert(&mut self, n: usize, rule: &ShapeRule) -> Result<(), String> {
        let prefixes = rule.shape.prefixes();
        if prefixes.iter().any(|p| p.len() < 2) {
            if let Some(len) =
                rule.shape.fixed_run().filter(|_| rule.near.is_empty() && rule.shape.has_inner_literal())
            {
                if self.fixed.len() <= len {
                    self.fixed.resize(len + 1, vec![]);
                }
                self.fixed[len].push(n as u16);
                return Ok(());
            }
            if rule.near.is_empty() || rule.shape.min_len() < RUN {
                self.words.push(n as u16);
            } else {
                self.near.insert(n, rule);
            }
            return Ok(());
        }
        for prefix in &prefixes {
            if let Some(at) = find(prefix, b"://") {
                let host = &prefix[at + 3..];
                match host {
                    [a, b, ..] => self.url.insert([*a, *b], n, at + 3),
                    _ => self.url_any.push((n as u16, at as u8 + 3)),
                }
                continue;
            }
            let tail = TOKEN.run_back(prefix);
            let body = rule.shape.first_run();
            if tail == prefix.len() && body >= RUN {
                self.inside.insert([prefix[0], prefix[1]], n, 0);
                self.inside_starts.insert_all(prefix, rule)?;
            } else if tail < prefix.len() && Self::run_after(rule, prefix) >= RUN {
                let cut = prefix.len() - tail;
                match cut {
                    1 => (0..=255).for_each(|any| self.before.insert([any, prefix[0]], n, cut)),
                    _ => self.before.insert([prefix[cut - 2], prefix[cut - 1]], n, cut),
                }
            } else {
                self.literal.insert([prefix[0], prefix[1]], n, 0);
                self.starts.insert_all(prefix, rule)?;
            }
        }
        Ok(())
    }

    /// The token run that surely follows the last other byte of a prefix.
    fn run_after(rule: &ShapeRule, prefix: &[u8]) -> usize {
        let tail = TOKEN.run_back(prefix);
        match rule.shape.first_class() {
            Some((set, min, _)) if set.is_subset(&TOKEN) => tail + min,
            _ => tail,
        }
    }

    /// Rules whose prefix may begin at `at`.
    #[inline]
    pub(crate) fn inside(&self, text: &[u8], at: usize) -> &[(u16, u8)] {
        if !self.inside_starts.may(text, at) {
            return &[];
        }
        self.inside.get(&text[at..at + 2])
    }

    /// Whether `run`, which breaks off at a line end, may be the beginning of a token.
    pub(crate) fn may_begin(&self, run: &[u8]) -> bool {
        self.inside(run, 0).iter().any(|&(n, _)| {
            let prefixes = self.rules[usize::from(n)].shape.prefixes();
            prefixes.iter().any(|p| p.starts_with(run) || run.starts_with(p))
        })
    }

    /// Rules whose prefix may end before the run at `at`.
    #[inline]
    pub(crate) fn before(&self, text: &[u8], at: usize) -> &[(u16, u8)] {
        if at < 2 { &[] } else { self.before.get(&text[at - 2..at]) }
    }

    /// Rules whose literal may begin at `at`.
    #[inline]
    pub(crate) fn literal(&self, text: &[u8], at: usize) -> &[(u16, u8)] {
        self.literal.get(text.get(at..at + 2).unwrap_or_default())
    }

    /// URL rules whose host may begin at `at`.
    #[inline]
    pub(crate) fn url(&self, text: &[u8], at: usize) -> &[(u16, u8)] {
        self.url.get(text.get(at..at + 2).unwrap_or_default())
    }
}

pub(crate) fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, what)
}

/// Rules that need a word before the token, and the words.
#[derive(Debug, Default)]
pub(crate) struct Near {
    words: Vec<Vec<u8>>,
    /// One bit for each hash of a word's first four letters.
    bloom: Vec<u64>,
    /// Words by those letters.
    by_letters: Vec<Vec<u16>>,
    /// For each word: the rules that need it, with the token lengths they take.
    rules: Vec<Vec<(u16, u16, u16)>>,
    /// For each length: whether some rule there takes tokens that do not look random.
    plain: Vec<bool>,
    /// For each length: what the tokens that some rule takes may be made of, one set of [`features`] a kind of rule.
    lengths: Vec<Vec<u8>>,
}

/// The kinds of characters in `text`, as bits: what most runs have and few tokens of a rule may have.
pub(crate) fn features(text: &[u8]) -> u8 {
    text.iter().fold(0, |bits, &b| bits | FEATURES[usize::from(b)])
}

const FEATURES: [u8; 256] = {
    let mut t = [0; 256];
    let mut b = 0;
    while b < 256 {
        t[b] = match b as u8 {
            b'0'..=b'9' => 1,
            b'a'..=b'f' => 2,
            b'g'..=b'z' => 4,
            b'A'..=b'F' => 8,
            b'G'..=b'Z' => 16,
            b'-' => 32,
            b'_' => 64,
            _ => 128,
        };
        b += 1;
    }
    t
};

const LETTER_BITS: usize = 16;

/// A hash of four letters, in either case.
fn letters(four: [u8; 4]) -> usize {
    let x = u32::from_le_bytes(four) | 0x2020_2020;
    (x.wrapping_mul(0x9E37_79B1) >> (32 - LETTER_BITS)) as usize
}

impl Near {
    fn insert(&mut self, n: usize, rule: &ShapeRule) {
        let (min, max) = (rule.shape.min_len(), rule.shape.max_len().min(512));
        if self.lengths.len() <= max {
            self.lengths.resize(max + 1, vec![]);
            self.plain.resize(max + 1, false);
        }
        if !rule.random {
            self.plain[min.min(max)..=max].fill(true);
        }
        let kinds = rule.shape.bytes().iter().fold(0, |bits, b| bits | FEATURES[usize::from(b)]);
        for list in &mut self.lengths[min.min(max)..=max] {
            if !list.iter().any(|&other| kinds & !other == 0) {
                list.retain(|&other| other & !kinds != 0);
                list.push(kinds);
            }
        }
        for word in &rule.near {
            let known = self.words.iter().position(|w| w == word.as_bytes());
            let w = known.unwrap_or_else(|| {
                self.words.push(word.as_bytes().to_vec());
                self.rules.push(vec![]);
                self.words.len() - 1
            });
            self.rules[w].push((n as u16, min as u16, max as u16));
        }
    }

    fn seal(&mut self) {
        self.bloom = vec![0; (1 << LETTER_BITS) / 64];
        self.by_letters = vec![vec![]; 1 << (LETTER_BITS - 4)];
        for (i, word) in self.words.iter().enumerate() {
            // After a word of three letters any fourth may stand.
            let fourths = word.get(3).map_or(0x20..=0xFF, |&b| b..=b);
            for fourth in fourths {
                let h = letters([word[0], word[1], word[2], fourth]);
                self.bloom[h / 64] |= 1 << (h % 64);
                if !self.by_letters[h >> 4].contains(&(i as u16)) {
                    self.by_letters[h >> 4].push(i as u16);
                }
            }
        }
    }

    /// Whether any rule takes a token of `len` bytes with these features.
    #[inline]
    pub(crate) fn takes(&self, len: usize, features: u8) -> bool {
        self.lengths.get(len).is_some_and(|list| list.iter().any(|&kinds| features & !kinds == 0))
    }

    /// Whether a token of `len` bytes need not look random for every rule.
    #[inline]
    pub(crate) fn takes_plain(&self, len: usize) -> bool {
        self.plain.get(len).is_some_and(|&p| p)
    }

    /// The rules that need one of `words` and take a token of one of two lengths.
    pub(crate) fn rules_for(&self, words: &[u16], lengths: [usize; 2]) -> impl Iterator<Item = u16> {
        words.iter().flat_map(|&w| &self.rules[usize::from(w)]).filter_map(move |&(n, min, max)| {
            let fits = |len: usize| (usize::from(min)..=usize::from(max)).contains(&len);
            (fits(lengths[0]) || fits(lengths[1])).then_some(n)
        })
    }

    /// The words that stand in `context`, in either case.
    pub(crate) fn words_in(&self, context: &[u8], found: &mut Vec<u16>) {
        found.clear();
        for (at, four) in context.windows(4).enumerate() {
            let h = letters([four[0], four[1], four[2], four[3]]);
            if self.bloom[h / 64] >> (h % 64) & 1 == 0 {
                continue;
            }
            for &w in &self.by_letters[h >> 4] {
                let word = &self.words[usize::from(w)];
                if context.len() - at >= word.len()
                    && context[at..at + word.len()].eq_ignore_ascii_case(word)
                    && !found.contains(&w)
                {
                    found.push(w);
                }
            }
        }
    }
}
