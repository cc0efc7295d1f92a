//! Texts made to break something: they are trimmed like others, in time that grows as they do.

#![allow(clippy::unwrap_used, clippy::format_collect)]

mod common;

use std::sync::Arc;
use std::time::Instant;

use common::{Fours, counters, plan, strategies};
use ctxproto_trim::{Strategy as Trim, TrimError};

fn texts(size: usize) -> Vec<(&'static str, Vec<u8>)> {
    let n = size;
    vec![
        ("nothing", vec![]),
        ("zeros", vec![0; n]),
        ("one letter", vec![b'a'; n]),
        ("line breaks", vec![b'\n'; n]),
        ("carriage returns", b"\r\n".repeat(n / 2)),
        ("brackets", vec![b'['; n]),
        ("nested", [vec![b'['; n / 2], vec![b']'; n / 2]].concat()),
        ("objects", [b"{\"a\":".repeat(n / 10), b"1".to_vec(), vec![b'}'; n / 10]].concat()),
        ("backslashes", vec![b'\\'; n]),
        ("a string of backslashes", [b"\"".to_vec(), vec![b'\\'; n / 2 * 2], b"\"".to_vec()].concat()),
        (
            "strings in strings",
            (0..12).fold(b"[1, 2, 3]".to_vec(), |s, _| {
                serde_json::to_vec(&vec![String::from_utf8(s).unwrap(), "x".repeat(n / 99)]).unwrap()
            }),
        ),
        ("no UTF-8", (0..n).map(|i| 0x80 | (i * 7 % 128) as u8).collect()),
        ("stars", vec![b'*'; n]),
        ("marks on a letter", [b"a".to_vec(), "\u{301}".as_bytes().repeat(n / 2)].concat()),
        ("flags", "🇩🇪".as_bytes().repeat(n / 8)),
        ("families", "👩\u{200d}".as_bytes().repeat(n / 7)),
        ("quotes", vec![b'"'; n]),
        ("a table of quotes", [b"a,b\n1,2\n1,2\n".to_vec(), b"1,\"\n".repeat(n / 4)].concat()),
        ("the same line", b"ERROR the same line\n".repeat(n / 20)),
        ("lines of lines", (0..n / 16).map(|i| format!("{i} line {i:x}\n")).collect::<String>().into_bytes()),
        (
            "many keys",
            format!("{{{}}}", (0..n / 12).map(|i| format!("\"k{i}\":{i}")).collect::<Vec<_>>().join(","))
                .into_bytes(),
        ),
        ("indented for ever", [b"Traceback\n".to_vec(), b"  at x\n".repeat(n / 7)].concat()),
        (
            "hunks",
            [b"--- a\n+++ b\n".to_vec(), b"@@ -1,999999999999999999999 +1 @@\n".repeat(n / 36)].concat(),
        ),
        ("half a key block", b"-----BEGIN RSA PRIVATE KEY-----\n".repeat(n / 32)),
    ]
}

#[test]
fn nothing_breaks() {
    for (name, text) in texts(100_000) {
        for counter in counters() {
            for strategy in strategies() {
                let plan = plan(strategy, 150, counter.clone(), true);
                match plan.trim(&text) {
                    Ok(trimmed) => assert!(counter.count(&trimmed.text) <= 150, "{name}"),
                    Err(TrimError::TooSmall { .. }) => {}
                    Err(other) => panic!("{name}: {other}"),
                }
            }
        }
    }
}

#[test]
fn time_grows_as_the_text() {
    for (name, text) in texts(1_000_000) {
        for strategy in strategies() {
            let plan = plan(strategy, 1500, Arc::new(Fours), false);
            let start = Instant::now();
            let _ = plan.trim(&text);
            let took = start.elapsed().as_millis();
            assert!(took < 1500, "{name}, {}: {took} ms for a megabyte", plan.strategy.name());
        }
    }
}

/// What was read long ago leaves nothing but numbers.
#[test]
fn a_long_stream() {
    let piece = b"2024-01-02 10:00:00 INFO a line of a log that goes on and on\n".repeat(1000);
    let read = |strategy, pieces: usize| {
        let mut stream = plan(strategy, 300, Arc::new(Fours), false).stream();
        for _ in 0..pieces {
            stream.push(&piece);
        }
        stream.push(b"exit code 9\n");
        let trimmed = stream.finish().unwrap();
        assert!(trimmed.text.ends_with(b"exit code 9\n"));
        assert_eq!(trimmed.loss.source.lines, pieces * 1000 + 1);
        assert!(trimmed.loss.tokens <= 300);
        trimmed
    };
    for strategy in [Trim::LastN, Trim::HeadTail, Trim::Lines] {
        read(strategy, 200);
    }
    // What would see all of it does not hold all of it.
    let trimmed = read(Trim::Auto, 1200);
    assert!(trimmed.loss.instead.is_some_and(|why| why.contains("64 MiB")), "{:?}", trimmed.loss);
    assert_eq!(trimmed.text, read(Trim::Lines, 1200).text);
}
