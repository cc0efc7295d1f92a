//! Whether a value is what its name promises, and not a reference, a type, a sentence or a path.

use crate::class::{ALNUM, ByteSet, HEX};
use crate::decoy;
use crate::keys::Kind;
use crate::random;

pub(crate) fn has_digit_or_mixed(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
        || value.iter().any(u8::is_ascii_lowercase) && value.iter().skip(1).any(u8::is_ascii_uppercase)
}

/// What stands in code and prose, and in no token.
const NO_TOKEN: ByteSet = ByteSet::of(b" ()[{<>,*");

/// Whether `value`, assigned to a name of this kind, is a secret to take out.
pub(crate) fn worth(kind: Kind, value: &[u8], quoted: bool) -> bool {
    let len = value.len();
    // The cheap questions first.
    let fits = match kind {
        Kind::Password => {
            len <= 512 && !is_sentence(value) && !is_path(value) && (quoted || !value.ends_with(b"("))
        }
        Kind::Secret => {
            (6..=2048).contains(&len)
                && !is_sentence(value)
                && !is_path(value)
                && (has_digit_or_mixed(value) || len >= 10 && !is_name(value))
        }
        Kind::Token | Kind::ApiKey | Kind::Key | Kind::Authorization | Kind::Cookie => {
            (quoted || decoy::is_drawn(value)) && is_mixed(value)
                || len >= 8
                    && !value.iter().any(|&b| NO_TOKEN.has(b))
                    && strong(value)
                    && !is_path(value)
                    && !is_number(value)
                    && !decoy::is_stand_in(value)
        }
    };
    let plain = || decoy::is_reference(value, quoted) || is_code(value, quoted);
    len >= 4 && fits && (!plain() || decoy::is_drawn(value) || is_mysql_hash(value))
}

/// Long, of all kinds of characters: drawn from the whole keyboard, as `WordPress` and Django do.
fn is_mixed(value: &[u8]) -> bool {
    if value.len() < 32 {
        return false;
    }
    let (mut digits, mut small, mut capitals, mut signs, mut blanks) = (0, 0, 0, 0, 0);
    for b in value {
        digits += u32::from(b.is_ascii_digit());
        small += u32::from(b.is_ascii_lowercase());
        capitals += u32::from(b.is_ascii_uppercase());
        signs += u32::from(b.is_ascii_punctuation());
        blanks += u32::from(b.is_ascii_whitespace());
    }
    let drawn = capitals >= 4 || blanks == 0 && decoy::is_drawn(value);
    digits >= 2 && small >= 4 && drawn && signs >= 6 && blanks <= 4
}

/// Enough variety for a token: random, or letters and digits mixed at some length.
pub(crate) fn strong(value: &[u8]) -> bool {
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    if digits == value.len() {
        return false;
    }
    if value.iter().all(|&b| HEX.has(b)) {
        return value.len() >= 16;
    }
    random::is_random(value)
        || letters > 0 && digits >= 3 && value.len() >= 12
        || value.len() >= 32 && has_digit_or_mixed(value)
}

/// `*` and a SHA-1, as `MySQL` keeps passwords.
fn is_mysql_hash(value: &[u8]) -> bool {
    value.len() == 41 && value[0] == b'*' && value[1..].iter().all(u8::is_ascii_hexdigit)
}

/// A number in hexadecimal, as session and object numbers are logged.
pub(crate) fn is_number(value: &[u8]) -> bool {
    value.strip_prefix(b"0x").is_some_and(|v| v.len() <= 16 && v.iter().all(u8::is_ascii_hexdigit))
}

/// Words joined by `_`, `-` or `.`: the name of something.
fn is_name(value: &[u8]) -> bool {
    let short = value.split(|b| !b.is_ascii_alphabetic()).all(|word| word.len() < 20);
    short && value.iter().all(|&b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b'.' | b':' | b'/'))
}

/// Types in lower case that others are made of.
pub(crate) const PRIMITIVES: &[&str] = &[
    "string", "str", "number", "boolean", "bool", "any", "unknown", "void", "bytes", "u8", "char", "object",
];

/// Words that sentences have and passphrases rarely.
pub(crate) const COMMON: &[&str] = &[
    "the",
    "your",
    "for",
    "is",
    "to",
    "of",
    "and",
    "must",
    "please",
    "enter",
    "a",
    "an",
    "in",
    "not",
    "with",
    "user",
    "this",
    "that",
    "are",
    "has",
    "have",
    "be",
    "or",
    "should",
    "invalid",
    "wrong",
    "does",
    "cannot",
    "new",
    "must",
    "choose",
    "confirm",
    "forgot",
    "change",
    "reset",
    "mot",
    "passe",
    "oublié",
    "votre",
    "contraseña",
    "olvidaste",
    "senha",
    "sua",
    "passwort",
    "ihr",
    "vergessen",
    "esqueceu",
];

/// A blank-separated text of several words.
pub(crate) fn is_sentence(value: &[u8]) -> bool {
    let words: Vec<&[u8]> = value.split(|&b| b == b' ').filter(|w| !w.is_empty()).collect();
    // What a placeholder of this package already stands in was judged with the value that it replaced.
    words.len() > 8
        || words.len() >= 2 && crate::index::find(value, b":REDACTED]").is_some()
        || words.len() >= 2
            && words.iter().any(|w| COMMON.iter().any(|c| w.eq_ignore_ascii_case(c.as_bytes())))
}

fn is_path(value: &[u8]) -> bool {
    let rooted = value.starts_with(b"/")
        || value.starts_with(b"./")
        || value.starts_with(b"~/")
        || value.starts_with(b"../");
    let windows = value.len() > 3 && value[1] == b':' && (value[2] == b'\\' || value[2] == b'/');
    let url = decoy::contains_any_case(value, b"://");
    (rooted && value[1..].iter().filter(|&&b| b == b'/').count() >= 1 && is_name_or_digits(value))
        || windows
        || url
}

fn is_name_or_digits(value: &[u8]) -> bool {
    value.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b'~' | b'@'))
        && !random::is_random(value.rsplit(|&b| b == b'/').next().unwrap_or(value))
}

/// Code rather than a literal: a call, an index, a member of an object.
fn is_code(value: &[u8], quoted: bool) -> bool {
    if quoted {
        return matches!(value.first(), Some(b'{' | b'[')) && !is_mixed(value) && !decoy::is_varied(value);
    }
    // Signs alone make no code of what was drawn from the whole keyboard, if it goes on behind them.
    if decoy::is_varied(value) && value.last().is_some_and(u8::is_ascii_alphanumeric) {
        return false;
    }
    let call = memchr::memchr(b'(', value).is_some_and(|i| {
        i > 0
            && value[..i]
                .iter()
                .all(|&b| ALNUM.has(b) || matches!(b, b'_' | b'.' | b':' | b'>' | b'-' | b'&' | b'*'))
    });
    let member = memchr::memchr(b'.', value).is_some_and(|i| {
        i > 0 && value.iter().all(|&b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'[' | b']'))
    });
    let arrow = value.windows(2).any(|w| w == b"->" || w == b"::");
    let star = matches!(
        value.first(),
        Some(b'{' | b'[' | b'(' | b'*' | b'&' | b'<' | b'|' | b'!' | b',' | b';' | b')' | b']' | b'}')
    );
    let index = value.ends_with(b"]") && memchr::memchr(b'[', value).is_some_and(|i| i > 0);
    call || member || arrow || star || index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for v in ["hunter2", "letmein", "P@ssw0rd!", "correct horse battery", "s3cr3t"] {
            assert!(worth(Kind::Password, v.as_bytes(), true), "{v}");
        }
        for v in ["Enter your password", "/home/user/project", "getpass()", "${X}", "null", "self.password"] {
            assert!(!worth(Kind::Password, v.as_bytes(), false), "{v}");
        }
    }
}
