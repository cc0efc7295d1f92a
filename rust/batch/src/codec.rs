//! Compression, recognised by magic bytes: what comes in as gzip goes out as gzip.

use std::io::{self, BufReader, Chain, Cursor, ErrorKind, Read, Write};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Compressed bytes asked of the source at a time.
const READ: usize = 256 << 10;
/// The most that is looked at first: as much as a pipe holds.
const HEAD: usize = 64 << 10;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Plain,
    Gzip,
    Zstd,
}

/// The bytes looked at, then the rest of the source.
type Source<R> = Chain<Cursor<Vec<u8>>, R>;

/// Decompresses a source: gzip members and zstd frames one after another are one text.
pub(crate) enum Decoder<R: Read> {
    Plain(Source<R>),
    Gzip(Box<MultiGzDecoder<BufReader<Source<R>>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<Source<R>>>>),
}

impl<R: Read> Decoder<R> {
    /// Looks at the first bytes and chooses. Waits for no byte more than the choice needs, so that the first
    /// short line of a pipe is not held up.
    pub(crate) fn open(mut source: R) -> io::Result<(Codec, Self)> {
        // One read, for what arrives first is looked at as a whole (see `Pump::run`).
        let mut head = vec![0; HEAD];
        let mut filled = 0;
        while [GZIP, ZSTD].iter().any(|m| m.len() > filled && m.starts_with(&head[..filled])) {
            match source.read(&mut head[filled..])? {
                0 => break,
                read => filled += read,
            }
        }
        head.truncate(filled);
        let codec = if head.starts_with(GZIP) {
            Codec::Gzip
        } else if head.starts_with(ZSTD) {
            Codec::Zstd
        } else {
            Codec::Plain
        };
        let source = Cursor::new(head).chain(source);
        let decoder = match codec {
            Codec::Plain => Self::Plain(source),
            Codec::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(READ, source)))),
            Codec::Zstd => {
                Self::Zstd(Box::new(zstd::Decoder::with_buffer(BufReader::with_capacity(READ, source))?))
            }
        };
        Ok((codec, decoder))
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(r) => r.read(buf),
            Self::Gzip(r) => r.read(buf).map_err(|e| broken("gzip", e)),
            Self::Zstd(r) => r.read(buf).map_err(|e| broken("zstd", e)),
        }
    }
}

/// Errors of the decoders in one form: cut short, or damaged.
fn broken(format: &str, error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => io::Error::new(error.kind(), format!("the {format} data is cut short")),
        // The zstd crate reports damage as `Other`; a failing disk has kinds of its own.
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::Other => {
            io::Error::new(ErrorKind::InvalidData, format!("the {format} data is damaged ({error})"))
        }
        _ => error,
    }
}

/// Compresses to a sink. The headers carry neither time nor name: equal text gives equal bytes.
pub(crate) enum Encoder<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    pub(crate) fn new(codec: Codec, sink: W) -> io::Result<Self> {
        Ok(match codec {
            Codec::Plain => Self::Plain(sink),
            Codec::Gzip => Self::Gzip(GzEncoder::new(sink, Compression::default())),
            Codec::Zstd => {
                let mut encoder = zstd::Encoder::new(sink, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
        })
    }

    /// Writes what is left and gives the sink back.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(w) => Ok(w),
            Self::Gzip(w) => w.finish(),
            Self::Zstd(w) => w.finish(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(w) => w.write(buf),
            Self::Gzip(w) => w.write(buf),
            Self::Zstd(w) => w.write(buf),
        }
    }

    /// Only plain text is pushed through: flushing a compressor at every line would cost its ratio.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(w) => w.flush(),
            Self::Gzip(_) | Self::Zstd(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(codec: Codec, text: &[u8]) -> Vec<u8> {
        let mut e = Encoder::new(codec, vec![]).expect("an encoder");
        e.write_all(text).expect("memory takes everything");
        e.finish().expect("memory takes everything")
    }

    fn decode(bytes: &[u8]) -> io::Result<(Codec, Vec<u8>)> {
        let (codec, mut d) = Decoder::open(bytes)?;
        let mut out = vec![];
        d.read_to_end(&mut out)?;
        Ok((codec, out))
    }

    #[test]
    fn every_codec_round_trips_and_is_recognised() {
        for codec in [Codec::Plain, Codec::Gzip, Codec::Zstd] {
            for text in [&b""[..], b"(", b"\x1f", b"one\ntwo", &b"abc".repeat(200_000)] {
                assert_eq!(decode(&encode(codec, text)).expect("whole"), (codec, text.to_vec()));
            }
        }
    }

    #[test]
    fn members_and_frames_are_one_text() {
        for codec in [Codec::Gzip, Codec::Zstd] {
            let joined = [encode(codec, b"one\n"), encode(codec, b""), encode(codec, b"two\n")].concat();
            assert_eq!(decode(&joined).expect("whole").1, b"one\ntwo\n");
        }
    }

    #[test]
    fn every_cut_is_an_error() {
        for codec in [Codec::Gzip, Codec::Zstd] {
            let whole = encode(codec, &b"some text to be cut\n".repeat(50));
            for cut in 4..whole.len() {
                let e = decode(&whole[..cut]).expect_err("cut short");
                assert!(e.to_string().contains("cut short"), "{codec:?} at {cut}: {e}");
            }
        }
    }

    #[test]
    fn damage_is_an_error_with_a_name() {
        let mut bytes = encode(Codec::Gzip, b"text");
        let last = bytes.len() - 6;
        bytes[last] ^= 1;
        assert!(
            decode(&bytes).expect_err("bad checksum").to_string().starts_with("the gzip data is damaged")
        );
        let mut bytes = encode(Codec::Zstd, b"text");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        assert!(
            decode(&bytes).expect_err("bad checksum").to_string().starts_with("the zstd data is damaged")
        );
    }
}
