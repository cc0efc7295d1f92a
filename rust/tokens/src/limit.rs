//! Where the longest prefix or suffix of so many tokens ends, without reading the rest.
//!
//! A cut changes how the text before it is split: white space at an end is split otherwise than before a word. So what is
//! cut is counted anew, from the beginning of a piece that the cut cannot change.

use crate::encoding::Encoding;
use crate::pieces::is_settled;

/// In longer pieces (data, not words) only the ends of tokens are tried as cuts.
const LONG: usize = 256;

impl Encoding {
    /// The end of the longest prefix of `text` that has `most` tokens at most. As more text can be fewer tokens, "longest"
    /// means: the furthest place that fits before the end of the first token of the whole that does not.
    pub fn limit(self, text: &str, most: usize) -> usize {
        let bytes = text.as_bytes();
        // The last two places from which a shorter text is split in the same way, and the tokens before them.
        let mut anchors = [(0, 0); 2];
        let mut total = 0;
        let mut over = None;
        self.pieces(bytes, 0, |start, end, count| {
            if is_settled(bytes, start) {
                anchors = [anchors[1], (start, total)];
            }
            if total + count > most {
                over = Some((start, end));
                return false;
            }
            total += count;
            true
        });
        let Some((start, end)) = over else { return text.len() };
        let tokens = self.encode_piece(&bytes[start..end]);
        let mut ends: Vec<usize> = tokens
            .iter()
            .scan(start, |at, &id| {
                *at += self.token(id).map_or(0, <[u8]>::len);
                Some(*at)
            })
            .take(most - total + 1)
            .collect();
        let first_over = ends.pop().unwrap_or(end);
        let fits = |cut: usize| {
            let (from, before) = anchors.into_iter().rev().find(|anchor| anchor.0 < cut).unwrap_or((0, 0));
            before + self.count(&text[from..cut]) <= most
        };
        let mut cuts: Box<dyn Iterator<Item = usize>> = if end - start > LONG {
            Box::new(ends.into_iter().rev().chain((0..=start).rev()))
        } else {
            Box::new((0..first_over).rev())
        };
        cuts.find(|&cut| text.is_char_boundary(cut) && fits(cut)).unwrap_or(0)
    }

    /// The beginning of the longest suffix of `text` that has `most` tokens at most; "longest" as in [`Encoding::limit`]: it begins
    /// in the piece of which the end, or nothing, still fits.
    pub fn limit_back(self, text: &str, most: usize) -> usize {
        let bytes = text.as_bytes();
        let mut window = most.saturating_mul(6).saturating_add(64);
        // Pieces are split from their beginnings on: wherever one begins, the text from there on has these pieces.
        let mut pieces: Vec<(usize, usize)> = vec![];
        let from = loop {
            let mut from = text.len().saturating_sub(window);
            while !text.is_char_boundary(from) {
                from -= 1;
            }
            pieces.clear();
            let mut total = 0;
            self.pieces(bytes, from, |start, _, count| {
                pieces.push((start, count));
                total += count;
                true
            });
            if total > most {
                break from;
            }
            if from == 0 {
                return 0;
            }
            window = window.saturating_mul(2);
        };
        let mut total = 0;
        let mut kept = pieces.len();
        while kept > 0 && total + pieces[kept - 1].1 <= most {
            kept -= 1;
            total += pieces[kept].1;
        }
        let end = pieces.get(kept).map_or(text.len(), |piece| piece.0);
        let start = kept.checked_sub(1).map_or(from, |i| pieces[i].0);
        let fits = |cut: usize| {
            // Counted until a piece begins where one of the pieces above does.
            let mut count = 0;
            let mut at = kept;
            let mut rest = total;
            self.pieces(bytes, cut, |start, _, n| {
                while at < pieces.len() && pieces[at].0 < start {
                    rest -= pieces[at].1;
                    at += 1;
                }
                if pieces.get(at).is_some_and(|piece| piece.0 == start) {
                    count += rest;
                    return false;
                }
                count += n;
                true
            });
            count <= most
        };
        let cuts: Vec<usize> = if end - start > LONG {
            let tokens = self.encode_piece(&bytes[start..end]);
            let lengths = tokens.iter().rev().map(|&id| self.token(id).map_or(0, <[u8]>::len));
            let mut cuts: Vec<usize> = lengths
                .scan(end, |at, len| {
                    *at -= len;
                    Some(*at)
                })
                .take(most - total)
                .collect();
            cuts.reverse();
            cuts
        } else {
            (start + 1..end).collect()
        };
        cuts.into_iter().find(|&cut| text.is_char_boundary(cut) && fits(cut)).unwrap_or(end)
    }
}
