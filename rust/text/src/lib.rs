//! Bytes and UTF-8: what the layers above need to know about text, whatever they look for in it.

mod json;
mod position;

pub use json::{JsonPath, depends_on_place};
pub use position::Position;
