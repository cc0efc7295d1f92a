//! Words that people choose for passwords, told from the words around them where no sign says which is which.

/// Names with digits in them that sentences about passwords have.
const TERMS: &[&str] = &[
    "sha1",
    "sha2",
    "sha256",
    "sha384",
    "sha512",
    "sha-1",
    "sha-256",
    "sha-512",
    "md4",
    "md5",
    "base64",
    "base32",
    "utf8",
    "utf-8",
    "utf16",
    "utf-16",
    "ascii7",
    "argon2",
    "argon2id",
    "argon2i",
    "pbkdf2",
    "oauth2",
    "http2",
    "ipv4",
    "ipv6",
    "rs256",
    "hs256",
    "es256",
    "aes128",
    "aes256",
    "aes-256",
    "latin1",
    "latin-1",
    "x509",
    "x.509",
    "pkcs8",
    "pkcs12",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "u8",
    "i32",
    "u32",
    "i64",
    "u64",
    "float32",
    "float64",
    "python2",
    "python3",
    "mysql8",
    "ubuntu1",
    "windows10",
    "ws2_32",
];

/// Whether a bare word may be a password: letters with digits or signs among them, and no term, number, address,
/// version, date, path or call.
pub(crate) fn may_be(word: &[u8]) -> bool {
    let count = |of: fn(&u8) -> bool| word.iter().filter(|b| of(b)).count();
    let (letters, digits) = (count(u8::is_ascii_alphabetic), count(u8::is_ascii_digit));
    let signs = word.iter().filter(|b| matches!(b, b'!' | b'@' | b'#' | b'$' | b'%' | b'^')).count();
    (6..=64).contains(&word.len())
        && letters >= 2
        && (digits >= 1 || signs >= 1 && letters >= 4)
        && word.iter().all(|b| {
            (0x21..0x7f).contains(b)
                && !matches!(
                    b,
                    b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'"' | b'\\' | b'`' | b'|'
                )
        })
        && !TERMS.iter().any(|t| word.eq_ignore_ascii_case(t.as_bytes()))
        && !is_measure(word)
        && !is_address(word)
}

/// The same, with more variety than names with a number have: `Tr0ub4dor`, `x7-kk2-p`, not `user2` or `rfc6750`.
pub(crate) fn is(word: &[u8]) -> bool {
    let any = |of: fn(&u8) -> bool| word.iter().any(of);
    // Where letters and digits meet: once in a name with a number.
    let turns = word.windows(2).filter(|p| p[0].is_ascii_alphabetic() && p[1].is_ascii_digit()).count()
        + word.windows(2).filter(|p| p[0].is_ascii_digit() && p[1].is_ascii_alphabetic()).count();
    let humps = word.windows(2).any(|p| p[0].is_ascii_lowercase() && p[1].is_ascii_uppercase());
    let sign = any(|b| matches!(b, b'!' | b'@' | b'#' | b'$' | b'%' | b'^'));
    let kinds = u8::from(any(u8::is_ascii_lowercase))
        + u8::from(any(u8::is_ascii_uppercase))
        + u8::from(any(u8::is_ascii_digit))
        + u8::from(sign);
    word.len() >= 8 && may_be(word) && (kinds >= 3 || turns >= 2 && (kinds >= 2) || sign && humps)
}

/// `16chars`, `30s`, `2nd`, `10MB`: a number and its unit; `3.11.2rc1`: a version.
fn is_measure(word: &[u8]) -> bool {
    let digits = word
        .iter()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b':' | b'-' | b'_' | b'x'))
        .count();
    let unit = &word[digits..];
    digits > 0 && (unit.len() <= 2 || unit.iter().all(|b| b.is_ascii_lowercase() || *b == b'-'))
        || word.len() > 1 && matches!(word[0], b'v' | b'V') && word[1].is_ascii_digit()
}

/// A path, an address, an assignment, a name with dots.
fn is_address(word: &[u8]) -> bool {
    word.contains(&b'/')
        || word.contains(&b'=')
        || word[..word.len() - 1].contains(&b':')
        || word.iter().position(|&b| b == b'@').is_some_and(|i| i > 0 && word[i..].contains(&b'.'))
        || word.iter().filter(|&&b| b == b'.').count() >= 1
            && word.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
            && word.split(|&b| b == b'.').all(|part| part.len() < 12 && !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for word in ["hunter2", "P@ssword", "s3cr3t", "Winter2024!"] {
            assert!(may_be(word.as_bytes()), "{word}");
        }
        for word in ["Tr0ub4dor", "Winter2024!", "aB3dEf9hJ", "kqz7-mmd2-xx1a"] {
            assert!(is(word.as_bytes()), "{word}");
        }
        for word in [
            "wrong",
            "required",
            "16chars",
            "v1.2.3rc1",
            "10.0.0.1",
            "bob@x1.test",
            "lib/x1",
            "SHA256",
            "a.b.c2",
            "127.0.0.1:80",
        ] {
            assert!(!may_be(word.as_bytes()), "{word}");
        }
        for word in ["user2345", "rfc67500", "section12", "us-east-1"] {
            assert!(!is(word.as_bytes()), "{word}");
        }
    }
}
