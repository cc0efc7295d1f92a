//! Values that were replaced, kept in this process to be put back before a tool runs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use ctxproto_text::JsonPath;
use zeroize::Zeroizing;

use crate::redactor::Hmac;

/// Bytes of a vault's name for a value: too many to guess, so that text from outside cannot ask for a value.
const ID: usize = 8;
/// `[`, label, `:V`, name in hex, `]`
const LABEL_MAX: usize = 64;

/// Keeps values by names that only this vault can make. Wiped on [`Vault::wipe`] and when dropped.
pub struct Vault {
    names: Hmac,
    values: Mutex<HashMap<[u8; ID], Value>>,
}

/// A value as it was written.
struct Value {
    text: Zeroizing<Vec<u8>>,
    /// In how many strings of JSON it stood, each of which escapes it once more.
    strings: usize,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vault({} values)", self.len())
    }
}

impl Vault {
    /// An empty vault; `key` must be random and secret.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { names: Hmac::new(key), values: Mutex::default() }
    }

    fn values(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; ID], Value>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a value that stood in so many strings of JSON and returns its name; the same value has the same name.
    pub(crate) fn keep(&self, value: &[u8], strings: usize) -> [u8; ID] {
        // The same characters mean something else in another place only if they are or need escapes.
        let strings = if is_plain(value) { 0 } else { strings };
        let id = match strings {
            0 => self.names.of(value),
            _ => self.names.of(&Zeroizing::new([value, b"\0", &[strings as u8]].concat())),
        };
        let keep = || Value { text: Zeroizing::new(value.to_vec()), strings };
        self.values().entry(id).or_insert_with(keep);
        id
    }

    /// How many values it holds.
    pub fn len(&self) -> usize {
        self.values().len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything, overwriting the memory.
    pub fn wipe(&self) {
        self.values().clear();
    }

    /// `text` with every placeholder of this vault replaced by its value; placeholders it does not know stay.
    ///
    /// A value from a string of JSON that goes to other text, or into another string, is escaped as it must be there.
    pub fn restore(&self, text: &[u8]) -> Vec<u8> {
        let values = self.values();
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        let (mut place, mut known) = (JsonPath::default(), 0);
        for open in memchr::memchr_iter(b'[', text) {
            if open < at {
                continue;
            }
            if let Some((value, end)) =
                name(&text[open..]).and_then(|(id, len)| Some((values.get(&id)?, open + len)))
            {
                out.extend_from_slice(&text[at..open]);
                if !is_plain(&value.text) {
                    place.advance(&text[known..open]);
                    known = open;
                }
                out.extend_from_slice(&value.within(place.strings()));
                at = end;
            }
        }
        out.extend_from_slice(&text[at..]);
        out
    }
}

impl Value {
    /// The value as it is written in so many strings of JSON.
    fn within(&self, strings: usize) -> Cow<'_, [u8]> {
        if self.strings == strings || is_plain(&self.text) {
            return Cow::Borrowed(&self.text);
        }
        let Ok(text) = std::str::from_utf8(&self.text) else { return Cow::Borrowed(&self.text) };
        let mut text = text.to_owned();
        for _ in strings..self.strings {
            // What is no inside of a string stays as it is.
            text = serde_json::from_str(&format!("\"{text}\"")).unwrap_or(text);
        }
        for _ in self.strings..strings {
            let quoted = serde_json::Value::String(text).to_string();
            text = quoted[1..quoted.len() - 1].into();
        }
        Cow::Owned(text.into_bytes())
    }
}

/// Whether a text is written the same in a string of JSON.
fn is_plain(text: &[u8]) -> bool {
    !text.iter().any(|b| matches!(b, b'"' | b'\\' | 0..b' '))
}

/// The name in a placeholder at the beginning of `text`, and the placeholder's length.
fn name(text: &[u8]) -> Option<([u8; ID], usize)> {
    let inner = &text[1..text.len().min(LABEL_MAX + ID * 2 + 4)];
    let close = memchr::memchr(b']', inner)?;
    let (label, hex) = inner[..close].split_at_checked(close.checked_sub(ID * 2 + 2)?)?;
    let hex = hex.strip_prefix(b":V")?;
    let plain = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
    if label.is_empty() || !label.iter().all(plain) {
        return None;
    }
    let mut id = [0; ID];
    for (byte, pair) in id.iter_mut().zip(hex.chunks_exact(2)) {
        let digit = |b: u8| char::from(b).to_digit(16);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some((id, close + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_back_what_it_kept_and_nothing_else() {
        let vault = Vault::new(&[7; 32]);
        let other = Vault::new(&[8; 32]);
        let placeholder = |v: &Vault| {
            let mut out = vec![];
            out.extend(b"[TOKEN:V");
            out.extend(v.keep(b"hunter2", 0).iter().flat_map(|b| format!("{b:02x}").into_bytes()));
            out.push(b']');
            out
        };
        let (mine, theirs) = (placeholder(&vault), placeholder(&other));
        let text = [b"a ", &mine[..], b"[x] ", &theirs, b" [TOKEN:REDACTED] ["].concat();
        let want = [b"a hunter2[x] ", &theirs[..], b" [TOKEN:REDACTED] ["].concat();
        assert_eq!(vault.restore(&text), want);
        vault.wipe();
        assert_eq!(vault.restore(&text), text);
        assert!(vault.is_empty() && !format!("{other:?}").contains("hunter2"));
    }
}
