//! Where pieces begin in a window of 64 bytes, found for all bytes at once: a bit for each byte, shifts for neighbours.
//!
//! A window begins where a piece does, so nothing before it matters. What follows it may: a beginning is given only if
//! nothing behind the ASCII bytes of the window can change it. The rest is for the next window, which begins at the last one
//! given, or for the functions in `pieces.rs`, which say what is right.

/// Bits of the bytes of a class. Bytes that are not ASCII are in none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masks {
    pub(crate) upper: u64,
    pub(crate) lower: u64,
    pub(crate) digits: u64,
    /// `\r`, `\n`
    pub(crate) lines: u64,
    /// Other white space.
    pub(crate) blanks: u64,
    pub(crate) space: u64,
    pub(crate) slashes: u64,
    pub(crate) apostrophes: u64,
    pub(crate) wide: u64,
}

/// A window.
pub(crate) type Bytes = [u8; 64];

/// Where pieces begin after the first, by `o200k_base` or by `cl100k_base`.
#[inline]
pub(crate) fn starts<const O200K: bool>(text: &Bytes, masks: &Masks) -> u64 {
    let &Masks { upper, lower, digits, lines, blanks, space, slashes, apostrophes, wide } = masks;
    let len = wide.trailing_zeros();
    if len < 4 {
        return 0;
    }
    let inside = u64::MAX >> (64 - len);
    let letters = upper | lower;
    let white = lines | blanks;
    let signs = !(letters | digits | white) & inside;

    // Line ends after signs belong to them, in o200k with the slashes among them: a carry runs through them.
    let more = if O200K { lines | slashes } else { lines };
    let first = lines & signs << 1;
    let taken = first | more & !more.wrapping_add(first);
    let (signs, white) = (signs & !taken, white & !taken);

    // Words, with a blank or sign before them; a sign that has signs or a space before it is not free for that.
    let free = signs & !(signs << 1) & !(space << 1);
    let mut starts = free | letters & !(letters << 1) & !((free | blanks) << 1);
    if O200K {
        starts |= upper & lower << 1;
    }

    // Numbers in threes.
    let in_three = digits & digits << 1 & digits << 2 & digits << 3;
    let mut three = digits & !(digits << 1);
    while three != 0 {
        starts |= three;
        three = three << 3 & in_three;
    }

    // White space, what is behind its last line end, and its last blank.
    starts |= white & !(white << 1) | blanks & !((lines | blanks) >> 1);
    let behind = blanks & (white & lines) << 1;
    if behind != 0 {
        starts |= behind;
        let mut not_last = blanks.wrapping_add(behind) & !blanks & lines;
        while not_last != 0 {
            let end = not_last.trailing_zeros();
            let start = (behind & ((1 << end) - 1)).ilog2();
            starts &= !(1 << start);
            not_last &= not_last - 1;
        }
    }

    // Contractions: with the word before them in o200k, by themselves in cl100k.
    let mut quotes = apostrophes & letters >> 1 & if O200K { letters << 1 } else { free };
    if quotes != 0 {
        let mut before = 0;
        while quotes != 0 {
            let at = quotes.trailing_zeros();
            quotes &= quotes - 1;
            let end = at + contraction(text, at as usize);
            // What stands right after one is no word that could have another.
            if end == at || O200K && at == before {
                continue;
            }
            let apostrophe = if O200K { 0 } else { 1 << at };
            let inner = if end - at == 2 { 0b11 } else { 0b111 };
            starts = starts & !(inner << at) | apostrophe | 1u64.checked_shl(end).unwrap_or(0);
            before = end;
        }
    }

    // Contractions look two bytes ahead, white space to its end.
    let trailing = ((lines | blanks) << (64 - len)).leading_ones();
    let last = (len - 3).min(len - trailing);
    starts & !1 & u64::MAX >> (63 - last)
}

/// The bytes of a contraction whose apostrophe is at `at`; 0 if it is none, or is not all inside.
#[inline]
fn contraction(text: &Bytes, at: usize) -> u32 {
    let (Some(one), Some(two)) = (text.get(at + 1), text.get(at + 2)) else { return 0 };
    match (one | 0x20, two | 0x20) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => 3,
        _ => 0,
    }
}

/// The masks, byte by byte.
#[cfg(test)]
pub(crate) fn masks(text: &Bytes) -> Masks {
    use crate::classes::{BLANK, LOWER, NEWLINE, NUMBER, UPPER, class};
    let mut masks = Masks::default();
    for (i, &b) in text.iter().enumerate() {
        let class = if b < 0x80 { class(&[b], 0).0 } else { 0 };
        for (mask, is) in [
            (&mut masks.upper, class & UPPER != 0),
            (&mut masks.lower, class & LOWER != 0),
            (&mut masks.digits, class & NUMBER != 0),
            (&mut masks.lines, class & NEWLINE != 0),
            (&mut masks.blanks, class & BLANK != 0),
            (&mut masks.space, b == b' '),
            (&mut masks.slashes, b == b'/'),
            (&mut masks.apostrophes, b == b'\''),
            (&mut masks.wide, b >= 0x80),
        ] {
            *mask |= u64::from(is) << i;
        }
    }
    masks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Bytes, masks, starts};
    use crate::pieces::{self, Next};

    /// Every window that begins where a piece does has the beginnings that the text has.
    fn check(text: &str, next: Next, starts: impl Fn(&Bytes) -> u64) {
        let text = text.as_bytes();
        let mut begin = vec![0];
        while begin[begin.len() - 1] < text.len() {
            begin.push(next(text, begin[begin.len() - 1]));
        }
        for &at in &begin {
            let Some(window) = text[at..].first_chunk::<64>() else { break };
            let found = starts(window);
            if found == 0 {
                continue;
            }
            let last = at + found.ilog2() as usize;
            let want =
                begin.iter().filter(|&&b| b > at && b <= last).fold(0, |bits, b| bits | 1u64 << (b - at));
            assert_eq!(found, want, "{:?}", String::from_utf8_lossy(window));
        }
    }

    fn check_all(text: &str) {
        check(text, pieces::o200k, |w| starts::<true>(w, &masks(w)));
        check(text, pieces::cl100k, |w| starts::<false>(w, &masks(w)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

        #[test]
        fn tricky_text(text in "[aAzZ''srelLdT0-9 \t\r\n\u{b}/.;é\u{301}漢ſ]{64,160}") {
            check_all(&text);
        }

        #[test]
        fn ascii(text in "[ -~\t\n]{64,160}") {
            check_all(&text);
        }

        #[test]
        fn blank_lines(text in "([ \t]{0,4}[\r\n]{0,3}[;/a]{0,2}){10,60}[ -~]{64}") {
            check_all(&text);
        }

        #[test]
        fn words(text in "([ \n(]?[A-Za-z]{1,6}('(s|S|re|LL|lL|ve|d|x|ſ)){0,3}[.!/]?[0-9]{0,7}[ \t\r\n]{0,3}){6,20}[ -~]{64}") {
            check_all(&text);
        }

        #[test]
        #[cfg(target_arch = "x86_64")]
        fn vectors_give_the_same_masks(bytes in proptest::collection::vec(any::<u8>(), 64)) {
            let window: &Bytes = bytes.first_chunk().expect("64 bytes");
            if let Some(vector) = crate::avx2::masks_if_there(window) {
                prop_assert_eq!(vector, masks(window));
            }
        }
    }
}
