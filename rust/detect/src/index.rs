//! Where to look first: from two bytes at a place to the few rules that may begin there.

use std::collections::HashMap;

use crate::beginnings;
use crate::class::{ByteSet, TOKEN};
use crate::lexicon::Lexicon;
use crate::rule::ShapeRule;
use crate::stems;

/// Runs shorter than this are no tokens by themselves.
pub(crate) const RUN: usize = 16;
/// The longest token that a context word leads to.
const LONGEST: usize = 1024;
/// How far before a token its context words may stand.
pub(crate) const NEAR: usize = 48;

/// In the place of a rule: one of [`stems::LEADS`].
pub(crate) const LEAD: u16 = u16::MAX;

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
    url_any: Vec<Entry>,
    /// Rules without a prefix.
    pub(crate) near: Near,
    /// By the length of the run: rules with a literal inside and none before.
    pub(crate) fixed: Vec<Vec<u16>>,
    /// PII rules of digits, tried at every word when any is on.
    pub(crate) words: Vec<u16>,
    /// The beginnings of the prefixes in `literal`.
    pub(crate) starts: Vec<[ByteSet; beginnings::PLACES]>,
    /// The first three bytes of those in `inside`.
    inside_starts: Starts,
}

/// A set of three-byte beginnings, with false hits: one bit for each hash, small enough to stay in the first cache.
#[derive(Debug)]
struct Starts(Box<[u64; 1024]>);

impl Starts {
    fn place(bytes: [u8; 3]) -> (usize, u32) {
        let x = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]).wrapping_mul(0x9E37_79B1) >> 16;
        ((x >> 6) as usize & 1023, x & 63)
    }

    /// Every three bytes that a prefix, or a prefix of two and its body, may begin with.
    fn insert(&mut self, start: &[ByteSet]) {
        for a in start[0].iter() {
            for b in start[1].iter() {
                for c in start[2].iter() {
                    let (word, bit) = Self::place([a, b, c]);
                    self.0[word] |= 1 << bit;
                }
            }
        }
    }

    /// Whether a prefix may begin at `at`.
    #[inline]
    fn may(&self, text: &[u8], at: usize) -> bool {
        text.get(at..at + 3).and_then(<[u8]>::first_chunk).is_some_and(|&bytes| {
            let (word, bit) = Self::place(bytes);
            self.0[word] >> bit & 1 != 0
        })
    }
}

/// One prefix of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    rule: u16,
    /// How far the prefix begins before the place that led here.
    back: u8,
    /// The first eight bytes of the prefix, and a mask of those it has.
    head: u64,
    mask: u64,
}

impl Entry {
    fn new(n: usize, rule: &ShapeRule, prefix: &[u8], back: usize) -> Self {
        Self::of(n as u16, prefix, rule.shape.any_case, back)
    }

    fn of(rule: u16, prefix: &[u8], any_case: bool, back: usize) -> Self {
        let len = if any_case { 0 } else { prefix.len().min(8) };
        let mut head = [0; 8];
        head[..len].copy_from_slice(&prefix[..len]);
        let mask = 1u64.checked_shl(8 * len as u32).map_or(u64::MAX, |bit| bit - 1);
        Self { rule, back: back as u8, head: u64::from_le_bytes(head), mask }
    }

    /// Where the prefix begins that led to `at`, if it may stand there. At the end of the text all may.
    #[inline]
    fn place(&self, text: &[u8], at: usize) -> Option<(u16, usize)> {
        let start = at.checked_sub(usize::from(self.back))?;
        let differs = text
            .get(start..)
            .and_then(<[u8]>::first_chunk)
            .is_some_and(|&bytes| (u64::from_le_bytes(bytes) ^ self.head) & self.mask != 0);
        (!differs).then_some((self.rule, start))
    }
}

/// Lists of prefixes by two bytes.
#[derive(Debug)]
struct Pairs {
    /// For each pair of bytes, where its list begins in `lists`; zero is the empty list.
    heads: Box<[u16]>,
    lists: Vec<Vec<Entry>>,
}

impl Pairs {
    fn new() -> Self {
        Self { heads: vec![0; 1 << 16].into_boxed_slice(), lists: vec![vec![]] }
    }

    fn insert(&mut self, first: ByteSet, second: ByteSet, entry: Entry) {
        for pair in first.iter().flat_map(|a| second.iter().map(move |b| [a, b])) {
            let head = &mut self.heads[usize::from(u16::from_le_bytes(pair))];
            if *head == 0 {
                *head = self.lists.len() as u16;
                self.lists.push(vec![]);
            }
            let list = &mut self.lists[usize::from(*head)];
            if !list.contains(&entry) {
                list.push(entry);
            }
        }
    }

    #[inline]
    fn get(&self, pair: Option<&[u8]>) -> &[Entry] {
        match pair {
            Some(&[a, b]) => &self.lists[usize::from(self.heads[usize::from(u16::from_le_bytes([a, b]))])],
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
            starts: vec![],
            inside_starts: Starts(Box::new([0; 1024])),
            rules: vec![],
        };
        for (n, rule) in rules.iter().enumerate() {
            index.insert(n, rule)?;
        }
        for lead in stems::LEADS {
            let entry = Entry::of(LEAD, lead, false, 0);
            index.literal.insert(ByteSet::letter(lead[0], false), ByteSet::letter(lead[1], false), entry);
            index.starts.push(beginnings::start(lead, None, false));
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
        let any_case = rule.shape.any_case;
        for prefix in &prefixes {
            let set = |i: usize| prefix.get(i).map_or(ByteSet::EMPTY, |&b| ByteSet::letter(b, any_case));
            if let Some(at) = find(prefix, b"://") {
                let entry = Entry::new(n, rule, prefix, at + 3);
                if prefix.len() < at + 5 {
                    self.url_any.push(entry);
                } else {
                    self.url.insert(set(at + 3), set(at + 4), entry);
                }
                continue;
            }
            let tail = TOKEN.run_back(prefix);
            let body = rule.shape.first_run();
            let class = rule.shape.first_class().map(|(set, ..)| set);
            if prefix.len() == 2 && class.is_none() {
                return Err(format!("{:?} is too short", String::from_utf8_lossy(prefix)));
            }
            let start = beginnings::start(prefix, class, any_case);
            if tail == prefix.len() && body >= RUN {
                self.inside.insert(start[0], start[1], Entry::new(n, rule, prefix, 0));
                self.inside_starts.insert(&start);
            } else if tail < prefix.len() && Self::run_after(rule, prefix) >= RUN {
                let cut = prefix.len() - tail;
                let first = if cut == 1 { ByteSet::EMPTY.complement() } else { set(cut - 2) };
                self.before.insert(first, set(cut - 1), Entry::new(n, rule, prefix, cut));
            } else {
                self.literal.insert(start[0], start[1], Entry::new(n, rule, prefix, 0));
                self.starts.push(start);
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

    /// Whether a prefix that may stand in a run may begin at `at`.
    #[inline]
    pub(crate) fn may_be_inside(&self, text: &[u8], at: usize) -> bool {
        self.inside_starts.may(text, at)
    }

    /// Rules whose prefix may begin at `at`.
    #[inline]
    pub(crate) fn inside(&self, text: &[u8], at: usize) -> impl Iterator<Item = (u16, usize)> {
        let list = if self.inside_starts.may(text, at) { self.inside.get(text.get(at..at + 2)) } else { &[] };
        list.iter().filter_map(move |e| e.place(text, at))
    }

    /// Whether `run`, which breaks off at a line end, may be the beginning of a token.
    pub(crate) fn may_begin(&self, run: &[u8]) -> bool {
        self.inside(run, 0).any(|(n, _)| {
            let prefixes = self.rules[usize::from(n)].shape.prefixes();
            prefixes.iter().any(|p| p.starts_with(run) || run.starts_with(p))
        })
    }

    /// Rules whose prefix may end before the run at `at`, and where it begins.
    #[inline]
    pub(crate) fn before(&self, text: &[u8], at: usize) -> impl Iterator<Item = (u16, usize)> {
        let list = if at < 2 { &[] } else { self.before.get(text.get(at - 2..at)) };
        list.iter().filter_map(move |e| e.place(text, at))
    }

    /// Rules whose literal may begin at `at`.
    #[inline]
    pub(crate) fn literal(&self, text: &[u8], at: usize) -> impl Iterator<Item = (u16, usize)> {
        self.literal.get(text.get(at..at + 2)).iter().filter_map(move |e| e.place(text, at))
    }

    /// Rules whose URL may have its host at `at`, and where it begins.
    #[inline]
    pub(crate) fn url(&self, text: &[u8], at: usize) -> impl Iterator<Item = (u16, usize)> {
        let list = self.url.get(text.get(at..at + 2)).iter().chain(&self.url_any);
        list.filter_map(move |e| e.place(text, at))
    }
}

pub(crate) fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, what)
}

/// Rules that need a word before the token, and the words.
#[derive(Debug, Default)]
pub(crate) struct Near {
    words: Vec<String>,
    /// Numbers of the words.
    known: HashMap<String, usize>,
    lexicon: Option<Lexicon>,
    /// For each word: the rules that need it, with the token lengths they take.
    rules: Vec<Vec<(u16, u16, u16)>>,
    /// For each length: what the tokens that some rule takes may be made of, one set of [`features`] a kind of rule, and
    /// whether they need not look random.
    lengths: Vec<Vec<(u16, bool)>>,
}

/// The kinds of characters in `text`, as bits: what most runs have and few tokens of a rule may have.
pub(crate) fn features(text: &[u8]) -> u16 {
    text.iter().fold(0, |bits, &b| bits | FEATURES[usize::from(b)])
}

/// The bit of all characters that have none of their own.
pub(crate) const OTHERS: u16 = 4096;

const FEATURES: [u16; 256] = {
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
            b'/' => 128,
            b'+' => 256,
            b'.' => 512,
            b'=' => 1024,
            b'~' => 2048,
            _ => OTHERS,
        };
        b += 1;
    }
    t
};

impl Near {
    fn insert(&mut self, n: usize, rule: &ShapeRule) {
        let (min, max) = (rule.shape.min_len(), rule.shape.max_len().min(LONGEST));
        if self.lengths.len() <= max {
            self.lengths.resize(max + 1, vec![]);
        }
        let kinds = rule.shape.bytes().iter().fold(0, |bits, b| bits | FEATURES[usize::from(b)]);
        for list in &mut self.lengths[min.min(max)..=max] {
            let plain = !rule.random;
            if !list.iter().any(|&(other, any)| kinds & !other == 0 && (any || !plain)) {
                list.retain(|&(other, any)| other & !kinds != 0 || any && !plain);
                list.push((kinds, plain));
            }
        }
        for word in &rule.near {
            let w = *self.known.entry(word.clone()).or_insert_with(|| {
                self.words.push(word.clone());
                self.rules.push(vec![]);
                self.words.len() - 1
            });
            self.rules[w].push((n as u16, min as u16, max as u16));
        }
    }

    fn seal(&mut self) {
        self.lexicon = Some(Lexicon::new(std::mem::take(&mut self.words)));
        self.known = HashMap::new();
    }

    /// Whether any rule takes a token of `len` bytes with these features; `Some(true)` if it need not look random.
    #[inline]
    pub(crate) fn takes(&self, len: usize, features: u16) -> Option<bool> {
        let list = self.lengths.get(len)?;
        list.iter().filter(|(kinds, _)| features & !kinds == 0).map(|&(_, plain)| plain).max()
    }

    /// The rules that need one of `words` and take a token of one of these lengths.
    pub(crate) fn rules_for(&self, words: &[u16], lengths: [usize; 4]) -> impl Iterator<Item = u16> {
        words.iter().flat_map(|&w| &self.rules[usize::from(w)]).filter_map(move |&(n, min, max)| {
            let fits = |len: usize| (usize::from(min)..=usize::from(max)).contains(&len);
            lengths.into_iter().any(fits).then_some(n)
        })
    }

    /// The words that stand in `text[..end]`, in either case.
    pub(crate) fn words_in(&self, text: &[u8], end: usize, found: &mut Vec<u16>) {
        found.clear();
        if let Some(lexicon) = &self.lexicon {
            lexicon.find_at(text, end, |_, word| {
                if !found.contains(&word) {
                    found.push(word);
                }
                false
            });
        }
    }
}
