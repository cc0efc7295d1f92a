//! Scans files and prints speed and findings per rule: `cargo run --release --example probe -- FILE...`

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use ctxproto_detect::{Detector, Pii, Policy};

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let show = args.first().is_some_and(|a| a == "--show");
    if show {
        args.remove(0);
    }
    let all = args.first().is_some_and(|a| a == "--all");
    if all {
        args.remove(0);
    }
    let start = Instant::now();
    let policy = Policy { pii: if all { Pii::All } else { Pii::Dangerous }, ..Policy::default() };
    let detector = Detector::new(&policy).unwrap();
    println!("{} rules, built in {:?}, {}", detector.rules().len(), start.elapsed(), detector.simd());
    for path in args {
        let text = std::fs::read(&path).unwrap();
        let mut best = f64::MAX;
        let mut found = vec![];
        for _ in 0..if show { 1 } else { 9 } {
            let start = Instant::now();
            found = detector.scan(&text);
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!(
            "{path}: {:.0} MB/s, {} found in {} bytes",
            text.len() as f64 / best / 1e6,
            found.len(),
            text.len()
        );
        if show {
            for m in &found {
                let line = text[..m.start].iter().filter(|&&b| b == b'\n').count() + 1;
                let from = m.start.saturating_sub(50);
                let to = text.len().min(m.end + 10);
                println!(
                    "  {line}: {} {} | {:?}",
                    detector.rules()[usize::from(m.rule)].id,
                    m.end - m.start,
                    String::from_utf8_lossy(&text[from..to])
                );
            }
        }
    }
}
