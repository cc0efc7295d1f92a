//! Tells strings drawn at random from names, words, paths and numbers that people write.

/// Whether `text` looks drawn at random.
pub(crate) fn is_random(text: &[u8]) -> bool {
    score(text) > 0.0
}

/// Above zero: more likely random than written.
pub(crate) fn score(text: &[u8]) -> f32 {
    let mut digits = 0;
    let mut changes = 0;
    let mut seen = [false; 256];
    let mut before = 0;
    for &b in text {
        let kind = match b {
            b'0'..=b'9' => 1,
            b'a'..=b'z' => 2,
            b'A'..=b'Z' => 3,
            _ => 4,
        };
        digits += i32::from(kind == 1);
        changes += i32::from(kind != before);
        before = kind;
        seen[usize::from(b)] = true;
    }
    let distinct = seen.iter().filter(|&&s| s).count();
    if text.len() < 8 || distinct * 3 < text.len().min(32) || digits == 0 {
        return -1.0;
    }
    changes as f32 / text.len() as f32 - 0.2
}
