//! What an image takes: an estimate from its size, by the formulas that providers document.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// What no image takes more of: so much counts one whose size is not known.
pub const IMAGE_MOST: usize = 1600;
/// What `OpenAI` counts for one in low detail, whatever its size, and for any before its tiles.
pub const IMAGE_LEAST: usize = 85;
/// A tile of 512 by 512 pixels.
const TILE: usize = 170;

/// The size of an image stands in its first bytes; in a photograph, it may stand behind a preview.
const HEADS: [usize; 2] = [2 << 10, 128 << 10];
/// Tokens of an image that is given in base64; none where that is no image whose size can be read.
pub fn image_tokens(base64: &[u8]) -> Option<usize> {
    let size = HEADS.iter().find_map(|&head| {
        // Four letters are three bytes.
        let head = &base64[..base64.len().min(head) / 4 * 4];
        imagesize::blob_size(&BASE64_STANDARD.decode(head).ok()?).ok()
    })?;
    Some(of_size(size.width, size.height))
}

/// The more of what two providers count: `OpenAI`, for each tile of an image that was made to fit 2,048 by 2,048 pixels
/// and then to be 768 at its short side; Anthropic, for every 750 pixels.
#[expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "pixels and tiles are few")]
fn of_size(width: usize, height: usize) -> usize {
    let (long, short) = (width.max(height) as f64, width.min(height) as f64);
    let by_long = (2048.0 / long).min(1.0);
    let scale = by_long * (768.0 / (short * by_long)).min(1.0);
    let tiles = |side: f64| (side * scale / 512.0).ceil() as usize;
    let pixels = (long * short / 750.0).ceil() as usize;
    (IMAGE_LEAST + TILE * tiles(long) * tiles(short)).max(pixels).min(IMAGE_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 6, 0, 0, 0, 0]);
        BASE64_STANDARD.encode(bytes)
    }

    #[test]
    fn as_the_providers_say() {
        for (width, height, tokens) in [
            (2048, 4096, IMAGE_MOST),
            (200, 200, IMAGE_LEAST + TILE),
            (1092, 1092, 1590),
            (600, 60, IMAGE_LEAST + 2 * TILE),
            (2048, 200, IMAGE_LEAST + 4 * TILE),
        ] {
            assert_eq!(image_tokens(png(width, height).as_bytes()), Some(tokens), "{width} x {height}");
        }
    }

    #[test]
    fn a_photograph_with_a_preview() {
        let preview = [&[0xff, 0xe1, 0x75, 0x32][..], &vec![0; 30_000]].concat();
        let size = [0xff, 0xc0, 0, 17, 8, 4, 0x44, 4, 0x44, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1];
        let photograph = [&[0xff, 0xd8][..], &preview, &size, &vec![0; 90_000]].concat();
        assert_eq!(image_tokens(BASE64_STANDARD.encode(photograph).as_bytes()), Some(1590));
    }

    #[test]
    fn what_is_no_image_has_no_size() {
        for text in ["", "iVBORw0KGgo=", "not base64 at all!", "AAAA"] {
            assert_eq!(image_tokens(text.as_bytes()), None);
        }
    }

    proptest! {
        #[test]
        fn within_its_bounds_and_the_same_turned(width in 0u32..9000, height in 0u32..9000, tail in "[A-Za-z0-9+/]{0,40}") {
            let tokens = image_tokens((png(width, height) + &tail).as_bytes()).expect("a header is enough");
            prop_assert!((IMAGE_LEAST..=IMAGE_MOST).contains(&tokens));
            prop_assert_eq!(Some(tokens), image_tokens(png(height, width).as_bytes()));
        }

        #[test]
        fn damaged_headers_do_no_harm(at in 0usize..30, byte in any::<u8>(), cut in 0usize..40) {
            let mut bytes = BASE64_STANDARD.decode(png(300, 200)).expect("its own");
            bytes[at] = byte;
            let damaged = BASE64_STANDARD.encode(bytes);
            let tokens = image_tokens(&damaged.as_bytes()[..cut]);
            prop_assert!(tokens.is_none_or(|tokens| (IMAGE_LEAST..=IMAGE_MOST).contains(&tokens)));
        }
    }
}
