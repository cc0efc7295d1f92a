//! Tokens that were glued, cut, wrapped, escaped or made unreadable on their way: nothing of them is left.

#![allow(clippy::unwrap_used)]

mod cases;

use cases::damage::{DAMAGES, tokens};
use ctxproto_detect::{Detector, Policy};

/// What is not found: pieces of less than 16 characters, prefixes of two letters or behind a dot whose body is cut,
/// bodies too short to look random.
const LEFT: &[(&str, &[&str])] = &[
    ("wrapped", &["AKIA", "glpat-", "hvs."]),
    ("wrapped and quoted", &["AKIA", "glpat-", "hvs."]),
    ("wrapped and quoted twice", &["AKIA", "glpat-", "hvs."]),
    ("wrapped in a comment", &["AKIA", "glpat-", "hvs."]),
    ("joined literals", &["AKIA", "glpat-", "hvs."]),
    ("joined literals over lines", &["AKIA", "glpat-", "hvs."]),
    ("added literals", &["AKIA", "glpat-", "hvs."]),
    ("added literals in quotes of one", &["AKIA", "glpat-", "hvs."]),
    ("cut with an ellipsis", &["AKIA", "SK"]),
    ("cut with dots", &["AKIA", "SK"]),
    ("cut with dots at the end", &["AKIA", "SK"]),
    ("one short at the end", &["SK"]),
];

#[test]
fn nothing_is_left() {
    let detector = Detector::new(&Policy::default()).unwrap();
    let mut wrong = vec![];
    for &(name, damage) in DAMAGES {
        for seed in 0..5 {
            for (token, prefix) in tokens(seed) {
                if LEFT.iter().any(|l| l.0 == name && l.1.contains(&&token[..prefix])) {
                    continue;
                }
                let text = damage(&token);
                let found = detector.scan(text.as_bytes());
                let mut rest = text.clone().into_bytes();
                for m in found.iter().rev() {
                    rest.splice(m.start..m.end, *b"#");
                }
                let rest = String::from_utf8_lossy(&rest);
                let encoded = name.starts_with("base64") || name == "UTF-16";
                let left = if encoded {
                    found.is_empty()
                } else {
                    token.as_bytes()[prefix..]
                        .windows(8)
                        .any(|part| rest.contains(std::str::from_utf8(part).unwrap()))
                };
                if left {
                    wrong.push(format!("{name}: {}", &token[..prefix]));
                }
            }
        }
    }
    let all = wrong.len();
    wrong.dedup();
    assert!(wrong.is_empty(), "{all} wrong\n{}", wrong.join("\n"));
}

#[test]
fn a_word_before_a_name_is_no_token_that_was_cut() {
    let detector = Detector::new(&Policy::default()).unwrap();
    for name in
        ["secret_redacted", "secret_manager", "see secret-scanning", "sandbox_config", "access_denied"]
    {
        assert!(detector.scan(name.as_bytes()).is_empty(), "{name}");
    }
    let mut random = cases::Random(3);
    let token = format!("secret_ci_{}", random.text(30, "0123456789abcdef"));
    assert_eq!(detector.scan(token.as_bytes()).len(), 1);
    assert_eq!(detector.scan(b"ghp_aB3dE6gH9").len(), 1);
}
