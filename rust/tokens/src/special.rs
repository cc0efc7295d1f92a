//! Special tokens: marks between messages, which text only holds where it is asked for.

use crate::encoding::{Encoding, Id};

/// Their names and numbers, from the published definitions of the encodings.
pub(crate) fn of(encoding: Encoding) -> Vec<(String, Id)> {
    let named: &[(&str, Id)] = match encoding {
        Encoding::O200kBase => &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)],
        Encoding::O200kHarmony => &[
            ("<|startoftext|>", 199_998),
            ("<|endoftext|>", 199_999),
            ("<|return|>", 200_002),
            ("<|constrain|>", 200_003),
            ("<|channel|>", 200_005),
            ("<|start|>", 200_006),
            ("<|end|>", 200_007),
            ("<|message|>", 200_008),
            ("<|call|>", 200_012),
            ("<|endofprompt|>", 200_018),
        ],
        Encoding::Cl100kBase => &[
            ("<|endoftext|>", 100_257),
            ("<|fim_prefix|>", 100_258),
            ("<|fim_middle|>", 100_259),
            ("<|fim_suffix|>", 100_260),
            ("<|endofprompt|>", 100_276),
        ],
        Encoding::P50kEdit => &[
            ("<|endoftext|>", 50_256),
            ("<|fim_prefix|>", 50_281),
            ("<|fim_middle|>", 50_282),
            ("<|fim_suffix|>", 50_283),
        ],
        Encoding::P50kBase | Encoding::R50kBase | Encoding::Gpt2 => &[("<|endoftext|>", 50_256)],
    };
    let mut all: Vec<(String, Id)> = named.iter().map(|&(name, id)| (name.to_owned(), id)).collect();
    if encoding == Encoding::O200kHarmony {
        // Number 200018 has two names.
        let reserved = (200_000..201_088).filter(|id| *id == 200_018 || !named.iter().any(|n| n.1 == *id));
        all.extend(reserved.map(|id| (format!("<|reserved_{id}|>"), id)));
    }
    all
}
