//! The classes of characters that the splitting patterns tell apart (Unicode general categories and white space).

include!(concat!(env!("OUT_DIR"), "/classes.rs"));

/// `\p{Lu}`, `\p{Lt}`
pub(crate) const UPPER: u8 = 1;
/// `\p{Ll}`
pub(crate) const LOWER: u8 = 2;
/// `\p{Lm}`, `\p{Lo}`: letters without case.
pub(crate) const UNCASED: u8 = 4;
/// `\p{M}`
pub(crate) const MARK: u8 = 8;
/// `\p{N}`
pub(crate) const NUMBER: u8 = 16;
/// `\s` but for line ends.
pub(crate) const BLANK: u8 = 32;
/// `\r`, `\n`
pub(crate) const NEWLINE: u8 = 64;
/// Everything else.
pub(crate) const OTHER: u8 = 128;

pub(crate) const LETTER: u8 = UPPER | LOWER | UNCASED;
pub(crate) const SPACE: u8 = BLANK | NEWLINE;
/// `[^\s\p{L}\p{N}]`
pub(crate) const SIGN: u8 = MARK | OTHER;
/// `[^\r\n\p{L}\p{N}]`: what one word may begin with.
pub(crate) const LEAD: u8 = SIGN | BLANK;

static ASCII: [u8; 128] = {
    let mut table = [0; 128];
    let mut i = 0;
    while i < 128 {
        table[i] = BLOCKS[STAGE[0] as usize][i];
        i += 1;
    }
    table
};

/// The class of the character at `at`, and its length; `at` must be inside `text`, on a character's boundary.
#[inline]
pub(crate) fn class(text: &[u8], at: usize) -> (u8, usize) {
    let b = text[at];
    if b < 0x80 { (ASCII[usize::from(b)], 1) } else { wide(text, at) }
}

#[inline(never)]
fn wide(text: &[u8], at: usize) -> (u8, usize) {
    let tail = |i: usize| u32::from(text.get(at + i).copied().unwrap_or(0) & 0x3f);
    let b = u32::from(text[at]);
    let (c, len) = match b {
        0..0xe0 => ((b & 0x1f) << 6 | tail(1), 2),
        0xe0..0xf0 => ((b & 0x0f) << 12 | tail(1) << 6 | tail(2), 3),
        _ => ((b & 7) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
    };
    let block = STAGE.get((c >> 7) as usize).copied().unwrap_or(0);
    (BLOCKS[usize::from(block)][(c & 127) as usize], len)
}

/// Where the run of characters of `classes` ends that begins at `at`.
#[inline]
pub(crate) fn run(text: &[u8], mut at: usize, classes: u8) -> usize {
    while let Some(&b) = text.get(at) {
        if b < 0x80 {
            if ASCII[usize::from(b)] & classes == 0 {
                break;
            }
            at += 1;
        } else {
            let (class, len) = wide(text, at);
            if class & classes == 0 {
                break;
            }
            at += len;
        }
    }
    at
}

/// Where the character before `at` begins.
pub(crate) fn back(text: &[u8], at: usize) -> usize {
    let tail = text[..at].iter().rev().take(3).take_while(|&&b| b & 0xc0 == 0x80).count();
    at - tail - 1
}
