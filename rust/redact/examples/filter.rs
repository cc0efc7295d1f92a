//! tmp
#![allow(clippy::print_stdout, clippy::unwrap_used)]
use ctxproto_redact::{
    Format, Options, Redactor,
    detect::{Detector, Pii, Policy},
};
use std::io::{Read, Write};
use std::sync::Arc;
fn main() {
    let all = std::env::args().any(|a| a == "--all");
    let policy = Policy { pii: if all { Pii::All } else { Pii::Dangerous }, ..Policy::default() };
    let r = Redactor::new(Arc::new(Detector::new(&policy).unwrap()), Options::default());
    let mut text = vec![];
    std::io::stdin().read_to_end(&mut text).unwrap();
    let mut out = std::io::stdout().lock();
    for t in text.split(|&b| b == 0) {
        match r.redact(t, Format::Auto) {
            Some(x) => {
                out.write_all(&x.text).unwrap();
                for f in x.findings {
                    write!(out, "\x01{}:{}:{}", r.detector().rules()[usize::from(f.rule)].id, f.start, f.end)
                        .unwrap();
                }
            }
            None => out.write_all(t).unwrap(),
        }
        out.write_all(b"\0").unwrap();
    }
}
