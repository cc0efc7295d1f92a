//! What happens to tokens on their way.

use super::Random;

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Tokens of each kind: inside one run, behind a dot, of a short prefix.
pub(crate) fn tokens(seed: u64) -> Vec<(String, usize)> {
    let mut random = Random(seed);
    [
        ("ghp_", 36),
        ("hvs.", 95),
        ("hf_", 34),
        ("sk_live_", 24),
        ("glpat-", 20),
        ("npm_", 36),
        ("AKIA", 16),
        ("dop_v1_", 64),
        ("SK", 32),
    ]
    .into_iter()
    .map(|(prefix, len)| {
        let alphabet = match prefix {
            "hf_" => &ALNUM[..52],
            "AKIA" => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            "dop_v1_" | "SK" => "0123456789abcdef",
            _ => ALNUM,
        };
        (format!("{prefix}{}", random.text(len, alphabet)), prefix.len())
    })
    .collect()
}

/// What was done to a token, as a text with it.
pub(crate) type Damage = (&'static str, fn(&str) -> String);

fn between(token: &str, what: &str) -> String {
    let at = token.len() / 2;
    format!("token {}{what}{} end", &token[..at], &token[at..])
}

fn base64(bytes: &[u8]) -> String {
    let table = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes
        .chunks(3)
        .map(|three| {
            let bits = three.iter().chain(&[0, 0]).take(3).fold(0u32, |n, &b| n << 8 | u32::from(b));
            (0..4)
                .map(|i| {
                    if i <= three.len() {
                        char::from(table[(bits >> (18 - 6 * i) & 63) as usize])
                    } else {
                        '='
                    }
                })
                .collect::<String>()
        })
        .collect()
}

fn wrap(text: &str, columns: usize, with: &str) -> String {
    text.as_bytes().chunks(columns).map(|c| String::from_utf8_lossy(c)).collect::<Vec<_>>().join(with)
}

pub(crate) const DAMAGES: &[Damage] = &[
    ("nothing", |t| format!("token={t}\n")),
    ("a character glued behind", |t| format!("key: {t}X\n")),
    ("three glued behind", |t| format!("key: {t}Xy1\n")),
    ("glued twice", |t| format!("key: {t}{t}\n")),
    ("cut with an ellipsis", |t| format!("key: {}… (cut)\n", &t[..t.len() * 3 / 4])),
    ("cut with dots", |t| format!("key: {}... (cut)\n", &t[..t.len() * 3 / 4])),
    ("cut with dots at the end", |t| format!("key: {}...", &t[..t.len() * 3 / 4])),
    ("one short at the end", |t| format!("key: {}", &t[..t.len() - 1])),
    ("in escaped quotes", |t| format!("{{\\u0022token\\u0022:\\u0022{t}\\u0022}}\n")),
    ("in escaped quotes, upper case", |t| format!("x\\u0022{t}\\u0022\n")),
    ("combining grapheme joiner", |t| between(t, "\u{34f}")),
    ("mongolian vowel separator", |t| between(t, "\u{180e}")),
    ("invisible times", |t| between(t, "\u{2062}")),
    ("variation selector", |t| between(t, "\u{fe0f}")),
    ("tag character", |t| between(t, "\u{e0041}")),
    ("soft hyphen", |t| between(t, "\u{ad}")),
    ("UTF-16", |t| format!("token {t} end").chars().flat_map(|c| [c, '\0']).collect()),
    ("delete", |t| between(t, "\u{7f}")),
    ("backspace", |t| between(t, "x\u{8}")),
    ("wrapped", |t| between(t, "\n")),
    ("wrapped and quoted", |t| between(t, "\n> ")),
    ("wrapped and quoted twice", |t| between(t, "\n>> ")),
    ("wrapped in a comment", |t| between(t, "\n# ")),
    ("joined literals", |t| {
        format!("x = {}", between(t, "\" \"").replace("token ", "\"").replace(" end", "\""))
    }),
    ("joined literals over lines", |t| {
        format!("x = {}", between(t, "\"\n    \"").replace("token ", "\"").replace(" end", "\""))
    }),
    ("added literals", |t| {
        format!("x = {}", between(t, "\" + \"").replace("token ", "\"").replace(" end", "\";"))
    }),
    ("added literals in quotes of one", |t| {
        format!("x = {}", between(t, "' + '").replace("token ", "'").replace(" end", "';"))
    }),
    ("base64", |t| format!("data: {}\n", base64(format!("token is {t} and so on").as_bytes()))),
    ("base64 in lines", |t| {
        format!("data:\n{}\n", wrap(&base64(format!("the first line of some file, then more of it\ntoken = {t}\nand the rest of the file, which goes on for a while").as_bytes()), 76, "\n"))
    }),
    ("base64 in short lines", |t| {
        format!(
            "data:\n  {}\n",
            wrap(
                &base64(
                    format!(
                        "the first line of some file, then more of it\ntoken = {t}\nand the rest of the file"
                    )
                    .as_bytes()
                ),
                40,
                "\n  "
            )
        )
    }),
    ("base64 of UTF-16", |t| {
        let bytes: Vec<u8> =
            format!("$token = '{t}'; run").encode_utf16().flat_map(u16::to_le_bytes).collect();
        format!("powershell -EncodedCommand {}\n", base64(&bytes))
    }),
];
