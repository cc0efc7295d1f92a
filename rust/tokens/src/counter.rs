//! Counting text that arrives in pieces.

use crate::encoding::Encoding;
use crate::estimate::Characters;
use crate::pieces::{LOOK_AHEAD, is_settled};

/// Counts chunks as they come; the sum is that of the whole, wherever the chunks were cut. What may still be split
/// otherwise is held back: about as much as the longest word.
#[derive(Debug)]
pub struct Counter {
    encoding: Encoding,
    /// Tokens of the text that is decided.
    total: usize,
    characters: Characters,
    held: String,
    /// The beginning of a character, of up to three bytes.
    partial: Vec<u8>,
    /// So much is waited for before splitting again: a long word is not split anew with every chunk.
    enough: usize,
}

const ENOUGH: usize = 64;

impl Counter {
    /// Counts for `encoding`.
    pub fn new(encoding: Encoding) -> Self {
        Self {
            encoding,
            total: 0,
            characters: Characters::default(),
            held: String::new(),
            partial: vec![],
            enough: ENOUGH,
        }
    }

    /// Takes more text. Bytes that are no UTF-8 count as U+FFFD each, as `String::from_utf8_lossy` has it.
    pub fn feed(&mut self, chunk: &[u8]) {
        let joined: Vec<u8>;
        let mut rest = if self.partial.is_empty() {
            chunk
        } else {
            joined = [std::mem::take(&mut self.partial).as_slice(), chunk].concat();
            &joined
        };
        while let Err(error) = std::str::from_utf8(rest) {
            let (valid, bad) = rest.split_at(error.valid_up_to());
            self.held.push_str(std::str::from_utf8(valid).expect("it is valid up to here"));
            let Some(len) = error.error_len() else {
                self.partial = bad.to_vec();
                rest = &[];
                break;
            };
            self.held.push('\u{fffd}');
            rest = &bad[len..];
        }
        self.held.push_str(std::str::from_utf8(rest).expect("checked above"));
        if self.held.len() >= self.enough {
            self.settle();
        }
    }

    /// Adds what no further text can change.
    fn settle(&mut self) {
        let text = self.held.as_bytes();
        let (mut total, mut settled) = (0, (0, 0));
        self.encoding.pieces(text, 0, |start, _, count| {
            if start + LOOK_AHEAD <= text.len() && is_settled(text, start) {
                settled = (start, total);
            }
            total += count;
            true
        });
        self.total += settled.1;
        self.characters.add(&self.held[..settled.0]);
        self.held.drain(..settled.0);
        self.enough = ENOUGH.max(self.held.len() * 2);
    }

    /// The tokens of all the text so far, as if it ended here.
    pub fn count(&self) -> usize {
        if self.partial.is_empty() {
            return self.total + self.encoding.count(&self.held);
        }
        self.total + self.encoding.count(&format!("{}\u{fffd}", self.held))
    }

    /// The characters of all the text so far that an estimate weighs.
    pub fn characters(&self) -> Characters {
        let mut all = self.characters;
        all.add(&self.held);
        if !self.partial.is_empty() {
            all.add("\u{fffd}");
        }
        all
    }
}
