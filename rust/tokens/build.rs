//! Writes what the crate includes: the vocabularies in a compact form, and the classes of all characters.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use tiktoken_rs::CoreBPE;

/// Name, how to get it, one past the last id, SHA-256 of the rank file as its publisher gives it.
type Source = (&'static str, fn() -> CoreBPE, u32, &'static str);

const SOURCES: [Source; 4] = [
    (
        "o200k",
        || tiktoken_rs::o200k_base().expect("the crate carries it"),
        199_998,
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    (
        "cl100k",
        || tiktoken_rs::cl100k_base().expect("the crate carries it"),
        100_256,
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    (
        "p50k",
        || tiktoken_rs::p50k_base().expect("the crate carries it"),
        50_281,
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    ),
    (
        "r50k",
        || tiktoken_rs::r50k_base().expect("the crate carries it"),
        50_256,
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    ),
];

/// The id of p50k that is a special token.
const GAP: u32 = 50_256;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (name, load, end, sha256) in SOURCES {
        vocabulary(&out, name, &load(), end, sha256);
    }
    classes(&out);
}

/// `NAME.bytes` has the tokens' bytes in a row, `NAME.lengths` a length for each id, `NAME.splits` the two tokens that
/// each is merged from.
fn vocabulary(out: &Path, name: &str, source: &CoreBPE, end: u32, sha256: &str) {
    let tokens: Vec<Vec<u8>> = (0..end)
        .map(|id| {
            if name == "p50k" && id == GAP { vec![] } else { source.decode_bytes(&[id]).expect("a known id") }
        })
        .collect();
    let mut file = String::new();
    for (id, bytes) in tokens.iter().enumerate().filter(|(_, bytes)| !bytes.is_empty()) {
        writeln!(file, "{} {id}", STANDARD.encode(bytes)).expect("strings take all");
    }
    let digest: String = Sha256::digest(&file).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(digest, sha256, "the ranks of {name} are not those that were published");

    let ranks: HashMap<&[u8], u32> = tokens
        .iter()
        .zip(0..)
        .map(|(bytes, id)| (bytes.as_slice(), id))
        .filter(|t| !t.0.is_empty())
        .collect();
    let mut splits = Vec::with_capacity(tokens.len() * 8);
    for (bytes, id) in tokens.iter().zip(0..) {
        let (left, right) = split(&ranks, bytes, id);
        splits.extend_from_slice(&left.to_le_bytes());
        splits.extend_from_slice(&right.to_le_bytes());
    }
    let write = |kind: &str, data: &[u8]| {
        fs::write(out.join(format!("{name}.{kind}")), data).expect("OUT_DIR can be written");
    };
    write("bytes", &tokens.concat());
    write(
        "lengths",
        &tokens.iter().map(|t| u8::try_from(t.len()).expect("tokens are short")).collect::<Vec<_>>(),
    );
    write("splits", &splits);
}

/// The two tokens that the last merge of token `id` joins: itself twice for a byte, `u32::MAX` where no merges lead to it.
fn split(ranks: &HashMap<&[u8], u32>, bytes: &[u8], id: u32) -> (u32, u32) {
    if bytes.len() < 2 {
        return if bytes.is_empty() { (u32::MAX, u32::MAX) } else { (id, id) };
    }
    let mut ends: Vec<usize> = (0..=bytes.len()).collect();
    while ends.len() > 3 {
        let best = (0..ends.len() - 2)
            .filter_map(|i| ranks.get(&bytes[ends[i]..ends[i + 2]]).map(|&rank| (rank, i)))
            .filter(|&(rank, _)| rank < id)
            .min();
        match best {
            Some((_, i)) => ends.remove(i + 1),
            None => return (u32::MAX, u32::MAX),
        };
    }
    (ranks[&bytes[..ends[1]]], ranks[&bytes[ends[1]..]])
}

/// Classes of characters, a bit each, as `classes.rs` names them.
fn classes(out: &Path) {
    let mut table = vec![128u8; 0x11_0000];
    for (property, bit) in [
        (r"[\p{Lu}\p{Lt}]", 1u8),
        (r"\p{Ll}", 2),
        (r"[\p{Lm}\p{Lo}]", 4),
        (r"\p{M}", 8),
        (r"\p{N}", 16),
        (r"\s", 32),
        (r"[\r\n]", 64),
    ] {
        let hir = regex_syntax::parse(property).expect("these are valid");
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class)) = hir.kind() else {
            panic!("{property} is a class")
        };
        for range in class.ranges() {
            table[range.start() as usize..=range.end() as usize].fill(bit);
        }
    }
    // Two stages: most blocks of 128 characters are like another one.
    let mut blocks: Vec<&[u8]> = vec![];
    let mut stage = vec![];
    for block in table.chunks(128) {
        let known = blocks.iter().position(|b| *b == block);
        stage.push(known.unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        }));
    }
    let text = format!(
        "static BLOCKS: [[u8; 128]; {}] = {blocks:?};\nstatic STAGE: [u16; {}] = {stage:?};\n",
        blocks.len(),
        stage.len()
    );
    fs::write(out.join("classes.rs"), text).expect("OUT_DIR can be written");
}
