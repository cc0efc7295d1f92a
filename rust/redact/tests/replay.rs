//! The fuzz targets in short: kept inputs, and some made here, always the same ones.
//!
//! `CTXPROTO_FUZZ_SECONDS=120 cargo test --release -p ctxproto-redact --test replay` goes on for that long with each
//! target, from another beginning each time (`CTXPROTO_FUZZ_SEED` brings one back). See CONTRIBUTING.md.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::panic)]

mod fuzz;

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use fuzz::{REDACTORS, TARGETS, Target};

/// Inputs made for each target in an ordinary test.
const MADE: u64 = 400;
/// No input of this size takes longer on any machine, in a debug build, with others at work.
const SLOW: Duration = Duration::from_secs(20);
const SIZE_MAX: usize = 6000;

/// What stands around and between secrets.
const WORDS: [&str; 44] = [
    "\"",
    "\\\"",
    "\\\\\"",
    "\\",
    "\\n",
    "\n",
    "\r\n",
    "\t",
    " ",
    "  ",
    "=",
    ": ",
    ":",
    ",",
    "{",
    "}",
    "[",
    "]",
    "'",
    "`",
    "{\"a\": \"",
    "\", \"b\": [",
    "{\"password\": \"",
    "\"token\":",
    "{\\\"secret\\\": \\\"",
    "password=",
    "api_key = ",
    "Authorization: Bearer ",
    "https://user:",
    "@host/path?key=",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "-----END RSA PRIVATE KEY-----",
    "correct horse battery",
    "hunter2",
    "4111 1111 1111 1111",
    "4111111111111111",
    "\u{1b}[31m",
    "\u{200b}",
    "größe",
    "日本",
    "\u{feff}",
    "%2D",
    "[TOKEN:V0123456789abcdef]",
    "[GITHUB_TOKEN:REDACTED]",
];

const RULE_FILE: [&str; 22] = [
    "[[rule]]\n",
    "[[rules]]\n",
    "[extend]\n",
    "[allowlist]\n",
    "[[allowlists]]\n",
    "[[rules.allowlists]]\n",
    "id = \"one\"\n",
    "name = \"One\"\n",
    "label = \"ONE\"\n",
    "shape = \"one_ alnum{20}\"\n",
    "shape = [\"",
    "near = [\"word\"]\n",
    "check = \"luhn\"\n",
    "regex = '(?i)one[^=]{0,8}=([a-z]{4,20})'\n",
    "keywords = [\"one\"]\n",
    "secretGroup = 1\n",
    "entropy = 3.5\n",
    "path = \"base.toml\"\n",
    "useDefault = true\n",
    "disabledRules = [\"a\"]\n",
    "stopwords = [\"x\"]\n",
    "condition = \"AND\"\n",
];

/// xorshift64*: the tests must not depend on anybody's generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

fn secret(random: &mut Random) -> Vec<u8> {
    let detector = REDACTORS[1].detector();
    let rule = random.below(detector.rules().len()) as u16;
    detector.example(rule, random.next()).unwrap_or_else(|| b"hunter2".to_vec())
}

/// Text as tools write it, with secrets in it.
fn text(random: &mut Random) -> Vec<u8> {
    let mut text = vec![random.next() as u8];
    if random.below(40) == 0 {
        // Beyond what a stream looks at in one go.
        text.extend(b".,;-".repeat(random.below(1200)));
    }
    for _ in 0..random.below(24) {
        match random.below(4) {
            0 => text.extend(secret(random)),
            1 => text.extend((0..random.below(6)).map(|_| random.next() as u8)),
            _ => text.extend(random.pick(&WORDS).bytes()),
        }
    }
    text
}

/// Text without quotes, or names before which one may stand: an assignment whose quote is opened in a string of JSON and
/// not closed there is another matter (see `an_open_quote_ends_with_its_string`).
fn words(random: &mut Random) -> Vec<u8> {
    let mut text = vec![];
    for _ in 0..random.below(12) {
        match random.below(3) {
            0 => text.extend(secret(random)),
            _ => text.extend(random.pick(&WORDS).bytes().filter(|b| !b"\"'`\\=:".contains(b))),
        }
    }
    text
}

/// A JSON document, with secrets, odd keys, and documents in strings.
fn document(random: &mut Random, depth: usize) -> Vec<u8> {
    let quoted = |text: &[u8]| {
        let mut out = vec![b'"'];
        for c in String::from_utf8_lossy(text).chars() {
            match c {
                '"' | '\\' => out.extend([b'\\', c as u8]),
                '\n' => out.extend(b"\\n"),
                c if (c as u32) < 0x20 => out.extend(format!("\\u{:04x}", c as u32).bytes()),
                c => out.extend(c.to_string().bytes()),
            }
        }
        out.push(b'"');
        out
    };
    match random.below(if depth > 4 { 5 } else { 9 }) {
        0 => random
            .pick(&["null", "true", "1.50", "-0", "1e5", "4111111111111111", "123456789"])
            .as_bytes()
            .to_vec(),
        1 => quoted(&secret(random)),
        2 | 3 => quoted(&words(random)),
        4 => quoted(b"plain"),
        5 => quoted(&document(random, depth + 1)),
        6 => {
            let items: Vec<_> = (0..random.below(4)).map(|_| document(random, depth + 1)).collect();
            [b"[", items.join(&b", "[..]).as_slice(), b"]"].concat()
        }
        _ => {
            let members: Vec<_> = (0..random.below(4))
                .map(|_| {
                    let key = match random.below(4) {
                        0 => quoted(&words(random)),
                        _ => quoted(
                            random.pick(&["password", "a", "token", "card", "url", "ssn", "note"]).as_bytes(),
                        ),
                    };
                    [&key[..], b": ", &document(random, depth + 1)].concat()
                })
                .collect();
            [b"{", members.join(&b","[..]).as_slice(), b"}"].concat()
        }
    }
}

fn rule_file(random: &mut Random) -> Vec<u8> {
    (0..random.below(14)).flat_map(|_| random.pick(&RULE_FILE).bytes()).collect()
}

fn made(name: &str, random: &mut Random) -> Vec<u8> {
    let mut data = match name {
        "json" => [vec![random.next() as u8], document(random, 0)].concat(),
        "rules" => rule_file(random),
        _ => text(random),
    };
    // Most of a mutated document is none any more: one in four is enough.
    for _ in 0..random.below(4) * usize::from(name != "json" || random.below(4) == 0) {
        let at = random.below(data.len());
        match random.below(4) {
            _ if data.is_empty() => {}
            0 => data[at] = random.next() as u8,
            1 => data.truncate(at),
            2 => drop(data.drain(at..(at + random.below(8)).min(data.len()))),
            _ => {
                let copied = data[at..(at + random.below(40)).min(data.len())].to_vec();
                let to = random.below(data.len());
                data.splice(to..to, copied);
            }
        }
    }
    data.truncate(SIZE_MAX);
    data
}

fn check((name, target): Target, data: &[u8], origin: &str) {
    let begin = Instant::now();
    let held = panic::catch_unwind(AssertUnwindSafe(|| target(data))).is_ok();
    assert!(held, "{name} does not hold for {origin}: b\"{}\"", data.escape_ascii());
    assert!(
        begin.elapsed() < SLOW,
        "{name} took {:?} for {origin}: b\"{}\"",
        begin.elapsed(),
        data.escape_ascii()
    );
}

#[test]
fn targets_hold_for_kept_inputs() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/seeds");
    for target in TARGETS {
        let mut files: Vec<_> =
            std::fs::read_dir(seeds.join(target.0)).unwrap().map(|f| f.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{} has seeds", target.0);
        for file in files {
            check(target, &std::fs::read(&file).unwrap(), &file.display().to_string());
        }
    }
}

#[test]
fn targets_hold_for_made_inputs() {
    for target in TARGETS {
        check(target, b"", "nothing");
        for seed in 1..=MADE {
            check(
                target,
                &made(target.0, &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
                &format!("seed {seed}"),
            );
        }
    }
}

#[test]
fn an_open_quote_ends_with_its_string() {
    check(TARGETS[2], br#"0{"a": "password='", "b": "correct"}"#, "an open quote");
}

#[test]
fn targets_hold_for_as_long_as_is_asked() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let Some(seconds) = number("CTXPROTO_FUZZ_SECONDS") else { return };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("CTXPROTO_FUZZ_SEED").unwrap_or(now.as_nanos() as u64 | 1);
    let only = std::env::var("CTXPROTO_FUZZ_TARGET").ok();
    let mut failed = vec![];
    for target in TARGETS.into_iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        let (begin, mut random, mut count) = (Instant::now(), Random(seed), 0u64);
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            while begin.elapsed() < Duration::from_secs(seconds) {
                check(target, &made(target.0, &mut random), &format!("CTXPROTO_FUZZ_SEED={seed}"));
                count += 1;
            }
        }));
        eprintln!("{}: {count} inputs in {:?}", target.0, begin.elapsed());
        failed.extend(outcome.is_err().then_some(target.0));
    }
    assert!(failed.is_empty(), "{failed:?}");
}
