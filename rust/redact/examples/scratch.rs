#![allow(clippy::all, clippy::pedantic, clippy::print_stdout, clippy::print_stderr, missing_docs, unused)]
use ctxproto_redact::{
    Format, Options, Redactor,
    detect::{Detector, Pii, Policy},
};
use std::io::{BufRead, Read, Write};
use std::sync::Arc;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut policy = Policy::default();
    if args.iter().any(|a| a == "pii") {
        policy.pii = Pii::All;
    }
    let detector = Arc::new(Detector::new(&policy).unwrap());
    let r = Redactor::new(detector.clone(), Options::default());
    let mut out = std::io::BufWriter::new(std::io::stdout());
    if args[1] == "records" {
        let mut all = vec![];
        std::io::stdin().read_to_end(&mut all).unwrap();
        for (i, text) in all.split(|b| *b == 0).enumerate() {
            if let Some(red) = r.redact(text, Format::Auto) {
                for f in red.findings {
                    let info = &detector.rules()[usize::from(f.rule)];
                    writeln!(out, "{i}\t{}\t{}\t{}\t{}", f.start, f.end, info.id, info.label).unwrap();
                }
            }
        }
    } else if args[1] == "files" {
        let mut bytes = 0;
        let mut n = 0;
        for path in std::io::stdin().lock().lines() {
            let path = path.unwrap();
            let Ok(text) = std::fs::read(&path) else { continue };
            if text.len() > 20_000_000 || text[..text.len().min(8000)].contains(&0) {
                continue;
            }
            bytes += text.len();
            let mut found = detector.scan(&text);
            for f in found {
                n += 1;
                let info = &detector.rules()[usize::from(f.rule)];
                let a = f.start.saturating_sub(90);
                let b = (f.end + 40).min(text.len());
                writeln!(
                    out,
                    "{}\t{}:{}\t{} ⟦{}⟧ {}",
                    info.id,
                    path,
                    f.start,
                    text[a..f.start].escape_ascii(),
                    text[f.start..f.end.min(f.start + 200)].escape_ascii(),
                    text[f.end..b].escape_ascii()
                )
                .unwrap();
            }
        }
        eprintln!("{n} findings in {bytes} bytes");
    } else if args[1] == "example" {
        let n = detector.rules().iter().position(|r| r.id == args[2]).unwrap();
        println!(
            "{}",
            String::from_utf8_lossy(&detector.example(n as u16, args[3].parse().unwrap()).unwrap())
        );
    } else if args[1] == "selftest" {
        for n in 0..detector.rules().len() {
            if let Err(e) = detector.self_test(n as u16) {
                writeln!(out, "{}\t{}", detector.rules()[n].id, e).unwrap();
            }
        }
    }
}
