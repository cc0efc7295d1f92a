//! The names that people give to secrets.

use std::cell::RefCell;
use std::sync::LazyLock;

use crate::lexicon::Dictionary;
use crate::words;

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

/// Endings that make a password of a word written in one: `dbpassword`.
const PASSWORD_ENDINGS: &[&str] = &["password", "passwd", "passphrase", "pwd", "passwort"];

/// The lists of `words.rs`, each as the bit it has in [`WORDS`].
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
    let lists = [
        words::PASSWORD,
        words::SECRET,
        words::TOKEN,
        words::API_KEY,
        words::KEYED,
        words::CIPHER,
        words::ABOUT,
        words::PASSED,
        words::PLAIN_KEYS,
        words::DOING,
        words::NOT_PASS,
        words::PUBLIC,
        words::ACCESS,
        words::PAGING,
    ]
    .map(|list| list.split(' ').collect::<Vec<_>>());
    Dictionary::new(&lists.each_ref().map(Vec::as_slice))
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
    if name == b"pre-shared-key" {
        return Some(Kind::Password);
    }
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
