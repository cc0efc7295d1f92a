//! From a piece to its tokens, in time linear in its length.
//!
//! Byte-pair encoding merges the pair of the lowest rank until none is left. The outcome can be had from left to right:
//! a row of tokens is what merging gives if and only if each two neighbours stay apart when their bytes are merged by
//! themselves. So the longest token is taken; if it does not stay apart from the one before, a shorter one; and if none
//! does, the one before is taken back. A place from which no way led on is not tried again, which makes it linear.
//! (The property and the walk: the `bpe` crate's description of its algorithm; proven in arXiv 2605.30813.)

use crate::key::Key;
use crate::vocabulary::{Id, NONE, Vocabulary};

/// How many tokens a short piece is: pairs are merged one after the other. For so few that looks up less than what follows.
pub(crate) fn count_short(vocabulary: &Vocabulary, key: Key) -> usize {
    let len = key.len();
    // Where the parts begin, and the end.
    let mut starts: u32 = u32::MAX >> (31 - len);
    // For each beginning of a part, what it makes with the next one, and the place of it.
    let mut ranks = [u32::MAX; 16];
    let rank = |from: usize, to: usize| match vocabulary.merged(key.part(from, to)) {
        NONE => u32::MAX,
        id => id << 4 | from as u32,
    };
    for (from, first) in ranks[..len - 1].iter_mut().enumerate() {
        *first = rank(from, from + 2);
    }
    loop {
        let first = ranks.into_iter().min().unwrap_or(u32::MAX);
        if first == u32::MAX {
            return starts.count_ones() as usize - 1;
        }
        let from = first as usize & 15;
        let after = |at: usize| at + 1 + (starts >> (at + 1)).trailing_zeros() as usize;
        let middle = after(from);
        let end = after(middle);
        ranks[middle] = u32::MAX;
        ranks[from] = if end == len { u32::MAX } else { rank(from, after(end)) };
        if from > 0 {
            let before = (starts & ((1 << from) - 1)).ilog2() as usize;
            ranks[before] = rank(before, end);
        }
        starts ^= 1 << middle;
    }
}

/// The tokens of `piece`, appended to `tokens`.
pub(crate) fn merge(vocabulary: &Vocabulary, piece: &[u8], tokens: &mut Vec<Id>) {
    let first = tokens.len();
    // Places that are known to lead nowhere.
    let (mut few, mut many) = ([0], vec![]);
    let dead: &mut [u64] = if piece.len() < 64 {
        &mut few
    } else {
        many.resize(piece.len() / 64 + 1, 0);
        &mut many
    };
    let mut at = 0;
    let mut next = (!piece.is_empty()).then(|| vocabulary.longest(piece));
    while let Some(mut token) = next {
        let before = (tokens.len() > first).then(|| tokens[tokens.len() - 1]);
        loop {
            let end = at + vocabulary.len_of(token);
            let open = dead[end / 64] >> (end % 64) & 1 == 0;
            if open && before.is_none_or(|before| vocabulary.stay_apart(before, token)) {
                tokens.push(token);
                at = end;
                next = (at < piece.len()).then(|| vocabulary.longest(&piece[at..]));
                break;
            }
            if let Some(shorter) = vocabulary.shorter(token) {
                token = shorter;
                continue;
            }
            // No token leads on from here: the one before is tried shorter.
            dead[at / 64] |= 1 << (at % 64);
            let Some(before) = before else { return };
            tokens.pop();
            at -= vocabulary.len_of(before);
            next = Some(before);
            break;
        }
    }
}
