//! Lines and columns, counted as the text goes by.

/// Where a text has got to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
}

impl Default for Position {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

impl Position {
    /// Goes on over `text`.
    pub fn advance(&mut self, text: &[u8]) {
        let rest = match memchr::memrchr(b'\n', text) {
            Some(last) => {
                self.line += memchr::memchr_iter(b'\n', &text[..=last]).count();
                self.column = 1;
                &text[last + 1..]
            }
            None => text,
        };
        // Every byte but the continuation bytes of UTF-8 begins a character.
        self.column += rest.iter().filter(|&&b| b & 0xC0 != 0x80).count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_in_any_pieces() {
        let text = "añb\n\ncd→e\r\nf".as_bytes();
        let mut whole = Position::default();
        whole.advance(text);
        assert_eq!(whole, Position { line: 4, column: 2 });
        for cut in 0..text.len() {
            let mut parts = Position::default();
            parts.advance(&text[..cut]);
            parts.advance(&text[cut..]);
            assert_eq!(parts, whole, "{cut}");
        }
    }
}
