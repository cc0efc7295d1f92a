//! The text of an input, for those who do something else with it than redacting it.

use std::io::Read;
use std::path::Path;

use crate::codec::Decoder;
use crate::file::open;
use crate::pump::{BLOCK, Source, fill};
use crate::utf16::{Order, ToUtf8};
use crate::{Control, Error};

/// Hands the text of a file to `take`, piece by piece and in UTF-8; see [`read`].
pub fn read_file(path: &Path, control: Control<'_>, take: impl FnMut(&[u8])) -> Result<bool, Error> {
    let (file, _) = open(path, false)?;
    read(file, control, take)
}

/// Hands the text of an input to `take`, piece by piece: decompressed, and UTF-8 where it is UTF-16. `false` when it is
/// binary data (a NUL in its first block), of which nothing is handed on.
pub fn read(input: impl Read, control: Control<'_>, mut take: impl FnMut(&[u8])) -> Result<bool, Error> {
    let mut source = Source::new(input, control);
    let (_, mut decoder) = Decoder::open(&mut source).map_err(|e| Error::read(e, control))?;
    let mut block = vec![0; BLOCK];
    let mut filled = fill(&mut decoder, &mut block, None, control)?;
    let order = Order::of(&block[..filled]);
    if order.is_none() && memchr::memchr(0, &block[..filled]).is_some() {
        return Ok(false);
    }
    let mut utf16 = order.map(ToUtf8::new);
    let mut text = vec![];
    while filled > 0 {
        match &mut utf16 {
            None => take(&block[..filled]),
            Some(to) => {
                text.clear();
                to.push(&block[..filled], &mut text);
                take(&text);
            }
        }
        filled = fill(&mut decoder, &mut block, None, control)?;
    }
    if let Some(mut to) = utf16 {
        text.clear();
        // Half a character at the end has no text.
        to.finish(&mut text);
        take(&text);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::Progress;
    use crate::codec::{Codec, Encoder};

    fn text(input: &[u8]) -> Option<Vec<u8>> {
        let progress = Progress::new();
        let mut out = vec![];
        let read = read(input, Control::new(&progress, &|| false), |piece| out.extend_from_slice(piece));
        read.expect("memory can be read").then_some(out)
    }

    #[test]
    fn whatever_holds_it_is_text() {
        for codec in [Codec::Plain, Codec::Gzip, Codec::Zstd] {
            let mut encoder = Encoder::new(codec, vec![]).expect("an encoder");
            encoder.write_all(b"one\ntwo").expect("memory takes everything");
            assert_eq!(text(&encoder.finish().expect("whole")), Some(b"one\ntwo".to_vec()), "{codec:?}");
        }
        let utf16: Vec<u8> = "\u{feff}caf\u{e9}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(text(&utf16), Some("\u{feff}caf\u{e9}".into()));
        assert_eq!(text(b""), Some(vec![]));
        assert_eq!(text(b"\x7fELF\0\0"), None);
    }
}
