//! From a piece to its tokens, in time linear in its length.
//!
//! Byte-pair encoding merges the pair of the lowest rank until none is left. The outcome can be had from left to right:
//! a row of tokens is what merging gives if and only if each two neighbours stay apart when their bytes are merged by
//! themselves. So the longest token is taken; if it does not stay apart from the one before, a shorter one; and if none
//! does, the one before is taken back. A place from which no way led on is not tried again, which makes it linear.
//! (The property and the walk: the `bpe` crate's description of its algorithm; proven in arXiv 2605.30813.)

use crate::vocabulary::{Id, Vocabulary};

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
