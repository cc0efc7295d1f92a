//! The encodings against the naive way: a regular expression for the pieces, and merging pair by pair.

use std::collections::HashMap;

use ctxproto_tokens::{Counter, Encoding, Id};
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

fn check(text: &str) {
    for oracle in oracles() {
        oracle.check(text);
    }
}

/// What the expressions treat apart: letters of every case, marks, numbers, blanks, line ends, contractions.
const TRICKY: &str = "[aAzZéÉßǅʰªあ漢ßſſİıΣς'’\u{301}\u{20dd}0-9٣Ⅷ½ \t\r\n\u{b}\u{85}\u{a0}\u{2028}\u{3000}/.,;(){}<>|_\u{200b}\u{feff}🙂👍🏽]{0,40}";

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn tricky_text(text in TRICKY) {
        check(&text);
    }

    #[test]
    fn any_text(text in "\\PC{0,60}") {
        check(&text);
    }

    #[test]
    fn words_and_contractions(text in "([ \n]?[A-Za-z]{1,12}('(s|S|re|LL|ve|d|x|ſ))?[.!/]?[ \t\r\n]{0,3}){0,12}") {
        check(&text);
    }

    #[test]
    fn long_pieces(text in "[ab]{0,300}|[a-z]{0,200}|[A-Za-z0-9+/]{0,200}|[ ]{0,300}|[=^#-]{0,200}|[\n]{0,200}") {
        check(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// Longer than the windows in which pieces are looked for, with little that is not ASCII.
    #[test]
    fn windows(text in "([ \n(\t]{0,3}[A-Za-z]{0,9}('(s|S|re|LL|x|ſ))?[.!/;]{0,2}[0-9]{0,7}[ \t\r\n]{0,3}[é漢\u{301}]?){10,40}") {
        check(&text);
    }

    #[test]
    fn windows_of_tricky_text(text in "[aAzZ'srelLdT0-9 \t\r\n\u{b}/.;(é\u{301}漢ſ]{64,300}") {
        check(&text);
    }

    /// What was counted before is counted the same from what was kept.
    #[test]
    fn again(text in "([ \n]?[A-Za-z]{1,20}|[ ]{1,90}|[-=]{1,260}|漢字かな){1,12}") {
        check(&text);
        check(&text);
    }
}

/// Where tokens of the whole end.
fn token_ends(encoding: Encoding, text: &str) -> Vec<usize> {
    let lengths = encoding.encode(text).into_iter().map(|id| encoding.token(id).expect("a token").len());
    lengths
        .scan(0, |at, len| {
            *at += len;
            Some(*at)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn the_longest_prefix(text in prop_oneof![TRICKY, "([
    ]{0,3}[A-Za-z]{1,8}('s|'ll)?[0-9.]{0,5}){0,8}"], most in 0usize..12) {
        for oracle in oracles() {
            let encoding = oracle.encoding;
            let cut = encoding.limit(&text, most);
            let ends = token_ends(encoding, &text);
            let before = ends.get(most).copied().unwrap_or(text.len() + 1);
            let want = (0..before).rev().find(|&cut| text.is_char_boundary(cut) && oracle.encode(&text[..cut]).len() <= most);
            prop_assert_eq!(Some(cut), want, "{} {:?}", encoding, text);
        }
    }

    #[test]
    fn the_longest_suffix(text in prop_oneof![TRICKY, "([
    ]{0,3}[A-Za-z]{1,8}('s|'ll)?[0-9.]{0,5}){0,8}"], most in 0usize..12) {
        for oracle in oracles() {
            let encoding = oracle.encoding;
            let cut = encoding.limit_back(&text, most);
            let count = |cut: usize| oracle.encode(&text[cut..]).len();
            prop_assert!(count(cut) <= most, "{} {:?}", encoding, text);
            // No piece more would fit.
            let starts: Vec<usize> = oracle.pieces(&text).iter().map(|p| p.as_ptr() as usize - text.as_ptr() as usize).collect();
            let piece = starts.iter().rev().find(|&&start| start < cut);
            if let Some(&start) = piece {
                prop_assert!(count(start) > most || count(start) <= most && start >= cut, "{} {:?} {}", encoding, text, start);
            }
        }
    }

    #[test]
    fn chunks_count_as_the_whole(text in prop_oneof![TRICKY, "\\PC{0,200}", "( ?[a-z']{1,9}[
]{0,9}){0,30}"], cuts in proptest::collection::vec(0usize..200, 0..12)) {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase, Encoding::R50kBase] {
            let mut counter = Counter::new(encoding);
            let mut cuts: Vec<usize> = cuts.iter().map(|c| c % (text.len() + 1)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            for pair in cuts.windows(2) {
                counter.feed(&text.as_bytes()[pair[0]..pair[1]]);
                prop_assert_eq!(counter.count(), encoding.count(&String::from_utf8_lossy(&text.as_bytes()[..pair[1]])));
            }
        }
    }

    #[test]
    fn any_bytes_in_chunks(bytes in proptest::collection::vec(any::<u8>(), 0..120), cut in 0usize..120) {
        let cut = cut.min(bytes.len());
        let mut counter = Counter::new(Encoding::O200kBase);
        counter.feed(&bytes[..cut]);
        counter.feed(&bytes[cut..]);
        prop_assert_eq!(counter.count(), Encoding::O200kBase.count(&String::from_utf8_lossy(&bytes)));
    }
}

#[test]
fn long_texts_are_cut_in_their_beginning() {
    for text in [
        "a".repeat(100_000),
        " ".repeat(100_000),
        "word ".repeat(20_000),
        "\n".repeat(100_000),
        "é漢".repeat(30_000),
    ] {
        for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
            for most in [0usize, 1, 2, 100] {
                // Half a character is kept out.
                let least = most.saturating_sub(3);
                let cut = encoding.limit(&text, most);
                assert!(encoding.count(&text[..cut]) <= most && cut >= least, "{most} {cut}");
                let cut = text.len() - encoding.limit_back(&text, most);
                assert!(encoding.count(&text[text.len() - cut..]) <= most && cut >= least, "{most} {cut}");
            }
        }
    }
}

#[test]
fn long_counts_ask_whether_to_go_on() {
    let text = "Some words, 12345 and\n\n  漢字 it's fine;\n".repeat(80_000);
    let mut looks = 0;
    let counted = Encoding::O200kBase.count_checked(&text, || {
        looks += 1;
        Ok::<_, ()>(())
    });
    assert_eq!(counted, Ok(Encoding::O200kBase.count(&text)));
    assert_eq!(looks, 3);
    assert_eq!(Encoding::O200kBase.count_checked(&text, || Err(7)), Err(7));
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
