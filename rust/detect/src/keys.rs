//! The names that people give to secrets.

use std::cell::RefCell;
use std::sync::LazyLock;

use crate::lexicon::Dictionary;

/// What the name of a key promises about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text may be one.
    Password,
    /// Long or mixed text.
    Secret,
    /// A token of some length, at random.
    Token,
    /// As a token, for a service.
    ApiKey,
    /// As a token, for a cipher or a signature.
    Key,
    /// The value has a scheme and credentials.
    Authorization,
    /// The value has names and values of its own.
    Cookie,
}

/// How many of the stems are those of names.
const NAMES: usize = 21;

/// What every word that can introduce a value begins with: where the scanner stops to look.
pub(crate) const STEMS: [&[u8]; NAMES + 37] = [
    b"pass",
    b"key",
    b"secr",
    b"toke",
    b"auth",
    b"cred",
    b"pwd",
    b"cook",
    b"bear",
    b"sess",
    b"sign",
    b"sig",
    b"basi",
    b"salt",
    b"nonc",
    b"csrf",
    b"psk",
    b"psw",
    b"pw_",
    b"jwt",
    b"otp",
    // Parts of the names of commands, and of words in SQL and in pairs.
    b"ysql",
    b"iadb",
    b"curl",
    b"echo",
    b"net ",
    b"7z ",
    b"7za ",
    b"7zr ",
    b"qlcm",
    b"tifi",
    b"secu",
    b"valu",
    b"qlpl",
    b"mnem",
    // Names too short to be looked for without their sign.
    b"pw=",
    b"pw:",
    b"pw\"",
    b"pw'",
    b"pw =",
    b"-pw ",
    b"sid=",
    // Parts of connection strings.
    b"@tcp",
    b"@uni",
    b"e:th",
    b":543",
    b":*:*",
    // Words of other languages.
    b"se\xC3\xB1",
    b"enha",
    b"nwor",
    b"htwo",
    b"s\xC5\x82o",
    b"\xC5\x9Fif",
    b"\xD0\xBB\xD1\x8C",
    b"\xE5\xAF\x86\xE7",
    b"\xE5\x8F\xA3\xE4",
    b"\xE3\x83\x91\xE3",
    b"\xEB\xB9\x84\xEB",
];

/// The stems as numbers, and masks of the letters they have.
const NUMBERS: [(u32, u32); STEMS.len()] = {
    let mut t = [(0, 0); STEMS.len()];
    let mut n = 0;
    while n < t.len() {
        let mut i = 0;
        while i < STEMS[n].len() {
            t[n].0 |= ((STEMS[n][i] | 0x20) as u32) << (8 * i);
            t[n].1 |= 0xff << (8 * i);
            i += 1;
        }
        n += 1;
    }
    t
};

/// By the last five bits of a letter: the stems that begin with it, a bit each.
const BY_LETTER: [u64; 32] = {
    let mut t = [0; 32];
    let mut n = 0;
    while n < STEMS.len() {
        t[(STEMS[n][0] & 31) as usize] |= 1 << n;
        n += 1;
    }
    t
};

/// Whether one of the stems stands in these four letters, and if so, whether it is that of a name rather than of a
/// command or a word of another language.
#[inline]
pub(crate) fn begins(letters: [u8; 4]) -> Option<bool> {
    let lower = u32::from_le_bytes(letters) | 0x2020_2020;
    let mut bits = BY_LETTER[usize::from(letters[0] & 31)];
    while bits != 0 {
        let n = bits.trailing_zeros() as usize;
        let (stem, mask) = NUMBERS[n];
        if lower & mask == stem {
            // Those of names come first.
            return Some(n < NAMES);
        }
        bits &= bits - 1;
    }
    None
}

const PASSWORD: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "passcode",
    "pass",
    "pwd",
    "psw",
    "psk",
    "pword",
    "passwords",
    "userpass",
    "passw",
    "pw",
    "passe",
    "masterauth",
];
/// Endings that make a password of a word written in one: `dbpassword`.
const PASSWORD_ENDINGS: &[&str] = &["password", "passwd", "passphrase", "pwd", "passwort"];
const SECRET: &[&str] =
    &["secret", "secrets", "credential", "credentials", "creds", "cred", "salt", "secretkey"];
const TOKEN: &[&str] = &[
    "token",
    "tokens",
    "jwt",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "sessiontoken",
    "idtoken",
    "csrf",
    "bearer",
    "signature",
    "sig",
    "nonce",
    "otp",
    "sessionid",
    "sessid",
    "phpsessid",
    "jsessionid",
    "sid",
    "sessionkey",
    "apitoken",
];
const API_KEY: &[&str] =
    &["apikey", "accesskey", "authkey", "licensekey", "appkey", "keysecret", "appsecret"];
/// Words that make a secret of the `key` beside them.
const KEYED: &[&str] = &[
    "api",
    "access",
    "auth",
    "app",
    "application",
    "license",
    "licence",
    "account",
    "service",
    "client",
    "consumer",
    "admin",
    "shared",
    "storage",
    "subscription",
    "partner",
    "merchant",
    "deploy",
    "write",
    "ingest",
    "ingestion",
    "integration",
    "master",
    "instrumentation",
    "server",
    "user",
    "customer",
    "webhook",
    "tracking",
    "project",
    "site",
    "developer",
    "dev",
    "prod",
    "production",
    "live",
    "test",
    "rest",
    "io",
];
const CIPHER: &[&str] = &[
    "private",
    "priv",
    "encryption",
    "encrypt",
    "decryption",
    "decrypt",
    "signing",
    "sign",
    "secret",
    "hmac",
    "aes",
    "cipher",
    "crypto",
    "rsa",
    "ssh",
    "pgp",
    "gpg",
    "ssl",
    "tls",
    "session",
    "cookie",
    "jwt",
    "hash",
    "kms",
    "wallet",
    "seed",
    "recovery",
    "unseal",
    "host",
    "identity",
    "preshared",
    "sharedsecret",
];
/// What a name ends in when it tells of a secret rather than holding one.
const ABOUT: &[&str] = &[
    "url",
    "uri",
    "urls",
    "endpoint",
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "dir",
    "directory",
    "name",
    "names",
    "type",
    "types",
    "length",
    "len",
    "count",
    "counts",
    "size",
    "field",
    "fields",
    "label",
    "policy",
    "policies",
    "expiry",
    "expires",
    "expiration",
    "expired",
    "ttl",
    "hint",
    "prompt",
    "min",
    "max",
    "regex",
    "pattern",
    "format",
    "algorithm",
    "algo",
    "alg",
    "version",
    "ref",
    "reference",
    "arn",
    "env",
    "var",
    "header",
    "param",
    "params",
    "placeholder",
    "rotation",
    "age",
    "limit",
    "usage",
    "used",
    "budget",
    "error",
    "errors",
    "exception",
    "valid",
    "invalid",
    "validator",
    "validation",
    "required",
    "enabled",
    "disabled",
    "manager",
    "provider",
    "store",
    "service",
    "handler",
    "helper",
    "util",
    "utils",
    "class",
    "func",
    "function",
    "method",
    "generator",
    "input",
    "output",
    "form",
    "page",
    "reset",
    "forgot",
    "change",
    "changed",
    "update",
    "updated",
    "created",
    "at",
    "date",
    "time",
    "timestamp",
    "timeout",
    "strength",
    "char",
    "chars",
    "index",
    "position",
    "map",
    "list",
    "set",
    "dict",
    "cache",
    "pool",
    "mode",
    "state",
    "status",
    "scope",
    "scopes",
    "column",
    "table",
    "schema",
    "property",
    "properties",
    "prefix",
    "suffix",
    "sep",
    "separator",
    "is",
    "has",
    "needed",
    "option",
    "options",
    "config",
    "settings",
    "source",
    "issuer",
    "audience",
    "kind",
    "rate",
    "price",
    "cost",
    "limits",
    "per",
    "ids",
    "id",
    "title",
    "description",
    "desc",
    "msg",
    "message",
    "text",
    "callback",
    "checker",
    "encoder",
    "matches",
    "match",
    "lifetime",
    "hash_algo",
    "iterations",
    "rounds",
    "protected",
    "less",
    "ful",
    "scheme",
    "domain",
    "host",
    "port",
    "region",
    "realm",
    "agent",
    "sock",
    "socket",
    "selector",
    "hasher",
    "hashers",
    "xpath",
    "css",
    "icon",
];
/// Words at the end that say how a secret is written or where it is used, and so are passed over.
const PASSED: &[&str] = &[
    "base",
    "prod",
    "production",
    "dev",
    "development",
    "test",
    "testing",
    "staging",
    "stage",
    "live",
    "value",
    "val",
    "string",
    "str",
    "raw",
    "plain",
    "plaintext",
    "plaintxt",
    "enc",
    "encrypted",
    "hash",
    "hashed",
    "b64",
    "base64",
    "hex",
    "default",
    "current",
    "old",
    "new",
    "confirm",
    "confirmation",
    "again",
    "repeat",
    "primary",
    "secondary",
    "root",
    "admin",
    "master",
    "v1",
    "v2",
    "data",
    "env",
    "here",
    "digest",
    "decrypted",
    "local",
    "ci",
    "main",
    "ro",
    "rw",
    "read",
    "write",
    "key",
    "x",
    "s",
];
/// Keys that open nothing.
const PLAIN_KEYS: &[&str] =
    &["cache", "primary", "sort", "partition", "index", "object", "dict", "map", "hot", "lookup"];
/// What is done with passwords, as the first word of a name.
const DOING: &[&str] = &[
    "forgot", "forget", "reset", "change", "update", "edit", "add", "show", "hide", "toggle", "validate",
    "verify", "check", "require", "requires", "get", "set", "has", "is", "no", "lost", "generate", "create",
    "enter", "ask",
];
/// Words that end in `pass` and are not passwords.
const NOT_PASS: &[&str] = &[
    "bypass",
    "compass",
    "surpass",
    "encompass",
    "trespass",
    "underpass",
    "overpass",
    "multipass",
    "getpass",
    "askpass",
];

/// Words of a key that everybody may have.
const PUBLIC: &[&str] = &["public", "pub", "publishable", "foreign", "partition", "sort"];
/// Words beside `key` that make it one of an API even where a cipher is named.
const ACCESS: &[&str] = &["access", "api"];
/// Words before `token` that make it one of a list or of a text.
const PAGING: &[&str] = &[
    "next",
    "page",
    "continuation",
    "sync",
    "previous",
    "prev",
    "cancellation",
    "max",
    "num",
    "total",
    "stop",
    "pad",
    "eos",
    "bos",
    "unk",
    "mask",
    "input",
    "output",
    "prompt",
    "completion",
];

/// The lists above, each as the bit it has in [`WORDS`].
#[derive(Clone, Copy)]
#[repr(u32)]
enum List {
    Password,
    Secret,
    Token,
    ApiKey,
    Keyed,
    Cipher,
    About,
    Passed,
    PlainKeys,
    Doing,
    NotPass,
    Public,
    Access,
    Paging,
}

static WORDS: LazyLock<Dictionary> = LazyLock::new(|| {
    Dictionary::new(&[
        PASSWORD, SECRET, TOKEN, API_KEY, KEYED, CIPHER, ABOUT, PASSED, PLAIN_KEYS, DOING, NOT_PASS, PUBLIC,
        ACCESS, PAGING,
    ])
});

/// Names that were looked at last, by a hash: the same few come again and again.
type Recent = [(u8, [u8; 24], Option<Kind>); 64];

std::thread_local! {
    // Boxed: there is little room for what belongs to a thread in a library that is loaded late.
    static RECENT: RefCell<Box<Recent>> = RefCell::new(Box::new([(0, [0; 24], None); 64]));
}

/// What the value of a key of this name is likely to be.
pub(crate) fn classify(name: &[u8]) -> Option<Kind> {
    let (Some(first), Some(last), 4..=24) = (name.first_chunk(), name.last_chunk(), name.len()) else {
        return promise(name);
    };
    let ends = u32::from_le_bytes(*first) ^ u32::from_le_bytes(*last).rotate_left(11) ^ name.len() as u32;
    let place = ends.wrapping_mul(0x9E37_79B1) >> 26;
    RECENT.with_borrow_mut(|recent| {
        let (len, letters, kind) = &mut recent[place as usize];
        if letters[..usize::from(*len)] != *name {
            *kind = promise(name);
            *len = name.len() as u8;
            letters[..name.len()].copy_from_slice(name);
        }
        *kind
    })
}

fn promise(name: &[u8]) -> Option<Kind> {
    let mut buffer = [0u8; 96];
    let mut words = [(0usize, 0usize); 12];
    let count = split(name, &mut buffer, &mut words)?;
    let word = |i: usize| std::str::from_utf8(&buffer[words[i].0..words[i].1]).unwrap_or("");
    let lists: [u32; 12] = std::array::from_fn(|i| if i < count { WORDS.get(word(i).as_bytes()) } else { 0 });
    let is = |i: usize, list: List| lists[i] >> list as u32 & 1 != 0;
    let mut last = count;
    // Endings that do not matter, unless they are all there is.
    while last > 1 && (is(last - 1, List::Passed) && !is_key(word(last - 1)) || is_number(word(last - 1))) {
        last -= 1;
    }
    let end = word(last - 1);
    let ends = |list: List| is(last - 1, list);
    if end == "id" && last > 1 && word(last - 2) == "session" {
        return Some(Kind::Token);
    }
    if ends(List::About) && !(last == 1 && count > 1) {
        return None;
    }
    let any = |list: List| (0..last).any(|i| is(i, list));
    if let Some(kind) = match end {
        "authorization" | "auth" | "basicauth" => Some(Kind::Authorization),
        "cookie" | "cookies" => Some(Kind::Cookie),
        "session" | "cookiejar" => Some(Kind::Token),
        _ => None,
    } {
        return Some(kind);
    }
    let password = |i: usize| {
        let word = word(i);
        is(i, List::Password)
            || PASSWORD_ENDINGS.iter().any(|e| word.ends_with(e))
            || word.ends_with("pass") && !is(i, List::NotPass)
    };
    if end.ends_with("apikey") || ends(List::ApiKey) {
        return Some(Kind::ApiKey);
    }
    if is_key(end) && last > 1 {
        if any(List::Public) {
            return None;
        }
        if any(List::Cipher) && !any(List::Access) {
            return Some(Kind::Key);
        }
        if any(List::Keyed) || any(List::Secret) || (0..last).any(password) || any(List::Token) {
            return Some(Kind::ApiKey);
        }
        // A constant: `LINKEDIN_KEY`.
        let constant = name.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_');
        return (constant && !any(List::PlainKeys)).then_some(Kind::ApiKey);
    }
    if end.ends_with("privatekey") || end.ends_with("secretkey") || end.ends_with("encryptionkey") {
        return Some(Kind::Key);
    }
    if (0..last).any(password) {
        // `forgot_password`, `addPassword`: what one does with passwords.
        return (last == 1 || !is(0, List::Doing)).then_some(Kind::Password);
    }
    if ends(List::Secret) || end.ends_with("secret") {
        return Some(Kind::Secret);
    }
    ((ends(List::Token) || end.ends_with("token")) && !any(List::Paging)).then_some(Kind::Token)
}

fn is_key(word: &str) -> bool {
    word == "key" || word == "keys"
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// Splits a name into words at other characters and at the humps of camel case; lower case into `buffer`.
fn split(name: &[u8], buffer: &mut [u8; 96], words: &mut [(usize, usize); 12]) -> Option<usize> {
    if name.len() > buffer.len() {
        return None;
    }
    let mut count = 0;
    let mut start = 0;
    let mut len = 0;
    let mut close = |start: &mut usize, len: usize| {
        if len > *start {
            if count == words.len() {
                // Only the last words matter.
                words.rotate_left(1);
                count -= 1;
            }
            words[count] = (*start, len);
            count += 1;
        }
        *start = len;
    };
    for (i, &b) in name.iter().enumerate() {
        if !b.is_ascii_alphanumeric() {
            close(&mut start, len);
            continue;
        }
        let before = if i == 0 { b'_' } else { name[i - 1] };
        let hump = b.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_uppercase() && name.get(i + 1).is_some_and(u8::is_ascii_lowercase));
        let number = b.is_ascii_digit() != before.is_ascii_digit() && before.is_ascii_alphanumeric();
        if hump || number && b.is_ascii_digit() {
            close(&mut start, len);
        }
        buffer[len] = b.to_ascii_lowercase();
        len += 1;
    }
    close(&mut start, len);
    (count > 0).then_some(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_looked_at_before_changes_nothing(
            names in proptest::collection::vec("(pass|key|api|_|Token|auth|A|.|0){1,6}", 1..80),
        ) {
            for name in names {
                prop_assert_eq!(classify(name.as_bytes()), promise(name.as_bytes()));
            }
        }

        #[test]
        fn stems_are_where_they_are(letters in "[7a-zA-Z@:=' ]{4}", stem in 0..STEMS.len(), take in 0..=4usize) {
            let stem = STEMS[stem];
            let mut four = *letters.as_bytes().first_chunk().expect("four");
            let take = take.min(stem.len());
            four[..take].copy_from_slice(&stem[..take]);
            let naive = STEMS.iter().position(|s| four[..s.len()].eq_ignore_ascii_case(s));
            prop_assert_eq!(begins(four), naive.map(|n| n < NAMES));
        }
    }

    #[test]
    fn names_of_secrets() {
        for (name, kind) in [
            ("password", Kind::Password),
            ("DB_PASSWORD", Kind::Password),
            ("dbPassword", Kind::Password),
            ("spring.datasource.password", Kind::Password),
            ("MYSQL_ROOT_PASSWORD_1", Kind::Password),
            ("userpass", Kind::Password),
            ("password_hash", Kind::Password),
            ("client_secret", Kind::Secret),
            ("SECRET_KEY_BASE", Kind::Key),
            ("AWS_SECRET_ACCESS_KEY", Kind::ApiKey),
            ("apiKey", Kind::ApiKey),
            ("X-API-Key", Kind::ApiKey),
            ("access_token", Kind::Token),
            ("xAuthToken", Kind::Token),
            ("privateKey", Kind::Key),
            ("Authorization", Kind::Authorization),
            ("Set-Cookie", Kind::Cookie),
        ] {
            assert_eq!(classify(name.as_bytes()), Some(kind), "{name}");
        }
        for name in [
            "key",
            "primary_key",
            "public_key",
            "keyboard",
            "passenger",
            "compass",
            "author",
            "token_type",
            "max_tokens",
            "password_length",
            "secret_name",
            "next_token",
            "keys",
            "monkey",
            "token_url",
            "keyword",
        ] {
            assert_eq!(classify(name.as_bytes()), None, "{name}");
        }
    }
}
