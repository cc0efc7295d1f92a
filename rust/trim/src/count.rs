//! What the tokenizer must be able to do.

/// Counts text as a model will. Any bytes count, also those that are no UTF-8.
///
/// Counts need not add up, and a longer text may count less than a shorter one: what is returned to a caller is always
/// counted as a whole before it is returned.
pub trait Count: Send + Sync {
    /// Tokens of the text on its own.
    fn count(&self, text: &[u8]) -> usize;

    /// Where the longest prefix of at most `most` tokens ends. Reads no more of the text than that takes.
    fn limit(&self, text: &[u8], most: usize) -> usize;

    /// Where the longest suffix of at most `most` tokens begins. Reads no more of the text than that takes.
    fn limit_back(&self, text: &[u8], most: usize) -> usize;
}
