//! The encodings against the naive way: a regular expression for the pieces, and merging pair by pair.

use std::collections::HashMap;

use ctxproto_tokens::{Encoding, Id};
use proptest::prelude::*;
use regex::Regex;

/// The published expressions without their look-ahead, which [`Oracle::pieces`] does by hand.
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|(\s+)";
const CL100K: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+$|\s*[\r\n]|(\s+)";
const R50K: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+$|(\s+)";

struct Oracle {
    encoding: Encoding,
    regex: Regex,
    ranks: HashMap<&'static [u8], Id>,
}

impl Oracle {
    fn new(encoding: Encoding, pattern: &str) -> Self {
        let regex = Regex::new(&format!(r"\A(?:{pattern})")).expect("the expression is valid");
        let ranks = (0..encoding.end()).filter_map(|id| Some((encoding.token(id)?, id))).collect();
        Self { encoding, regex, ranks }
    }

    fn pieces<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut pieces = vec![];
        let mut rest = text;
        while !rest.is_empty() {
            let found = self.regex.captures(rest).expect("something always matches");
            let mut end = found.get(0).expect("a match").end();
            // `\s+(?!\S)|\s+`: the last one goes with what follows.
            if let Some(spaces) = found.get(1).filter(|m| m.end() < rest.len()) {
                let last = spaces.as_str().char_indices().next_back().expect("not empty").0;
                end = if last > 0 { last } else { end };
            }
            pieces.push(&rest[..end]);
            rest = &rest[end..];
        }
        pieces
    }

    fn encode(&self, text: &str) -> Vec<Id> {
        self.pieces(text).into_iter().flat_map(|piece| self.merge(piece.as_bytes())).collect()
    }

    fn merge(&self, piece: &[u8]) -> Vec<Id> {
        if let Some(&id) = self.ranks.get(piece) {
            return vec![id];
        }
        let mut ends: Vec<usize> = (0..=piece.len()).collect();
        while let Some((_, i)) = (0..ends.len().saturating_sub(2))
            .filter_map(|i| Some((*self.ranks.get(&piece[ends[i]..ends[i + 2]])?, i)))
            .min()
        {
            ends.remove(i + 1);
        }
        ends.windows(2).map(|pair| self.ranks[&piece[pair[0]..pair[1]]]).collect()
    }

    fn check(&self, text: &str) {
        let want = self.encode(text);
        assert_eq!(self.encoding.encode(text), want, "{} of {text:?}", self.encoding);
        assert_eq!(self.encoding.count(text), want.len(), "{} of {text:?}", self.encoding);
        let bytes: Vec<u8> =
            want.iter().flat_map(|&id| self.encoding.token(id).expect("a token")).copied().collect();
        assert_eq!(bytes, text.as_bytes());
    }
}

fn oracles() -> &'static [Oracle] {
    static ALL: std::sync::OnceLock<Vec<Oracle>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| {
        vec![
            Oracle::new(Encoding::O200kBase, O200K),
            Oracle::new(Encoding::Cl100kBase, CL100K),
            Oracle::new(Encoding::P50kBase, R50K),
            Oracle::new(Encoding::R50kBase, R50K),
        ]
    })
}

/// What the expressions treat apart: letters of every case, marks, numbers, blanks, line ends, contractions.
const TRICKY: &str = "[aAzZéÉßǅʰªあ漢ßſſİıΣς'’\u{301}\u{20dd}0-9٣Ⅷ½ \t\r\n\u{b}\u{85}\u{a0}\u{2028}\u{3000}/.,;(){}<>|_\u{200b}\u{feff}🙂👍🏽]{0,40}";

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn tricky_text(text in TRICKY) {
        oracles().iter().for_each(|o| o.check(&text));
    }

    #[test]
    fn any_text(text in "\\PC{0,60}") {
        oracles().iter().for_each(|o| o.check(&text));
    }

    #[test]
    fn words_and_contractions(text in "([ \n]?[A-Za-z]{1,12}('(s|S|re|LL|ve|d|x|ſ))?[.!/]?[ \t\r\n]{0,3}){0,12}") {
        oracles().iter().for_each(|o| o.check(&text));
    }

    #[test]
    fn long_pieces(text in "[ab]{0,300}|[a-z]{0,200}|[A-Za-z0-9+/]{0,200}|[ ]{0,300}|[=^#-]{0,200}|[\n]{0,200}") {
        oracles().iter().for_each(|o| o.check(&text));
    }
}

#[test]
fn every_token_is_itself() {
    for oracle in oracles() {
        let encoding = oracle.encoding;
        for id in 0..encoding.end() {
            if let Some(bytes) = encoding.token(id) {
                assert_eq!(encoding.id(bytes), Some(id));
            }
        }
    }
}
