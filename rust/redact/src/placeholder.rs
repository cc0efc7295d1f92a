//! What stands where a value stood.

use std::sync::Arc;

use crate::vault::Vault;

/// The styles of placeholders. All are made of characters that need no escape in JSON, XML or a shell's quotes, and
/// none is ever taken for a secret again.
#[derive(Clone, Debug, Default)]
pub enum Placeholder {
    /// `[LABEL:REDACTED]`
    #[default]
    Label,
    /// `********`, whatever the length was.
    Mask,
    /// The public prefix stays: `ghp_********`.
    Partial,
    /// `[LABEL:3f9a12c4]`: keyed, so equal values stay equal and cannot be guessed.
    Hash,
    /// `[LABEL:V5d41402abc4b2a76]`: the vault can put the value back.
    Vault(Arc<Vault>),
}

const MASK: &[u8] = b"********";

impl Placeholder {
    /// Appends what replaces `value`. `digest` is its keyed hash, `public` the length of its public prefix, `strings` how
    /// many strings of JSON it is in.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        label: &str,
        value: &[u8],
        public: usize,
        strings: usize,
        digest: impl Fn() -> [u8; 8],
    ) {
        match self {
            Self::Label => {
                out.push(b'[');
                out.extend_from_slice(label.as_bytes());
                out.extend_from_slice(b":REDACTED]");
            }
            Self::Mask => out.extend_from_slice(MASK),
            Self::Partial => {
                out.extend_from_slice(&value[..public]);
                out.extend_from_slice(MASK);
            }
            Self::Hash => {
                out.push(b'[');
                out.extend_from_slice(label.as_bytes());
                out.push(b':');
                hex(out, &digest()[..4]);
                out.push(b']');
            }
            Self::Vault(vault) => {
                let id = vault.keep(value, strings);
                out.push(b'[');
                out.extend_from_slice(label.as_bytes());
                out.extend_from_slice(b":V");
                hex(out, &id);
                out.push(b']');
            }
        }
    }
}

fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for &b in bytes {
        out.push(DIGITS[usize::from(b >> 4)]);
        out.push(DIGITS[usize::from(b & 15)]);
    }
}
