//! Pattern rules and gitleaks files: what they find, what they refuse, what they say they leave out.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use ctxproto_detect::{Detector, Policy};
use proptest::prelude::*;
use regex::bytes::RegexBuilder;

fn policy(text: &str) -> Policy {
    Policy { no_builtin: true, rule_files: vec![("mine.toml".into(), text.into())], ..Policy::default() }
}

fn detector(text: &str) -> Detector {
    Detector::new(&policy(text)).unwrap()
}

fn error(text: &str) -> String {
    Detector::new(&policy(text)).unwrap_err().to_string()
}

/// What is found: the label and the text.
fn found<'t>(detector: &Detector, text: &'t str) -> Vec<(String, &'t str)> {
    let label = |n: u16| detector.rules()[usize::from(n)].label.clone();
    detector.scan(text.as_bytes()).iter().map(|m| (label(m.rule), &text[m.start..m.end])).collect()
}

fn values<'t>(detector: &Detector, text: &'t str) -> Vec<&'t str> {
    found(detector, text).into_iter().map(|f| f.1).collect()
}

/// A file as a team might keep it.
const TEAM: &str = r#"
title = "Secrets of the Harbour team"
minVersion = "8.25.0"

[extend]
useDefault = true
disabledRules = ["github-pat", "no-such-rule"]

[[rules]]
id = "harbour-deploy-token"
description = "Deploy token of Harbour"
regex = '''(?i)\bhbr_(?:live|test)_([a-z0-9]{12})(?:[\x60'"\s;]|\\[nr]|$)'''
entropy = 2.5
keywords = ["hbr_live_", "HBR_TEST_"]
tags = ["deploy"]

[[rules.allowlists]]
stopwords = ["abcabc"]

[[rules.allowlists]]
condition = "AND"
regexTarget = "line"
regexes = ['''^\s*#''']
stopwords = ["sample"]

[[rules]]
id = "generic-pin"
regex = '''(?i)pin[\w.-]{0,20}\s*[:=]\s*["']?(\w{6,12})["']?'''
secretGroup = 1
entropy = 1
keywords = ["pin"]

[[rules]]
id = "Vault Cert"
regex = '''-----BEGIN VAULT-----[\s\S]{8,}?-----END VAULT-----'''

[[rules]]
id = "key-file"
path = '''\.p12$'''

[[rules]]
id = "by-path"
regex = '''zz_[0-9]{8}'''
path = '''\.env$'''
[rules.allowlist]
paths = ['''^test/''']
regexTarget = "match"
regexes = ['''zz_0000''']

[[rules]]
id = "part"
regex = '''part_[0-9]{8}'''
skipReport = true

[[rules]]
id = "multi"
regex = '''multi_[0-9]{8}'''
validate = "GET"
[[rules.required]]
id = "part"
withinLines = 5

[[allowlists]]
description = "everywhere"
regexes = ['''^\${(?:[A-Z_]+|{\d+})}$''', '''(?i)dummy''']

[[allowlists]]
targetRules = ["multi", "nobody"]
commits = ["0123456789abcdef"]
regexes = ['''99$''']
"#;

#[test]
fn a_teams_gitleaks_file() {
    let d = detector(TEAM);
    let labels: Vec<&str> = d.rules().iter().map(|r| r.label.as_str()).collect();
    assert_eq!(labels, ["HARBOUR_DEPLOY_TOKEN", "GENERIC_PIN", "VAULT_CERT", "BY_PATH", "MULTI"]);
    assert_eq!(d.rules()[0].name, "Deploy token of Harbour");
    for (text, want) in [
        ("x=\"hbr_live_k3j9x7q2m5p1\" y", vec!["k3j9x7q2m5p1"]),
        ("x=HBR_TEST_K3J9X7Q2M5P1", vec!["K3J9X7Q2M5P1"]),
        ("hbr_live_k3j9x7q2m5p1\nhbr_live_q3j9x7q2m5p1", vec!["k3j9x7q2m5p1", "q3j9x7q2m5p1"]),
        ("hbr_live_k3j9x7q2m5p1!", vec![]),
        ("hbr_live_aaaaaaaabbbb", vec![]),
        ("hbr_live_abcabc9q2m5p", vec![]),
        ("# sample_x hbr_live_9sample2m5p1", vec![]),
        ("x hbr_live_9sample2m5p1", vec!["9sample2m5p1"]),
        ("# hbr_live_k3j9x7q2m5p1", vec!["k3j9x7q2m5p1"]),
        ("PIN_CODE = 'a1b2c3d4'", vec!["a1b2c3d4"]),
        ("pin = abcdefgh", vec![]),
        ("pin = dummy12", vec![]),
        ("pin =\n  a1b2c3d4", vec!["a1b2c3d4"]),
        (
            "a\n-----BEGIN VAULT-----\nabc\ndefgh\n-----END VAULT-----\nb",
            vec!["-----BEGIN VAULT-----\nabc\ndefgh\n-----END VAULT-----"],
        ),
        ("zz_12345678 zz_00001234", vec!["zz_12345678"]),
        ("multi_12345678 multi_12345699", vec!["multi_12345678"]),
        ("part_12345678", vec![]),
    ] {
        assert_eq!(values(&d, text), want, "{text}");
    }
    let warnings = d.warnings().join("\n");
    for part in [
        "extend.useDefault means the built-in rules",
        "disabledRules names \"no-such-rule\"",
        "rule \"key-file\": it is left out, for it looks at paths alone",
        "rule \"by-path\": its path condition is left out: it applies to every text; the allowlist's paths",
        "rule \"part\": it is left out",
        "rule \"multi\": it applies without the parts it requires; no meaning is known for validate",
        "targetRules names \"nobody\"",
        "commits cannot be honoured",
        "not to the built-in ones",
    ] {
        assert!(warnings.contains(part), "{part} in\n{warnings}");
    }
    assert!(!warnings.contains("github-pat"));
    assert!(d.warnings().iter().all(|w| !w.contains('\n') && !w.ends_with('.')));
}

#[test]
fn built_in_rules_stay_beside_a_gitleaks_file() {
    let text = "[[rules]]\nid = \"gitlab-pat\"\nregex = 'qq_[0-9]{8}'\n";
    let d = Detector::new(&Policy { rule_files: vec![("g.toml".into(), text.into())], ..Policy::default() })
        .unwrap();
    assert!(d.rules().iter().any(|r| r.id == "gitlab-pat" && r.source != "g.toml"));
    assert!(d.rules().iter().any(|r| r.id == "gitleaks-gitlab-pat"));
    assert!(d.warnings()[0].contains("gitlab-pat"), "{:?}", d.warnings());
    let text = "[extend]\ndisabledRules = [\"gitlab-pat\"]\n";
    let d = Detector::new(&Policy { rule_files: vec![("g.toml".into(), text.into())], ..Policy::default() })
        .unwrap();
    assert!(!d.rules().iter().any(|r| r.id == "gitlab-pat") && d.warnings().is_empty());
}

#[test]
fn files_that_extend_files() {
    let files = |path: &str| match path {
        "conf/base.toml" => {
            Ok("[extend]\npath = \"more/deep.toml\"\n[[rules]]\nid = \"a\"\nregex = 'aa_[0-9]{4}'\n\
             keywords = [\"aa_\"]\n[[rules]]\nid = \"gone\"\nregex = 'gg_[0-9]{4}'\n"
                .to_owned())
        }
        "conf/more/deep.toml" => Ok("[[rules]]\nid = \"b\"\nregex = 'bb_[0-9]{4}'\n".to_owned()),
        "conf/loop.toml" => Ok("[extend]\npath = \"../conf/./me.toml\"".to_owned()),
        "conf/1.toml" | "conf/2.toml" | "conf/3.toml" => {
            Ok(format!("[extend]\npath = \"{}.toml\"", path.as_bytes()[5] - b'0' + 1))
        }
        _ => Err("no such file".to_owned()),
    };
    let load = |text: &str| {
        let rule_files = vec![("conf/me.toml".to_owned(), text.to_owned())];
        Detector::with_files(&Policy { no_builtin: true, rule_files, ..Policy::default() }, &files)
    };
    let d = load(
        "[extend]\npath = \"base.toml\"\ndisabledRules = [\"gone\"]\n[[rules]]\nid = \"a\"\ndescription = \"mine\"\n\
         [rules.allowlist]\nstopwords = [\"999\"]\n",
    )
    .unwrap();
    assert_eq!(values(&d, "aa_1234 aa_9991 bb_1234 gg_1234"), ["aa_1234", "bb_1234"]);
    assert!(d.rules().iter().any(|r| r.name == "mine"));
    for (text, want) in [
        ("[extend]\npath = \"loop.toml\"", "conf/loop.toml: extend.path leads back to conf/me.toml"),
        ("[extend]\npath = \"1.toml\"", "leads more than 2 files deep"),
        ("[extend]\npath = \"nowhere.toml\"", "cannot read conf/nowhere.toml: no such file"),
    ] {
        let error = load(text).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
    let d = load("[extend]\nurl = \"https://host.test/x.toml\"").unwrap();
    assert!(d.warnings()[0].contains("extend.url is left out"));
    assert!(error("[extend]\npath = \"x.toml\"").contains("no files are read here"));
}

#[test]
fn hostile_files_are_refused_in_one_sentence() {
    let own = |rest: &str| format!("[[rule]]\nid = \"a\"\nname = \"A\"\nlabel = \"A\"\n{rest}");
    let git = |rest: &str| format!("[[rules]]\nid = \"a\"\n{rest}");
    for (text, want) in [
        ("[[rules]\n".to_owned(), "line 1"),
        ("\n\nid = \u{1}".to_owned(), "line 3"),
        (git(""), "rule \"a\": it has no regex"),
        (git("regex = 5"), "rule \"a\": invalid type"),
        (git("regex = '('"), "rule \"a\": unclosed group"),
        (git("regex = 'a(?=b)'"), "look-around"),
        (git("regex = 'a*'"), "can match nothing at all"),
        (git("regex = '$'"), "can match nothing at all"),
        (git("regex = '(?:(?:\\w{1000}){1000}){1000}'"), "more than 4 MiB"),
        (git("regex = 'a{9999999999}'"), "rule \"a\""),
        (git("regex = 'abc'\nsecretGroup = 2"), "secret group 2 does not exist; the pattern has 0"),
        (git("regex = 'abc'\nsecretGroup = -1"), "rule \"a\""),
        (git("regex = 'abc'\nentropy = 9.5"), "it can be 0 to 8"),
        (git("regex = 'abc'\nentropy = nan"), "it can be 0 to 8"),
        (git("regex = 'abc'\n[rules.allowlist]\nregexes = ['(']"), "allowlists: \"(\": unclosed group"),
        (git("regex = 'abc'\n[rules.allowlist]\ncondition = 'XOR'"), "it can be OR or AND"),
        (git("regex = 'abc'\n[rules.allowlist]\nregexTarget = 'file'"), "secret, match or line"),
        (git("regex = 'abc'\n[[rules]]\nid = 'a'\nregex = 'b'"), "rule \"a\" is defined twice"),
        ("[[rules]]\nregex = 'abc'".to_owned(), "rule 1 has no id"),
        ("rules = 5".to_owned(), "invalid type"),
        ("rules = []\nrule = []".to_owned(), "unknown field"),
        (own("pattern = 'abc'\nshape = 'abcd alnum{20}'"), "one of shape and pattern"),
        (own("pattern = 'abc'\npath = 'x'"), "unknown field `path`"),
        (own("pattern = 'abc'\nnear = ['word']"), "belong to a shape"),
        (own("shape = 'abcd_ alnum{20}'\nkeywords = ['word']"), "belong to a pattern"),
        (own("pattern = '(abc)'\nsecret_group = 2"), "the pattern has 1"),
        (own(&format!("pattern = '{}'", "a".repeat(70_000))), "the most is 65536"),
        (own(&format!("pattern = '{}a{}'", "(".repeat(1000), ")".repeat(1000))), "nest"),
    ] {
        let error = error(&text);
        assert!(
            error.contains(want) && error.starts_with("mine.toml: ") && !error.contains('\n'),
            "{text}\n{error}"
        );
    }
}

#[test]
fn own_patterns() {
    let d = detector(
        r#"
        [[rule]]
        id = "order"
        name = "Order number"
        label = "ORDER"
        pattern = 'order (\d{6}-\d{4})'
        keywords = ["Order"]
        [[rule]]
        id = "name"
        name = "Name"
        label = "NAME"
        pattern = '(?-i:Frau|Herr) \p{Lu}\p{Ll}+'
        [[rule]]
        id = "whole"
        name = "Whole"
        label = "WHOLE"
        pattern = 'w(ho)le\d'
        secret_group = 0
        [[rule]]
        id = "four"
        name = "Four bytes"
        label = "FOUR"
        pattern = 'four=.{4}'
        "#,
    );
    assert_eq!(values(&d, "order 123456-1234"), ["123456-1234"]);
    assert_eq!(values(&d, "Grüße an Frau Müller aus Köln"), ["Frau Müller"]);
    assert_eq!(values(&d, "whole1"), ["whole1"]);
    // Characters are never cut.
    assert_eq!(values(&d, "four=aé日本"), ["four=aé日"]);
    assert_eq!(found(&d, "a [ORDER:REDACTED] order [ORDER:REDACTED]"), []);
}

#[test]
fn own_placeholders_are_no_secrets() {
    let d = detector(
        "[[rule]]\nid = \"w\"\nname = \"W\"\nlabel = \"W\"\npattern = '[A-Z]{5,}'\n\
         [[rule]]\nid = \"v\"\nname = \"V\"\nlabel = \"V\"\npattern = '= *(\\S+)'",
    );
    for text in ["[TOKEN:REDACTED]", "= [TOKEN:REDACTED]", "= [API_KEY:3f9a12c4]", "x [PASSWORD:REDACTED] y"]
    {
        assert_eq!(values(&d, text), Vec::<&str>::new(), "{text}");
    }
    assert_eq!(values(&d, "HELLO [x]"), ["HELLO"]);
}

/// Patterns that share words and overlap: on one line, and over more.
const ORACLE: &[(&str, &[&str])] = &[
    (r"tok_[a-z0-9]{6,12}", &["tok_"]),
    (r"(?i)key\s*[:=]\s*[a-z0-9]{4,8}", &["key"]),
    (r"[a-z]{2,5}@[a-z]{2,5}", &["@"]),
    (r"^begin .*$", &["begin"]),
    (r"\bab\b.{1,3}", &["ab"]),
    (r"<<[\s\S]{2,40}?>>", &["<<"]),
    (r"\n--[a-z]{3}", &["--"]),
    (r"\d{6,8}", &[]),
];

/// Each expression alone over each line that holds its word.
fn naive(text: &[u8]) -> Vec<bool> {
    let mut covered = vec![false; text.len()];
    for &(pattern, words) in ORACLE {
        let regex = RegexBuilder::new(pattern).unicode(false).multi_line(true).crlf(true).build().unwrap();
        let feeds = pattern.contains("\\s") || pattern.contains("\\n");
        let mut start = 0;
        for line in text.split_inclusive(|&b| b == b'\n') {
            let end = start + line.len() - usize::from(line.ends_with(b"\n"));
            let has =
                |w: &&str| text[start..end].windows(w.len()).any(|t| t.eq_ignore_ascii_case(w.as_bytes()));
            if words.is_empty() || words.iter().any(has) {
                let whole = if feeds { text } else { &text[..end] };
                let mut at = start - usize::from(feeds && start > 0);
                while let Some(m) = regex.find_at(whole, at).filter(|m| m.start() < end) {
                    covered[m.range()].fill(true);
                    at = m.end();
                }
            }
            start += line.len();
        }
    }
    // Line breaks at the ends of a finding are none of it.
    covered
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn patterns_agree_with_one_expression_at_a_time(parts in prop::collection::vec(prop::sample::select(vec![
        "tok_", "abc123", "KEY", "key", " = ", ":", "\n", "\n", "\r\n", "@", "ab", " ", "begin ", "<<", ">>", "--",
        "12345678", "x", "é", "日本", "xyzab", "1234567890123", "\n--abc", "begin x\n", "-",
    ]), 1..60), far in 0..3usize) {
        let mut file = String::new();
        for (n, (pattern, words)) in ORACLE.iter().enumerate() {
            let _ = write!(file, "[[rules]]\nid = \"r{n}\"\nregex = '''{pattern}'''\nkeywords = {words:?}\n");
        }
        let d = detector(&file);
        // At the beginning of a text, and around the seams of the grid that long lines are cut on.
        let before = [0, 4090, 8170][far];
        let text = [".".repeat(before.min(1) * 8), "\n".repeat(before.min(1)), ".\n".repeat(before / 2), parts.concat()].concat();
        let text = text.as_bytes();
        let mut got = vec![false; text.len()];
        for m in d.scan(text) {
            got[m.start..m.end].fill(true);
        }
        let want = naive(text);
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            // At its ends a finding has no line breaks, and no half of a character.
            let free = matches!(text[i], b'\n' | b'\r') || !text[i].is_ascii();
            prop_assert!(got == want || free, "byte {} of {:?}", i, String::from_utf8_lossy(text));
        }
    }
}

/// Go's `\Q…\E` stands for its text, inside a class too.
#[test]
fn quoted_text_of_go() {
    let rules = r"
        [[rules]]
        id = 'quoted'
        regex = '\Qk(1).\E[\Q-]\E0-9a-f]{8}'
        keywords = ['k(1)']
    ";
    let policy = Policy { rule_files: vec![("q.toml".into(), rules.into())], ..Policy::default() };
    let detector = Detector::new(&policy).unwrap();
    assert!(detector.warnings().is_empty(), "{:?}", detector.warnings());
    assert_eq!(detector.scan(b"x k(1).-]1234ab y").len(), 1);
    assert!(detector.scan(b"x k111.-]1234ab y k(1)").is_empty());
}
