//! UTF-16 to UTF-8 and back, piece by piece and without loss.
//!
//! The redactor reads UTF-8. Lone surrogates travel as the three bytes they would have in UTF-8 (which the redactor
//! passes through like any other invalid byte), and an odd last byte is kept aside, so that text without findings
//! comes back byte for byte.

/// Byte order of a UTF-16 text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    /// By the byte order mark, which alone is proof enough: without one a text full of zeros is binary.
    /// (`FF FE 00 00` is UTF-32.)
    pub(crate) fn of(text: &[u8]) -> Option<Self> {
        match text {
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(Self::Little),
            [0xfe, 0xff, ..] => Some(Self::Big),
            _ => None,
        }
    }

    fn unit(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(pair),
            Self::Big => u16::from_be_bytes(pair),
        }
    }

    fn bytes(self, unit: u16) -> [u8; 2] {
        match self {
            Self::Little => unit.to_le_bytes(),
            Self::Big => unit.to_be_bytes(),
        }
    }
}

/// UTF-16 to UTF-8.
#[derive(Debug)]
pub(crate) struct ToUtf8 {
    order: Order,
    odd: Option<u8>,
    high: Option<u16>,
}

impl ToUtf8 {
    pub(crate) fn new(order: Order) -> Self {
        Self { order, odd: None, high: None }
    }

    pub(crate) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let mut bytes = piece.iter().copied();
        while let Some(first) = self.odd.take().or_else(|| bytes.next()) {
            let Some(second) = bytes.next() else {
                self.odd = Some(first);
                return;
            };
            self.unit(self.order.unit([first, second]), out);
        }
    }

    fn unit(&mut self, unit: u16, out: &mut Vec<u8>) {
        if let Some(high) = self.high.take() {
            if (0xdc00..0xe000).contains(&unit) {
                let code = 0x1_0000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(unit) - 0xdc00);
                encode(code, out);
                return;
            }
            encode(u32::from(high), out);
        }
        if (0xd800..0xdc00).contains(&unit) {
            self.high = Some(unit);
        } else {
            encode(u32::from(unit), out);
        }
    }

    /// Ends the text; the odd last byte, if there is one, has no place in UTF-8 and is handed over as it is.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> Option<u8> {
        if let Some(high) = self.high.take() {
            encode(u32::from(high), out);
        }
        self.odd.take()
    }
}

/// UTF-8's scheme for any number below 0x110000, surrogates included.
fn encode(code: u32, out: &mut Vec<u8>) {
    let low = |shift: u32| 0x80 | ((code >> shift) & 0x3f) as u8;
    match code {
        0..0x80 => out.push(code as u8),
        0x80..0x800 => out.extend([0xc0 | (code >> 6) as u8, low(0)]),
        0x800..0x1_0000 => out.extend([0xe0 | (code >> 12) as u8, low(6), low(0)]),
        _ => out.extend([0xf0 | (code >> 18) as u8, low(12), low(6), low(0)]),
    }
}

/// What [`ToUtf8`] made (with placeholders put in) back to UTF-16.
#[derive(Debug)]
pub(crate) struct FromUtf8 {
    order: Order,
    code: u32,
    missing: u8,
}

impl FromUtf8 {
    pub(crate) fn new(order: Order) -> Self {
        Self { order, code: 0, missing: 0 }
    }

    pub(crate) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for &byte in piece {
            (self.code, self.missing) = match byte {
                0..0x80 => (u32::from(byte), 0),
                0x80..0xc0 => (self.code << 6 | u32::from(byte & 0x3f), self.missing.saturating_sub(1)),
                0xc0..0xe0 => (u32::from(byte & 0x1f), 1),
                0xe0..0xf0 => (u32::from(byte & 0x0f), 2),
                0xf0.. => (u32::from(byte & 0x07), 3),
            };
            if self.missing > 0 {
                continue;
            }
            if self.code < 0x1_0000 {
                out.extend(self.order.bytes(self.code as u16));
            } else {
                let rest = self.code - 0x1_0000;
                out.extend(self.order.bytes(0xd800 | (rest >> 10) as u16));
                out.extend(self.order.bytes(0xdc00 | (rest & 0x3ff) as u16));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(order: Order, bytes: &[u8], size: usize) -> (Vec<u8>, Vec<u8>) {
        let (mut to, mut from) = (ToUtf8::new(order), FromUtf8::new(order));
        let (mut text, mut back) = (vec![], vec![]);
        for piece in bytes.chunks(size) {
            to.push(piece, &mut text);
        }
        let odd = to.finish(&mut text);
        for piece in text.chunks(size) {
            from.push(piece, &mut back);
        }
        back.extend(odd);
        (text, back)
    }

    #[test]
    fn text_is_the_same_as_the_standard_librarys() {
        let text = "\u{feff}plain, ünï, 中文, 😀 and \u{10ffff}\r\n";
        for order in [Order::Little, Order::Big] {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(|u| order.bytes(u)).collect();
            assert_eq!(Order::of(&bytes), Some(order));
            for size in 1..9 {
                assert_eq!(round(order, &bytes, size), (text.as_bytes().to_vec(), bytes.clone()));
            }
        }
    }

    #[test]
    fn any_bytes_come_back() {
        let mut state = 1_u32;
        for length in 0..400 {
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // Surrogates are rare in random bytes: make every second one.
                    if state >> 31 == 0 { 0xd8 | (state >> 24) as u8 & 7 } else { (state >> 16) as u8 }
                })
                .collect();
            for order in [Order::Little, Order::Big] {
                assert_eq!(round(order, &bytes, 1 + length % 5).1, bytes);
            }
        }
    }
}
