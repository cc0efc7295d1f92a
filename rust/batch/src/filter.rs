//! A pipe: text in at one end, redacted text out at the other as soon as it is certain.

use std::io::{self, Read, Write};

use crate::codec::{Decoder, Encoder};
use crate::pump::{Pump, Source, Valve};
use crate::{Batch, Control, Error, Report};

/// Redacts `input` into `output` and flushes after every piece that arrives: a line that was typed comes out before
/// the next one is read, unless it may be the beginning of something longer. Compressed input gives compressed
/// output, which comes out when the compressor sees fit.
///
/// Input that begins like binary data (a NUL in what arrives first) is skipped, as a file is: nothing is written.
pub fn filter(
    batch: &Batch,
    input: impl Read,
    output: impl Write,
    control: Control<'_>,
) -> Result<Report, Error> {
    stream(&pump(batch, control), input, output)
}

/// Finds without writing anything.
pub fn find(batch: &Batch, input: impl Read, control: Control<'_>) -> Result<Report, Error> {
    drain(&pump(batch, control), input)
}

fn pump<'a>(batch: &'a Batch, control: Control<'a>) -> Pump<'a> {
    let Batch { redactor, format, details } = batch;
    Pump { redactor, format: *format, details: *details, eager: true, control }
}

/// Pumps a stream to its end and writes nothing.
pub(crate) fn drain(pump: &Pump<'_>, input: impl Read) -> Result<Report, Error> {
    let mut source = Source::new(input, pump.control);
    let (_, mut decoder) = Decoder::open(&mut source).map_err(|e| Error::read(e, pump.control))?;
    let tally = pump.run(&mut decoder, &mut io::sink())?;
    drop(decoder);
    Ok(Report::done(tally, source.bytes, 0))
}

/// Pumps one compressed or plain stream into another that nobody can take back.
pub(crate) fn stream(pump: &Pump<'_>, input: impl Read, output: impl Write) -> Result<Report, Error> {
    let mut source = Source::new(input, pump.control);
    let (codec, mut decoder) = Decoder::open(&mut source).map_err(|e| Error::read(e, pump.control))?;
    let valve = Valve::default();
    let mut encoder = Encoder::new(codec, valve.on(output)).map_err(Error::write)?;
    let tally = pump.run(&mut decoder, &mut encoder).inspect_err(|_| valve.shut())?;
    drop(decoder);
    if tally.binary {
        valve.shut();
    }
    encoder.finish().and_then(|mut sink| sink.flush()).map_err(Error::write)?;
    Ok(Report::done(tally, source.bytes, valve.bytes()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;

    use ctxproto_redact::detect::{Detector, Policy};
    use ctxproto_redact::{Options, Redactor};

    use super::*;
    use crate::{Progress, Status};

    static PROGRESS: Progress = Progress::new();
    static GO: Control<'_> = Control::new(&PROGRESS, &|| false);

    fn batch() -> Batch {
        let detector = Detector::new(&Policy::default()).expect("the default policy");
        Batch::new(Arc::new(Redactor::new(Arc::new(detector), Options::default())))
    }

    /// Hands out one piece a read and writes down what happened when.
    struct Pieces<'a>(std::vec::IntoIter<io::Result<&'static [u8]>>, &'a RefCell<Vec<String>>);

    impl Read for Pieces<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.1.borrow_mut().push("read".into());
            let piece = self.0.next().unwrap_or(Ok(b""))?;
            let n = piece.len().min(buf.len());
            buf[..n].copy_from_slice(&piece[..n]);
            assert_eq!(n, piece.len(), "the pieces of this test are read whole");
            Ok(n)
        }
    }

    struct Sink<'a>(&'a RefCell<Vec<String>>);

    impl Write for Sink<'_> {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().push(String::from_utf8_lossy(buf).into_owned());
            Ok(buf.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.borrow_mut().push("flush".into());
            Ok(())
        }
    }

    #[test]
    fn a_signal_while_waiting_is_no_error_unless_it_means_stop() {
        let log = RefCell::new(vec![]);
        let pieces = vec![
            Ok(&b"x"[..]),
            Err(io::ErrorKind::Interrupted.into()),
            Ok(&b"one
"[..]),
        ];
        let report = filter(&batch(), Pieces(pieces.into_iter(), &log), Sink(&log), GO);
        assert_eq!(report.expect("read to the end").status, Status::Clean);

        let control = Control::new(&PROGRESS, &|| true);
        let pieces = vec![Err(io::ErrorKind::Interrupted.into())];
        let report = filter(&batch(), Pieces(pieces.into_iter(), &log), Sink(&log), control);
        assert!(matches!(report, Err(Error::Stopped)));
    }

    #[test]
    fn a_reader_that_went_away_is_told_apart() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(matches!(filter(&batch(), &b"text\n"[..], Gone, GO), Err(Error::BrokenPipe)));
    }
}
